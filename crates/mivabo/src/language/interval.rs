//! The range of an expression over all values of its parameters, by interval arithmetic.
//!
//! Used to refuse divisors that can be zero and logarithms of what can be negative, and to prove that a comparison
//! never holds. Ranges may be too wide, never too narrow.

use std::cell::Cell;

use super::domain::Set;
use super::eval::Fault;
use super::expr::{Expr, Function, Node, Symbol};
use super::model::{Model, mentions};

/// Least and greatest value; a condition has a range within [0, 1].
pub(crate) type Range = (f64, f64);

/// The range of an expression, or what can go wrong in it.
pub(crate) fn range(model: &Model, e: &Expr) -> Result<Range, Fault> {
    ranges(model, e)?.of(e)
}

/// The largest number that its evaluation may meet on the way; infinite where that is not known.
pub(crate) fn largest(model: &Model, e: &Expr) -> f64 {
    let Ok(ranges) = ranges(model, e) else {
        return f64::INFINITY;
    };
    if ranges.of(e).is_err() {
        return f64::INFINITY;
    }
    ranges.largest.get()
}

fn ranges<'a>(model: &'a Model, e: &Expr) -> Result<Ranges<'a>, Fault> {
    let unknown = (f64::NEG_INFINITY, f64::INFINITY);
    let definitions = vec![unknown; model.definitions.len()];
    let mut ranges = Ranges {
        model,
        definitions,
        largest: Cell::new(0.0),
    };
    for d in model.definitions_of(&model.closure(mentions(e))) {
        ranges.definitions[d] = ranges.of(&model.definitions[d].expr)?;
    }
    Ok(ranges)
}

/// The range of a parameter's numbers; labels have none.
pub(crate) fn parameter_range(model: &Model, p: usize) -> Range {
    let domain = &model.parameters[p].domain;
    match &domain.set {
        Set::Float { low, high } => (*low, *high),
        Set::Int { low, high, .. } => (*low as f64, *high as f64),
        Set::Bool => (0.0, 1.0),
        Set::Ordinal(values) | Set::Choice(values) => {
            hull(values.iter().map(|v| v.as_f64().unwrap_or(f64::NAN)))
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
        // Labels are no numbers; a parameter that has nothing else has an empty range.
        if !matches!(e.node, Node::Text(_)) && range.0 <= range.1 {
            self.largest
                .set(self.largest.get().max(range.0.abs()).max(range.1.abs()));
        }
        Ok(range)
    }

    fn of_node(&self, e: &Expr) -> Result<Range, Fault> {
        let parts = || {
            e.children()
                .into_iter()
                .map(|c| self.of(c))
                .collect::<Result<Vec<_>, _>>()
        };
        match &e.node {
            Node::Number(n) => Ok((n.to_f64(), n.to_f64())),
            Node::Bool(b) => Ok((f64::from(u8::from(*b)), f64::from(u8::from(*b)))),
            Node::Symbol(Symbol::Parameter(p), _) => Ok(parameter_range(self.model, *p)),
            Node::Symbol(Symbol::Definition(d), _) => Ok(self.definitions[*d]),
            Node::Sum(_) => Ok(parts()?
                .into_iter()
                .fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1))),
            Node::Product(_) => Ok(parts()?.into_iter().fold((1.0, 1.0), product)),
            Node::Negate(a) => self.of(a).map(|(low, high)| (-high, -low)),
            Node::Divide(a, b) => {
                let (low, high) = nonzero(self.of(b)?)?;
                Ok(product(self.of(a)?, (1.0 / high, 1.0 / low)))
            }
            Node::Remainder(_, b) => {
                let (low, high) = nonzero(self.of(b)?)?;
                Ok((low.min(0.0), high.max(0.0)))
            }
            Node::Power(a, b) => power(self.of(a)?, self.of(b)?),
            Node::Call(function, _) => call(*function, &parts()?),
            Node::Compare(..) | Node::In(..) | Node::Count(..) => parts().map(|_| (0.0, 1.0)),
            Node::And(_) | Node::Or(_) | Node::Not(_) | Node::Implies(..) => {
                parts().map(|_| (0.0, 1.0))
            }
            _ => Ok((f64::NEG_INFINITY, f64::INFINITY)),
        }
    }
}

fn nonzero(range: Range) -> Result<Range, Fault> {
    if range.0 <= 0.0 && range.1 >= 0.0 {
        Err(Fault::DivisionByZero)
    } else {
        Ok(range)
    }
}

pub(crate) fn product(a: Range, b: Range) -> Range {
    // 0 · ∞ is 0 here: the infinite end is never reached.
    let times = |x: f64, y: f64| if x == 0.0 || y == 0.0 { 0.0 } else { x * y };
    hull(
        [(a.0, b.0), (a.0, b.1), (a.1, b.0), (a.1, b.1)]
            .into_iter()
            .map(|(x, y)| times(x, y)),
    )
}

/// The least range that holds all numbers.
pub(crate) fn hull(numbers: impl Iterator<Item = f64>) -> Range {
    numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| {
        (low.min(x), high.max(x))
    })
}

pub(crate) fn power(base: Range, exponent: Range) -> Result<Range, Fault> {
    let whole = exponent.0 == exponent.1 && exponent.0.fract() == 0.0;
    if exponent.0 < 0.0 {
        nonzero(base)?;
    }
    if base.0 < 0.0 && !whole {
        return Err(Fault::Undefined(format!(
            "a fractional power of a number that can be {}",
            base.0
        )));
    }
    let ends = [base.0, base.1]
        .into_iter()
        .flat_map(|b| [b.powf(exponent.0), b.powf(exponent.1)]);
    let zero = (base.0 <= 0.0 && base.1 >= 0.0).then(|| 0_f64.powf(exponent.0.max(0.0)));
    Ok(hull(ends.chain(zero)))
}

pub(crate) fn call(function: Function, parts: &[Range]) -> Result<Range, Fault> {
    let (low, high) = parts[0];
    let fold = |f: fn(f64, f64) -> f64| {
        parts[1..]
            .iter()
            .fold((low, high), |a, b| (f(a.0, b.0), f(a.1, b.1)))
    };
    match function {
        Function::Min => Ok(fold(f64::min)),
        Function::Max => Ok(fold(f64::max)),
        Function::Abs if low <= 0.0 && high >= 0.0 => Ok((0.0, high.max(-low))),
        Function::Abs => Ok((low.abs().min(high.abs()), low.abs().max(high.abs()))),
        Function::Exp => Ok((low.exp(), high.exp())),
        Function::Log if low > 0.0 => Ok((low.ln(), high.ln())),
        Function::Log => Err(Fault::Undefined(format!(
            "log of a number that can be {low}"
        ))),
        Function::Sqrt if low >= 0.0 => Ok((low.sqrt(), high.sqrt())),
        Function::Sqrt => Err(Fault::Undefined(format!(
            "sqrt of a number that can be {low}"
        ))),
    }
}
