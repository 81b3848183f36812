//! The point of all defaults: what a user would try first.

use super::point::Rule;
use super::{Point, Space};
use crate::language::check::Violation;
use crate::language::error::PointError;

/// Why a study does not begin with the point of all defaults.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoDefaultPoint {
    /// An active parameter has none.
    #[error("the defaults are not tried first: parameter `{name}` has no default")]
    Missing {
        /// The parameter.
        name: String,
    },
    /// It breaks a rule.
    #[error("the defaults are not tried first: {violation}")]
    Violated {
        /// The first rule that it breaks.
        violation: Violation,
    },
    /// Auxiliary integers that would go with it cannot be found.
    #[error("the defaults are not tried first: {0}")]
    Auxiliary(PointError),
}

impl Space {
    /// The point of all defaults, which is feasible, or why there is none. Nothing where no parameter has a default.
    ///
    /// Every parameter that is active there needs one; auxiliary integers are searched for.
    ///
    /// ```
    /// # use mivabo::space::Space;
    /// let space = Space::from_toml("
    ///     [parameters]
    ///     n = { type = 'int', low = 1, high = 9, default = 5 }
    ///     m = { type = 'int', low = 1, high = 3, when = 'n >= 6' }
    ///     [constraints]
    ///     small = 'n <= 3'")?;
    ///
    /// let why = space.default_point().and_then(Result::err);
    ///
    /// assert_eq!(
    ///     why.map(|why| why.to_string()).as_deref(),
    ///     Some("the defaults are not tried first: constraint `small` is violated: n <= 3 does not hold \
    ///           (left side 5, right side 3)")
    /// );
    /// # Ok::<(), mivabo::Error>(())
    /// ```
    pub fn default_point(&self) -> Option<Result<Point, NoDefaultPoint>> {
        let mut parameters = self.parameters().iter();
        let has_default = parameters.any(|one| one.domain().default_value().is_some());
        has_default.then(|| self.point_of_defaults())
    }

    fn point_of_defaults(&self) -> Result<Point, NoDefaultPoint> {
        let nothing = vec![None; self.parameters().len()];
        let point = match self.complete(&nothing, Rule::LENIENT) {
            Ok(point) => point,
            Err(PointError::Missing { name, .. }) => return Err(NoDefaultPoint::Missing { name }),
            Err(other) => return Err(NoDefaultPoint::Auxiliary(other)),
        };
        match self.check(&point).violations.into_iter().next() {
            Some(violation) => Err(NoDefaultPoint::Violated { violation }),
            None => Ok(point),
        }
    }
}
