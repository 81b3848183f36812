//! Copies of studies in memory: their records as plain Python data that pickles, and back.

use std::borrow::Cow;
use std::collections::BTreeMap;

use mivabo::measure::{Measured, Outcome};
use mivabo::view::Status;
use mivabo_store::{
    Backend, Correction, Error, Event, Memory, Object, Record, RecordState, Revision, Session,
    Store, What,
};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::error::StudyError;
use crate::value::text;

/// The first definition of a study, its trials and its events.
pub type KeptStudy = (String, Vec<Kept>, Vec<KeptEvent>);

/// A [`Record`] as a dict of plain Python objects.
#[derive(FromPyObject, IntoPyObject)]
pub struct Kept {
    #[pyo3(item)]
    id: u64,
    #[pyo3(item)]
    revision: u64,
    #[pyo3(item)]
    based_on: Option<u64>,
    #[pyo3(item)]
    params: String,
    #[pyo3(item)]
    note: String,
    #[pyo3(item, from_py_with = status, into_py_with = name)]
    state: Status,
    /// When the lease of a running trial ends.
    #[pyo3(item)]
    lease: Option<i64>,
    #[pyo3(item)]
    measured: BTreeMap<String, f64>,
    /// Why it failed.
    #[pyo3(item)]
    reason: Option<String>,
    #[pyo3(item)]
    told: Option<u64>,
    #[pyo3(item)]
    attempts: u32,
    #[pyo3(item)]
    worker: Option<String>,
    #[pyo3(item)]
    created: i64,
    #[pyo3(item)]
    started: Option<i64>,
    #[pyo3(item)]
    finished: Option<i64>,
}

impl From<Record> for Kept {
    fn from(record: Record) -> Kept {
        let (state, lease) = state(&record.state);
        let outcome = record.outcome();
        Kept {
            id: record.id,
            revision: record.revision.0,
            based_on: record.based_on.map(|revision| revision.0),
            params: record.params.to_string(),
            note: record.note.to_string(),
            state,
            lease,
            measured: outcome.map(numbers).unwrap_or_default(),
            reason: outcome.and_then(reason),
            told: record.told,
            attempts: record.attempts,
            worker: record.worker,
            created: record.created,
            started: record.started,
            finished: record.finished,
        }
    }
}

impl Kept {
    fn record(self) -> Result<Record, Error> {
        Ok(Record {
            id: self.id,
            revision: Revision(self.revision),
            based_on: self.based_on.map(Revision),
            state: self.state()?,
            params: Object::new(self.params)?,
            told: self.told,
            attempts: self.attempts,
            worker: self.worker,
            created: self.created,
            started: self.started,
            finished: self.finished,
            note: Object::new(self.note)?,
        })
    }

    fn state(&self) -> Result<RecordState, Error> {
        Ok(match self.state {
            Status::Waiting => RecordState::Waiting,
            Status::Running => RecordState::Running {
                worker: self.worker.clone().unwrap_or_default(),
                lease: self.lease.unwrap_or_default(),
            },
            state => RecordState::Ended(ended(state, self.measured.clone(), self.reason.clone())?),
        })
    }
}

/// An [`Event`] as a dict of plain Python objects.
#[derive(FromPyObject, IntoPyObject)]
pub struct KeptEvent {
    #[pyo3(item)]
    revision: u64,
    #[pyo3(item)]
    time: i64,
    #[pyo3(item)]
    worker: Option<String>,
    /// Of a revision.
    #[pyo3(item)]
    definition: Option<String>,
    /// Of a correction, as is all that follows.
    #[pyo3(item)]
    trial: Option<u64>,
    #[pyo3(item, from_py_with = status, into_py_with = name)]
    state: Status,
    #[pyo3(item)]
    measured: BTreeMap<String, f64>,
    #[pyo3(item)]
    reason: Option<String>,
    #[pyo3(item)]
    note: String,
    #[pyo3(item)]
    why: Option<String>,
}

impl From<Event> for KeptEvent {
    fn from(event: Event) -> KeptEvent {
        let correction = event.correction();
        let outcome = correction.map(|correction| &correction.outcome);
        KeptEvent {
            revision: event.revision.0,
            time: event.time,
            definition: event.definition().map(ToOwned::to_owned),
            trial: correction.map(|correction| correction.trial),
            state: outcome.map_or(Status::Complete, Status::from),
            measured: outcome.map(numbers).unwrap_or_default(),
            reason: outcome.and_then(reason),
            note: correction.map_or_else(String::new, |correction| correction.note.to_string()),
            why: correction.and_then(|correction| correction.why.clone()),
            worker: event.worker,
        }
    }
}

impl KeptEvent {
    fn event(self) -> Result<Event, Error> {
        let what = match (self.definition, self.trial) {
            (Some(definition), _) => What::Revised { definition },
            (None, trial) => What::Corrected(Correction {
                trial: trial.unwrap_or_default(),
                outcome: ended(self.state, self.measured, self.reason)?,
                note: Object::new(self.note)?,
                why: self.why,
            }),
        };
        Ok(Event {
            revision: Revision(self.revision),
            what,
            time: self.time,
            worker: self.worker,
        })
    }
}

/// An outcome by the name of its state; what has not ended has none, and counts as failed.
fn ended(
    state: Status,
    measured: BTreeMap<String, f64>,
    reason: Option<String>,
) -> Result<Outcome, Error> {
    let measured = Measured::try_from(measured).map_err(mivabo::Error::from)?;
    Ok(match state {
        Status::Complete => Outcome::Complete(measured),
        Status::Stopped => Outcome::Stopped(measured),
        Status::Waiting | Status::Running | Status::Failed => Outcome::Failed {
            reason: reason.unwrap_or_default(),
            measured,
        },
    })
}

/// The state's name, and when its lease ends.
fn state(state: &RecordState) -> (Status, Option<i64>) {
    match state {
        RecordState::Waiting => (Status::Waiting, None),
        RecordState::Running { lease, .. } => (Status::Running, Some(*lease)),
        RecordState::Ended(Outcome::Complete(_)) => (Status::Complete, None),
        RecordState::Ended(Outcome::Stopped(_)) => (Status::Stopped, None),
        RecordState::Ended(Outcome::Failed { .. }) => (Status::Failed, None),
    }
}

fn numbers(outcome: &Outcome) -> BTreeMap<String, f64> {
    let measured = outcome.measured().iter();
    measured
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn reason(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Failed { reason, .. } => Some(reason.clone()),
        Outcome::Complete(_) | Outcome::Stopped(_) => None,
    }
}

/// The state of this name.
fn status(name: &Bound<'_, PyAny>) -> PyResult<Status> {
    let name = text("the state of a trial", name)?;
    let mut all = Status::ALL.into_iter();
    all.find(|status| status.name() == name)
        .ok_or_else(|| StudyError::new_err(format!("`{name}` is not the state of a trial")))
}

#[expect(clippy::unnecessary_wraps, reason = "what the derived code calls")]
fn name<'py>(status: Cow<'_, Status>, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
    Ok(PyString::new(py, status.into_owned().name()).into_any())
}

/// A study in memory with these trials and events.
///
/// # Errors
/// When they are not what [`Kept::from`] gave.
pub fn restored(name: &str, kept: KeptStudy) -> Result<Session, Error> {
    let (definition, trials, events) = kept;
    let memory = Memory::default();
    let mut store = Store::new(memory.clone());
    let study = store.create(name, &definition)?;
    // Rows and not steps of the store: claims and tells would give every trial new times, leases and revisions, and
    // the copy would take in its trials in another order than the original.
    let mut rows = memory.write()?;
    for trial in trials {
        rows.put(study, &trial.record()?)?;
    }
    for event in events {
        rows.append(study, &event.event()?)?;
    }
    rows.commit()?;
    Session::load(store, name)
}
