//! A linear model under a Gaussian prior with one variance per weight: the step that all three sparse priors repeat.
//!
//! Two equal paths, for a design Φ (n×M), outputs y, a prior N(m₀, V) with diagonal V and noise of variance σ²:
//!
//! ```text
//! dual,   n < M:   C = σ²I + ΦVΦᵀ = LLᵀ,       G = L⁻¹ΦV^½     covariance V^½ (I - GᵀG) V^½      O(n²M)
//! primal, n ≥ M:   B = I + V^½ΦᵀΦV^½/σ² = RRᵀ,                 covariance V^½ B⁻¹ V^½            O(M³)
//! ```

mod dual;
mod primal;
#[cfg(test)]
mod tests;

use std::f64::consts::PI;

use super::Design;
use crate::math::matrix::{Symmetric, times};
use crate::math::random::Stream;
use crate::math::vector::{differences, dot, products, sums};
use crate::surrogate::Prediction;

/// The least share of its prior variance that data leave to a weight: below it, rounding decides.
const LEAST_LEFT: f64 = 1e-14;

/// What is greater, in units of a prior deviation, overflows when it is squared: such data are not used.
const HUGE: f64 = 1e100;

/// Independent weights w_k ~ N(mean_k, variance_k) with positive variances.
#[derive(Debug, Clone)]
pub(super) struct Diagonal {
    pub mean: Vec<f64>,
    pub variance: Vec<f64>,
}

/// A design, with what does not depend on the prior computed once.
#[derive(Debug)]
pub(super) struct Regression<'a> {
    design: &'a Design,
    /// ΦᵀΦ in the primal.
    gram: Option<Symmetric>,
}

/// A design under a prior and noise.
struct Problem<'a> {
    design: &'a Design,
    /// V^½
    deviation: &'a [f64],
    /// σ²
    noise: f64,
}

/// The posterior of the weights.
#[derive(Debug, Clone)]
pub(super) struct GaussianPosterior {
    pub mean: Vec<f64>,
    pub variance: Vec<f64>,
    /// The share of its prior variance that is left to each weight, in (0, 1].
    pub left: Vec<f64>,
    /// Φᵀ C⁻¹ (y - Φm₀): how strongly data pull each weight away from its prior mean.
    pub pull: Vec<f64>,
    /// log N(y; Φm₀, C)
    pub log_evidence: f64,
    /// V^½
    deviation: Vec<f64>,
    factor: Factor,
}

#[derive(Debug, Clone)]
enum Factor {
    Dual(dual::Factor),
    Primal(primal::Factor),
    /// No data, or none that floating point can hold.
    Prior,
}

impl<'a> Regression<'a> {
    pub(super) fn new(design: &'a Design) -> Self {
        let is_primal = design.n >= design.m;
        let gram = is_primal.then(|| Symmetric::inner(&design.rows, design.n, design.m));
        Self { design, gram }
    }

    /// The posterior under a prior and a noise variance.
    pub(super) fn posterior(&self, prior: &Diagonal, noise: f64) -> GaussianPosterior {
        let deviation = roots(&prior.variance);
        let expected = times(&self.design.rows, self.design.n, &prior.mean);
        let residual = differences(&self.design.y, &expected);
        let problem = self.problem(&deviation, noise);
        let known = match &self.gram {
            Some(gram) => primal::known(&problem, gram, &residual),
            None => dual::known(&problem, &residual),
        };
        known
            .filter(Known::is_usable)
            .unwrap_or_else(|| Known::nothing(prior.mean.len()))
            .posterior(prior, deviation)
    }

    /// A draw from the posterior under the prior N(0, V), without its moments: half the work of [`Self::posterior`].
    pub(super) fn draw(&self, variance: &[f64], noise: f64, stream: &mut Stream) -> Vec<f64> {
        self.marginal(variance, noise).draw(self.design, stream)
    }

    /// The outputs with the weights integrated out under the prior N(0, V), ready for draws of the weights.
    pub(super) fn marginal(&self, variance: &[f64], noise: f64) -> Marginal {
        let deviation = roots(variance);
        let problem = self.problem(&deviation, noise);
        let solved = match &self.gram {
            Some(gram) => primal::marginal(&problem, gram),
            None => dual::marginal(&problem),
        };
        let (solved, log_evidence) = solved
            .filter(|(_, log_evidence)| log_evidence.abs() < HUGE)
            .unwrap_or((Solved::Prior, 0.0));
        Marginal {
            log_evidence,
            deviation,
            solved,
        }
    }

    fn problem<'b>(&'b self, deviation: &'b [f64], noise: f64) -> Problem<'b> {
        Problem {
            design: self.design,
            deviation,
            noise,
        }
    }
}

/// The outputs with the weights integrated out.
pub(super) struct Marginal {
    /// log N(y; 0, C)
    pub log_evidence: f64,
    /// V^½
    deviation: Vec<f64>,
    solved: Solved,
}

enum Solved {
    Dual(dual::Marginal),
    Primal(primal::Marginal),
    Prior,
}

impl Marginal {
    /// A draw of the weights, given the outputs that they were integrated out of.
    pub(super) fn draw(&self, design: &Design, stream: &mut Stream) -> Vec<f64> {
        let z = stream.normals(self.deviation.len());
        let unit = match &self.solved {
            Solved::Prior => z.clone(),
            Solved::Primal(marginal) => marginal.draw(&z),
            Solved::Dual(marginal) => marginal.draw(&z, design, stream),
        };
        // A chain squares its draws.
        let is_usable = unit.iter().all(|u| u.abs() < HUGE);
        products(if is_usable { &unit } else { &z }, &self.deviation)
    }
}

/// What data say, before it is joined to the prior.
struct Known {
    pull: Vec<f64>,
    left: Vec<f64>,
    log_evidence: f64,
    factor: Factor,
}

impl Known {
    fn nothing(m: usize) -> Self {
        Self {
            pull: vec![0.0; m],
            left: vec![1.0; m],
            log_evidence: 0.0,
            factor: Factor::Prior,
        }
    }

    fn is_usable(&self) -> bool {
        let weights = self.pull.iter().chain(&self.left);
        weights.chain([&self.log_evidence]).all(|x| x.abs() < HUGE)
    }

    /// mean = m₀ + V pull,   variance = V left
    fn posterior(self, prior: &Diagonal, deviation: Vec<f64>) -> GaussianPosterior {
        let clamped = self.left.iter().map(|left| left.clamp(LEAST_LEFT, 1.0));
        let left: Vec<f64> = clamped.collect();
        let shift = products(&self.pull, &prior.variance);
        GaussianPosterior {
            mean: sums(&prior.mean, &shift),
            variance: products(&left, &prior.variance),
            left,
            pull: self.pull,
            log_evidence: self.log_evidence,
            deviation,
            factor: self.factor,
        }
    }
}

impl GaussianPosterior {
    /// A draw of all weights.
    pub(super) fn sample(&self, stream: &mut Stream) -> Vec<f64> {
        let z = stream.normals(self.mean.len());
        let unit = match &self.factor {
            Factor::Prior => z,
            Factor::Primal(factor) => factor.draw(&z),
            Factor::Dual(factor) => factor.draw(&z, stream),
        };
        sums(&self.mean, &products(&unit, &self.deviation))
    }

    /// Mean and variance of φᵀw, without the noise of an observation.
    pub(super) fn predict(&self, row: &[f64]) -> Prediction {
        let t = products(row, &self.deviation);
        let all = dot(&t, &t);
        let variance = match &self.factor {
            Factor::Prior => all,
            Factor::Primal(factor) => factor.variance(&t),
            // The difference of two nearly equal numbers where the row was observed.
            Factor::Dual(factor) => (all - factor.explained(&t)).max(LEAST_LEFT * all),
        };
        Prediction::new(dot(row, &self.mean), variance)
    }
}

fn roots(variance: &[f64]) -> Vec<f64> {
    variance.iter().map(|v| v.sqrt()).collect()
}

/// -½ (n log 2π + log|C| + rᵀC⁻¹r)
fn log_normal(n: usize, log_determinant: f64, square: f64) -> f64 {
    -0.5 * (n as f64 * (2.0 * PI).ln() + log_determinant + square)
}
