//! The settings of Thompson sampling, and the belief that they begin with.

use super::{alternating, dual, exact};
use crate::acquire::annealing;
use crate::features::{self, Expansion, FeatureSettings, Features, WaveKernel};
use crate::space::Space;
use crate::strategy::Error;
use crate::surrogate::sparse::{Sparse, SparsePrior};
use crate::surrogate::{Gaussian, Prior, Scaling, Surrogate, Transform, Variances};

/// The variance that Prop. 1 asks for, for a study of usual length.
pub(crate) const THEORY: Scaling = Scaling::Theory {
    horizon: 100,
    delta: 0.1,
};

/// Thompson sampling with the paper's model (MiVaBo, Sec. 3).
///
/// | field | default | what it is |
/// |---|---|---|
/// | `alpha` | 1 | precision of the weights, for the Gaussian prior |
/// | `beta` | 1 | precision of the noise, for the Gaussian prior |
/// | `sigma` | 1 | bandwidth of the waves, in units of each parameter's range |
/// | `n_waves` | 16 | random Fourier features |
/// | `outputs` | as they are | what becomes of values before the model sees them |
/// | `learn` | no | whether variances, noise and bandwidths are chosen by evidence before each draw |
/// | `prior` | Gaussian | the prior of the weights |
/// | `scaling` | none | how much the posterior's variance is enlarged; Prop. 1 wants [`Scaling::Theory`] |
/// | `search` | alternating | how the minimum of a drawn function is searched for |
#[derive(Debug, Clone, PartialEq)]
pub struct Thompson {
    /// Precision of the weights.
    pub alpha: f64,
    /// Precision of the noise.
    pub beta: f64,
    /// Bandwidth of the waves.
    pub sigma: f64,
    /// The number of waves.
    pub n_waves: usize,
    /// What becomes of values before the model sees them.
    pub outputs: Transform,
    /// Whether hyper-parameters are learned.
    pub learn: bool,
    /// The prior of the weights.
    pub prior: WeightPrior,
    /// How much the posterior's variance is enlarged.
    pub scaling: Scaling,
    /// How the minimum of a drawn function is searched for.
    pub search: ThompsonSearch,
}

/// How the minimum of a drawn function is searched for.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum ThompsonSearch {
    /// Bits and reals in turn, from several starts.
    Alternating(alternating::AlternatingSettings),
    /// Dual decomposition, with its own bound.
    Decomposition(dual::DualSettings),
    /// Every pattern of bits: small spaces only.
    Exact(exact::ExactSettings),
    /// Simulated annealing.
    Annealing(annealing::AnnealingSettings),
}

impl Default for ThompsonSearch {
    fn default() -> Self {
        ThompsonSearch::Alternating(alternating::AlternatingSettings::default())
    }
}

impl Default for Thompson {
    fn default() -> Self {
        Thompson {
            alpha: 1.0,
            beta: 1.0,
            sigma: 1.0,
            n_waves: 16,
            outputs: Transform::Identity,
            learn: false,
            prior: WeightPrior::Gaussian,
            scaling: Scaling::None,
            search: ThompsonSearch::default(),
        }
    }
}

/// The prior of the weights.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum WeightPrior {
    /// N(0, 1/α), exact.
    #[default]
    Gaussian,
    /// A sparse one, with its own scales and noise.
    Sparse(SparsePrior),
}

impl Thompson {
    /// The belief before any observation.
    ///
    /// # Errors
    /// [`Error::TooManyFeatures`], [`Error::BadHyperparameter`], [`Error::TooManyPatterns`].
    pub(crate) fn surrogate(&self, space: &Space, seed: u64) -> Result<Surrogate, Error> {
        for (name, value) in [("alpha", self.alpha), ("beta", self.beta)] {
            if !(1e-50..=1e50).contains(&value) {
                return Err(features::Error::BadHyperparameter { name, value }.into());
            }
        }
        let settings = FeatureSettings {
            bandwidth: self.sigma,
            expansion: Expansion::Random {
                kernel: WaveKernel::SquaredExponential,
                n: self.n_waves,
            },
            ..FeatureSettings::default()
        };
        if let ThompsonSearch::Exact(settings) = self.search {
            exact::check_size(space, settings)?;
        }
        let features = Features::for_encoding(space.encoding(), &settings, seed)?.into();
        Ok(match self.prior {
            WeightPrior::Gaussian => Surrogate::Gaussian(Gaussian::new(features, self.gaussian())?),
            WeightPrior::Sparse(prior) => Surrogate::Sparse(Sparse::new(features, prior, seed)?),
        })
    }

    /// The paper's isotropic prior. Each wave is in its model twice, hence the doubled variance.
    fn gaussian(&self) -> Prior {
        let variance = 1.0 / self.alpha;
        let variances = Variances {
            discrete: variance,
            continuous: 2.0 * variance,
            mixed: variance,
        };
        Prior {
            variances,
            noise: 1.0 / self.beta,
        }
    }
}
