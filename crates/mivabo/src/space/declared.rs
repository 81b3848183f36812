//! What was said about a space, before any of it is looked at.

use crate::language::domain::Domain;
use crate::language::expr::{Expr, Symbol, Var};

/// An expression, or the text of one.
#[derive(Debug, Clone)]
pub enum Statement {
    /// Made with Rust operators.
    Built(Expr),
    /// To be parsed.
    Text(String),
}

impl From<Expr> for Statement {
    fn from(e: Expr) -> Self {
        Statement::Built(e)
    }
}

impl From<Var> for Statement {
    fn from(var: Var) -> Self {
        Statement::Built(var.into())
    }
}

impl From<&str> for Statement {
    fn from(text: &str) -> Self {
        Statement::Text(text.to_owned())
    }
}

impl From<String> for Statement {
    fn from(text: String) -> Self {
        Statement::Text(text)
    }
}

/// Everything that was said to one builder.
#[derive(Debug)]
pub(crate) struct Declared {
    /// The number of the builder, which its handles carry.
    pub builder: u32,
    pub parameters: Vec<DeclaredParameter>,
    pub definitions: Vec<DeclaredDefinition>,
    pub constraints: Vec<DeclaredConstraint>,
}

#[derive(Debug)]
pub(crate) struct DeclaredParameter {
    pub name: String,
    pub domain: Domain,
    pub when: Option<Statement>,
    pub auxiliary: bool,
}

#[derive(Debug)]
pub(crate) struct DeclaredDefinition {
    pub name: String,
    pub value: Statement,
    pub when: Option<Statement>,
}

#[derive(Debug)]
pub(crate) struct DeclaredConstraint {
    pub name: String,
    pub statement: Statement,
}

impl Declared {
    /// Nothing was said to this builder yet.
    pub fn nothing(builder: u32) -> Declared {
        Declared {
            builder,
            parameters: vec![],
            definitions: vec![],
            constraints: vec![],
        }
    }

    /// The handle of a symbol.
    pub fn var(&self, symbol: Symbol) -> Var {
        Var {
            builder: self.builder,
            symbol,
        }
    }

    /// The names of parameters and definitions, with what they stand for.
    pub fn named(&self) -> impl Iterator<Item = (&str, Symbol)> {
        let parameters = self.parameters.iter().enumerate();
        let definitions = self.definitions.iter().enumerate();
        let parameters = parameters.map(|(p, said)| (said.name.as_str(), Symbol::Parameter(p)));
        let definitions = definitions.map(|(d, said)| (said.name.as_str(), Symbol::Definition(d)));
        parameters.chain(definitions)
    }
}
