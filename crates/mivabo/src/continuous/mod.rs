//! Smooth functions over boxes: the continuous half of the acquisition problem, and the fit of hyper-parameters.

pub mod lbfgs;
