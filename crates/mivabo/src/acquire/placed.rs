//! Points with their codes, and what is known of their feasibility.

use super::Feasible;
use crate::encoding::Encoded;
use crate::space::{Point, Space};

/// A point of a space with its code. Whether it is feasible was checked once, when it was made.
#[derive(Debug, Clone, PartialEq)]
pub enum Placed {
    /// It satisfies every constraint.
    Feasible(Feasible),
    /// A result from outside that does not.
    Infeasible {
        /// The point.
        point: Point,
        /// Its code.
        code: Encoded,
    },
}

impl Placed {
    /// The point in this space; none when its values do not fit there.
    pub fn of(space: &Space, point: &Point) -> Option<Placed> {
        if !space.fits(point) {
            return None;
        }
        let code = space.encoding().encode(point);
        let again = space.encoding().decode(&code.bits, &code.unit).ok()?;
        // A point whose settings are active where its own values say otherwise comes back another one.
        let actives = |point: &Point| point.settings.iter().map(Option::is_some).collect();
        let (before, after): (Vec<bool>, Vec<bool>) = (actives(point), actives(&again));
        if before != after {
            return None;
        }
        let point = point.clone();
        Some(if space.is_feasible(&point) {
            Placed::Feasible(Feasible { point, code })
        } else {
            Placed::Infeasible { point, code }
        })
    }

    /// The point.
    pub fn point(&self) -> &Point {
        match self {
            Placed::Feasible(feasible) => feasible.point(),
            Placed::Infeasible { point, .. } => point,
        }
    }

    /// Its code.
    pub fn code(&self) -> &Encoded {
        match self {
            Placed::Feasible(feasible) => feasible.code(),
            Placed::Infeasible { code, .. } => code,
        }
    }

    /// The same with its proof, where it satisfies every constraint.
    pub fn feasible(&self) -> Option<&Feasible> {
        match self {
            Placed::Feasible(feasible) => Some(feasible),
            Placed::Infeasible { .. } => None,
        }
    }
}

impl From<Feasible> for Placed {
    fn from(feasible: Feasible) -> Placed {
        Placed::Feasible(feasible)
    }
}
