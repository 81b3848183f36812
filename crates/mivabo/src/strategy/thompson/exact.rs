//! Exact argmin by enumeration: weights of a small problem enter, a feasible point leaves with a bound on how far it may be
//! from the best. Prop. 1 of the paper asks for an exact argmin; the other searches are measured against this one.
//!
//! ```text
//! min over bits of { min over reals of (Wᵀa)ᵀ b̃(reals) }
//! ```
//!
//! Every feasible pattern of bits whose region is not known to be empty gets a cheap bound, by a few boxes of the certified
//! search over all reals ([`Landscape::minimise`]). Patterns are then searched to the end over their regions
//! ([`Landscape::minimise_in`]), the least bound first, until the next bound is above the best value: the rest cannot hold
//! the minimum.

use mivabo_bqp::{Assignment, Bqp, Propagator};

use crate::acquire::Error;
use crate::acquire::Feasible;
use crate::encoding::region::Region;
use crate::features::Weights;
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
pub struct ExactSettings {
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
pub enum ExactOutcome {
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
pub struct Exact {
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

/// Whether a space is small enough.
///
/// # Errors
/// [`Error::TooManyPatterns`] when it is not.
pub fn check_size(space: &Space, settings: ExactSettings) -> Result<(), Error> {
    let limit = settings.patterns;
    patterns(space.encoding().problem(), limit)
        .map(drop)
        .ok_or(Error::TooManyPatterns { limit })
}

/// The lowest feasible point of `weights`, by enumeration of the bits.
///
/// # Errors
/// [`Error::BadCode`] when bits that satisfy every row and table stand for no value, which no valid space has.
///
/// # Panics
/// When the weights belong to a space with more bits.
pub fn minimise(
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
    let mut order: Vec<(f64, Vec<bool>)> = Vec::with_capacity(n_patterns);
    for bits in patterns {
        let bound = search.first_bound(&bits)?;
        order.push((bound, bits));
    }
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut best: Option<(Feasible, f64)> = None;
    let (mut bound, mut n_searched) = (f64::INFINITY, 0);
    for (first, bits) in &order {
        let value = best.as_ref().map_or(f64::INFINITY, |best| best.1);
        if *first >= value {
            bound = bound.min(*first);
            break;
        }
        n_searched += 1;
        let (found, proved) = search.pattern(bits, value)?;
        bound = bound.min(proved.max(*first));
        best = found.filter(|found| found.1 < value).or(best);
    }
    Ok(match best {
        Some((feasible, value)) => ExactOutcome::Found(Exact {
            feasible,
            value,
            bound: bound.min(value),
            n_patterns,
            n_searched,
        }),
        None => ExactOutcome::NoPoint { bound },
    })
}

struct Search<'a> {
    space: &'a Space,
    weights: &'a Weights,
    settings: ExactSettings,
    /// What rounding may change in a value of f.
    slack: f64,
}

impl Search<'_> {
    fn first_bound(&self, bits: &[bool]) -> Result<f64, Error> {
        let region = self.space.encoding().given_bits(bits)?;
        if region.is_empty() {
            return Ok(f64::INFINITY);
        }
        let sum = self.weights.given_bits(bits);
        let landscape = Landscape::new(&sum);
        // Over the box: points are not needed yet, and finding them is what costs.
        let limits = BoxLimits {
            boxes: FIRST_BOXES,
            gap: self.settings.gap,
            cutoff: f64::INFINITY,
        };
        Ok(landscape.minimise(region.bounds(), limits).bound - self.slack)
    }

    /// The best point with these bits if it is below `value`, and a bound on all of them.
    fn pattern(&self, bits: &[bool], value: f64) -> Result<(Option<(Feasible, f64)>, f64), Error> {
        let region = self.space.encoding().given_bits(bits)?;
        let sum = self.weights.given_bits(bits);
        let landscape = Landscape::new(&sum);
        let direct = self.by_direct(&region, &landscape, bits);
        let known = direct.as_ref().map_or(value, |direct| direct.1.min(value));
        let limits = BoxLimits {
            boxes: self.settings.boxes,
            gap: self.settings.gap,
            cutoff: known,
        };
        let Certified { x, bound, .. } = landscape.minimise_in(&region, limits);
        let found = self.at(bits, &x);
        let best = [direct, found]
            .into_iter()
            .flatten()
            .min_by(|a, b| a.1.total_cmp(&b.1));
        Ok((best, bound - self.slack))
    }

    /// Where constraints leave little, the middles of boxes may all be outside.
    fn by_direct(
        &self,
        region: &Region<'_>,
        landscape: &Landscape<'_>,
        bits: &[bool],
    ) -> Option<(Feasible, f64)> {
        if region.limits().is_empty() {
            return None;
        }
        let found = region.minimise_direct(landscape, DIRECT)?;
        self.at(bits, &found.x)
    }

    fn at(&self, bits: &[bool], unit: &[f64]) -> Option<(Feasible, f64)> {
        let feasible = Feasible::of_code(self.space, bits, unit)?;
        let value = self
            .weights
            .value(&feasible.code().bits, &feasible.code().unit);
        Some((feasible, value))
    }
}

/// By how much two ways to sum f(x) may differ: ε · 4(M_d + M_c + 8) · Σ |Wᵢⱼ| αⱼ.
pub(super) fn rounding(weights: &Weights) -> f64 {
    let features = weights.features();
    let columns = features.n_columns();
    let amplitude = |j: usize| {
        if j == 0 {
            1.0
        } else {
            features.waves().amplitude(j - 1)
        }
    };
    let size: f64 = weights
        .matrix()
        .iter()
        .enumerate()
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
    let mut nodes = most.max(1).saturating_mul(64);
    while let Some(assignment) = open.pop() {
        nodes = nodes.checked_sub(1)?;
        let Some(bit) = (0..problem.n()).find(|bit| assignment.is_free(*bit)) else {
            let point = assignment.to_point();
            if problem.is_feasible(&point) {
                found.push(point);
            }
            if found.len() > most {
                return None;
            }
            continue;
        };
        for value in [true, false] {
            let mut child = assignment.clone();
            child.fix(bit, value);
            if propagator.propagate(&mut child, &[bit]).is_ok() {
                open.push(child);
            }
        }
    }
    Some(found)
}

#[cfg(test)]
pub(super) mod tests;
