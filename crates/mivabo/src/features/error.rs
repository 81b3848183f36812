//! Why features, weights or hyper-parameters do not make a model.

use crate::encoding::BadCode;

/// Why features, weights or hyper-parameters do not make a model.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// A model with more features than are reasonable.
    #[error(
        "the model would have {n} {what}; at most {limit} fit\nhint: lower the order, or use fewer bits or waves"
    )]
    TooManyFeatures {
        /// monomials, waves, quadrature nodes or weights
        what: &'static str,
        /// How many there would be.
        n: u64,
        /// How many there may be.
        limit: u64,
    },
    /// A hyper-parameter of a model out of its range.
    #[error("the model's {name} is {value}; it must lie between 1e-50 and 1e50")]
    BadHyperparameter {
        /// Which.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// Weights that do not make a binary quadratic program.
    #[error("the weights make no binary quadratic program: {why}")]
    NoProgram {
        /// Why.
        why: String,
    },
    /// Bits or coordinates of another space.
    #[error("not a code of this space: {0}")]
    BadCode(#[from] BadCode),
}
