//! Names looked up and types checked: a parsed or built expression in, a resolved one of known kind out.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::domain::{Domain, Kind};
use super::error::{Error, Place, Snippet};
use super::expr::{Expr, MAX_DEPTH, Node, Relation, Symbol};
use super::number::Number;
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
}

impl Names<'_> {
    /// Replaces names and handles by symbols.
    pub fn resolve(&self, e: Expr, source: &Source) -> Result<Expr, Error> {
        let place = || source.place.clone();
        match &e.node {
            Node::TooDeep => {
                return Err(Error::TooDeep {
                    place: place(),
                    limit: MAX_DEPTH,
                });
            }
            Node::Number(Number::Real(x)) if !x.is_finite() => {
                return Err(Error::NonFiniteLiteral {
                    place: place(),
                    value: *x,
                });
            }
            Node::Name(name) => {
                let Some(symbol) = self.symbols.get(name) else {
                    return Err(Error::UnknownName {
                        place: place(),
                        name: name.to_string(),
                        nearest: nearest(name, self.symbols.keys().map(|k| &**k)),
                        snippet: source.snippet(&e),
                    });
                };
                return Ok(Expr {
                    node: Node::Symbol(*symbol, name.clone()),
                    ..e
                });
            }
            Node::Handle(var) => {
                if var.builder != self.builder {
                    return Err(Error::ForeignHandle { place: place() });
                }
                let name = match var.symbol {
                    Symbol::Parameter(p) => &self.parameters[p].0,
                    Symbol::Definition(d) => &self.definitions[d].0,
                };
                return Ok(Expr {
                    node: Node::Symbol(var.symbol, name.clone()),
                    ..e
                });
            }
            _ => {}
        }
        e.map_children(&mut |child| self.resolve(child, source))
    }

    /// The kind of a resolved expression, once every operator in it has operands of the right kind.
    pub fn kind(&self, e: &Expr, source: &Source) -> Result<Kind, Error> {
        match &e.node {
            Node::Number(_) => Ok(Kind::Number),
            Node::Bool(_) => Ok(Kind::Bool),
            Node::Text(_) => Ok(Kind::Label),
            Node::Symbol(Symbol::Parameter(p), _) => Ok(self.parameters[*p].1.kind()),
            Node::Symbol(Symbol::Definition(d), _) => Ok(self.definitions[*d].1),
            Node::Compare(first, rest) => {
                let mut left = (&**first, self.kind(first, source)?);
                for (relation, right) in rest {
                    let right = (right, self.kind(right, source)?);
                    self.comparable(left, *relation, right, source)?;
                    left = right;
                }
                Ok(Kind::Bool)
            }
            Node::In(left, values) => self.membership(e, left, values, source),
            Node::Count(_, k, statements) => {
                self.numeric(k, "a count", source)?;
                statements
                    .iter()
                    .try_for_each(|s| self.condition(s, "a count", source))?;
                Ok(Kind::Bool)
            }
            Node::And(_) | Node::Or(_) | Node::Not(_) | Node::Implies(..) => {
                let operator = operator_name(&e.node);
                e.children()
                    .into_iter()
                    .try_for_each(|part| self.condition(part, operator, source))?;
                Ok(Kind::Bool)
            }
            _ => {
                let operator = operator_name(&e.node);
                if e.children().is_empty() {
                    return Err(source.clash(e, format!("{operator} of nothing has no value")));
                }
                e.children()
                    .into_iter()
                    .try_for_each(|part| self.numeric(part, operator, source))?;
                constant_divisor(&e.node, source)?;
                Ok(Kind::Number)
            }
        }
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
        let left = (left, self.kind(left, source)?);
        for value in values {
            let right = (value, self.kind(value, source)?);
            self.comparable(left, Relation::Equal, right, source)?;
        }
        Ok(Kind::Bool)
    }

    /// Refuses anything but a condition.
    pub fn condition(&self, e: &Expr, operator: &str, source: &Source) -> Result<(), Error> {
        match self.kind(e, source)? {
            Kind::Bool => Ok(()),
            found => Err(source.clash(
                e,
                format!(
                    "{operator} takes conditions, and `{e}` is {}",
                    kind_name(found)
                ),
            )),
        }
    }

    fn numeric(&self, e: &Expr, operator: &str, source: &Source) -> Result<(), Error> {
        match self.kind(e, source)? {
            Kind::Number | Kind::Bool => Ok(()),
            found @ Kind::Label => Err(source.clash(
                e,
                format!(
                    "{operator} takes numbers, and `{e}` is {}",
                    kind_name(found)
                ),
            )),
        }
    }

    /// Numbers compare with numbers, labels with one of their values, or two of them for equality.
    fn comparable(
        &self,
        (a, kind_a): (&Expr, Kind),
        relation: Relation,
        (b, kind_b): (&Expr, Kind),
        source: &Source,
    ) -> Result<(), Error> {
        if kind_a != Kind::Label && kind_b != Kind::Label {
            return Ok(());
        }
        match (self.label(a), self.label(b)) {
            (Some(x), Some(y)) if kind_a == Kind::Label && kind_b == Kind::Label => {
                if matches!(relation, Relation::Equal | Relation::NotEqual) {
                    return Ok(());
                }
                let message = format!(
                    "`{}` and `{}` are labels; they compare with == and != only",
                    x.0, y.0
                );
                Err(source.clash(a, message))
            }
            (Some(x), None) if kind_a == Kind::Label => label_value(x, relation, b, source),
            (None, Some(y)) if kind_b == Kind::Label => label_value(y, relation, a, source),
            _ => {
                let message = format!(
                    "`{a}` is {} and `{b}` is {}",
                    kind_name(kind_a),
                    kind_name(kind_b)
                );
                Err(source.clash(b, message))
            }
        }
    }

    fn label(&self, e: &Expr) -> Option<&(Arc<str>, Domain)> {
        match &e.node {
            Node::Symbol(Symbol::Parameter(p), _) => Some(&self.parameters[*p]),
            _ => None,
        }
    }
}

/// One of a label's values, compared with it in a way that it allows.
fn label_value(
    (name, domain): &(Arc<str>, Domain),
    relation: Relation,
    literal: &Expr,
    source: &Source,
) -> Result<(), Error> {
    let value = match &literal.node {
        Node::Text(text) => Value::from(text.as_str()),
        Node::Number(n) => n.to_integer().map_or(Value::Float(n.to_f64()), Value::Int),
        Node::Bool(b) => Value::Bool(*b),
        _ => {
            let message = format!(
                "`{name}` is a label and compares with one of its values, not with `{literal}`"
            );
            return Err(source.clash(literal, message));
        }
    };
    if domain.index_of(&value).is_none() {
        return Err(Error::UnknownValue {
            place: source.place.clone(),
            name: name.to_string(),
            value,
            domain: Box::new(domain.clone()),
            snippet: source.snippet(literal),
        });
    }
    if !domain.is_ordered() && !matches!(relation, Relation::Equal | Relation::NotEqual) {
        let message =
            format!("`{name}` is a choice, which has no order; it compares with == and != only");
        return Err(source.clash(literal, message));
    }
    Ok(())
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
