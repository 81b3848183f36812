//! Why a space cannot be built.

use crate::{encoding, language};

/// Why a space cannot be built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// Something that was said is wrong.
    #[error(transparent)]
    Said(#[from] language::Error),
    /// Constraints contradict each other or cannot be enforced.
    #[error(transparent)]
    Encoding(#[from] encoding::Error),
}
