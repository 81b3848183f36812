//! The semidefinite lower bound of a node, from its dual, by Newton steps along the central path.
//!
//! For multipliers y of sᵢ² = 1 and μ >= 0 of the rows s'Q_r s + α_r's <= β_r, with Z = M + diag(y) + Σ μ_r Q_r and
//! d = c + Σ μ_r α_r / 2,
//!
//! ```text
//! L(y, μ) = κ - 1'y - μ'β + min_s (s'Zs + 2d's) = κ - 1'y - μ'β - d'Z⁻¹d        for Z ≻ 0
//! ```
//!
//! is a lower bound, attained at the centre u = -Z⁻¹d. Its greatest value is the bound of the relaxation X ⪰ 0,
//! diag X = 1, with the rows as linear inequalities on X. One Newton step on L + τ log det Z + τ Σ log μ costs about 4/3 m³
//! operations, and a child inherits the multipliers of its parent: a part of a positive definite matrix is
//! positive definite, so its bound holds before any work is done.
//!
//! Triangle inequalities have multipliers ν and are treated as rows. The inverse W = Z⁻¹ gives the bounds of all children
//! at once ([`gains`]).

mod certificate;
#[cfg(test)]
mod certificate_tests;
mod cuts;
mod elimination;
mod gains;
mod groups;
mod newton;
mod point;
mod restriction;
mod rows;
mod spins;
mod square;
#[cfg(test)]
mod tests;

pub(crate) use self::cuts::Cut;
pub(crate) use self::gains::Gain;
pub(crate) use self::groups::Group;
pub(crate) use self::spins::Spins;
pub(crate) use self::square::Square;

use self::cuts::separate;
use self::elimination::Workspace;
use self::newton::System;
use self::point::Point;
use self::restriction::Restriction;
use self::square::{dot, sum_of_sizes};
use crate::propagation::Assignment;

/// How often a Newton step is halved before it is given up.
const HALVINGS: usize = 10;

/// The multiplier of a new cut, in units of τ.
const FIRST_NU: f64 = 0.1;

/// No multiplier of an inequality begins below this.
const LEAST_MULTIPLIER: f64 = 1e-9;

/// Multipliers of a relaxation.
#[derive(Debug, Clone)]
pub(crate) struct Dual {
    /// One for each free bit.
    pub y: Vec<f64>,
    /// One for each row.
    pub mu: Vec<f64>,
    /// One for each cut.
    pub nu: Vec<f64>,
}

impl Dual {
    /// Makes Z larger.
    pub fn raise(&mut self, by: f64) {
        self.y.iter_mut().for_each(|y| *y += by);
    }

    /// Those of a child that keeps the free bits at these places.
    pub fn of_part(&self, places: &[usize]) -> Dual {
        Dual {
            y: places.iter().map(|at| self.y[*at]).collect(),
            mu: self.mu.clone(),
            nu: self.nu.clone(),
        }
    }
}

/// The relaxation of one node.
pub(crate) struct Relaxation<'a> {
    spins: &'a Spins,
    /// Triangle inequalities, valid everywhere.
    pub cuts: Vec<Cut>,
    node: Restriction,
    /// W = Z⁻¹ after [`evaluate`](Self::evaluate); Z while it is assembled.
    matrix: Square,
    /// u
    pub centre: Vec<f64>,
    /// d
    slope: Vec<f64>,
    system: System,
    workspace: Workspace,
    /// The part of W that belongs to a group of bits.
    block: Square,
}

impl<'a> Relaxation<'a> {
    pub fn new(spins: &'a Spins) -> Relaxation<'a> {
        Relaxation {
            spins,
            cuts: Vec::new(),
            node: Restriction::new(spins),
            matrix: Square::default(),
            centre: Vec::new(),
            slope: Vec::new(),
            system: System::default(),
            workspace: Workspace::new(),
            block: Square::default(),
        }
    }

    /// Multipliers with which Z is diagonally dominant.
    pub fn first_dual(&self) -> Dual {
        let y = (0..self.node.m()).map(|i| self.first_y(i));
        let n_pairs = (self.spins.n * self.spins.n).max(1) as f64;
        let mean = (self.spins.magnitude / n_pairs).max(LEAST_MULTIPLIER);
        Dual {
            y: y.collect(),
            mu: vec![mean; self.spins.rows.len()],
            nu: vec![mean; self.cuts.len()],
        }
    }

    /// The multiplier of a bit: nearly what makes its row of Z diagonally dominant.
    fn first_y(&self, i: usize) -> f64 {
        let row = self.node.quadratic.row(i);
        let off_diagonal = sum_of_sizes(row) - row[i].abs();
        0.7 * off_diagonal + self.node.linear[i].abs() / 2.0 + 1e-3
    }

    /// Goes to the node in which these bits are free and the others have their assigned values.
    pub fn restrict(&mut self, assignment: &Assignment, free: &[usize]) {
        self.node.restrict(self.spins, &self.cuts, assignment, free);
    }

    /// The share of the gap that a bound may lose to its Newton steps before they aim lower; `None` where they never
    /// need to. Quadratic rows leave relaxations so far below the target that steps towards it go astray, equations
    /// most of all; without them, aiming high costs nothing and keeps the gains of children large.
    pub fn loss(&self) -> Option<f64> {
        let quadratic = || self.node.rows.iter().filter(|row| row.is_quadratic());
        quadratic().next()?;
        let has_equation = quadratic().any(|row| row.is_equation);
        Some(if has_equation { 0.0 } else { 1.0 })
    }

    /// How many logarithms the central path has: τ times this is the gap between L and the relaxation there.
    pub fn n_barriers(&self) -> usize {
        let inequalities = self.node.rows.iter().filter(|row| !row.is_equation);
        self.node.m() + self.node.cuts.len() + inequalities.count()
    }

    /// L, with the inverse and the centre left behind; `None` when Z is not clearly positive definite.
    pub fn evaluate(&mut self, dual: &Dual) -> Option<f64> {
        self.assemble_matrix(dual);
        if !self.workspace.invert(&mut self.matrix) {
            return None;
        }
        self.find_centre(dual)
    }

    /// L where the inverse of Z is known already.
    pub fn adopt(&mut self, dual: &Dual, inverse: &Square) -> Option<f64> {
        // Nothing is inverted: what is left costs m² operations.
        self.matrix.copy_from(inverse);
        self.find_centre(dual)
    }

    fn find_centre(&mut self, dual: &Dual) -> Option<f64> {
        let mut value = self.assemble_slope(dual);
        self.centre.clear();
        for (i, d) in self.slope.iter().enumerate() {
            let u = -dot(self.matrix.row(i), &self.slope);
            self.centre.push(u);
            // With u = -Z⁻¹d, the last term of L is u'd.
            value += u * d;
        }
        value.is_finite().then_some(value)
    }

    /// Puts Z into `matrix`.
    fn assemble_matrix(&mut self, dual: &Dual) {
        self.matrix.copy_from(&self.node.quadratic);
        for (i, y) in dual.y.iter().enumerate() {
            *self.matrix.at_mut(i, i) += y;
        }
        for row in &self.node.rows {
            let mu = dual.mu[row.index];
            for &(i, j, q) in &row.pairs {
                self.matrix.add_symmetric(i, j, mu * q);
            }
        }
        for cut in &self.node.cuts {
            let nu = dual.nu[cut.index];
            for (i, j, q) in cut.entries() {
                self.matrix.add_symmetric(i, j, nu * q);
            }
        }
    }

    /// Puts d into `slope`; the part of L that does not depend on s.
    fn assemble_slope(&mut self, dual: &Dual) -> f64 {
        self.slope.clear();
        self.slope.extend_from_slice(&self.node.linear);
        let mut value = self.node.constant - dual.y.iter().sum::<f64>();
        for row in &self.node.rows {
            let mu = dual.mu[row.index];
            value -= mu * row.beta;
            for (d, a) in self.slope.iter_mut().zip(&row.alpha) {
                *d += mu * a / 2.0;
            }
        }
        for cut in &self.node.cuts {
            let nu = dual.nu[cut.index];
            value -= nu;
            for (place, q) in cut.places.iter().zip(&cut.linear) {
                self.slope[*place] += nu * q;
            }
        }
        value
    }

    /// Moves the multipliers one Newton step towards the point of the central path at τ; L there.
    ///
    /// Needs the inverse and the centre at `dual`. `None` when no step succeeds; then the multipliers are as before,
    /// and evaluated.
    pub fn improve(&mut self, dual: &mut Dual, tau: f64) -> Option<f64> {
        let at = Point {
            inverse: &self.matrix,
            centre: &self.centre,
            tau,
        };
        let node = &mut self.node;
        if !self.system.solve(node, dual, at, &mut self.workspace) {
            return None;
        }
        // Inequalities keep their multipliers above zero by this; Z stays positive definite only by trying.
        let mut length = self.system.longest(&self.node, dual);
        for _ in 0..HALVINGS {
            let moved = self.system.moved(&self.node, dual, length);
            if let Some(value) = self.evaluate(&moved) {
                *dual = moved;
                return Some(value);
            }
            length /= 2.0;
        }
        self.evaluate(dual);
        None
    }

    /// The inverse of the part of Z in the rows and columns `left`, from that of the whole: for each r that goes,
    /// W_ij ← W_ij - W_ir W_rj / W_rr.
    pub fn inverse_of_part(&self, left: &[usize]) -> Square {
        let mut kept = left.iter().peekable();
        let mut gone = (0..self.node.m()).filter(|r| kept.next_if_eq(&r).is_none());
        let Some(first) = gone.next() else {
            return self.matrix.clone();
        };
        // The first one goes while the others are moved behind those that stay: this saves a copy of the matrix.
        let rest: Vec<usize> = left.iter().copied().chain(gone).collect();
        let mut part = without(&self.matrix, first, &rest);
        while part.n() > left.len() {
            part = without_last(&part);
        }
        part
    }

    /// Looks for violated triangle inequalities and adds at most `limit` of them; how many.
    pub fn separate(&mut self, free: &[usize], dual: &mut Dual, tau: f64, limit: usize) -> usize {
        let at = Point {
            inverse: &self.matrix,
            centre: &self.centre,
            tau,
        };
        let x = |i: usize, j: usize| {
            if j == free.len() {
                at.centre[i]
            } else {
                at.entry(i, j)
            }
        };
        let mut found = separate(free, x, limit);
        found.retain(|cut| !self.cuts.contains(cut));
        let nu = FIRST_NU * tau;
        // What a cut takes from the rows of Z, the diagonal gets: so Z stays positive definite.
        for bit in found.iter().flat_map(Cut::bits) {
            if let Some(place) = free.iter().position(|other| *other == bit) {
                dual.y[place] += nu;
            }
        }
        dual.nu.extend(found.iter().map(|_| nu));
        let n_found = found.len();
        self.cuts.extend(found);
        n_found
    }

    /// Forgets the cuts whose multiplier is below this.
    pub fn drop_cuts(&mut self, dual: &mut Dual, least: f64) {
        // Cuts and their multipliers stand in the same order.
        let mut multipliers = dual.nu.iter();
        self.cuts
            .retain(|_| multipliers.next().is_some_and(|nu| *nu >= least));
        dual.nu.retain(|nu| *nu >= least);
    }

    /// Whether these multipliers belong to a node with as many free bits and to as many rows, without cuts.
    pub fn fits(&self, dual: &Dual) -> bool {
        let has_all_bits = dual.y.len() == self.node.m();
        has_all_bits && dual.mu.len() == self.spins.rows.len() && self.cuts.is_empty()
    }
}

/// The inverse without one row and column, the others in a new order.
fn without(w: &Square, gone: usize, rest: &[usize]) -> Square {
    let pivot = w.row(gone);
    let mut entries = Vec::with_capacity(rest.len() * rest.len());
    for i in rest {
        let row = w.row(*i);
        let factor = pivot[*i] / pivot[gone];
        entries.extend(rest.iter().map(|j| row[*j] - factor * pivot[*j]));
    }
    Square::from_entries(rest.len(), entries)
}

/// The inverse of a part without its last row and column.
fn without_last(w: &Square) -> Square {
    let k = w.n() - 1;
    let pivot = w.row(k);
    let mut entries = Vec::with_capacity(k * k);
    for i in 0..k {
        let row = w.row(i);
        let factor = row[k] / pivot[k];
        entries.extend(row[..k].iter().zip(pivot).map(|(x, y)| x - factor * y));
    }
    Square::from_entries(k, entries)
}
