//! The normal form: a statement as a conjunction of clauses, a clause as a disjunction of atoms, an atom as a
//! polynomial compared with zero or as a set of values of one parameter.
//!
//! Enters: a resolved expression. Leaves: clauses for the encoding, which turns them into rows where it can.
//! `max`, `min` and `abs` in a sum become conjunctions or disjunctions of their arguments. What is no polynomial
//! stays an opaque atom: it can only be evaluated.

use std::collections::BTreeMap;

use super::domain::{Kind, MAX_VALUES};
use super::eval::{Evaluator, Setting};
use super::expr::{Expr, Function, Node, Relation, Symbol, sum};
use super::interval::{self, Range};
use super::model::{Model, Smoothness, mentions};
use super::number::Number;
use super::polynomial::{Factor, Polynomial};

/// Statements with more clauses than this are enforced by a table instead.
const MAX_CLAUSES: usize = 256;

/// Subexpressions looked at before a statement is given up as too entangled.
const MAX_WORK: usize = 200_000;

/// How deep definitions of conditions may be nested before a statement is given up.
const MAX_RECURSION: usize = 400;

/// The highest constant power that is multiplied out.
const MAX_POWER: i64 = 8;

/// How a polynomial compares with zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sense {
    AtMost,
    Below,
    Equal,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Atom {
    /// The polynomial compares so with zero. The sides of the comparison were at least so large, for its tolerance.
    Compare(Polynomial, Sense, f64),
    /// The parameter has one of the values whose index is marked.
    Member(usize, Vec<bool>),
    /// A statement that can only be evaluated.
    Opaque(Smoothness),
}

/// A disjunction; empty, it is false.
pub(crate) type Clause = Vec<Atom>;

/// Why there is no normal form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoForm {
    /// Too many clauses.
    Entangled,
    /// A single real value is excluded, which has no meaning up to a tolerance.
    ExcludedReal,
}

type Clauses = Result<Vec<Clause>, NoForm>;

/// Brings statements into normal form.
pub(crate) struct Normaliser<'a> {
    model: &'a Model,
    /// Values of continuous parameters that are held fixed.
    fixed: Option<&'a [Option<Setting>]>,
    /// Functions of one parameter, by the index of its value.
    pub functions: Vec<Vec<Number>>,
    /// The definitions looked at so far, and the polynomials that they are.
    definitions: BTreeMap<usize, Option<Polynomial>>,
    work: usize,
    depth: usize,
}

impl<'a> Normaliser<'a> {
    pub fn new(model: &'a Model, fixed: Option<&'a [Option<Setting>]>) -> Normaliser<'a> {
        Normaliser {
            model,
            fixed,
            functions: Vec::new(),
            definitions: BTreeMap::new(),
            work: MAX_WORK,
            depth: 0,
        }
    }

    /// The clauses of the statement, or with `positive` unset, of its negation.
    pub fn clauses(&mut self, e: &Expr, positive: bool) -> Clauses {
        self.work = self.work.checked_sub(1).ok_or(NoForm::Entangled)?;
        self.depth += 1;
        let clauses = if self.depth > MAX_RECURSION {
            Err(NoForm::Entangled)
        } else {
            self.clauses_of(e, positive)
        };
        self.depth -= 1;
        clauses
    }

    fn clauses_of(&mut self, e: &Expr, positive: bool) -> Clauses {
        match &e.node {
            Node::Bool(b) => Ok(truth(*b == positive)),
            Node::Not(inner) => self.clauses(inner, !positive),
            Node::And(parts) => self.joined(parts, positive, positive),
            Node::Or(parts) => self.joined(parts, !positive, positive),
            Node::Implies(a, b) => {
                let (premise, conclusion) =
                    (self.clauses(a, !positive)?, self.clauses(b, positive)?);
                if positive {
                    either(&premise, &conclusion)
                } else {
                    both(premise, conclusion)
                }
            }
            Node::Compare(first, rest) => self.chain(first, rest, positive),
            Node::In(left, values) => self.membership(e, left, values, positive),
            Node::Count(relation, k, statements) => {
                let relation = if positive {
                    *relation
                } else {
                    relation.negated()
                };
                self.comparison(&sum(statements.iter().cloned()), relation, k)
            }
            Node::Symbol(Symbol::Definition(d), _) => {
                let body = &self.model.definitions[*d].expr;
                self.clauses(body, positive)
            }
            Node::Symbol(Symbol::Parameter(_), _) => Ok(self.single(e, positive)),
            _ => Ok(vec![vec![self.opaque(e)]]),
        }
    }

    /// The expression as a polynomial, if it is one.
    pub fn polynomial(&mut self, e: &Expr) -> Option<Polynomial> {
        self.work = self.work.checked_sub(1)?;
        let direct = match &e.node {
            Node::Number(n) => Some(Polynomial::constant(*n)),
            Node::Bool(b) => Some(Polynomial::constant((*b).into())),
            Node::Symbol(Symbol::Parameter(p), _) => self.parameter(*p),
            Node::Symbol(Symbol::Definition(d), _) => self.definition(*d),
            Node::Sum(terms) => self.sum(terms),
            Node::Product(parts) | Node::And(parts) => self.product(parts),
            Node::Negate(a) => Some(self.polynomial(a)?.scaled(Number::from(-1))),
            Node::Not(a) => Some(complement(self.polynomial(a)?)),
            Node::Or(parts) => self.disjunction(parts),
            Node::Implies(a, b) => {
                let (premise, failure) = (self.polynomial(a)?, complement(self.polynomial(b)?));
                premise.times(&failure).map(complement)
            }
            Node::Divide(a, b) => {
                let by = self
                    .polynomial(b)?
                    .as_constant()
                    .and_then(|n| Number::ONE.over(n));
                by.and_then(|by| Some(self.polynomial(a)?.scaled(by)))
            }
            Node::Power(a, b) => self.power(a, b),
            _ => None,
        };
        direct.or_else(|| self.unary(e))
    }

    /// Whether a number in the polynomial is not exact.
    fn is_inexact(&self, p: &Polynomial) -> bool {
        let is_real = |n: &Number| matches!(n, Number::Real(_));
        let is_rough =
            |f: &Factor| matches!(*f, Factor::Unary(_, i) if self.functions[i].iter().any(is_real));
        p.terms
            .iter()
            .any(|(factors, c)| is_real(c) || factors.iter().any(is_rough))
    }

    /// max(1, least |left|, least |right|) over all values of the parameters. With fixed reals, where small sides have a smaller
    /// tolerance, the sizes of both sides take the place of the 1, if they are smaller: rows may accept a little more than the expression
    /// then, by less than its tolerance where the sides are largest.
    fn scale(&self, left: &Polynomial, right: &Polynomial) -> f64 {
        let least = |p: &Polynomial| match self.range(p) {
            (low, high) if low <= 0.0 && high >= 0.0 => 0.0,
            (low, high) => low.abs().min(high.abs()),
        };
        let size = |p: &Polynomial| {
            self.ranges(p)
                .map(|(low, high)| low.abs().max(high.abs()))
                .sum::<f64>()
        };
        let floor = if self.fixed.is_some() {
            (size(left) + size(right)).min(1.0)
        } else {
            1.0
        };
        least(left).max(least(right)).max(floor)
    }

    fn range(&self, p: &Polynomial) -> Range {
        self.ranges(p)
            .fold((0.0, 0.0), |sum, term| (sum.0 + term.0, sum.1 + term.1))
    }

    /// The range of each term.
    fn ranges(&self, p: &Polynomial) -> impl Iterator<Item = Range> {
        let factor = |f: &Factor| match *f {
            Factor::Value(p) => interval::parameter_range(self.model, p),
            Factor::Unary(_, function) => {
                interval::hull(self.functions[function].iter().map(|n| n.to_f64()))
            }
        };
        p.terms.iter().map(move |(product, c)| {
            let c = c.to_f64();
            product.iter().map(factor).fold((c, c), interval::product)
        })
    }

    /// A polynomial with one parameter, as the set of the `n` indices where it compares as asked.
    pub fn members(&self, p: &Polynomial, (sense, scale): (Sense, f64), n: u64) -> Vec<bool> {
        (0..n)
            .map(|index| {
                let value = p
                    .terms
                    .iter()
                    .fold(Number::ZERO, |acc, (product, coefficient)| {
                        acc.plus(
                            product
                                .iter()
                                .fold(*coefficient, |acc, f| acc.times(self.factor_at(*f, index))),
                        )
                    });
                let ordering = value.compare_beside(Number::ZERO, scale);
                match sense {
                    Sense::AtMost => ordering.is_le(),
                    Sense::Below => ordering.is_lt(),
                    Sense::Equal => ordering.is_eq(),
                }
            })
            .collect()
    }

    /// The value of a factor where its parameter has this index.
    pub fn factor_at(&self, factor: Factor, index: u64) -> Number {
        match factor {
            Factor::Value(p) => self.model.parameters[p]
                .domain
                .number(index)
                .unwrap_or(Number::ZERO),
            Factor::Unary(_, function) => usize::try_from(index)
                .ok()
                .and_then(|i| self.functions[function].get(i).copied())
                .unwrap_or(Number::ZERO),
        }
    }

    fn joined(&mut self, parts: &[Expr], conjunction: bool, positive: bool) -> Clauses {
        let mut all = truth(conjunction);
        for part in parts {
            let next = self.clauses(part, positive)?;
            all = if conjunction {
                both(all, next)?
            } else {
                either(&all, &next)?
            };
        }
        Ok(all)
    }

    fn chain(&mut self, first: &Expr, rest: &[(Relation, Expr)], positive: bool) -> Clauses {
        let mut all = truth(positive);
        let mut left = first;
        for (relation, right) in rest {
            let relation = if positive {
                *relation
            } else {
                relation.negated()
            };
            let next = self.comparison(left, relation, right)?;
            all = if positive {
                both(all, next)?
            } else {
                either(&all, &next)?
            };
            left = right;
        }
        Ok(all)
    }

    fn membership(&mut self, e: &Expr, left: &Expr, values: &[Expr], positive: bool) -> Clauses {
        if self.only_parameter(e).is_some() {
            return Ok(self.single(e, positive));
        }
        let relation = if positive {
            Relation::Equal
        } else {
            Relation::NotEqual
        };
        let mut all = truth(!positive);
        for value in values {
            let next = self.comparison(left, relation, value)?;
            all = if positive {
                either(&all, &next)?
            } else {
                both(all, next)?
            };
        }
        Ok(all)
    }

    /// A statement about one discrete parameter, as the set of values where it holds.
    fn single(&self, e: &Expr, positive: bool) -> Vec<Clause> {
        let atom = match self
            .only_parameter(e)
            .and_then(|p| Some((p, self.tabulate(e, p)?)))
        {
            Some((p, values)) => {
                Atom::Member(p, values.iter().map(|v| v.is_zero() != positive).collect())
            }
            None => self.opaque(e),
        };
        vec![vec![atom]]
    }

    fn comparison(&mut self, left: &Expr, relation: Relation, right: &Expr) -> Clauses {
        if relation == Relation::NotEqual && (self.model.is_real(left) || self.model.is_real(right))
        {
            return Err(NoForm::ExcludedReal);
        }
        let whole = left.clone().compare(relation, right.clone());
        let sides = self.polynomial(left).zip(self.polynomial(right));
        // Fixed reals may have cancelled out: then the numbers look exact, but the comparison is not.
        let is_exact = |(l, r): &(Polynomial, Polynomial)| {
            self.fixed.is_none() && !self.is_inexact(l) && !self.is_inexact(r)
        };
        if !sides.as_ref().is_some_and(is_exact) && self.only_parameter(&whole).is_some() {
            return Ok(self.single(&whole, true));
        }
        if let Some((l, r)) = sides {
            let scale = self.scale(&l, &r);
            return Ok(vec![compare_with_zero(l.minus(r), relation, scale)]);
        }
        match extremum(left, right) {
            Some(split) => self.split(&split, relation),
            None => Ok(vec![vec![self.opaque(&whole)]]),
        }
    }

    /// rest + k·max(a, b) <= 0 holds for k > 0 when it holds with each argument, and for k < 0 with any.
    fn split(&mut self, split: &Extremum, relation: Relation) -> Clauses {
        let (above, below) = match relation {
            Relation::LessEqual | Relation::Less | Relation::RealAtMost => (None, Some(relation)),
            Relation::GreaterEqual | Relation::Greater | Relation::RealAtLeast => {
                (Some(relation), None)
            }
            Relation::Equal => (Some(Relation::GreaterEqual), Some(Relation::LessEqual)),
            Relation::NotEqual => (Some(Relation::Greater), Some(Relation::Less)),
        };
        let mut all: Option<Vec<Clause>> = None;
        for (relation, grows) in [(above, false), (below, true)] {
            let Some(relation) = relation else { continue };
            let conjunction = split.is_maximum == grows;
            let mut side = truth(conjunction);
            for case in &split.cases {
                let next = self.comparison(case, relation, &Expr::from(0))?;
                side = if conjunction {
                    both(side, next)?
                } else {
                    either(&side, &next)?
                };
            }
            all = Some(match all {
                None => side,
                Some(other) if matches!(above, Some(Relation::Greater)) && below.is_some() => {
                    either(&other, &side)?
                }
                Some(other) => both(other, side)?,
            });
        }
        Ok(all.unwrap_or_default())
    }

    fn opaque(&self, e: &Expr) -> Atom {
        let smoothness = match &e.node {
            _ if self.fixed.is_some() => Smoothness::Discrete,
            Node::Compare(..) => {
                let sides = e
                    .children()
                    .into_iter()
                    .map(|side| self.model.smoothness(side));
                sides.max().unwrap_or(Smoothness::Discrete)
            }
            _ => self.model.smoothness(e),
        };
        Atom::Opaque(smoothness)
    }

    fn is_fixed(&self, p: usize) -> bool {
        self.fixed.is_some() && self.model.is_continuous(p)
    }

    fn parameter(&mut self, p: usize) -> Option<Polynomial> {
        if let Some(fixed) = self.fixed
            && self.model.is_continuous(p)
            && let Some(Setting::Real(x)) = fixed[p]
        {
            return Some(Polynomial::constant(Number::Real(x)));
        }
        let domain = &self.model.parameters[p].domain;
        (domain.kind() != Kind::Label).then(|| Polynomial::factor(Factor::Value(p)))
    }

    fn definition(&mut self, d: usize) -> Option<Polynomial> {
        if !self.definitions.contains_key(&d) {
            // Inner ones first, so that a long chain of definitions is not a deep recursion.
            let closure = self.model.closure([Symbol::Definition(d)]);
            for inner in self.model.definitions_of(&closure) {
                if !self.definitions.contains_key(&inner) {
                    let body = self.polynomial(&self.model.definitions[inner].expr);
                    self.definitions.insert(inner, body);
                }
            }
        }
        self.definitions.get(&d).cloned().flatten()
    }

    fn sum(&mut self, terms: &[Expr]) -> Option<Polynomial> {
        terms.iter().try_fold(Polynomial::default(), |acc, t| {
            Some(acc.plus(self.polynomial(t)?))
        })
    }

    fn product(&mut self, parts: &[Expr]) -> Option<Polynomial> {
        let one = Polynomial::constant(Number::ONE);
        parts
            .iter()
            .try_fold(one, |acc, part| acc.times(&self.polynomial(part)?))
    }

    /// a or b = 1 - (1 - a)(1 - b)
    fn disjunction(&mut self, parts: &[Expr]) -> Option<Polynomial> {
        let one = Polynomial::constant(Number::ONE);
        let none = parts.iter().try_fold(one, |acc, part| {
            acc.times(&complement(self.polynomial(part)?))
        });
        none.map(complement)
    }

    fn power(&mut self, base: &Expr, exponent: &Expr) -> Option<Polynomial> {
        let n = self
            .polynomial(exponent)?
            .as_constant()?
            .to_integer()
            .filter(|n| (0..=MAX_POWER).contains(n))?;
        let base = self.polynomial(base)?;
        (0..n).try_fold(Polynomial::constant(Number::ONE), |acc, _| acc.times(&base))
    }

    /// Any expression in no parameter is a constant, and in one discrete parameter a function of it.
    fn unary(&mut self, e: &Expr) -> Option<Polynomial> {
        if mentions(e).is_empty() {
            let value = Evaluator::new(self.model, &[], &[]).number(e).ok();
            return value
                .filter(|n| !n.to_f64().is_nan())
                .map(Polynomial::constant);
        }
        let p = self.only_parameter(e)?;
        let size = self.model.parameters[p]
            .domain
            .size()
            .and_then(|n| usize::try_from(n).ok())?;
        self.work = self.work.checked_sub(size)?;
        let values = self.tabulate(e, p)?;
        self.functions.push(values);
        Some(Polynomial::factor(Factor::Unary(
            p,
            self.functions.len() - 1,
        )))
    }

    /// The discrete parameter that the expression is about, if it names just one and no definition.
    fn only_parameter(&self, e: &Expr) -> Option<usize> {
        let is_fixed = |s: &Symbol| matches!(s, Symbol::Parameter(p) if self.is_fixed(*p));
        let mut named = mentions(e).into_iter().filter(|s| !is_fixed(s));
        let (Some(Symbol::Parameter(p)), None) = (named.next(), named.next()) else {
            return None;
        };
        self.model.parameters[p]
            .domain
            .size()
            .filter(|n| *n <= MAX_VALUES)
            .map(|_| p)
    }

    /// The value of the expression at each value of its only parameter; `None` where it has none.
    fn tabulate(&self, e: &Expr, p: usize) -> Option<Vec<Number>> {
        let mut settings = self
            .fixed
            .map_or_else(|| vec![None; self.model.parameters.len()], <[_]>::to_vec);
        let size = self.model.parameters[p].domain.size()?;
        (0..size)
            .map(|index| {
                settings[p] = Some(Setting::Index(index));
                Evaluator::new(self.model, &settings, &[])
                    .number(e)
                    .ok()
                    .filter(|n| !n.to_f64().is_nan())
            })
            .collect()
    }
}

/// p ⋈ 0 with the relations that rows know.
fn compare_with_zero(p: Polynomial, relation: Relation, scale: f64) -> Clause {
    let minus = |p: Polynomial| p.scaled(Number::from(-1));
    let atom = |p, sense| Atom::Compare(p, sense, scale);
    match relation {
        Relation::LessEqual | Relation::RealAtMost => vec![atom(p, Sense::AtMost)],
        Relation::Less => vec![atom(p, Sense::Below)],
        Relation::GreaterEqual | Relation::RealAtLeast => vec![atom(minus(p), Sense::AtMost)],
        Relation::Greater => vec![atom(minus(p), Sense::Below)],
        Relation::Equal => vec![atom(p, Sense::Equal)],
        Relation::NotEqual => {
            vec![atom(p.clone(), Sense::Below), atom(minus(p), Sense::Below)]
        }
    }
}

fn complement(p: Polynomial) -> Polynomial {
    Polynomial::constant(Number::ONE).minus(p)
}

/// No clause is true, one empty clause is false.
fn truth(value: bool) -> Vec<Clause> {
    if value { vec![] } else { vec![vec![]] }
}

fn both(mut a: Vec<Clause>, b: Vec<Clause>) -> Clauses {
    a.extend(b);
    if a.len() > MAX_CLAUSES {
        Err(NoForm::Entangled)
    } else {
        Ok(a)
    }
}

fn either(a: &[Clause], b: &[Clause]) -> Clauses {
    if a.len().saturating_mul(b.len()) > MAX_CLAUSES {
        return Err(NoForm::Entangled);
    }
    Ok(a.iter()
        .flat_map(|x| b.iter().map(move |y| [x.as_slice(), y].concat()))
        .collect())
}

/// left - right with its first `max`, `min` or `abs` replaced by each of its arguments in turn.
pub(crate) struct Extremum {
    pub cases: Vec<Expr>,
    /// Whether the sum is the greatest of the cases, or else the least.
    pub is_maximum: bool,
}

pub(crate) fn extremum(left: &Expr, right: &Expr) -> Option<Extremum> {
    let mut terms = Vec::new();
    linear_terms(left, Number::ONE, &mut terms);
    linear_terms(right, Number::from(-1), &mut terms);
    let at = terms.iter().position(|(_, e)| {
        matches!(
            e.node,
            Node::Call(Function::Max | Function::Min | Function::Abs, _)
        )
    })?;
    let (factor, call) = terms.remove(at);
    let Node::Call(function, arguments) = call.node else {
        return None;
    };
    let arguments = match function {
        Function::Abs => vec![arguments[0].clone(), -arguments[0].clone()],
        _ => arguments,
    };
    let rest = sum(terms.into_iter().map(|(k, e)| Expr::number(k) * e));
    let cases = arguments
        .into_iter()
        .map(|a| rest.clone() + Expr::number(factor) * a)
        .collect();
    Some(Extremum {
        cases,
        is_maximum: (function != Function::Min) != factor.is_negative(),
    })
}

/// Takes sums, negations and constant multiples apart.
fn linear_terms(e: &Expr, factor: Number, terms: &mut Vec<(Number, Expr)>) {
    match &e.node {
        Node::Sum(parts) => parts
            .iter()
            .for_each(|part| linear_terms(part, factor, terms)),
        Node::Negate(inner) => linear_terms(inner, factor.negated(), terms),
        Node::Product(parts) if parts.len() == 2 => match (&parts[0].node, &parts[1].node) {
            (Node::Number(k), _) => linear_terms(&parts[1], factor.times(*k), terms),
            (_, Node::Number(k)) => linear_terms(&parts[0], factor.times(*k), terms),
            _ => terms.push((factor, e.clone())),
        },
        Node::Divide(a, b) => match &b.node {
            Node::Number(k) if !k.is_zero() => {
                linear_terms(a, factor.over(*k).unwrap_or(Number::ZERO), terms);
            }
            _ => terms.push((factor, e.clone())),
        },
        _ => terms.push((factor, e.clone())),
    }
}
