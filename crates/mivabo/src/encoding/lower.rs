//! One part of a constraint as rows or a table over the bits.
//!
//! Enters: a statement, what must be active for it to apply, and optionally fixed values of the continuous
//! parameters. Leaves: rows and tables that hold on a code exactly when the statement holds at its point or does
//! not apply there.
//!
//! ```text
//! clause  l_1 ∨ … ∨ l_k              Σ l_i >= 1             l_i affine in the bits, 0 or 1 on every code
//! clause  l_1 ∨ … ∨ l_k ∨ p <= 0     p <= M Σ l_i           M = max p over the bits
//! clause  l_1 ∨ … ∨ l_k ∨ p == 0     the same for p and -p
//! ```
//!
//! A clause with more than one comparison that is no literal, or with an opaque atom, sends its part to a table.
//! So does a quadratic equation: a table propagates exactly, an equation only by intervals.

use mivabo_bqp::{Quadratic, Row, Sense as RowSense, Table};
use num_integer::Integer;

use super::bits::{BitPolynomial, IntegerForm, MAX_EXACT};
use super::code::Code;
use super::table::{Enumeration, Refusal};
use crate::encoding::Error;
use crate::language::eval::Setting;
use crate::language::expr::{Expr, Node};
use crate::language::interval;
use crate::language::model::{Class, Model};
use crate::language::normal::{Atom, Clause, NoForm, Normaliser, Sense};
use crate::language::number::{Number, TOLERANCE};
use crate::language::polynomial::{Factor, Polynomial};

/// Far enough below 2⁶³, where fractions of integers overflow.
const LARGEST_EXACT: f64 = (1_u64 << 60) as f64;

/// What must hold, as the solver sees it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lowered {
    pub rows: Vec<Row>,
    pub tables: Vec<Table>,
}

impl Lowered {
    pub fn extend(&mut self, other: Lowered) {
        self.rows.extend(other.rows);
        self.tables.extend(other.tables);
    }
}

/// A statement to be lowered.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    pub name: &'a str,
    pub expr: &'a Expr,
    /// It applies where all of these conditions are met, each after those it rests on.
    pub conditions: &'a [&'a Expr],
}

/// Turns statements into rows and tables.
pub(crate) struct Lowering<'a> {
    pub model: &'a Model,
    /// By parameter; `None` for continuous ones.
    pub codes: &'a [Option<Code>],
    /// Values of the continuous parameters, where they are held fixed.
    pub fixed: Option<&'a [Option<Setting>]>,
}

impl<'a> Lowering<'a> {
    /// Rows where the normal form allows, otherwise the table that `enumeration` gives.
    pub fn part(
        &self,
        part: Part<'_>,
        enumeration: &Enumeration<'_>,
    ) -> Result<(Lowered, Class), Error> {
        let mut normaliser = Normaliser::new(self.model, self.fixed);
        let guarded = guarded(part);
        let clauses = normaliser.clauses(&guarded, true);
        if clauses == Err(NoForm::ExcludedReal) {
            return Err(Error::Unsupported {
                name: part.name.to_owned(),
                why: "it excludes a single value of a continuous parameter, which has no meaning up to rounding".into(),
                hint: "say on which side of the value it may lie".into(),
            });
        }
        let clauses = clauses.ok().filter(|_| !self.overflows(&guarded));
        let rows = clauses.and_then(|clauses| self.rows(&mut normaliser, part, &clauses));
        let class = class(&mut normaliser, part.expr, rows.is_some());
        match rows {
            Some(rows) if !self.prefers_table(&rows, part) => Ok((
                Lowered {
                    rows,
                    tables: vec![],
                },
                class,
            )),
            rows => match (enumeration.table(), rows) {
                (Ok(table), _) => Ok((
                    Lowered {
                        rows: vec![],
                        tables: vec![table],
                    },
                    class,
                )),
                (Err(Refusal::TooLarge(_)), Some(rows)) => Ok((
                    Lowered {
                        rows,
                        tables: vec![],
                    },
                    class,
                )),
                (Err(refusal), _) => Err(refusal.into()),
            },
        }
    }

    /// Whether numbers on the way may be too large for exact arithmetic. What comes out then depends on the order of
    /// operations, which the normal form changes: only a table says what the expression says.
    fn overflows(&self, statement: &Expr) -> bool {
        self.fixed.is_none() && interval::largest(self.model, statement) > LARGEST_EXACT
    }

    /// A quadratic row propagates by intervals only, and a row of discrete numbers that are not exact has a tolerance
    /// of its own: an equation, a case or such a row is better off with a table, which is exact.
    fn prefers_table(&self, rows: &[Row], part: Part<'_>) -> bool {
        let is_quadratic = rows.iter().any(|row| !row.is_linear());
        let is_equation = rows.len() > 1 || rows.iter().any(|row| row.sense() == RowSense::Equal);
        let is_inexact = self.fixed.is_none() && rows.iter().any(|row| row.tolerance() > 0.0);
        is_quadratic && (is_equation || !part.conditions.is_empty()) || is_inexact
    }

    /// Rows that let a clause be false only where every literal is; `None` when a clause is no row.
    fn rows(
        &self,
        normaliser: &mut Normaliser<'a>,
        part: Part<'_>,
        clauses: &[Clause],
    ) -> Option<Vec<Row>> {
        let mut rows = Vec::new();
        for clause in clauses {
            rows.extend(self.clause(normaliser, part, clause, &[])?);
        }
        Some(rows)
    }

    /// The rows of a clause joined with further literals.
    pub fn clause(
        &self,
        normaliser: &Normaliser<'a>,
        part: Part<'_>,
        clause: &Clause,
        literals: &[BitPolynomial],
    ) -> Option<Vec<Row>> {
        let mut any = BitPolynomial::default();
        for literal in literals {
            any.add_scaled(literal, Number::ONE);
        }
        let mut compared: Option<Compared> = None;
        for atom in clause {
            match self.atom(normaliser, atom)? {
                Meaning::True => return Some(vec![]),
                Meaning::False => {}
                Meaning::Literal(literal) => any.add_scaled(&literal, Number::ONE),
                Meaning::Compare(p) if compared.is_none() => compared = Some(p),
                Meaning::Compare(_) => return None,
            }
        }
        let any = any.merged();
        if let Some(p) = compared {
            return comparison_rows(part.name, &p, &any);
        }
        let mut missing = BitPolynomial::constant(Number::ONE);
        missing.add_scaled(&any, Number::from(-1));
        let missing = Compared {
            bits: missing.merged(),
            sense: Sense::AtMost,
            scale: 1.0,
        };
        comparison_rows(part.name, &missing, &BitPolynomial::default())
    }

    fn atom(&self, normaliser: &Normaliser<'a>, atom: &Atom) -> Option<Meaning> {
        match atom {
            Atom::Opaque(_) => None,
            Atom::Member(p, members) => self.members(*p, members),
            Atom::Compare(p, sense, scale) => {
                let named = p.parameters();
                if let (Some(only), 1) = (named.first(), named.len())
                    && let Some(size) = self.model.parameters[*only].domain.size()
                    && size <= crate::language::domain::MAX_VALUES
                    && let Some(known) =
                        self.members(*only, &normaliser.members(p, (*sense, *scale), size))
                {
                    return Some(known);
                }
                let bits = self.bits(normaliser, p)?;
                let compared = Compared {
                    bits,
                    sense: *sense,
                    scale: *scale,
                };
                (compared.bits.degree() <= 2).then_some(Meaning::Compare(compared))
            }
        }
    }

    fn members(&self, p: usize, members: &[bool]) -> Option<Meaning> {
        match (members.iter().any(|m| *m), members.iter().all(|m| *m)) {
            (false, _) => Some(Meaning::False),
            (_, true) => Some(Meaning::True),
            _ => self.codes[p]
                .as_ref()?
                .indicator(members)
                .map(Meaning::Literal),
        }
    }

    /// A polynomial over parameters as one over their bits.
    fn bits(&self, normaliser: &Normaliser<'a>, p: &Polynomial) -> Option<BitPolynomial> {
        let mut total = BitPolynomial::default();
        for (product, coefficient) in &p.terms {
            let mut term = BitPolynomial::constant(*coefficient);
            for factor in product {
                let code = self.codes[factor.parameter()].as_ref()?;
                let bits = match factor {
                    Factor::Value(p) => code.value(&self.model.parameters[*p].domain),
                    Factor::Unary(..) => {
                        code.function(|index| normaliser.factor_at(*factor, index))
                    }
                };
                term = if let Some(c) = only_constant(&term) {
                    bits.scaled(c)
                } else {
                    term.times(&bits)?
                };
            }
            total.add_scaled(&term, Number::ONE);
        }
        Some(total.merged())
    }
}

/// What an atom is over the bits.
enum Meaning {
    True,
    False,
    /// 1 where it holds and 0 where not, on every valid code.
    Literal(BitPolynomial),
    Compare(Compared),
}

/// A polynomial over bits, compared with zero.
struct Compared {
    bits: BitPolynomial,
    sense: Sense,
    /// How large its sides were at least.
    scale: f64,
}

/// The statement, said only where it applies.
fn guarded(part: Part<'_>) -> Expr {
    match part.conditions {
        [] => part.expr.clone(),
        [one] => (*one).clone().implies(part.expr.clone()),
        many => {
            let all = Expr::new(Node::And(many.iter().map(|c| (*c).clone()).collect()));
            all.implies(part.expr.clone())
        }
    }
}

/// The class of a statement over discrete parameters.
fn class(normaliser: &mut Normaliser<'_>, e: &Expr, is_rows: bool) -> Class {
    let Node::Compare(..) = &e.node else {
        return if is_rows { Class::Logic } else { Class::Table };
    };
    let degree = match normaliser.clauses(e, true).as_deref() {
        Ok([clause]) => match clause.as_slice() {
            [Atom::Compare(p, ..)] => p.degree(),
            [Atom::Member(..)] if is_rows => 0,
            _ => 3,
        },
        _ => 3,
    };
    match degree {
        0 => Class::Logic,
        1 => Class::LinearDiscrete,
        2 => Class::QuadraticDiscrete,
        _ => Class::Table,
    }
}

fn only_constant(p: &BitPolynomial) -> Option<Number> {
    (p.linear.is_empty() && p.higher.is_empty()).then(|| p.constant_term())
}

/// p ⋈ 0 wherever the literals, added up in `any`, are all zero.
///
/// `None` when the degree exceeds two, or sums of integers would not be exact: then there is no row.
fn comparison_rows(name: &str, p: &Compared, any: &BitPolynomial) -> Option<Vec<Row>> {
    match (p.bits.integral(), any.integral()) {
        (Some(p_form), Some(any)) => exact_rows(name, p_form, p.sense, &any),
        _ if p.bits.is_whole() => None,
        _ => real_rows(name, p, any),
    }
}

fn exact_rows(name: &str, mut p: IntegerForm, sense: Sense, any: &IntegerForm) -> Option<Vec<Row>> {
    if sense == Sense::Below {
        p.constant += 1;
    }
    let is_unguarded = any.constant == 0 && any.linear.is_empty();
    let guarded = |p: &IntegerForm| p.plus_scaled(any, -p.max().max(0));
    let rows = match sense {
        Sense::Equal if is_unguarded => vec![exact_row(name, &p, RowSense::Equal)],
        Sense::Equal => [p.clone(), p.negated()]
            .iter()
            .map(|p| Some(exact_row(name, &guarded(p)?, RowSense::LessEqual)))
            .collect::<Option<_>>()?,
        _ => vec![exact_row(name, &guarded(&p)?, RowSense::LessEqual)],
    };
    Some(rows.into_iter().flatten().collect())
}

/// The row divided by the greatest common divisor of its coefficients; `None` when it always holds.
fn exact_row(name: &str, p: &IntegerForm, sense: RowSense) -> Option<Row> {
    if sense == RowSense::LessEqual && p.max() <= 0 {
        return None;
    }
    let rhs = -p.constant;
    let (reduced, divisor) = p.reduced();
    // An equation that the divisor does not divide has no solution; it stays as it is and says so.
    let (form, rhs) = match sense {
        _ if divisor == 0 && sense == RowSense::Equal && rhs == 0 => return None,
        _ if divisor == 0 => (p.form(), rhs),
        RowSense::LessEqual => (reduced.form(), Integer::div_floor(&rhs, &divisor)),
        RowSense::Equal if rhs % divisor == 0 => (reduced.form(), rhs / divisor),
        RowSense::Equal => (p.form(), rhs),
    };
    Some(Row::new(name, form, sense, rhs as f64))
}

/// Rows with coefficients that are not exact. Their tolerance is half of the least that [`TOLERANCE`] allows the
/// comparison at any point, so that what they accept, the expression accepts; `None` when the rounding of their sums
/// could be larger: that of large numbers, or of the large coefficients M that switch a row off.
fn real_rows(name: &str, p: &Compared, any: &BitPolynomial) -> Option<Vec<Row>> {
    let (constant, form) = p.bits.real()?;
    let (any_constant, any_form) = any.real()?;
    let tolerance = 0.5 * TOLERANCE * p.scale;
    let row = |form, sense, rhs| Row::new(name, form, sense, rhs).within(tolerance);
    let is_safe = |form: &Quadratic, rhs: f64| {
        let is_exact = form.is_integral() && form.magnitude() <= MAX_EXACT as f64;
        f64::EPSILON * (if is_exact { 0.0 } else { form.magnitude() } + rhs.abs()) <= tolerance
    };
    let side = |constant: f64, form: &Quadratic| {
        let m = (constant + form.max()).max(0.0) * (1.0 + TOLERANCE);
        let (guarded, rhs) = (form.plus(&any_form.scaled(-m)), m * any_constant - constant);
        is_safe(&guarded, rhs).then(|| row(guarded, RowSense::LessEqual, rhs))
    };
    let is_unguarded = any_constant == 0.0 && any_form.degree() == 0;
    Some(match p.sense {
        Sense::Equal if is_unguarded => {
            is_safe(&form, constant).then(|| vec![row(form, RowSense::Equal, -constant)])?
        }
        Sense::Equal => vec![side(constant, &form)?, side(-constant, &form.scaled(-1.0))?],
        Sense::AtMost => vec![side(constant, &form)?],
        // A strict comparison of inexact discrete numbers must not be met by rounding.
        Sense::Below => vec![side(constant + 4.0 * tolerance, &form)?],
    })
}
