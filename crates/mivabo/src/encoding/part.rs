//! A statement on its way to rows and tables: where it comes from, and what decides about it.

use super::code::Code;
use crate::language::expr::{Expr, Node};
use crate::language::model::{Constraint, Model, mentions};
use crate::language::point::Setting;

/// A model and the codes of its parameters. Continuous ones may be held fixed.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub model: &'a Model,
    /// By parameter; `None` for continuous ones.
    pub codes: &'a [Option<Code>],
    /// Values of the continuous parameters, where they are held fixed.
    pub fixed: Option<&'a [Option<Setting>]>,
}

/// A statement to be lowered.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    pub name: &'a str,
    pub expr: &'a Expr,
    /// It applies where all of these conditions are met, each after those it rests on.
    pub conditions: &'a [&'a Expr],
}

impl Part<'_> {
    /// The statement, said only where it applies.
    pub fn guarded(&self) -> Expr {
        let statement = self.expr.clone();
        match self.conditions {
            [] => statement,
            [one] => (*one).clone().implies(statement),
            many => all(many).implies(statement),
        }
    }
}

/// What decides about a statement.
pub(crate) struct Scope {
    /// In order of activation.
    pub parameters: Vec<usize>,
    /// Each after those it needs.
    pub definitions: Vec<usize>,
}

impl Scope {
    /// That of one part of a constraint: whatever it names, and whatever decides whether it applies.
    pub fn new(model: &Model, constraint: &Constraint, part: &Expr) -> Scope {
        let conditions = model.conditions(&constraint.requires);
        let guards = conditions.iter().flat_map(|c| mentions(c));
        let closure = model.closure(mentions(part).into_iter().chain(guards));
        Scope {
            parameters: model.parameters_of(&closure),
            definitions: model.definitions_of(&closure),
        }
    }

    pub fn has_reals(&self, model: &Model) -> bool {
        self.parameters.iter().any(|p| model.is_continuous(*p))
    }
}

/// The conjunction of several conditions.
fn all(conditions: &[&Expr]) -> Expr {
    let conditions = conditions.iter().map(|c| (*c).clone());
    Expr::new(Node::And(conditions.collect()))
}
