//! Studies and trials as data, and the steps from one state of a trial to the next.

use std::fmt;

use crate::error::Error;
use crate::object::Object;
use crate::store::{Lease, Tell};

/// The number of a study in its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct StudyId(pub(crate) u64);

impl StudyId {
    /// 0, 1, 2, … in the order in which studies were made.
    pub fn index(self) -> u64 {
        self.0
    }
}

/// The number of a change within a study; the default stands before the first one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision(pub u64);

/// A study: what its trials have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Study {
    /// Its number.
    pub id: StudyId,
    /// Its name, which no other study of the store has.
    pub name: String,
}

/// A point to evaluate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The values of its parameters.
    pub params: Object,
    /// Anything worth keeping: who proposed it, and why.
    pub note: Object,
}

impl From<Object> for Proposal {
    fn from(params: Object) -> Proposal {
        Proposal {
            params,
            note: Object::default(),
        }
    }
}

/// A point, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Its number: 0, 1, 2, … in the order in which trials were made.
    pub id: u64,
    /// When it last changed, as a revision of the study.
    pub revision: Revision,
    /// The values of its parameters.
    pub params: Object,
    /// What became of it.
    pub state: State,
    /// Its place among all tells; none before it is told.
    pub told: Option<u64>,
    /// How many workers took it and did not give it back.
    pub attempts: u32,
    /// Who took it last, or told it.
    pub worker: Option<String>,
    /// When it was made, in milliseconds since 1970, as are all times.
    pub created: i64,
    /// When a worker last took it.
    pub started: Option<i64>,
    /// When it was told.
    pub finished: Option<i64>,
    /// Anything worth keeping: who proposed it, where its log is.
    pub note: Object,
}

/// What became of a trial.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// Nobody works on it: it was enqueued, or given back.
    Waiting,
    /// A worker has it until its lease ends.
    Running {
        /// Who.
        worker: String,
        /// When the lease ends.
        lease: i64,
    },
    /// It has this value, which is finite.
    Complete(f64),
    /// It has none.
    Failed {
        /// Why.
        reason: String,
    },
}

/// How an evaluation ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// With this value, which must be finite.
    Complete(f64),
    /// Without a value.
    Failed {
        /// Why.
        reason: String,
    },
}

impl Outcome {
    /// # Errors
    /// [`Error::NotFinite`] for NaN and infinities.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match *self {
            Outcome::Complete(value) if !value.is_finite() => Err(Error::NotFinite { value }),
            _ => Ok(()),
        }
    }
}

impl From<Outcome> for State {
    fn from(outcome: Outcome) -> State {
        match outcome {
            Outcome::Complete(value) => State::Complete(value),
            Outcome::Failed { reason } => State::Failed { reason },
        }
    }
}

impl Trial {
    /// The value, if it has one.
    pub fn value(&self) -> Option<f64> {
        match self.state {
            State::Complete(value) => Some(value),
            _ => None,
        }
    }

    /// How it ended, if it did.
    pub fn outcome(&self) -> Option<Outcome> {
        match &self.state {
            State::Complete(value) => Some(Outcome::Complete(*value)),
            State::Failed { reason } => Some(Outcome::Failed {
                reason: reason.clone(),
            }),
            State::Waiting | State::Running { .. } => None,
        }
    }

    /// One that waits. Its revision is given when it is written.
    pub(crate) fn new(id: u64, proposal: Proposal, now: i64) -> Trial {
        Trial {
            id,
            revision: Revision::default(),
            params: proposal.params,
            state: State::Waiting,
            told: None,
            attempts: 0,
            worker: None,
            created: now,
            started: None,
            finished: None,
            note: proposal.note,
        }
    }

    /// A worker takes it.
    pub(crate) fn start(&mut self, lease: &Lease<'_>) {
        self.state = State::Running {
            worker: lease.worker.to_owned(),
            lease: lease.end(),
        };
        self.worker = Some(lease.worker.to_owned());
        self.attempts = self.attempts.saturating_add(1);
        self.started = Some(lease.now);
    }

    /// Its worker goes on.
    pub(crate) fn renew(&mut self, lease: &Lease<'_>) -> Result<(), Error> {
        self.held_by(lease.worker)?;
        self.state = State::Running {
            worker: lease.worker.to_owned(),
            lease: lease.end(),
        };
        Ok(())
    }

    /// Its worker stops before the end, and does not blame the trial.
    pub(crate) fn give_back(&mut self, worker: &str) -> Result<(), Error> {
        self.held_by(worker)?;
        self.state = State::Waiting;
        self.attempts = self.attempts.saturating_sub(1);
        Ok(())
    }

    /// It ends, at this place among all tells.
    pub(crate) fn finish(&mut self, tell: &Tell<'_>, place: u64) -> Result<(), Error> {
        if let Some(outcome) = self.outcome() {
            return Err(Error::AlreadyTold {
                id: self.id,
                outcome,
            });
        }
        self.state = tell.outcome.clone().into();
        self.told = Some(place);
        self.finished = Some(tell.now);
        self.note = self.note.merged(&tell.note);
        if let Some(worker) = tell.worker {
            self.worker = Some(worker.to_owned());
        }
        Ok(())
    }

    fn held_by(&self, worker: &str) -> Result<(), Error> {
        match &self.state {
            State::Running { worker: holder, .. } if holder == worker => Ok(()),
            state => Err(Error::NotHeld {
                id: self.id,
                worker: worker.to_owned(),
                state: state.clone(),
            }),
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            State::Waiting => f.write_str("waits"),
            State::Running { worker, .. } => write!(f, "runs for `{worker}`"),
            State::Complete(value) => write!(f, "has the value {value}"),
            State::Failed { reason } => write!(f, "failed: {reason}"),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        State::from(self.clone()).fmt(f)
    }
}
