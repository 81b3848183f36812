//! One constraint on the coordinates at fixed bits, as a function that is not negative, or zero, where it holds.

use crate::encoding::scale;
use crate::language::claim::RealComparison;
use crate::language::number::TOLERANCE;

/// The bounds of a coordinate that is free.
pub(super) const UNIT: (f64, f64) = (0.0, 1.0);

/// gap(x) >= 0, or for an equation gap(x) == 0, with a gradient of about length 1.
#[derive(Debug, Clone)]
pub(crate) struct Limit {
    pub(super) form: Form,
    pub is_equation: bool,
    /// More than the tolerance of the comparison, anywhere in the box.
    pub(super) slack: f64,
}

#[derive(Debug, Clone)]
pub(super) enum Form {
    Affine(AffineRow),
    /// A comparison and the length that its gradient has in the middle of the box.
    Smooth(RealComparison, f64),
}

/// a·x <= b, or a·x == b, over unit coordinates, with |a| = 1.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AffineRow {
    /// a
    pub coefficients: Vec<f64>,
    /// b
    pub bound: f64,
    /// Whether both sides are equal.
    pub is_equation: bool,
}

impl AffineRow {
    /// The row of an affine gap, from its value in the middle of the box and its gradient of this length.
    fn through_middle(gap: f64, gradient: &[f64], length: f64, is_equation: bool) -> AffineRow {
        // large - small = gap + g·(x - middle) >= 0, so -g·x <= gap - g·middle
        let bound = gap - gradient.iter().map(|g| g * scale::CANONICAL).sum::<f64>();
        AffineRow {
            coefficients: gradient.iter().map(|g| -g / length).collect(),
            bound: bound / length,
            is_equation,
        }
    }

    /// b - a·x
    fn gap(&self, x: &[f64]) -> f64 {
        let terms = self.coefficients.iter().zip(x).map(|(a, x)| a * x);
        self.bound - terms.sum::<f64>()
    }

    fn gap_with_gradient(&self, x: &[f64], gradient: &mut [f64]) -> f64 {
        for (g, a) in gradient.iter_mut().zip(&self.coefficients) {
            *g = -a;
        }
        self.gap(x)
    }

    fn is_impossible(&self, within: &[(f64, f64)], slack: f64) -> bool {
        let (least, most) = self.range(within);
        let is_above = least > self.bound + slack;
        is_above || self.is_equation && most < self.bound - slack
    }

    /// The least and the most that a·x can be.
    fn range(&self, within: &[(f64, f64)]) -> (f64, f64) {
        let terms = || self.coefficients.iter().zip(within);
        let least = terms().map(|(a, (low, high))| (a * low).min(a * high));
        let most = terms().map(|(a, (low, high))| (a * low).max(a * high));
        (least.sum(), most.sum())
    }
}

impl Limit {
    /// `None` where no coordinate takes part.
    pub fn new(comparison: RealComparison, n: usize) -> Option<Limit> {
        let is_equation = comparison.is_equation;
        let degree = comparison.small.degree().max(comparison.large.degree());
        let mut gradient = vec![0.0; n];
        let gap = difference(&comparison, &vec![scale::CANONICAL; n], &mut gradient);
        let length = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
        let slack = slack(&comparison, &vec![UNIT; n]) / length;
        if degree >= 2 {
            // In the middle a smooth function may be flat or undefined: then it keeps its own scale.
            let has_length = length.is_finite() && length > 0.0;
            return Some(Limit {
                form: Form::Smooth(comparison, if has_length { length } else { 1.0 }),
                is_equation,
                slack,
            });
        }
        let row = AffineRow::through_middle(gap, &gradient, length, is_equation);
        (length > 0.0).then_some(Limit {
            form: Form::Affine(row),
            is_equation,
            slack,
        })
    }

    /// The gap at `x`; writes its gradient.
    pub fn gap(&self, x: &[f64], gradient: &mut [f64]) -> f64 {
        match &self.form {
            Form::Affine(row) => row.gap_with_gradient(x, gradient),
            Form::Smooth(comparison, length) => scaled_gap(comparison, *length, x, gradient),
        }
    }

    /// Whether a row misses a box, or the sides of a smooth constraint are apart over it, by more than any tolerance.
    pub fn is_impossible(&self, within: &[(f64, f64)]) -> bool {
        match &self.form {
            Form::Affine(row) => row.is_impossible(within, self.slack),
            Form::Smooth(comparison, _) => is_impossible(comparison, within),
        }
    }
}

/// The gap in units of its length.
fn scaled_gap(comparison: &RealComparison, length: f64, x: &[f64], gradient: &mut [f64]) -> f64 {
    let gap = difference(comparison, x, gradient);
    for g in gradient {
        *g /= length;
    }
    gap / length
}

/// large - small and its gradient.
fn difference(comparison: &RealComparison, x: &[f64], gradient: &mut [f64]) -> f64 {
    let (small, large) = (comparison.small.dual(x), comparison.large.dual(x));
    gradient.fill(0.0);
    for (k, slope) in large.gradient {
        gradient[k] += slope;
    }
    for (k, slope) in small.gradient {
        gradient[k] -= slope;
    }
    large.value - small.value
}

/// Whether the sides are apart over a box, by more than the tolerance of a comparison.
pub(super) fn is_impossible(comparison: &RealComparison, within: &[(f64, f64)]) -> bool {
    let small = comparison.small.range(within);
    let large = comparison.large.range(within);
    let slack = slack(comparison, within);
    small.0 > large.1 + slack || comparison.is_equation && large.0 > small.1 + slack
}

/// Twice the largest tolerance over a box. Parts are counted apart: a term moved to the other side may cancel.
fn slack(comparison: &RealComparison, within: &[(f64, f64)]) -> f64 {
    let RealComparison { small, large, .. } = comparison;
    let size = |within: &[(f64, f64)]| small.size(within).max(large.size(within));
    let is_plain = small.is_plain() && large.is_plain();
    // Where rounding shows in the parts, small comparisons have small tolerances; elsewhere 1 is the least size.
    let least = if is_plain {
        size(&vec![UNIT; within.len()]).min(1.0)
    } else {
        1.0
    };
    2.0 * TOLERANCE * size(within).max(least)
}
