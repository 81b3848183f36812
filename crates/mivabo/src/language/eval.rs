//! The value of an expression at a point: the meaning of the language, and what `check` and every table rest on.
//!
//! Negations are pushed inwards before a comparison is made: over reals, where `<` means `<=`, a statement and its
//! negation both include their common boundary. The normal form does the same.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::domain::{Kind, Set};
use super::expr::{Expr, Function, Node, Relation, Symbol};
use super::model::Model;
use super::number::Number;
use super::point::Point;
use super::value::Value;

/// The setting of one parameter: the index of a discrete value, or a real.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Setting {
    Index(u64),
    Real(f64),
}

/// The part of its range that a real on a linear scale counts for at least.
const OF_RANGE: f64 = 0.01;

/// Why an expression has no value at a point.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fault {
    DivisionByZero,
    /// Such as "log of -1".
    Undefined(String),
}

/// What an expression evaluates to.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Val<'e> {
    Number(Number),
    Bool(bool),
    /// A value of a parameter that is no number.
    Label(usize, u64),
    Text(&'e str),
}

/// Evaluates expressions at one point.
pub(crate) struct Evaluator<'a> {
    model: &'a Model,
    /// By parameter; `None` where it is inactive.
    settings: Cow<'a, [Option<Setting>]>,
    /// By definition; `None` where it is undefined or was not asked for.
    defined: Vec<Option<Result<Number, Fault>>>,
}

impl<'a> Evaluator<'a> {
    /// Prepares the given definitions, each of which comes after those it needs.
    pub fn new(
        model: &'a Model,
        settings: &'a [Option<Setting>],
        definitions: &[usize],
    ) -> Evaluator<'a> {
        let defined = vec![None; model.definitions.len()];
        let mut this = Evaluator {
            model,
            settings: Cow::Borrowed(settings),
            defined,
        };
        for &d in definitions {
            this.defined[d] = this.definition(d);
        }
        this
    }

    /// Prepares all definitions at a point that comes to be in the order of activation: `choose` is told the number of a parameter
    /// and whether it is active, and says what its setting is.
    ///
    /// A condition without a value (a division by zero) is not met; such conditions are refused by the build.
    pub fn in_order<E>(
        model: &'a Model,
        mut choose: impl FnMut(usize, bool) -> Result<Option<Setting>, E>,
    ) -> Result<Evaluator<'a>, E> {
        let settings = Cow::Owned(vec![None; model.parameters.len()]);
        let mut this = Evaluator {
            model,
            settings,
            defined: vec![None; model.definitions.len()],
        };
        for symbol in &model.order {
            match *symbol {
                Symbol::Definition(d) => this.defined[d] = this.definition(d),
                Symbol::Parameter(p) => {
                    let parameter = &model.parameters[p];
                    let when = parameter.when.as_ref();
                    let is_active =
                        when.is_none() || this.is_met(&parameter.needs, when).unwrap_or(false);
                    this.settings.to_mut()[p] = choose(p, is_active)?;
                }
            }
        }
        Ok(this)
    }

    pub fn into_point(self) -> Point {
        Point {
            settings: self.settings.into_owned(),
        }
    }

    pub fn is_active(&self, symbol: Symbol) -> bool {
        match symbol {
            Symbol::Parameter(p) => self.settings[p].is_some(),
            Symbol::Definition(d) => self.defined[d].is_some(),
        }
    }

    /// Whether everything is active that a parameter or a definition needs, and its condition is met.
    pub fn is_met(&self, needs: &[Symbol], when: Option<&Expr>) -> Result<bool, Fault> {
        let needed = needs.iter().all(|s| self.is_active(*s));
        Ok(needed && when.map_or(Ok(true), |when| self.holds(when, true))?)
    }

    /// Whether no constraint is violated. All definitions must have been prepared.
    pub fn all_hold(&self) -> bool {
        self.model.constraints.iter().all(|constraint| {
            !constraint.requires.iter().all(|s| self.is_active(*s))
                || self.holds(&constraint.expr, true) == Ok(true)
        })
    }

    /// Whether the statement is true, or with `positive` unset, whether its negation is.
    pub fn holds(&self, e: &Expr, positive: bool) -> Result<bool, Fault> {
        match &e.node {
            Node::And(parts) => self.joined(parts, positive, positive),
            Node::Or(parts) => self.joined(parts, !positive, positive),
            Node::Not(inner) => self.holds(inner, !positive),
            Node::Implies(a, b) if positive => Ok(self.holds(a, false)? || self.holds(b, true)?),
            Node::Implies(a, b) => Ok(self.holds(a, true)? && self.holds(b, false)?),
            Node::Compare(first, rest) => self.chain(first, rest, positive),
            Node::In(left, values) => {
                let of_left = self.value(left)?;
                for value in values {
                    if self.compare_sides(
                        (left, of_left),
                        Relation::Equal,
                        (value, self.value(value)?),
                    ) {
                        return Ok(positive);
                    }
                }
                Ok(!positive)
            }
            Node::Count(relation, k, statements) => {
                let mut count = Number::ZERO;
                for statement in statements {
                    count = count.plus(self.holds(statement, true)?.into());
                }
                let relation = if positive {
                    *relation
                } else {
                    relation.negated()
                };
                Ok(compare_numbers(count, relation, self.number(k)?))
            }
            _ => Ok(self.value(e)? == Val::Bool(positive)),
        }
    }

    /// The value of a numeric expression; truth values count as 0 and 1.
    pub fn number(&self, e: &Expr) -> Result<Number, Fault> {
        match self.value(e)? {
            Val::Number(n) => Ok(n),
            Val::Bool(b) => Ok(b.into()),
            Val::Label(..) | Val::Text(_) => Ok(Number::Real(f64::NAN)),
        }
    }

    /// The value as a report shows it.
    pub fn shown(&self, e: &Expr) -> Option<Value> {
        Some(match self.value(e).ok()? {
            Val::Number(n) => n.to_integer().map_or(Value::Float(n.to_f64()), Value::Int),
            Val::Bool(b) => Value::Bool(b),
            Val::Label(p, index) => self.model.parameters[p].domain.value(index),
            Val::Text(text) => Value::from(text),
        })
    }

    /// All hold (`every`) or any holds.
    fn joined(&self, parts: &[Expr], every: bool, positive: bool) -> Result<bool, Fault> {
        for part in parts {
            if self.holds(part, positive)? != every {
                return Ok(!every);
            }
        }
        Ok(every)
    }

    fn chain(
        &self,
        first: &Expr,
        rest: &[(Relation, Expr)],
        positive: bool,
    ) -> Result<bool, Fault> {
        let mut left = (first, self.value(first)?);
        for (relation, right) in rest {
            let right = (right, self.value(right)?);
            let relation = if positive {
                *relation
            } else {
                relation.negated()
            };
            if self.compare_sides(left, relation, right) != positive {
                return Ok(!positive);
            }
            left = right;
        }
        Ok(positive)
    }

    fn compare_sides(
        &self,
        (left, a): (&Expr, Val<'_>),
        relation: Relation,
        (right, b): (&Expr, Val<'_>),
    ) -> bool {
        if let (Some(a), Some(b)) = (as_number(a), as_number(b))
            && a.is_small_beside(b)
            && (self.model.is_real(left) || self.model.is_real(right))
        {
            let known = self.sizes_of_definitions();
            let size = self.size(left, &known).max(self.size(right, &known));
            return is_in(relation, a.compare_beside(b, size));
        }
        self.compare(a, relation, b)
    }

    fn sizes_of_definitions(&self) -> Vec<f64> {
        let mut known = vec![1.0; self.model.definitions.len()];
        for symbol in &self.model.order {
            if let Symbol::Definition(d) = *symbol
                && self.is_active(*symbol)
            {
                known[d] = self.size(&self.model.definitions[d].expr, &known);
            }
        }
        known
    }

    /// How large the reals are of which an expression is made here, given those of definitions: 1 = 1000 - 999 is of size 1999. A
    /// real on a linear scale is no smaller than a hundredth of its range: its decimals are those of the range.
    fn size(&self, e: &Expr, known: &[f64]) -> f64 {
        let value = |e: &Expr| self.number(e).map_or(1.0, |n| n.to_f64().abs());
        if !self.model.is_real(e) {
            return value(e);
        }
        match &e.node {
            Node::Symbol(Symbol::Definition(d), _) => known[*d],
            Node::Symbol(Symbol::Parameter(p), _) => {
                let domain = &self.model.parameters[*p].domain;
                match domain.set {
                    Set::Float { low, high } if !domain.log => {
                        value(e).max(OF_RANGE * (high - low))
                    }
                    _ => value(e),
                }
            }
            Node::Sum(parts) => parts.iter().map(|part| self.size(part, known)).sum(),
            Node::Product(parts) => parts.iter().map(|part| self.size(part, known)).product(),
            Node::Negate(a) => self.size(a, known),
            Node::Divide(a, b) if !self.model.is_real(b) => self.size(a, known) / value(b),
            // That of the arguments which decide.
            Node::Call(Function::Min | Function::Max | Function::Abs, parts) => {
                let all = value(e);
                let deciding = parts.iter().filter(|part| value(part) == all);
                deciding
                    .map(|part| self.size(part, known))
                    .fold(all, f64::max)
            }
            // The rounding of its arguments may be larger than that of its value.
            _ => value(e).max(1.0),
        }
    }

    fn value<'e>(&self, e: &'e Expr) -> Result<Val<'e>, Fault> {
        Ok(match &e.node {
            Node::Number(n) => Val::Number(*n),
            Node::Bool(b) => Val::Bool(*b),
            Node::Text(text) => Val::Text(text),
            Node::Symbol(symbol, _) => self.symbol(*symbol)?,
            Node::Compare(..) | Node::In(..) | Node::Count(..) => Val::Bool(self.holds(e, true)?),
            Node::And(_) | Node::Or(_) | Node::Not(_) | Node::Implies(..) => {
                Val::Bool(self.holds(e, true)?)
            }
            _ => Val::Number(self.arithmetic(e)?),
        })
    }

    fn arithmetic(&self, e: &Expr) -> Result<Number, Fault> {
        match &e.node {
            Node::Sum(terms) => terms
                .iter()
                .try_fold(Number::ZERO, |acc, t| Ok(acc.plus(self.number(t)?))),
            Node::Product(parts) => parts
                .iter()
                .try_fold(Number::ONE, |acc, t| Ok(acc.times(self.number(t)?))),
            Node::Negate(a) => Ok(self.number(a)?.negated()),
            Node::Divide(a, b) => self
                .number(a)?
                .over(self.number(b)?)
                .ok_or(Fault::DivisionByZero),
            Node::Remainder(a, b) => self
                .number(a)?
                .remainder(self.number(b)?)
                .ok_or(Fault::DivisionByZero),
            Node::Power(a, b) => power(self.number(a)?, self.number(b)?),
            Node::Call(function, arguments) => {
                let numbers = arguments
                    .iter()
                    .map(|a| self.number(a))
                    .collect::<Result<Vec<_>, _>>()?;
                call(*function, &numbers)
            }
            // Names and handles are looked up before anything is evaluated.
            _ => Ok(Number::Real(f64::NAN)),
        }
    }

    fn symbol(&self, symbol: Symbol) -> Result<Val<'static>, Fault> {
        let number = |n: Number, kind| {
            if kind == Kind::Bool {
                Val::Bool(!n.is_zero())
            } else {
                Val::Number(n)
            }
        };
        match symbol {
            Symbol::Definition(d) => {
                let n = self.defined[d]
                    .clone()
                    .unwrap_or(Ok(Number::Real(f64::NAN)))?;
                Ok(number(n, self.model.definitions[d].kind))
            }
            Symbol::Parameter(p) => Ok(match self.settings[p] {
                None => Val::Number(Number::Real(f64::NAN)),
                Some(Setting::Real(x)) => Val::Number(Number::Real(x)),
                Some(Setting::Index(index)) => {
                    let domain = &self.model.parameters[p].domain;
                    match (domain.kind(), domain.number(index)) {
                        (Kind::Label, _) | (_, None) => Val::Label(p, index),
                        (kind, Some(n)) => number(n, kind),
                    }
                }
            }),
        }
    }

    fn definition(&self, d: usize) -> Option<Result<Number, Fault>> {
        let definition = &self.model.definitions[d];
        match self.is_met(&definition.needs, definition.when.as_ref()) {
            Err(fault) => Some(Err(fault)),
            Ok(met) => met.then(|| self.number(&definition.expr)),
        }
    }

    fn compare(&self, left: Val<'_>, relation: Relation, right: Val<'_>) -> bool {
        match (left, right) {
            (Val::Label(p, index), other) => self.compare_label(p, index, relation, other),
            (other, Val::Label(p, index)) => {
                self.compare_label(p, index, mirrored(relation), other)
            }
            (Val::Text(a), Val::Text(b)) => is_in(relation, a.cmp(b)),
            _ => match (as_number(left), as_number(right)) {
                (Some(a), Some(b)) => compare_numbers(a, relation, b),
                _ => false,
            },
        }
    }

    /// Labels are ordered by their place in the list of the parameter.
    fn compare_label(&self, p: usize, index: u64, relation: Relation, other: Val<'_>) -> bool {
        let domain = &self.model.parameters[p].domain;
        let other_index = match other {
            Val::Label(q, j) => domain.index_of(&self.model.parameters[q].domain.value(j)),
            Val::Text(text) => domain.index_of_text(text),
            Val::Bool(b) => domain.index_of(&Value::Bool(b)),
            Val::Number(n) => {
                domain.index_of(&n.to_integer().map_or(Value::Float(n.to_f64()), Value::Int))
            }
        };
        other_index.map_or(relation == Relation::NotEqual, |j| {
            is_in(relation, index.cmp(&j))
        })
    }
}

fn compare_numbers(left: Number, relation: Relation, right: Number) -> bool {
    !left.to_f64().is_nan() && !right.to_f64().is_nan() && is_in(relation, left.compare(right))
}

fn as_number(value: Val<'_>) -> Option<Number> {
    match value {
        Val::Number(n) => Some(n),
        Val::Bool(b) => Some(b.into()),
        _ => None,
    }
}

fn is_in(relation: Relation, ordering: Ordering) -> bool {
    match relation {
        Relation::Less => ordering.is_lt(),
        Relation::LessEqual | Relation::RealAtMost => ordering.is_le(),
        Relation::Equal => ordering.is_eq(),
        Relation::NotEqual => ordering.is_ne(),
        Relation::GreaterEqual | Relation::RealAtLeast => ordering.is_ge(),
        Relation::Greater => ordering.is_gt(),
    }
}

/// The relation with its sides exchanged.
pub(crate) fn mirrored(relation: Relation) -> Relation {
    match relation {
        Relation::Less => Relation::Greater,
        Relation::LessEqual => Relation::GreaterEqual,
        Relation::GreaterEqual => Relation::LessEqual,
        Relation::Greater => Relation::Less,
        same => same,
    }
}

fn power(base: Number, exponent: Number) -> Result<Number, Fault> {
    base.power(exponent).ok_or_else(|| {
        if base.is_zero() {
            return Fault::DivisionByZero;
        }
        Fault::Undefined(format!(
            "{} to the power {}",
            base.to_f64(),
            exponent.to_f64()
        ))
    })
}

fn call(function: Function, numbers: &[Number]) -> Result<Number, Fault> {
    let least = |keep: Ordering| {
        numbers
            .iter()
            .copied()
            .reduce(|a, b| if a.order(b) == keep { a } else { b })
            .unwrap_or(Number::ZERO)
    };
    let x = numbers.first().copied().unwrap_or(Number::ZERO);
    match function {
        Function::Min => Ok(least(Ordering::Less)),
        Function::Max => Ok(least(Ordering::Greater)),
        Function::Abs => Ok(x.absolute()),
        Function::Exp => Ok(Number::Real(x.to_f64().exp())),
        Function::Log if x.to_f64() > 0.0 => Ok(Number::Real(x.to_f64().ln())),
        Function::Log => Err(Fault::Undefined(format!("log of {}", x.to_f64()))),
        Function::Sqrt => x
            .square_root()
            .ok_or_else(|| Fault::Undefined(format!("sqrt of {}", x.to_f64()))),
    }
}
