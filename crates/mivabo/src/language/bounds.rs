//! Bounds of parameters, tightened through linear comparisons: a cheap proof that none of them can hold together.
//!
//! ```text
//! Σ c_i x_i + c <= 0   leaves   c_j x_j <= -c - Σ_{i ≠ j} min c_i x_i
//! ```

use super::expr::{Expr, Node, Relation};
use super::interval::{Range, parameter_range, range};
use super::model::Model;
use super::normal::{Atom, Normaliser, Sense};
use super::polynomial::Factor;

/// Passes over all comparisons before the bounds are taken as they are.
const PASSES: usize = 50;

/// A sum must exceed its limit by this much, relative to its terms, before a conflict is claimed.
const MARGIN: f64 = 1e-6;

/// A comparison that every feasible point must satisfy.
#[derive(Debug)]
pub(crate) struct Comparison {
    /// The constraint it belongs to.
    pub constraint: usize,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Σ c_i x_i + c <= 0
    Linear(Vec<(usize, f64)>, f64),
    /// Its range shows that it never holds.
    Never,
}

/// Every comparison that applies everywhere and is linear, or is never true.
pub(crate) fn comparisons(model: &Model) -> Vec<Comparison> {
    let mut found = Vec::new();
    for (constraint, c) in model.constraints.iter().enumerate() {
        if !model.conditions(&c.requires).is_empty() {
            continue;
        }
        for part in &c.parts {
            if is_never(model, part) {
                found.push(Comparison {
                    constraint,
                    kind: Kind::Never,
                });
            }
            for kind in linear(model, part) {
                found.push(Comparison { constraint, kind });
            }
        }
    }
    found
}

/// A comparison whose sides have ranges apart from each other.
fn is_never(model: &Model, part: &Expr) -> bool {
    let Node::Compare(left, rest) = &part.node else {
        return false;
    };
    let ([(relation, right)], Ok(l)) = (rest.as_slice(), range(model, left)) else {
        return false;
    };
    let Ok(r) = range(model, right) else {
        return false;
    };
    let slack = MARGIN
        * [l.0, l.1, r.0, r.1]
            .iter()
            .map(|x| x.abs())
            .fold(1.0, f64::max);
    let (above, below) = (l.0 - r.1 > slack, r.0 - l.1 > slack);
    match relation {
        Relation::Less | Relation::LessEqual | Relation::RealAtMost => above,
        Relation::Greater | Relation::GreaterEqual | Relation::RealAtLeast => below,
        Relation::Equal => above || below,
        Relation::NotEqual => false,
    }
}

fn linear(model: &Model, part: &Expr) -> Vec<Kind> {
    let Ok(clauses) = Normaliser::new(model, None).clauses(part, true) else {
        return vec![];
    };
    let mut found = Vec::new();
    for clause in &clauses {
        let [Atom::Compare(p, sense, _)] = clause.as_slice() else {
            continue;
        };
        let mut terms = Vec::new();
        let mut constant = 0.0;
        for (product, c) in &p.terms {
            match product.as_slice() {
                [] => constant = c.to_f64(),
                [Factor::Value(p)] => terms.push((*p, c.to_f64())),
                _ => terms.push((usize::MAX, 0.0)),
            }
        }
        if terms.iter().any(|(p, _)| *p == usize::MAX) {
            continue;
        }
        if *sense == Sense::Equal {
            found.push(Kind::Linear(
                terms.iter().map(|(p, c)| (*p, -c)).collect(),
                -constant,
            ));
        }
        found.push(Kind::Linear(terms, constant));
    }
    found
}

/// Least and greatest value of each parameter.
pub(crate) struct Bounds(Vec<Range>);

impl Bounds {
    pub fn of(model: &Model) -> Bounds {
        Bounds(
            (0..model.parameters.len())
                .map(|p| parameter_range(model, p))
                .collect(),
        )
    }

    /// Whether the comparisons are proved to have no common solution.
    pub fn contradict(mut self, comparisons: &[&Comparison]) -> bool {
        for _ in 0..PASSES {
            let mut changed = false;
            for comparison in comparisons {
                match &comparison.kind {
                    Kind::Never => return true,
                    Kind::Linear(terms, constant) => match self.tighten(terms, *constant) {
                        None => return true,
                        Some(tightened) => changed |= tightened,
                    },
                }
            }
            if !changed {
                return false;
            }
        }
        false
    }

    /// Whether a bound moved; `None` when the comparison cannot hold.
    fn tighten(&mut self, terms: &[(usize, f64)], constant: f64) -> Option<bool> {
        let least = |bounds: &Self, (p, c): (usize, f64)| {
            c * if c > 0.0 {
                bounds.0[p].0
            } else {
                bounds.0[p].1
            }
        };
        let total: f64 = constant + terms.iter().map(|t| least(self, *t)).sum::<f64>();
        let scale = terms
            .iter()
            .map(|t| least(self, *t).abs())
            .fold(constant.abs().max(1.0), f64::max);
        if total > MARGIN * scale {
            return None;
        }
        let mut changed = false;
        for &(p, c) in terms {
            let rest = total - least(self, (p, c));
            let limit = -rest / c;
            let (low, high) = self.0[p];
            let slack = MARGIN * (high - low).max(MARGIN);
            if c > 0.0 && limit < high - slack {
                self.0[p].1 = (limit + slack / 2.0).max(low);
                changed = true;
            } else if c < 0.0 && limit > low + slack {
                self.0[p].0 = (limit - slack / 2.0).min(high);
                changed = true;
            }
        }
        Some(changed)
    }
}
