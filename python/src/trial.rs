//! Trials as Python sees them, and outcomes as Python tells them.

use std::collections::BTreeMap;

use mivabo::measure::Measured;
use mivabo::space::Value;
use mivabo::view::{Given, PastView, Status, Time, TrialView};
use mivabo_store::{Asked, Object, Session, Told};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::of_store;
use crate::value::{dict, number, object, text};

/// A trial as the arguments of Python's `Trial`.
#[derive(IntoPyObject)]
pub struct Shown<'py> {
    id: u64,
    params: Bound<'py, PyDict>,
    state: &'static str,
    value: Option<f64>,
    measured: Bound<'py, PyDict>,
    reason: Option<String>,
    evaluated: Option<Bound<'py, PyDict>>,
    left_out: Option<String>,
    feasible: bool,
    keeps_limits: Option<bool>,
    origin: String,
    result: Option<Bound<'py, PyAny>>,
    attempts: u32,
    worker: Option<String>,
    created: Option<f64>,
    started: Option<f64>,
    finished: Option<f64>,
    history: Vec<Bound<'py, PyDict>>,
}

impl<'py> Shown<'py> {
    /// Of a trial whose parameters are among these `names`.
    pub fn of(py: Python<'py>, names: &[String], trial: TrialView) -> PyResult<Shown<'py>> {
        let seconds = |time: Option<Time>| time.map(Time::seconds);
        let result = trial.result.as_ref();
        Ok(Shown {
            id: trial.id,
            params: params(py, names, &trial.params)?,
            state: trial.state.name(),
            value: trial.value,
            measured: measured(py, &trial.measured)?,
            reason: trial.reason,
            evaluated: trial.evaluated.map(|values| all(py, &values)).transpose()?,
            left_out: trial.left_out,
            feasible: trial.feasible,
            keeps_limits: trial.keeps_limits,
            origin: trial.origin.unwrap_or_default(),
            result: result.map(|given| read(py, given)).transpose()?,
            attempts: trial.attempts,
            worker: trial.worker,
            created: seconds(trial.created),
            started: seconds(trial.started),
            finished: seconds(trial.finished),
            history: history(py, trial.history)?,
        })
    }
}

/// The values in the order of the names, which is that of the space: a view has them by name.
fn params<'py>(
    py: Python<'py>,
    names: &[String],
    values: &BTreeMap<String, Value>,
) -> PyResult<Bound<'py, PyDict>> {
    let params = PyDict::new(py);
    for name in names {
        // An inactive parameter has no value.
        if let Some(value) = values.get(name) {
            params.set_item(name, object(py, value)?)?;
        }
    }
    Ok(params)
}

fn all<'py>(py: Python<'py>, values: &BTreeMap<String, Value>) -> PyResult<Bound<'py, PyDict>> {
    let params = PyDict::new(py);
    for (name, value) in values {
        params.set_item(name, object(py, value)?)?;
    }
    Ok(params)
}

/// Numbers by name.
pub fn measured<'py>(py: Python<'py>, numbers: &Measured) -> PyResult<Bound<'py, PyDict>> {
    let measured = PyDict::new(py);
    for (name, number) in numbers {
        measured.set_item(name, number)?;
    }
    Ok(measured)
}

/// By Python, whose integers have no bounds: 10**26 stays what it is.
fn read<'py>(py: Python<'py>, given: &Given) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (given.as_str(),))
}

/// The names of the parameters that an objective sees, in order.
pub fn names(session: &Session) -> Vec<String> {
    let parameters = session.space().parameters().iter();
    let visible = parameters.filter(|one| !one.is_auxiliary());
    visible.map(|one| one.name().to_owned()).collect()
}

/// A trial to evaluate, as the arguments of Python's `Trial`.
#[derive(IntoPyObject)]
pub struct Handed<'py> {
    id: u64,
    params: Bound<'py, PyDict>,
    state: &'static str,
    origin: String,
    attempts: u32,
}

impl<'py> Handed<'py> {
    /// What an ask gave.
    pub fn of(py: Python<'py>, asked: Asked) -> PyResult<Handed<'py>> {
        Ok(Handed {
            id: asked.id,
            params: dict(py, &asked.values)?,
            state: Status::Running.name(),
            origin: asked.origin,
            attempts: asked.attempts,
        })
    }
}

/// A number, or why there is none.
pub type Answer<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);

/// What Python tells of an evaluation, as `what` in messages.
///
/// # Errors
/// For a value that is not a number, and a reason or a result that is not a text.
pub fn told(what: &str, answer: Answer<'_>, result: Option<&str>) -> PyResult<Told> {
    let (value, reason) = answer;
    let reason = reason.map(|reason| text("reason", &reason)).transpose()?;
    let value = match reason {
        // Beside a reason Python gives None, which is not a number.
        Some(_) => None,
        None => Some(number(what, &value)?),
    };
    let result = result.map(Object::new).transpose();
    Ok(Told {
        value,
        reason,
        result: result.map_err(|error| of_store(&error))?,
    })
}

/// What a trial was before it was corrected, as the arguments of Python's `Past`.
fn history(py: Python<'_>, history: Vec<PastView>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let past = history.into_iter().map(|past| {
        let dict = PyDict::new(py);
        dict.set_item("state", past.state.name())?;
        dict.set_item("value", past.value)?;
        dict.set_item("measured", measured(py, &past.measured)?)?;
        dict.set_item("reason", past.reason)?;
        dict.set_item("corrected", past.corrected.map(Time::seconds))?;
        dict.set_item("worker", past.worker)?;
        dict.set_item("why", past.why)?;
        Ok(dict)
    });
    past.collect()
}
