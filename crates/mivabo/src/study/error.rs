//! Why a study refuses what it is asked or told: its own reasons, and those of the rooms below it.

use crate::language::counted;
use crate::space::Violation;
use crate::{acquire, encoding, features, language, measure, space, strategy, surrogate};

/// What was wrong, where, and what was expected.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// An initial design that is too large.
    #[error("n_initial: an initial design of {n} trials; at most {limit} are possible")]
    TooManyInitial {
        /// How many trials it would have.
        n: usize,
        /// How many it may have.
        limit: usize,
    },
    /// A point that violates constraints, where it must not.
    #[error("the point is not feasible: {}", sentences(.violations))]
    Violated {
        /// What it violates.
        violations: Vec<Violation>,
    },
    /// A point whose values do not fit this space.
    #[error("the point belongs to another space")]
    ForeignPoint,
    /// There is no trial with this number.
    #[error("there is no trial {id}; the study has {}", counted(*n, "trial"))]
    UnknownTrial {
        /// The number.
        id: u64,
        /// How many trials there are.
        n: usize,
    },
    /// A trial was told a second time.
    #[error("trial {id} was already told")]
    AlreadyTold {
        /// The trial.
        id: u64,
    },
    /// A question that needs at least one value.
    #[error("no trial has a value yet")]
    NothingTold,
    /// A question that needs at least one value of a feasible trial.
    #[error("no feasible trial has a value yet")]
    NothingFeasible,
    /// Trials that cannot be those of one study.
    #[error("trials cannot be resumed: {why}")]
    BadHistory {
        /// Why.
        why: String,
    },
    /// A parameter, definition or constraint.
    #[error(transparent)]
    Space(#[from] language::Error),
    /// Values that make no point.
    #[error(transparent)]
    Point(#[from] language::PointError),
    /// Constraints that contradict each other or cannot be enforced.
    #[error(transparent)]
    Encoding(#[from] encoding::Error),
    /// A measure, a goal or a limit.
    #[error(transparent)]
    Measure(#[from] measure::Error),
    /// A strategy or setting that does not exist.
    #[error(transparent)]
    Strategy(strategy::Error),
    /// Features or hyper-parameters that make no model.
    #[error(transparent)]
    Features(#[from] features::Error),
    /// An observation that a model cannot learn from.
    #[error(transparent)]
    Surrogate(surrogate::Error),
    /// A search without a point to give.
    #[error(transparent)]
    Search(acquire::Error),
}

// What a room passes on from a lower one is the lower one's error here too: each has one place in a match.

impl From<space::Error> for Error {
    fn from(error: space::Error) -> Error {
        match error {
            space::Error::Said(error) => Error::Space(error),
            space::Error::Encoding(error) => Error::Encoding(error),
        }
    }
}

impl From<surrogate::Error> for Error {
    fn from(error: surrogate::Error) -> Error {
        match error {
            surrogate::Error::Features(error) => Error::Features(error),
            own => Error::Surrogate(own),
        }
    }
}

impl From<acquire::Error> for Error {
    fn from(error: acquire::Error) -> Error {
        match error {
            acquire::Error::Encoding(error) => Error::Encoding(error),
            acquire::Error::Features(error) => Error::Features(error),
            acquire::Error::Surrogate(error) => error.into(),
            own => Error::Search(own),
        }
    }
}

impl From<strategy::Error> for Error {
    fn from(error: strategy::Error) -> Error {
        match error {
            strategy::Error::Features(error) => Error::Features(error),
            strategy::Error::Surrogate(error) => error.into(),
            strategy::Error::Search(error) => error.into(),
            own => Error::Strategy(own),
        }
    }
}

fn sentences(violations: &[Violation]) -> String {
    violations
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}
