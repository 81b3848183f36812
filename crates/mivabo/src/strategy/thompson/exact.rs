//! The exact minimum of a drawn function, by enumeration of the bits, for small spaces. Prop. 1 of the paper asks for an exact
//! argmin; the other searches are measured against this one.
//!
//! ```text
//! min over bits of { min over reals of (Wᵀa)ᵀ b̃(reals) }
//! ```
//!
//! Every feasible pattern of bits whose region is not known to be empty gets a cheap bound, by a few boxes of the certified
//! search over all reals (`Landscape::minimise`). Patterns are then searched to the end over their regions
//! (`Landscape::minimise_in`), the least bound first, until the next bound is above the best value: the rest cannot hold
//! the minimum.

use mivabo_bqp::{Assignment, Bqp, Propagator};

use crate::acquire::{Error, Feasible, Lowest};
use crate::encoding::Encoded;
use crate::encoding::region::Region;
use crate::features::{Waves, Weights};
use crate::space::Space;
use crate::strategy::thompson::global::{BoxLimits, Certified, Landscape};

/// How large a problem may be, and how well it is solved.
///
/// | field | default | what it does |
/// |---|---|---|
/// | `patterns` | 16,384 | the most feasible patterns of bits |
/// | `boxes` | 20,000 | the most boxes that are halved for one pattern |
/// | `gap` | 1e-6 | value - bound, relative to max(1, \|value\|), at which a pattern is done |
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ExactSettings {
    /// The most feasible patterns of bits.
    pub patterns: usize,
    /// The most boxes for one pattern.
    pub boxes: usize,
    /// The gap at which a pattern is done.
    pub gap: f64,
}

impl Default for ExactSettings {
    fn default() -> Self {
        ExactSettings {
            patterns: 1 << 14,
            boxes: 20_000,
            gap: 1e-6,
        }
    }
}

/// What the enumeration says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ExactOutcome {
    /// A feasible point, and a bound.
    Found(Exact),
    /// No feasible point was found. None has a value below the bound, which is infinite when it is proved that there is
    /// none.
    NoPoint {
        /// No feasible point has a value below this.
        bound: f64,
    },
    /// There are more feasible patterns of bits than the settings allow, or they are too rare to list.
    TooManyPatterns,
}

/// The best point, and what is proved about it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Exact {
    /// The point.
    pub feasible: Feasible,
    /// The function there, in the model's units.
    pub value: f64,
    /// No feasible point has a value below this; never above `value`.
    pub bound: f64,
    /// Feasible patterns of bits.
    pub n_patterns: usize,
    /// Patterns that their first bound did not exclude.
    pub n_searched: usize,
}

/// Boxes of the first bound, and evaluations of DIRECT where a pattern comes with constraints.
const FIRST_BOXES: usize = 8;
const DIRECT: usize = 200;

/// Partial assignments that are looked at for each pattern that is allowed.
const NODES: usize = 64;

/// Whether a space is small enough.
///
/// # Errors
/// [`Error::TooManyPatterns`] when it is not.
pub(crate) fn check_size(space: &Space, settings: ExactSettings) -> Result<(), Error> {
    let limit = settings.patterns;
    patterns(space.encoding().problem(), limit)
        .map(drop)
        .ok_or(Error::TooManyPatterns { limit })
}

/// The lowest feasible point of `weights`, by enumeration of the bits.
///
/// # Errors
/// [`Error::Encoding`] when bits that satisfy every row and table stand for no value, which no valid space has.
///
/// # Panics
/// When the weights belong to a space with more bits.
pub(crate) fn minimise(
    space: &Space,
    weights: &Weights,
    settings: ExactSettings,
) -> Result<ExactOutcome, Error> {
    let Some(patterns) = patterns(space.encoding().problem(), settings.patterns) else {
        return Ok(ExactOutcome::TooManyPatterns);
    };
    let n_patterns = patterns.len();
    let search = Search {
        space,
        weights,
        settings,
        slack: rounding(weights),
    };
    let Verdict {
        lowest,
        bound,
        n_searched,
    } = search.all(patterns)?;
    let Some(Lowest { feasible, value }) = lowest else {
        return Ok(ExactOutcome::NoPoint { bound });
    };
    Ok(ExactOutcome::Found(Exact {
        feasible,
        value,
        bound: bound.min(value),
        n_patterns,
        n_searched,
    }))
}

struct Search<'a> {
    space: &'a Space,
    weights: &'a Weights,
    settings: ExactSettings,
    /// What rounding may change in a value of f.
    slack: f64,
}

/// A pattern of bits, and a bound on its values.
struct Bounded {
    bits: Vec<bool>,
    bound: f64,
}

/// What was found among some points, and what is proved of all of them.
struct Verdict {
    lowest: Option<Lowest>,
    bound: f64,
    /// How many patterns were searched to the end.
    n_searched: usize,
}

impl Search<'_> {
    fn all(&self, patterns: Vec<Vec<bool>>) -> Result<Verdict, Error> {
        let mut lowest: Option<Lowest> = None;
        let (mut bound, mut n_searched) = (f64::INFINITY, 0);
        for pattern in self.in_order(patterns)? {
            let value = lowest.as_ref().map_or(f64::INFINITY, |lowest| lowest.value);
            if pattern.bound >= value {
                // All that come later have greater bounds.
                bound = bound.min(pattern.bound);
                break;
            }
            n_searched += 1;
            let found = self.pattern(&pattern.bits, value)?;
            bound = bound.min(found.bound.max(pattern.bound));
            lowest = found.lowest.filter(|found| found.value < value).or(lowest);
        }
        Ok(Verdict {
            lowest,
            bound,
            n_searched,
        })
    }

    /// The least first bound first.
    fn in_order(&self, patterns: Vec<Vec<bool>>) -> Result<Vec<Bounded>, Error> {
        let bounded = patterns.into_iter().map(|bits| self.bounded(bits));
        let mut order = bounded.collect::<Result<Vec<Bounded>, Error>>()?;
        order.sort_by(|one, other| one.bound.total_cmp(&other.bound));
        Ok(order)
    }

    fn bounded(&self, bits: Vec<bool>) -> Result<Bounded, Error> {
        let bound = self.first_bound(&bits)?;
        Ok(Bounded { bits, bound })
    }

    fn first_bound(&self, bits: &[bool]) -> Result<f64, Error> {
        let region = self.space.encoding().given_bits(bits)?;
        if region.is_empty() {
            return Ok(f64::INFINITY);
        }
        let sum = self.weights.given_bits(bits);
        let limits = BoxLimits {
            boxes: FIRST_BOXES,
            gap: self.settings.gap,
            cutoff: f64::INFINITY,
        };
        // Over the box: points are not needed yet, and finding them is what costs.
        let over_box = Landscape::new(&sum).minimise(region.bounds(), limits);
        Ok(over_box.bound - self.slack)
    }

    /// The best point with these bits, and a bound on all of them that matters up to `value`.
    fn pattern(&self, bits: &[bool], value: f64) -> Result<Verdict, Error> {
        let region = self.space.encoding().given_bits(bits)?;
        let sum = self.weights.given_bits(bits);
        let landscape = Landscape::new(&sum);
        let direct = self.by_direct(&region, &landscape, bits);
        let known = direct.as_ref().map_or(f64::INFINITY, |direct| direct.value);
        let limits = BoxLimits {
            boxes: self.settings.boxes,
            gap: self.settings.gap,
            cutoff: known.min(value),
        };
        let Certified { x, bound, .. } = landscape.minimise_in(&region, limits);
        let found = [direct, self.at(bits, &x)].into_iter().flatten();
        Ok(Verdict {
            lowest: found.min_by(|one, other| one.value.total_cmp(&other.value)),
            bound: bound - self.slack,
            n_searched: 1,
        })
    }

    /// Where constraints leave little, the middles of boxes may all be outside.
    fn by_direct(
        &self,
        region: &Region<'_>,
        landscape: &Landscape<'_>,
        bits: &[bool],
    ) -> Option<Lowest> {
        if region.limits().is_empty() {
            return None;
        }
        let found = region.minimise_direct(landscape, DIRECT)?;
        self.at(bits, &found.x)
    }

    fn at(&self, bits: &[bool], unit: &[f64]) -> Option<Lowest> {
        let feasible = Feasible::of_code(self.space, bits, unit)?;
        // Not the value that the search had: the code of the point may be another one than that which was asked for.
        let Encoded { bits, unit } = feasible.code();
        let value = self.weights.value(bits, unit);
        Some(Lowest { feasible, value })
    }
}

/// By how much two ways to sum f(x) may differ: ε · 4(M_d + M_c + 8) · Σ |Wᵢⱼ| αⱼ.
pub(super) fn rounding(weights: &Weights) -> f64 {
    let features = weights.features();
    let columns = features.n_columns();
    let amplitude = |column: usize| amplitude(features.waves(), column);
    let matrix = weights.matrix().iter().enumerate();
    let size: f64 = matrix
        .map(|(at, w)| w.abs() * amplitude(at % columns))
        .sum();
    4.0 * f64::EPSILON * (features.monomials().len() + columns + 8) as f64 * size
}

/// All feasible points in lexicographic order; none when there are more than `most`, or the search for them is long.
fn patterns(problem: &Bqp, most: usize) -> Option<Vec<Vec<bool>>> {
    let propagator = Propagator::new(problem);
    let mut root = Assignment::new(problem.n());
    let mut found = Vec::new();
    if propagator.propagate_all(&mut root).is_err() {
        return Some(found);
    }
    let mut open = vec![root];
    let mut nodes_left = most.max(1).saturating_mul(NODES);
    while let Some(assignment) = open.pop() {
        nodes_left = nodes_left.checked_sub(1)?;
        if let Some(bit) = (0..problem.n()).find(|bit| assignment.is_free(*bit)) {
            open.extend(children(&propagator, &assignment, bit));
            continue;
        }
        let point = assignment.to_point();
        // Propagation excludes much, but does not decide.
        if problem.is_feasible(&point) {
            found.push(point);
        }
        if found.len() > most {
            return None;
        }
    }
    Some(found)
}

/// The size of what a column of W is multiplied with; the first has no wave.
fn amplitude(waves: &Waves, column: usize) -> f64 {
    match column.checked_sub(1) {
        Some(j) => waves.amplitude(j),
        None => 1.0,
    }
}

/// The assignment with either value of a bit, where propagation does not refute it. The one to look at first comes last.
fn children<'a>(
    propagator: &'a Propagator<'a>,
    assignment: &'a Assignment,
    bit: usize,
) -> impl Iterator<Item = Assignment> + 'a {
    let values = [true, false].into_iter();
    values.filter_map(move |value| propagator.child(assignment, bit, value))
}

#[cfg(test)]
pub(super) mod tests;
