//! What somebody tells of an evaluation, in a user's words, and the outcome that it is.

use mivabo::measure::{Aims, Measured, Outcome};

use crate::error::Error;
use crate::object::Object;

/// What somebody tells of an evaluation: a number, a reason why there is none, what else it gave.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Told {
    /// The goal's number. Without one it is looked for in the result.
    pub value: Option<f64>,
    /// Why it failed.
    pub reason: Option<String>,
    /// The JSON object that the evaluation gave. Its numbers are measured too.
    pub result: Option<Object>,
}

impl Told {
    /// A number.
    pub fn value(value: f64) -> Told {
        Told {
            value: Some(value),
            ..Told::default()
        }
    }

    /// A failure.
    pub fn failed(reason: impl Into<String>) -> Told {
        Told {
            reason: Some(reason.into()),
            ..Told::default()
        }
    }

    /// The outcome. Without a reason it is a failure, too, where the goal's number is missing or not finite.
    pub fn outcome(&self, aims: &Aims) -> Outcome {
        let goal = &aims.goal().measure;
        let mut measured = self.result.as_ref().map_or_else(Measured::default, numbers);
        let inserted = self
            .value
            .map_or(Ok(()), |value| measured.insert(goal, value));
        match (&self.reason, inserted) {
            (Some(reason), _) => Outcome::Failed {
                reason: reason.clone(),
                measured,
            },
            (None, Err(error)) => Outcome::Failed {
                reason: error.to_string(),
                measured,
            },
            (None, Ok(())) => aims.judged(Outcome::Complete(measured)),
        }
    }

    /// What is noted of it: the result, as it was written.
    ///
    /// # Errors
    /// [`Error::NotAnObject`], which does not happen.
    pub fn note(&self) -> Result<Object, Error> {
        Object::note_of(self.result.as_ref().map(Object::as_str))
    }
}

/// The finite numbers of an object under names that a measure can have.
pub(crate) fn numbers(object: &Object) -> Measured {
    let mut measured = Measured::default();
    for (name, value) in object.numbers() {
        // A name that no measure can have stays in the result alone.
        measured.insert(name, value).ok();
    }
    measured
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(value: Option<f64>, result: &str) -> Told {
        Told {
            value,
            reason: None,
            result: Some(Object::new(result).unwrap()),
        }
    }

    #[test]
    fn the_numbers_of_a_result_are_measured() {
        let told = told(
            Some(0.5),
            r#"{"size": 12, "time": 1e400, "ok": true, "a`b": 1, "lr": {"x": 3}, "b": -0.0}"#,
        );

        let outcome = told.outcome(&Aims::default());

        let measured: Vec<_> = outcome
            .measured()
            .iter()
            .map(|(k, v)| format!("{k}={v}"))
            .collect();
        assert_eq!(measured, ["b=-0", "size=12", "value=0.5"]);
        assert!(told.note().unwrap().as_str().contains("1e400"));
    }

    #[test]
    fn a_missing_or_infinite_number_is_a_failure_that_keeps_the_others() {
        for (value, reason) in [
            (None, "failed: `value` was not measured"),
            (Some(f64::NAN), "failed: the value is NaN"),
        ] {
            let outcome = told(value, r#"{"size": 12}"#).outcome(&Aims::default());

            assert_eq!(outcome.to_string(), reason);
            assert_eq!(outcome.measured().get("size"), Some(12.0));
        }
    }
}
