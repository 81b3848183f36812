//! Measures how far the constraints are from failing at a point, with both sides of every comparison that decides them.
//!
//! ```text
//! slack of a <= b   b - a        of a < b over whole numbers   b - a - 1
//! slack of a >= b   a - b        of a > b over whole numbers   a - b - 1
//! slack of a == b   -|a - b|
//! ```

use super::eval::Evaluator;
use super::expr::{Expr, Link, Node, Relation, links};
use super::model::Model;
use super::point::Point;
use super::value::Value;

/// A statement that a constraint makes at a point, whether it holds there or not.
#[derive(Debug, Clone, PartialEq)]
pub struct Margin {
    /// The name of the constraint.
    pub constraint: String,
    /// The statement.
    pub statement: String,
    /// Left side, where it is a comparison or counts something.
    pub left: Option<Value>,
    /// What stands between the sides: `<=`, `==`, …; empty where there are none.
    pub relation: &'static str,
    /// Right side, where it is a comparison or counts something.
    pub right: Option<Value>,
    /// Whether it holds.
    pub holds: bool,
    /// How far the sides are from failing: 0 on the bound, negative where it fails. None where no number says it: for
    /// texts, `!=`, membership and truth values.
    pub slack: Option<f64>,
}

/// The statements that decide the constraints at a point, in the order of the constraints.
pub(crate) fn margins(model: &Model, point: &Point) -> Vec<Margin> {
    let evaluator = Evaluator::at(model, point);
    let applies = model.constraints.iter().filter(|c| evaluator.applies(c));
    let margins = applies.map(|constraint| {
        let statements = Statements {
            evaluator: &evaluator,
            name: &constraint.name,
        };
        // Without a value (a division by zero) it fails as a whole, and no part of it says by how much.
        let is_defined = evaluator.holds(&constraint.expr, true).is_ok();
        if is_defined {
            statements.of(&constraint.expr, true)
        } else {
            vec![statements.plain(&constraint.expr, true)]
        }
    });
    margins.flatten().collect()
}

/// The statements of one constraint at one point.
struct Statements<'a> {
    evaluator: &'a Evaluator<'a>,
    name: &'a str,
}

impl Statements<'_> {
    /// Those of an expression, or with `positive` unset, of its negation.
    fn of(&self, e: &Expr, positive: bool) -> Vec<Margin> {
        match &e.node {
            Node::Not(inner) => self.of(inner, !positive),
            Node::And(parts) if positive => self.each(parts, positive).concat(),
            Node::Or(parts) if !positive => self.each(parts, positive).concat(),
            Node::And(parts) | Node::Or(parts) => widest(self.each(parts, positive)),
            Node::Implies(a, b) if positive => self.implication(a, b),
            Node::Implies(a, b) => [self.of(a, true), self.of(b, false)].concat(),
            Node::Compare(first, rest) => {
                let compared = links(first, rest, positive).map(|link| self.compared(link));
                if positive {
                    compared.collect()
                } else {
                    widest(compared.map(|margin| vec![margin]).collect())
                }
            }
            Node::Count(relation, k, statements) => {
                let sides = Sides {
                    left: Some(Value::Int(self.evaluator.count(statements))),
                    relation: relation.signed(positive),
                    right: self.evaluator.shown(k),
                };
                vec![sides.beside(self.plain(e, positive))]
            }
            _ => vec![self.plain(e, positive)],
        }
    }

    fn each(&self, parts: &[Expr], positive: bool) -> Vec<Vec<Margin>> {
        parts.iter().map(|part| self.of(part, positive)).collect()
    }

    /// Where the premise is not met, nothing is asked.
    fn implication(&self, premise: &Expr, conclusion: &Expr) -> Vec<Margin> {
        if self.evaluator.holds(premise, false) == Ok(true) {
            return vec![];
        }
        self.of(conclusion, true)
    }

    fn compared(&self, link: Link<'_>) -> Margin {
        let sides = Sides {
            left: self.evaluator.shown(link.left),
            relation: link.relation,
            right: self.evaluator.shown(link.right),
        };
        sides.beside(self.plain(&link.statement(), true))
    }

    fn plain(&self, e: &Expr, positive: bool) -> Margin {
        let statement = if positive {
            e.to_string()
        } else {
            (!e.clone()).to_string()
        };
        Margin {
            constraint: self.name.to_owned(),
            statement,
            left: None,
            relation: "",
            right: None,
            holds: self.evaluator.holds(e, positive) == Ok(true),
            slack: None,
        }
    }
}

/// What stands on both sides of a comparison.
struct Sides {
    left: Option<Value>,
    relation: Relation,
    right: Option<Value>,
}

impl Sides {
    fn beside(self, margin: Margin) -> Margin {
        // What holds within the tolerance has no slack, and not less; what fails has none to spare.
        let slack = self.slack().map(|slack| {
            if margin.holds {
                slack.max(0.0)
            } else {
                slack.min(0.0)
            }
        });
        Margin {
            left: self.left,
            relation: self.relation.symbol(),
            right: self.right,
            slack,
            ..margin
        }
    }

    fn slack(&self) -> Option<f64> {
        let (left, right) = (self.left.as_ref()?, self.right.as_ref()?);
        let (a, b) = (left.as_f64()?, right.as_f64()?);
        // The nearest whole number that is less is one away.
        let is_whole = matches!((left, right), (Value::Int(_), Value::Int(_)));
        let strict = if is_whole { 1.0 } else { 0.0 };
        match self.relation {
            Relation::LessEqual | Relation::RealAtMost => Some(b - a),
            Relation::GreaterEqual | Relation::RealAtLeast => Some(a - b),
            Relation::Less => Some(b - a - strict),
            Relation::Greater => Some(a - b - strict),
            Relation::Equal => Some(-(a - b).abs()),
            Relation::NotEqual => None,
        }
    }
}

/// Of several alternatives the one that is farthest from failing; of equal ones the first.
fn widest(alternatives: Vec<Vec<Margin>>) -> Vec<Margin> {
    // Not `max_by`, which takes the last of equal ones.
    let wider = |best: Vec<Margin>, next: Vec<Margin>| {
        if room(&next) > room(&best) {
            next
        } else {
            best
        }
    };
    alternatives.into_iter().reduce(wider).unwrap_or_default()
}

/// Whether all statements hold, and the least of their slacks.
fn room(margins: &[Margin]) -> (bool, f64) {
    let slack = |margin: &Margin| match margin.slack {
        Some(slack) => slack,
        None if margin.holds => f64::INFINITY,
        None => f64::NEG_INFINITY,
    };
    let hold = margins.iter().all(|margin| margin.holds);
    let least = margins.iter().map(slack).fold(f64::INFINITY, f64::min);
    (hold, least)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::encoding::tests::random_valid_space;
    use crate::space::{Domain, Space};

    /// Statement, sides and slack of everything that is asked of a point.
    fn shown(statement: &str, a: i64, x: f64, colour: &str) -> Vec<String> {
        let mut space = Space::builder();
        space.integer("a", 0..=9);
        let _ = space.add("x", Domain::float(0.0, 9.0));
        let _ = space.add("colour", Domain::choice(["red", "blue"]));
        space.subject_to("it", statement);
        let space = space.build().unwrap();
        let point = space
            .point([("a", a.into()), ("x", x.into()), ("colour", colour.into())])
            .unwrap();
        let side = |side: &Option<Value>| side.as_ref().map_or("-".to_owned(), ToString::to_string);
        let margins = space.margins(&point).into_iter().map(|m| {
            format!(
                "{}: {} {} {}, {:?}",
                m.statement,
                side(&m.left),
                m.relation,
                side(&m.right),
                m.slack
            )
        });
        margins.collect()
    }

    #[test]
    fn slack_is_the_distance_of_the_sides() {
        assert_eq!(
            shown("a + x <= 5", 2, 0.5, "red"),
            ["a + x <= 5: 2.5 <= 5, Some(2.5)"]
        );
        assert_eq!(
            shown("2 <= a <= 5", 2, 0.5, "red"),
            ["2 <= a: 2 <= 2, Some(0.0)", "a <= 5: 2 <= 5, Some(3.0)"]
        );
        assert_eq!(shown("a < 5", 4, 0.5, "red"), ["a < 5: 4 < 5, Some(0.0)"]);
        assert_eq!(shown("a > 2", 4, 0.5, "red"), ["a > 2: 4 > 2, Some(1.0)"]);
        assert_eq!(
            shown("a == 5", 2, 0.5, "red"),
            ["a == 5: 2 == 5, Some(-3.0)"]
        );
        assert_eq!(shown("a != 5", 2, 0.5, "red"), ["a != 5: 2 != 5, None"]);
        assert_eq!(
            shown("at_most(2, a > 1, a > 7)", 2, 0.5, "red"),
            ["at_most(2, a > 1, a > 7): 1 <= 2, Some(1.0)"]
        );
        assert_eq!(
            shown("colour in {'red'}", 2, 0.5, "red"),
            ["colour in {'red'}: -  -, None"]
        );
    }

    #[test]
    fn only_what_is_asked_of_the_point_counts() {
        let implication = "colour == 'red' -> a <= 3";
        assert_eq!(
            shown(implication, 2, 0.5, "red"),
            ["a <= 3: 2 <= 3, Some(1.0)"]
        );
        assert!(shown(implication, 2, 0.5, "blue").is_empty());
        assert_eq!(
            shown("a <= 3 or x <= 2", 3, 0.5, "red"),
            ["x <= 2: 0.5 <= 2, Some(1.5)"]
        );
        assert_eq!(
            shown("not (a > 3 and x > 2)", 3, 0.5, "red"),
            ["x <= 2: 0.5 <= 2, Some(1.5)"]
        );
        assert_eq!(
            shown("colour == 'red' or a <= 3", 3, 0.5, "red"),
            ["colour == 'red': 'red' == 'red', None"]
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn a_constraint_is_violated_exactly_where_one_of_its_statements_fails(
            tape in proptest::collection::vec(0_u32..5040, 0..120),
            units in proptest::collection::vec(0.0..=1.0, 4),
        ) {
            let Some(space) = random_valid_space(&tape) else { return Ok(()) };
            let encoding = space.encoding();
            let n = encoding.n_bits().min(8);
            for code in 0..1_u32 << n {
                let bits: Vec<bool> = (0..encoding.n_bits()).map(|k| k < n && code >> k & 1 == 1).collect();
                let unit: Vec<f64> = units.iter().copied().cycle().take(encoding.n_reals()).collect();
                let Ok(point) = encoding.decode(&bits, &unit) else { continue };
                let margins = space.margins(&point);
                let failing = margins.iter().filter(|m| !m.holds).map(|m| m.constraint.clone());
                let violated = space.check(&point).violations.into_iter().map(|v| v.constraint);
                prop_assert_eq!(failing.collect::<BTreeSet<_>>(), violated.collect::<BTreeSet<_>>());
                for margin in margins {
                    let is_signed = margin.slack.is_none_or(|s| if margin.holds { s >= 0.0 } else { s <= 0.0 });
                    prop_assert!(is_signed);
                }
            }
        }
    }
}
