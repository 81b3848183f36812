//! The normal form: a statement as a conjunction of clauses, a clause as a disjunction of atoms, an atom as a
//! polynomial compared with zero or as a set of values of one parameter.
//!
//! The encoding turns clauses into rows where it can. `max`, `min` and `abs` in a sum become conjunctions or disjunctions
//! of their arguments. What is not a polynomial stays an opaque atom: it can only be evaluated.

use std::collections::BTreeMap;

use super::domain::{Kind, MAX_VALUES};
use super::eval::Evaluator;
use super::expr::{Expr, Link, Node, Relation, Symbol, links, sum};
use super::extremum::Extremum;
use super::interval::{self, Range};
use super::model::{Model, Smoothness, mentions};
use super::number::Number;
use super::point::Setting;
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
pub(crate) enum ZeroRelation {
    AtMost,
    Below,
    Equal,
}

/// A polynomial compared with zero.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Comparison {
    pub polynomial: Polynomial,
    pub relation: ZeroRelation,
    /// The sides of the comparison were at least so large, for its tolerance.
    pub scale: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Atom {
    Compare(Comparison),
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
        // Conditions are written out where they are named, so the limit on the depth of one expression does not help here.
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
            Node::Implies(a, b) => self.implication(a, b, positive),
            Node::Compare(first, rest) => {
                let compared = links(first, rest, positive).map(|link| self.comparison(link));
                joined(positive, compared)
            }
            Node::In(left, values) => self.membership(e, left, values, positive),
            Node::Count(relation, k, statements) => self.comparison(Link {
                left: &sum(statements.iter().cloned()),
                relation: relation.signed(positive),
                right: k,
            }),
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
            Node::Negate(a) => return Some(negated(self.polynomial(a)?)),
            Node::Not(a) => return self.polynomial(a).map(complement),
            Node::Or(parts) => self.disjunction(parts),
            Node::Implies(a, b) => {
                let (premise, failure) = (self.polynomial(a)?, complement(self.polynomial(b)?));
                premise.times(&failure).map(complement)
            }
            Node::Divide(a, b) => {
                let divisor = self.polynomial(b)?;
                self.quotient(a, &divisor)
            }
            Node::Power(a, b) => self.power(a, b),
            _ => None,
        };
        direct.or_else(|| self.unary(e))
    }

    /// Whether a number in the polynomial is not exact.
    fn is_inexact(&self, p: &Polynomial) -> bool {
        let is_real = |n: &Number| matches!(n, Number::Real(_));
        let is_rough = |f: &Factor| match *f {
            Factor::Value(_) => false,
            Factor::Unary(_, function) => self.functions[function].iter().any(is_real),
        };
        let mut terms = p.terms.iter();
        terms.any(|(factors, c)| is_real(c) || factors.iter().any(is_rough))
    }

    /// max(1, least |left|, least |right|) over all values of the parameters. With fixed reals, where small sides have a smaller
    /// tolerance, the sizes of both sides take the place of the 1, if they are smaller: rows may accept a little more than the expression
    /// then, by less than its tolerance where the sides are largest.
    fn scale(&self, left: &Polynomial, right: &Polynomial) -> f64 {
        let least = |p: &Polynomial| interval::least_size(self.range(p));
        let size = |p: &Polynomial| self.ranges(p).map(interval::largest_size).sum::<f64>();
        let floor = if self.fixed.is_some() {
            (size(left) + size(right)).min(1.0)
        } else {
            1.0
        };
        least(left).max(least(right)).max(floor)
    }

    fn range(&self, p: &Polynomial) -> Range {
        self.ranges(p).fold((0.0, 0.0), interval::sum)
    }

    /// The range of each term.
    fn ranges(&self, p: &Polynomial) -> impl Iterator<Item = Range> {
        p.terms.iter().map(|(product, c)| {
            let c = c.to_f64();
            let factors = product.iter().map(|factor| self.factor_range(*factor));
            factors.fold((c, c), interval::product)
        })
    }

    fn factor_range(&self, factor: Factor) -> Range {
        match factor {
            Factor::Value(p) => interval::parameter_range(self.model, p),
            Factor::Unary(_, function) => {
                interval::hull(self.functions[function].iter().map(|n| n.to_f64()))
            }
        }
    }

    /// A comparison of one parameter, as the set of the `n` indices where it holds.
    pub fn members(&self, comparison: &Comparison, n: u64) -> Vec<bool> {
        let holds = |index: u64| {
            let value = self.value_at(&comparison.polynomial, index);
            let ordering = value.compare_beside(Number::ZERO, comparison.scale);
            match comparison.relation {
                ZeroRelation::AtMost => ordering.is_le(),
                ZeroRelation::Below => ordering.is_lt(),
                ZeroRelation::Equal => ordering.is_eq(),
            }
        };
        (0..n).map(holds).collect()
    }

    /// The value of a polynomial in one parameter where that has this index.
    fn value_at(&self, p: &Polynomial, index: u64) -> Number {
        let mut value = Number::ZERO;
        for (product, coefficient) in &p.terms {
            let factors = product.iter().map(|f| self.factor_at(*f, index));
            value = value.plus(factors.fold(*coefficient, Number::times));
        }
        value
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

    fn joined(&mut self, parts: &[Expr], every: bool, positive: bool) -> Clauses {
        joined(every, parts.iter().map(|part| self.clauses(part, positive)))
    }

    fn implication(&mut self, premise: &Expr, conclusion: &Expr, positive: bool) -> Clauses {
        let premise = self.clauses(premise, !positive)?;
        let conclusion = self.clauses(conclusion, positive)?;
        if positive {
            either(&premise, &conclusion)
        } else {
            both(premise, conclusion)
        }
    }

    fn membership(&mut self, e: &Expr, left: &Expr, values: &[Expr], positive: bool) -> Clauses {
        if self.only_parameter(e).is_some() {
            return Ok(self.single(e, positive));
        }
        let relation = Relation::Equal.signed(positive);
        let compared = values.iter().map(|right| {
            self.comparison(Link {
                left,
                relation,
                right,
            })
        });
        joined(!positive, compared)
    }

    /// A statement about one discrete parameter, as the set of values where it holds.
    fn single(&self, e: &Expr, positive: bool) -> Vec<Clause> {
        let tabulated = self
            .only_parameter(e)
            .and_then(|p| Some((p, self.tabulate(e, p)?)));
        let atom = match tabulated {
            Some((p, values)) => {
                let holds = values.iter().map(|v| v.is_zero() != positive);
                Atom::Member(p, holds.collect())
            }
            None => self.opaque(e),
        };
        vec![vec![atom]]
    }

    fn comparison(&mut self, link: Link<'_>) -> Clauses {
        let Link {
            left,
            relation,
            right,
        } = link;
        let is_real = self.model.is_real(left) || self.model.is_real(right);
        if relation == Relation::NotEqual && is_real {
            return Err(NoForm::ExcludedReal);
        }
        let whole = link.statement();
        let sides = self.polynomial(left).zip(self.polynomial(right));
        // Fixed reals may have cancelled out: then the numbers look exact, but the comparison is not.
        let is_exact = |(l, r): &(Polynomial, Polynomial)| {
            self.fixed.is_none() && !self.is_inexact(l) && !self.is_inexact(r)
        };
        if !sides.as_ref().is_some_and(is_exact) && self.only_parameter(&whole).is_some() {
            return Ok(self.single(&whole, true));
        }
        if let Some((l, r)) = sides {
            // From both sides apart: their difference no longer shows how large they were.
            let scale = self.scale(&l, &r);
            return Ok(vec![compare_with_zero(&l.minus(r), relation, scale)]);
        }
        match Extremum::of(left, right) {
            Some(extremum) => self.split(&extremum, relation),
            None => Ok(vec![vec![self.opaque(&whole)]]),
        }
    }

    fn split(&mut self, extremum: &Extremum, relation: Relation) -> Clauses {
        match relation {
            Relation::Equal => {
                let above = self.split_side(extremum, Relation::GreaterEqual)?;
                let below = self.split_side(extremum, Relation::LessEqual)?;
                both(above, below)
            }
            Relation::NotEqual => {
                let above = self.split_side(extremum, Relation::Greater)?;
                let below = self.split_side(extremum, Relation::Less)?;
                either(&above, &below)
            }
            _ => self.split_side(extremum, relation),
        }
    }

    /// The greatest of several lies below zero when each does, and above zero when any does; the least the other way round.
    fn split_side(&mut self, extremum: &Extremum, relation: Relation) -> Clauses {
        let is_below = matches!(
            relation,
            Relation::LessEqual | Relation::Less | Relation::RealAtMost
        );
        let zero = Expr::from(0);
        let compared = extremum.cases.iter().map(|case| {
            self.comparison(Link {
                left: case,
                relation,
                right: &zero,
            })
        });
        joined(extremum.is_maximum == is_below, compared)
    }

    fn opaque(&self, e: &Expr) -> Atom {
        if self.fixed.is_some() {
            return Atom::Opaque(Smoothness::Discrete);
        }
        // A comparison is as smooth as its sides: the statement itself would count as rough.
        let roughest = match &e.node {
            Node::Compare(..) => {
                let sides = e.children().into_iter();
                sides.map(|side| self.model.smoothness(side)).max()
            }
            _ => Some(self.model.smoothness(e)),
        };
        Atom::Opaque(roughest.unwrap_or(Smoothness::Discrete))
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
        let mut terms = terms.iter();
        terms.try_fold(Polynomial::default(), |all, term| {
            Some(all.plus(self.polynomial(term)?))
        })
    }

    fn product(&mut self, parts: &[Expr]) -> Option<Polynomial> {
        let mut parts = parts.iter();
        parts.try_fold(one(), |all, part| all.times(&self.polynomial(part)?))
    }

    /// a or b = 1 - (1 - a)(1 - b)
    fn disjunction(&mut self, parts: &[Expr]) -> Option<Polynomial> {
        let mut parts = parts.iter();
        let none = parts.try_fold(one(), |all, part| {
            all.times(&complement(self.polynomial(part)?))
        });
        none.map(complement)
    }

    fn quotient(&mut self, dividend: &Expr, divisor: &Polynomial) -> Option<Polynomial> {
        let by = Number::ONE.over(divisor.as_constant()?)?;
        Some(self.polynomial(dividend)?.scaled(by))
    }

    fn power(&mut self, base: &Expr, exponent: &Expr) -> Option<Polynomial> {
        let exponent = self.polynomial(exponent)?.as_constant()?.to_integer();
        let n = exponent.filter(|n| (0..=MAX_POWER).contains(n))?;
        let base = self.polynomial(base)?;
        (0..n).try_fold(one(), |power, _| power.times(&base))
    }

    /// Any expression in no parameter is a constant, and in one discrete parameter a function of it.
    fn unary(&mut self, e: &Expr) -> Option<Polynomial> {
        if mentions(e).is_empty() {
            let value = Evaluator::new(self.model, &[], &[]).number(e).ok();
            let defined = value.filter(|n| !n.to_f64().is_nan());
            return defined.map(Polynomial::constant);
        }
        let p = self.only_parameter(e)?;
        let size = self.model.parameters[p].domain.size()?;
        self.work = self.work.checked_sub(usize::try_from(size).ok()?)?;
        // By its values, whatever the expression looks like: codes make a polynomial over bits of every function of an index.
        let values = self.tabulate(e, p)?;
        let function = self.functions.len();
        self.functions.push(values);
        Some(Polynomial::factor(Factor::Unary(p, function)))
    }

    /// The discrete parameter that the expression is about, if it names just one and no definition.
    fn only_parameter(&self, e: &Expr) -> Option<usize> {
        let is_fixed = |s: &Symbol| matches!(s, Symbol::Parameter(p) if self.is_fixed(*p));
        let mut named = mentions(e).into_iter().filter(|s| !is_fixed(s));
        let (Some(Symbol::Parameter(p)), None) = (named.next(), named.next()) else {
            return None;
        };
        let size = self.model.parameters[p].domain.size()?;
        (size <= MAX_VALUES).then_some(p)
    }

    /// The value of the expression at each value of its only parameter; `None` where it has none.
    fn tabulate(&self, e: &Expr, p: usize) -> Option<Vec<Number>> {
        let unset = || vec![None; self.model.parameters.len()];
        let mut settings = self.fixed.map_or_else(unset, <[_]>::to_vec);
        let size = self.model.parameters[p].domain.size()?;
        let values = (0..size).map(|index| {
            settings[p] = Some(Setting::Index(index));
            let value = Evaluator::new(self.model, &settings, &[]).number(e).ok()?;
            (!value.to_f64().is_nan()).then_some(value)
        });
        values.collect()
    }
}

/// p ⋈ 0 with the relations that rows know.
fn compare_with_zero(p: &Polynomial, relation: Relation, scale: f64) -> Clause {
    let plus = |relation| {
        Atom::Compare(Comparison {
            polynomial: p.clone(),
            relation,
            scale,
        })
    };
    let minus = |relation| {
        Atom::Compare(Comparison {
            polynomial: negated(p.clone()),
            relation,
            scale,
        })
    };
    match relation {
        Relation::LessEqual | Relation::RealAtMost => vec![plus(ZeroRelation::AtMost)],
        Relation::Less => vec![plus(ZeroRelation::Below)],
        Relation::GreaterEqual | Relation::RealAtLeast => vec![minus(ZeroRelation::AtMost)],
        Relation::Greater => vec![minus(ZeroRelation::Below)],
        Relation::Equal => vec![plus(ZeroRelation::Equal)],
        Relation::NotEqual => vec![plus(ZeroRelation::Below), minus(ZeroRelation::Below)],
    }
}

fn one() -> Polynomial {
    Polynomial::constant(Number::ONE)
}

fn negated(p: Polynomial) -> Polynomial {
    p.scaled(Number::from(-1))
}

/// 1 - p
fn complement(p: Polynomial) -> Polynomial {
    one().minus(p)
}

/// No clause is true, one empty clause is false.
fn truth(value: bool) -> Vec<Clause> {
    if value { vec![] } else { vec![vec![]] }
}

/// Clauses of parts that must all hold (`every`), or of which any may.
fn joined(every: bool, parts: impl Iterator<Item = Clauses>) -> Clauses {
    let mut all = truth(every);
    for part in parts {
        let part = part?;
        all = if every {
            both(all, part)?
        } else {
            either(&all, &part)?
        };
    }
    Ok(all)
}

fn both(mut a: Vec<Clause>, b: Vec<Clause>) -> Clauses {
    a.extend(b);
    if a.len() > MAX_CLAUSES {
        Err(NoForm::Entangled)
    } else {
        Ok(a)
    }
}

/// Each clause of the one with each of the other.
fn either(a: &[Clause], b: &[Clause]) -> Clauses {
    if a.len().saturating_mul(b.len()) > MAX_CLAUSES {
        return Err(NoForm::Entangled);
    }
    let pairs = a.iter().flat_map(|x| b.iter().map(move |y| (x, y)));
    Ok(pairs.map(|(x, y)| [x.as_slice(), y].concat()).collect())
}
