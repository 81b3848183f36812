//! Comparisons over bits as rows.
//!
//! ```text
//! clause  l_1 ∨ … ∨ l_k              Σ l_i >= 1             l_i affine in the bits, 0 or 1 on every code
//! clause  l_1 ∨ … ∨ l_k ∨ p <= 0     p <= M Σ l_i           M = max p over the bits
//! clause  l_1 ∨ … ∨ l_k ∨ p == 0     the same for p and -p
//! ```

use mivabo_bqp::{Quadratic, Row, RowRelation};
use num_integer::Integer;

use super::bits::{BitPolynomial, IntegerForm, MAX_EXACT};
use crate::language::normal::ZeroRelation;
use crate::language::number::{Number, TOLERANCE};

/// A polynomial over bits, compared with zero.
pub(crate) struct Compared {
    pub bits: BitPolynomial,
    pub relation: ZeroRelation,
    /// How large its sides were at least.
    pub scale: f64,
}

/// The rows of a clause of a comparison, if there is one, and of literals that are added up in `any`.
///
/// `None` when the degree exceeds two, or sums of integers would not be exact: then there is no row.
pub(crate) fn clause_rows(
    name: &str,
    compared: Option<&Compared>,
    any: &BitPolynomial,
) -> Option<Vec<Row>> {
    if let Some(compared) = compared {
        return comparison_rows(name, compared, any);
    }
    let mut missing = BitPolynomial::constant(Number::ONE);
    missing.add_scaled(any, Number::from(-1));
    let missing = Compared {
        bits: missing.merged(),
        relation: ZeroRelation::AtMost,
        scale: 1.0,
    };
    comparison_rows(name, &missing, &BitPolynomial::default())
}

/// p ⋈ 0 wherever the literals, added up in `any`, are all zero.
fn comparison_rows(name: &str, p: &Compared, any: &BitPolynomial) -> Option<Vec<Row>> {
    match (p.bits.integral(), any.integral()) {
        (Some(form), Some(any)) => exact_rows(name, form, p.relation, &any),
        // Whole numbers too large for exact sums: between them there is no tolerance that could take the rounding.
        _ if p.bits.is_whole() => None,
        _ => RealRows::new(name, p, any)?.of(p.relation),
    }
}

fn exact_rows(
    name: &str,
    mut p: IntegerForm,
    relation: ZeroRelation,
    any: &IntegerForm,
) -> Option<Vec<Row>> {
    // p < 0 over whole numbers.
    if relation == ZeroRelation::Below {
        p.constant += 1;
    }
    // Where a literal holds, p <= M is all that is asked, which always holds.
    let at_most = |p: &IntegerForm| {
        let guarded = p.plus_scaled(any, -p.max().max(0))?;
        Some(exact_row(name, &guarded, RowRelation::LessEqual))
    };
    let is_unguarded = any.constant == 0 && any.linear.is_empty();
    let rows = match relation {
        ZeroRelation::Equal if is_unguarded => vec![exact_row(name, &p, RowRelation::Equal)],
        ZeroRelation::Equal => vec![at_most(&p)?, at_most(&p.negated())?],
        ZeroRelation::AtMost | ZeroRelation::Below => vec![at_most(&p)?],
    };
    Some(rows.into_iter().flatten().collect())
}

/// The row divided by the greatest common divisor of its coefficients; `None` when it always holds.
fn exact_row(name: &str, p: &IntegerForm, relation: RowRelation) -> Option<Row> {
    if relation == RowRelation::LessEqual && p.max() <= 0 {
        return None;
    }
    let rhs = -p.constant;
    let (reduced, divisor) = p.reduced();
    let is_constant = divisor == 0;
    if is_constant && relation == RowRelation::Equal && rhs == 0 {
        return None;
    }
    let (form, rhs) = match relation {
        _ if is_constant => (p.form(), rhs),
        // The left side is whole, so the right side may be rounded down: the row is tighter and accepts the same.
        RowRelation::LessEqual => (reduced.form(), Integer::div_floor(&rhs, &divisor)),
        RowRelation::Equal if rhs % divisor == 0 => (reduced.form(), rhs / divisor),
        // An equation that the divisor does not divide has no solution; it stays as it is and says so.
        RowRelation::Equal => (p.form(), rhs),
    };
    Some(Row::new(name, form, relation, rhs as f64))
}

/// Makes rows with coefficients that are not exact.
///
/// Their tolerance is half of the least that [`TOLERANCE`] allows the comparison at any point, so that what they accept, the
/// expression accepts. There is none when the rounding of their sums could be larger: that of large numbers, or of the large
/// coefficients M that switch a row off.
struct RealRows<'a> {
    name: &'a str,
    tolerance: f64,
    p: Affine,
    any: Affine,
}

/// constant + form
struct Affine {
    constant: f64,
    form: Quadratic,
}

impl Affine {
    fn of(p: &BitPolynomial) -> Option<Affine> {
        let (constant, form) = p.real()?;
        Some(Affine { constant, form })
    }

    fn negated(&self) -> Affine {
        Affine {
            constant: -self.constant,
            form: self.form.scaled(-1.0),
        }
    }

    fn raised(&self, by: f64) -> Affine {
        Affine {
            constant: self.constant + by,
            form: self.form.clone(),
        }
    }
}

impl RealRows<'_> {
    fn new<'a>(name: &'a str, p: &Compared, any: &BitPolynomial) -> Option<RealRows<'a>> {
        Some(RealRows {
            name,
            tolerance: 0.5 * TOLERANCE * p.scale,
            p: Affine::of(&p.bits)?,
            any: Affine::of(any)?,
        })
    }

    fn of(self, relation: ZeroRelation) -> Option<Vec<Row>> {
        let is_unguarded = self.any.constant == 0.0 && self.any.form.degree() == 0;
        match relation {
            ZeroRelation::Equal if is_unguarded => {
                let row = self.row(self.p.form.clone(), RowRelation::Equal, -self.p.constant)?;
                Some(vec![row])
            }
            ZeroRelation::Equal => {
                let (below, above) = (&self.p, &self.p.negated());
                Some(vec![self.at_most(below)?, self.at_most(above)?])
            }
            ZeroRelation::AtMost => Some(vec![self.at_most(&self.p)?]),
            // A strict comparison of inexact discrete numbers must not be met by rounding.
            ZeroRelation::Below => {
                let raised = self.p.raised(4.0 * self.tolerance);
                Some(vec![self.at_most(&raised)?])
            }
        }
    }

    /// p <= M Σ l_i
    fn at_most(&self, p: &Affine) -> Option<Row> {
        // Slightly more than the maximum: rounding must not leave the row active where a literal holds.
        let m = (p.constant + p.form.max()).max(0.0) * (1.0 + TOLERANCE);
        let guarded = p.form.plus(&self.any.form.scaled(-m));
        let rhs = m * self.any.constant - p.constant;
        self.row(guarded, RowRelation::LessEqual, rhs)
    }

    /// The row, if rounding stays within its tolerance.
    fn row(&self, form: Quadratic, relation: RowRelation, rhs: f64) -> Option<Row> {
        let is_exact = form.is_integral() && form.magnitude() <= MAX_EXACT as f64;
        let magnitude = if is_exact { 0.0 } else { form.magnitude() };
        let rounding = f64::EPSILON * (magnitude + rhs.abs());
        let row = Row::new(self.name, form, relation, rhs).within(self.tolerance);
        (rounding <= self.tolerance).then_some(row)
    }
}
