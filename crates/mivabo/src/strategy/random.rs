//! Random feasible points, without a model or a design.

use super::{Error, Estimate, Origin, Proposal, Proposer, Recommendation, Seen};
use crate::acquire::Placed;

/// Random feasible points.
#[derive(Debug, Clone, Copy)]
pub(super) struct RandomProposer;

impl Proposer for RandomProposer {
    fn propose(&mut self, seen: &Seen<'_>) -> Result<Proposal, Error> {
        Ok(Proposal {
            feasible: seen.random()?,
            origin: Origin::Random,
        })
    }

    /// Nothing is believed, so nothing is better than the best trial.
    fn recommend(&mut self, _: &Seen<'_>, best: Recommendation) -> Result<Recommendation, Error> {
        Ok(best)
    }

    fn predict(&mut self, _: &Seen<'_>, _: &[Placed]) -> Result<Vec<Estimate>, Error> {
        let strategy = "random";
        Err(Error::NoModel { strategy })
    }

    fn boxed(&self) -> Box<dyn Proposer> {
        Box::new(*self)
    }
}
