//! The path in M dimensions, for at least as many observations as weights.

use super::{Known, Problem, Solved, log_normal};
use crate::math::cholesky::JitteredFactor;
use crate::math::matrix::{Symmetric, identity, times, transposed_times};
use crate::math::vector::{differences, dot, products, quotients, sums};
use crate::surrogate::sparse::Design;

/// What moments and draws need.
#[derive(Debug, Clone)]
pub(super) struct Factor {
    /// R⁻¹, row by row.
    inverse: Vec<f64>,
}

/// What draws alone need.
pub(super) struct Marginal {
    /// R
    factor: JitteredFactor,
    /// R⁻¹V^½Φᵀy/σ²
    white: Vec<f64>,
}

/// ```text
/// t = V^½Φᵀr/σ²,   pull = V^-½ B⁻¹t,   left = (B⁻¹)_kk = ‖R⁻¹e_k‖²,
/// log|C| = n log σ² + log|B|,   rᵀC⁻¹r = ‖r - Φδ‖²/σ² + δᵀV⁻¹δ   with the shift δ = V^½B⁻¹t
/// ```
pub(super) fn known(problem: &Problem<'_>, gram: &Symmetric, residual: &[f64]) -> Option<Known> {
    let Design { n, m, rows, .. } = problem.design;
    let factor = factor(gram, problem)?;
    let inverse = inverted(&factor, *m);
    let weighed = products(&transposed_times(rows, *m, residual), problem.deviation);
    let t: Vec<f64> = weighed.iter().map(|t| t / problem.noise).collect();
    let unit_shift = transposed_times(&inverse, *m, &times(&inverse, *m, &t));
    let log_determinant = *n as f64 * problem.noise.ln() + factor.log_determinant();
    let square = square(problem, residual, &unit_shift);
    Some(Known {
        pull: quotients(&unit_shift, problem.deviation),
        left: column_squares(&inverse, *m),
        log_evidence: log_normal(*n, log_determinant, square),
        factor: super::Factor::Primal(Factor { inverse }),
    })
}

/// rᵀC⁻¹r from V^-½δ, as a sum of squares: rᵀr/σ² - tᵀB⁻¹t is a small difference of large numbers where the fit is good.
fn square(problem: &Problem<'_>, residual: &[f64], unit_shift: &[f64]) -> f64 {
    let shift = products(unit_shift, problem.deviation);
    let fitted = times(&problem.design.rows, problem.design.n, &shift);
    let error = differences(residual, &fitted);
    dot(&error, &error) / problem.noise + dot(unit_shift, unit_shift)
}

/// The outputs under N(0, C), and their log density, with yᵀC⁻¹y = yᵀy/σ² - ‖R⁻¹t‖² and t = V^½Φᵀy/σ².
pub(super) fn marginal(problem: &Problem<'_>, gram: &Symmetric) -> Option<(Solved, f64)> {
    let Design { n, m, rows, y } = problem.design;
    let factor = factor(gram, problem)?;
    let mut white = transposed_times(rows, *m, y);
    for (t, d) in white.iter_mut().zip(problem.deviation) {
        *t *= d / problem.noise;
    }
    factor.forward(&mut white);
    let log_determinant = *n as f64 * problem.noise.ln() + factor.log_determinant();
    let square = dot(y, y) / problem.noise - dot(&white, &white);
    let log_evidence = log_normal(*n, log_determinant, square);
    Some((Solved::Primal(Marginal { factor, white }), log_evidence))
}

/// R, with RRᵀ = I + V^½ΦᵀΦV^½/σ²: at least the identity, however small the variances are.
fn factor(gram: &Symmetric, problem: &Problem<'_>) -> Option<JitteredFactor> {
    let (deviation, noise) = (problem.deviation, problem.noise);
    let scaled = gram.mapped(|i, j, entry| entry * (deviation[i] / noise) * deviation[j]);
    JitteredFactor::new(&scaled.plus_diagonal(1.0))
}

fn inverted(factor: &JitteredFactor, m: usize) -> Vec<f64> {
    let mut inverse = identity(m);
    factor.forward_rows(&mut inverse, m);
    inverse
}

/// ‖A e_k‖² for each column of A.
fn column_squares(rows: &[f64], m: usize) -> Vec<f64> {
    let mut squares = vec![0.0; m];
    for row in rows.chunks_exact(m.max(1)) {
        for (sum, x) in squares.iter_mut().zip(row) {
            *sum += x * x;
        }
    }
    squares
}

impl Factor {
    /// V^-½(w - m) = R⁻ᵀz
    pub(super) fn draw(&self, z: &[f64]) -> Vec<f64> {
        transposed_times(&self.inverse, z.len(), z)
    }

    /// ‖R⁻¹t‖²
    pub(super) fn variance(&self, t: &[f64]) -> f64 {
        let r = times(&self.inverse, t.len(), t);
        dot(&r, &r)
    }
}

impl Marginal {
    /// V^-½w = R⁻ᵀ(R⁻¹V^½Φᵀy/σ² + z)
    pub(super) fn draw(&self, z: &[f64]) -> Vec<f64> {
        let mut unit = sums(&self.white, z);
        self.factor.backward(&mut unit);
        unit
    }
}
