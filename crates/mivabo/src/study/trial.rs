//! Trials: a point, and what became of it.

use crate::acquire::Feasible;
use crate::encoding::Encoded;
use crate::space::Point;

/// A point to evaluate. It satisfies every constraint: there is no way to make one but by passing the check.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion {
    id: u64,
    feasible: Feasible,
}

impl Suggestion {
    pub(super) fn new(id: u64, feasible: Feasible) -> Suggestion {
        Suggestion { id, feasible }
    }

    /// The number of the trial, to tell its value with.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Where to evaluate.
    pub fn point(&self) -> &Point {
        self.feasible.point()
    }
}

/// A point, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Its number: 0, 1, 2, … in the order in which trials were made.
    pub id: u64,
    /// Where.
    pub point: Point,
    /// What became of it.
    pub state: State,
    /// Its place among all tells; none while it is pending.
    pub told: Option<u64>,
    /// Whether it satisfies every constraint; only one that came from outside may not.
    pub is_feasible: bool,
    pub(super) code: Encoded,
}

/// What became of a trial.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// Not told yet.
    Pending,
    /// It has this value, which is finite.
    Complete(f64),
    /// It has none.
    Failed {
        /// Why.
        reason: String,
    },
}

impl Trial {
    /// The value, if it has one.
    pub fn value(&self) -> Option<f64> {
        match self.state {
            State::Complete(value) => Some(value),
            _ => None,
        }
    }

    /// Whether it waits for its value.
    pub fn is_pending(&self) -> bool {
        self.state == State::Pending
    }
}
