//! What can be wrong with a document that should be a view.

/// Why a text is not the view of a study.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It cannot be read.
    #[error("not the view of a study: {message}")]
    Json {
        /// What the reader found, and where.
        message: String,
    },
}
