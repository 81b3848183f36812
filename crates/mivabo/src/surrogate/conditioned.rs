//! Outputs under a Gaussian law, factored once: what predictions, hyper-parameters and structures are judged by.
//!
//! ```text
//! y ~ N(0, C),   C = K + noise I = LLᵀ,   α = C⁻¹y
//! mean = kᵀα,    variance = k(x, x) - |L⁻¹k|²
//! log p(y) = -½ (yᵀα + log det C + n log 2π)
//! ```

use std::f64::consts::TAU;

use super::Prediction;
use crate::math::cholesky::GrowingFactor;
use crate::math::vector::dot_in_lanes;

/// L and α.
#[derive(Debug, Clone, Default)]
pub(super) struct Conditioned {
    factor: GrowingFactor,
    alpha: Vec<f64>,
}

impl Conditioned {
    /// From C, row-major, and the outputs.
    pub(super) fn new(covariance: &[f64], y: &[f64]) -> Conditioned {
        let mut conditioned = Conditioned {
            factor: GrowingFactor::factor(covariance, y.len()),
            alpha: Vec::new(),
        };
        conditioned.learn(y);
        conditioned
    }

    /// Grows C by a row and a column; α is out of date until [`learn`](Self::learn) is called.
    pub(super) fn append(&mut self, row: Vec<f64>, diagonal: f64) {
        self.factor.append(row, diagonal);
    }

    /// α for these outputs.
    pub(super) fn learn(&mut self, y: &[f64]) {
        self.alpha = y.to_vec();
        self.factor.solve(&mut self.alpha);
    }

    /// α
    pub(super) fn alpha(&self) -> &[f64] {
        &self.alpha
    }

    /// L
    pub(super) fn factor(&self) -> &GrowingFactor {
        &self.factor
    }

    /// From the covariances `k` between a point and the observations, and its own variance.
    pub(super) fn predict(&self, mut k: Vec<f64>, own: f64) -> Prediction {
        let mean = dot_in_lanes(&k, &self.alpha);
        self.factor.forward(&mut k);
        Prediction::new(mean, own - dot_in_lanes(&k, &k))
    }

    /// log p(y) for the outputs that were learned.
    pub(super) fn log_evidence(&self, y: &[f64]) -> f64 {
        let constant = y.len() as f64 * TAU.ln();
        -0.5 * (dot_in_lanes(y, &self.alpha) + self.factor.log_determinant() + constant)
    }
}
