//! The path in n dimensions, for fewer observations than weights.
//!
//! Draws follow Bhattacharya, Chakraborty & Mallick (2016), *Fast sampling with Gaussian scale mixture
//! priors in high-dimensional regression*: a draw of prior and noise, corrected by what it mispredicts.

use super::{Known, Problem, Solved, log_normal};
use crate::math::cholesky::JitteredFactor;
use crate::math::matrix::{Symmetric, scaled_columns, times, transposed_times};
use crate::math::random::Stream;
use crate::math::vector::{differences, dot, quotients, sums};
use crate::surrogate::sparse::Design;

/// What moments and draws need.
#[derive(Debug, Clone)]
pub(super) struct Factor {
    /// L
    lower: JitteredFactor,
    /// G, row by row.
    g: Vec<f64>,
    noise: f64,
}

/// What draws alone need.
pub(super) struct Marginal {
    /// L
    lower: JitteredFactor,
    /// A = ΦV^½, row by row.
    scaled: Vec<f64>,
    noise: f64,
}

/// ```text
/// pull = V^-½ Gᵀ L⁻¹r,   left = 1 - ‖G_k‖²,   log N(r; 0, C) = -½(n log 2π + log|C| + ‖L⁻¹r‖²)
/// ```
pub(super) fn known(problem: &Problem<'_>, residual: &[f64]) -> Option<Known> {
    let (n, m) = (problem.design.n, problem.design.m);
    let mut g = scaled_columns(&problem.design.rows, problem.deviation);
    let lower = factor(&g, problem)?;
    lower.forward_rows(&mut g, m);
    let white = whitened(&lower, residual);
    let pull = quotients(&transposed_times(&g, m, &white), problem.deviation);
    Some(Known {
        pull,
        left: left(&g, m),
        log_evidence: log_normal(n, lower.log_determinant(), dot(&white, &white)),
        factor: super::Factor::Dual(Factor {
            lower,
            g,
            noise: problem.noise,
        }),
    })
}

/// The outputs under N(0, C), and their log density.
pub(super) fn marginal(problem: &Problem<'_>) -> Option<(Solved, f64)> {
    let Design { n, y, rows, .. } = problem.design;
    let scaled = scaled_columns(rows, problem.deviation);
    let lower = factor(&scaled, problem)?;
    let white = whitened(&lower, y);
    let log_evidence = log_normal(*n, lower.log_determinant(), dot(&white, &white));
    let marginal = Marginal {
        lower,
        scaled,
        noise: problem.noise,
    };
    Some((Solved::Dual(marginal), log_evidence))
}

/// L⁻¹r
fn whitened(lower: &JitteredFactor, residual: &[f64]) -> Vec<f64> {
    let mut white = residual.to_vec();
    lower.forward(&mut white);
    white
}

/// 1 - ‖G_k‖² for each weight, row by row of G: a column of it would jump through memory.
fn left(g: &[f64], m: usize) -> Vec<f64> {
    let mut left = vec![1.0; m];
    for row in g.chunks_exact(m.max(1)) {
        for (left, g) in left.iter_mut().zip(row) {
            *left -= g * g;
        }
    }
    left
}

/// L, from A = ΦV^½.
fn factor(scaled: &[f64], problem: &Problem<'_>) -> Option<JitteredFactor> {
    let outer = Symmetric::outer(scaled, problem.design.n, problem.design.m);
    JitteredFactor::new(&outer.plus_diagonal(problem.noise))
}

impl Factor {
    /// V^-½(w - m) = z - Gᵀ(Gz + L⁻¹σε)
    pub(super) fn draw(&self, z: &[f64], stream: &mut Stream) -> Vec<f64> {
        let seen = times(&self.g, self.lower.order(), z);
        let noise = self.noise.sqrt();
        let mut missed: Vec<f64> = seen.iter().map(|_| noise * stream.normal()).collect();
        self.lower.forward(&mut missed);
        let missed = sums(&missed, &seen);
        differences(z, &transposed_times(&self.g, z.len(), &missed))
    }

    /// ‖Gt‖², the variance that data take away.
    pub(super) fn explained(&self, t: &[f64]) -> f64 {
        let seen = times(&self.g, self.lower.order(), t);
        dot(&seen, &seen)
    }
}

impl Marginal {
    /// V^-½w = z + AᵀC⁻¹(y - Az - σε)
    pub(super) fn draw(&self, z: &[f64], design: &Design, stream: &mut Stream) -> Vec<f64> {
        let seen = times(&self.scaled, design.n, z);
        let noise = self.noise.sqrt();
        let mut missed = differences(&design.y, &seen);
        for missed in &mut missed {
            *missed -= noise * stream.normal();
        }
        self.lower.forward(&mut missed);
        self.lower.backward(&mut missed);
        sums(&transposed_times(&self.scaled, z.len(), &missed), z)
    }
}
