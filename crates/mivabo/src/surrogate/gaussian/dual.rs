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

use super::super::prior::Prior;
use super::super::records::{Records, Site};
use super::Prediction;
use crate::math::linalg::{Triangle, dot};
use crate::math::random::Stream;

#[derive(Debug, Clone)]
pub(super) struct Dual {
    /// Of K + β⁻¹I.
    factor: Triangle,
    alpha: Vec<f64>,
    /// β⁻¹, with jitter.
    noise: f64,
}

impl Dual {
    pub(super) fn new(records: &Records, prior: Prior) -> Dual {
        let noise = prior.effective_noise(records.features());
        let mut kernel = records.kernel_matrix(prior.variances);
        (0..records.n()).for_each(|i| kernel[i * records.n() + i] += noise);
        let factor = Triangle::factor(&kernel, records.n());
        let mut dual = Dual {
            factor,
            alpha: Vec::new(),
            noise,
        };
        dual.learn(records.y());
        dual
    }

    /// Grows the factor by a point that is not yet in the records.
    pub(super) fn append(&mut self, records: &Records, prior: Prior, site: &Site) {
        let row = records.kernel_row(site, prior.variances);
        self.factor
            .append(row, records.kernel_self(site, prior.variances) + self.noise);
    }

    /// α for these outputs.
    pub(super) fn learn(&mut self, y: &[f64]) {
        self.alpha = y.to_vec();
        self.factor.solve(&mut self.alpha);
    }

    /// ```text
    /// mean = kᵀα,   variance = k(x, x) - |L⁻¹k|²
    /// ```
    pub(super) fn predict(&self, records: &Records, prior: Prior, site: &Site) -> Prediction {
        let mut k = records.kernel_row(site, prior.variances);
        let mean = dot(&k, &self.alpha);
        self.factor.forward(&mut k);
        let variance = records.kernel_self(site, prior.variances) - dot(&k, &k);
        Prediction {
            mean,
            variance: variance.max(0.0),
        }
    }

    pub(super) fn mean(&self, records: &Records, prior: Prior) -> Vec<f64> {
        records.adjoint(&self.alpha, prior.variances)
    }

    pub(super) fn sample(
        &self,
        records: &Records,
        prior: Prior,
        scale: f64,
        stream: &mut Stream,
    ) -> Vec<f64> {
        let mut drawn = prior.deviations(records.features());
        drawn
            .iter_mut()
            .filter(|w| **w != 0.0)
            .for_each(|w| *w *= scale * stream.normal());
        let noise = scale * self.noise.sqrt();
        let mut residual = records.times(&drawn);
        for (residual, y) in residual.iter_mut().zip(records.y()) {
            *residual = y - *residual - noise * stream.normal();
        }
        self.factor.solve(&mut residual);
        let update = records.adjoint(&residual, prior.variances);
        drawn.iter_mut().zip(update).for_each(|(w, by)| *w += by);
        drawn
    }

    /// -½ yᵀα - ½ log det(K + β⁻¹I) - n/2 log 2π
    pub(super) fn log_evidence(&self, y: &[f64]) -> f64 {
        let constant = y.len() as f64 * std::f64::consts::TAU.ln();
        -0.5 * (dot(y, &self.alpha) + self.factor.log_determinant() + constant)
    }
}
