//! Why a strategy cannot be made, or has no point to propose.

use crate::language::error::hint;
use crate::{acquire, features, surrogate};

/// Why a strategy cannot be made, or has no point to propose.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// A strategy that does not exist.
    #[error("there is no strategy `{name}`; {}", or_listed(nearest.as_ref(), known))]
    Unknown {
        /// The name.
        name: String,
        /// The most similar known name.
        nearest: Option<String>,
        /// All names.
        known: &'static [&'static str],
    },
    /// A setting that a strategy does not have, or a value that it cannot take.
    #[error("`{setting}` is not a setting of the strategy; expected {expected}{}", hint(nearest.as_ref()))]
    BadSetting {
        /// As it was written.
        setting: String,
        /// What would be right.
        expected: String,
        /// The most similar name or value.
        nearest: Option<String>,
    },
    /// Settings that cannot be combined, with each other or with the space.
    #[error("{why}")]
    Conflict {
        /// Which, and what can be done.
        why: String,
    },
    /// A pair of parameters that cannot be linked.
    #[error("`{one}` and `{other}` cannot be linked: {why}")]
    BadLink {
        /// The first of them, as it was written.
        one: String,
        /// The second.
        other: String,
        /// What is wrong with the pair.
        why: String,
    },
    /// A question that only a model can answer.
    #[error("the strategy `{strategy}` has no model, so it predicts nothing")]
    NoModel {
        /// The strategy.
        strategy: &'static str,
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

fn or_listed(nearest: Option<&String>, known: &[&str]) -> String {
    match nearest {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("expected one of {}", known.join(", ")),
    }
}
