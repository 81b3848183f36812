//! Python objects, numpy scalars included, as a [`Value`], and values as plain Python.

use mivabo::space::Value;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};

use crate::error::Refusal;

/// How much of a wrong object a message shows.
const SHOWN: usize = 60;

/// A value, as `what` in messages.
///
/// # Errors
/// [`Refusal::Type`] for what is neither a number nor a text nor a truth value; [`Refusal::Value`] for integers beyond 64
/// bits and texts that are not Unicode.
pub fn value(what: &str, object: &Bound<'_, PyAny>) -> Result<Value, Refusal> {
    if let Some(value) = known(what, object)? {
        return Ok(value);
    }
    // numpy's scalars, and others that hold one number, give it in this way.
    let item = object.call_method0("item").ok();
    let value = item.map(|item| known(what, &item)).transpose()?.flatten();
    let expected = "a number, a text or a truth value";
    value.ok_or_else(|| Refusal::wrong_type(what, expected, &shown(object)))
}

/// The value of a bool, an int, a float or a str.
fn known(what: &str, object: &Bound<'_, PyAny>) -> Result<Option<Value>, Refusal> {
    // Before integers: to Python a truth value is one of them.
    if let Ok(truth) = object.cast::<PyBool>() {
        return Ok(Some(Value::Bool(truth.is_true())));
    }
    if object.is_instance_of::<PyInt>() {
        return integer(what, object).map(Some);
    }
    if let Ok(real) = object.cast::<PyFloat>() {
        return Ok(Some(Value::Float(real.value())));
    }
    if object.is_instance_of::<PyString>() {
        return Ok(Some(Value::Text(text(what, object)?)));
    }
    Ok(None)
}

fn integer(what: &str, object: &Bound<'_, PyAny>) -> Result<Value, Refusal> {
    let too_large = |_| Refusal::Value(format!("{what}: {} has more than 64 bits", shown(object)));
    object.extract().map(Value::Int).map_err(too_large)
}

/// A text that is Unicode.
///
/// # Errors
/// [`Refusal::Type`] for anything but a text, [`Refusal::Value`] for one with lone surrogates.
pub fn text(what: &str, object: &Bound<'_, PyAny>) -> Result<String, Refusal> {
    text_like(what, "a text", object)
}

/// A text that is Unicode, where a message says what it should be.
///
/// # Errors
/// As [`text`].
pub fn text_like(what: &str, expected: &str, object: &Bound<'_, PyAny>) -> Result<String, Refusal> {
    if !object.is_instance_of::<PyString>() {
        return Err(Refusal::wrong_type(what, expected, &shown(object)));
    }
    object
        .extract()
        .map_err(|_| Refusal::Value(format!("{what}: {} is not Unicode", shown(object))))
}

/// A number of the settings of a study, such as its seed.
///
/// # Errors
/// [`Refusal::Type`] for what is not an integer, [`Refusal::Value`] for one that is negative or too large.
pub fn natural(what: &str, object: &Bound<'_, PyAny>) -> Result<u64, Refusal> {
    let whole = object.call_method0("__index__");
    let whole = whole.map_err(|_| Refusal::wrong_type(what, "a whole number", &shown(object)))?;
    let beyond = |_| {
        Refusal::Value(format!(
            "{what}: {} is not a whole number from 0 to 2^64 - 1",
            shown(object)
        ))
    };
    whole.extract().map_err(beyond)
}

/// A number to tell: an int or a float of any size, or what holds one.
///
/// # Errors
/// [`Refusal::Type`].
pub fn number(what: &str, object: &Bound<'_, PyAny>) -> Result<f64, Refusal> {
    let refused = || Refusal::wrong_type(what, "a number", &shown(object));
    // A str has no `__float__`, but a subclass might: a text is never a number.
    if object.is_instance_of::<PyString>() {
        return Err(refused());
    }
    match object.call_method0("__float__") {
        Ok(found) => found.extract().map_err(|_| refused()),
        // An int that no float is large enough for.
        Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => {
            let is_negative = object.lt(0).map_err(|_| refused())?;
            Ok(infinite(is_negative))
        }
        Err(_) => Err(refused()),
    }
}

fn infinite(is_negative: bool) -> f64 {
    if is_negative {
        f64::NEG_INFINITY
    } else {
        f64::INFINITY
    }
}

/// Names and values of a dict.
///
/// # Errors
/// `TypeError` for keys that are not texts, and what [`value`] refuses, with the parameter's name.
pub fn values(params: &Bound<'_, PyDict>) -> PyResult<Vec<(String, Value)>> {
    let mut found = Vec::new();
    for (name, object) in params.iter() {
        let name = text("the name of a parameter", &name).map_err(Refusal::of_a_point)?;
        let value = value(&format!("parameter `{name}`"), &object).map_err(Refusal::of_a_point)?;
        found.push((name, value));
    }
    Ok(found)
}

/// Names and values, as the crates take them.
pub fn borrowed(values: &[(String, Value)]) -> impl Iterator<Item = (&str, Value)> {
    values
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()))
}

/// A value as plain Python.
///
/// # Errors
/// When there is no memory.
pub fn object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Bool(truth) => PyBool::new(py, *truth).to_owned().into_any(),
        Value::Int(whole) => whole.into_pyobject(py)?.into_any(),
        Value::Float(real) => PyFloat::new(py, *real).into_any(),
        Value::Text(text) => PyString::new(py, text).into_any(),
    })
}

/// Names and values as a dict, in their order.
///
/// # Errors
/// When there is no memory.
pub fn dict<'py>(py: Python<'py>, values: &[(String, Value)]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in values {
        dict.set_item(name, object(py, value)?)?;
    }
    Ok(dict)
}

/// A value as plain Python, as `what` in messages.
///
/// # Errors
/// What [`value`] refuses; `SpaceError` for numbers that are not finite.
#[pyfunction]
pub fn plain<'py>(what: &str, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let found = self::value(what, value).map_err(Refusal::of_a_space)?;
    match found {
        Value::Float(x) if !x.is_finite() => {
            Err(Refusal::Value(format!("{what} is {x}; it must be finite")).of_a_space())
        }
        _ => object(value.py(), &found),
    }
}

/// How an object is shown in a message: its `repr`, or its type where that fails or is long.
pub fn shown(object: &Bound<'_, PyAny>) -> String {
    let repr = object.repr().and_then(|repr| repr.extract::<String>());
    match repr {
        Ok(repr) if repr.chars().count() <= SHOWN => repr,
        _ => object
            .get_type()
            .name()
            .map_or("an object".to_owned(), |name| {
                format!("a value of type {name}")
            }),
    }
}
