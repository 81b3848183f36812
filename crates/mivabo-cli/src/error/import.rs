//! What may be wrong with results from elsewhere.

use std::fmt;

use mivabo::counted;

use crate::csv::UnclosedQuote;

/// Where a row stands in its file, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowPlace {
    /// In CSV, the line on which it begins.
    Line(usize),
    /// In JSON, its place among the objects.
    Object(usize),
}

impl fmt::Display for RowPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RowPlace::Line(number) => write!(f, "line {number}"),
            RowPlace::Object(number) => write!(f, "object {number}"),
        }
    }
}

/// Why results from elsewhere cannot be added.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// There is not even a header.
    #[error("the file is empty")]
    Empty,
    /// It does not read as CSV.
    #[error(transparent)]
    Unclosed(#[from] UnclosedQuote),
    /// It does not read as a list of objects.
    #[error("expected a list of objects, or what `mivabo export` wrote: {0}")]
    NotObjects(serde_json::Error),
    /// A name that is there twice.
    #[error("there are two columns `{column}`")]
    TwoColumns {
        /// The name.
        column: String,
    },
    /// A file of another program, or of another language.
    #[error(
        "line 1: the cells are separated by {separator}; expected commas, and points in decimal numbers"
    )]
    Separator {
        /// What is there instead.
        separator: &'static str,
    },
    /// Nothing says what the values are.
    #[error(
        "there is no column `{expected}`; choose the column of the value with --value: {}",
        found.join(", ")
    )]
    NoValueColumn {
        /// Where values were expected.
        expected: String,
        /// The columns that there are.
        found: Vec<String>,
    },
    /// A row of another length than the header.
    #[error("line {line} has {}, but the header has {expected}", counted(*found, "cell"))]
    CellCount {
        /// The line.
        line: usize,
        /// How many cells it has.
        found: usize,
        /// How many columns there are.
        expected: usize,
    },
    /// A value that is not a number.
    #[error("{place}: the value `{found}` is not a number")]
    NotANumber {
        /// The row.
        place: RowPlace,
        /// What is there instead.
        found: String,
    },
    /// A cell that two values of the parameter are written as.
    #[error(
        "{place}: column `{column}`: `{cell}` could be text or not, and both are allowed; import JSON instead"
    )]
    Ambiguous {
        /// The row.
        place: RowPlace,
        /// The parameter's column.
        column: String,
        /// What it holds.
        cell: String,
    },
    /// Something that no parameter can have: a list, an object.
    #[error("{place}: `{name}`: {why}")]
    NotAValue {
        /// The row.
        place: RowPlace,
        /// The parameter.
        name: String,
        /// What was expected.
        why: serde_json::Error,
    },
    /// Values that make no point of the space.
    #[error(
        "{place}: {why}\nhint: --earlier takes rows of an earlier version of the study, as far as they have a place in it"
    )]
    Point {
        /// The row.
        place: RowPlace,
        /// What was expected.
        why: Box<mivabo::Error>,
    },
    /// What else the evaluation gave cannot be kept.
    #[error("{place}: the result: {why}")]
    Result {
        /// The row.
        place: RowPlace,
        /// Why not.
        why: Box<mivabo_store::Error>,
    },
}
