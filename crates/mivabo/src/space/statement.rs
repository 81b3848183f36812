//! Brings a resolved statement into the form in which constraints are kept.

use std::collections::BTreeSet;
use std::convert::Infallible;

use crate::language::expr::{Expr, Node, Symbol, links};
use crate::language::model::{Class, Constraint, Model};

/// The constraint that a statement is, where all of `requires` are active.
pub(super) fn constraint(
    model: &Model,
    name: String,
    expr: Expr,
    requires: BTreeSet<Symbol>,
) -> Constraint {
    let expr = over_reals(model, expr);
    Constraint {
        name: name.into(),
        parts: conjuncts(&expr),
        expr,
        // The encoding sets it.
        class: Class::Logic,
        requires,
        implied: false,
    }
}

/// Marks the comparisons in which a continuous parameter takes part: their boundary belongs to both sides.
pub(super) fn over_reals(model: &Model, mut e: Expr) -> Expr {
    if let Node::Compare(first, rest) = &mut e.node {
        let mut left_is_real = model.is_real(first);
        for (relation, right) in rest {
            let right_is_real = model.is_real(right);
            if left_is_real || right_is_real {
                *relation = relation.over_reals();
            }
            left_is_real = right_is_real;
        }
    }
    let Ok(marked) = e.map_children(&mut |child| Ok::<_, Infallible>(over_reals(model, child)));
    marked
}

/// The statements that must all hold: parts of `and`, links of a chain, a negated `or`.
fn conjuncts(e: &Expr) -> Vec<Expr> {
    match &e.node {
        Node::And(parts) => parts.iter().flat_map(conjuncts).collect(),
        Node::Not(inner) => match &inner.node {
            Node::Or(parts) => {
                let negated = parts.iter().map(|part| !part.clone());
                negated.flat_map(|part| conjuncts(&part)).collect()
            }
            Node::Not(twice) => conjuncts(twice),
            _ => vec![e.clone()],
        },
        Node::Compare(first, rest) => {
            let links = links(first, rest, true);
            links.map(|link| link.statement()).collect()
        }
        _ => vec![e.clone()],
    }
}
