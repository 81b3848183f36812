//! Surrogates: what is believed about the objective after some observations. MiVaBo, Sec. 3.2 and App. A.
//!
//! # Contract of a `Surrogate`
//!
//! * Outputs are in the model's units: finite, at most 1e100 in size, meant to have mean 0 and variance 1
//!   (`Belief` takes raw ones). An observation that is refused changes nothing.
//! * `observe` takes one observation in; the next answer knows it. Priors with an exact posterior
//!   learn at once, the others when they are next asked, which is why asking takes `&mut self`.
//! * `predict` gives mean and variance of f without noise; the variance is never negative.
//!   `sample` draws weights from the posterior, `mean` gives their mean, and
//!   `mean().value(x)` is `predict(x).mean`.
//! * No answer about a point that `observe` would take is NaN or infinite, with no observations as with many, with repeated
//!   points, with constant outputs.
//! * Equal observations in equal order, and equal streams, give equal answers.

mod belief;
mod checks;
mod conditioned;
mod error;
mod evidence;
mod gaussian;
mod growth;
mod log_prior;
mod outputs;
mod prior;
pub mod process;
mod records;
pub(crate) mod sparse;

use std::sync::Arc;

pub(crate) use self::belief::Belief;
pub use self::error::Error;
pub(crate) use self::evidence::spread_out;
pub use self::evidence::{Fit, fitted};
pub use self::gaussian::{Gaussian, Scaling};
pub(crate) use self::growth::owners;
pub use self::growth::{Growth, grown};
pub(crate) use self::outputs::{Outputs, Transform};
pub use self::prior::Prior;
pub(crate) use self::prior::Variances;
use self::sparse::Sparse;
use crate::features::{Features, Weights};
use crate::math::random::Stream;

/// What a surrogate believes about f at a point, without noise, in the model's units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// The mean.
    pub mean: f64,
    /// The variance, at least 0.
    pub variance: f64,
}

impl Prediction {
    /// A variance that rounding made negative counts as none.
    fn new(mean: f64, variance: f64) -> Prediction {
        Prediction {
            mean,
            variance: variance.max(0.0),
        }
    }
}

/// A belief about the weights under one of several priors. The contract is in the [module](self)'s documentation.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub(crate) enum Surrogate {
    /// A Gaussian prior, exact.
    Gaussian(Gaussian),
    /// A sparse prior: Laplace, horseshoe or spike-and-slab.
    Sparse(Sparse),
}

impl Surrogate {
    /// Takes in one observation.
    ///
    /// # Errors
    /// [`Error::BadCode`] for wrong lengths or a coordinate outside [0, 1], [`Error::BadOutput`] for an output that
    /// is not finite or beyond ±1e100.
    pub fn observe(&mut self, bits: &[bool], unit: &[f64], y: f64) -> Result<(), Error> {
        match self {
            Surrogate::Gaussian(gaussian) => gaussian.observe(bits, unit, y),
            Surrogate::Sparse(sparse) => sparse.observe(bits, unit, y),
        }
    }

    /// Replaces all outputs, in the order of observation.
    ///
    /// # Errors
    /// [`Error::BadCode`] for a wrong number of them, [`Error::BadOutput`] as [`observe`](Self::observe).
    pub fn set_outputs(&mut self, y: &[f64]) -> Result<(), Error> {
        match self {
            Surrogate::Gaussian(gaussian) => gaussian.set_outputs(y),
            Surrogate::Sparse(sparse) => sparse.set_outputs(y),
        }
    }

    /// Mean and variance of f at a point.
    ///
    /// # Panics
    /// When there are fewer bits than the model needs.
    pub fn predict(&mut self, bits: &[bool], unit: &[f64]) -> Prediction {
        match self {
            Surrogate::Gaussian(gaussian) => gaussian.predict(bits, unit),
            Surrogate::Sparse(sparse) => sparse.predict(bits, unit),
        }
    }

    /// The mean weights.
    pub fn mean(&mut self) -> Weights {
        match self {
            Surrogate::Gaussian(gaussian) => gaussian.mean(),
            Surrogate::Sparse(sparse) => sparse.mean(),
        }
    }

    /// Weights drawn from the posterior, with their variance enlarged by `scaling`.
    pub fn sample(&mut self, scaling: Scaling, stream: &mut Stream) -> Weights {
        match self {
            Surrogate::Gaussian(gaussian) => gaussian.sample(scaling, stream),
            Surrogate::Sparse(sparse) => sparse.sample(scaling, stream),
        }
    }

    /// log p(y), where the prior has one.
    #[cfg(test)]
    pub fn evidence(&mut self) -> Option<f64> {
        match self {
            Surrogate::Gaussian(gaussian) => Some(gaussian.log_evidence()),
            Surrogate::Sparse(sparse) => sparse.log_evidence(),
        }
    }

    /// Chooses variances, noise and bandwidths by evidence; nothing where the prior learns them itself.
    ///
    /// # Errors
    /// As [`fitted`].
    pub fn fit(&mut self, fit: Fit, stream: &mut Stream) -> Result<(), Error> {
        match self {
            Surrogate::Gaussian(gaussian) => *gaussian = fitted(gaussian, fit, stream)?,
            Surrogate::Sparse(sparse) => sparse.fit(),
        }
        Ok(())
    }

    /// Chooses mixed features by evidence; nothing where the prior is sparse itself. `owners` names a parameter for
    /// each bit, see [`owners`].
    ///
    /// # Errors
    /// As [`grown`].
    pub fn grow(&mut self, growth: Growth, owners: &[usize]) -> Result<(), Error> {
        match self {
            Surrogate::Gaussian(gaussian) => *gaussian = grown(gaussian, growth, owners)?,
            // Its weights find out which products matter.
            Surrogate::Sparse(_) => {}
        }
        Ok(())
    }

    /// The features.
    pub fn features(&self) -> &Arc<Features> {
        match self {
            Surrogate::Gaussian(gaussian) => gaussian.features(),
            Surrogate::Sparse(sparse) => sparse.features(),
        }
    }

    /// n, the number of observations.
    #[cfg(test)]
    pub fn n_observations(&self) -> usize {
        match self {
            Surrogate::Gaussian(gaussian) => gaussian.n_observations(),
            Surrogate::Sparse(sparse) => sparse.n_observations(),
        }
    }
}
