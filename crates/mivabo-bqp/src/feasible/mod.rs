//! Feasible points whatever their value: one, how many, random ones, and why there is none.

mod conflict;
mod dive;
mod hitting_sets;
mod odds;
mod sampling;
mod search;

pub use conflict::smallest_conflict;
pub use sampling::{Effort, Root, Sampler, SamplingPlan};
pub use search::{Feasibility, count, feasible};
