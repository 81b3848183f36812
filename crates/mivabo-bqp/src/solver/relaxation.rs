//! The semidefinite lower bound of a node, from its dual, by Newton steps along the central path.
//!
//! For multipliers y of sᵢ² = 1 and μ >= 0 of the rows, with Z = M + diag(y) and d = c + Σ μ_r α_r / 2,
//!
//! ```text
//! L(y, μ) = κ - 1'y - μ'β + min_s (s'Zs + 2d's) = κ - 1'y - μ'β - d'Z⁻¹d        for Z ≻ 0
//! ```
//!
//! is a lower bound, attained at the centre u = -Z⁻¹d. Its greatest value is the bound of the relaxation X ⪰ 0,
//! diag X = 1, with the rows on the first column. One Newton step on L + τ log det Z + τ Σ log μ costs about 4/3 m³
//! operations, and a child inherits the multipliers of its parent: a part of a positive definite matrix is
//! positive definite, so its bound holds before any work is done.
//!
//! The same inverse gives the bound of every child at once, with W = Z⁻¹:
//!
//! ```text
//! min { s'Zs + 2d's : s_i = σ } - min { s'Zs + 2d's } = (σ - u_i)² / W_ii
//! ```

use pulp::Arch;

use super::cuts::{Cut, NodeCut, separate};
use super::linalg::{has_pivots_above, invert, solve};
use super::spins::Spins;
use crate::assignment::Assignment;

/// Multipliers: one for each free bit, one for each row, one for each cut.
#[derive(Debug, Clone)]
pub(crate) struct Dual {
    pub y: Vec<f64>,
    pub mu: Vec<f64>,
    /// One for each cut.
    pub nu: Vec<f64>,
}

/// The relaxation of one node.
pub(crate) struct Relaxation<'a> {
    arch: Arch,
    spins: &'a Spins,
    m: usize,
    quadratic: Vec<f64>,
    linear: Vec<f64>,
    constant: f64,
    rows: Vec<NodeRow>,
    /// Triangle inequalities, valid everywhere.
    pub cuts: Vec<Cut>,
    node_cuts: Vec<NodeCut>,
    /// The place of each free bit.
    place: Vec<usize>,
    /// W = Z⁻¹ after [`evaluate`](Self::evaluate).
    inverse: Vec<f64>,
    /// u
    pub centre: Vec<f64>,
    slope: Vec<f64>,
    hessian: Vec<f64>,
    step: Vec<f64>,
    column: Vec<f64>,
}

/// A row over the free bits that can still be violated.
struct NodeRow {
    index: usize,
    alpha: Vec<f64>,
    beta: f64,
    is_equation: bool,
    /// Wα
    image: Vec<f64>,
}

impl<'a> Relaxation<'a> {
    pub fn new(spins: &'a Spins) -> Relaxation<'a> {
        Relaxation {
            arch: Arch::new(),
            spins,
            m: 0,
            quadratic: Vec::new(),
            linear: Vec::new(),
            constant: 0.0,
            rows: Vec::new(),
            cuts: Vec::new(),
            node_cuts: Vec::new(),
            place: vec![0; spins.n],
            inverse: Vec::new(),
            centre: Vec::new(),
            slope: Vec::new(),
            hessian: Vec::new(),
            step: Vec::new(),
            column: Vec::new(),
        }
    }

    /// Multipliers with which Z is diagonally dominant.
    pub fn first_dual(&self) -> Dual {
        let y = (0..self.m).map(|i| {
            let row = &self.quadratic[i * self.m..(i + 1) * self.m];
            let off_diagonal = row.iter().map(|q| q.abs()).sum::<f64>() - row[i].abs();
            0.7 * off_diagonal + self.linear[i].abs() / 2.0 + 1e-3
        });
        let mean = self.spins.magnitude / (self.spins.n * self.spins.n).max(1) as f64;
        Dual {
            y: y.collect(),
            mu: vec![mean.max(1e-9); self.spins.rows.len()],
            nu: vec![mean.max(1e-9); self.cuts.len()],
        }
    }

    /// Goes to the node in which these bits are free and the others have their assigned values.
    pub fn restrict(&mut self, assignment: &Assignment, free: &[usize]) {
        let (spins, n) = (self.spins, self.spins.n);
        self.m = free.len();
        let spin = |i: usize| assignment.value(i).map(|b| if b { 1.0 } else { -1.0 });
        let fixed: Vec<(usize, f64)> = (0..n).filter_map(|i| Some((i, spin(i)?))).collect();
        let influence = |i: usize| -> f64 {
            let row = &spins.quadratic[i * n..(i + 1) * n];
            fixed.iter().map(|(j, s)| row[*j] * s).sum()
        };
        self.constant = spins.constant;
        self.constant += fixed.iter().map(|(i, s)| s * (2.0 * spins.linear[*i] + influence(*i))).sum::<f64>();
        self.linear.clear();
        self.linear.extend(free.iter().map(|i| spins.linear[*i] + influence(*i)));
        self.quadratic.clear();
        for &i in free {
            let row = &spins.quadratic[i * n..(i + 1) * n];
            self.quadratic.extend(free.iter().map(|j| row[*j]));
        }
        self.restrict_rows(&fixed, free);
        for (place, bit) in free.iter().enumerate() {
            self.place[*bit] = place;
        }
        let cuts = self.cuts.iter().enumerate();
        self.node_cuts =
            cuts.filter_map(|(index, cut)| cut.restrict(index, assignment, &self.place)).collect();
    }

    fn restrict_rows(&mut self, fixed: &[(usize, f64)], free: &[usize]) {
        self.rows.clear();
        let m = self.m;
        for (index, row) in self.spins.rows.iter().enumerate() {
            let alpha: Vec<f64> = free.iter().map(|i| row.alpha[*i]).collect();
            let beta = row.beta - fixed.iter().map(|(i, s)| row.alpha[*i] * s).sum::<f64>();
            let greatest: f64 = alpha.iter().map(|a| a.abs()).sum();
            if greatest == 0.0 || (!row.is_equation && greatest <= beta) {
                continue;
            }
            if row.penalty > 0.0 {
                self.constant += row.penalty * beta * beta;
                for i in (0..m).filter(|i| alpha[*i] != 0.0) {
                    let scaled = row.penalty * alpha[i];
                    self.linear[i] -= scaled * beta;
                    for (q, a) in self.quadratic[i * m..(i + 1) * m].iter_mut().zip(&alpha) {
                        *q += scaled * a;
                    }
                }
            }
            self.rows.push(NodeRow { index, alpha, beta, is_equation: row.is_equation, image: Vec::new() });
        }
    }

    /// How many logarithms the central path has: τ times this is the gap between L and the relaxation there.
    pub fn n_barriers(&self) -> usize {
        self.m + self.node_cuts.len() + self.rows.iter().filter(|row| !row.is_equation).count()
    }

    /// L, with the inverse and the centre left behind; `None` when Z is not clearly positive definite.
    pub fn evaluate(&mut self, dual: &Dual) -> Option<f64> {
        let m = self.m;
        let mut value = self.assemble(dual);
        if !invert(self.arch, &mut self.inverse, m, &mut self.column) {
            return None;
        }
        self.centre.clear();
        for i in 0..m {
            let u = -dot(&self.inverse[i * m..(i + 1) * m], &self.slope);
            self.centre.push(u);
            value += u * self.slope[i];
        }
        value.is_finite().then_some(value)
    }

    /// Puts Z into `inverse` and d into `slope`; the part of L that does not depend on s.
    fn assemble(&mut self, dual: &Dual) -> f64 {
        let m = self.m;
        self.inverse.clear();
        self.inverse.extend_from_slice(&self.quadratic);
        for (i, y) in dual.y.iter().enumerate() {
            self.inverse[i * m + i] += y;
        }
        self.slope.clear();
        self.slope.extend_from_slice(&self.linear);
        let mut value = self.constant - dual.y.iter().sum::<f64>();
        for row in &self.rows {
            let mu = dual.mu[row.index];
            value -= mu * row.beta;
            for (d, a) in self.slope.iter_mut().zip(&row.alpha) {
                *d += mu * a / 2.0;
            }
        }
        for cut in &self.node_cuts {
            let nu = dual.nu[cut.index];
            value -= nu;
            for (place, q) in cut.places.iter().zip(&cut.linear) {
                self.slope[*place] += nu * q;
            }
            for &(a, b, q) in &cut.pairs {
                let (a, b) = (cut.places[a], cut.places[b]);
                self.inverse[a * m + b] += nu * q;
                self.inverse[b * m + a] += nu * q;
            }
        }
        value
    }

    /// Moves the multipliers one Newton step towards the point of the central path at τ; L there.
    ///
    /// `None` when no step succeeds; then the multipliers are as before, and evaluated.
    pub fn improve(&mut self, dual: &mut Dual, tau: f64) -> Option<f64> {
        if !self.newton(dual, tau) {
            return None;
        }
        let m = self.m;
        let mut length: f64 = 1.0;
        for (r, row) in self.rows.iter().enumerate().filter(|(_, row)| !row.is_equation) {
            let step = self.step[m + r];
            if step < 0.0 {
                length = length.min(-0.9 * dual.mu[row.index] / step);
            }
        }
        let n_rows = self.rows.len();
        for (c, cut) in self.node_cuts.iter().enumerate() {
            let step = self.step[m + n_rows + c];
            if step < 0.0 {
                length = length.min(-0.9 * dual.nu[cut.index] / step);
            }
        }
        let step = std::mem::take(&mut self.step);
        let mut value = None;
        for _ in 0..10 {
            let mut moved = dual.clone();
            for (y, s) in moved.y.iter_mut().zip(&step) {
                *y += length * s;
            }
            for (row, s) in self.rows.iter().zip(&step[m..]) {
                moved.mu[row.index] += length * s;
            }
            for (cut, s) in self.node_cuts.iter().zip(&step[m + n_rows..]) {
                moved.nu[cut.index] += length * s;
            }
            value = self.evaluate(&moved);
            if value.is_some() {
                *dual = moved;
                break;
            }
            length /= 2.0;
        }
        self.step = step;
        if value.is_none() {
            self.evaluate(dual)?;
        }
        value
    }

    /// The Newton direction into `step`.
    ///
    /// ```text
    /// gradient   u_i² + τ W_ii - 1                   α_r'u - β_r + τ/μ_r
    /// -Hessian   W_ij (2 u_i u_j + τ W_ij)           u_i (Wα_r)_i           α_r'Wα_s / 2 + [r = s] τ/μ_r²
    /// ```
    fn newton(&mut self, dual: &Dual, tau: f64) -> bool {
        let (m, n_rows) = (self.m, self.rows.len());
        let size = m + n_rows + self.node_cuts.len();
        let (w, u) = (&self.inverse, &self.centre);
        self.hessian.clear();
        self.hessian.resize(size * size, 0.0);
        self.step.clear();
        for i in 0..m {
            self.step.push(u[i] * u[i] + tau * w[i * m + i] - 1.0);
            let twice = 2.0 * u[i];
            let row = &mut self.hessian[i * size + i..i * size + m];
            for ((h, w), u) in row.iter_mut().zip(&w[i * m + i..(i + 1) * m]).zip(&u[i..m]) {
                *h = w * (twice * u + tau * w);
            }
        }
        for (r, row) in self.rows.iter_mut().enumerate() {
            let mu = dual.mu[row.index];
            let barrier = if row.is_equation { 0.0 } else { tau / mu };
            self.step.push(dot(&row.alpha, u) - row.beta + barrier);
            row.image.clear();
            row.image.extend((0..m).map(|i| dot(&w[i * m..(i + 1) * m], &row.alpha)));
            for (i, (u, image)) in u.iter().zip(&row.image).enumerate() {
                self.hessian[i * size + m + r] = u * image;
            }
            let curvature = if row.is_equation { 0.0 } else { tau / (mu * mu) };
            self.hessian[(m + r) * size + m + r] = curvature;
        }
        for r in 0..n_rows {
            for s in r..n_rows {
                let product = dot(&self.rows[s].alpha, &self.rows[r].image) / 2.0;
                self.hessian[(m + r) * size + m + s] += product;
            }
            // Two equal equations have no unique multipliers.
            self.hessian[(m + r) * size + m + r] *= 1.0 + 1e-9;
        }
        self.newton_cuts(dual, tau, size);
        solve(self.arch, &mut self.hessian, size, &mut self.step)
    }

    /// The part of the Newton system that belongs to the cuts, with p = Qu + q and X = uu' + τW:
    ///
    /// ```text
    /// gradient   <Q, X> + 2q'u - 1 + τ/ν
    /// -Hessian   2 u_i (Wp)_i + τ (WQW)_ii      α_r'Wp      2 p'Wp' + τ <QW, WQ'> + [same cut] τ/ν²
    /// ```
    fn newton_cuts(&mut self, dual: &Dual, tau: f64, size: usize) {
        let (m, n_rows) = (self.m, self.rows.len());
        let (w, u) = (&self.inverse, &self.centre);
        for cut in &mut self.node_cuts {
            cut.image.clone_from(&cut.linear);
            for &(a, b, q) in &cut.pairs {
                cut.image[a] += q * u[cut.places[b]];
                cut.image[b] += q * u[cut.places[a]];
            }
        }
        for (c, cut) in self.node_cuts.iter().enumerate() {
            let (column, nu) = (m + n_rows + c, dual.nu[cut.index]);
            let mut gradient = tau / nu - 1.0;
            for (place, q) in cut.places.iter().zip(&cut.linear) {
                gradient += 2.0 * q * u[*place];
            }
            for &(a, b, q) in &cut.pairs {
                let (a, b) = (cut.places[a], cut.places[b]);
                gradient += 2.0 * q * (u[a] * u[b] + tau * w[a * m + b]);
            }
            self.step.push(gradient);
            for i in 0..m {
                let row = &w[i * m..(i + 1) * m];
                let image: f64 = cut.places.iter().zip(&cut.image).map(|(a, p)| row[*a] * p).sum();
                let square: f64 =
                    cut.pairs.iter().map(|&(a, b, q)| q * row[cut.places[a]] * row[cut.places[b]]).sum();
                self.hessian[i * size + column] = 2.0 * (u[i] * image + tau * square);
            }
            for (r, row) in self.rows.iter().enumerate() {
                let product = cut.places.iter().zip(&cut.image).map(|(a, p)| row.image[*a] * p).sum();
                self.hessian[(m + r) * size + column] = product;
            }
            for (other, d) in self.node_cuts[c..].iter().zip(column..) {
                self.hessian[column * size + d] = curvature(w, m, tau, cut, other);
            }
            self.hessian[column * size + column] += tau / (nu * nu);
        }
    }

    /// Looks for violated triangle inequalities and adds at most `limit` of them; how many.
    pub fn separate(&mut self, free: &[usize], dual: &mut Dual, tau: f64, limit: usize) -> usize {
        let m = self.m;
        let (w, u) = (&self.inverse, &self.centre);
        let x = |i: usize, j: usize| if j == m { u[i] } else { u[i] * u[j] + tau * w[i * m + j] };
        let mut found = separate(free, x, limit);
        found.retain(|cut| !self.cuts.contains(cut));
        // What a cut takes from the rows of Z, the diagonal gets: so Z stays positive definite.
        let nu = 0.1 * tau;
        for place in found.iter().flat_map(Cut::bits).filter_map(|bit| free.iter().position(|f| *f == bit)) {
            dual.y[place] += nu;
        }
        dual.nu.extend(found.iter().map(|_| nu));
        let n = found.len();
        self.cuts.extend(found);
        n
    }

    /// Forgets the cuts whose multiplier is below this.
    pub fn drop_cuts(&mut self, dual: &mut Dual, least: f64) {
        let keep: Vec<bool> = dual.nu.iter().map(|nu| *nu >= least).collect();
        let mut kept = keep.iter();
        self.cuts.retain(|_| kept.next() == Some(&true));
        dual.nu.retain(|nu| *nu >= least);
    }

    /// By how much L grows when the free bit at this place is 0, and when it is 1.
    pub fn gains(&self, at: usize) -> (f64, f64) {
        let (u, w) = (self.centre[at], self.inverse[at * self.m + at]);
        ((1.0 + u) * (1.0 + u) / w, (1.0 - u) * (1.0 - u) / w)
    }

    /// L again, as a bound that holds in spite of rounding; `None` when it cannot be shown to hold.
    ///
    /// Z ⪰ 0 because Z - ηI has positive pivots for an η above all rounding errors of the elimination (Rump 2006).
    /// Then for the residual r = Zu + d of any u, s'Zs + 2d's >= 2r's - u'Zu >= -2 Σ|r_i| - u'Zu over spins. The
    /// rounding of these sums is bounded by the sum of their absolute terms.
    pub fn certify(&mut self, dual: &Dual) -> Option<f64> {
        let m = self.m;
        let centre = std::mem::take(&mut self.centre);
        let value = self.assemble(dual);
        let (mut energy, mut residual, mut size) = (0.0, 0.0, 0.0);
        for i in 0..m {
            let row = &self.inverse[i * m..(i + 1) * m];
            let image = dot(row, &centre);
            energy += centre[i] * image;
            residual += (image + self.slope[i]).abs();
            size +=
                row.iter().zip(&centre).map(|(z, u)| (z * u).abs()).sum::<f64>() * (1.0 + centre[i].abs());
            size += self.slope[i].abs() + dual.y[i].abs();
        }
        self.centre = centre;
        size += self.spins.magnitude + self.constant.abs();
        size += self.rows.iter().map(|row| (dual.mu[row.index] * row.beta).abs()).sum::<f64>();
        size += self.node_cuts.iter().map(|cut| dual.nu[cut.index]).sum::<f64>();
        let trace: f64 = (0..m).map(|i| self.inverse[i * m + i].abs()).sum();
        let shift = 4.0 * (m + 2) as f64 * f64::EPSILON * trace;
        for i in 0..m {
            self.inverse[i * m + i] -= shift;
        }
        let is_definite = has_pivots_above(self.arch, &mut self.inverse, m, 0.0);
        let error = 8.0 * (self.spins.n + 8) as f64 * f64::EPSILON * size;
        let bound = value - energy - 2.0 * residual - error;
        (is_definite && bound.is_finite()).then_some(bound)
    }
}

/// 2 p'Wp' + τ <QW, WQ'> of two cuts.
fn curvature(w: &[f64], m: usize, tau: f64, cut: &NodeCut, other: &NodeCut) -> f64 {
    let entry = |a: usize, b: usize| w[cut.places[a] * m + other.places[b]];
    let mut linear = 0.0;
    for (a, p) in cut.image.iter().enumerate() {
        for (b, q) in other.image.iter().enumerate() {
            linear += p * q * entry(a, b);
        }
    }
    let mut square = 0.0;
    for &(a, b, q) in &cut.pairs {
        for &(c, d, p) in &other.pairs {
            square += q * p * (entry(a, c) * entry(b, d) + entry(a, d) * entry(b, c));
        }
    }
    2.0 * (linear + tau * square)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    // Four sums at a time, so that the additions need not wait for each other.
    let mut sums = [0.0; 4];
    let (a_blocks, b_blocks) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = a_blocks.remainder().iter().zip(b_blocks.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a_blocks.zip(b_blocks) {
        for k in 0..4 {
            sums[k] += x[k] * y[k];
        }
    }
    sums.iter().sum::<f64>() + rest
}
