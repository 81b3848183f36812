//! Feasible points: how they are drawn, moved, repaired and searched, whatever for.
//!
//! Whatever the search, it hands on [`Feasible`] points only, and those are made in one place, by the check of the
//! expressions themselves ([`Space::check`]), not of the rows and tables that the search works with.

pub mod annealing;
mod error;
pub(crate) mod moves;
pub mod nearest;
mod placed;
pub mod random;
#[cfg(test)]
mod tests;
pub(crate) mod untried;

pub use self::error::Error;
pub use self::placed::Placed;
use mivabo_bqp::interrupt;

use crate::encoding::Encoded;
use crate::language::domain::Set;
use crate::language::point::Setting;
use crate::space::{Class, Point, Report, Space};

/// A point that satisfies every constraint, and its code.
#[derive(Debug, Clone, PartialEq)]
pub struct Feasible {
    point: Point,
    code: Encoded,
}

impl Feasible {
    /// The point, if no constraint is violated.
    ///
    /// # Errors
    /// What is violated.
    ///
    /// # Panics
    /// When the point belongs to another space.
    pub fn of_point(space: &Space, point: Point) -> Result<Feasible, Report> {
        let report = space.check(&point);
        if !report.is_feasible() {
            return Err(report);
        }
        let code = space.encoding().encode(&point);
        Ok(Feasible { point, code })
    }

    /// The point of a code, if the code has one and no constraint is violated there. Its own code is the canonical one:
    /// inactive parameters have their canonical bits and coordinates.
    pub fn of_code(space: &Space, bits: &[bool], unit: &[f64]) -> Option<Feasible> {
        // Searches that draw points, or change them, pass here with each of them.
        interrupt::check();
        let encoding = space.encoding();
        let evaluator = encoding.evaluator(bits, unit).ok()?;
        if !evaluator.all_hold() {
            return None;
        }
        let point = evaluator.into_point();
        Some(Feasible {
            code: encoding.encode(&point),
            point,
        })
    }

    /// The point.
    pub fn point(&self) -> &Point {
        &self.point
    }

    /// Its code.
    pub fn code(&self) -> &Encoded {
        &self.code
    }
}

/// Where a search ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Lowest {
    /// The point.
    pub feasible: Feasible,
    /// The function there, in the model's units.
    pub value: f64,
}

/// Whether a constraint speaks of reals.
pub(crate) fn is_mixed(space: &Space) -> bool {
    space
        .constraints()
        .iter()
        .any(|c| c.class() >= Class::LinearContinuous)
}

/// For each coordinate whether it may move at this point: the parameter is active and has more than one value.
pub(crate) fn free_reals(space: &Space, point: &Point) -> Vec<bool> {
    let parameters = space.parameters().iter().zip(&point.settings);
    let free = parameters.filter_map(|(parameter, setting)| match parameter.domain().set {
        Set::Float { low, high } => Some(setting.is_some() && low < high),
        _ => None,
    });
    free.collect()
}

/// How far two points are from each other: the sum over parameters of a squared difference in [0, 1]. Values of an
/// unordered parameter differ by 1, and so do an active and an inactive one.
pub(crate) fn distance(
    space: &Space,
    (a, x): (&Point, &Encoded),
    (b, y): (&Point, &Encoded),
) -> f64 {
    let reals: f64 = x
        .unit
        .iter()
        .zip(&y.unit)
        .map(|(x, y)| (x - y) * (x - y))
        .sum();
    let settings = space
        .parameters()
        .iter()
        .zip(a.settings.iter().zip(&b.settings));
    let discrete = settings
        .filter(|(parameter, _)| !parameter.is_auxiliary())
        .map(|(parameter, pair)| {
            let domain = parameter.domain();
            match pair {
                (Some(Setting::Index(i)), Some(Setting::Index(j))) if domain.is_ordered() => {
                    let range = domain
                        .size()
                        .map_or(1, |size| size.saturating_sub(1).max(1));
                    (i.abs_diff(*j) as f64 / range as f64).powi(2)
                }
                (Some(Setting::Real(_)), Some(Setting::Real(_))) => 0.0,
                (a, b) => f64::from(u8::from(a != b)),
            }
        });
    reals + discrete.sum::<f64>()
}
