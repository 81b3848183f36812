//! Trials: a point, and what became of it.

use crate::acquire::Placed;
use crate::measure::Outcome;
use crate::space::{Point, Unsaid, Value};

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

/// A trial of a study whose space was revised since, at a point that cannot be said in the space as it is now. It has its
/// number and its place among the tells for ever, and nothing is learned from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Absent {
    /// Its number.
    pub id: u64,
    /// Names and values, as they were evaluated.
    pub values: Vec<(String, Value)>,
    /// Why its point has no place in the space.
    pub why: Unsaid,
    /// What became of it.
    pub state: State,
    /// Its place among all tells; none while it is not told.
    pub told: Option<u64>,
}

/// A trial as a study takes it in from elsewhere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Known<'t> {
    /// At a point of the space.
    Here(&'t Trial),
    /// At one that cannot be said there.
    Absent(&'t Absent),
}

impl Known<'_> {
    /// Its number.
    pub fn id(&self) -> u64 {
        match self {
            Known::Here(trial) => trial.id,
            Known::Absent(trial) => trial.id,
        }
    }

    /// Its place among all tells; none while it is not told.
    pub fn told(&self) -> Option<u64> {
        match self {
            Known::Here(trial) => trial.told,
            Known::Absent(trial) => trial.told,
        }
    }
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
