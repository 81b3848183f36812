//! The range of an expression over all values of its parameters, by interval arithmetic.
//!
//! It refuses divisors that can be zero and logarithms of what can be negative, and proves that comparisons never hold.
//! Ranges may be too wide, never too narrow.

use std::cell::Cell;

use super::domain::Set;
use super::eval::Fault;
use super::expr::{Expr, Function, Node, Symbol};
use super::model::{Model, mentions};

/// Least and greatest value; a condition has a range within [0, 1].
pub(crate) type Range = (f64, f64);

/// What nothing is known of.
pub(crate) const UNKNOWN: Range = (f64::NEG_INFINITY, f64::INFINITY);

/// The range of an expression, or what can go wrong in it.
pub(crate) fn range(model: &Model, e: &Expr) -> Result<Range, Fault> {
    ranges(model, e)?.of(e)
}

/// The largest number that its evaluation may meet on the way; infinite where that is not known.
pub(crate) fn largest(model: &Model, e: &Expr) -> f64 {
    let Ok(ranges) = ranges(model, e) else {
        return f64::INFINITY;
    };
    match ranges.of(e) {
        Ok(_) => ranges.largest.get(),
        Err(_) => f64::INFINITY,
    }
}

fn ranges<'a>(model: &'a Model, e: &Expr) -> Result<Ranges<'a>, Fault> {
    let mut ranges = Ranges {
        model,
        definitions: vec![UNKNOWN; model.definitions.len()],
        largest: Cell::new(0.0),
    };
    // Inner definitions come first, so each finds the ranges of those that it names.
    for d in model.definitions_of(&model.closure(mentions(e))) {
        ranges.definitions[d] = ranges.of(&model.definitions[d].expr)?;
    }
    Ok(ranges)
}

/// The range of a parameter's numbers; labels have none.
pub(crate) fn parameter_range(model: &Model, p: usize) -> Range {
    match &model.parameters[p].domain.set {
        Set::Float { low, high } => (*low, *high),
        Set::Int { low, high, .. } => (*low as f64, *high as f64),
        Set::Bool => (0.0, 1.0),
        Set::Ordinal(values) | Set::Choice(values) => {
            let numbers = values.iter().map(|v| v.as_f64().unwrap_or(f64::NAN));
            hull(numbers)
        }
    }
}

struct Ranges<'a> {
    model: &'a Model,
    definitions: Vec<Range>,
    /// The largest number met.
    largest: Cell<f64>,
}

impl Ranges<'_> {
    fn of(&self, e: &Expr) -> Result<Range, Fault> {
        let range = self.of_node(e)?;
        // Labels are not numbers; a parameter that has nothing else has an empty range.
        if !matches!(e.node, Node::Text(_)) && range.0 <= range.1 {
            let largest = self.largest.get().max(range.0.abs()).max(range.1.abs());
            self.largest.set(largest);
        }
        Ok(range)
    }

    fn of_node(&self, e: &Expr) -> Result<Range, Fault> {
        match &e.node {
            Node::Number(n) => Ok(point(n.to_f64())),
            Node::Bool(b) => Ok(point(f64::from(u8::from(*b)))),
            Node::Symbol(Symbol::Parameter(p), _) => Ok(parameter_range(self.model, *p)),
            Node::Symbol(Symbol::Definition(d), _) => Ok(self.definitions[*d]),
            Node::Sum(terms) => Ok(self.each(terms)?.into_iter().fold(point(0.0), sum)),
            Node::Product(parts) => Ok(self.each(parts)?.into_iter().fold(point(1.0), product)),
            Node::Negate(a) => Ok(negated(self.of(a)?)),
            Node::Divide(a, b) => {
                let inverse = inverse(self.of(b)?)?;
                Ok(product(self.of(a)?, inverse))
            }
            Node::Remainder(_, b) => remainder(self.of(b)?),
            Node::Power(a, b) => power(self.of(a)?, self.of(b)?),
            Node::Call(function, arguments) => call(*function, &self.each(arguments)?),
            Node::Compare(..) | Node::In(..) | Node::Count(..) => self.statement(e),
            Node::And(_) | Node::Or(_) | Node::Not(_) | Node::Implies(..) => self.statement(e),
            _ => Ok(UNKNOWN),
        }
    }

    fn each(&self, parts: &[Expr]) -> Result<Vec<Range>, Fault> {
        parts.iter().map(|part| self.of(part)).collect()
    }

    /// Looked into all the same: what can go wrong in a part can go wrong in the whole.
    fn statement(&self, e: &Expr) -> Result<Range, Fault> {
        for part in e.children() {
            self.of(part)?;
        }
        Ok((0.0, 1.0))
    }
}

fn point(x: f64) -> Range {
    (x, x)
}

pub(crate) fn sum(a: Range, b: Range) -> Range {
    (a.0 + b.0, a.1 + b.1)
}

fn negated(range: Range) -> Range {
    (-range.1, -range.0)
}

fn contains_zero(range: Range) -> bool {
    range.0 <= 0.0 && range.1 >= 0.0
}

fn nonzero(range: Range) -> Result<Range, Fault> {
    if contains_zero(range) {
        Err(Fault::DivisionByZero)
    } else {
        Ok(range)
    }
}

/// The range of 1 / x.
pub(crate) fn inverse(range: Range) -> Result<Range, Fault> {
    let (low, high) = nonzero(range)?;
    Ok((1.0 / high, 1.0 / low))
}

/// A remainder lies between 0 and its divisor, whatever is divided.
fn remainder(divisor: Range) -> Result<Range, Fault> {
    let (low, high) = nonzero(divisor)?;
    Ok((low.min(0.0), high.max(0.0)))
}

pub(crate) fn product(a: Range, b: Range) -> Range {
    // 0 · ∞ is 0 here: the infinite end is never reached.
    let times = |x: f64, y: f64| if x == 0.0 || y == 0.0 { 0.0 } else { x * y };
    hull([
        times(a.0, b.0),
        times(a.0, b.1),
        times(a.1, b.0),
        times(a.1, b.1),
    ])
}

/// The least range that holds all numbers.
pub(crate) fn hull(numbers: impl IntoIterator<Item = f64>) -> Range {
    let empty = (f64::INFINITY, f64::NEG_INFINITY);
    let widened = |(low, high): Range, x: f64| (low.min(x), high.max(x));
    numbers.into_iter().fold(empty, widened)
}

/// The largest absolute value.
pub(crate) fn largest_size((low, high): Range) -> f64 {
    low.abs().max(high.abs())
}

/// The least absolute value.
pub(crate) fn least_size(range: Range) -> f64 {
    if contains_zero(range) {
        0.0
    } else {
        range.0.abs().min(range.1.abs())
    }
}

pub(crate) fn power(base: Range, exponent: Range) -> Result<Range, Fault> {
    let is_whole = exponent.0 == exponent.1 && exponent.0.fract() == 0.0;
    if exponent.0 < 0.0 {
        nonzero(base)?;
    }
    if base.0 < 0.0 && !is_whole {
        let what = format!("a fractional power of a number that can be {}", base.0);
        return Err(Fault::Undefined(what));
    }
    // Monotone in each of the two, so the extremes are at corners, but that even powers turn at zero.
    let ends = [base.0, base.1]
        .into_iter()
        .flat_map(|b| [b.powf(exponent.0), b.powf(exponent.1)]);
    let at_zero = contains_zero(base).then(|| 0_f64.powf(exponent.0.max(0.0)));
    Ok(hull(ends.chain(at_zero)))
}

pub(crate) fn call(function: Function, arguments: &[Range]) -> Result<Range, Fault> {
    let first = arguments[0];
    let (low, high) = first;
    let fold = |f: fn(f64, f64) -> f64| {
        let both = |a: Range, b: &Range| (f(a.0, b.0), f(a.1, b.1));
        arguments[1..].iter().fold(first, both)
    };
    let can_be_low = |name: &str| Fault::Undefined(format!("{name} of a number that can be {low}"));
    match function {
        Function::Min => Ok(fold(f64::min)),
        Function::Max => Ok(fold(f64::max)),
        Function::Abs => Ok((least_size(first), largest_size(first))),
        Function::Exp => Ok((low.exp(), high.exp())),
        Function::Log if low > 0.0 => Ok((low.ln(), high.ln())),
        Function::Log => Err(can_be_low("log")),
        Function::Sqrt if low >= 0.0 => Ok((low.sqrt(), high.sqrt())),
        Function::Sqrt => Err(can_be_low("sqrt")),
    }
}
