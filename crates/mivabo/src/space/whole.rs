//! The constraints that divisions of integers inside definitions come out whole.

use std::collections::BTreeSet;

use super::statement::constraint;
use crate::language::expr::{Expr, Function, Node, Relation, Symbol};
use crate::language::model::{Constraint, Model};

/// For each definition over integers, the constraint that its divisions come out whole.
pub(super) fn whole_divisions(model: &Model) -> Vec<Constraint> {
    let mut whole = Whole {
        model,
        definitions: vec![false; model.definitions.len()],
    };
    let mut found = Vec::new();
    // Inner definitions come first, so that each is known where another names it.
    for d in model.all_definitions() {
        let definition = &model.definitions[d];
        let statement = whole.divisions(&definition.expr);
        whole.definitions[d] = whole.is_whole(&definition.expr);
        let Some(statement) = statement else {
            continue;
        };
        let name = format!("{} comes out whole", definition.name);
        // Under the definition's own conditions.
        let requires = BTreeSet::from([Symbol::Definition(d)]);
        found.push(Constraint {
            implied: true,
            ..constraint(model, name, statement, requires)
        });
    }
    found
}

/// Which expressions are whole numbers at every point, given that divisions of whole numbers come out whole.
struct Whole<'a> {
    model: &'a Model,
    definitions: Vec<bool>,
}

impl Whole<'_> {
    /// a % b == 0 for every division a / b of whole numbers in the expression.
    fn divisions(&self, e: &Expr) -> Option<Expr> {
        let mut statements = Vec::new();
        e.walk(&mut |e| {
            if let Node::Divide(a, b) = &e.node
                && self.is_whole(a)
                && self.is_whole(b)
            {
                let remainder = Expr::new(Node::Remainder(a.clone(), b.clone()));
                statements.push(remainder.compare(Relation::Equal, 0));
            }
        });
        statements.into_iter().reduce(|a, b| a & b)
    }

    fn is_whole(&self, e: &Expr) -> bool {
        match &e.node {
            Node::Number(n) => n.to_integer().is_some(),
            Node::Symbol(Symbol::Parameter(p), _) => self.model.parameters[*p].domain.is_whole(),
            Node::Symbol(Symbol::Definition(d), _) => self.definitions[*d],
            Node::Sum(_) | Node::Product(_) | Node::Negate(_) => self.all_whole(e),
            Node::Divide(..) | Node::Remainder(..) => self.all_whole(e),
            Node::Power(base, exponent) => self.is_whole(base) && is_natural(exponent),
            Node::Call(Function::Min | Function::Max | Function::Abs, _) => self.all_whole(e),
            Node::Call(..) | Node::Text(_) | Node::Name(_) => false,
            Node::Handle(_) | Node::TooDeep => false,
            // Conditions, which count as 0 and 1.
            _ => true,
        }
    }

    fn all_whole(&self, e: &Expr) -> bool {
        e.children().into_iter().all(|part| self.is_whole(part))
    }
}

fn is_natural(e: &Expr) -> bool {
    matches!(e.node, Node::Number(n) if n.to_integer() >= Some(0))
}
