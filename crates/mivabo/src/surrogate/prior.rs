//! The Gaussian prior: variances and noise enter, a checked prior leaves. MiVaBo, Sec. 3.2.

use crate::features;
use crate::features::{Features, HYPERPARAMETERS};
use crate::surrogate::Error;

/// The least noise variance, as a share of the largest prior variance of f at a point. It keeps every kernel matrix
/// well away from singular: n copies of one point have condition n · 10¹⁰.
pub const JITTER: f64 = 1e-10;

/// Prior variances of the weights, one for each block of features.
///
/// The paper has one precision α for all: all three are 1/α there, with the continuous one doubled (see
/// [`crate::features`]).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Variances {
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
/// | `noise` | 1 | 0 to 1e50 | β⁻¹; raised to [`JITTER`] times the largest prior variance of f |
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// Variances of the weights.
    pub variances: Variances,
    /// Variance of the noise.
    pub noise: f64,
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
    /// [`Error::BadHyperparameter`] when a variance or the noise is out of its range.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let Variances {
            discrete,
            continuous,
            mixed,
        } = self.variances;
        let variances = [
            ("discrete variance", discrete),
            ("continuous variance", continuous),
            ("mixed variance", mixed),
        ];
        if let Some(&(name, value)) = variances.iter().find(|(_, v)| !HYPERPARAMETERS.contains(v)) {
            return Err(features::Error::BadHyperparameter { name, value }.into());
        }
        if !(self.noise == 0.0 || HYPERPARAMETERS.contains(&self.noise)) {
            return Err(features::Error::BadHyperparameter {
                name: "noise",
                value: self.noise,
            }
            .into());
        }
        Ok(())
    }

    /// The noise variance that is used: at least [`JITTER`] times the largest prior variance of f.
    pub fn effective_noise(&self, features: &Features) -> f64 {
        let power = |j: &usize| features.waves().amplitude(*j).powi(2);
        let continuous: f64 = (0..features.waves().len()).map(|j| power(&j)).sum();
        let groups = features.mixed().groups().iter();
        let mixed: f64 = groups
            .map(|g| g.monomials.len() as f64 * g.waves.iter().map(power).sum::<f64>())
            .sum();
        let Variances {
            discrete: v_d,
            continuous: v_c,
            mixed: v_m,
        } = self.variances;
        let largest = v_d * features.monomials().len() as f64 + v_c * continuous + v_m * mixed;
        self.noise.max(JITTER * largest)
    }

    /// The prior standard deviation of every weight, as a matrix like W.
    pub(crate) fn deviations(&self, features: &Features) -> Vec<f64> {
        let columns = features.n_columns();
        let mut deviations = vec![0.0; features.monomials().len() * columns];
        let Variances {
            discrete,
            continuous,
            mixed,
        } = self.variances;
        let (discrete, mixed) = (discrete.sqrt(), mixed.sqrt());
        for (i, row) in deviations.chunks_exact_mut(columns).enumerate() {
            row[0] = discrete;
            for &j in features.mixed().waves_of(i) {
                row[j + 1] = mixed;
            }
        }
        deviations[1..columns].fill(continuous.sqrt());
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
