//! Why a strategy cannot be made, or has no point to propose.

use crate::language::error::hint;
use crate::{acquire, features, surrogate};

/// Why a strategy cannot be made, or has no point to propose.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// A strategy that does not exist.
    #[error("there is no strategy `{name}`{}", hint(nearest.as_ref()))]
    Unknown {
        /// The name.
        name: String,
        /// The most similar known name.
        nearest: Option<String>,
    },
    /// A setting that a strategy does not have, or a value that it cannot take.
    #[error("`{setting}` is not a setting of the strategy; expected {expected}")]
    BadSetting {
        /// As it was written.
        setting: String,
        /// What would be right.
        expected: String,
    },
    /// Features or hyper-parameters that make no model.
    #[error(transparent)]
    Features(#[from] features::Error),
    /// An observation that a model cannot learn from.
    #[error(transparent)]
    Surrogate(#[from] surrogate::Error),
    /// A search without a point to give.
    #[error(transparent)]
    Search(#[from] acquire::Error),
}
