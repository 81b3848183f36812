//! The feasible continuous coordinates at fixed bits: bits enter, a subset of the unit box leaves.
//!
//! A constraint becomes an affine row where its parameters are on linear scales and enter linearly, and otherwise a
//! smooth function with its gradient. Both only guide a search: whether a point belongs to the region is decided by
//! the expressions, as in [`Space::check`](crate::space::Space::check). MiVaBo, Sec. 3.3.

pub mod minimise;

use mivabo_bqp::interrupt;

use super::{Encoding, scale};
use crate::encoding::Error;
use crate::language::check;
use crate::language::domain::Set;
use crate::language::eval::{Evaluator, Setting};
use crate::language::expr::Symbol;
use crate::language::gradient::{Axis, Comparison, Translator};
use crate::language::model::Model;
use crate::language::number::TOLERANCE;
use crate::language::point::Point;

/// The points of the unit box that satisfy every constraint, at fixed bits.
///
/// ```
/// # use mivabo::space::Space;
/// let mut space = Space::builder();
/// let drug = space.bool("drug");
/// let dose = space.float("dose", 0.0..=20.0);
/// space.subject_to("dose", dose.le(10 * drug));
/// let space = space.build()?;
///
/// let region = space.encoding().given_bits(&[true])?;
///
/// assert!(region.contains(&[0.5]) && !region.contains(&[0.6]));
/// # Ok::<(), mivabo::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Region<'a> {
    encoding: &'a Encoding,
    /// With the reals anywhere.
    settings: Vec<Option<Setting>>,
    bounds: Vec<(f64, f64)>,
    limits: Vec<Limit>,
    /// The comparisons of the limits, each with the place of its constraint.
    comparisons: Vec<(usize, Comparison)>,
    /// The places of constraints that hold nowhere at these bits.
    refuted: Vec<usize>,
    is_empty: bool,
    is_opaque: bool,
}

/// gap(x) >= 0, or for an equation gap(x) == 0, with a gradient of about length 1.
#[derive(Debug, Clone)]
pub(crate) struct Limit {
    form: Form,
    pub is_equation: bool,
    /// More than the tolerance of the comparison, anywhere in the box.
    slack: f64,
}

#[derive(Debug, Clone)]
enum Form {
    Affine(Row),
    Smooth(Comparison, f64),
}

/// a·x <= b, or a·x == b, over unit coordinates, with |a| = 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// a
    pub coefficients: Vec<f64>,
    /// b
    pub bound: f64,
    /// Whether both sides are equal.
    pub is_equation: bool,
}

impl<'a> Region<'a> {
    pub(super) fn new(encoding: &'a Encoding, bits: &[bool]) -> Result<Region<'a>, Error> {
        let model = &*encoding.model;
        let middle = vec![scale::CANONICAL; encoding.n_reals()];
        let evaluator = encoding.evaluator(bits, &middle)?;
        let axes = axes(encoding);
        let bounds = encoding.reals.iter().map(|p| {
            let is_active = evaluator.is_active(Symbol::Parameter(*p));
            let is_free = is_active && axes[*p].is_some_and(|axis| axis.length > 0.0);
            if is_free {
                (0.0, 1.0)
            } else {
                (scale::CANONICAL, scale::CANONICAL)
            }
        });
        let bounds = bounds.collect();
        let (limits, comparisons, refuted) = (vec![], vec![], vec![]);
        let mut region = Region {
            encoding,
            settings: vec![],
            bounds,
            limits,
            comparisons,
            refuted,
            is_empty: false,
            is_opaque: false,
        };
        region.translate(model, &evaluator, &axes);
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
            let widest = (0..piece.len()).max_by(|i, j| {
                let width = |k: usize| piece[k].1 - piece[k].0;
                width(*i).total_cmp(&width(*j))
            });
            let Some(widest) = widest.filter(|k| *boxes > 0 && piece[*k].1 - piece[*k].0 > 1e-6)
            else {
                return false;
            };
            *boxes -= 1;
            let (low, high) = piece[widest];
            let middle = 0.5 * (low + high);
            for half in [(middle, high), (low, middle)] {
                let mut part = piece.clone();
                part[widest] = half;
                open.push(part);
            }
        }
        true
    }

    /// Whether it is proved that no point of a part of the unit box belongs to the region, by the ranges of both sides of
    /// every constraint over the part. `within` has one range for each coordinate.
    pub fn misses(&self, within: &[(f64, f64)]) -> bool {
        self.is_empty || self.limits.iter().any(|limit| limit.is_impossible(within))
    }

    /// Whether a constraint is neither affine nor smooth, so that it can only be tested.
    pub fn is_opaque(&self) -> bool {
        self.is_opaque
    }

    /// Whether the point that `x` decodes to satisfies every constraint: the same test as
    /// [`Space::check`](crate::space::Space::check).
    pub fn contains(&self, x: &[f64]) -> bool {
        if self.is_empty
            || x.len() != self.bounds.len()
            || !x.iter().all(|x| (0.0..=1.0).contains(x))
        {
            return false;
        }
        let mut settings = self.settings.clone();
        for (p, x) in self.encoding.reals.iter().zip(x) {
            let domain = &self.encoding.model.parameters[*p].domain;
            settings[*p] = settings[*p].map(|_| Setting::Real(scale::from_unit(domain, *x)));
        }
        check::report(&self.encoding.model, &Point { settings }).is_feasible()
    }

    /// The coordinates after a round trip through the decimals of a point; 0.5 for what is inactive.
    pub fn canonical(&self, x: &[f64]) -> Vec<f64> {
        let rounded =
            self.encoding
                .reals
                .iter()
                .zip(x)
                .zip(&self.bounds)
                .map(|((p, x), (low, high))| {
                    let domain = &self.encoding.model.parameters[*p].domain;
                    if low < high {
                        scale::to_unit(domain, scale::from_unit(domain, *x))
                    } else {
                        *low
                    }
                });
        rounded.collect()
    }

    /// The affine constraints.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows_and_slacks().map(|(row, _)| row)
    }

    /// The affine constraints, each with what a point of the region may fail it by.
    pub(crate) fn rows_and_slacks(&self) -> impl Iterator<Item = (&Row, f64)> {
        self.limits.iter().filter_map(|limit| match &limit.form {
            Form::Affine(row) => Some((row, limit.slack)),
            Form::Smooth(..) => None,
        })
    }

    /// How many constraints are smooth but not affine.
    pub fn n_smooth(&self) -> usize {
        self.limits.len() - self.rows().count()
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
        let unit = vec![(0.0, 1.0); self.bounds.len()];
        let applies = |requires: &std::collections::BTreeSet<_>| {
            requires.iter().all(|s| evaluator.is_active(*s))
        };
        for (c, constraint) in model
            .constraints
            .iter()
            .enumerate()
            .filter(|(_, c)| applies(&c.requires))
        {
            let claim = translator.claim(&constraint.expr, true);
            self.is_empty |= claim.is_false;
            self.refuted.extend(claim.is_false.then_some(c));
            self.is_opaque |= claim.is_opaque;
            for comparison in claim.comparisons {
                self.is_empty |= is_impossible(&comparison, &unit);
                self.comparisons.push((c, comparison.clone()));
                self.limits
                    .extend(Limit::new(comparison, self.bounds.len()));
            }
        }
        self.is_empty |= self.limits.iter().any(|limit| limit.is_impossible(&unit));
    }
}

impl Limit {
    /// `None` where no coordinate takes part.
    fn new(comparison: Comparison, n: usize) -> Option<Limit> {
        let is_equation = comparison.is_equation;
        let degree = comparison.small.degree().max(comparison.large.degree());
        let middle = vec![scale::CANONICAL; n];
        let mut gradient = vec![0.0; n];
        let gap = difference(&comparison, &middle, &mut gradient);
        let length = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
        let slack = slack(&comparison, &vec![(0.0, 1.0); n]) / length;
        if degree >= 2 {
            let length = if length.is_finite() && length > 0.0 {
                length
            } else {
                1.0
            };
            return Some(Limit {
                form: Form::Smooth(comparison, length),
                is_equation,
                slack,
            });
        }
        // large - small = gap + g·(x - middle) >= 0, so -g·x <= gap - g·middle
        let bound = gap - gradient.iter().map(|g| g * scale::CANONICAL).sum::<f64>();
        let coefficients = gradient.iter().map(|g| -g / length).collect();
        let row = Row {
            coefficients,
            bound: bound / length,
            is_equation,
        };
        (length > 0.0).then_some(Limit {
            form: Form::Affine(row),
            is_equation,
            slack,
        })
    }

    /// The gap at `x`; writes its gradient.
    pub fn gap(&self, x: &[f64], gradient: &mut [f64]) -> f64 {
        match &self.form {
            Form::Affine(row) => {
                gradient
                    .iter_mut()
                    .zip(&row.coefficients)
                    .for_each(|(g, a)| *g = -a);
                row.bound
                    - row
                        .coefficients
                        .iter()
                        .zip(x)
                        .map(|(a, x)| a * x)
                        .sum::<f64>()
            }
            Form::Smooth(comparison, length) => {
                let gap = difference(comparison, x, gradient);
                for g in gradient.iter_mut() {
                    *g /= length;
                }
                gap / length
            }
        }
    }

    /// Whether a row misses a box, or the sides of a smooth constraint are apart over it, by more than any tolerance.
    fn is_impossible(&self, within: &[(f64, f64)]) -> bool {
        let row = match &self.form {
            Form::Affine(row) => row,
            Form::Smooth(comparison, _) => return is_impossible(comparison, within),
        };
        let terms = || row.coefficients.iter().zip(within);
        let least: f64 = terms()
            .map(|(a, (low, high))| (a * low).min(a * high))
            .sum();
        let most: f64 = terms()
            .map(|(a, (low, high))| (a * low).max(a * high))
            .sum();
        least > row.bound + self.slack || row.is_equation && most < row.bound - self.slack
    }
}

/// large - small and its gradient.
fn difference(comparison: &Comparison, x: &[f64], gradient: &mut [f64]) -> f64 {
    let (small, large) = (comparison.small.dual(x), comparison.large.dual(x));
    let at = |d: &[f64], k: usize| d.get(k).copied().unwrap_or(0.0);
    for (k, g) in gradient.iter_mut().enumerate() {
        *g = at(&large.gradient, k) - at(&small.gradient, k);
    }
    large.value - small.value
}

/// Whether the sides are apart over a box, by more than the tolerance of a comparison.
fn is_impossible(comparison: &Comparison, within: &[(f64, f64)]) -> bool {
    let (small, large) = (
        comparison.small.range(within),
        comparison.large.range(within),
    );
    let slack = slack(comparison, within);
    small.0 > large.1 + slack || comparison.is_equation && large.0 > small.1 + slack
}

/// Twice the largest tolerance over a box. Parts are counted apart: a term moved to the other side may cancel.
fn slack(comparison: &Comparison, within: &[(f64, f64)]) -> f64 {
    let Comparison { small, large, .. } = comparison;
    let size = |within: &[(f64, f64)]| small.size(within).max(large.size(within));
    let is_plain = small.is_plain() && large.is_plain();
    let least = if is_plain {
        size(&vec![(0.0, 1.0); within.len()]).min(1.0)
    } else {
        1.0
    };
    2.0 * TOLERANCE * size(within).max(least)
}

fn axes(encoding: &Encoding) -> Vec<Option<Axis>> {
    let mut coordinate = 0;
    let axes = encoding.model.parameters.iter().map(|parameter| {
        let Set::Float { low, high } = parameter.domain.set else {
            return None;
        };
        coordinate += 1;
        let log = parameter.domain.log;
        let (low, high) = if log {
            (low.ln(), high.ln())
        } else {
            (low, high)
        };
        Some(Axis {
            coordinate: coordinate - 1,
            start: low,
            length: high - low,
            log,
        })
    });
    axes.collect()
}
