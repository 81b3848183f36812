//! Row constraints: a form, compared with a number within an exact tolerance.

use std::fmt;
use std::sync::Arc;

use super::quadratic::{EXACT_BELOW, Quadratic};

/// Relative tolerance of rows with real coefficients, see [`Row::tolerance`].
const REAL_ROW_TOLERANCE: f64 = 5e-10;

/// How a row compares its activity with its right-hand side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowRelation {
    /// activity ≤ right-hand side.
    LessEqual,
    /// activity = right-hand side.
    Equal,
}

impl fmt::Display for RowRelation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LessEqual => "<=",
            Self::Equal => "==",
        })
    }
}

/// A named linear or quadratic constraint, a(x) ≤ b or a(x) = b.
///
/// The form's constant is moved to the right-hand side. A row over no bit is legal: it is simply true or false.
///
/// ```
/// use mivabo_bqp::{Quadratic, Row, RowRelation};
///
/// let row = Row::new("budget", Quadratic::new(2.0, [(0, 1.0)], [(0, 1, 3.0)]), RowRelation::LessEqual, 5.0);
///
/// assert_eq!(row.rhs(), 3.0);
/// assert!(!row.is_satisfied(row.form().value(&[true, true])));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    name: Arc<str>,
    form: Quadratic,
    relation: RowRelation,
    rhs: f64,
    tolerance: f64,
}

impl Row {
    /// The row `form` ≤ `rhs` or `form` = `rhs`. Several rows may share a name.
    pub fn new(
        name: impl Into<Arc<str>>,
        form: Quadratic,
        relation: RowRelation,
        rhs: f64,
    ) -> Self {
        let rhs = rhs - form.constant();
        let form = form.without_constant();
        Self {
            name: name.into(),
            tolerance: tolerance(&form, rhs),
            form,
            relation,
            rhs,
        }
    }

    /// The row that a bit has this value.
    pub fn held(bit: usize, value: bool) -> Self {
        let form = Quadratic::new(0.0, [(bit, 1.0)], []);
        Self::new("held", form, RowRelation::Equal, f64::from(u8::from(value)))
    }

    /// The bits of a row that says that exactly one of them is 1.
    pub(crate) fn one_hot_bits(&self) -> Option<Vec<usize>> {
        let terms = self.form.linear();
        let is_sum = self.is_linear() && terms.iter().all(|term| term.1 == 1.0);
        let is_one = self.relation == RowRelation::Equal && self.rhs == 1.0;
        let is_choice = is_sum && is_one && !terms.is_empty();
        is_choice.then(|| terms.iter().map(|term| term.0).collect())
    }

    /// The same row with another [`tolerance`](Self::tolerance), for callers who know the scale of its two sides
    /// better: a large coefficient that only switches the row off says nothing about it. A row of whole numbers
    /// stays exact.
    pub fn within(mut self, tolerance: f64) -> Self {
        if self.tolerance > 0.0 {
            self.tolerance = tolerance.max(f64::MIN_POSITIVE);
        }
        self
    }

    /// The same comparison, with the same tolerance, of another form, whose constant goes to the right-hand side.
    pub(crate) fn with_form(&self, form: Quadratic) -> Self {
        let (name, rhs) = (self.name.clone(), self.rhs - form.constant());
        let (relation, tolerance) = (self.relation, self.tolerance);
        Self {
            name,
            form: form.without_constant(),
            relation,
            rhs,
            tolerance,
        }
    }

    /// The row's name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The left-hand side; its constant is 0.
    pub fn form(&self) -> &Quadratic {
        &self.form
    }

    /// How the two sides compare.
    pub fn relation(&self) -> RowRelation {
        self.relation
    }

    /// The right-hand side.
    pub fn rhs(&self) -> f64 {
        self.rhs
    }

    /// By how much the activity may miss the right-hand side.
    ///
    /// Exactly 0 when all numbers are whole and their absolute values sum to less than 2⁵³: then every sum is exact
    /// and nothing needs to be forgiven. Otherwise 5·10⁻¹⁰ · max(1, |rhs|, largest |coefficient|),
    /// because 0.1 + 0.2 must be allowed to equal 0.3.
    pub fn tolerance(&self) -> f64 {
        self.tolerance
    }

    /// Whether a point at which the form has this value satisfies the row, within [`tolerance`](Self::tolerance).
    pub fn is_satisfied(&self, activity: f64) -> bool {
        match self.relation {
            RowRelation::LessEqual => activity <= self.rhs + self.tolerance,
            RowRelation::Equal => (activity - self.rhs).abs() <= self.tolerance,
        }
    }

    /// Whether the form has no product of bits.
    pub fn is_linear(&self) -> bool {
        self.form.degree() <= 1
    }
}

fn tolerance(form: &Quadratic, rhs: f64) -> f64 {
    if is_exact(form, rhs) {
        return 0.0;
    }
    let sizes = form.coefficients().map(f64::abs);
    REAL_ROW_TOLERANCE * sizes.fold(rhs.abs(), f64::max).max(1.0)
}

/// Whether all sums of the row's terms are whole numbers without rounding.
fn is_exact(form: &Quadratic, rhs: f64) -> bool {
    let is_whole = form.is_integral() && rhs.fract() == 0.0;
    // Strictly below: 2⁵³ itself is also what 2⁵³ + 1 rounds to.
    is_whole && form.magnitude() + rhs.abs() < EXACT_BELOW
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(linear: &[(usize, f64)], rhs: f64) -> Row {
        Row::new(
            "row",
            Quadratic::new(0.0, linear.iter().copied(), []),
            RowRelation::Equal,
            rhs,
        )
    }

    #[test]
    fn a_whole_row_has_no_tolerance() {
        let row = row(&[(0, 3.0), (1, -2.0)], 1.0);

        assert_eq!(row.tolerance(), 0.0);
        assert!(!row.is_satisfied(1.0 + 1e-15));
    }

    #[test]
    fn a_whole_row_too_large_for_exact_sums_counts_as_real() {
        let row = row(&[(0, EXACT_BELOW)], 0.0);

        assert_eq!(row.tolerance(), REAL_ROW_TOLERANCE * EXACT_BELOW);
    }

    #[test]
    fn only_a_real_row_takes_another_tolerance() {
        assert_eq!(row(&[(0, 0.5)], 1.0).within(1e-3).tolerance(), 1e-3);
        assert_eq!(row(&[(0, 5.0)], 1.0).within(1e-3).tolerance(), 0.0);
    }

    #[test]
    fn three_tenths_are_one_tenth_and_two_tenths() {
        let row = row(&[(0, 0.1), (1, 0.2)], 0.3);

        let activity = row.form().value(&[true, true]);

        assert_ne!(activity, 0.3);
        assert!(row.is_satisfied(activity));
    }
}
