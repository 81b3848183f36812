//! Tightens the bounds of parameters through linear comparisons: a cheap proof that these cannot all hold.
//!
//! ```text
//! Σ c_i x_i + c <= 0   implies   c_j x_j <= -c - Σ_{i ≠ j} min c_i x_i
//! ```

use super::expr::{Expr, Node, Relation};
use super::interval::{Range, largest_size, parameter_range, range};
use super::model::Model;
use super::normal::{Atom, Normaliser, ZeroRelation};
use super::polynomial::{Factor, Polynomial};

/// Passes over all comparisons before the bounds are taken as they are.
const PASSES: usize = 50;

/// A sum must exceed its limit by this much, relative to its terms, before a conflict is claimed.
const MARGIN: f64 = 1e-6;

/// What every feasible point must satisfy, by one constraint.
#[derive(Debug)]
pub(crate) struct Necessity {
    /// The constraint it belongs to.
    pub constraint: usize,
    form: Form,
}

#[derive(Debug)]
enum Form {
    Linear(Linear),
    /// Its range shows that it never holds.
    Never,
}

/// Σ coefficient · parameter + constant <= 0
#[derive(Debug)]
struct Linear {
    terms: Vec<Term>,
    constant: f64,
}

#[derive(Debug, Clone, Copy)]
struct Term {
    parameter: usize,
    coefficient: f64,
}

/// Every comparison that applies everywhere and is linear, or is never true.
pub(crate) fn necessities(model: &Model) -> Vec<Necessity> {
    let mut found = Vec::new();
    for (constraint, c) in model.constraints.iter().enumerate() {
        // A constraint with conditions asks nothing of the points at which they are not met.
        if !model.conditions(&c.requires).is_empty() {
            continue;
        }
        for part in &c.parts {
            let never = is_never(model, part).then_some(Form::Never);
            let linear = linear(model, part).into_iter().map(Form::Linear);
            let forms = never.into_iter().chain(linear);
            found.extend(forms.map(|form| Necessity { constraint, form }));
        }
    }
    found
}

/// Whether the sides of a comparison have ranges that are too far apart.
fn is_never(model: &Model, part: &Expr) -> bool {
    let Node::Compare(left, rest) = &part.node else {
        return false;
    };
    let [(relation, right)] = rest.as_slice() else {
        return false;
    };
    let (Ok(l), Ok(r)) = (range(model, left), range(model, right)) else {
        return false;
    };
    let slack = MARGIN * largest_size(l).max(largest_size(r)).max(1.0);
    let is_above = l.0 - r.1 > slack;
    let is_below = r.0 - l.1 > slack;
    match relation {
        Relation::Less | Relation::LessEqual | Relation::RealAtMost => is_above,
        Relation::Greater | Relation::GreaterEqual | Relation::RealAtLeast => is_below,
        Relation::Equal => is_above || is_below,
        Relation::NotEqual => false,
    }
}

/// The linear comparisons that the clauses of a part are; clauses with alternatives prove nothing.
fn linear(model: &Model, part: &Expr) -> Vec<Linear> {
    let Ok(clauses) = Normaliser::new(model, None).clauses(part, true) else {
        return vec![];
    };
    let mut found = Vec::new();
    for clause in &clauses {
        let [Atom::Compare(compared)] = clause.as_slice() else {
            continue;
        };
        let Some(linear) = Linear::of(&compared.polynomial) else {
            continue;
        };
        // p == 0 is p <= 0 and -p <= 0.
        if compared.relation == ZeroRelation::Equal {
            found.push(linear.negated());
        }
        found.push(linear);
    }
    found
}

impl Linear {
    fn of(p: &Polynomial) -> Option<Linear> {
        let (mut terms, mut constant) = (Vec::new(), 0.0);
        for (product, c) in &p.terms {
            match product.as_slice() {
                [] => constant = c.to_f64(),
                [Factor::Value(p)] => terms.push(Term {
                    parameter: *p,
                    coefficient: c.to_f64(),
                }),
                _ => return None,
            }
        }
        Some(Linear { terms, constant })
    }

    fn negated(&self) -> Linear {
        let negated = |term: &Term| Term {
            coefficient: -term.coefficient,
            ..*term
        };
        Linear {
            terms: self.terms.iter().map(negated).collect(),
            constant: -self.constant,
        }
    }
}

/// Least and greatest value of each parameter.
pub(crate) struct Bounds(Vec<Range>);

impl Bounds {
    pub fn of(model: &Model) -> Bounds {
        let ranges = (0..model.parameters.len()).map(|p| parameter_range(model, p));
        Bounds(ranges.collect())
    }

    /// Whether it is proved that nothing satisfies all of these.
    pub fn contradict(mut self, necessities: &[&Necessity]) -> bool {
        // Bounds can go on moving in ever smaller steps.
        for _ in 0..PASSES {
            let mut changed = false;
            for necessity in necessities {
                let Form::Linear(linear) = &necessity.form else {
                    return true;
                };
                match self.tighten(linear) {
                    None => return true,
                    Some(tightened) => changed |= tightened,
                }
            }
            if !changed {
                return false;
            }
        }
        false
    }

    /// Whether a bound moved; `None` when the comparison cannot hold.
    fn tighten(&mut self, linear: &Linear) -> Option<bool> {
        let least = linear.terms.iter().map(|term| self.least(*term));
        let total: f64 = linear.constant + least.clone().sum::<f64>();
        let scale = least
            .map(f64::abs)
            .fold(linear.constant.abs().max(1.0), f64::max);
        // Far enough above zero that rounding of the sum cannot have brought it there.
        if total > MARGIN * scale {
            return None;
        }
        let mut changed = false;
        for term in &linear.terms {
            let rest = total - self.least(*term);
            changed |= self.limit(*term, -rest / term.coefficient);
        }
        Some(changed)
    }

    /// The least that a term can be.
    fn least(&self, term: Term) -> f64 {
        let (low, high) = self.0[term.parameter];
        term.coefficient * if term.coefficient > 0.0 { low } else { high }
    }

    /// Moves the bound on the side to which the term grows, if the limit lies inside by more than rounding could.
    fn limit(&mut self, term: Term, limit: f64) -> bool {
        let (low, high) = self.0[term.parameter];
        let slack = MARGIN * (high - low).max(MARGIN);
        // Half of the slack stays, so that the bound is never tighter than the constraint makes it.
        let tightened = if term.coefficient > 0.0 && limit < high - slack {
            (low, (limit + slack / 2.0).max(low))
        } else if term.coefficient < 0.0 && limit > low + slack {
            ((limit - slack / 2.0).min(high), high)
        } else {
            return false;
        };
        self.0[term.parameter] = tightened;
        true
    }
}
