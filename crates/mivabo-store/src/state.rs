//! What became of a stored trial.

use std::fmt;

use mivabo::measure::Outcome;

/// What became of a trial.
#[derive(Debug, Clone, PartialEq)]
pub enum RecordState {
    /// Nobody works on it: it was enqueued, or given back.
    Waiting,
    /// A worker has it until its lease ends.
    Running {
        /// Who.
        worker: String,
        /// When the lease ends.
        lease: i64,
    },
    /// It was told, and never changes again.
    Ended(Outcome),
}

impl RecordState {
    /// How it ended, if it did.
    pub fn outcome(&self) -> Option<&Outcome> {
        match self {
            RecordState::Ended(outcome) => Some(outcome),
            RecordState::Waiting | RecordState::Running { .. } => None,
        }
    }
}

impl fmt::Display for RecordState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordState::Waiting => f.write_str("waits"),
            RecordState::Running { worker, .. } => write!(f, "runs for `{worker}`"),
            RecordState::Ended(outcome) => outcome.fmt(f),
        }
    }
}
