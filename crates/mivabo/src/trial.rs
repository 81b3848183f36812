//! Trials: a point, and what became of it.

use crate::acquire::Placed;
use crate::measure::Outcome;
use crate::space::Point;

/// A point, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Its number: 0, 1, 2, … in the order in which trials were made.
    pub id: u64,
    /// Where; whether that is feasible was checked once, when it was placed.
    pub at: Placed,
    /// What became of it.
    pub state: State,
    /// Its place among all tells: 0, 1, 2, …; none while it is not told.
    pub told: Option<u64>,
}

/// What became of a trial.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// Nobody evaluates it yet: the next ask hands it out.
    Waiting,
    /// It was handed out and is not told yet.
    Running,
    /// It was told.
    Ended(Outcome),
}

impl State {
    /// How it ended, if it did.
    pub fn outcome(&self) -> Option<&Outcome> {
        match self {
            State::Ended(outcome) => Some(outcome),
            State::Waiting | State::Running => None,
        }
    }
}

impl Trial {
    /// Where.
    pub fn point(&self) -> &Point {
        self.at.point()
    }

    /// How it ended, if it did.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.state.outcome()
    }

    /// Whether it has ended.
    pub fn is_told(&self) -> bool {
        self.outcome().is_some()
    }
}
