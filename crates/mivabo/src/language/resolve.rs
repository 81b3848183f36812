//! Looks up the names in an expression and checks its types.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::domain::{Domain, Kind};
use super::error::{Error, Place};
use super::expr::{Expr, MAX_DEPTH, Node, Relation, Symbol, Var};
use super::number::Number;
use super::snippet::Snippet;
use super::spelling::nearest;
use super::value::Value;

/// The names of a space, as far as they are known while it is built.
pub(crate) struct Names<'a> {
    pub builder: u32,
    pub symbols: BTreeMap<Arc<str>, Symbol>,
    pub parameters: &'a [(Arc<str>, Domain)],
    /// Kinds of the definitions that are checked already.
    pub definitions: Vec<(Arc<str>, Kind)>,
}

/// Where an expression stands and the text it was read from.
#[derive(Clone)]
pub(crate) struct Source {
    pub place: Place,
    pub text: Option<Arc<str>>,
}

impl Source {
    fn snippet(&self, e: &Expr) -> Option<Box<Snippet>> {
        let (text, (start, end)) = (self.text.as_ref()?, e.span?);
        Some(Box::new(Snippet::new(text, start, end)))
    }

    fn clash(&self, e: &Expr, message: String) -> Error {
        Error::TypeClash {
            place: self.place.clone(),
            message,
            snippet: self.snippet(e),
        }
    }

    /// An operand of the wrong kind.
    fn unexpected(&self, e: &Expr, operator: &str, expected: &str, found: Kind) -> Error {
        let found = kind_name(found);
        self.clash(
            e,
            format!("{operator} expects {expected}, but `{e}` is {found}"),
        )
    }
}

/// An expression and what it is.
#[derive(Clone, Copy)]
struct Typed<'e> {
    expr: &'e Expr,
    kind: Kind,
}

impl std::fmt::Display for Typed<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}`, {}", self.expr, kind_name(self.kind))
    }
}

impl Names<'_> {
    /// Replaces names and handles by symbols.
    pub fn resolve(&self, e: Expr, source: &Source) -> Result<Expr, Error> {
        let place = || source.place.clone();
        match &e.node {
            Node::TooDeep => Err(Error::TooDeep {
                place: place(),
                limit: MAX_DEPTH,
            }),
            Node::Number(Number::Real(x)) if !x.is_finite() => Err(Error::NonFiniteLiteral {
                place: place(),
                value: *x,
            }),
            Node::Name(name) => {
                let symbol = self.named(name, &e, source)?;
                let node = Node::Symbol(symbol, name.clone());
                Ok(Expr { node, ..e })
            }
            Node::Handle(var) => {
                let node = Node::Symbol(var.symbol, self.name_of(*var, source)?);
                Ok(Expr { node, ..e })
            }
            _ => e.map_children(&mut |child| self.resolve(child, source)),
        }
    }

    fn named(&self, name: &str, e: &Expr, source: &Source) -> Result<Symbol, Error> {
        let unknown = || Error::UnknownName {
            place: source.place.clone(),
            name: name.to_owned(),
            nearest: nearest(name, self.symbols.keys().map(|known| &**known)),
            snippet: source.snippet(e),
        };
        self.symbols.get(name).copied().ok_or_else(unknown)
    }

    fn name_of(&self, var: Var, source: &Source) -> Result<Arc<str>, Error> {
        // Before the lookup: positions of another builder mean other things here, or nothing.
        if var.builder != self.builder {
            let place = source.place.clone();
            return Err(Error::ForeignHandle { place });
        }
        let name = match var.symbol {
            Symbol::Parameter(p) => &self.parameters[p].0,
            Symbol::Definition(d) => &self.definitions[d].0,
        };
        Ok(name.clone())
    }

    /// The kind of a resolved expression, once every operator in it has operands of the right kind.
    pub fn kind(&self, e: &Expr, source: &Source) -> Result<Kind, Error> {
        match &e.node {
            Node::Number(_) => Ok(Kind::Number),
            Node::Bool(_) => Ok(Kind::Bool),
            Node::Text(_) => Ok(Kind::Label),
            Node::Symbol(Symbol::Parameter(p), _) => Ok(self.parameters[*p].1.kind()),
            Node::Symbol(Symbol::Definition(d), _) => Ok(self.definitions[*d].1),
            Node::Compare(first, rest) => self.chain(first, rest, source),
            Node::In(left, values) => self.membership(e, left, values, source),
            Node::Count(_, k, statements) => {
                self.numeric(k, "a count", source)?;
                self.conditions(statements.iter(), "a count", source)
            }
            Node::And(_) | Node::Or(_) | Node::Not(_) | Node::Implies(..) => {
                self.conditions(e.children().into_iter(), operator_name(&e.node), source)
            }
            _ => self.arithmetic(e, source),
        }
    }

    fn typed<'e>(&self, expr: &'e Expr, source: &Source) -> Result<Typed<'e>, Error> {
        let kind = self.kind(expr, source)?;
        Ok(Typed { expr, kind })
    }

    fn chain(
        &self,
        first: &Expr,
        rest: &[(Relation, Expr)],
        source: &Source,
    ) -> Result<Kind, Error> {
        let mut left = self.typed(first, source)?;
        for (relation, right) in rest {
            let right = self.typed(right, source)?;
            self.comparable(left, *relation, right, source)?;
            left = right;
        }
        Ok(Kind::Bool)
    }

    fn conditions<'e>(
        &self,
        mut parts: impl Iterator<Item = &'e Expr>,
        operator: &str,
        source: &Source,
    ) -> Result<Kind, Error> {
        parts.try_for_each(|part| self.condition(part, operator, source))?;
        Ok(Kind::Bool)
    }

    fn arithmetic(&self, e: &Expr, source: &Source) -> Result<Kind, Error> {
        let operator = operator_name(&e.node);
        let operands = e.children();
        if operands.is_empty() {
            return Err(source.clash(e, format!("{operator} needs at least one argument")));
        }
        for operand in operands {
            self.numeric(operand, operator, source)?;
        }
        constant_divisor(&e.node, source)?;
        Ok(Kind::Number)
    }

    fn membership(
        &self,
        e: &Expr,
        left: &Expr,
        values: &[Expr],
        source: &Source,
    ) -> Result<Kind, Error> {
        if values.is_empty() {
            let message = format!("`{left} in {{}}` is never true: name at least one value");
            return Err(source.clash(e, message));
        }
        let left = self.typed(left, source)?;
        for value in values {
            let value = self.typed(value, source)?;
            self.comparable(left, Relation::Equal, value, source)?;
        }
        Ok(Kind::Bool)
    }

    /// Refuses anything but a condition.
    pub fn condition(&self, e: &Expr, operator: &str, source: &Source) -> Result<(), Error> {
        match self.kind(e, source)? {
            Kind::Bool => Ok(()),
            found => Err(source.unexpected(e, operator, "a condition", found)),
        }
    }

    /// Refuses labels; truth values count as numbers.
    fn numeric(&self, e: &Expr, operator: &str, source: &Source) -> Result<(), Error> {
        match self.kind(e, source)? {
            Kind::Number | Kind::Bool => Ok(()),
            found @ Kind::Label => Err(source.unexpected(e, operator, "numbers", found)),
        }
    }

    /// Numbers compare with numbers, labels with one of their values, or two of them for equality.
    fn comparable(
        &self,
        left: Typed<'_>,
        relation: Relation,
        right: Typed<'_>,
        source: &Source,
    ) -> Result<(), Error> {
        let (is_label, other_is_label) = (left.kind == Kind::Label, right.kind == Kind::Label);
        if !is_label && !other_is_label {
            return Ok(());
        }
        // A label is a parameter or one of its values: anything that is computed is a number or a condition.
        match (self.label(left.expr), self.label(right.expr)) {
            (Some(label), Some(other)) if is_label && other_is_label => {
                if relation.is_equality() {
                    return Ok(());
                }
                Err(source.clash(left.expr, label.has_no_order_with(&other)))
            }
            (Some(label), None) if is_label => label.compares(relation, right.expr, source),
            (None, Some(label)) if other_is_label => label.compares(relation, left.expr, source),
            _ => {
                let message = format!("cannot compare {left}, with {right}");
                Err(source.clash(right.expr, message))
            }
        }
    }

    /// The parameter that an expression is.
    fn label(&self, e: &Expr) -> Option<Label<'_>> {
        match &e.node {
            Node::Symbol(Symbol::Parameter(p), _) => {
                let (name, domain) = &self.parameters[*p];
                Some(Label { name, domain })
            }
            _ => None,
        }
    }
}

/// A parameter whose values are labels.
struct Label<'a> {
    name: &'a str,
    domain: &'a Domain,
}

impl Label<'_> {
    fn has_no_order_with(&self, other: &Label<'_>) -> String {
        let (a, b) = (self.name, other.name);
        format!("`{a}` and `{b}` are labels; compare them with `==` or `!=`")
    }

    /// Whether the other side is one of the values, compared in a way that they allow.
    fn compares(&self, relation: Relation, literal: &Expr, source: &Source) -> Result<(), Error> {
        let name = self.name;
        let Some(value) = literal_value(literal) else {
            let message = format!(
                "`{name}` is a label; compare it with one of its values, not with `{literal}`"
            );
            return Err(source.clash(literal, message));
        };
        // First of all: a value that the choice has would be refused just as well.
        if !self.domain.is_ordered() && !relation.is_equality() {
            let message =
                format!("`{name}` is a choice and has no order; compare it with `==` or `!=`");
            return Err(source.clash(literal, message));
        }
        if self.domain.index_of(&value).is_none() {
            return Err(Error::UnknownValue {
                place: source.place.clone(),
                name: name.to_owned(),
                value,
                domain: Box::new(self.domain.clone()),
                snippet: source.snippet(literal),
            });
        }
        Ok(())
    }
}

fn literal_value(e: &Expr) -> Option<Value> {
    match &e.node {
        Node::Text(text) => Some(Value::from(text.as_str())),
        Node::Number(n) => Some(Value::of_number(*n)),
        Node::Bool(b) => Some(Value::Bool(*b)),
        _ => None,
    }
}

/// A divisor that is zero everywhere needs no further look.
fn constant_divisor(node: &Node, source: &Source) -> Result<(), Error> {
    match node {
        Node::Divide(_, b) | Node::Remainder(_, b) if matches!(b.node, Node::Number(n) if n.is_zero()) => {
            Err(Error::DivisionByZero {
                place: source.place.clone(),
                at: "every point".into(),
            })
        }
        _ => Ok(()),
    }
}

fn operator_name(node: &Node) -> &'static str {
    match node {
        Node::And(_) => "`and`",
        Node::Or(_) => "`or`",
        Node::Not(_) => "`not`",
        Node::Implies(..) => "`->`",
        Node::Sum(_) => "a sum",
        Node::Product(_) => "a product",
        Node::Negate(_) => "a negation",
        Node::Divide(..) => "a division",
        Node::Remainder(..) => "a remainder",
        Node::Power(..) => "a power",
        _ => "a function",
    }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Number => "a number",
        Kind::Bool => "a condition",
        Kind::Label => "a label",
    }
}
