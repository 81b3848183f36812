//! A belief under a sparse prior, fitted when it is next asked for.
//!
//! Every fit begins afresh. Starting from the last one would be quicker, but then answers would depend on when the
//! questions were asked, and a study that is resumed would go on differently.

use std::sync::Arc;

use super::{Design, Horseshoe, Laplace, SparsePosterior, SpikeSlab};
use crate::features::{self, Features, Weights, check_hyperparameter, check_number};
use crate::math::random::{Purpose, Stream, stream};
use crate::surrogate::Error;
use crate::surrogate::records::Records;
use crate::surrogate::{Prediction, Scaling};

/// Rounds of the search for hyper-parameters.
const MAX_ROUNDS: usize = 12;

/// The most weights in all draws of a chain: 2 GB.
const MAX_DRAWN: u64 = 1 << 28;

/// What the share of weights that are not zero is called; it is at most 1.
const INCLUSION: &str = "inclusion probability";

/// Hyper-parameters stay within these bounds: outputs are standardised.
const SCALES: (f64, f64) = (1e-3, 1e2);
const NOISES: (f64, f64) = (1e-6, 1.0);
const INCLUSIONS: (f64, f64) = (1e-3, 0.9);

/// Which sparse prior.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum SparsePrior {
    /// Double-exponential weights.
    Laplace(Laplace),
    /// Global and local scales, half-Cauchy.
    Horseshoe(Horseshoe),
    /// Weights that are exactly zero or Gaussian.
    SpikeSlab(SpikeSlab),
}

/// The belief about the weights under a sparse prior.
#[derive(Debug, Clone)]
pub(crate) struct Sparse {
    prior: SparsePrior,
    records: Records,
    seed: u64,
    posterior: Option<SparsePosterior>,
}

impl Sparse {
    /// A belief without observations; the seed is that of the horseshoe's chain.
    ///
    /// # Errors
    /// [`features::Error::BadHyperparameter`] for a scale, variance or probability out of its range;
    /// [`features::Error::TooManyFeatures`] for more draws of the weights than memory should hold.
    pub fn new(features: Arc<Features>, prior: SparsePrior, seed: u64) -> Result<Sparse, Error> {
        prior.check_ranges()?;
        prior.check_draws(features.n_weights())?;
        Ok(Sparse {
            prior,
            records: Records::new(features),
            seed,
            posterior: None,
        })
    }

    /// Takes in one observation.
    ///
    /// # Errors
    /// As [`Surrogate::observe`](crate::surrogate::Surrogate::observe).
    pub fn observe(&mut self, bits: &[bool], unit: &[f64], y: f64) -> Result<(), Error> {
        self.records.check(bits, unit, y)?;
        let site = self.records.site(bits, unit);
        self.records.push(&site, unit, y);
        // Fitted when it is next asked for: more observations may come before that.
        self.posterior = None;
        Ok(())
    }

    /// Replaces all outputs, in the order of observation.
    ///
    /// # Errors
    /// As [`Surrogate::set_outputs`](crate::surrogate::Surrogate::set_outputs).
    pub fn set_outputs(&mut self, y: &[f64]) -> Result<(), Error> {
        self.posterior = None;
        self.records.set_outputs(y)
    }

    /// Mean and variance of f at a point.
    ///
    /// # Panics
    /// When there are fewer bits than the model needs.
    pub fn predict(&mut self, bits: &[bool], unit: &[f64]) -> Prediction {
        let features = self.features().clone();
        self.posterior().predict(&features.row(bits, unit))
    }

    /// The mean weights.
    pub fn mean(&mut self) -> Weights {
        let features = self.features().clone();
        Weights::from_flat(features, self.posterior().mean())
    }

    /// Weights drawn from the posterior, their distance from the mean enlarged by `scaling`.
    pub fn sample(&mut self, scaling: Scaling, stream: &mut Stream) -> Weights {
        let features = self.features().clone();
        let posterior = self.posterior();
        let mut draw = posterior.sample(stream);
        let factor = scaling.factor(draw.len()).sqrt();
        // By a factor of 1 it would still round: unscaled draws are exactly those of the posterior.
        if factor != 1.0 {
            stretch(&mut draw, posterior.mean(), factor);
        }
        Weights::from_flat(features, &draw)
    }

    /// An estimate of log p(y); none for the horseshoe.
    #[cfg(test)]
    pub fn log_evidence(&mut self) -> Option<f64> {
        self.posterior().log_evidence()
    }

    /// The posterior, fitted if it has to be.
    pub fn posterior(&mut self) -> &SparsePosterior {
        let posterior = self
            .posterior
            .take()
            .unwrap_or_else(|| self.fitted(self.prior));
        self.posterior.insert(posterior)
    }

    /// Chooses scales, noise and the share of zeros by evidence, one at a time, until none of them helps; nothing for
    /// the horseshoe, which learns them itself.
    pub fn fit(&mut self) {
        if matches!(self.prior, SparsePrior::Horseshoe(_)) || self.records.n() < 2 {
            return;
        }
        // The evidence of sites that found no fixed point must not keep better ones out.
        let now = self.posterior().trusted_evidence();
        let mut best = now.unwrap_or(f64::NEG_INFINITY);
        for _ in 0..MAX_ROUNDS {
            let before = best;
            for candidate in self.prior.neighbours() {
                let posterior = self.fitted(candidate);
                let evidence = posterior.trusted_evidence();
                // Sites stop at a tolerance, so smaller differences say nothing.
                if evidence.is_some_and(|evidence| evidence > best + 1e-3) {
                    best = evidence.unwrap_or(best);
                    (self.prior, self.posterior) = (candidate, Some(posterior));
                }
            }
            // No neighbour is better: halving and doubling again would try the same ones.
            if best <= before {
                break;
            }
        }
    }

    /// The features.
    pub fn features(&self) -> &Arc<Features> {
        self.records.features()
    }

    /// n, the number of observations.
    #[cfg(test)]
    pub fn n_observations(&self) -> usize {
        self.records.n()
    }

    fn fitted(&self, prior: SparsePrior) -> SparsePosterior {
        let n = self.records.n();
        let rows = (0..n).flat_map(|i| self.records.flat_row(i)).collect();
        let design = Design::new(self.features().n_weights(), rows, self.records.y().to_vec());
        match prior {
            SparsePrior::Laplace(laplace) => laplace.fit(&design),
            SparsePrior::SpikeSlab(spike_slab) => spike_slab.fit(&design),
            SparsePrior::Horseshoe(horseshoe) => horseshoe.fit(
                &design,
                &mut stream(self.seed, n as u64, Purpose::Inference),
            ),
        }
    }
}

impl SparsePrior {
    fn check_ranges(&self) -> Result<(), Error> {
        for (name, value) in self.hyperparameters() {
            check_hyperparameter(name, value)?;
            if name == INCLUSION && value > 1.0 {
                return Err(features::Error::BadHyperparameter { name, value }.into());
            }
        }
        Ok(())
    }

    /// Whether the draws of a chain fit into memory.
    fn check_draws(&self, n_weights: usize) -> Result<(), Error> {
        let SparsePrior::Horseshoe(horseshoe) = self else {
            return Ok(());
        };
        let n = (horseshoe.draws as u64).saturating_mul(n_weights as u64);
        check_number("weights in all draws", n, MAX_DRAWN)?;
        Ok(())
    }

    fn hyperparameters(&self) -> Vec<(&'static str, f64)> {
        match self {
            SparsePrior::Laplace(prior) => vec![("scale", prior.scale), ("noise", prior.noise)],
            SparsePrior::SpikeSlab(prior) => vec![
                (INCLUSION, prior.inclusion),
                ("slab variance", prior.slab),
                ("noise", prior.noise),
            ],
            SparsePrior::Horseshoe(prior) => vec![("global scale", prior.global)],
        }
    }

    /// The same with one hyper-parameter halved or doubled.
    fn neighbours(&self) -> Vec<SparsePrior> {
        match *self {
            SparsePrior::Laplace(prior) => laplace_neighbours(prior),
            SparsePrior::SpikeSlab(prior) => spike_slab_neighbours(prior),
            SparsePrior::Horseshoe(_) => vec![],
        }
    }
}

/// Moves weights away from their mean.
fn stretch(weights: &mut [f64], mean: &[f64], factor: f64) {
    for (w, mean) in weights.iter_mut().zip(mean) {
        *w = mean + factor * (*w - mean);
    }
}

fn laplace_neighbours(prior: Laplace) -> Vec<SparsePrior> {
    let scales = around(prior.scale, SCALES).map(|scale| Laplace { scale, ..prior });
    let noises = around(prior.noise, NOISES).map(|noise| Laplace { noise, ..prior });
    let all = scales.into_iter().chain(noises);
    all.map(SparsePrior::Laplace).collect()
}

fn spike_slab_neighbours(prior: SpikeSlab) -> Vec<SparsePrior> {
    let inclusions = around(prior.inclusion, INCLUSIONS);
    let shares = inclusions.map(|inclusion| SpikeSlab { inclusion, ..prior });
    let slabs = around(prior.slab, SCALES).map(|slab| SpikeSlab { slab, ..prior });
    let noises = around(prior.noise, NOISES).map(|noise| SpikeSlab { noise, ..prior });
    let all = shares.into_iter().chain(slabs).chain(noises);
    all.map(SparsePrior::SpikeSlab).collect()
}

/// Half and twice a hyper-parameter, within its bounds.
fn around(x: f64, bounds: (f64, f64)) -> [f64; 2] {
    [x / 2.0, 2.0 * x].map(|x| x.clamp(bounds.0, bounds.1))
}
