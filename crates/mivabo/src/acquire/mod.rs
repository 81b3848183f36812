//! Feasible points: how they are drawn, moved, repaired and searched, whatever for.
//!
//! | module | what it does |
//! |---|---|
//! | `placed` | a point with its code, and the proof that it is feasible |
//! | [`random`] | draws feasible points |
//! | `walk`, `proof` | looks for a point where drawing finds none, and proves that there is none |
//! | `moves` | changes feasible points into others |
//! | `untried`, `tried` | finds a feasible point that was not tried before |
//! | `nearest`, `distance`, `bits` | finds the feasible point nearest to a wish, and the bits |
//! | `annealing` | minimises any function over feasible points |
//!
//! Whatever the search, it hands on [`Feasible`] points only, and those are made in one place, by the check of the
//! expressions themselves ([`Space::check`]), not of the rows and tables that the search works with.

pub(crate) mod annealing;
mod bits;
mod distance;
mod error;
pub(crate) mod moves;
mod nearest;
mod placed;
mod proof;
pub mod random;
#[cfg(test)]
mod tests;
pub(crate) mod tried;
pub(crate) mod untried;
mod walk;

pub(crate) use self::distance::distance;
pub use self::error::Error;
pub use self::placed::{CodedPoint, Feasible, Placed};
use crate::language::domain::Set;
use crate::space::{Class, Parameter, Point, Space};

/// The lowest feasible point that a search found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lowest {
    /// The point.
    pub feasible: Feasible,
    /// The function there, in the model's units.
    pub value: f64,
}

/// Whether a constraint speaks of reals.
pub(crate) fn is_mixed(space: &Space) -> bool {
    let mut constraints = space.constraints().iter();
    constraints.any(|constraint| constraint.class() >= Class::LinearContinuous)
}

/// For each coordinate whether it may move at this point: the parameter is active and has more than one value.
pub(crate) fn free_reals(space: &Space, point: &Point) -> Vec<bool> {
    let parameters = space.parameters().iter().zip(&point.settings);
    let free = parameters.filter_map(|(parameter, setting)| {
        let is_free = has_room(parameter)?;
        Some(setting.is_some() && is_free)
    });
    free.collect()
}

/// Whether a continuous parameter has more than one value; none for a discrete one.
pub(crate) fn has_room(parameter: &Parameter) -> Option<bool> {
    match parameter.domain().set {
        Set::Float { low, high } => Some(low < high),
        _ => None,
    }
}

/// All patterns of `n` bits, at most 31, by the numbers that they stand for.
pub(crate) fn all_bits(n: usize) -> impl Iterator<Item = Vec<bool>> {
    (0..1_u32 << n).map(move |number| (0..n).map(|k| number >> k & 1 == 1).collect())
}
