//! Points of an earlier space, said in this one.
//!
//! | of the earlier point | here |
//! |---|---|
//! | a parameter that is here too, and active | keeps its value, which must lie in its domain |
//! | a parameter that is not here, or not active | is left out |
//! | what is active here and has no value there | has its default |
//!
//! Auxiliary integers keep their values where all constraints hold with them, and are searched for anew where not.

use super::point::Rule;
use super::{Domain, Point, Space};
use crate::language::domain::Set;
use crate::language::error::{PointError, listed};
use crate::language::value::Value;

/// Why an earlier point cannot be said in a space.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Unsaid {
    /// A value that the parameter cannot have here.
    #[error("`{name}` = {value} is {}", beyond(value, domain))]
    Outside {
        /// The parameter.
        name: String,
        /// What it had.
        value: Value,
        /// What it may have.
        domain: Box<Domain>,
    },
    /// A parameter that is active here, without a value and without a default.
    #[error("`{name}` has neither a value nor a default")]
    NoValue {
        /// The parameter.
        name: String,
    },
    /// Auxiliary integers that have to be found anew, with too many combinations for that.
    #[error("the values of {} are too many to search", listed(names))]
    Auxiliary {
        /// Their names.
        names: Vec<String>,
    },
    /// Values that make no point for any other reason.
    #[error("its values make no point of the space")]
    NoPlace,
    /// What is still to be evaluated may not break a rule.
    #[error("constraint `{constraint}` is violated")]
    Violated {
        /// The first rule that it breaks.
        constraint: String,
    },
}

impl Unsaid {
    /// The same without the value, which may be another one in each trial.
    pub fn kind(&self) -> String {
        match self {
            Unsaid::Outside {
                name,
                value,
                domain,
            } => format!("`{name}` is {}", beyond(value, domain)),
            other => other.to_string(),
        }
    }
}

fn beyond(value: &Value, domain: &Domain) -> String {
    let bounds = match domain.set {
        Set::Float { low, high } => Some((Value::Float(low), Value::Float(high))),
        Set::Int { low, high, .. } => Some((Value::Int(low), Value::Int(high))),
        Set::Ordinal(_) | Set::Choice(_) | Set::Bool => None,
    };
    let number = match value {
        Value::Int(_) | Value::Float(_) => value.as_f64(),
        Value::Bool(_) | Value::Text(_) => None,
    };
    let (Some(number), Some((low, high))) = (number, bounds) else {
        return format!("not {domain}");
    };
    if high.as_f64().is_some_and(|high| number > high) {
        format!("above its bound {high}")
    } else if low.as_f64().is_some_and(|low| number < low) {
        format!("below its bound {low}")
    } else {
        format!("not {domain}")
    }
}

impl Space {
    /// The point of an earlier space, said in this one, feasible or not.
    ///
    /// ```
    /// # use mivabo::space::Space;
    /// let revised = Space::from_toml("
    ///     [parameters]
    ///     lr = { type = 'float', low = 0.0, high = 0.1 }
    ///     depth = { type = 'int', low = 1, high = 4, default = 2 }")?;
    ///
    /// let kept = revised.say([("lr", 0.05.into()), ("gone", true.into())]).ok();
    /// let lost = revised.say([("lr", 0.5.into())]).unwrap_err();
    ///
    /// assert_eq!(kept.and_then(|point| revised.value(&point, "depth")), Some(2.into()));
    /// assert_eq!(lost.to_string(), "`lr` = 0.5 is above its bound 0.1");
    /// # Ok::<(), mivabo::Error>(())
    /// ```
    ///
    /// # Errors
    /// What of it has no place here.
    pub fn say<'a>(
        &self,
        values: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Result<Point, Unsaid> {
        let mut given = vec![None; self.parameters().len()];
        for (name, value) in values {
            if let Some(p) = self.place(name) {
                given[p] = Some(value);
            }
        }
        let auxiliaries = self.auxiliaries();
        if let Ok(at) = self.assigned(&given, Rule::LENIENT)
            && (auxiliaries.is_empty() || at.all_hold())
        {
            return Ok(at.into_point());
        }
        for p in auxiliaries {
            given[p] = None;
        }
        self.complete(&given, Rule::LENIENT).map_err(unsaid)
    }

    fn auxiliaries(&self) -> Vec<usize> {
        let parameters = self.parameters().iter().enumerate();
        let auxiliaries = parameters.filter(|(_, parameter)| parameter.is_auxiliary());
        auxiliaries.map(|(p, _)| p).collect()
    }
}

fn unsaid(error: PointError) -> Unsaid {
    match error {
        PointError::OutOfDomain {
            name,
            value,
            domain,
        } => Unsaid::Outside {
            name,
            value,
            domain,
        },
        PointError::AuxiliarySearch { names, .. } => Unsaid::Auxiliary { names },
        PointError::Missing { name, .. }
        | PointError::UnknownParameter { name, .. }
        | PointError::GivenTwice { name }
        | PointError::Inactive { name, .. } => Unsaid::NoValue { name },
    }
}
