//! Binary quadratic programs: the discrete half of an acquisition problem, as data.
//!
//! ```text
//! minimise    c + Σ lᵢ xᵢ + Σ_{i<j} qᵢⱼ xᵢ xⱼ          over x ∈ {0, 1}ⁿ
//! subject to  aᵣ(x) ≤ bᵣ  or  aᵣ(x) = bᵣ               rows: aᵣ linear or quadratic
//!             (x_{s₁}, …, x_{sₖ}) ∈ Tₛ                  tables: listed patterns of k ≤ 64 bits
//! ```
//!
//! A [`Bqp`] is a checked value that cannot hold a NaN or an index out of range. [`Propagator`] derives what follows from
//! a partial [`Assignment`]. [`feasible()`] finds one feasible point, [`count`] says how many there are, a [`Sampler`] draws
//! random ones, and [`nearest`] finds the one nearest to a wish; where there is none, [`smallest_conflict`] says why.
//! [`Tabu`] search finds good points, and the [`Solver`] proves the minimum. [`Exhaustive`] is the slow, obvious oracle
//! that the others are tested against. All but that one end early where [`interrupt`] says so.
//!
//! The cargo feature `json` (off by default) adds `read_instance`, a reader of problems written as lines of JSON.
//!
//! ```
//! use mivabo_bqp::{Bqp, DiscreteOracle, Exhaustive, Limits, Quadratic, Row, RowRelation};
//!
//! // Two items that are worth more together, but only one may be taken.
//! let mut problem = Bqp::new(2);
//! problem.set_objective(Quadratic::new(0.0, [(0, -3.0), (1, -2.0)], [(0, 1, -4.0)]))?;
//! let taken = Quadratic::new(0.0, [(0, 1.0), (1, 1.0)], []);
//! problem.add_row(Row::new("at most one", taken, RowRelation::LessEqual, 1.0))?;
//!
//! let best = Exhaustive.minimise(&problem, Limits::default())?.into_solution().expect("no limit was set");
//! assert_eq!(best.x, [true, false]);
//! assert_eq!(best.value, -3.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod exact;
mod feasible;
mod heuristic;
pub mod interrupt;
mod model;
mod oracle;
mod propagation;
mod random;

// The problem as data.
pub use model::{Bqp, Error, ProblemPart, Quadratic, Row, RowRelation, Table, Term};

// Problems written as lines of JSON.
#[cfg(feature = "json")]
pub use model::{Instance, InstancePart, ReadError, read_instance};

// What every oracle promises.
pub use oracle::{DiscreteOracle, Infeasible, Limits, Optimality, Outcome, Solution};

// What follows from a partial assignment.
pub use propagation::{Assignment, Conflict, Propagator};

// Feasible points: one, how many, random ones, and why there is none.
pub use feasible::{
    Effort, Feasibility, Root, Sampler, SamplingPlan, count, feasible, smallest_conflict,
};

// A good point in little time.
pub use heuristic::Tabu;

// Proved minima.
pub use exact::{Distance, Exhaustive, Multipliers, Solver, nearest};
