//! The posterior in n dimensions, for fewer observations than weights.
//!
//! ```text
//! K = Φ Λ⁻¹ Φᵀ                        kernel matrix, in closed form from the factors
//! α = (K + β⁻¹I)⁻¹ y
//! m = Λ⁻¹ Φᵀ α                        mean weights
//! w̃ = w₀ + Λ⁻¹ Φᵀ (K + β⁻¹I)⁻¹ (y - Φw₀ - ε)      an exact sample (Matheron's rule), w₀ ~ N(0, Λ⁻¹), ε ~ N(0, β⁻¹I)
//! ```
//!
//! An observation adds a row to the Cholesky factor; a sample costs two products with the design and two
//! triangular solves. Samples of a variance scaled by c come from √c w₀ and √c ε.

use super::super::conditioned::Conditioned;
use super::super::prior::Prior;
use super::super::records::{Records, Site};
use super::Prediction;
use crate::math::random::Stream;
use crate::math::vector::add_scaled;

#[derive(Debug, Clone)]
pub(super) struct Dual {
    /// By K + β⁻¹I.
    conditioned: Conditioned,
    /// β⁻¹, with jitter.
    noise: f64,
}

impl Dual {
    pub(super) fn new(records: &Records, prior: Prior) -> Dual {
        let noise = prior.effective_noise(records.features());
        let covariance = records.covariance(prior.variances, noise);
        let conditioned = Conditioned::new(&covariance, records.y());
        Dual { conditioned, noise }
    }

    /// Grows the factor by a point that is not yet in the records.
    pub(super) fn append(&mut self, records: &Records, prior: Prior, site: &Site) {
        let row = records.kernel_row(site, prior.variances);
        let diagonal = records.kernel_self(site, prior.variances) + self.noise;
        self.conditioned.append(row, diagonal);
    }

    /// α for these outputs.
    pub(super) fn learn(&mut self, y: &[f64]) {
        self.conditioned.learn(y);
    }

    pub(super) fn predict(&self, records: &Records, prior: Prior, site: &Site) -> Prediction {
        let k = records.kernel_row(site, prior.variances);
        let own = records.kernel_self(site, prior.variances);
        self.conditioned.predict(k, own)
    }

    pub(super) fn mean(&self, records: &Records, prior: Prior) -> Vec<f64> {
        records.adjoint(self.conditioned.alpha(), prior.variances)
    }

    pub(super) fn sample(
        &self,
        records: &Records,
        prior: Prior,
        scale: f64,
        stream: &mut Stream,
    ) -> Vec<f64> {
        // A draw of the prior, corrected by what it mispredicts: a factor of the posterior's covariance would be M × M.
        let mut drawn = prior.sample(records.features(), scale, stream);
        let noise = scale * self.noise.sqrt();
        let mut residual = records.times(&drawn);
        for (residual, y) in residual.iter_mut().zip(records.y()) {
            *residual = y - *residual - noise * stream.normal();
        }
        self.conditioned.factor().solve(&mut residual);
        let update = records.adjoint(&residual, prior.variances);
        add_scaled(&mut drawn, 1.0, &update);
        drawn
    }

    pub(super) fn log_evidence(&self, y: &[f64]) -> f64 {
        self.conditioned.log_evidence(y)
    }
}
