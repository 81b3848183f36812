//! What Python says of a study besides its space.

use std::collections::BTreeMap;

use mivabo::measure::Aims;
use mivabo_store::{Definition, Said};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::StudyError;
use crate::space::Space;
use crate::value::{natural, text, text_like};

/// What a study is made of, besides its space.
#[derive(FromPyObject)]
pub struct Settings<'py> {
    #[pyo3(item)]
    direction: Option<Bound<'py, PyAny>>,
    #[pyo3(item)]
    goals: Option<Bound<'py, PyDict>>,
    #[pyo3(item)]
    limits: Option<Bound<'py, PyDict>>,
    #[pyo3(item)]
    strategy: Bound<'py, PyAny>,
    #[pyo3(item)]
    seed: Bound<'py, PyAny>,
    #[pyo3(item)]
    n_initial: Option<Bound<'py, PyAny>>,
    #[pyo3(item)]
    linked: Vec<(String, String)>,
}

impl Settings<'_> {
    /// The definition of a study in this space.
    ///
    /// # Errors
    /// For the first setting that makes no sense.
    pub fn definition(self, space: &Space) -> PyResult<Definition> {
        let aims = self.aims()?;
        let n_initial = self.n_initial.as_ref();
        let n_initial = n_initial.map(|n| natural("n_initial", n)).transpose()?;
        Ok(Definition {
            space: space.inner.clone(),
            aims,
            strategy: text("strategy", &self.strategy)?,
            seed: natural("seed", &self.seed)?,
            // What no machine can count is more than a study may have, and refused as such.
            n_initial: n_initial.map(|n| usize::try_from(n).unwrap_or(usize::MAX)),
            linked: self.linked,
        })
    }

    fn aims(&self) -> PyResult<Aims> {
        let direction = self.direction.as_ref();
        let direction = direction.map(|given| text("direction", given));
        let direction = direction.transpose()?;
        let goals = self.goals.as_ref().map(goals).transpose()?;
        let limits = self.limits.as_ref().map(limits).transpose()?;
        let said = Said {
            direction: direction.as_deref(),
            goals: goals.as_ref(),
            limits: limits.as_ref(),
        };
        said.aims()
            .map_err(|why| StudyError::new_err(why.to_string()))
    }
}

type Texts = BTreeMap<String, String>;

fn goals(given: &Bound<'_, PyDict>) -> PyResult<Texts> {
    let expected = r#""minimize" or "maximize""#;
    by_measure(given, |measure| format!("goals.{measure}"), expected)
}

fn limits(given: &Bound<'_, PyDict>) -> PyResult<Texts> {
    let expected = r#""<= NUMBER" or ">= NUMBER""#;
    by_measure(given, |measure| format!("limit of `{measure}`"), expected)
}

/// Texts by the names of measures. What they must say is checked by the core, in the same words for study files.
fn by_measure(
    given: &Bound<'_, PyDict>,
    what: impl Fn(&str) -> String,
    expected: &str,
) -> PyResult<Texts> {
    let mut texts = Texts::new();
    for (measure, said) in given {
        let measure = text("the name of a measure", &measure)?;
        let said = text_like(&what(&measure), expected, &said)?;
        texts.insert(measure, said);
    }
    Ok(texts)
}
