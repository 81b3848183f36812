//! Objectives inside this program, so that an example runs without any other: values enter, a number leaves.
//!
//! ```text
//! pressure-vessel   0.6224 a r l + 1.7781 b r² + 3.1661 a² l + 19.84 a² r,  a = shell/16, b = head/16
//! ```
//!
//! The best known vessel costs 6059.714 (Sandgren 1990).

use mivabo::Space;
use mivabo::space::{Parameter, Value};

use crate::Failure;
use crate::study_file::did_you_mean;

const ALL: [(&str, Builtin); 1] = [("pressure-vessel", Builtin::PressureVessel)];

/// A function inside this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Builtin {
    /// What a pressure vessel costs.
    PressureVessel,
}

impl Builtin {
    /// The function of a name, for a space that has its parameters as numbers that are always active.
    pub fn named(name: &str, space: &Space) -> Result<Builtin, Failure> {
        let Some((_, builtin)) = ALL.iter().find(|(known, _)| *known == name) else {
            let names = ALL.map(|(name, _)| name);
            let hint = did_you_mean(name, names.into_iter());
            let hint = hint.unwrap_or_else(|| format!("; there is `{}`", names.join("`, `")));
            return Err(format!("builtin: there is no function `{name}`{hint}"));
        };
        for needed in builtin.parameters() {
            let found = space
                .parameters()
                .iter()
                .find(|p| p.name() == *needed && p.condition().is_none());
            let is_number = |p: &Parameter| {
                p.domain().range().is_some()
                    || p.domain().values().all(|value| value.as_f64().is_some())
            };
            if !found.is_some_and(is_number) {
                return Err(format!(
                    "builtin: `{name}` needs a parameter `{needed}` that is a number"
                ));
            }
        }
        Ok(*builtin)
    }

    fn parameters(self) -> &'static [&'static str] {
        match self {
            Builtin::PressureVessel => &["shell", "head", "radius", "length"],
        }
    }

    /// Its value.
    pub fn value(self, values: &[(String, Value)]) -> f64 {
        let number = |name: &str| {
            let found = values.iter().find(|(known, _)| known == name);
            found
                .and_then(|(_, value)| value.as_f64())
                .unwrap_or(f64::NAN)
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
