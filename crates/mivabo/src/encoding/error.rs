//! Why a space cannot be written as bits, rows and tables, or bits and coordinates not be read as a point.

use crate::language::error::{Place, listed};

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
    /// A constraint that is no row and too large for a table.
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
        "constraint `{name}` needs a table over {bits} bits; at most 64 fit\nhint: use a binary code"
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
    /// Bits or coordinates that are no code of a point.
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
    /// Bits that stand for no value.
    #[error("the bits of `{name}` stand for no value")]
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

fn infeasible(names: &[String]) -> String {
    match names {
        [] => "no point exists: the conditions of the parameters contradict each other".to_owned(),
        [one] => format!("no point satisfies constraint `{one}`"),
        many => format!("no point satisfies constraints {} together", listed(many)),
    }
}
