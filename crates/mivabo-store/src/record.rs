//! Studies and trials as data, and the steps from one state of a trial to the next.

use mivabo::measure::Outcome;

use crate::error::Error;
use crate::object::Object;
use crate::state::RecordState;

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
pub struct StudyEntry {
    /// Its number.
    pub id: StudyId,
    /// Its name, which no other study of the store has.
    pub name: String,
}

/// What a new record begins with: a point to evaluate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRecord {
    /// The values of its parameters.
    pub params: Object,
    /// Anything worth keeping: who proposed it, and why.
    pub note: Object,
}

impl From<Object> for NewRecord {
    fn from(params: Object) -> NewRecord {
        NewRecord {
            params,
            note: Object::default(),
        }
    }
}

/// A point, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Its number: 0, 1, 2, … in the order in which trials were made.
    pub id: u64,
    /// When it last changed, as a revision of the study.
    pub revision: Revision,
    /// Up to which revision its proposer knew the study; none where nobody computed it.
    pub based_on: Option<Revision>,
    /// The values of its parameters.
    pub params: Object,
    /// What became of it.
    pub state: RecordState,
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

/// Who takes a trial, when, and for how long without a sign of life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease<'a> {
    /// The worker. Two that work at the same time have different names.
    pub worker: &'a str,
    /// Now, in milliseconds since 1970.
    pub now: i64,
    /// For how long, in milliseconds.
    pub millis: i64,
}

impl Lease<'_> {
    /// When it ends.
    pub(crate) fn end(&self) -> i64 {
        self.now.saturating_add(self.millis)
    }
}

/// How a trial is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Tell<'a> {
    /// Who tells, if it is a worker.
    pub worker: Option<&'a str>,
    /// How it ended.
    pub outcome: Outcome,
    /// Now, in milliseconds since 1970.
    pub now: i64,
    /// What to add to its note; keys that it has are replaced.
    pub note: Object,
}

impl Tell<'_> {
    /// An outcome that nobody in particular tells, in 1970.
    pub fn new(outcome: Outcome) -> Self {
        Tell {
            worker: None,
            outcome,
            now: 0,
            note: Object::default(),
        }
    }
}

impl Record {
    /// How it ended, if it did.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.state.outcome()
    }

    /// Whether it was told.
    pub fn is_told(&self) -> bool {
        self.outcome().is_some()
    }

    /// Whether it was told the very same, whoever told it.
    pub(crate) fn was_told(&self, tell: &Tell<'_>) -> bool {
        let is_same = self.outcome() == Some(&tell.outcome);
        is_same && self.note.result() == tell.note.result()
    }

    /// One that waits. Its revision is given when it is written.
    pub(crate) fn new(id: u64, new: NewRecord, now: i64) -> Record {
        Record {
            id,
            revision: Revision::default(),
            based_on: None,
            params: new.params,
            state: RecordState::Waiting,
            told: None,
            attempts: 0,
            worker: None,
            created: now,
            started: None,
            finished: None,
            note: new.note,
        }
    }

    /// A worker takes it.
    pub(crate) fn start(&mut self, lease: &Lease<'_>) {
        self.state = RecordState::Running {
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
        self.state = RecordState::Running {
            worker: lease.worker.to_owned(),
            lease: lease.end(),
        };
        Ok(())
    }

    /// Its worker stops before the end, and does not blame the trial.
    pub(crate) fn give_back(&mut self, worker: &str) -> Result<(), Error> {
        self.held_by(worker)?;
        self.state = RecordState::Waiting;
        self.attempts = self.attempts.saturating_sub(1);
        Ok(())
    }

    /// It ends, at this place among all tells.
    pub(crate) fn finish(&mut self, tell: &Tell<'_>, place: u64) -> Result<(), Error> {
        if let Some(outcome) = self.outcome() {
            return Err(Error::AlreadyTold {
                id: self.id,
                outcome: outcome.clone(),
            });
        }
        self.state = RecordState::Ended(tell.outcome.clone());
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
            RecordState::Running { worker: holder, .. } if holder == worker => Ok(()),
            state => Err(Error::NotHeld {
                id: self.id,
                worker: worker.to_owned(),
                state: state.clone(),
            }),
        }
    }
}
