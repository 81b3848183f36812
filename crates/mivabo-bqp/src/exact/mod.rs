//! Proved minima: branch and bound with a semidefinite bound, and the slow reference that it is tested against.

mod exhaustive;
mod incumbent;
mod nearest;
mod node;
mod reduce;
mod relaxation;
mod solver;
mod subsets;
mod tree;

pub use exhaustive::Exhaustive;
pub use nearest::{Distance, nearest};
pub use solver::{Multipliers, Solver};
