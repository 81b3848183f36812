//! Rows for moves of one or two flips: the violation of a [`Row`], and what each flip changes of it.

use crate::model::{Quadratic, Row, RowRelation, place_of};

use super::weight::Weight;

/// A row whose violation is penalised.
///
/// ```text
/// excess v = a(x) - b,    violation = max(0, v) for ≤,  |v| for =,    penalty = weight · violation / scale
/// ```
#[derive(Debug)]
pub(super) struct SoftRow {
    bits: Vec<usize>,
    coefficients: Vec<f64>,
    /// For each place in `bits`, the places it has a product with, rising; empty for a linear row.
    neighbours: Vec<Vec<(usize, f64)>>,
    /// For each place in `bits`, what that bit adds to the activity when it is on.
    slopes: Vec<f64>,
    excess: f64,
    rhs: f64,
    /// The violation is max(v, `below`·v): 0 for ≤ and -1 for =.
    below: f64,
    tolerance: f64,
    scale: f64,
    /// No flip raises the activity by more; infinite where that is not known or does not help.
    reach: f64,
    pub(super) weight: Weight,
}

/// The flip of a bit of a row.
#[derive(Clone, Copy)]
pub(super) struct Flip {
    /// The bit's place in the row.
    pub(super) place: usize,
    /// +1 where the bit is off, -1 where it is on.
    pub(super) sign: f64,
}

impl SoftRow {
    /// The row at the point 0.
    pub(super) fn new(row: &Row, weight: Weight) -> Self {
        let form = row.form();
        let bits = form.bits();
        let coefficients = form.linear_over(&bits);
        let neighbours = neighbours(form, &bits);
        let is_equation = row.relation() == RowRelation::Equal;
        Self {
            slopes: coefficients.clone(),
            bits,
            coefficients,
            neighbours,
            excess: -row.rhs(),
            rhs: row.rhs(),
            below: if is_equation { -1.0 } else { 0.0 },
            tolerance: tolerance(row),
            scale: scale(form),
            reach: reach(row),
            weight,
        }
    }

    pub(super) fn bits(&self) -> &[usize] {
        &self.bits
    }

    /// Moves to the point 0.
    pub(super) fn clear(&mut self) {
        self.slopes.copy_from_slice(&self.coefficients);
        self.excess = -self.rhs;
    }

    /// Flips the bit at `place`, whose sign is `sign` before the flip.
    pub(super) fn flip(&mut self, place: usize, sign: f64) {
        self.excess += sign * self.slopes[place];
        if let Some(neighbours) = self.neighbours.get(place) {
            for &(other, q) in neighbours {
                self.slopes[other] += sign * q;
            }
        }
    }

    fn violation(&self, excess: f64) -> f64 {
        larger(excess, self.below * excess)
    }

    /// Adapts the weight to whether the constraint holds at the current point.
    pub(super) fn adapt(&mut self) {
        let holds = self.is_satisfied();
        self.weight.observe(holds);
    }

    pub(super) fn is_satisfied(&self) -> bool {
        self.violation(self.excess) <= self.tolerance
    }

    fn price(&self) -> f64 {
        self.weight.value() / self.scale
    }

    pub(super) fn penalty(&self) -> f64 {
        self.price() * self.violation(self.excess)
    }

    /// Adds to `scores[i]`, for every bit i of the row, the change of the penalty when i flips.
    pub(super) fn add_to(&self, scores: &mut [f64], signs: &[f64]) {
        // Satisfied, and no flip can violate it: the case of most rows at most points.
        if self.excess + self.reach <= 0.0 {
            return;
        }
        // Copies, so that the loops need not read them again after each write to `scores`.
        let (price, excess, below) = (self.price(), self.excess, self.below);
        let now = self.violation(excess);
        let change = |sign: f64, slope: f64| {
            let next = excess + sign * slope;
            price * (larger(next, below * next) - now)
        };
        // A row over all bits is a flat loop, which vectorises.
        if self.bits.len() == scores.len() {
            for ((score, sign), slope) in scores.iter_mut().zip(signs).zip(&self.slopes) {
                *score += change(*sign, *slope);
            }
        } else {
            for (&bit, slope) in self.bits.iter().zip(&self.slopes) {
                scores[bit] += change(signs[bit], *slope);
            }
        }
    }

    /// What two flips together change beyond the sum of their single changes.
    pub(super) fn interaction(&self, i: Flip, j: Flip) -> f64 {
        let step_i = i.sign * self.slopes[i.place];
        let step_j = j.sign * self.slopes[j.place];
        let products = self.neighbours.get(i.place);
        let q = products.map_or(0.0, |products| product(products, j.place));
        let both = self.excess + step_i + step_j + i.sign * j.sign * q;
        let singles = self.violation(self.excess + step_i) + self.violation(self.excess + step_j);
        self.price() * (self.violation(both) + self.violation(self.excess) - singles)
    }
}

/// For each bit the places that it has a product with.
fn neighbours(form: &Quadratic, bits: &[usize]) -> Vec<Vec<(usize, f64)>> {
    // A linear row has no lists at all: most rows are linear, and a flip looks for its list.
    let n_lists = if form.degree() <= 1 { 0 } else { bits.len() };
    let mut neighbours = vec![Vec::new(); n_lists];
    for &(i, j, q) in form.quadratic() {
        let (i, j) = (place_of(i, bits), place_of(j, bits));
        neighbours[i].push((j, q));
        neighbours[j].push((i, q));
    }
    neighbours
}

/// The size of a mean coefficient: violations are measured by it.
fn scale(form: &Quadratic) -> f64 {
    let sizes = || form.coefficients().map(f64::abs);
    // The mean, not the largest: one coefficient that switches a row off says nothing about the others.
    let mean = sizes().sum::<f64>() / sizes().count().max(1) as f64;
    if mean > f64::MIN_POSITIVE.sqrt() {
        mean
    } else {
        1.0
    }
}

/// The most that a flip can raise the activity; infinite where that is not known or does not help.
fn reach(row: &Row) -> f64 {
    if row.is_linear() && row.relation() == RowRelation::LessEqual {
        let sizes = row.form().coefficients().map(f64::abs);
        sizes.fold(0.0, larger)
    } else {
        f64::INFINITY
    }
}

/// The coefficient of the product with the bit at `place`; the list rises by place.
fn product(products: &[(usize, f64)], place: usize) -> f64 {
    products
        .binary_search_by_key(&place, |t| t.0)
        .map_or(0.0, |k| products[k].1)
}

/// The larger of two numbers that are no NaN: one instruction, which `f64::max` is not.
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The row's own, and room for the rounding errors of many flips: whoever keeps a point asks the problem itself.
fn tolerance(row: &Row) -> f64 {
    let exact = row.tolerance();
    if exact == 0.0 {
        0.0
    } else {
        exact + 1e-13 * (row.form().magnitude() + row.rhs().abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2x₀ + 3x₁ - x₀x₂ = 4.
    fn quadratic_row() -> SoftRow {
        let form = Quadratic::new(0.0, [(0, 2.0), (1, 3.0)], [(0, 2, -1.0)]);
        SoftRow::new(
            &Row::new("row", form, RowRelation::Equal, 4.0),
            Weight::new(2.0),
        )
    }

    #[test]
    fn flips_keep_the_violation_of_a_quadratic_row() {
        let mut row = quadratic_row();

        row.flip(0, 1.0);
        row.flip(1, 1.0);
        let without_product = row.penalty();
        row.flip(2, 1.0);

        // The mean coefficient is 2, and so is the weight.
        assert_eq!((without_product, row.penalty()), (1.0, 0.0));
        assert!(row.is_satisfied());
    }

    #[test]
    fn single_changes_and_their_interaction_are_the_change_of_a_double_flip() {
        let mut row = quadratic_row();
        row.flip(1, 1.0);
        let signs = [1.0, -1.0, 1.0];
        let mut scores = [0.0; 3];
        let flip = |place| Flip { place, sign: 1.0 };
        row.add_to(&mut scores, &signs);

        let predicted = row.penalty() + scores[0] + scores[2] + row.interaction(flip(0), flip(2));
        row.flip(0, 1.0);
        row.flip(2, 1.0);

        assert_eq!(predicted, row.penalty());
    }
}
