//! Binary quadratic programs: the discrete half of an acquisition problem, as data.
//!
//! ```text
//! minimise    c + Σ lᵢ xᵢ + Σ_{i<j} qᵢⱼ xᵢ xⱼ          over x ∈ {0, 1}ⁿ
//! subject to  aᵣ(x) ≤ bᵣ  or  aᵣ(x) = bᵣ               rows: aᵣ linear or quadratic
//!             (x_{s₁}, …, x_{sₖ}) ∈ Tₛ                  tables: listed patterns of k ≤ 64 bits
//! ```
//!
//! What enters is a [`Bqp`]: a checked value that cannot hold a NaN or an index out of range. What leaves is a
//! [`Check`] of one point, what [`Propagator`] derives from a partial [`Assignment`], one [`feasible`] point, the
//! exact [`count`] of them, random ones from a [`Sampler`], the [`nearest`] to a wish, the [`smallest_conflict`] where
//! there are none, a good point from [`Tabu`] search, or the proved minimum from the [`Solver`]. [`Exhaustive`] is the
//! slow, obvious oracle that the others are tested against. All but that oracle end early where [`interrupt`] says so.
//!
//! The cargo feature `json` (off by default) adds `read_instance`, a reader of problems written as lines of JSON.
//!
//! ```
//! use mivabo_bqp::{Bqp, DiscreteOracle, Exhaustive, Limits, Quadratic, Row, Sense};
//!
//! // Two items that are worth more together, but only one may be taken.
//! let mut problem = Bqp::new(2);
//! problem.set_objective(Quadratic::new(0.0, [(0, -3.0), (1, -2.0)], [(0, 1, -4.0)]))?;
//! let taken = Quadratic::new(0.0, [(0, 1.0), (1, 1.0)], []);
//! problem.add_row(Row::new("at most one", taken, Sense::LessEqual, 1.0))?;
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

/// Proved minima.
pub use exact::{Distance, Exhaustive, Multipliers, Solver, nearest};
/// Feasible points: one, how many, random ones, and why there is none.
pub use feasible::{Effort, Feasibility, Plan, Root, Sampler, count, feasible, smallest_conflict};
/// A good point in little time.
pub use heuristic::Tabu;
/// The problem as data, and the check of a point.
pub use model::{
    Bqp, Check, Error, LARGEST_MAGNITUDE, Place, Quadratic, REAL_ROW_TOLERANCE, Row, Sense, Table,
    Term, Violation,
};
/// Problems written as lines of JSON.
#[cfg(feature = "json")]
pub use model::{Instance, InstancePart, LARGEST_N, ReadError, read_instance};
/// What every oracle promises.
pub use oracle::{DiscreteOracle, Infeasible, Limits, Outcome, Solution, Status};
/// What a partial assignment implies.
pub use propagation::{Assignment, Conflict, Propagator};
