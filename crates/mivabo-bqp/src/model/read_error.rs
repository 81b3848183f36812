//! What can be wrong with a line of JSON.

use std::fmt;

use super::error::Error;

/// The largest number of bits that an instance may have.
pub(super) const LARGEST_N: usize = 10_000;

/// How much an error shows of the text before the place where reading stopped, in characters.
const EXCERPT: usize = 20;

/// An error may quote the text; it is cut after so many characters.
const LONGEST_REASON: usize = 200;

/// Why a line is not an instance.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The line is not JSON, or a part of it has the wrong type.
    #[error("column {column}, near `{near}`: {reason}")]
    Json {
        /// Where reading stopped, in bytes.
        column: usize,
        /// The text there.
        near: String,
        /// What was found and what was expected.
        reason: String,
    },
    /// The number of bits is 0 or too large.
    #[error("`n` is {n}; it must be from 1 to {LARGEST_N}")]
    NumberOfBits {
        /// The number of bits.
        n: u64,
    },
    /// Two lists that belong together differ in length.
    #[error("{part}: `{list}` has {found} numbers; it must have {expected}, as `{partner}` says")]
    Length {
        /// Where the lists stand.
        part: InstancePart,
        /// The list.
        list: &'static str,
        /// What gives its length.
        partner: &'static str,
        /// The length it must have.
        expected: usize,
        /// The length it has.
        found: usize,
    },
    /// A row, group or table is about no bit.
    #[error("{part} is over no bit")]
    NoBit {
        /// The row, group or table.
        part: InstancePart,
    },
    /// A table allows nothing.
    #[error("{part}: `allowed` is empty; a table must allow a pattern")]
    NoPattern {
        /// The table.
        part: InstancePart,
    },
    /// A group lists a bit twice.
    #[error("{part} lists bit {bit} more than once")]
    RepeatedBit {
        /// The group.
        part: InstancePart,
        /// The bit.
        bit: usize,
    },
    /// The numbers do not make a problem.
    #[error(transparent)]
    Problem(#[from] Error),
}

impl ReadError {
    pub(crate) fn from_json(text: &str, error: &serde_json::Error) -> Self {
        let lines_before = text
            .split_inclusive('\n')
            .take(error.line().saturating_sub(1));
        let end = lines_before.map(str::len).sum::<usize>() + error.column();
        // The place is said in our own way: a line number means nothing in a file of one instance for each line.
        let whole = error.to_string();
        let reason = whole.split(" at line ").next().unwrap_or(&whole);
        Self::Json {
            column: error.column(),
            near: excerpt(text, end),
            reason: reason.chars().take(LONGEST_REASON).collect(),
        }
    }
}

/// The characters that end before byte `end`, and the rest of the number or word they stop in.
fn excerpt(text: &str, end: usize) -> String {
    let n_read = text.char_indices().take_while(|&(at, _)| at < end).count();
    let n_skipped = n_read.saturating_sub(EXCERPT);
    let before = text.chars().skip(n_skipped).take(n_read - n_skipped);
    let word = text
        .chars()
        .skip(n_read)
        .take(EXCERPT)
        .take_while(|c| c.is_alphanumeric() || "+-.".contains(*c));
    before.chain(word).collect()
}

/// The part of a line that a [`ReadError`] is about; positions count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstancePart {
    /// The objective.
    Objective,
    /// An element of `rows`.
    Row(usize),
    /// An element of `groups`.
    Group(usize),
    /// An element of `tables`.
    Table(usize),
}

impl fmt::Display for InstancePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Objective => write!(f, "the objective"),
            Self::Row(k) => write!(f, "rows[{k}]"),
            Self::Group(k) => write!(f, "groups[{k}]"),
            Self::Table(k) => write!(f, "tables[{k}]"),
        }
    }
}
