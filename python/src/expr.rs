//! Expressions made with Python's operators. An [`Expr`] prints as the text that it stands for.
//!
//! Names are looked up when the space is built, so an expression is a value: it can be kept, copied and used again.

use mivabo::language::{Error, Place};
use mivabo::space::{Expr as Inner, MAX_DEPTH, MAX_TEXT, Value};
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::{Refusal, SpaceError, of_method};
use crate::value::{shown, text, value};

/// An expression over parameters, made with operators: `kernel * stride <= 12`.
///
/// `==` makes an expression too. Logic is written `a & b`, `a | b`, `~a` and `a.implies(b)`, each comparison in
/// parentheses; `a.is_in([...])` is membership, `abs(a)`, `a ** b` and `a % b` are as in Python.
#[pyclass(frozen, from_py_object, module = "mivabo._native")]
#[derive(Clone)]
pub struct Expr {
    inner: Inner,
    /// How many parts it was made of. Using an expression twice doubles it, so there must be a limit.
    size: usize,
}

impl Expr {
    fn made(inner: Inner, size: usize) -> PyResult<Expr> {
        if size > MAX_TEXT {
            return Err(SpaceError::new_err(format!(
                "an expression of {size} parts; at most {MAX_TEXT} fit"
            )));
        }
        Ok(Expr { inner, size })
    }

    fn unary(&self, build: impl FnOnce(Inner) -> Inner) -> PyResult<Expr> {
        Expr::made(build(self.inner.clone()), self.size + 1)
    }

    fn binary(
        &self,
        other: &Bound<'_, PyAny>,
        build: impl FnOnce(Inner, Inner) -> Inner,
    ) -> PyResult<Expr> {
        self.with(&operand(other)?, build)
    }

    fn reversed(
        &self,
        other: &Bound<'_, PyAny>,
        build: impl FnOnce(Inner, Inner) -> Inner,
    ) -> PyResult<Expr> {
        operand(other)?.with(self, build)
    }

    fn with(&self, other: &Expr, build: impl FnOnce(Inner, Inner) -> Inner) -> PyResult<Expr> {
        let size = self.size + other.size + 1;
        // Nothing is copied that would be refused.
        if size > MAX_TEXT {
            return Expr::made(Inner::from(false), size);
        }
        Expr::made(build(self.inner.clone(), other.inner.clone()), size)
    }
}

/// An expression, or a literal.
fn operand(object: &Bound<'_, PyAny>) -> PyResult<Expr> {
    if let Ok(expr) = object.cast::<Expr>() {
        return Ok(expr.get().clone());
    }
    let literal = value("in an expression", object).map_err(Refusal::of_a_space)?;
    Expr::made(constant(literal)?, 1)
}

fn constant(literal: Value) -> PyResult<Inner> {
    Ok(match literal {
        Value::Bool(truth) => Inner::from(truth),
        Value::Int(whole) => Inner::from(whole),
        Value::Float(real) if real.is_finite() => Inner::from(real),
        Value::Float(real) => {
            return Err(SpaceError::new_err(format!(
                "in an expression: the number {real} is not finite"
            )));
        }
        Value::Text(text) => Inner::from(text.as_str()),
    })
}

#[pymethods]
impl Expr {
    /// Reads a text.
    #[new]
    fn new(text: &Bound<'_, PyAny>) -> PyResult<Expr> {
        let text = self::text("an expression", text).map_err(Refusal::of_a_space)?;
        let inner = text
            .parse::<Inner>()
            .map_err(|error| of_method(&error.into()))?;
        Expr::made(inner, text.chars().count().max(1))
    }

    fn __add__(&self, other: &Bound<'_, PyAny>) -> PyResult<Expr> {
        self.binary(other, |a, b| a + b)
    }

    fn __radd__(&self, other: &Bound<'_, PyAny>) -> PyResult<Expr> {
        self.reversed(other, |a, b| a + b)
    }

    fn __sub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Expr> {
        self.binary(other, |a, b| a - b)
    }

    fn __rsub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Expr> {
        self.reversed(other, |a, b| a - b)
    }

    fn __mul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Expr> {
        self.binary(other, |a, b| a * b)
    }

    fn __rmul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Expr> {
        self.reversed(other, |a, b| a * b)
    }

    fn __truediv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Expr> {
        self.binary(other, |a, b| a / b)
    }

    fn __rtruediv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Expr> {
        self.reversed(other, |a, b| a / b)
    }

    fn __mod__(&self, other: &Bound<'_, PyAny>) -> PyResult<Expr> {
        self.binary(other, |a, b| a % b)
    }

    fn __rmod__(&self, other: &Bound<'_, PyAny>) -> PyResult<Expr> {
        self.reversed(other, |a, b| a % b)
    }

    fn __pow__(&self, other: &Bound<'_, PyAny>, modulo: &Bound<'_, PyAny>) -> PyResult<Expr> {
        no_modulo(modulo)?;
        self.binary(other, Inner::pow)
    }

    fn __rpow__(&self, other: &Bound<'_, PyAny>, modulo: &Bound<'_, PyAny>) -> PyResult<Expr> {
        no_modulo(modulo)?;
        self.reversed(other, Inner::pow)
    }

    fn __and__(&self, other: &Bound<'_, PyAny>) -> PyResult<Expr> {
        self.binary(other, |a, b| a & b)
    }

    fn __rand__(&self, other: &Bound<'_, PyAny>) -> PyResult<Expr> {
        self.reversed(other, |a, b| a & b)
    }

    fn __or__(&self, other: &Bound<'_, PyAny>) -> PyResult<Expr> {
        self.binary(other, |a, b| a | b)
    }

    fn __ror__(&self, other: &Bound<'_, PyAny>) -> PyResult<Expr> {
        self.reversed(other, |a, b| a | b)
    }

    fn __neg__(&self) -> PyResult<Expr> {
        self.unary(|a| -a)
    }

    fn __invert__(&self) -> PyResult<Expr> {
        self.unary(|a| !a)
    }

    fn __abs__(&self) -> PyResult<Expr> {
        self.unary(Inner::abs)
    }

    fn __richcmp__(&self, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<Expr> {
        self.binary(
            other,
            match op {
                CompareOp::Lt => |a: Inner, b: Inner| a.lt(b),
                CompareOp::Le => |a: Inner, b: Inner| a.le(b),
                CompareOp::Eq => |a: Inner, b: Inner| a.eq(b),
                CompareOp::Ne => |a: Inner, b: Inner| a.ne(b),
                CompareOp::Gt => |a: Inner, b: Inner| a.gt(b),
                CompareOp::Ge => |a: Inner, b: Inner| a.ge(b),
            },
        )
    }

    /// This statement holds only where `conclusion` does.
    fn implies(&self, conclusion: &Bound<'_, PyAny>) -> PyResult<Expr> {
        self.binary(conclusion, Inner::implies)
    }

    /// The value is one of these.
    fn is_in(&self, values: &Bound<'_, PyAny>) -> PyResult<Expr> {
        let values = values.try_iter()?.map(|value| operand(&value?));
        let values = values.collect::<PyResult<Vec<_>>>()?;
        if values.is_empty() {
            return Err(in_nothing(&self.inner));
        }
        let size = values.iter().map(|value| value.size).sum::<usize>() + self.size + 1;
        let values = values.into_iter().map(|value| value.inner);
        Expr::made(self.inner.clone().is_in(values), size)
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(PyTypeError::new_err(format!(
            "`{}` is an expression and neither true nor false here; write `&`, `|` and `~` for `and`, `or` and `not`, \
             with comparisons in parentheses, and a chain of comparisons as a text",
            brief(&self.inner)
        )))
    }

    fn __str__(&self) -> String {
        self.inner.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Expr({:?})", brief(&self.inner))
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, pyo3::types::PyType>, (String,))> {
        Ok((slf.get_type(), (statement(slf.as_any())?,)))
    }
}

fn in_nothing(left: &Inner) -> PyErr {
    let left = brief(left);
    SpaceError::new_err(format!(
        "`{left} in {{}}` is never true: name at least one value"
    ))
}

fn no_modulo(modulo: &Bound<'_, PyAny>) -> PyResult<()> {
    if modulo.is_none() {
        Ok(())
    } else {
        Err(PyTypeError::new_err(
            "pow() of an expression takes no modulus",
        ))
    }
}

fn brief(inner: &Inner) -> String {
    let text = inner.to_string();
    if text.chars().count() <= 100 {
        text
    } else {
        text.chars().take(99).chain(['…']).collect()
    }
}

/// The text of a statement, which is an expression or a text, if it can be read.
///
/// # Errors
/// `TypeError` for anything else, `SpaceError` for what cannot be read.
#[pyfunction]
pub fn statement(statement: &Bound<'_, PyAny>) -> PyResult<String> {
    match statement.cast::<Expr>() {
        Ok(expr) => written(&expr.get().inner),
        Err(_) => readable(statement),
    }
}

/// The text of an expression that was made with operators.
fn written(inner: &Inner) -> PyResult<String> {
    let text = inner.to_string();
    // Operators make what is longer or deeper than a text may be, so it is read once more.
    match text.parse::<Inner>() {
        Ok(_) => Ok(text),
        Err(error @ Error::TooLong { .. }) => Err(of_method(&error.into())),
        // What was made with operators can be written, unless it was cut.
        Err(_) => {
            let cut = Error::TooDeep {
                place: Place::Text,
                limit: MAX_DEPTH,
            };
            Err(of_method(&cut.into()))
        }
    }
}

/// A text that can be read.
fn readable(statement: &Bound<'_, PyAny>) -> PyResult<String> {
    let text = text("an expression", statement).map_err(|refusal| match refusal {
        Refusal::Type(_) => not_a_statement(statement),
        refusal @ Refusal::Value(_) => refusal.of_a_space(),
    })?;
    let read = text.parse::<Inner>();
    read.map_err(|error| of_method(&error.into()))?;
    Ok(text)
}

fn not_a_statement(object: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!(
        "expected an expression or its text, not {}",
        shown(object)
    ))
}

fn many(parts: &Bound<'_, PyTuple>, build: impl FnOnce(Vec<Inner>) -> Inner) -> PyResult<Expr> {
    let parts = parts
        .iter()
        .map(|part| operand(&part))
        .collect::<PyResult<Vec<_>>>()?;
    let size = parts.iter().map(|part| part.size).sum::<usize>() + 1;
    Expr::made(
        build(parts.into_iter().map(|part| part.inner).collect()),
        size,
    )
}

fn counted(
    k: &Bound<'_, PyAny>,
    parts: &Bound<'_, PyTuple>,
    build: impl FnOnce(Inner, Vec<Inner>) -> Inner,
) -> PyResult<Expr> {
    let k = operand(k)?;
    many(parts, |parts| build(k.inner, parts))
}

/// At most `k` of the statements hold.
#[pyfunction]
#[pyo3(signature = (k, *statements))]
pub fn at_most(k: &Bound<'_, PyAny>, statements: &Bound<'_, PyTuple>) -> PyResult<Expr> {
    counted(k, statements, mivabo::space::at_most)
}

/// At least `k` of the statements hold.
#[pyfunction]
#[pyo3(signature = (k, *statements))]
pub fn at_least(k: &Bound<'_, PyAny>, statements: &Bound<'_, PyTuple>) -> PyResult<Expr> {
    counted(k, statements, mivabo::space::at_least)
}

/// Exactly `k` of the statements hold.
#[pyfunction]
#[pyo3(signature = (k, *statements))]
pub fn exactly(k: &Bound<'_, PyAny>, statements: &Bound<'_, PyTuple>) -> PyResult<Expr> {
    counted(k, statements, mivabo::space::exactly)
}

/// The sum of the terms.
#[pyfunction]
#[pyo3(signature = (*terms))]
pub fn sum(terms: &Bound<'_, PyTuple>) -> PyResult<Expr> {
    many(terms, mivabo::space::sum)
}

/// The least of the terms.
#[pyfunction]
#[pyo3(signature = (first, *others))]
pub fn min(first: &Bound<'_, PyAny>, others: &Bound<'_, PyTuple>) -> PyResult<Expr> {
    counted(first, others, |first, others| {
        mivabo::space::min(std::iter::once(first).chain(others))
    })
}

/// The greatest of the terms.
#[pyfunction]
#[pyo3(signature = (first, *others))]
pub fn max(first: &Bound<'_, PyAny>, others: &Bound<'_, PyTuple>) -> PyResult<Expr> {
    counted(first, others, |first, others| {
        mivabo::space::max(std::iter::once(first).chain(others))
    })
}

/// The natural logarithm.
#[pyfunction]
pub fn log(value: &Bound<'_, PyAny>) -> PyResult<Expr> {
    operand(value)?.unary(Inner::log)
}

/// The exponential function.
#[pyfunction]
pub fn exp(value: &Bound<'_, PyAny>) -> PyResult<Expr> {
    operand(value)?.unary(Inner::exp)
}

/// The square root.
#[pyfunction]
pub fn sqrt(value: &Bound<'_, PyAny>) -> PyResult<Expr> {
    operand(value)?.unary(Inner::sqrt)
}
