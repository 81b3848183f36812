//! What can be wrong with a problem or a point.

use std::fmt;
use std::sync::Arc;

/// Why a part was refused by a [`Bqp`](crate::Bqp), or a wish by [`nearest`](crate::nearest).
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number is NaN or infinite.
    #[error("{place}: {term} is {value}; it must be finite")]
    NonFinite {
        /// Where the number stands.
        place: ProblemPart,
        /// Which number it is.
        term: Term,
        /// Its value.
        value: f64,
    },
    /// The numbers are finite, but their sum could overflow.
    #[error(
        "{place}: absolute coefficients sum to {magnitude:e}; at most {:e} is supported",
        super::quadratic::LARGEST_MAGNITUDE
    )]
    TooLarge {
        /// Where the numbers stand.
        place: ProblemPart,
        /// The sum of their absolute values.
        magnitude: f64,
    },
    /// A form or a table speaks of a bit that the problem does not have.
    #[error("{place} uses bit {index}; the problem has {n} bits, so indices must be below {n}")]
    IndexOutOfRange {
        /// Where the bit is used.
        place: ProblemPart,
        /// The bit's index.
        index: usize,
        /// The number of bits of the problem.
        n: usize,
    },
    /// A table's scope names a bit twice.
    #[error("table `{name}` lists bit {bit} more than once; the bits of a scope must be distinct")]
    RepeatedBit {
        /// The table's name.
        name: Arc<str>,
        /// The bit.
        bit: usize,
    },
    /// A table's scope does not fit into a pattern of 64 bits.
    #[error("table `{name}` has a scope of {n_bits} bits; at most 64 are supported")]
    ScopeTooLarge {
        /// The table's name.
        name: Arc<str>,
        /// The number of bits in its scope.
        n_bits: usize,
    },
    /// A table allows a pattern that has more bits than its scope.
    #[error(
        "table `{name}` allows pattern {pattern:#b}, which does not fit its scope of {n_bits} bits"
    )]
    PatternOutOfRange {
        /// The table's name.
        name: Arc<str>,
        /// The pattern.
        pattern: u64,
        /// The number of bits in the table's scope.
        n_bits: usize,
    },
    /// A point has too few or too many bits.
    #[error("the point has {found} bits; the problem has {expected}")]
    WrongLength {
        /// The number of bits of the problem.
        expected: usize,
        /// The number of bits of the point.
        found: usize,
    },
}

/// The part of a problem that an [`Error`] is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProblemPart {
    /// The objective.
    Objective,
    /// The row of this name.
    Row(Arc<str>),
    /// The table of this name.
    Table(Arc<str>),
}

impl fmt::Display for ProblemPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Objective => write!(f, "the objective"),
            Self::Row(name) => write!(f, "row `{name}`"),
            Self::Table(name) => write!(f, "table `{name}`"),
        }
    }
}

/// The number inside a [`ProblemPart`] that an [`Error`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Term {
    /// The constant of a form.
    Constant,
    /// The right-hand side of a row.
    RightHandSide,
    /// The coefficient of one bit.
    Linear(usize),
    /// The coefficient of a product of two bits.
    Quadratic(usize, usize),
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant => write!(f, "the constant"),
            Self::RightHandSide => write!(f, "the right-hand side"),
            Self::Linear(i) => write!(f, "the coefficient of x{i}"),
            Self::Quadratic(i, j) => write!(f, "the coefficient of x{i}·x{j}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_place_the_term_and_the_value() {
        let error = Error::NonFinite {
            place: ProblemPart::Row("budget".into()),
            term: Term::Quadratic(1, 3),
            value: f64::INFINITY,
        };

        let sentence = error.to_string();

        assert_eq!(
            sentence,
            "row `budget`: the coefficient of x1·x3 is inf; it must be finite"
        );
    }

    #[test]
    fn an_index_error_says_what_would_be_in_range() {
        let error = Error::IndexOutOfRange {
            place: ProblemPart::Objective,
            index: 7,
            n: 5,
        };

        let sentence = error.to_string();

        assert_eq!(
            sentence,
            "the objective uses bit 7; the problem has 5 bits, so indices must be below 5"
        );
    }
}
