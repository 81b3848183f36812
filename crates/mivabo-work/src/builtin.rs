//! Objectives inside this crate, so that an example runs without any other program.
//!
//! ```text
//! pressure-vessel   0.6224 a r l + 1.7781 b r² + 3.1661 a² l + 19.84 a² r,  a = shell/16, b = head/16
//! ```
//!
//! The cheapest known vessel costs 6059.714 (Sandgren 1990).

use mivabo::Space;
use mivabo::space::{Parameter, Value};

use crate::error::ObjectiveError;

const ALL: [(&str, Builtin); 1] = [("pressure-vessel", Builtin::PressureVessel)];

/// A function inside this crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Builtin {
    /// What a pressure vessel costs.
    PressureVessel,
}

impl Builtin {
    /// Their names.
    pub(crate) fn names() -> [&'static str; ALL.len()] {
        ALL.map(|(name, _)| name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Builtin::PressureVessel => "pressure-vessel",
        }
    }

    /// The function of this name. The space must have its parameters, as numbers that are always active.
    pub(crate) fn named(name: &str, space: &Space) -> Result<Builtin, ObjectiveError> {
        let Some((_, builtin)) = ALL.iter().find(|(known, _)| *known == name) else {
            return Err(ObjectiveError::UnknownBuiltin {
                name: name.to_owned(),
                nearest: mivabo::nearest(name, ALL.iter().map(|(known, _)| *known)),
                known: Builtin::names().join("`, `"),
            });
        };
        match builtin.missing_in(space) {
            Some(parameter) => Err(ObjectiveError::BuiltinNeeds {
                name: name.to_owned(),
                parameter,
            }),
            None => Ok(*builtin),
        }
    }

    fn missing_in(self, space: &Space) -> Option<&'static str> {
        let has = |needed: &str| {
            let mut parameters = space.parameters().iter();
            parameters.any(|p| p.name() == needed && is_always_a_number(p))
        };
        self.parameters().iter().copied().find(|name| !has(name))
    }

    fn parameters(self) -> &'static [&'static str] {
        match self {
            Builtin::PressureVessel => &["shell", "head", "radius", "length"],
        }
    }

    /// Its value at a point.
    pub fn value(self, values: &[(String, Value)]) -> f64 {
        let number = |name: &str| {
            let found = values.iter().find(|(known, _)| known == name);
            let number = found.and_then(|(_, value)| value.as_f64());
            // Never: the space was checked. But a value that is not one is a failed trial, and a panic a lost run.
            number.unwrap_or(f64::NAN)
        };
        match self {
            Builtin::PressureVessel => {
                let (a, b) = (0.0625 * number("shell"), 0.0625 * number("head"));
                let (r, l) = (number("radius"), number("length"));
                0.6224 * a * r * l + 1.7781 * b * r * r + 3.1661 * a * a * l + 19.84 * a * a * r
            }
        }
    }
}

fn is_always_a_number(parameter: &Parameter) -> bool {
    let domain = parameter.domain();
    let is_number = domain.range().is_some() || domain.values().all(|v| v.as_f64().is_some());
    is_number && parameter.condition().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_known_vessel_costs_what_it_should() {
        let values = [
            ("shell", 13.0),
            ("head", 7.0),
            ("radius", 42.098_445_6),
            ("length", 176.636_595_8),
        ];
        let values = values.map(|(name, value)| (name.to_owned(), Value::Float(value)));

        assert!((Builtin::PressureVessel.value(&values) - 6059.714).abs() < 1e-2);
    }
}
