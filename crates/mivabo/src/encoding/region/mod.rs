//! The feasible continuous coordinates at fixed bits, as a subset of the unit box.
//!
//! A constraint becomes an affine row where its parameters are on linear scales and enter linearly, and otherwise a
//! smooth function with its gradient. Both only guide a search: whether a point belongs to the region is decided by
//! the expressions, as in [`Space::check`](crate::space::Space::check). MiVaBo, Sec. 3.3.

mod limit;
pub(crate) mod minimise;

use std::ops::RangeFrom;

use mivabo_bqp::interrupt;

pub(crate) use self::limit::AffineRow;
pub(crate) use self::limit::Limit;
use self::limit::{Form, UNIT, is_impossible};
use super::{Encoding, scale};
use crate::encoding::Error;
use crate::language::check;
use crate::language::claim::{Claim, RealComparison, Translator};
use crate::language::domain::{Domain, Set};
use crate::language::eval::Evaluator;
use crate::language::expr::Symbol;
use crate::language::formula::Axis;
use crate::language::model::Model;
use crate::language::point::{Point, Setting};

/// The bounds of a coordinate that is inactive, or has a single value.
const HELD: (f64, f64) = (scale::CANONICAL, scale::CANONICAL);

/// Sides of pieces are not halved below this.
const SMALLEST: f64 = 1e-6;

/// The points of the unit box that satisfy every constraint, at fixed bits.
#[derive(Debug, Clone)]
pub(crate) struct Region<'a> {
    encoding: &'a Encoding,
    /// With the reals anywhere.
    settings: Vec<Option<Setting>>,
    bounds: Vec<(f64, f64)>,
    limits: Vec<Limit>,
    /// The comparisons of the limits, each with the place of its constraint.
    comparisons: Vec<(usize, RealComparison)>,
    /// The places of constraints that hold nowhere at these bits.
    refuted: Vec<usize>,
    is_empty: bool,
}

impl<'a> Region<'a> {
    pub(super) fn new(encoding: &'a Encoding, bits: &[bool]) -> Result<Region<'a>, Error> {
        // Any values of the reals will do: conditions name discrete parameters only, so what is active does not depend on them.
        let middle = vec![scale::CANONICAL; encoding.n_reals()];
        let evaluator = encoding.evaluator(bits, &middle)?;
        let axes = axes(encoding);
        let bounds = encoding.reals.iter().map(|p| {
            let is_active = evaluator.is_active(Symbol::Parameter(*p));
            let is_free = is_active && axes[*p].is_some_and(|axis| axis.length > 0.0);
            if is_free { UNIT } else { HELD }
        });
        let mut region = Region {
            encoding,
            settings: vec![],
            bounds: bounds.collect(),
            limits: vec![],
            comparisons: vec![],
            refuted: vec![],
            is_empty: false,
        };
        region.translate(&encoding.model, &evaluator, &axes);
        // Only now: until here the evaluator was asked.
        region.settings = evaluator.into_point().settings;
        Ok(region)
    }

    /// Whether it is proved that no point belongs to the region. Where it is not, the region may still be empty.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Whether it is proved that no point belongs to the region, by halving the box up to `boxes` times: in each piece a
    /// comparison of a constraint that `counts` is out of reach. Constraints go by their place in the space.
    pub(crate) fn is_proved_empty(
        &self,
        counts: &dyn Fn(usize) -> bool,
        boxes: &mut usize,
    ) -> bool {
        if self.refuted.iter().any(|c| counts(*c)) {
            return true;
        }
        let mut open = vec![self.bounds.clone()];
        while let Some(piece) = open.pop() {
            interrupt::check();
            let mut counted = self.comparisons.iter().filter(|(c, _)| counts(*c));
            if counted.any(|(_, comparison)| is_impossible(comparison, &piece)) {
                continue;
            }
            // A piece that cannot be halved further may hold a point.
            let Some(widest) = widest(&piece).filter(|_| *boxes > 0) else {
                return false;
            };
            *boxes -= 1;
            open.extend(halves(&piece, widest));
        }
        true
    }

    /// Whether it is proved that no point of a part of the unit box belongs to the region, by the ranges of both sides of
    /// every constraint over the part. `within` has one range for each coordinate.
    pub(crate) fn misses(&self, within: &[(f64, f64)]) -> bool {
        self.is_empty || self.limits.iter().any(|limit| limit.is_impossible(within))
    }

    /// Whether the point that `x` decodes to satisfies every constraint: the same test as
    /// [`Space::check`](crate::space::Space::check).
    pub fn contains(&self, x: &[f64]) -> bool {
        // Decoded as a suggestion would be: rounded to short decimals, it may fail where `x` itself does not.
        !self.is_empty
            && self.is_in_box(x)
            && check::is_feasible(&self.encoding.model, &self.point(x))
    }

    fn is_in_box(&self, x: &[f64]) -> bool {
        x.len() == self.bounds.len() && x.iter().all(|x| (0.0..=1.0).contains(x))
    }

    fn real(&self, p: usize, u: f64) -> Setting {
        let domain = &self.encoding.model.parameters[p].domain;
        Setting::Real(scale::from_unit(domain, u))
    }

    /// The point at these coordinates.
    fn point(&self, x: &[f64]) -> Point {
        let mut settings = self.settings.clone();
        for (p, x) in self.encoding.reals.iter().zip(x) {
            // Whether it is active does not depend on the reals.
            settings[*p] = settings[*p].map(|_| self.real(*p, *x));
        }
        Point { settings }
    }

    /// The coordinates after a round trip through the decimals of a point; 0.5 for what is inactive.
    pub fn canonical(&self, x: &[f64]) -> Vec<f64> {
        let reals = self.encoding.reals.iter().zip(x).zip(&self.bounds);
        let canonical = reals.map(|((p, x), (low, high))| {
            if low < high {
                canonical(&self.encoding.model.parameters[*p].domain, *x)
            } else {
                *low
            }
        });
        canonical.collect()
    }

    /// The affine constraints, each with what a point of the region may fail it by.
    pub(crate) fn rows_and_slacks(&self) -> impl Iterator<Item = (&AffineRow, f64)> {
        self.limits.iter().filter_map(|limit| match &limit.form {
            Form::Affine(row) => Some((row, limit.slack)),
            Form::Smooth(..) => None,
        })
    }

    /// [0, 1], or a single value for a coordinate that is held.
    pub fn bounds(&self) -> &[(f64, f64)] {
        &self.bounds
    }

    pub(crate) fn limits(&self) -> &[Limit] {
        &self.limits
    }

    fn translate(&mut self, model: &Model, evaluator: &Evaluator<'_>, axes: &[Option<Axis>]) {
        let translator = Translator {
            model,
            evaluator,
            axes,
        };
        let unit = vec![UNIT; self.bounds.len()];
        for (c, constraint) in model.constraints.iter().enumerate() {
            if evaluator.applies(constraint) {
                self.add(c, translator.claim(&constraint.expr, true), &unit);
            }
        }
        self.is_empty |= self.limits.iter().any(|limit| limit.is_impossible(&unit));
    }

    /// Adds what constraint number `c` asks of the reals.
    fn add(&mut self, c: usize, claim: Claim, unit: &[(f64, f64)]) {
        self.is_empty |= claim.is_false;
        self.refuted.extend(claim.is_false.then_some(c));

        for comparison in claim.comparisons {
            self.is_empty |= is_impossible(&comparison, unit);
            self.comparisons.push((c, comparison.clone()));
            self.limits.extend(Limit::new(comparison, unit.len()));
        }
    }
}

/// The side of a piece that is worth halving.
fn widest(piece: &[(f64, f64)]) -> Option<usize> {
    let width = |k: usize| piece[k].1 - piece[k].0;
    let widest = (0..piece.len()).max_by(|i, j| width(*i).total_cmp(&width(*j)))?;
    (width(widest) > SMALLEST).then_some(widest)
}

/// The upper half, and the lower one.
fn halves(piece: &[(f64, f64)], side: usize) -> [Vec<(f64, f64)>; 2] {
    let (low, high) = piece[side];
    let middle = 0.5 * (low + high);
    [(middle, high), (low, middle)].map(|half| {
        let mut part = piece.to_vec();
        part[side] = half;
        part
    })
}

/// By parameter, how a continuous one follows from its coordinate.
fn axes(encoding: &Encoding) -> Vec<Option<Axis>> {
    let mut coordinates = 0..;
    let parameters = encoding.model.parameters.iter();
    parameters
        .map(|parameter| axis(&parameter.domain, &mut coordinates))
        .collect()
}

/// The axis of a continuous parameter, which takes the next coordinate.
fn axis(domain: &Domain, coordinates: &mut RangeFrom<usize>) -> Option<Axis> {
    let (start, end) = match domain.set {
        Set::Float { low, high } if domain.log => (low.ln(), high.ln()),
        Set::Float { low, high } => (low, high),
        _ => return None,
    };
    Some(Axis {
        coordinate: coordinates.next()?,
        start,
        length: end - start,
        log: domain.log,
    })
}

/// A coordinate as it comes back from the short decimal that it stands for.
fn canonical(domain: &Domain, u: f64) -> f64 {
    scale::to_unit(domain, scale::from_unit(domain, u))
}
