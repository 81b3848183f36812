//! What Thompson sampling believes after some trials: weights of the paper's features.
//!
//! The belief is a fold over (point, value) pairs. It is kept between asks and only continued, unless a failed trial
//! changes its value: failed trials count as the worst value told so far, and that may rise.
//!
//! Hyper-parameters are learned from the first n′ outcomes: of all n for Thompson sampling; for a model that only proposes candidates n′
//! grows by a quarter at a time. Either way they depend on what was told, not on the asks.

use super::Thompson;
use crate::encoding::Encoded;
use crate::math::random::{Purpose, stream};
use crate::space::Space;
use crate::strategy::Error;
use crate::surrogate::{Belief, Fit, Surrogate};

/// The belief after some tells, as a fold that can be continued.
#[derive(Debug, Clone)]
pub(crate) struct Linear {
    settings: Thompson,
    seed: u64,
    prior: Surrogate,
    belief: Belief,
    /// n′, and the belief with hyper-parameters that were learned from as many outcomes; none after outcomes have changed.
    learned: Option<(usize, Belief)>,
    /// Whether n′ is less than n.
    is_sparing: bool,
}

impl Linear {
    pub(crate) fn new(space: &Space, settings: Thompson, seed: u64) -> Result<Linear, Error> {
        let prior = settings.surrogate(space, seed)?;
        let belief = Belief::new(prior.clone(), settings.outputs);
        Ok(Linear {
            settings,
            seed,
            prior,
            belief,
            learned: None,
            is_sparing: false,
        })
    }

    /// The same, learning its hyper-parameters anew only now and then.
    pub(crate) fn sparing(self) -> Linear {
        Linear {
            is_sparing: true,
            ..self
        }
    }

    pub(crate) fn settings(&self) -> &Thompson {
        &self.settings
    }

    /// M
    pub(crate) fn n_weights(&self) -> usize {
        self.prior.features().n_weights()
    }

    /// The belief after these observations, which are to be minimised.
    pub(crate) fn after(&mut self, observations: &[(&Encoded, f64)]) -> Result<&mut Belief, Error> {
        let known = self.belief.raw();
        let is_continued = known.len() <= observations.len()
            && known
                .iter()
                .zip(observations)
                .all(|(known, (_, y))| known.to_bits() == y.to_bits());
        if !is_continued {
            self.belief = self.ignorant();
            self.learned = None;
        }
        let n_known = self.belief.raw().len();
        for (code, y) in &observations[n_known..] {
            self.belief.observe(&code.bits, &code.unit, *y)?;
        }
        if !self.settings.learn {
            return Ok(&mut self.belief);
        }
        let n_fitted = if self.is_sparing {
            last_fit(observations.len())
        } else {
            observations.len()
        };
        let learned = self.learned.take().filter(|(n, _)| *n == n_fitted);
        let mut learned = learned.map_or_else(
            || self.fitted(&observations[..n_fitted]),
            |(_, belief)| Ok(belief),
        )?;
        for (code, y) in &observations[learned.raw().len()..] {
            learned.observe(&code.bits, &code.unit, *y)?;
        }
        Ok(&mut self.learned.insert((n_fitted, learned)).1)
    }

    fn ignorant(&self) -> Belief {
        Belief::new(self.prior.clone(), self.settings.outputs)
    }

    /// The belief with hyper-parameters learned from these observations, beginning with those of the prior.
    fn fitted(&self, observations: &[(&Encoded, f64)]) -> Result<Belief, Error> {
        let is_all = observations.len() == self.belief.raw().len();
        let mut belief = if is_all {
            self.belief.clone()
        } else {
            self.ignorant()
        };
        for (code, y) in &observations[belief.raw().len()..] {
            belief.observe(&code.bits, &code.unit, *y)?;
        }
        let mut stream = stream(
            self.seed,
            observations.len() as u64,
            Purpose::Hyperparameters,
        );
        belief.surrogate_mut().fit(Fit::default(), &mut stream)?;
        Ok(belief)
    }
}

/// The number of outcomes at the last fit, of `n` in all: 1, 2, … 8, 10, 13, 17, 22, 28, 35, …
fn last_fit(n: usize) -> usize {
    let mut last = n.min(8);
    while last >= 8 && last + last.div_ceil(4) <= n {
        last += last.div_ceil(4);
    }
    last
}
