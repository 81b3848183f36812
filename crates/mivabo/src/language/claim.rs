//! What statements ask of the reals once the discrete parameters are fixed: comparisons of functions of the coordinates.

use std::collections::{BTreeMap, BTreeSet};

use super::eval::Evaluator;
use super::expr::{Expr, Link, Node, Relation, Symbol, links};
use super::extremum::Extremum;
use super::formula::{Axis, Formula, Term};
use super::model::{Model, mentions};

/// small <= large, or small == large.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RealComparison {
    pub small: Formula,
    pub large: Formula,
    pub is_equation: bool,
}

/// What a statement asks of the reals: all comparisons at once.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Claim {
    pub comparisons: Vec<RealComparison>,
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

    /// All of them at once (`every`), or any of them.
    fn joined(every: bool, claims: Vec<Claim>) -> Claim {
        if every {
            Claim::all(claims)
        } else {
            Claim::any(claims)
        }
    }

    fn all(claims: impl IntoIterator<Item = Claim>) -> Claim {
        claims.into_iter().fold(Claim::default(), |mut all, claim| {
            all.comparisons.extend(claim.comparisons);
            all.is_false |= claim.is_false;
            all.is_opaque |= claim.is_opaque;
            all
        })
    }

    /// At most one case over reals is left at fixed bits: the build refuses clauses with two.
    fn any(claims: impl IntoIterator<Item = Claim>) -> Claim {
        // What is false is no alternative, and what is true leaves nothing to ask.
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

/// By definition its place in the formula, or none where it has no value here.
type Places = BTreeMap<usize, Option<usize>>;

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
        // Its value is settled by the discrete parameters.
        if !self.model.is_real(e) {
            return Claim::truth(self.evaluator.holds(e, positive).unwrap_or(false));
        }
        match &e.node {
            Node::And(parts) => Claim::joined(positive, self.each(parts, positive)),
            Node::Or(parts) => Claim::joined(!positive, self.each(parts, positive)),
            Node::Not(inner) => self.claim(inner, !positive),
            Node::Implies(a, b) => {
                let cases = vec![self.claim(a, !positive), self.claim(b, positive)];
                Claim::joined(!positive, cases)
            }
            Node::Compare(first, rest) => {
                let compared = links(first, rest, positive).map(|link| self.comparison(link));
                Claim::joined(positive, compared.collect())
            }
            Node::In(left, values) if positive => Claim::any(values.iter().map(|right| {
                self.comparison(Link {
                    left,
                    relation: Relation::Equal,
                    right,
                })
            })),
            Node::Symbol(Symbol::Definition(d), _) => {
                self.claim(&self.model.definitions[*d].expr, positive)
            }
            _ => Claim::opaque(),
        }
    }

    fn each(&self, parts: &[Expr], positive: bool) -> Vec<Claim> {
        parts
            .iter()
            .map(|part| self.claim(part, positive))
            .collect()
    }

    fn comparison(&self, link: Link<'_>) -> Claim {
        let is_real = self.model.is_real(link.left) || self.model.is_real(link.right);
        if !is_real {
            return self.claim(&link.statement(), true);
        }
        let (small, large) = match link.relation.over_reals() {
            Relation::NotEqual => return Claim::opaque(),
            Relation::RealAtLeast => (link.right, link.left),
            _ => (link.left, link.right),
        };
        let is_equation = link.relation == Relation::Equal;
        // max(a, b) <= c is two smooth comparisons, which say the same without a kink.
        if !is_equation
            && let Some(extremum) = Extremum::of(small, large)
            && extremum.is_maximum
        {
            return self.all_at_most_zero(&extremum.cases);
        }
        let Some((small, large)) = self.formula(small).zip(self.formula(large)) else {
            return Claim::opaque();
        };
        let comparison = RealComparison {
            small,
            large,
            is_equation,
        };
        Claim {
            comparisons: vec![comparison],
            ..Claim::default()
        }
    }

    fn all_at_most_zero(&self, cases: &[Expr]) -> Claim {
        let zero = Expr::from(0);
        Claim::all(cases.iter().map(|case| {
            self.comparison(Link {
                left: case,
                relation: Relation::RealAtMost,
                right: &zero,
            })
        }))
    }

    fn formula(&self, e: &Expr) -> Option<Formula> {
        let mut definitions = Vec::new();
        let mut places = Places::new();
        for d in self.model.definitions_of(&self.rests_on(e)) {
            let body = &self.model.definitions[d].expr;
            let term = self.model.is_real(body).then(|| self.term(body, &places));
            let place = term.flatten().map(|term| {
                definitions.push(term);
                definitions.len() - 1
            });
            places.insert(d, place);
        }
        Some(Formula {
            term: self.term(e, &places)?,
            definitions,
        })
    }

    /// The symbols behind the definitions that an expression names. Without any, nothing has to be looked up.
    fn rests_on(&self, e: &Expr) -> BTreeSet<Symbol> {
        let named = mentions(e);
        if named.iter().any(|symbol| symbol.definition().is_some()) {
            self.model.closure(named)
        } else {
            BTreeSet::new()
        }
    }

    fn term(&self, e: &Expr, places: &Places) -> Option<Term> {
        if !self.model.is_real(e) {
            let constant = self.evaluator.number(e).ok()?;
            return Some(Term::Constant(constant.to_f64()));
        }
        let boxed = |part: &Expr| self.term(part, places).map(Box::new);
        Some(match &e.node {
            Node::Symbol(Symbol::Parameter(p), _) => Term::Real(self.axes[*p]?),
            Node::Symbol(Symbol::Definition(d), _) => Term::Definition((*places.get(d)?)?),
            Node::Sum(parts) => Term::Sum(self.terms(parts, places)?),
            Node::Product(parts) => Term::Product(self.terms(parts, places)?),
            Node::Negate(a) => Term::Product(vec![Term::Constant(-1.0), self.term(a, places)?]),
            Node::Divide(a, b) => Term::Divide(boxed(a)?, boxed(b)?),
            Node::Power(a, b) => Term::Power(boxed(a)?, boxed(b)?),
            Node::Call(function, arguments) => {
                Term::Call(*function, self.terms(arguments, places)?)
            }
            _ => return None,
        })
    }

    fn terms(&self, parts: &[Expr], places: &Places) -> Option<Vec<Term>> {
        parts.iter().map(|part| self.term(part, places)).collect()
    }
}
