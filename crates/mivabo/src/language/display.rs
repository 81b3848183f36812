//! Expressions as text: what the parser reads back as the same expression.

use std::fmt;

use super::expr::{Expr, Function, Node, Relation};
use super::number::Number;

/// How strongly an operator binds; the parser uses the same levels.
pub(crate) mod level {
    pub const IMPLIES: u8 = 1;
    pub const OR: u8 = 2;
    pub const AND: u8 = 3;
    pub const NOT: u8 = 4;
    pub const COMPARE: u8 = 5;
    pub const SUM: u8 = 6;
    pub const PRODUCT: u8 = 7;
    pub const NEGATE: u8 = 8;
    pub const POWER: u8 = 9;
    pub const ATOM: u8 = 10;
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.node {
            Node::Number(n) => match n.to_integer() {
                Some(whole) => write!(f, "{whole}"),
                None => write!(f, "{:?}", n.to_f64()),
            },
            Node::Bool(b) => write!(f, "{b}"),
            Node::Text(text) => f.write_str(&quoted(text)),
            Node::Name(name) | Node::Symbol(_, name) => f.write_str(&identifier(name)),
            Node::Handle(var) => write!(f, "{:?}", var.symbol),
            Node::Sum(terms) => sum(f, terms),
            Node::Product(factors) => {
                at_level(f, &factors[0], level::PRODUCT)?;
                factors[1..]
                    .iter()
                    .try_for_each(|e| prefixed(f, " * ", e, level::NEGATE))
            }
            Node::Negate(e) => prefixed(f, "-", e, level::NEGATE),
            Node::Divide(a, b) => binary(f, a, " / ", b, (level::PRODUCT, level::NEGATE)),
            Node::Remainder(a, b) => binary(f, a, " % ", b, (level::PRODUCT, level::NEGATE)),
            Node::Power(a, b) => binary(f, a, " ** ", b, (level::ATOM, level::NEGATE)),
            Node::Call(function, arguments) => call(f, function_name(*function), arguments.iter()),
            Node::Compare(first, rest) => {
                at_level(f, first, level::SUM)?;
                rest.iter()
                    .try_for_each(|(r, e)| prefixed(f, &format!(" {} ", r.symbol()), e, level::SUM))
            }
            Node::In(e, values) => {
                at_level(f, e, level::SUM)?;
                f.write_str(" in {")?;
                list(f, values.iter())?;
                f.write_str("}")
            }
            Node::Count(relation, k, statements) => call(
                f,
                count_name(*relation),
                std::iter::once(&**k).chain(statements),
            ),
            Node::And(parts) => joined(f, parts, " and ", level::NOT),
            Node::Or(parts) => joined(f, parts, " or ", level::AND),
            Node::Not(e) => prefixed(f, "not ", e, level::NOT),
            Node::Implies(a, b) => binary(f, a, " -> ", b, (level::OR, level::IMPLIES)),
            Node::TooDeep => f.write_str("…"),
        }
    }
}

/// A text in single quotes, with quotes and backslashes escaped.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// A name as it stands in an expression: in backticks unless it is a plain word.
fn identifier(name: &str) -> String {
    if super::lex::is_plain_name(name) {
        name.to_owned()
    } else {
        format!("`{name}`")
    }
}

pub(crate) fn function_name(function: Function) -> &'static str {
    match function {
        Function::Min => "min",
        Function::Max => "max",
        Function::Abs => "abs",
        Function::Log => "log",
        Function::Exp => "exp",
        Function::Sqrt => "sqrt",
    }
}

fn count_name(relation: Relation) -> &'static str {
    match relation {
        Relation::Less | Relation::LessEqual | Relation::RealAtMost => "at_most",
        Relation::Greater | Relation::GreaterEqual | Relation::RealAtLeast => "at_least",
        Relation::Equal | Relation::NotEqual => "exactly",
    }
}

fn level_of(e: &Expr) -> u8 {
    match &e.node {
        Node::Number(n) if n.is_negative() => level::NEGATE,
        Node::Sum(_) => level::SUM,
        Node::Product(_) | Node::Divide(..) | Node::Remainder(..) => level::PRODUCT,
        Node::Negate(_) => level::NEGATE,
        Node::Power(..) => level::POWER,
        Node::Compare(..) | Node::In(..) => level::COMPARE,
        Node::Not(_) => level::NOT,
        Node::And(_) => level::AND,
        Node::Or(_) => level::OR,
        Node::Implies(..) => level::IMPLIES,
        _ => level::ATOM,
    }
}

/// Writes an operand, in parentheses where it binds less strongly than its place asks for.
fn at_level(f: &mut fmt::Formatter<'_>, e: &Expr, least: u8) -> fmt::Result {
    if level_of(e) < least {
        write!(f, "({e})")
    } else {
        write!(f, "{e}")
    }
}

fn prefixed(f: &mut fmt::Formatter<'_>, prefix: &str, e: &Expr, least: u8) -> fmt::Result {
    f.write_str(prefix)?;
    at_level(f, e, least)
}

fn binary(
    f: &mut fmt::Formatter<'_>,
    a: &Expr,
    op: &str,
    b: &Expr,
    least: (u8, u8),
) -> fmt::Result {
    at_level(f, a, least.0)?;
    prefixed(f, op, b, least.1)
}

fn joined(f: &mut fmt::Formatter<'_>, parts: &[Expr], op: &str, least: u8) -> fmt::Result {
    at_level(f, &parts[0], least)?;
    parts[1..]
        .iter()
        .try_for_each(|e| prefixed(f, op, e, least))
}

fn list<'a>(f: &mut fmt::Formatter<'_>, mut items: impl Iterator<Item = &'a Expr>) -> fmt::Result {
    if let Some(first) = items.next() {
        write!(f, "{first}")?;
    }
    items.try_for_each(|e| write!(f, ", {e}"))
}

fn call<'a>(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    arguments: impl Iterator<Item = &'a Expr>,
) -> fmt::Result {
    write!(f, "{name}(")?;
    list(f, arguments)?;
    f.write_str(")")
}

/// a - b is kept as a + (-b).
fn sum(f: &mut fmt::Formatter<'_>, terms: &[Expr]) -> fmt::Result {
    at_level(f, &terms[0], level::PRODUCT)?;
    terms[1..].iter().try_for_each(|e| match &e.node {
        Node::Negate(inner) => prefixed(f, " - ", inner, level::PRODUCT),
        Node::Number(n) if n.is_negative() => {
            prefixed(f, " - ", &Expr::number(Number::negated(*n)), level::ATOM)
        }
        _ => prefixed(f, " + ", e, level::PRODUCT),
    })
}
