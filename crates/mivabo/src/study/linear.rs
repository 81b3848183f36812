//! What Thompson sampling believes: told trials enter, in the order of their tells, and a surrogate leaves.
//!
//! The belief is a fold over (point, value) pairs. It is kept between asks and only continued, unless a failed trial
//! changes its value: failed trials count as the worst value told so far, and that may rise.

use super::spec::Thompson;
use crate::encoding::Encoded;
use crate::error::Error;
use crate::random::{Purpose, stream};
use crate::space::Space;
use crate::surrogate::{Belief, Fit, Surrogate};

/// The belief after some tells, as a fold that can be continued.
#[derive(Debug, Clone)]
pub(super) struct Linear {
    settings: Thompson,
    seed: u64,
    prior: Surrogate,
    belief: Belief,
    /// The belief with learned hyper-parameters, for as long as nothing else is told.
    learned: Option<Belief>,
}

impl Linear {
    pub(super) fn new(space: &Space, settings: Thompson, seed: u64) -> Result<Linear, Error> {
        let prior = settings.surrogate(space, seed)?;
        let belief = Belief::new(prior.clone(), settings.outputs);
        Ok(Linear { settings, seed, prior, belief, learned: None })
    }

    pub(super) fn settings(&self) -> &Thompson {
        &self.settings
    }

    /// The belief after these observations, which are to be minimised.
    pub(super) fn after(&mut self, observations: &[(&Encoded, f64)]) -> Result<&mut Belief, Error> {
        let known = self.belief.raw();
        let is_continued = known.len() <= observations.len()
            && known.iter().zip(observations).all(|(known, (_, y))| known.to_bits() == y.to_bits());
        if !is_continued {
            self.belief = Belief::new(self.prior.clone(), self.settings.outputs);
        }
        let n_known = self.belief.raw().len();
        if !is_continued || n_known < observations.len() {
            self.learned = None;
        }
        for (code, y) in &observations[n_known..] {
            self.belief.observe(&code.bits, &code.unit, *y)?;
        }
        if !self.settings.learn {
            return Ok(&mut self.belief);
        }
        if self.learned.is_none() {
            let mut belief = self.belief.clone();
            // From the prior's hyper-parameters each time: what is learned depends on what was told, not on the asks.
            let mut stream = stream(self.seed, observations.len() as u64, Purpose::Hyperparameters);
            belief.surrogate_mut().fit(Fit::default(), &mut stream)?;
            self.learned = Some(belief);
        }
        Ok(self.learned.as_mut().unwrap_or(&mut self.belief))
    }
}
