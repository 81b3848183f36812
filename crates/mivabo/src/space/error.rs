//! Why a space cannot be built.

use crate::language::Subject;
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

impl Error {
    /// What it is about, where that is one thing with a name.
    pub fn subject(&self) -> Option<Subject<'_>> {
        match self {
            Error::Said(error) => error.subject(),
            Error::Encoding(error) => error.subject(),
        }
    }
}
