//! Writes expressions as text that the parser reads back as the same expression.

use std::fmt;

use super::expr::{Expr, Function, Node, Relation};
use super::number::Number;
use super::value::quoted;

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

/// A sign between operands, and how strongly these must bind to go without parentheses.
struct Infix {
    sign: &'static str,
    /// The first operand.
    first: u8,
    /// Every further one.
    further: u8,
}

const TIMES: Infix = Infix {
    sign: " * ",
    first: level::PRODUCT,
    further: level::NEGATE,
};
const DIVIDE: Infix = Infix {
    sign: " / ",
    ..TIMES
};
const REMAINDER: Infix = Infix {
    sign: " % ",
    ..TIMES
};
const POWER: Infix = Infix {
    sign: " ** ",
    first: level::ATOM,
    further: level::NEGATE,
};
const AND: Infix = Infix {
    sign: " and ",
    first: level::NOT,
    further: level::NOT,
};
const OR: Infix = Infix {
    sign: " or ",
    first: level::AND,
    further: level::AND,
};
const IMPLIES: Infix = Infix {
    sign: " -> ",
    first: level::OR,
    further: level::IMPLIES,
};

impl Infix {
    fn between<'e>(
        &self,
        f: &mut fmt::Formatter<'_>,
        operands: impl IntoIterator<Item = &'e Expr>,
    ) -> fmt::Result {
        let mut operands = operands.into_iter();
        if let Some(first) = operands.next() {
            at_level(f, first, self.first)?;
        }
        operands.try_for_each(|e| prefixed(f, self.sign, e, self.further))
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.node {
            Node::Number(n) => number(f, *n),
            Node::Bool(b) => write!(f, "{b}"),
            Node::Text(text) => f.write_str(&quoted(text)),
            Node::Name(name) | Node::Symbol(_, name) => f.write_str(&identifier(name)),
            Node::Handle(var) => write!(f, "{:?}", var.symbol),
            Node::Sum(terms) => sum(f, terms),
            Node::Product(factors) => TIMES.between(f, factors),
            Node::Negate(e) => prefixed(f, "-", e, level::NEGATE),
            Node::Divide(a, b) => DIVIDE.between(f, [&**a, b]),
            Node::Remainder(a, b) => REMAINDER.between(f, [&**a, b]),
            Node::Power(a, b) => POWER.between(f, [&**a, b]),
            Node::Call(function, arguments) => call(f, function_name(*function), arguments),
            Node::Compare(first, rest) => chain(f, first, rest),
            Node::In(e, values) => membership(f, e, values),
            Node::Count(relation, k, statements) => {
                let arguments = std::iter::once(&**k).chain(statements);
                call(f, count_name(*relation), arguments)
            }
            Node::And(parts) => AND.between(f, parts),
            Node::Or(parts) => OR.between(f, parts),
            Node::Not(e) => prefixed(f, "not ", e, level::NOT),
            Node::Implies(a, b) => IMPLIES.between(f, [&**a, b]),
            Node::TooDeep => f.write_str("…"),
        }
    }
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

fn number(f: &mut fmt::Formatter<'_>, n: Number) -> fmt::Result {
    match n.to_integer() {
        Some(whole) => write!(f, "{whole}"),
        None => write!(f, "{:?}", n.to_f64()),
    }
}

fn chain(f: &mut fmt::Formatter<'_>, first: &Expr, rest: &[(Relation, Expr)]) -> fmt::Result {
    at_level(f, first, level::SUM)?;
    rest.iter().try_for_each(|(relation, right)| {
        let sign = format!(" {} ", relation.symbol());
        prefixed(f, &sign, right, level::SUM)
    })
}

fn membership(f: &mut fmt::Formatter<'_>, e: &Expr, values: &[Expr]) -> fmt::Result {
    at_level(f, e, level::SUM)?;
    f.write_str(" in {")?;
    list(f, values)?;
    f.write_str("}")
}

fn list<'e>(f: &mut fmt::Formatter<'_>, items: impl IntoIterator<Item = &'e Expr>) -> fmt::Result {
    let mut items = items.into_iter();
    if let Some(first) = items.next() {
        write!(f, "{first}")?;
    }
    items.try_for_each(|e| write!(f, ", {e}"))
}

fn call<'e>(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    arguments: impl IntoIterator<Item = &'e Expr>,
) -> fmt::Result {
    write!(f, "{name}(")?;
    list(f, arguments)?;
    f.write_str(")")
}

/// a - b is kept as a + (-b), and written as a - b again.
fn sum(f: &mut fmt::Formatter<'_>, terms: &[Expr]) -> fmt::Result {
    at_level(f, &terms[0], level::PRODUCT)?;
    terms[1..].iter().try_for_each(|e| match &e.node {
        Node::Negate(inner) => prefixed(f, " - ", inner, level::PRODUCT),
        Node::Number(n) if n.is_negative() => {
            let positive = Expr::number(n.negated());
            prefixed(f, " - ", &positive, level::ATOM)
        }
        _ => prefixed(f, " + ", e, level::PRODUCT),
    })
}
