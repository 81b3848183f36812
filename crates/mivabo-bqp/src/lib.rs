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

mod assignment;
mod check;
mod components;
mod conflict;
mod constraint;
mod dive;
mod error;
mod exhaustive;
mod hitting;
#[cfg(feature = "json")]
mod instances;
pub mod interrupt;
mod interval;
mod model;
mod nearest;
mod oracle;
mod propagate;
mod quadratic;
mod random;
#[cfg(feature = "json")]
mod read_error;
mod row;
mod sample;
mod search;
mod solver;
mod supports;
mod table;
mod tabu;
mod tilt;

pub use assignment::Assignment;
pub use check::{Check, Violation};
pub use conflict::smallest_conflict;
pub use error::{Error, Place, Term};
pub use exhaustive::Exhaustive;
#[cfg(feature = "json")]
pub use instances::{Instance, LARGEST_N, read_instance};
pub use model::{Bqp, LARGEST_MAGNITUDE};
pub use nearest::{Distance, nearest};
pub use oracle::{DiscreteOracle, Infeasible, Limits, Outcome, Solution, Status};
pub use propagate::{Conflict, Propagator};
pub use quadratic::Quadratic;
#[cfg(feature = "json")]
pub use read_error::{InstancePart, ReadError};
pub use row::{REAL_ROW_TOLERANCE, Row, Sense};
pub use sample::{Effort, Plan, Root, Sampler};
pub use search::{Feasibility, count, feasible};
pub use solver::{Multipliers, Solver};
pub use table::Table;
pub use tabu::Tabu;
