//! A space that was built from JSON or TOML: it counts, samples, checks and repairs points.

use std::collections::BTreeMap;

use mivabo::Space as Inner;
use mivabo::acquire::random::RandomPoints;
use mivabo::language::PointError;
use mivabo::math::random::{Purpose, stream};
use mivabo::space::{Domain, Point, Value, Violation};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::error::of_method;
use crate::interrupt::interruptible;
use crate::value::{borrowed, dict, natural, object, values};

/// A valid space. Cheap to clone.
#[pyclass(frozen, module = "mivabo._native")]
pub struct Space {
    pub inner: Inner,
}

/// A violation as the arguments of Python's `Violation`.
#[derive(IntoPyObject)]
struct Violated<'py> {
    constraint: String,
    statement: String,
    left: Option<Bound<'py, PyAny>>,
    right: Option<Bound<'py, PyAny>>,
    amount: f64,
}

impl<'py> Violated<'py> {
    fn of(py: Python<'py>, violation: Violation) -> PyResult<Violated<'py>> {
        let side = |side: Option<Value>| side.map(|value| object(py, &value)).transpose();
        Ok(Violated {
            constraint: violation.constraint,
            statement: violation.statement,
            left: side(violation.left)?,
            right: side(violation.right)?,
            amount: violation.amount,
        })
    }
}

#[pymethods]
impl Space {
    /// Reads JSON of the shape of a study file.
    #[new]
    fn new(py: Python<'_>, json: String) -> PyResult<Space> {
        let inner = interruptible(py, move || Inner::from_json(&json))?
            .map_err(|error| of_method(&error.into()))?;
        Ok(Space { inner })
    }

    /// Reads the space of a study file.
    #[staticmethod]
    fn from_toml(py: Python<'_>, text: String) -> PyResult<Space> {
        let inner = interruptible(py, move || Inner::from_toml(&text))?
            .map_err(|error| of_method(&error.into()))?;
        Ok(Space { inner })
    }

    fn to_json(&self) -> String {
        self.inner.to_json()
    }

    fn to_toml(&self) -> String {
        self.inner.to_toml()
    }

    fn fingerprint(&self) -> String {
        self.inner.fingerprint()
    }

    /// Feasible combinations of the discrete parameters; none when counting took more than `nodes` steps.
    fn count(&self, py: Python<'_>, nodes: &Bound<'_, PyAny>) -> PyResult<Option<u128>> {
        let nodes = natural("effort", nodes)?;
        let space = self.inner.clone();
        interruptible(py, move || {
            mivabo_bqp::count(space.encoding().problem(), nodes)
        })
    }

    /// Random feasible points.
    fn sample<'py>(
        &self,
        py: Python<'py>,
        n: usize,
        seed: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let seed = natural("seed", seed)?;
        let mut found = Vec::new();
        for at in 0..n {
            // Each point has a stream of its own: the first points are the same for any `n`.
            let space = self.inner.clone();
            let point = interruptible(py, move || {
                let mut stream = stream(seed, at as u64, Purpose::Sample);
                RandomPoints::new(&space).draw(&mut stream)
            });
            let point = point?.map_err(|error| of_method(&error.into()))?;
            found.push(self.dict(py, point.point())?);
        }
        Ok(found)
    }

    /// Every violated constraint.
    fn check<'py>(
        &self,
        py: Python<'py>,
        params: &Bound<'_, PyDict>,
    ) -> PyResult<Vec<Violated<'py>>> {
        let point = self.point(params)?;
        let report = py.detach(|| self.inner.check(&point));
        let violations = report.violations.into_iter();
        violations.map(|found| Violated::of(py, found)).collect()
    }

    /// The nearest feasible point.
    fn nearest<'py>(
        &self,
        py: Python<'py>,
        params: &Bound<'_, PyDict>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let given = values(params)?;
        let wish = self
            .inner
            .point_where_active(borrowed(&given))
            .map_err(|error| of_method(&error.into()))?;
        let space = self.inner.clone();
        let found = interruptible(py, move || space.nearest(&wish))?
            .map_err(|error| of_method(&error.into()))?;
        self.dict(py, found.point())
    }

    /// The values with those of left-out active parameters: the default, else the first value, or the middle of a range. The names of the
    /// parameters that were left out come with them.
    fn complete<'py>(
        &self,
        py: Python<'py>,
        params: &Bound<'_, PyDict>,
    ) -> PyResult<(Bound<'py, PyDict>, Vec<String>)> {
        let mut given: BTreeMap<String, Value> = values(params)?.into_iter().collect();
        let mut left_out = Vec::new();
        loop {
            let values = given.iter();
            let values = values.map(|(name, value)| (name.as_str(), value.clone()));
            match self.inner.point_where_active(values) {
                Ok(point) => return Ok((self.dict(py, &point)?, left_out)),
                // One at a time: which parameters are active depends on the values before.
                Err(PointError::Missing { name, domain }) if !given.contains_key(&name) => {
                    given.insert(name.clone(), usual(&domain));
                    left_out.push(name);
                }
                Err(error) => return Err(of_method(&error.into())),
            }
        }
    }

    /// Name, statement, class and whether it follows from a definition, of every constraint.
    fn constraints<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let constraints = self.inner.constraints().iter().map(|constraint| {
            let class = constraint.class().to_string();
            (
                constraint.name(),
                constraint.expression().to_string(),
                class,
                constraint.is_implied(),
            )
        });
        PyList::new(py, constraints.collect::<Vec<_>>())
    }
}

impl Space {
    fn point(&self, params: &Bound<'_, PyDict>) -> PyResult<Point> {
        let given = values(params)?;
        self.inner
            .point(borrowed(&given))
            .map_err(|error| of_method(&error.into()))
    }

    fn dict<'py>(&self, py: Python<'py>, point: &Point) -> PyResult<Bound<'py, PyDict>> {
        dict(py, &visible(&self.inner, point))
    }
}

/// What an objective sees of a point.
pub fn visible(space: &Inner, point: &Point) -> Vec<(String, Value)> {
    space
        .values(point)
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// The default, or the first value; of a float the middle of its range, on its scale.
fn usual(domain: &Domain) -> Value {
    if let Some(default) = domain.default_value() {
        return default.clone();
    }
    match (domain.values().next(), domain.range()) {
        (Some(first), _) => first,
        (None, Some((low, high))) if domain.is_log() => {
            Value::Float((low * high).sqrt().clamp(low, high))
        }
        (None, Some((low, high))) => Value::Float(f64::midpoint(low, high)),
        (None, None) => Value::Bool(false),
    }
}
