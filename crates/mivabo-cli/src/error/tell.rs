//! Why something cannot be told of a trial.

use mivabo_store::Error as StoreError;

use crate::text::without_place;

/// Why something cannot be told of a trial.
#[derive(Debug, thiserror::Error)]
pub enum TellError {
    /// A line that is not an object of the right keys.
    #[error("{}, at column {}", without_place(.0), .0.column())]
    Syntax(serde_json::Error),
    /// It gives neither a value nor a reason, or both.
    #[error("expected either a `value` or, in `failed`, why there is none")]
    NotOneOutcome,
    /// The rest of what the evaluation gave is not a JSON object.
    #[error("the result: {0}")]
    Result(Box<StoreError>),
    /// An argument that is not JSON at all.
    #[error("--result: {}", without_place(.0))]
    ResultSyntax(serde_json::Error),
    /// What the store refuses or fails at.
    #[error(transparent)]
    Store(Box<StoreError>),
}
