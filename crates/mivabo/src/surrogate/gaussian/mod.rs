//! The exact posterior of the weights under a Gaussian prior. MiVaBo, Sec. 3.2.
//!
//! ```text
//! w ~ N(0, Λ⁻¹),   y = Φw + ε,   ε ~ N(0, β⁻¹ I)
//! w | y ~ N(m, S⁻¹),   S = Λ + β ΦᵀΦ,   m = β S⁻¹ Φᵀ y
//! ```
//!
//! Two equal paths. With fewer observations than weights the dual one works in n dimensions; from n = M on the
//! primal one in M, at a cost per observation that does not grow with n. One observation and one sample cost
//! about 1.5n² + 2nM operations in the dual and 3M² in the primal, equal at n ≈ 0.9M; the switch at n = M rebuilds the
//! factor once, in O(M³). The noise is never below `JITTER` times the largest prior variance
//! of f, so that repeated points and noise-free data have a posterior too.

mod dual;
mod primal;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use self::dual::Dual;
use self::primal::Primal;
use super::Prediction;
use super::prior::Prior;
use super::records::Records;
use crate::features::{Features, Weights};
use crate::math::random::Stream;
use crate::surrogate::Error;

/// By how much the variance of drawn weights is enlarged.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Scaling {
    /// Not at all: exact samples of the posterior.
    #[default]
    None,
    /// By 24 M ln T ln(1/δ), for which the regret bound of Prop. 1 holds with probability 1 - δ.
    Theory {
        /// T, the number of trials; at least 2.
        horizon: u64,
        /// δ in (0, 1); values outside are moved into [1e-300, 1 - 1e-15].
        delta: f64,
    },
}

impl Scaling {
    /// The factor for a model of `n_weights` weights.
    pub fn factor(self, n_weights: usize) -> f64 {
        match self {
            Scaling::None => 1.0,
            Scaling::Theory { horizon, delta } => {
                // A NaN becomes the low end.
                let delta = delta.max(1e-300).clamp(1e-300, 1.0 - 1e-15);
                24.0 * n_weights as f64 * (horizon.max(2) as f64).ln() * -delta.ln()
            }
        }
    }
}

/// The belief about the weights after n observations.
///
/// ```
/// use std::sync::Arc;
/// use mivabo::features::{Features, FeatureSettings};
/// use mivabo::surrogate::{Gaussian, Prior};
///
/// let features = Arc::new(Features::new(vec![0, 1], 1, &FeatureSettings::default(), 0)?);
/// let mut belief = Gaussian::new(features, Prior::default())?;
/// belief.observe(&[true, false], &[0.3], 1.0)?;
///
/// let here = belief.predict(&[true, false], &[0.3]);
/// let there = belief.predict(&[false, true], &[0.9]);
/// assert!(here.mean > 0.5 && here.variance < there.variance);
/// # Ok::<(), mivabo::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Gaussian {
    records: Records,
    prior: Prior,
    path: Path,
}

#[derive(Debug, Clone)]
enum Path {
    Dual(Dual),
    Primal(Primal),
}

impl Path {
    fn new(records: &Records, prior: Prior) -> Path {
        if records.n() < records.features().n_weights() {
            Path::Dual(Dual::new(records, prior))
        } else {
            Path::Primal(Primal::new(records, prior))
        }
    }

    /// The outputs of the records, where points are as they were.
    fn learn(&mut self, records: &Records) {
        match self {
            Path::Dual(dual) => dual.learn(records.y()),
            Path::Primal(primal) => primal.learn(records),
        }
    }
}

impl Gaussian {
    /// The prior belief.
    ///
    /// # Errors
    /// [`features::Error::BadHyperparameter`](crate::features::Error::BadHyperparameter).
    pub fn new(features: Arc<Features>, prior: Prior) -> Result<Gaussian, Error> {
        Gaussian::of(Records::new(features), prior)
    }

    /// The belief after all records, from scratch: O(n³ + n² M_d) in the dual, O(n M² + M³) in the primal.
    pub(crate) fn of(records: Records, prior: Prior) -> Result<Gaussian, Error> {
        prior.check()?;
        Ok(Gaussian {
            path: Path::new(&records, prior),
            records,
            prior,
        })
    }

    /// The belief from the same observations under other features (bandwidths or products) or another prior.
    ///
    /// # Errors
    /// [`features::Error::BadHyperparameter`](crate::features::Error::BadHyperparameter);
    /// [`Error::BadCode`] when the features are of another number of bits or coordinates.
    pub fn refitted(&self, features: Arc<Features>, prior: Prior) -> Result<Gaussian, Error> {
        self.records.check_features(&features)?;
        Gaussian::of(self.records.with_features(features), prior)
    }

    /// Takes in one observation: O(n²) in the dual, O(M²) in the primal.
    ///
    /// # Errors
    /// [`Error::BadCode`] for wrong lengths or a coordinate outside [0, 1], [`Error::BadOutput`] for an output that
    /// is not finite or beyond ±1e100. The belief is then unchanged.
    pub fn observe(&mut self, bits: &[bool], unit: &[f64], y: f64) -> Result<(), Error> {
        self.records.check(bits, unit, y)?;
        let site = self.records.site(bits, unit);
        // Before the point is recorded: the row of the factor is that of the points before it.
        if let Path::Dual(dual) = &mut self.path {
            dual.append(&self.records, self.prior, &site);
        }
        self.records.push(&site, unit, y);
        match &mut self.path {
            Path::Dual(dual) => dual.learn(self.records.y()),
            Path::Primal(primal) => primal.append(&self.records),
        }
        // Once, in O(M³): from here on the dual would cost more for every observation.
        if self.is_beyond_dual() {
            self.path = Path::Primal(Primal::new(&self.records, self.prior));
        }
        Ok(())
    }

    fn is_beyond_dual(&self) -> bool {
        matches!(self.path, Path::Dual(_)) && self.records.n() >= self.features().n_weights()
    }

    /// Replaces all outputs, in the order of observation: O(n²) in the dual, O(nM + M²) in the primal.
    ///
    /// # Errors
    /// [`Error::BadCode`] for a wrong number of them, [`Error::BadOutput`] as [`observe`](Self::observe).
    pub fn set_outputs(&mut self, y: &[f64]) -> Result<(), Error> {
        self.records.set_outputs(y)?;
        self.path.learn(&self.records);
        Ok(())
    }

    /// The features.
    pub fn features(&self) -> &Arc<Features> {
        self.records.features()
    }

    /// The prior.
    pub fn prior(&self) -> Prior {
        self.prior
    }

    /// n, the number of observations.
    pub fn n_observations(&self) -> usize {
        self.records.n()
    }

    pub(crate) fn records(&self) -> &Records {
        &self.records
    }

    /// Mean and variance of f (without noise) at a point.
    ///
    /// # Panics
    /// When there are fewer bits than the model needs.
    pub fn predict(&self, bits: &[bool], unit: &[f64]) -> Prediction {
        match &self.path {
            Path::Dual(dual) => {
                dual.predict(&self.records, self.prior, &self.records.site(bits, unit))
            }
            Path::Primal(primal) => {
                let features = self.features();
                primal.predict(&features.row(bits, unit))
            }
        }
    }

    /// m, the mean weights.
    pub fn mean(&self) -> Weights {
        match &self.path {
            Path::Dual(dual) => Weights::new(
                self.features().clone(),
                dual.mean(&self.records, self.prior),
            ),
            Path::Primal(primal) => Weights::from_flat(self.features().clone(), &primal.mean()),
        }
    }

    /// Weights drawn from N(m, c S⁻¹), where c is the factor of `scaling`.
    pub fn sample(&self, scaling: Scaling, stream: &mut Stream) -> Weights {
        let scale = scaling.factor(self.features().n_weights()).sqrt();
        match &self.path {
            Path::Dual(dual) => Weights::new(
                self.features().clone(),
                dual.sample(&self.records, self.prior, scale, stream),
            ),
            Path::Primal(primal) => {
                Weights::from_flat(self.features().clone(), &primal.sample(scale, stream))
            }
        }
    }

    /// log p(y), the log marginal likelihood.
    pub fn log_evidence(&self) -> f64 {
        let y = self.records.y();
        match &self.path {
            Path::Dual(dual) => dual.log_evidence(y),
            Path::Primal(primal) => primal.log_evidence(y),
        }
    }
}
