//! Why a point cannot be enqueued.

use crate::text::without_place;

/// Why a point cannot be enqueued.
#[derive(Debug, thiserror::Error)]
pub enum EnqueueError {
    /// An argument that assigns nothing.
    #[error("`{text}`: expected NAME=VALUE, such as lr=0.01")]
    NotAnAssignment {
        /// The argument.
        text: String,
    },
    /// A value that could be two.
    #[error("`{name}`: `{cell}` could be text or not, and both are allowed; use --json")]
    Ambiguous {
        /// The parameter.
        name: String,
        /// What was typed.
        cell: String,
    },
    /// What is not JSON at all.
    #[error("expected JSON: {}, at column {}", without_place(.0), .0.column())]
    Syntax(serde_json::Error),
    /// JSON, but no object.
    #[error("expected a JSON object of names and values: {}", without_place(.0))]
    NotAnObject(serde_json::Error),
    /// Something that no parameter can have: a list, an object.
    #[error("`{name}`: {why}")]
    NotAValue {
        /// The parameter.
        name: String,
        /// What was expected.
        why: serde_json::Error,
    },
    /// Values that make no feasible point.
    #[error(transparent)]
    Point(Box<mivabo_store::Error>),
    /// The same of one of several.
    #[error("{place}: {why}")]
    At {
        /// Which.
        place: String,
        /// What is wrong with it.
        why: Box<EnqueueError>,
    },
}

impl EnqueueError {
    /// In this line of standard input.
    pub fn of_line(self, number: usize) -> EnqueueError {
        EnqueueError::At {
            place: format!("line {number}"),
            why: Box::new(self),
        }
    }

    /// In this object of a list.
    pub fn of_object(self, number: usize) -> EnqueueError {
        EnqueueError::At {
            place: format!("object {number}"),
            why: Box::new(self),
        }
    }
}
