//! Why a space cannot be written as bits, rows and tables, or bits and coordinates not be read as a point.

use crate::language::error::{Place, Subject, listed};
use crate::language::eval::Fault;
use crate::language::normal::NoForm;

/// Why a space has no encoding, or a code no point.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// A divisor can be zero.
    #[error("{place}: division by zero at {at}")]
    DivisionByZero {
        /// Where.
        place: Place,
        /// At which values.
        at: String,
    },
    /// A function is not defined everywhere.
    #[error("{place}: {what} at {at}")]
    Undefined {
        /// Where.
        place: Place,
        /// Which function of what.
        what: String,
        /// At which values.
        at: String,
    },
    /// A constraint that is not a row and too large for a table.
    #[error(
        "constraint `{name}` needs a table of {combinations} combinations of {}; at most {limit} fit\n\
         hint: {hint}", listed(.parameters)
    )]
    ScopeTooLarge {
        /// The constraint.
        name: String,
        /// Over which parameters.
        parameters: Vec<String>,
        /// How many combinations, written out or as a power of two.
        combinations: String,
        /// How many may be.
        limit: u64,
        /// What would help.
        hint: String,
    },
    /// A constraint over too many bits for a table.
    #[error(
        "constraint `{name}` needs a table over {bits} bits; at most 64 fit\nhint: use a binary encoding"
    )]
    TooManyBits {
        /// The constraint.
        name: String,
        /// How many bits.
        bits: usize,
    },
    /// A constraint that fits none of the supported forms.
    #[error("constraint `{name}`: {why}\nhint: {hint}")]
    Unsupported {
        /// The constraint.
        name: String,
        /// Why.
        why: String,
        /// What would help.
        hint: String,
    },
    /// No point satisfies the constraints.
    #[error("{}", infeasible(.names))]
    Infeasible {
        /// A smallest conflicting subset.
        names: Vec<String>,
    },
    /// Bits or coordinates that are not the code of a point.
    #[error("not a code of this space: {0}")]
    BadCode(#[from] BadCode),
}

/// Why bits and coordinates do not decode.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BadCode {
    /// The wrong number of bits or coordinates.
    #[error("{found} {what}, expected {expected}")]
    Length {
        /// bits or coordinates
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many were expected.
        expected: usize,
    },
    /// Bits that do not stand for a value.
    #[error("the bits of `{name}` do not stand for a value")]
    Bits {
        /// The parameter.
        name: String,
    },
    /// A coordinate outside [0, 1].
    #[error("coordinate {value} of `{name}` is outside [0, 1]")]
    Coordinate {
        /// The parameter.
        name: String,
        /// The coordinate.
        value: f64,
    },
}

impl Error {
    /// What it is about, where that is one thing with a name.
    pub fn subject(&self) -> Option<Subject<'_>> {
        match self {
            Error::DivisionByZero { place, .. } | Error::Undefined { place, .. } => place.subject(),
            Error::ScopeTooLarge { name, .. }
            | Error::TooManyBits { name, .. }
            | Error::Unsupported { name, .. } => Some(Subject::Constraint(name)),
            // Where several contradict each other, none of them is the wrong one.
            Error::Infeasible { names } if names.len() == 1 => Some(Subject::Constraint(&names[0])),
            Error::Infeasible { .. } | Error::BadCode(_) => None,
        }
    }

    /// An expression without a value at some point.
    pub(crate) fn of_fault(fault: Fault, place: Place, at: String) -> Error {
        match fault {
            Fault::DivisionByZero => Error::DivisionByZero { place, at },
            Fault::Undefined(what) => Error::Undefined { place, what, at },
        }
    }

    /// A constraint that cannot be enforced.
    pub(crate) fn unsupported(name: &str, why: impl Into<String>, hint: &str) -> Error {
        Error::Unsupported {
            name: name.to_owned(),
            why: why.into(),
            hint: hint.to_owned(),
        }
    }

    /// A constraint without a normal form.
    pub(crate) fn of_no_form(no_form: NoForm, name: &str) -> Error {
        let (why, hint) = match no_form {
            NoForm::ExcludedReal => (
                "it excludes a single value of a continuous parameter, which is meaningless up to rounding",
                "say on which side of the value it may lie",
            ),
            NoForm::Entangled => (
                "it has more than 256 cases",
                "split it into several constraints",
            ),
        };
        Error::unsupported(name, why, hint)
    }
}

fn infeasible(names: &[String]) -> String {
    match names {
        [] => "no point exists: the conditions of the parameters contradict each other".to_owned(),
        [one] => format!("no point satisfies constraint `{one}`"),
        many => format!("no point satisfies constraints {} together", listed(many)),
    }
}
