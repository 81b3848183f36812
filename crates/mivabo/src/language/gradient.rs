//! Statements about reals once the discrete parameters are fixed: an expression and a point enter, differences with
//! their gradients over the unit coordinates leave.
//!
//! Forward automatic differentiation. `max`, `min` and `abs` have the gradient of the argument that decides; roots and
//! powers with an infinite slope at 0 have the slope just beside it. Everything else is exact. Definitions are evaluated once
//! each, inner ones first: chains of them need neither recursion nor copies.

use std::collections::{BTreeMap, BTreeSet};

use super::eval::Evaluator;
use super::expr::{Expr, Function, Node, Relation, Symbol};
use super::interval::{self, Range};
use super::model::{Model, mentions};
use super::normal::extremum;

/// Where a slope is infinite, it is taken this far away.
const ASIDE: f64 = 1e-12;

/// How a real follows from its coordinate u: start + length·u, or the exponential of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Axis {
    pub coordinate: usize,
    pub start: f64,
    pub length: f64,
    pub log: bool,
}

/// A function of the unit coordinates: a term, and before it the definitions that it names, inner ones first.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Formula {
    definitions: Vec<Term>,
    term: Term,
}

#[derive(Debug, Clone, PartialEq)]
enum Term {
    Constant(f64),
    Real(Axis),
    /// By its place among those of the formula.
    Definition(usize),
    Sum(Vec<Term>),
    Product(Vec<Term>),
    Divide(Box<Term>, Box<Term>),
    Power(Box<Term>, Box<Term>),
    Call(Function, Vec<Term>),
}

/// A value and its gradient, which is empty where it vanishes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Dual {
    pub value: f64,
    pub gradient: Vec<f64>,
}

impl Dual {
    fn constant(value: f64) -> Dual {
        Dual {
            value,
            gradient: vec![],
        }
    }

    /// value + Σ slope · inner
    fn chain<'a>(value: f64, inner: impl IntoIterator<Item = (f64, &'a Dual)>) -> Dual {
        let mut gradient: Vec<f64> = Vec::new();
        for (slope, dual) in inner {
            gradient.resize(gradient.len().max(dual.gradient.len()), 0.0);
            for (g, d) in gradient.iter_mut().zip(&dual.gradient) {
                *g += slope * d;
            }
        }
        Dual { value, gradient }
    }
}

impl Formula {
    /// What `of` makes of the term, given what it makes of each definition.
    fn folded<T>(&self, of: impl Fn(&Term, &[T]) -> T) -> T {
        let mut known = Vec::with_capacity(self.definitions.len());
        for definition in &self.definitions {
            known.push(of(definition, &known));
        }
        of(&self.term, &known)
    }

    pub fn dual(&self, x: &[f64]) -> Dual {
        self.folded(|term, known| term.dual(x, known))
    }

    /// 0 for a constant, 1 for an affine function of the coordinates, 2 for anything else.
    pub fn degree(&self) -> usize {
        self.folded(Term::degree)
    }

    /// Bounds over a part of the unit box, one range for each coordinate; perhaps too wide.
    pub fn range(&self, within: &[Range]) -> Range {
        self.folded(|term, known| term.range(within, known))
    }

    /// Whether it has sums, products and the like alone, of which the parts say how large rounding is.
    pub fn is_plain(&self) -> bool {
        self.definitions.iter().all(Term::is_plain) && self.term.is_plain()
    }

    /// The largest absolute value over a part of the unit box, of sums and products that of its parts.
    pub fn size(&self, within: &[Range]) -> f64 {
        let (mut ranges, mut sizes) = (Vec::new(), Vec::new());
        for definition in &self.definitions {
            sizes.push(definition.size(within, (&ranges, &sizes)));
            ranges.push(definition.range(within, &ranges));
        }
        self.term.size(within, (&ranges, &sizes))
    }
}

impl Term {
    fn dual(&self, x: &[f64], known: &[Dual]) -> Dual {
        let all = |parts: &[Term]| {
            parts
                .iter()
                .map(|t| t.dual(x, known))
                .collect::<Vec<Dual>>()
        };
        match self {
            Term::Constant(c) => Dual::constant(*c),
            Term::Real(axis) => {
                let inner = axis.start + axis.length * x[axis.coordinate];
                let value = if axis.log { inner.exp() } else { inner };
                let mut gradient = vec![0.0; x.len()];
                gradient[axis.coordinate] = if axis.log {
                    value * axis.length
                } else {
                    axis.length
                };
                Dual { value, gradient }
            }
            Term::Definition(d) => known[*d].clone(),
            Term::Sum(parts) => {
                let parts = all(parts);
                Dual::chain(
                    parts.iter().map(|d| d.value).sum(),
                    parts.iter().map(|d| (1.0, d)),
                )
            }
            Term::Product(parts) => all(parts).into_iter().fold(Dual::constant(1.0), |a, b| {
                Dual::chain(a.value * b.value, [(b.value, &a), (a.value, &b)])
            }),
            Term::Divide(a, b) => {
                let (a, b) = (a.dual(x, known), b.dual(x, known));
                let value = a.value / b.value;
                Dual::chain(value, [(1.0 / b.value, &a), (-value / b.value, &b)])
            }
            Term::Power(a, b) => power(&a.dual(x, known), &b.dual(x, known)),
            Term::Call(function, parts) => call(*function, &all(parts)),
        }
    }

    fn degree(&self, known: &[usize]) -> usize {
        let each = |parts: &[Term]| {
            parts
                .iter()
                .map(|part| part.degree(known))
                .collect::<Vec<_>>()
        };
        let most = |parts: &[Term]| each(parts).into_iter().max().unwrap_or(0);
        match self {
            Term::Constant(_) => 0,
            Term::Real(axis) => 1 + usize::from(axis.log),
            Term::Definition(d) => known[*d],
            Term::Sum(parts) => most(parts),
            Term::Product(parts) => each(parts).into_iter().sum::<usize>().min(2),
            Term::Divide(a, b) => match b.degree(known) {
                0 => a.degree(known),
                _ => 2,
            },
            Term::Power(a, b) => match **b {
                Term::Constant(1.0) => a.degree(known),
                _ if a.degree(known) + b.degree(known) == 0 => 0,
                _ => 2,
            },
            Term::Call(_, parts) => 2 * most(parts).min(1),
        }
    }

    fn range(&self, within: &[Range], known: &[Range]) -> Range {
        const ALL: Range = (f64::NEG_INFINITY, f64::INFINITY);
        let each = |parts: &[Term]| {
            parts
                .iter()
                .map(|t| t.range(within, known))
                .collect::<Vec<Range>>()
        };
        let range = match self {
            Term::Constant(c) => (*c, *c),
            Term::Real(axis) => {
                let at = |u: f64| axis.start + axis.length * u;
                let (low, high) = (at(within[axis.coordinate].0), at(within[axis.coordinate].1));
                if axis.log {
                    (low.exp(), high.exp())
                } else {
                    (low, high)
                }
            }
            Term::Definition(d) => known[*d],
            Term::Sum(parts) => each(parts)
                .into_iter()
                .fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1)),
            Term::Product(parts) => each(parts).into_iter().fold((1.0, 1.0), interval::product),
            Term::Divide(a, b) => match b.range(within, known) {
                (low, high) if low > 0.0 || high < 0.0 => {
                    interval::product(a.range(within, known), (1.0 / high, 1.0 / low))
                }
                _ => ALL,
            },
            Term::Power(a, b) => {
                interval::power(a.range(within, known), b.range(within, known)).unwrap_or(ALL)
            }
            Term::Call(function, parts) => interval::call(*function, &each(parts)).unwrap_or(ALL),
        };
        if range.0.is_nan() || range.1.is_nan() {
            ALL
        } else {
            range
        }
    }

    fn is_plain(&self) -> bool {
        match self {
            Term::Constant(_) | Term::Real(_) | Term::Definition(_) => true,
            Term::Sum(parts) | Term::Product(parts) => parts.iter().all(Term::is_plain),
            Term::Divide(..) | Term::Power(..) | Term::Call(..) => false,
        }
    }

    fn size(&self, within: &[Range], known: (&[Range], &[f64])) -> f64 {
        match self {
            Term::Sum(parts) => parts.iter().map(|part| part.size(within, known)).sum(),
            Term::Product(parts) => {
                let size: f64 = parts.iter().map(|part| part.size(within, known)).product();
                // Zero times infinity.
                if size.is_nan() { f64::INFINITY } else { size }
            }
            Term::Definition(d) => known.1[*d],
            _ => {
                let (low, high) = self.range(within, known.0);
                low.abs().max(high.abs())
            }
        }
    }
}

fn power(a: &Dual, b: &Dual) -> Dual {
    let value = a.value.powf(b.value);
    let base = if a.value == 0.0 && b.value < 1.0 {
        ASIDE
    } else {
        a.value
    };
    let by_base = if b.value == 0.0 {
        0.0
    } else {
        b.value * base.powf(b.value - 1.0)
    };
    let by_exponent = if b.gradient.is_empty() {
        0.0
    } else {
        value * a.value.max(ASIDE).ln()
    };
    Dual::chain(value, [(by_base, a), (by_exponent, b)])
}

fn call(function: Function, parts: &[Dual]) -> Dual {
    let first = |keep: fn(f64, f64) -> bool| {
        let chosen = parts
            .iter()
            .reduce(|a, b| if keep(b.value, a.value) { b } else { a });
        chosen.cloned().unwrap_or(Dual::constant(0.0))
    };
    let x = &parts[0];
    match function {
        Function::Min => first(|b, a| b < a),
        Function::Max => first(|b, a| b > a),
        Function::Abs => Dual::chain(x.value.abs(), [(x.value.signum(), x)]),
        Function::Exp => Dual::chain(x.value.exp(), [(x.value.exp(), x)]),
        Function::Log => Dual::chain(x.value.ln(), [(1.0 / x.value, x)]),
        Function::Sqrt => Dual::chain(x.value.sqrt(), [(0.5 / x.value.max(ASIDE).sqrt(), x)]),
    }
}

/// small <= large, or small == large.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Comparison {
    pub small: Formula,
    pub large: Formula,
    pub is_equation: bool,
}

/// What a statement asks of the reals: all comparisons at once.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Claim {
    pub comparisons: Vec<Comparison>,
    /// It holds nowhere.
    pub is_false: bool,
    /// There is more to it, which can only be evaluated.
    pub is_opaque: bool,
}

impl Claim {
    fn truth(value: bool) -> Claim {
        Claim {
            is_false: !value,
            ..Claim::default()
        }
    }

    fn opaque() -> Claim {
        Claim {
            is_opaque: true,
            ..Claim::default()
        }
    }

    fn is_true(&self) -> bool {
        !self.is_false && !self.is_opaque && self.comparisons.is_empty()
    }

    fn all(claims: impl IntoIterator<Item = Claim>) -> Claim {
        claims.into_iter().fold(Claim::default(), |mut all, claim| {
            all.comparisons.extend(claim.comparisons);
            all.is_false |= claim.is_false;
            all.is_opaque |= claim.is_opaque;
            all
        })
    }

    /// At fixed bits at most one case over reals is left; the build sees to that.
    fn any(claims: impl IntoIterator<Item = Claim>) -> Claim {
        let mut open: Vec<Claim> = claims.into_iter().filter(|c| !c.is_false).collect();
        if open.iter().any(Claim::is_true) {
            return Claim::default();
        }
        match open.len() {
            0 => Claim::truth(false),
            1 => open.remove(0),
            _ => Claim::opaque(),
        }
    }
}

/// Translates statements at fixed discrete parameters.
pub(crate) struct Translator<'a> {
    pub model: &'a Model,
    /// At the discrete parameters, and any values of the active reals: conditions do not speak of those.
    pub evaluator: &'a Evaluator<'a>,
    /// By parameter.
    pub axes: &'a [Option<Axis>],
}

impl Translator<'_> {
    /// What the statement, or with `positive` unset its negation, asks of the reals.
    pub fn claim(&self, e: &Expr, positive: bool) -> Claim {
        if !self.model.is_real(e) {
            return Claim::truth(self.evaluator.holds(e, positive).unwrap_or(false));
        }
        let join = |claims: Vec<Claim>, every: bool| {
            if every {
                Claim::all(claims)
            } else {
                Claim::any(claims)
            }
        };
        let each = |parts: &[Expr]| {
            parts
                .iter()
                .map(|part| self.claim(part, positive))
                .collect::<Vec<_>>()
        };
        match &e.node {
            Node::And(parts) => join(each(parts), positive),
            Node::Or(parts) => join(each(parts), !positive),
            Node::Not(inner) => self.claim(inner, !positive),
            Node::Implies(a, b) => join(
                vec![self.claim(a, !positive), self.claim(b, positive)],
                !positive,
            ),
            Node::Compare(first, rest) => {
                let lefts = std::iter::once(&**first).chain(rest.iter().map(|(_, right)| right));
                let pairs = lefts.zip(rest).map(|(left, (relation, right))| {
                    let relation = if positive {
                        *relation
                    } else {
                        relation.negated()
                    };
                    self.comparison(left, relation, right)
                });
                join(pairs.collect(), positive)
            }
            Node::In(left, values) if positive => Claim::any(
                values
                    .iter()
                    .map(|value| self.comparison(left, Relation::Equal, value)),
            ),
            Node::Symbol(Symbol::Definition(d), _) => {
                self.claim(&self.model.definitions[*d].expr, positive)
            }
            _ => Claim::opaque(),
        }
    }

    fn comparison(&self, left: &Expr, relation: Relation, right: &Expr) -> Claim {
        let pair = || left.clone().compare(relation, right.clone());
        if !self.model.is_real(left) && !self.model.is_real(right) {
            return self.claim(&pair(), true);
        }
        let (small, large) = match relation.over_reals() {
            Relation::RealAtLeast => (right, left),
            Relation::NotEqual => return Claim::opaque(),
            _ => (left, right),
        };
        let is_equation = relation == Relation::Equal;
        // max(a, b) <= c is two smooth comparisons.
        if let Some(split) = extremum(small, large)
            && split.is_maximum
            && !is_equation
        {
            let zero = Expr::from(0);
            return Claim::all(
                split
                    .cases
                    .iter()
                    .map(|case| self.comparison(case, Relation::RealAtMost, &zero)),
            );
        }
        match self.formula(small).zip(self.formula(large)) {
            Some((small, large)) => Claim {
                comparisons: vec![Comparison {
                    small,
                    large,
                    is_equation,
                }],
                ..Claim::default()
            },
            None => Claim::opaque(),
        }
    }

    fn formula(&self, e: &Expr) -> Option<Formula> {
        let named = mentions(e);
        let closure = if named.iter().any(is_definition) {
            self.model.closure(named)
        } else {
            BTreeSet::new()
        };
        let mut definitions = Vec::new();
        // By definition its place, or none where it has no value here.
        let mut places: BTreeMap<usize, Option<usize>> = BTreeMap::new();
        for symbol in self
            .model
            .order
            .iter()
            .filter(|symbol| closure.contains(symbol))
        {
            let Symbol::Definition(d) = symbol else {
                continue;
            };
            let body = &self.model.definitions[*d].expr;
            let term = if self.model.is_real(body) {
                self.term(body, &places)
            } else {
                None
            };
            let place = term.map(|term| {
                definitions.push(term);
                definitions.len() - 1
            });
            places.insert(*d, place);
        }
        Some(Formula {
            term: self.term(e, &places)?,
            definitions,
        })
    }

    fn term(&self, e: &Expr, places: &BTreeMap<usize, Option<usize>>) -> Option<Term> {
        if !self.model.is_real(e) {
            return self
                .evaluator
                .number(e)
                .ok()
                .map(|n| Term::Constant(n.to_f64()));
        }
        let all = |parts: &[Expr]| {
            parts
                .iter()
                .map(|part| self.term(part, places))
                .collect::<Option<Vec<_>>>()
        };
        let boxed = |part: &Expr| self.term(part, places).map(Box::new);
        Some(match &e.node {
            Node::Symbol(Symbol::Parameter(p), _) => Term::Real(self.axes[*p]?),
            Node::Symbol(Symbol::Definition(d), _) => Term::Definition((*places.get(d)?)?),
            Node::Sum(parts) => Term::Sum(all(parts)?),
            Node::Product(parts) => Term::Product(all(parts)?),
            Node::Negate(a) => Term::Product(vec![Term::Constant(-1.0), self.term(a, places)?]),
            Node::Divide(a, b) => Term::Divide(boxed(a)?, boxed(b)?),
            Node::Power(a, b) => Term::Power(boxed(a)?, boxed(b)?),
            Node::Call(function, parts) => Term::Call(*function, all(parts)?),
            _ => return None,
        })
    }
}

fn is_definition(symbol: &Symbol) -> bool {
    matches!(symbol, Symbol::Definition(_))
}
