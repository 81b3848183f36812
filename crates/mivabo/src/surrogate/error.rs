//! Why a model cannot learn from an observation.

use crate::encoding::BadCode;
use crate::features;

/// Why a model cannot be made, or cannot learn from an observation.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// An output that a model cannot learn from.
    #[error("the output {value} cannot be learned from: {why}")]
    BadOutput {
        /// The output.
        value: f64,
        /// Why.
        why: &'static str,
    },
    /// Bits or coordinates of another space.
    #[error("not a code of this space: {0}")]
    BadCode(#[from] BadCode),
    /// Features or hyper-parameters that do not make a model.
    #[error(transparent)]
    Features(#[from] features::Error),
}
