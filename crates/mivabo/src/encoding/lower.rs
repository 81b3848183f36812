//! One part of a constraint as rows or a table over the bits, which hold on a code exactly when the statement holds at
//! its point or does not apply there.
//!
//! A clause with more than one comparison that is not a literal, or with an opaque atom, sends its part to a table.
//! So does a quadratic equation: a table propagates exactly, an equation only by intervals.

use mivabo_bqp::{Row, RowRelation, Table};

use super::bits::BitPolynomial;
use super::part::{Context, Part, Scope};
use super::rows::{Compared, clause_rows};
use super::table::{Enumeration, Refusal};
use crate::encoding::Error;
use crate::language::domain::MAX_VALUES;
use crate::language::expr::{Expr, Node};
use crate::language::interval;
use crate::language::model::{Class, Constraint};
use crate::language::normal::{Atom, Clause, Comparison, NoForm, Normaliser};
use crate::language::number::Number;
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
    pub fn of_rows(rows: Vec<Row>) -> Lowered {
        Lowered {
            rows,
            tables: vec![],
        }
    }

    pub fn of_table(table: Table) -> Lowered {
        Lowered {
            rows: vec![],
            tables: vec![table],
        }
    }

    pub fn extend(&mut self, other: Lowered) {
        self.rows.extend(other.rows);
        self.tables.extend(other.tables);
    }
}

/// What enforces a statement, and how it is classified.
pub(crate) struct Enforced {
    pub lowered: Lowered,
    pub class: Class,
}

/// Lowers one part of a constraint.
pub(crate) fn enforce(
    context: Context<'_>,
    constraint: &Constraint,
    part: &Expr,
) -> Result<Enforced, Error> {
    let scope = Scope::new(context.model, constraint, part);
    let conditions = context.model.conditions(&constraint.requires);
    let part = Part {
        name: &constraint.name,
        expr: part,
        conditions: &conditions,
    };
    Lowering::new(context).part(part, &scope)
}

/// Turns statements into rows and tables.
pub(crate) struct Lowering<'a> {
    context: Context<'a>,
    normaliser: Normaliser<'a>,
}

impl<'a> Lowering<'a> {
    pub fn new(context: Context<'a>) -> Lowering<'a> {
        Lowering {
            context,
            normaliser: Normaliser::new(context.model, context.fixed),
        }
    }

    /// Rows where the normal form allows, otherwise the table of all combinations.
    fn part(&mut self, part: Part<'_>, scope: &Scope) -> Result<Enforced, Error> {
        let guarded = part.guarded();
        let clauses = self.normaliser.clauses(&guarded, true);
        // Not a case for a table: over reals the statement has no meaning.
        if clauses == Err(NoForm::ExcludedReal) {
            return Err(Error::of_no_form(NoForm::ExcludedReal, part.name));
        }
        let clauses = clauses.ok().filter(|_| !self.overflows(&guarded));
        let rows = clauses.and_then(|clauses| self.rows(part.name, &clauses));
        let class = self.class(part.expr, rows.is_some());
        let lowered = match rows {
            Some(rows) if !self.prefers_table(&rows, part) => Lowered::of_rows(rows),
            rows => self.table_or(rows, part, scope)?,
        };
        Ok(Enforced { lowered, class })
    }

    /// The table, or rows where there would be too many combinations.
    fn table_or(
        &self,
        rows: Option<Vec<Row>>,
        part: Part<'_>,
        scope: &Scope,
    ) -> Result<Lowered, Error> {
        let enumeration = Enumeration {
            context: self.context,
            part,
            scope,
        };
        match (enumeration.table(), rows) {
            (Ok(table), _) => Ok(Lowered::of_table(table)),
            // Rows enforce it too, only with weaker propagation or a tolerance of their own.
            (Err(Refusal::TooLarge(_)), Some(rows)) => Ok(Lowered::of_rows(rows)),
            (Err(refusal), _) => Err(refusal.into()),
        }
    }

    /// Whether numbers on the way may be too large for exact arithmetic. What comes out then depends on the order of
    /// operations, which the normal form changes: only a table says what the expression says.
    fn overflows(&self, statement: &Expr) -> bool {
        let is_free = self.context.fixed.is_none();
        is_free && interval::largest(self.context.model, statement) > LARGEST_EXACT
    }

    /// A quadratic row propagates by intervals only, and a row of discrete numbers that are not exact has a tolerance
    /// of its own: an equation, a case or such a row is better off with a table, which is exact.
    fn prefers_table(&self, rows: &[Row], part: Part<'_>) -> bool {
        let is_quadratic = rows.iter().any(|row| !row.is_linear());
        let is_equation =
            rows.len() > 1 || rows.iter().any(|row| row.relation() == RowRelation::Equal);
        let is_free = self.context.fixed.is_none();
        let is_inexact = is_free && rows.iter().any(|row| row.tolerance() > 0.0);
        is_quadratic && (is_equation || !part.conditions.is_empty()) || is_inexact
    }

    /// The clauses of a statement, if it has a normal form.
    pub fn clauses(&mut self, e: &Expr) -> Option<Vec<Clause>> {
        self.normaliser.clauses(e, true).ok()
    }

    /// Rows that let a clause be false only where every literal is; `None` when a clause is not a row.
    fn rows(&self, name: &str, clauses: &[Clause]) -> Option<Vec<Row>> {
        let mut rows = Vec::new();
        for clause in clauses {
            rows.extend(self.clause(name, clause, None)?);
        }
        Some(rows)
    }

    /// The rows of a clause joined with a further literal.
    pub fn clause(
        &self,
        name: &str,
        clause: &Clause,
        literal: Option<&BitPolynomial>,
    ) -> Option<Vec<Row>> {
        let mut any = BitPolynomial::default();
        if let Some(literal) = literal {
            any.add_scaled(literal, Number::ONE);
        }
        let mut compared: Option<Compared> = None;
        for atom in clause {
            match self.atom(atom)? {
                Meaning::True => return Some(vec![]),
                Meaning::False => {}
                Meaning::Literal(literal) => any.add_scaled(&literal, Number::ONE),
                Meaning::Compare(p) if compared.is_none() => compared = Some(p),
                // Either of two comparisons may fail: one row cannot say that.
                Meaning::Compare(_) => return None,
            }
        }
        clause_rows(name, compared.as_ref(), &any.merged())
    }

    fn atom(&self, atom: &Atom) -> Option<Meaning> {
        match atom {
            Atom::Opaque(_) => None,
            Atom::Member(p, members) => self.members(*p, members),
            Atom::Compare(comparison) => self
                .single(comparison)
                .or_else(|| self.compared(comparison)),
        }
    }

    /// A comparison of one discrete parameter, as the set of its values: literals need no big-M.
    fn single(&self, comparison: &Comparison) -> Option<Meaning> {
        let named = comparison.polynomial.parameters();
        let (Some(only), 1) = (named.first(), named.len()) else {
            return None;
        };
        let size = self.context.model.parameters[*only].domain.size()?;
        if size > MAX_VALUES {
            return None;
        }
        self.members(*only, &self.normaliser.members(comparison, size))
    }

    fn compared(&self, comparison: &Comparison) -> Option<Meaning> {
        let bits = self.bits(&comparison.polynomial)?;
        if bits.degree() > 2 {
            return None;
        }
        Some(Meaning::Compare(Compared {
            bits,
            relation: comparison.relation,
            scale: comparison.scale,
        }))
    }

    fn members(&self, p: usize, members: &[bool]) -> Option<Meaning> {
        if !members.contains(&true) {
            return Some(Meaning::False);
        }
        if !members.contains(&false) {
            return Some(Meaning::True);
        }
        let code = self.context.codes[p].as_ref()?;
        code.indicator(members).map(Meaning::Literal)
    }

    /// A polynomial over parameters as one over their bits.
    fn bits(&self, p: &Polynomial) -> Option<BitPolynomial> {
        let mut total = BitPolynomial::default();
        for (product, coefficient) in &p.terms {
            let term = self.term_bits(product, *coefficient)?;
            total.add_scaled(&term, Number::ONE);
        }
        Some(total.merged())
    }

    fn term_bits(&self, product: &[Factor], coefficient: Number) -> Option<BitPolynomial> {
        let mut term = BitPolynomial::constant(coefficient);
        for factor in product {
            let bits = self.factor_bits(*factor)?;
            // A multiple is cheap and has no limit on its terms.
            term = match only_constant(&term) {
                Some(c) => bits.scaled(c),
                None => term.times(&bits)?,
            };
        }
        Some(term)
    }

    fn factor_bits(&self, factor: Factor) -> Option<BitPolynomial> {
        let code = self.context.codes[factor.parameter()].as_ref()?;
        Some(match factor {
            Factor::Value(p) => code.value(&self.context.model.parameters[p].domain),
            Factor::Unary(..) => code.function(|index| self.normaliser.factor_at(factor, index)),
        })
    }

    /// The class of a statement over discrete parameters.
    fn class(&mut self, e: &Expr, is_rows: bool) -> Class {
        let Node::Compare(..) = &e.node else {
            return if is_rows { Class::Logic } else { Class::Table };
        };
        let clauses = self.clauses(e).unwrap_or_default();
        let [clause] = clauses.as_slice() else {
            return Class::Table;
        };
        match clause.as_slice() {
            [Atom::Member(..)] if is_rows => Class::Logic,
            [Atom::Compare(comparison)] => class_of_degree(comparison.polynomial.degree()),
            _ => Class::Table,
        }
    }
}

/// The class of a comparison of discrete parameters.
fn class_of_degree(degree: usize) -> Class {
    match degree {
        0 => Class::Logic,
        1 => Class::LinearDiscrete,
        2 => Class::QuadraticDiscrete,
        _ => Class::Table,
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

fn only_constant(p: &BitPolynomial) -> Option<Number> {
    (p.linear.is_empty() && p.higher.is_empty()).then(|| p.constant_term())
}
