//! The rows and tables of a whole constraint, and its class.

use super::lower::{Enforced, Lowered, enforce};
use super::mixed;
use super::part::{Context, Scope};
use crate::encoding::Error;
use crate::language::model::{Class, Constraint};

/// What enforces a constraint over the bits, and how it is classified. Parts over continuous parameters are lowered once these
/// are fixed.
pub(crate) fn enforce_all(
    context: Context<'_>,
    constraint: &Constraint,
) -> Result<Enforced, Error> {
    let mut all = Enforced {
        lowered: Lowered::default(),
        class: Class::Logic,
    };
    for part in &constraint.parts {
        let scope = Scope::new(context.model, constraint, part);
        let class = if scope.has_reals(context.model) {
            mixed::validate(context, constraint, part)?
        } else {
            let enforced = enforce(context, constraint, part)?;
            all.lowered.extend(enforced.lowered);
            enforced.class
        };
        all.class = all.class.max(class);
    }
    Ok(all)
}
