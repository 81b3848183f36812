//! Points with their codes, and what is known of their feasibility.

use mivabo_bqp::interrupt;

use crate::encoding::Encoded;
use crate::space::{Point, Report, Space};

/// A point and its code.
#[derive(Debug, Clone, PartialEq)]
pub struct CodedPoint {
    point: Point,
    code: Encoded,
}

impl CodedPoint {
    /// Encodes a point of this space, feasible or not.
    pub(super) fn of(space: &Space, point: Point) -> CodedPoint {
        let code = space.encoding().encode(&point);
        CodedPoint { point, code }
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

/// A point that satisfies every constraint, and its code.
#[derive(Debug, Clone, PartialEq)]
pub struct Feasible(CodedPoint);

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
        if report.is_feasible() {
            Ok(Feasible(CodedPoint::of(space, point)))
        } else {
            Err(report)
        }
    }

    /// The point of a code, if the code has one and no constraint is violated there. Its own code is the canonical one:
    /// inactive parameters have their canonical bits and coordinates.
    pub fn of_code(space: &Space, bits: &[bool], unit: &[f64]) -> Option<Feasible> {
        // Every search passes here with each point that it draws or changes, so this is where it can be interrupted.
        interrupt::check();
        let evaluator = space.encoding().evaluator(bits, unit).ok()?;
        if !evaluator.all_hold() {
            return None;
        }
        // Encoded anew, not taken over: `bits` and `unit` may have any values where parameters are inactive.
        Some(Feasible(CodedPoint::of(space, evaluator.into_point())))
    }

    /// The point and its code.
    pub fn coded(&self) -> &CodedPoint {
        &self.0
    }

    /// The point.
    pub fn point(&self) -> &Point {
        self.0.point()
    }

    /// Its code.
    pub fn code(&self) -> &Encoded {
        self.0.code()
    }
}

/// A point of a space with its code. Whether it is feasible was checked once, when it was made.
#[derive(Debug, Clone, PartialEq)]
pub enum Placed {
    /// It satisfies every constraint.
    Feasible(Feasible),
    /// A result from outside that does not.
    Infeasible(CodedPoint),
}

impl Placed {
    /// The point in this space; none when its values do not fit there.
    pub fn of(space: &Space, point: &Point) -> Option<Placed> {
        if !space.fits(point) {
            return None;
        }
        let coded = CodedPoint::of(space, point.clone());
        let Encoded { bits, unit } = coded.code();
        let again = space.encoding().decode(bits, unit).ok()?;
        // A point whose settings are active where its own values say otherwise comes back as another one.
        if !actives(point).eq(actives(&again)) {
            return None;
        }
        Some(if space.is_feasible(point) {
            Placed::Feasible(Feasible(coded))
        } else {
            Placed::Infeasible(coded)
        })
    }

    /// The point and its code.
    pub fn coded(&self) -> &CodedPoint {
        match self {
            Placed::Feasible(feasible) => feasible.coded(),
            Placed::Infeasible(coded) => coded,
        }
    }

    /// The point.
    pub fn point(&self) -> &Point {
        self.coded().point()
    }

    /// Its code.
    pub fn code(&self) -> &Encoded {
        self.coded().code()
    }

    /// The same with its proof, where it satisfies every constraint.
    pub fn feasible(&self) -> Option<&Feasible> {
        match self {
            Placed::Feasible(feasible) => Some(feasible),
            Placed::Infeasible(_) => None,
        }
    }
}

impl From<Feasible> for Placed {
    fn from(feasible: Feasible) -> Placed {
        Placed::Feasible(feasible)
    }
}

/// For each parameter whether it is active.
fn actives(point: &Point) -> impl Iterator<Item = bool> + '_ {
    point.settings.iter().map(Option::is_some)
}
