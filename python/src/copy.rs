//! Copies of studies in memory: their records as plain Python data that pickles, and back.

use std::borrow::Cow;
use std::collections::BTreeMap;

use mivabo::measure::{Measured, Outcome};
use mivabo::view::Status;
use mivabo_store::{Backend, Error, Memory, Object, Record, RecordState, Revision, Session, Store};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::error::StudyError;
use crate::value::text;

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
        let measured = Measured::try_from(self.measured.clone()).map_err(mivabo::Error::from)?;
        Ok(match self.state {
            Status::Waiting => RecordState::Waiting,
            Status::Running => RecordState::Running {
                worker: self.worker.clone().unwrap_or_default(),
                lease: self.lease.unwrap_or_default(),
            },
            Status::Complete => RecordState::Ended(Outcome::Complete(measured)),
            Status::Stopped => RecordState::Ended(Outcome::Stopped(measured)),
            Status::Failed => RecordState::Ended(Outcome::Failed {
                reason: self.reason.clone().unwrap_or_default(),
                measured,
            }),
        })
    }
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

/// A study in memory with these trials.
///
/// # Errors
/// When they are not what [`Kept::from`] gave.
pub fn restored(name: &str, definition: &str, trials: Vec<Kept>) -> Result<Session, Error> {
    let memory = Memory::default();
    let mut store = Store::new(memory.clone());
    let study = store.create(name, definition)?;
    // Rows and not steps of the store: claims and tells would give every trial new times, leases and revisions, and
    // the copy would take in its trials in another order than the original.
    let mut rows = memory.write()?;
    for trial in trials {
        rows.put(study, &trial.record()?)?;
    }
    rows.commit()?;
    Session::load(store, name)
}
