//! Whether a point satisfies the constraints, from the expressions themselves: nothing here knows of bits or rows.

use std::fmt;

use super::eval::{Evaluator, Fault};
use super::expr::{Expr, Node, Relation, Symbol};
use super::model::Model;
use super::point::Point;
use super::value::Value;

/// What [`Space::check`](crate::Space::check) found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// Every violated constraint.
    pub violations: Vec<Violation>,
    /// The constraints that do not apply at this point, because they name something inactive.
    pub not_applicable: Vec<String>,
}

impl Report {
    /// Whether no constraint is violated.
    pub fn is_feasible(&self) -> bool {
        self.violations.is_empty()
    }
}

/// A constraint that does not hold at a point.
#[derive(Debug, Clone, PartialEq)]
pub struct Violation {
    /// Its name.
    pub constraint: String,
    /// The statement in it that fails.
    pub statement: String,
    /// Left side of that statement, where it is a comparison.
    pub left: Option<Value>,
    /// Right side of that statement, where it is a comparison.
    pub right: Option<Value>,
    /// By how much the sides of a numeric comparison fail; 1 for any other statement.
    pub amount: f64,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "constraint `{}` is violated: {} does not hold",
            self.constraint, self.statement
        )?;
        if let (Some(left), Some(right)) = (&self.left, &self.right) {
            write!(f, " (left side {left}, right side {right})")?;
        }
        Ok(())
    }
}

/// Whether no constraint is violated: [`report`] without the reasons, for searches that try many points.
pub(crate) fn is_feasible(model: &Model, point: &Point) -> bool {
    evaluator(model, point).all_hold()
}

fn evaluator<'a>(model: &'a Model, point: &'a Point) -> Evaluator<'a> {
    let definition = |symbol: &Symbol| {
        if let Symbol::Definition(d) = symbol {
            Some(*d)
        } else {
            None
        }
    };
    let definitions: Vec<usize> = model.order.iter().filter_map(definition).collect();
    Evaluator::new(model, &point.settings, &definitions)
}

/// Evaluates every constraint of a model at a point.
pub(crate) fn report(model: &Model, point: &Point) -> Report {
    let evaluator = evaluator(model, point);
    let mut report = Report::default();
    for constraint in &model.constraints {
        if !constraint.requires.iter().all(|s| evaluator.is_active(*s)) {
            report.not_applicable.push(constraint.name.to_string());
            continue;
        }
        match evaluator.holds(&constraint.expr, true) {
            Ok(true) => {}
            Ok(false) => {
                report
                    .violations
                    .push(explain(&evaluator, &constraint.name, &constraint.expr));
            }
            Err(fault) => {
                report
                    .violations
                    .push(undefined(&constraint.name, &constraint.expr, &fault));
            }
        }
    }
    report
}

/// Looks for the innermost statement whose failure makes the constraint fail.
fn explain(evaluator: &Evaluator<'_>, constraint: &str, e: &Expr) -> Violation {
    let fails = |part: &&Expr| evaluator.holds(part, true) == Ok(false);
    match &e.node {
        Node::And(parts) => match parts.iter().find(fails) {
            Some(part) => explain(evaluator, constraint, part),
            None => plain(constraint, e),
        },
        Node::Compare(first, rest) => {
            let mut left = &**first;
            for (relation, right) in rest {
                let pair = left.clone().compare(*relation, right.clone());
                if fails(&&pair) {
                    return sides(evaluator, constraint, &pair, (left, right));
                }
                left = right;
            }
            plain(constraint, e)
        }
        Node::Implies(premise, conclusion) => {
            let inner = explain(evaluator, constraint, conclusion);
            Violation {
                statement: format!("{} (as {premise})", inner.statement),
                ..inner
            }
        }
        Node::Count(_, k, statements) => {
            let count = statements
                .iter()
                .filter(|s| evaluator.holds(s, true) == Ok(true))
                .count();
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            let right = evaluator.shown(k);
            let amount = right
                .as_ref()
                .and_then(Value::as_f64)
                .map_or(1.0, |k| (count as f64 - k).abs());
            Violation {
                left: Some(Value::Int(count)),
                right,
                amount,
                ..plain(constraint, e)
            }
        }
        _ => plain(constraint, e),
    }
}

fn sides(
    evaluator: &Evaluator<'_>,
    constraint: &str,
    pair: &Expr,
    (left, right): (&Expr, &Expr),
) -> Violation {
    let (left, right) = (evaluator.shown(left), evaluator.shown(right));
    let numbers = left
        .as_ref()
        .and_then(Value::as_f64)
        .zip(right.as_ref().and_then(Value::as_f64));
    let strict = matches!(&pair.node, Node::Compare(_, rest) if rest[0].0 == Relation::NotEqual);
    let amount = numbers
        .filter(|_| !strict)
        .map_or(1.0, |(l, r)| (l - r).abs());
    Violation {
        left,
        right,
        amount,
        ..plain(constraint, pair)
    }
}

fn plain(constraint: &str, e: &Expr) -> Violation {
    let statement = e.to_string();
    Violation {
        constraint: constraint.to_owned(),
        statement,
        left: None,
        right: None,
        amount: 1.0,
    }
}

fn undefined(constraint: &str, e: &Expr, fault: &Fault) -> Violation {
    let why = match fault {
        Fault::DivisionByZero => "division by zero".to_owned(),
        Fault::Undefined(what) => what.clone(),
    };
    Violation {
        statement: format!("{e} ({why})"),
        ..plain(constraint, e)
    }
}
