//! The problem in spins s = 2x - 1 ∈ {-1, 1}ⁿ, where the semidefinite relaxation lives.
//!
//! ```text
//! f(s) = s'Ms + 2 c's + κ         M symmetric with zero diagonal
//! s'Qs + α's <= β  or  = β        rows
//! ```
//!
//! Tables have no part in it; propagation keeps them.

use super::square::Square;
use crate::model::{Bqp, Quadratic, Row, RowRelation};
use crate::propagation::Assignment;

/// How strongly the square of an equation is added to the objective, relative to a mean coefficient.
const PENALTY: f64 = 20.0;

/// The spin of a bit that is fixed.
#[inline]
pub(super) fn spin(assignment: &Assignment, bit: usize) -> Option<f64> {
    assignment
        .value(bit)
        .map(|is_set| if is_set { 1.0 } else { -1.0 })
}

/// Objective and rows in spins.
#[derive(Debug)]
pub(crate) struct Spins {
    pub n: usize,
    /// M
    pub quadratic: Square,
    /// c
    pub linear: Vec<f64>,
    /// κ
    pub constant: f64,
    pub rows: Vec<SpinRow>,
    /// Σ |entries|: errors of sums are measured by it.
    pub magnitude: f64,
}

/// s'Qs + α's <= β or = β.
#[derive(Debug)]
pub(crate) struct SpinRow {
    pub alpha: Vec<f64>,
    pub beta: f64,
    /// Q, as bits i < j and its entry there; empty for a linear row.
    pub pairs: Vec<(usize, usize, f64)>,
    pub is_equation: bool,
    /// Σ |terms|: errors of sums are measured by it.
    pub size: f64,
    /// ρ(α's - β)² is added to the objective; it is zero wherever the equation holds.
    pub penalty: f64,
}

impl Spins {
    pub fn new(problem: &Bqp) -> Spins {
        let n = problem.n();
        let objective = problem.objective();
        let mut spins = Spins {
            n,
            quadratic: Square::zeros(n),
            linear: vec![0.0; n],
            constant: objective.constant(),
            rows: Vec::new(),
            magnitude: objective.magnitude(),
        };
        spins.add_objective(objective);
        let size = spins.size_of_penalties();
        let rows = problem.rows().iter();
        spins.rows = rows.filter_map(|row| SpinRow::new(row, n, size)).collect();
        spins
    }

    fn add_objective(&mut self, objective: &Quadratic) {
        for &(i, l) in objective.linear() {
            self.linear[i] += l / 4.0;
            self.constant += l / 2.0;
        }
        for &(i, j, q) in objective.quadratic() {
            self.quadratic.add_symmetric(i, j, q / 8.0);
            self.linear[i] += q / 8.0;
            self.linear[j] += q / 8.0;
            self.constant += q / 4.0;
        }
    }

    /// ρ for an equation whose α has squares of mean 1.
    fn size_of_penalties(&self) -> f64 {
        let n_pairs = (self.n * self.n.saturating_sub(1)).max(1) as f64;
        let mean = self
            .quadratic
            .entries()
            .iter()
            .map(|q| q.abs())
            .sum::<f64>()
            / n_pairs;
        // An objective that is almost linear has no pairs to compare with.
        let least = 1e-3 * self.magnitude / n_pairs;
        PENALTY / 4.0 * mean.max(least)
    }
}

impl SpinRow {
    /// The row over `n` spins, scaled so that its largest coefficient is 1/2, as for a sum of bits; none where it has
    /// no coefficients.
    fn new(row: &Row, n: usize, size_of_penalties: f64) -> Option<SpinRow> {
        let form = row.form();
        let largest = form.coefficients().map(f64::abs).fold(0.0, f64::max);
        // True or false whatever the spins are: propagation has decided it.
        if largest == 0.0 {
            return None;
        }
        // What the tolerance of a row lets through is feasible, so the relaxation must let it through too.
        let is_equation = row.relation() == RowRelation::Equal && row.tolerance() == 0.0;
        let mut scaled = SpinRow {
            alpha: vec![0.0; n],
            beta: (row.rhs() + row.tolerance()) / largest,
            pairs: Vec::new(),
            is_equation,
            size: row.rhs().abs() / largest + 2.0 * form.magnitude() / largest,
            penalty: 0.0,
        };
        scaled.add_terms(form, largest);
        if is_equation && row.is_linear() {
            scaled.penalty = size_of_penalties / scaled.mean_square(form.linear().len());
        }
        Some(scaled)
    }

    /// The mean square of α over so many of its entries, beside which there are only zeros.
    fn mean_square(&self, n_terms: usize) -> f64 {
        let squares = self.alpha.iter().map(|a| a * a).sum::<f64>();
        squares / n_terms as f64
    }

    fn add_terms(&mut self, form: &Quadratic, largest: f64) {
        for &(i, a) in form.linear() {
            self.alpha[i] = a / largest / 2.0;
            self.beta -= self.alpha[i];
        }
        for &(i, j, a) in form.quadratic() {
            let quarter = a / largest / 4.0;
            self.pairs.push((i, j, quarter / 2.0));
            self.alpha[i] += quarter;
            self.alpha[j] += quarter;
            self.beta -= quarter;
        }
    }

    /// Σ αᵢsᵢ over the spins that are fixed.
    pub fn fixed_part(&self, assignment: &Assignment) -> f64 {
        let fixed = |(i, a): (usize, &f64)| Some(a * spin(assignment, i)?);
        self.alpha.iter().enumerate().filter_map(fixed).sum()
    }
}
