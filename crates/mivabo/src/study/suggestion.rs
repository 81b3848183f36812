//! A point to evaluate, as a study hands it out.

use crate::acquire::Feasible;
use crate::space::Point;
use crate::strategy::{Origin, Proposal};

/// A point to evaluate. It satisfies every constraint: there is no way to make one but by passing the check.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion {
    id: u64,
    feasible: Feasible,
    origin: Origin,
}

impl Suggestion {
    pub(super) fn new(id: u64, proposal: Proposal) -> Suggestion {
        Suggestion {
            id,
            feasible: proposal.feasible,
            origin: proposal.origin,
        }
    }

    /// The number of the trial, to tell its value with.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Where to evaluate.
    pub fn point(&self) -> &Point {
        self.feasible.point()
    }

    /// Who proposed it.
    pub fn origin(&self) -> Origin {
        self.origin
    }
}
