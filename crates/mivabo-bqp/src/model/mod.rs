//! The problem as data: what is minimised, rows, tables, and whether a point satisfies them.

mod error;
#[cfg(feature = "json")]
mod instances;
mod problem;
mod quadratic;
#[cfg(feature = "json")]
mod read_error;
mod row;
mod supports;
mod table;

pub use error::{Error, ProblemPart, Term};
#[cfg(feature = "json")]
pub use instances::{Instance, read_instance};
pub use problem::Bqp;
pub use quadratic::Quadratic;
pub(crate) use quadratic::{Role, place_of, rising};
#[cfg(feature = "json")]
pub use read_error::{InstancePart, ReadError};
pub use row::{Row, RowRelation};
pub(crate) use supports::{Common, Fixed};
pub use table::Table;
