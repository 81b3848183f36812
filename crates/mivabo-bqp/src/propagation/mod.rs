//! What follows from a partial assignment, without any search.

mod assignment;
mod components;
mod constraint;
mod interval;
mod propagator;

pub use assignment::Assignment;
pub(crate) use components::{Component, components, independent_bits};
pub(crate) use constraint::{Constraint, compatible, fixed};
pub(crate) use interval::{IntervalRow, Scratch};
pub use propagator::{Conflict, Propagator};
