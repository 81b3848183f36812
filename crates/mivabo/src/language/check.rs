//! Checks whether a point satisfies the constraints, by evaluating their expressions alone.

use std::fmt;

use super::eval::{Evaluator, Fault};
use super::expr::{Expr, Link, Node, Relation, links};
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
    Evaluator::at(model, point).all_hold()
}

/// Evaluates every constraint of a model at a point.
pub(crate) fn report(model: &Model, point: &Point) -> Report {
    let evaluator = Evaluator::at(model, point);
    let mut report = Report::default();
    for constraint in &model.constraints {
        if !evaluator.applies(constraint) {
            report.not_applicable.push(constraint.name.to_string());
            continue;
        }
        let explainer = Explainer {
            evaluator: &evaluator,
            constraint: &constraint.name,
        };
        match evaluator.holds(&constraint.expr, true) {
            Ok(true) => {}
            Ok(false) => report.violations.push(explainer.explain(&constraint.expr)),
            Err(fault) => {
                let violation = explainer.undefined(&constraint.expr, &fault);
                report.violations.push(violation);
            }
        }
    }
    report
}

/// Says why one constraint fails at one point.
struct Explainer<'a> {
    evaluator: &'a Evaluator<'a>,
    constraint: &'a str,
}

impl Explainer<'_> {
    /// Looks for the innermost statement whose failure makes the constraint fail.
    fn explain(&self, e: &Expr) -> Violation {
        match &e.node {
            Node::And(parts) => match parts.iter().find(|part| self.fails(part)) {
                Some(part) => self.explain(part),
                None => self.plain(e),
            },
            Node::Compare(first, rest) => {
                let mut failing =
                    links(first, rest, true).filter(|link| self.fails(&link.statement()));
                failing
                    .next()
                    .map_or_else(|| self.plain(e), |link| self.sides(link))
            }
            Node::Implies(premise, conclusion) => {
                let inner = self.explain(conclusion);
                Violation {
                    statement: format!("{} (as {premise})", inner.statement),
                    ..inner
                }
            }
            Node::Count(_, k, statements) => self.count(e, k, statements),
            _ => self.plain(e),
        }
    }

    fn fails(&self, e: &Expr) -> bool {
        self.evaluator.holds(e, true) == Ok(false)
    }

    fn sides(&self, link: Link<'_>) -> Violation {
        let left = self.evaluator.shown(link.left);
        let right = self.evaluator.shown(link.right);
        let distance = || Some((left.as_ref()?.as_f64()? - right.as_ref()?.as_f64()?).abs());
        // What should differ fails by being equal: a distance of 0 would say that nothing is wrong.
        let amount = match link.relation {
            Relation::NotEqual => 1.0,
            _ => distance().unwrap_or(1.0),
        };
        Violation {
            left,
            right,
            amount,
            ..self.plain(&link.statement())
        }
    }

    fn count(&self, e: &Expr, k: &Expr, statements: &[Expr]) -> Violation {
        let count = self.evaluator.count(statements);
        let right = self.evaluator.shown(k);
        let distance = |k: f64| (count as f64 - k).abs();
        let amount = right.as_ref().and_then(Value::as_f64).map_or(1.0, distance);
        Violation {
            left: Some(Value::Int(count)),
            right,
            amount,
            ..self.plain(e)
        }
    }

    fn undefined(&self, e: &Expr, fault: &Fault) -> Violation {
        let why = match fault {
            Fault::DivisionByZero => "division by zero".to_owned(),
            Fault::Undefined(what) => what.clone(),
        };
        Violation {
            statement: format!("{e} ({why})"),
            ..self.plain(e)
        }
    }

    fn plain(&self, e: &Expr) -> Violation {
        Violation {
            constraint: self.constraint.to_owned(),
            statement: e.to_string(),
            left: None,
            right: None,
            amount: 1.0,
        }
    }
}
