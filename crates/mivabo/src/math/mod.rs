//! Numerical tools that know nothing of spaces or models: linear algebra, minimisers over a box, the tail of the
//! normal distribution, and streams of random numbers.

pub(crate) mod cholesky;
pub(crate) mod direct;
pub(crate) mod lbfgs;
pub(crate) mod matrix;
pub mod random;
pub(crate) mod tail;
pub(crate) mod vector;
