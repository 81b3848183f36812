//! Smooth functions over boxes and regions: the continuous half of the acquisition problem, and the fit of
//! hyper-parameters.

pub mod direct;
pub mod feasible;
pub mod global;
mod landscape;
pub mod lbfgs;
pub(crate) mod vector;
