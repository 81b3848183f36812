//! Why a search has no point to give.

use crate::language::counted;
use crate::{encoding, features, surrogate};

/// Why a search has no point to give.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// An exact search in a space that is too large for it.
    #[error(
        "the exact search needs at most {limit} feasible settings of the discrete parameters, and there are more"
    )]
    TooManyPatterns {
        /// The most that are allowed.
        limit: usize,
    },
    /// A search that found no feasible point, and did not prove that there is none.
    #[error("no feasible point was found, though there may be one; tried: {tried}")]
    NoFeasiblePoint {
        /// What was tried.
        tried: String,
    },
    /// Every feasible point has been tried.
    #[error("every feasible point has been tried: nothing is left after {}", counted(*n_tried, "trial"))]
    Exhausted {
        /// How many different points were tried.
        n_tried: usize,
    },
    /// No untried point was found, and it is not proved that there is none.
    #[error(
        "no untried feasible point was found beside the {n_tried} that were tried, though there may be one"
    )]
    NoUntriedPoint {
        /// How many different points were tried.
        n_tried: usize,
    },
    /// Bits, coordinates or constraints that cannot be used.
    #[error(transparent)]
    Encoding(#[from] encoding::Error),
    /// Weights that make no program.
    #[error(transparent)]
    Features(#[from] features::Error),
    /// A model that cannot be asked.
    #[error(transparent)]
    Surrogate(#[from] surrogate::Error),
}
