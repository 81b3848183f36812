//! A space: what is known before the first evaluation, checked and ready to be searched.
//!
//! This room takes what was said by a program or a file, puts a model together and has it encoded; it makes points and
//! checks them. It knows the language and the encoding, but nothing of objectives, models of them or studies.
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
mod builder;
mod declared;
mod defaults;
mod difference;
mod error;
mod file;
mod order;
mod point;
mod said;
mod statement;
mod whole;

use std::sync::Arc;

pub use self::builder::SpaceBuilder;
pub use self::declared::Statement;
pub use self::defaults::NoDefaultPoint;
pub use self::difference::{Difference, Part, contrasted};
pub use self::error::Error;
pub use self::file::{Constraints, Definitions, Parameters, Tables};
pub use self::said::Unsaid;
use crate::encoding::Encoding;
pub use crate::language::check::{Report, Violation};
pub use crate::language::domain::{Coding, Domain};
pub use crate::language::expr::{Expr, MAX_DEPTH, Var, at_least, at_most, exactly, max, min, sum};
pub use crate::language::margin::Margin;
pub use crate::language::model::{Class, Constraint, Parameter};
pub use crate::language::parse::MAX_TEXT;
pub use crate::language::point::Point;
pub use crate::language::value::Value;
use crate::language::{check, margin};

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

    /// Evaluates every constraint at a point.
    ///
    /// ```
    /// # use mivabo::space::Space;
    /// let mut space = Space::builder();
    /// let kernel = space.integer("kernel", 1..=7);
    /// let stride = space.integer("stride", 1..=3);
    /// space.subject_to("receptive field", (kernel * stride).le(12));
    /// let space = space.build()?;
    ///
    /// let report = space.check(&space.point([("kernel", 7.into()), ("stride", 2.into())])?);
    ///
    /// assert_eq!(
    ///     report.violations[0].to_string(),
    ///     "constraint `receptive field` is violated: kernel * stride <= 12 does not hold \
    ///      (left side 14, right side 12)"
    /// );
    /// # Ok::<(), mivabo::Error>(())
    /// ```
    ///
    /// # Panics
    /// When the point [does not fit](Self::fits) this space.
    pub fn check(&self, point: &Point) -> Report {
        check::report(self.encoding.model(), point)
    }

    /// Whether no constraint is violated at a point: [`check`](Self::check) without the reasons, for searches that try many.
    ///
    /// # Panics
    /// When the point [does not fit](Self::fits) this space.
    pub fn is_feasible(&self, point: &Point) -> bool {
        check::is_feasible(self.encoding.model(), point)
    }

    /// The statements that decide the constraints at a point, in the order of the constraints.
    ///
    /// A constraint that does not apply, and one whose premise is not met, asks nothing of the point and has none. Of
    /// alternatives (`or`) the one with the most slack counts.
    ///
    /// ```
    /// # use mivabo::space::Space;
    /// let mut space = Space::builder();
    /// let kernel = space.integer("kernel", 1..=7);
    /// let stride = space.integer("stride", 1..=3);
    /// space.subject_to("receptive field", (kernel * stride).le(12));
    /// let space = space.build()?;
    ///
    /// let margins = space.margins(&space.point([("kernel", 5.into()), ("stride", 2.into())])?);
    ///
    /// assert_eq!((margins[0].statement.as_str(), margins[0].slack), ("kernel * stride <= 12", Some(2.0)));
    /// # Ok::<(), mivabo::Error>(())
    /// ```
    ///
    /// # Panics
    /// When the point [does not fit](Self::fits) this space.
    pub fn margins(&self, point: &Point) -> Vec<Margin> {
        margin::margins(self.encoding.model(), point)
    }
}
