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
//! exact [`count`] of them, or a [`DiscreteOracle`]'s minimum. [`Exhaustive`] is the slow, obvious oracle that the
//! others are tested against.
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
mod constraint;
mod error;
mod exhaustive;
mod interval;
mod model;
mod oracle;
mod propagate;
mod quadratic;
mod row;
mod search;
mod table;

pub use assignment::Assignment;
pub use check::{Check, Violation};
pub use error::{Error, Place, Term};
pub use exhaustive::Exhaustive;
pub use model::{Bqp, LARGEST_MAGNITUDE};
pub use oracle::{DiscreteOracle, Infeasible, Limits, Outcome, Solution, Status};
pub use propagate::{Conflict, Propagator};
pub use quadratic::Quadratic;
pub use row::{REAL_ROW_TOLERANCE, Row, Sense};
pub use search::{Feasibility, count, feasible};
pub use table::Table;
