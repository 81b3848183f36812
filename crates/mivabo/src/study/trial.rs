//! Trials: a point, and what became of it.

use std::fmt;

use crate::acquire::Feasible;
use crate::measure::Outcome;
use crate::space::Point;
use crate::surrogate::process::Kernel;

/// A point to evaluate. It satisfies every constraint: there is no way to make one but by passing the check.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion {
    id: u64,
    feasible: Feasible,
    origin: Origin,
}

impl Suggestion {
    pub(super) fn new(id: u64, feasible: Feasible, origin: Origin) -> Suggestion {
        Suggestion {
            id,
            feasible,
            origin,
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

/// Who proposed a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// It was waiting: enqueued, or given back.
    Queue,
    /// The initial design.
    Design,
    /// The minimum of a function drawn from the posterior.
    Thompson,
    /// The largest expected improvement by a Gaussian process with this kernel.
    Improvement(Kernel),
    /// The same, found near the minimum of a function that was drawn from the posterior of the paper's model.
    Drawn(Kernel),
    /// The largest expected improvement on the best outcome of a branch that had less than its share of the trials.
    Turn(Kernel),
    /// Chance: the strategy is random, or what the model wished for was tried before.
    Random,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Origin::Queue => "queue",
            Origin::Design => "design",
            Origin::Thompson => "thompson",
            Origin::Improvement(Kernel::Additive) => "improvement",
            Origin::Improvement(Kernel::Product) => "improvement, product kernel",
            Origin::Drawn(Kernel::Additive) => "improvement, by a Thompson sample",
            Origin::Drawn(Kernel::Product) => "improvement, product kernel, by a Thompson sample",
            Origin::Turn(Kernel::Additive) => "improvement, the turn of a branch",
            Origin::Turn(Kernel::Product) => "improvement, product kernel, the turn of a branch",
            Origin::Random => "random",
        })
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
    /// How it ended, if it did.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.state.outcome()
    }

    /// Whether it has ended.
    pub fn is_told(&self) -> bool {
        self.outcome().is_some()
    }
}
