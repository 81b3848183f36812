//! The Gaussian prior of the weights, and how large the noise is at least. MiVaBo, Sec. 3.2.

use crate::features::{self, Features, check_hyperparameter};
use crate::math::random::Stream;

/// The least noise variance, as a share of the largest prior variance of f at a point. It keeps every kernel matrix
/// well away from singular: n copies of one point have condition n · 10¹⁰.
pub(crate) const JITTER: f64 = 1e-10;

/// Prior variances of the weights, one for each block of features.
///
/// The paper has one precision α for all: all three are 1/α there, with the continuous one doubled (see
/// [`crate::features`]).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Variances {
    /// Of w_d, the monomials.
    pub discrete: f64,
    /// Of w_c, the waves.
    pub continuous: f64,
    /// Of w_m, their products.
    pub mixed: f64,
}

/// Weights are N(0, Λ⁻¹), outputs have noise N(0, β⁻¹).
///
/// | field | default | range | what it is |
/// |---|---|---|---|
/// | `variances` | 1, 2, 1 | 1e-50 to 1e50 | diagonal of Λ⁻¹ by block; the default is the paper's α = 1 |
/// | `noise` | 1 | 0 to 1e50 | β⁻¹; raised to `JITTER` times the largest prior variance of f |
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// Variances of the weights.
    pub(crate) variances: Variances,
    /// Variance of the noise.
    pub(crate) noise: f64,
}

impl Default for Prior {
    fn default() -> Self {
        Prior {
            variances: Variances {
                discrete: 1.0,
                continuous: 2.0,
                mixed: 1.0,
            },
            noise: 1.0,
        }
    }
}

impl Prior {
    /// # Errors
    /// [`features::Error::BadHyperparameter`] when a variance or the noise is out of its range.
    pub(crate) fn check(&self) -> Result<(), features::Error> {
        let variances = self.variances;
        check_hyperparameter("discrete variance", variances.discrete)?;
        check_hyperparameter("continuous variance", variances.continuous)?;
        check_hyperparameter("mixed variance", variances.mixed)?;
        // No noise is allowed: what is used is the effective noise, which is never 0.
        if self.noise == 0.0 {
            return Ok(());
        }
        check_hyperparameter("noise", self.noise)
    }

    /// The noise variance that is used: at least `JITTER` times the largest prior variance of f.
    pub fn effective_noise(&self, features: &Features) -> f64 {
        self.noise.max(JITTER * self.largest_variance(features))
    }

    /// The most that the prior variance of f may be at a point.
    ///
    /// ```text
    /// v_d M_d + v_c Σⱼ αⱼ² + v_m Σ_(i,j) αⱼ²      over all waves j, and all products (i, j)
    /// ```
    fn largest_variance(&self, features: &Features) -> f64 {
        let power = |j: &usize| features.waves().amplitude(*j).powi(2);
        let continuous: f64 = (0..features.waves().len()).map(|j| power(&j)).sum();
        let groups = features.mixed().groups().iter();
        let mixed: f64 = groups
            .map(|g| g.monomials.len() as f64 * g.waves.iter().map(power).sum::<f64>())
            .sum();
        let v = self.variances;
        let discrete = features.monomials().len() as f64;
        v.discrete * discrete + v.continuous * continuous + v.mixed * mixed
    }

    /// Weights drawn from the prior, their deviations times `scale`, as a matrix like W.
    pub(crate) fn sample(&self, features: &Features, scale: f64, stream: &mut Stream) -> Vec<f64> {
        let mut weights = self.deviations(features);
        // Products that are not in the model stay 0 and take no draws.
        for w in weights.iter_mut().filter(|w| **w != 0.0) {
            *w *= scale * stream.normal();
        }
        weights
    }

    /// The prior standard deviation of every weight, as a matrix like W.
    fn deviations(&self, features: &Features) -> Vec<f64> {
        let columns = features.n_columns();
        let mut deviations = vec![0.0; features.monomials().len() * columns];
        let discrete = self.variances.discrete.sqrt();
        let mixed = self.variances.mixed.sqrt();
        for (i, row) in deviations.chunks_exact_mut(columns).enumerate() {
            row[0] = discrete;
            for &j in features.mixed().waves_of(i) {
                row[j + 1] = mixed;
            }
        }
        deviations[1..columns].fill(self.variances.continuous.sqrt());
        deviations
    }

    /// The prior variance of weight (i, j).
    pub(crate) fn variance_of(&self, i: usize, j: usize) -> f64 {
        match (i, j) {
            (_, 0) => self.variances.discrete,
            (0, _) => self.variances.continuous,
            _ => self.variances.mixed,
        }
    }
}
