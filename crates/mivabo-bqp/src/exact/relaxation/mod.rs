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
//! The same inverse gives the bound of every child at once, with W = Z⁻¹:
//!
//! ```text
//! min { s'Zs + 2d's : s_i = σ } - min { s'Zs + 2d's } = (σ - u_i)² / W_ii
//! ```

#[cfg(test)]
mod certificate_tests;
mod cuts;
mod elimination;
mod groups;
mod rows;
mod spins;
#[cfg(test)]
mod tests;

use pulp::Arch;

pub(crate) use self::cuts::Cut;
use self::cuts::{NodeCut, separate};
use self::elimination::Work;
pub(crate) use self::groups::Group;
use self::rows::{NodeRow, dot};
pub(crate) use self::spins::Spins;
use crate::propagation::Assignment;

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
    /// How large the terms of the penalties are.
    penalties: f64,
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
    work: Work,
    block: Vec<f64>,
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
            penalties: 0.0,
            rows: Vec::new(),
            cuts: Vec::new(),
            node_cuts: Vec::new(),
            place: vec![0; spins.n],
            inverse: Vec::new(),
            centre: Vec::new(),
            slope: Vec::new(),
            hessian: Vec::new(),
            step: Vec::new(),
            work: Work::default(),
            block: Vec::new(),
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
        self.constant += fixed
            .iter()
            .map(|(i, s)| s * (2.0 * spins.linear[*i] + influence(*i)))
            .sum::<f64>();
        self.linear.clear();
        self.linear
            .extend(free.iter().map(|i| spins.linear[*i] + influence(*i)));
        self.quadratic.clear();
        for &i in free {
            let row = &spins.quadratic[i * n..(i + 1) * n];
            self.quadratic.extend(free.iter().map(|j| row[*j]));
        }
        for (place, bit) in free.iter().enumerate() {
            self.place[*bit] = place;
        }
        self.penalties = 0.0;
        self.restrict_rows(assignment, free);
        let cuts = self.cuts.iter().enumerate();
        self.node_cuts.clear();
        self.node_cuts
            .extend(cuts.filter_map(|(index, cut)| cut.restrict(index, assignment, &self.place)));
    }

    fn restrict_rows(&mut self, assignment: &Assignment, free: &[usize]) {
        self.rows.clear();
        let spin = |i: usize| assignment.value(i).map(|b| if b { 1.0 } else { -1.0 });
        for (index, row) in self.spins.rows.iter().enumerate() {
            let mut alpha: Vec<f64> = free.iter().map(|i| row.alpha[*i]).collect();
            let mut beta = row.beta - row.fixed_part(spin);
            let mut pairs = Vec::new();
            for &(i, j, q) in &row.pairs {
                match (spin(i), spin(j)) {
                    (None, None) => pairs.push((self.place[i], self.place[j], q)),
                    (None, Some(s)) => alpha[self.place[i]] += 2.0 * q * s,
                    (Some(s), None) => alpha[self.place[j]] += 2.0 * q * s,
                    (Some(s), Some(t)) => beta -= 2.0 * q * s * t,
                }
            }
            let greatest: f64 = alpha.iter().map(|a| a.abs()).sum();
            // What is left of a row that says nothing may be rounding, which no multiplier must blow up.
            let is_settled = greatest <= 1e-9 * row.size || (!row.is_equation && greatest <= beta);
            // A quadratic row stays until it is linear: its part of Z must not vanish between a node and its child.
            if pairs.is_empty() && is_settled {
                continue;
            }
            if row.penalty > 0.0 {
                self.penalise(&alpha, beta, row.penalty);
            }
            let size = row.size;
            let (slope, image, product) = Default::default();
            let is_equation = row.is_equation;
            self.rows.push(NodeRow {
                index,
                alpha,
                beta,
                pairs,
                is_equation,
                size,
                slope,
                image,
                product,
            });
        }
    }

    /// Adds ρ(α's - β)² to the objective.
    fn penalise(&mut self, alpha: &[f64], beta: f64, penalty: f64) {
        let m = self.m;
        self.constant += penalty * beta * beta;
        let greatest = alpha.iter().map(|a| a.abs()).sum::<f64>() + beta.abs();
        self.penalties += penalty * greatest * greatest;
        for i in (0..m).filter(|i| alpha[*i] != 0.0) {
            let scaled = penalty * alpha[i];
            self.linear[i] -= scaled * beta;
            for (q, a) in self.quadratic[i * m..(i + 1) * m].iter_mut().zip(alpha) {
                *q += scaled * a;
            }
        }
    }

    /// The share of the gap that a bound may lose to its Newton steps before they aim lower; `None` where they never
    /// need to. Quadratic rows leave relaxations so far below the target that steps towards it go astray, equations
    /// most of all; without them, aiming high costs nothing and keeps the gains of children large.
    pub fn loss(&self) -> Option<f64> {
        let mut quadratic = self
            .rows
            .iter()
            .filter(|row| !row.pairs.is_empty())
            .peekable();
        quadratic.peek()?;
        Some(if quadratic.any(|row| row.is_equation) {
            0.0
        } else {
            1.0
        })
    }

    /// How many logarithms the central path has: τ times this is the gap between L and the relaxation there.
    pub fn n_barriers(&self) -> usize {
        self.m + self.node_cuts.len() + self.rows.iter().filter(|row| !row.is_equation).count()
    }

    /// L, with the inverse and the centre left behind; `None` when Z is not clearly positive definite.
    pub fn evaluate(&mut self, dual: &Dual) -> Option<f64> {
        self.assemble_matrix(dual);
        if !self.work.invert(self.arch, &mut self.inverse, self.m) {
            return None;
        }
        self.find_centre(dual)
    }

    /// L where the inverse of Z is known already.
    pub fn adopt(&mut self, dual: &Dual, inverse: &[f64]) -> Option<f64> {
        self.inverse.clear();
        self.inverse.extend_from_slice(inverse);
        self.find_centre(dual)
    }

    fn find_centre(&mut self, dual: &Dual) -> Option<f64> {
        let m = self.m;
        let mut value = self.assemble_slope(dual);
        self.centre.clear();
        for i in 0..m {
            let u = -dot(&self.inverse[i * m..(i + 1) * m], &self.slope);
            self.centre.push(u);
            value += u * self.slope[i];
        }
        value.is_finite().then_some(value)
    }

    /// The inverse of the part of Z in the rows and columns `left`, from that of the whole: for each r that goes,
    /// W_ij ← W_ij - W_ir W_rj / W_rr.
    pub fn inverse_of_part(&self, left: &[usize]) -> Vec<f64> {
        let m = self.m;
        let mut kept = left.iter().peekable();
        let mut gone = (0..m).filter(|r| kept.next_if_eq(&r).is_none());
        let (Some(first), others) = (gone.next(), gone.collect::<Vec<_>>()) else {
            return self.inverse.clone();
        };
        let mut rest: Vec<usize> = [left, &others].concat();
        let w = &self.inverse;
        let pivot = &w[first * m..(first + 1) * m];
        let mut part = Vec::with_capacity(rest.len() * rest.len());
        for i in &rest {
            let (row, factor) = (&w[i * m..(i + 1) * m], pivot[*i] / pivot[first]);
            part.extend(rest.iter().map(|j| row[*j] - factor * pivot[*j]));
        }
        while rest.len() > left.len() {
            rest.pop();
            part = without_last(&part, rest.len());
        }
        part
    }

    /// Puts Z into `inverse`.
    fn assemble_matrix(&mut self, dual: &Dual) {
        let m = self.m;
        self.inverse.clear();
        self.inverse.extend_from_slice(&self.quadratic);
        for (i, y) in dual.y.iter().enumerate() {
            self.inverse[i * m + i] += y;
        }
        let rows = self
            .rows
            .iter()
            .flat_map(|row| row.pairs.iter().map(|pair| (dual.mu[row.index], *pair)));
        let cuts = self
            .node_cuts
            .iter()
            .flat_map(|cut| cut.entries().map(|entry| (dual.nu[cut.index], entry)));
        for (multiplier, (i, j, q)) in rows.chain(cuts) {
            self.inverse[i * m + j] += multiplier * q;
            self.inverse[j * m + i] += multiplier * q;
        }
    }

    /// Puts d into `slope`; the part of L that does not depend on s.
    fn assemble_slope(&mut self, dual: &Dual) -> f64 {
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
        for (r, row) in self
            .rows
            .iter()
            .enumerate()
            .filter(|(_, row)| !row.is_equation)
        {
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

    /// The Newton direction into `step`, with p_r = Q_r u + α_r/2 and X = uu' + τW:
    ///
    /// ```text
    /// gradient   X_ii - 1                        <Q_r, X> + α_r'u - β_r + τ/μ_r
    /// -Hessian   W_ij (2 u_i u_j + τ W_ij)       2 u_i (Wp_r)_i + τ (WQ_rW)_ii
    ///                                            2 p_r'Wp_s + τ <Q_rW, WQ_s> + [r = s] τ/μ_r²
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
            row.differentiate(w, u);
            let mu = dual.mu[row.index];
            let (barrier, curvature) = if row.is_equation {
                (0.0, 0.0)
            } else {
                (tau / mu, tau / (mu * mu))
            };
            self.step.push(row.activity(u, w, tau) - row.beta + barrier);
            for (i, (u, image)) in u.iter().zip(&row.image).enumerate() {
                let square = if row.product.is_empty() {
                    0.0
                } else {
                    row.square(w, i)
                };
                self.hessian[i * size + m + r] = 2.0 * u * image + tau * square;
            }
            self.hessian[(m + r) * size + m + r] = curvature;
        }
        for r in 0..n_rows {
            for s in r..n_rows {
                let (row, other) = (&self.rows[r], &self.rows[s]);
                let product = 2.0 * dot(&other.slope, &row.image) + tau * row.trace(other, m);
                self.hessian[(m + r) * size + m + s] += product;
            }
            // Two equal equations have no unique multipliers.
            self.hessian[(m + r) * size + m + r] *= 1.0 + 1e-9;
        }
        self.newton_cuts(dual, tau, size);
        self.work
            .solve(self.arch, &self.hessian, size, &mut self.step)
    }

    /// The part of the Newton system that belongs to the cuts, with p = Qu + q:
    ///
    /// ```text
    /// gradient   <Q, X> + 2q'u - 1 + τ/ν
    /// -Hessian   2 u_i (Wp)_i + τ (WQW)_ii      2 p_r'Wp + τ <Q_rW, WQ>      2 p'Wp' + τ <QW, WQ'> + [same cut] τ/ν²
    /// ```
    fn newton_cuts(&mut self, dual: &Dual, tau: f64, size: usize) {
        let (m, n_rows) = (self.m, self.rows.len());
        let (w, u) = (&self.inverse, &self.centre);
        for cut in &mut self.node_cuts {
            cut.differentiate(u);
        }
        let mut column = vec![0.0; m];
        for (c, cut) in self.node_cuts.iter().enumerate() {
            let (at, nu) = (m + n_rows + c, dual.nu[cut.index]);
            self.step.push(cut.activity(u, w, tau) - 1.0 + tau / nu);
            cut.column(w, u, tau, &mut column);
            for (i, entry) in column.iter().enumerate() {
                self.hessian[i * size + at] = *entry;
            }
            for (r, row) in self.rows.iter().enumerate() {
                let product: f64 = cut
                    .places
                    .iter()
                    .zip(&cut.slope)
                    .map(|(a, p)| row.image[*a] * p)
                    .sum();
                let square = if row.product.is_empty() {
                    0.0
                } else {
                    row.trace_with_cut(w, cut)
                };
                self.hessian[(m + r) * size + at] = 2.0 * product + tau * square;
            }
            for (other, d) in self.node_cuts[c..].iter().zip(at..) {
                self.hessian[at * size + d] = cut.curvature(other, w, m, tau);
            }
            self.hessian[at * size + at] += tau / (nu * nu);
        }
    }

    /// Looks for violated triangle inequalities and adds at most `limit` of them; how many.
    pub fn separate(&mut self, free: &[usize], dual: &mut Dual, tau: f64, limit: usize) -> usize {
        let m = self.m;
        let (w, u) = (&self.inverse, &self.centre);
        let x = |i: usize, j: usize| {
            if j == m {
                u[i]
            } else {
                u[i] * u[j] + tau * w[i * m + j]
            }
        };
        let mut found = separate(free, x, limit);
        found.retain(|cut| !self.cuts.contains(cut));
        // What a cut takes from the rows of Z, the diagonal gets: so Z stays positive definite.
        let nu = 0.1 * tau;
        for place in found
            .iter()
            .flat_map(Cut::bits)
            .filter_map(|bit| free.iter().position(|f| *f == bit))
        {
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

    /// Whether these multipliers belong to a node with as many free bits and to as many rows, without cuts.
    pub fn fits(&self, dual: &Dual) -> bool {
        dual.y.len() == self.m && dual.mu.len() == self.spins.rows.len() && self.cuts.is_empty()
    }

    /// By how much L grows at least when each free bit is 0, and when it is 1.
    pub fn gains(&mut self, assignment: &Assignment, groups: &[Group]) -> Vec<(f64, f64)> {
        let m = self.m;
        let alone = |(at, u): (usize, &f64)| {
            let w = self.inverse[at * m + at];
            ((1.0 + u) * (1.0 + u) / w, (1.0 - u) * (1.0 - u) / w)
        };
        let mut gains: Vec<(f64, f64)> = self.centre.iter().enumerate().map(alone).collect();
        for group in groups {
            let Some(open) = group.open(assignment, &self.place, m * m * m / 4) else {
                continue;
            };
            let Some(costs) = self.pattern_gains(&open.places, &open.patterns) else {
                continue;
            };
            for (i, place) in open.places.iter().enumerate() {
                let least = |value: u64| {
                    let having = open
                        .patterns
                        .iter()
                        .zip(&costs)
                        .filter(|(p, _)| **p >> i & 1 == value);
                    having.map(|(_, cost)| *cost).fold(f64::INFINITY, f64::min)
                };
                let (zero, one) = &mut gains[*place];
                (*zero, *one) = (zero.max(least(0)), one.max(least(1)));
            }
        }
        gains
    }

    /// By how much L grows at least when the bits at `places` have each of these patterns.
    ///
    /// `None` when the block of W cannot be inverted.
    fn pattern_gains(&mut self, places: &[usize], patterns: &[u64]) -> Option<Vec<f64>> {
        let (m, k) = (self.m, places.len());
        self.block.clear();
        for i in places {
            self.block
                .extend(places.iter().map(|j| self.inverse[i * m + j]));
        }
        if !self.work.invert(self.arch, &mut self.block, k) {
            return None;
        }
        let mut difference = vec![0.0; k];
        let gain = |pattern: &u64| {
            for (at, (d, place)) in difference.iter_mut().zip(places).enumerate() {
                let spin = if pattern >> at & 1 == 1 { 1.0 } else { -1.0 };
                *d = spin - self.centre[*place];
            }
            (0..k)
                .map(|i| difference[i] * dot(&self.block[i * k..(i + 1) * k], &difference))
                .sum()
        };
        Some(patterns.iter().map(gain).collect())
    }

    /// More than the rounding errors of the terms of L.
    pub fn rounding(&self, dual: &Dual) -> f64 {
        let mut size = self.spins.magnitude + self.penalties + self.constant.abs();
        // Multipliers of opposed rows grow and cancel: their terms count one by one.
        size += self
            .rows
            .iter()
            .map(|row| dual.mu[row.index].abs() * row.size)
            .sum::<f64>();
        size += 4.0
            * self
                .node_cuts
                .iter()
                .map(|cut| dual.nu[cut.index])
                .sum::<f64>();
        8.0 * (self.spins.n + 8) as f64 * f64::EPSILON * size
    }

    /// L again, as a bound that holds in spite of rounding; `None` when it cannot be shown to hold.
    ///
    /// Z ⪰ 0 because Z - ηI has positive pivots for an η above all rounding errors of the elimination (Rump 2006).
    /// Then for the residual r = Zu + d of any u, s'Zs + 2d's >= 2r's - u'Zu >= -2 Σ|r_i| - u'Zu over spins. The
    /// rounding of these sums is bounded by the sum of their absolute terms.
    pub fn certify(&mut self, dual: &Dual) -> Option<f64> {
        let m = self.m;
        let centre = std::mem::take(&mut self.centre);
        self.assemble_matrix(dual);
        let value = self.assemble_slope(dual);
        let (mut energy, mut residual, mut size) = (0.0, 0.0, 0.0);
        for i in 0..m {
            let row = &self.inverse[i * m..(i + 1) * m];
            let image = dot(row, &centre);
            energy += centre[i] * image;
            residual += (image + self.slope[i]).abs();
            size += row
                .iter()
                .zip(&centre)
                .map(|(z, u)| (z * u).abs())
                .sum::<f64>()
                * (1.0 + centre[i].abs());
            size += self.slope[i].abs() + dual.y[i].abs();
        }
        self.centre = centre;
        let trace: f64 = (0..m).map(|i| self.inverse[i * m + i].abs()).sum();
        let shift = 4.0 * (m + 2) as f64 * f64::EPSILON * trace;
        for i in 0..m {
            self.inverse[i * m + i] -= shift;
        }
        let is_definite = self.work.has_positive_pivots(self.arch, &self.inverse, m);
        let error = self.rounding(dual) + 8.0 * (self.spins.n + 8) as f64 * f64::EPSILON * size;
        let bound = value - energy - 2.0 * residual - error;
        (is_definite && bound.is_finite()).then_some(bound)
    }
}

/// The inverse of a part without its last row and column, the k-th.
fn without_last(w: &[f64], k: usize) -> Vec<f64> {
    let pivot = &w[k * (k + 1)..];
    let mut part = Vec::with_capacity(k * k);
    for row in w.chunks_exact(k + 1).take(k) {
        let factor = row[k] / pivot[k];
        part.extend(row[..k].iter().zip(pivot).map(|(x, y)| x - factor * y));
    }
    part
}
