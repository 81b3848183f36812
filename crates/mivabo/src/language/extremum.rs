//! Takes the first `max`, `min` or `abs` of a comparison apart into its cases.

use super::expr::{Expr, Function, Node, sum};
use super::number::Number;

/// left - right with its first `max`, `min` or `abs` replaced by each of its arguments in turn.
pub(crate) struct Extremum {
    pub cases: Vec<Expr>,
    /// Whether the difference is the greatest of the cases, or else the least.
    pub is_maximum: bool,
}

struct Multiple<'e> {
    factor: Number,
    of: &'e Expr,
}

impl Extremum {
    /// That of left - right, if there is one that enters linearly.
    pub fn of(left: &Expr, right: &Expr) -> Option<Extremum> {
        let mut terms = Vec::new();
        linear_terms(left, Number::ONE, &mut terms);
        linear_terms(right, Number::from(-1), &mut terms);
        let at = terms.iter().position(|term| is_extremum(term.of))?;
        let Multiple { factor, of: call } = terms.remove(at);
        let Node::Call(function, arguments) = &call.node else {
            return None;
        };
        let rest = terms
            .into_iter()
            .map(|term| Expr::number(term.factor) * term.of.clone());
        let rest = sum(rest);
        let case = |argument: Expr| rest.clone() + Expr::number(factor) * argument;
        // A negative factor turns the greatest argument into the least case.
        let is_greatest = *function != Function::Min;
        Some(Extremum {
            cases: alternatives(*function, arguments).map(case).collect(),
            is_maximum: is_greatest != factor.is_negative(),
        })
    }
}

fn is_extremum(e: &Expr) -> bool {
    let Node::Call(function, _) = e.node else {
        return false;
    };
    matches!(function, Function::Max | Function::Min | Function::Abs)
}

/// |a| is the greater of a and -a.
fn alternatives(function: Function, arguments: &[Expr]) -> impl Iterator<Item = Expr> {
    let mirrored = (function == Function::Abs).then(|| -arguments[0].clone());
    arguments.iter().cloned().chain(mirrored)
}

/// Takes sums, negations and constant multiples apart.
fn linear_terms<'e>(e: &'e Expr, factor: Number, terms: &mut Vec<Multiple<'e>>) {
    if let Node::Sum(parts) = &e.node {
        for part in parts {
            linear_terms(part, factor, terms);
        }
    } else if let Some(inner) = multiple(e, factor) {
        linear_terms(inner.of, inner.factor, terms);
    } else {
        terms.push(Multiple { factor, of: e });
    }
}

/// factor · e as a multiple of what is inside.
fn multiple(e: &Expr, factor: Number) -> Option<Multiple<'_>> {
    let (factor, of) = match &e.node {
        Node::Negate(inner) => (factor.negated(), &**inner),
        Node::Product(parts) => match parts.as_slice() {
            [
                Expr {
                    node: Node::Number(k),
                    ..
                },
                other,
            ]
            | [
                other,
                Expr {
                    node: Node::Number(k),
                    ..
                },
            ] => (factor.times(*k), other),
            _ => return None,
        },
        Node::Divide(a, b) => match b.node {
            Node::Number(k) => (factor.over(k)?, &**a),
            _ => return None,
        },
        _ => return None,
    };
    Some(Multiple { factor, of })
}
