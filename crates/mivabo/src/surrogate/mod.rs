//! Surrogates: observations of features enter, a belief about the weights leaves. MiVaBo, Sec. 3.2 and App. A.

pub mod gaussian;
mod linalg;
pub mod prior;
mod records;

pub use self::gaussian::{Gaussian, Scaling};
pub use self::prior::{Prior, Variances};

/// What a surrogate believes about f at a point, without noise, in the units of the outputs it was given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// The mean.
    pub mean: f64,
    /// The variance, at least 0.
    pub variance: f64,
}
