//! What the user says: parameters, conditions, definitions and constraints, exactly represented.
//!
//! A [`Space`] is made by a [`SpaceBuilder`], from TOML or from JSON, and is always valid: every name is known,
//! every type fits, every constraint can be enforced, and no contradiction was found. The meaning of a constraint
//! is that of its expression ([`Space::check`]); the rows and tables of the [`Encoding`] are tested against it.
//!
//! ```
//! use mivabo::space::{Domain, Space};
//!
//! let mut space = Space::builder();
//! let kernel = space.add("kernel", Domain::int(1, 7).step(2));
//! let stride = space.integer("stride", 1..=3);
//! let optimizer = space.add("optimizer", Domain::choice(["sgd", "adam"]));
//! space.subject_to("receptive field", (kernel * stride).le(12));
//! space.subject_to("adam likes small strides", optimizer.eq("adam").implies(stride.le(2)));
//! let space = space.build()?;
//!
//! let same = Space::from_toml(r#"
//!     [parameters]
//!     kernel    = { type = "int", low = 1, high = 7, step = 2 }
//!     stride    = { type = "int", low = 1, high = 3 }
//!     optimizer = { type = "choice", values = ["sgd", "adam"] }
//!     [constraints]
//!     "receptive field"          = "kernel * stride <= 12"
//!     "adam likes small strides" = "optimizer == 'adam' -> stride <= 2"
//! "#)?;
//! assert_eq!(space.fingerprint(), same.fingerprint());
//! # Ok::<(), mivabo::Error>(())
//! ```

pub(crate) mod assemble;
pub(crate) mod bounds;
mod builder;
pub(crate) mod check;
mod display;
pub(crate) mod domain;
pub(crate) mod eval;
pub(crate) mod expr;
mod file;
pub(crate) mod gradient;
pub(crate) mod interval;
mod lex;
mod margin;
pub(crate) mod model;
pub(crate) mod normal;
pub(crate) mod number;
mod parse;
pub(crate) mod point;
pub(crate) mod polynomial;
mod resolve;
mod value;

use std::sync::Arc;

pub use self::builder::{SpaceBuilder, Statement};
pub use self::check::{Report, Violation};
pub use self::domain::{Coding, Domain, MAX_VALUES};
pub use self::expr::{Expr, MAX_DEPTH, Var, at_least, at_most, exactly, max, min, sum};
pub use self::margin::Margin;
pub use self::model::{Class, Constraint, Parameter};
pub use self::number::TOLERANCE;
pub use self::parse::MAX_TEXT;
pub use self::point::Point;
pub use self::value::Value;
use crate::encoding::Encoding;

/// Parameters and the constraints between them. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Space {
    encoding: Arc<Encoding>,
}

impl Space {
    /// Starts an empty space.
    pub fn builder() -> SpaceBuilder {
        SpaceBuilder::default()
    }

    fn new(encoding: Encoding) -> Space {
        Space {
            encoding: Arc::new(encoding),
        }
    }

    /// All parameters, in order.
    pub fn parameters(&self) -> &[Parameter] {
        &self.encoding.model().parameters
    }

    /// All constraints: those that were said, in order, then those that follow from definitions.
    pub fn constraints(&self) -> &[Constraint] {
        &self.encoding.model().constraints
    }

    /// The space as bits and the unit box.
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }
}
