//! Sparse linear models, whose prior expects most weights to be zero. MiVaBo, App. A.
//!
//! ```text
//! y = Φw + ε,   ε ~ N(0, σ²I),   w_k ~ p independently
//! ```
//!
//! | prior | p(w) | inference | belief |
//! |---|---|---|---|
//! | [`Laplace`] | exp(-\|w\|/scale) / (2 scale) | expectation propagation | Gaussian |
//! | [`Horseshoe`] | N(0, λ²τ²), λ and τ half-Cauchy | Gibbs sampling | draws |
//! | [`SpikeSlab`] | p₀ N(0, slab) + (1 - p₀) δ₀ | expectation propagation | Gaussian, and draws with exact zeros |
//!
//! Every step costs O(n²M) for n < M observations, and nothing is ever M×M then; O(M³) for n ≥ M.

mod ep;
mod horseshoe;
mod laplace;
mod model;
mod regression;
mod spike_slab;
#[cfg(test)]
mod tests;

pub(crate) use horseshoe::Horseshoe;
pub(crate) use laplace::Laplace;
pub(crate) use model::{Sparse, SparsePrior};
pub(crate) use spike_slab::SpikeSlab;

use self::ep::Propagated;
use self::spike_slab::Spikes;
use crate::math::matrix::chosen_columns;
use crate::math::random::Stream;
use crate::math::vector::dot;
use crate::surrogate::Prediction;

/// The noise variance is at least this share of the variance that outputs have under the prior. It keeps n×n matrices
/// with equal rows invertible, and it is far below what a standardised output can tell.
const NOISE_FLOOR: f64 = 1e-8;

/// Observations: n rows of M features, stored row by row, and n outputs (standardised).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Design {
    pub n: usize,
    pub m: usize,
    pub rows: Vec<f64>,
    pub y: Vec<f64>,
}

/// A belief about the weights of a linear model.
///
/// # Contract
/// * `mean` and `variance` are the marginal moments of the weights, `predict` those of φᵀw, without observation noise.
/// * `sample` is a draw of all weights together; equal streams give equal draws.
/// * Nothing is NaN, whatever the design; data that floating point cannot hold leave the prior.
#[derive(Debug, Clone)]
pub(crate) struct SparsePosterior {
    mean: Vec<f64>,
    belief: Inferred,
}

#[derive(Debug, Clone)]
enum Inferred {
    Propagated(Box<Propagated>, Option<Spikes>),
    /// Draws of a chain, one after the other.
    Sampled(Vec<f64>),
}

impl Design {
    /// A design of rows with `m` features each.
    pub(crate) fn new(m: usize, rows: Vec<f64>, y: Vec<f64>) -> Self {
        debug_assert_eq!(rows.len(), m * y.len(), "one row of features per output");
        Self {
            n: y.len(),
            m,
            rows,
            y,
        }
    }

    /// A noise variance of at least [`NOISE_FLOOR`] · `prior_variance` · the mean of ‖φ‖², and positive in any case.
    fn floored(&self, noise: f64, prior_variance: f64) -> f64 {
        let squares = self.mean_square();
        // Features that are all 0, or overflow, leave no scale to take a share of.
        let floor = positive_or(
            NOISE_FLOOR * prior_variance * squares,
            f64::MIN_POSITIVE.sqrt(),
        );
        positive_or(noise, floor).max(floor)
    }

    /// The mean of ‖φ‖².
    fn mean_square(&self) -> f64 {
        dot(&self.rows, &self.rows) / self.n.max(1) as f64
    }

    /// Only these columns.
    fn columns(&self, kept: &[usize]) -> Self {
        Self {
            n: self.n,
            m: kept.len(),
            rows: chosen_columns(&self.rows, self.m, kept),
            y: self.y.clone(),
        }
    }
}

impl SparsePosterior {
    fn propagated(propagated: Propagated, spikes: Option<Spikes>) -> Self {
        Self {
            mean: propagated.gaussian.mean.clone(),
            belief: Inferred::Propagated(Box::new(propagated), spikes),
        }
    }

    /// From draws of `m` weights each, at least one.
    fn sampled(draws: Vec<f64>, m: usize) -> Self {
        let column = |k| draws.iter().skip(k).step_by(m).copied();
        Self {
            mean: (0..m).map(|k| mean(column(k))).collect(),
            belief: Inferred::Sampled(draws),
        }
    }

    /// Posterior mean of each weight.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Posterior variance of each weight.
    #[cfg(test)]
    pub fn variance(&self) -> Vec<f64> {
        let m = self.mean.len();
        match &self.belief {
            Inferred::Propagated(propagated, _) => propagated.gaussian.variance.clone(),
            Inferred::Sampled(draws) => {
                let column = |k| draws.iter().skip(k).step_by(m).copied();
                (0..m).map(|k| moments(column(k)).1).collect()
            }
        }
    }

    /// Mean and variance of φᵀw for a row φ of features.
    pub fn predict(&self, row: &[f64]) -> Prediction {
        match &self.belief {
            Inferred::Propagated(propagated, _) => propagated.gaussian.predict(row),
            Inferred::Sampled(draws) => {
                let values = draws.chunks_exact(row.len().max(1));
                let (mean, variance) = moments(values.map(|draw| dot(draw, row)));
                Prediction::new(mean, variance)
            }
        }
    }

    /// A draw of all weights.
    ///
    /// * Laplace: of the Gaussian belief.
    /// * Horseshoe: one of the draws kept, each with equal probability.
    /// * Spike-and-slab: zeros first, each weight by its posterior probability of being zero, and then the others exactly
    ///   from their Gaussian posterior given which they are. So a draw is sparse, and as a function it still agrees with
    ///   the data. Which weights are zero is drawn independently, so among strongly correlated features a draw may
    ///   hold several or none where the true posterior holds one; `sample_gaussian` has no such fault, and no
    ///   zeros.
    pub fn sample(&self, stream: &mut Stream) -> Vec<f64> {
        match &self.belief {
            Inferred::Propagated(propagated, None) => propagated.gaussian.sample(stream),
            Inferred::Propagated(_, Some(spikes)) => spikes.sample(stream),
            Inferred::Sampled(draws) => pick(draws, self.mean.len(), stream),
        }
    }

    /// A draw of the Gaussian approximation, where there is one; the same as [`Self::sample`] for the horseshoe.
    #[cfg(test)]
    pub fn sample_gaussian(&self, stream: &mut Stream) -> Vec<f64> {
        match &self.belief {
            Inferred::Propagated(propagated, _) => propagated.gaussian.sample(stream),
            Inferred::Sampled(draws) => pick(draws, self.mean.len(), stream),
        }
    }

    /// Expectation propagation's estimate of log p(y); none from Gibbs sampling.
    pub fn log_evidence(&self) -> Option<f64> {
        match &self.belief {
            Inferred::Propagated(propagated, _) => Some(propagated.log_evidence),
            Inferred::Sampled(_) => None,
        }
    }

    /// The log evidence, where it is more than a rough guess.
    fn trusted_evidence(&self) -> Option<f64> {
        self.log_evidence().filter(|_| self.converged())
    }

    /// Posterior probability that each weight is not zero, where the prior has zeros.
    #[cfg(test)]
    pub fn inclusion(&self) -> Option<&[f64]> {
        match &self.belief {
            Inferred::Propagated(_, Some(spikes)) => Some(&spikes.inclusion),
            _ => None,
        }
    }

    /// Whether expectation propagation reached a fixed point; always true of a chain, which has none.
    ///
    /// Without one, the belief is that of the sites that moved least, and the log evidence is a rough guess.
    pub fn converged(&self) -> bool {
        match &self.belief {
            Inferred::Propagated(propagated, _) => propagated.converged,
            Inferred::Sampled(_) => true,
        }
    }

    /// The draws of the horseshoe's chain, one after the other; empty for the other priors.
    #[cfg(test)]
    pub fn draws(&self) -> &[f64] {
        match &self.belief {
            Inferred::Propagated(..) => &[],
            Inferred::Sampled(draws) => draws,
        }
    }
}

/// One of several draws of `m` weights each.
fn pick(draws: &[f64], m: usize, stream: &mut Stream) -> Vec<f64> {
    let n_draws = draws.len() / m.max(1);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a unit times a count"
    )]
    let drawn = ((stream.unit() * n_draws as f64) as usize).min(n_draws.saturating_sub(1));
    draws
        .chunks_exact(m.max(1))
        .nth(drawn)
        .map_or_else(Vec::new, <[f64]>::to_vec)
}

/// Mean and variance (with n in the denominator).
fn moments(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let mean = mean(values.clone());
    // About the mean, not E[x²] - mean²: that could be negative.
    let variance = self::mean(values.map(|x| (x - mean) * (x - mean)));
    (mean, variance)
}

fn mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let n = values.clone().count().max(1) as f64;
    values.sum::<f64>() / n
}

/// A positive, finite number, or a stand-in for it.
fn positive_or(x: f64, stand_in: f64) -> f64 {
    if x > 0.0 && x.is_finite() {
        x
    } else {
        stand_in
    }
}
