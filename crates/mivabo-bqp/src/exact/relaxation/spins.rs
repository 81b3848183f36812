//! The problem in spins s = 2x - 1 ∈ {-1, 1}ⁿ, where the semidefinite relaxation lives.
//!
//! ```text
//! f(s) = s'Ms + 2 c's + κ         M symmetric with zero diagonal
//! s'Qs + α's <= β  or  = β        rows
//! ```
//!
//! Tables have no part in it; propagation keeps them.

use crate::model::{Bqp, Sense};

/// How strongly the square of an equation is added to the objective, relative to a mean coefficient.
const PENALTY: f64 = 20.0;

/// Objective and rows in spins.
#[derive(Debug)]
pub(crate) struct Spins {
    pub n: usize,
    /// M, row by row.
    pub quadratic: Vec<f64>,
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
            quadratic: vec![0.0; n * n],
            linear: vec![0.0; n],
            constant: objective.constant(),
            rows: Vec::new(),
            magnitude: objective.magnitude(),
        };
        for &(i, l) in objective.linear() {
            spins.linear[i] += l / 4.0;
            spins.constant += l / 2.0;
        }
        for &(i, j, q) in objective.quadratic() {
            spins.quadratic[i * n + j] += q / 8.0;
            spins.quadratic[j * n + i] += q / 8.0;
            spins.linear[i] += q / 8.0;
            spins.linear[j] += q / 8.0;
            spins.constant += q / 4.0;
        }
        spins.add_rows(problem);
        spins
    }

    /// Scales each row so that its largest coefficient is 1/2, as for a sum of bits.
    fn add_rows(&mut self, problem: &Bqp) {
        let n_pairs = (self.n * self.n.saturating_sub(1)).max(1) as f64;
        let mean = self.quadratic.iter().map(|q| q.abs()).sum::<f64>() / n_pairs;
        for row in problem.rows() {
            let largest = row.form().coefficients().map(f64::abs).fold(0.0, f64::max);
            if largest == 0.0 {
                continue;
            }
            let mut alpha = vec![0.0; self.n];
            // The tolerance of a row belongs to what it allows.
            let mut beta = (row.rhs() + row.tolerance()) / largest;
            for &(i, a) in row.form().linear() {
                alpha[i] = a / largest / 2.0;
                beta -= alpha[i];
            }
            let mut pairs = Vec::new();
            for &(i, j, a) in row.form().quadratic() {
                let quarter = a / largest / 4.0;
                pairs.push((i, j, quarter / 2.0));
                alpha[i] += quarter;
                alpha[j] += quarter;
                beta -= quarter;
            }
            let is_equation = row.sense() == Sense::Equal && row.tolerance() == 0.0;
            let mut penalty = 0.0;
            if is_equation && row.is_linear() {
                let square =
                    alpha.iter().map(|a| a * a).sum::<f64>() / row.form().linear().len() as f64;
                penalty = PENALTY / 4.0 * mean.max(1e-3 * self.magnitude / n_pairs) / square;
            }
            let size = row.rhs().abs() / largest + 2.0 * row.form().magnitude() / largest;
            self.rows.push(SpinRow {
                alpha,
                beta,
                pairs,
                is_equation,
                size,
                penalty,
            });
        }
    }
}

impl SpinRow {
    /// Σ α_i s_i over the spins that are known.
    pub fn fixed_part(&self, spin: impl Fn(usize) -> Option<f64>) -> f64 {
        self.alpha
            .iter()
            .enumerate()
            .filter_map(|(i, a)| Some(a * spin(i)?))
            .sum()
    }
}
