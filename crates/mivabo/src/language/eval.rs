//! Evaluates expressions at a point: this is what they mean, and what `check` and every table rest on.
//!
//! Negations are pushed inwards before a comparison is made: over reals, where `<` means `<=`, a statement and its
//! negation both include their common boundary. The normal form does the same.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::domain::{Kind, Set};
use super::expr::{Expr, Function, Node, Relation, Symbol};
use super::model::{Constraint, Model};
use super::number::Number;
use super::point::{Point, Setting};
use super::value::Value;

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
    /// A value of a parameter that is not a number.
    Label(usize, u64),
    Text(&'e str),
}

/// One side of a comparison and its value.
#[derive(Clone, Copy)]
struct Side<'e> {
    expr: &'e Expr,
    value: Val<'e>,
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
        let mut this = Evaluator {
            model,
            settings: Cow::Borrowed(settings),
            defined: vec![None; model.definitions.len()],
        };
        // In the given order: each looks up those before it.
        for &d in definitions {
            this.defined[d] = this.definition(d);
        }
        this
    }

    /// Prepares all definitions at a point.
    pub fn at(model: &'a Model, point: &'a Point) -> Evaluator<'a> {
        let definitions: Vec<usize> = model.all_definitions().collect();
        Evaluator::new(model, &point.settings, &definitions)
    }

    /// Prepares all definitions at a point that comes to be in the order of activation: `choose` is told the number of a parameter
    /// and whether it is active, and says what its setting is.
    ///
    /// A condition without a value (a division by zero) is not met; such conditions are refused by the build.
    pub fn in_order<E>(
        model: &'a Model,
        mut choose: impl FnMut(usize, bool) -> Result<Option<Setting>, E>,
    ) -> Result<Evaluator<'a>, E> {
        let mut this = Evaluator {
            model,
            settings: Cow::Owned(vec![None; model.parameters.len()]),
            defined: vec![None; model.definitions.len()],
        };
        for symbol in &model.order {
            match *symbol {
                Symbol::Definition(d) => this.defined[d] = this.definition(d),
                Symbol::Parameter(p) => {
                    let setting = choose(p, this.can_be_active(p))?;
                    this.settings.to_mut()[p] = setting;
                }
            }
        }
        Ok(this)
    }

    fn can_be_active(&self, p: usize) -> bool {
        let parameter = &self.model.parameters[p];
        let when = parameter.when.as_ref();
        when.is_none() || self.is_met(&parameter.needs, when).unwrap_or(false)
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
        // Before the condition is asked: what it names may have no value.
        let is_needed_active = needs.iter().all(|s| self.is_active(*s));
        Ok(is_needed_active && when.map_or(Ok(true), |when| self.holds(when, true))?)
    }

    /// Whether everything is active that the constraint names; where it is not, the constraint does not apply.
    pub fn applies(&self, constraint: &Constraint) -> bool {
        constraint.requires.iter().all(|s| self.is_active(*s))
    }

    /// Whether no constraint is violated. All definitions must have been prepared.
    pub fn all_hold(&self) -> bool {
        let is_kept = |c: &Constraint| !self.applies(c) || self.holds(&c.expr, true) == Ok(true);
        self.model.constraints.iter().all(is_kept)
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
            Node::In(left, values) => Ok(self.is_in(left, values)? == positive),
            Node::Count(relation, k, statements) => {
                let mut count = Number::ZERO;
                for statement in statements {
                    count = count.plus(self.holds(statement, true)?.into());
                }
                let k = self.number(k)?;
                Ok(compare_numbers(count, relation.signed(positive), k))
            }
            _ => Ok(self.value(e)? == Val::Bool(positive)),
        }
    }

    /// How many of the statements are true; those without a value are not.
    pub fn count(&self, statements: &[Expr]) -> i64 {
        let is_true = |e: &&Expr| self.holds(e, true) == Ok(true);
        let count = statements.iter().filter(is_true).count();
        i64::try_from(count).unwrap_or(i64::MAX)
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
            Val::Number(n) => Value::of_number(n),
            Val::Bool(b) => Value::Bool(b),
            Val::Label(p, index) => self.model.parameters[p].domain.value(index),
            Val::Text(text) => Value::from(text),
        })
    }

    /// All hold (`every`) or any holds.
    fn joined(&self, parts: &[Expr], every: bool, positive: bool) -> Result<bool, Fault> {
        for part in parts {
            // What comes later may be undefined here, as 12 / n behind n >= 1: once it is decided, it is not looked at.
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
        let mut left = self.side(first)?;
        for (relation, right) in rest {
            let right = self.side(right)?;
            if self.compare_sides(left, relation.signed(positive), right) != positive {
                return Ok(!positive);
            }
            left = right;
        }
        Ok(positive)
    }

    fn is_in(&self, left: &Expr, values: &[Expr]) -> Result<bool, Fault> {
        let left = self.side(left)?;
        for value in values {
            if self.compare_sides(left, Relation::Equal, self.side(value)?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn side<'e>(&self, expr: &'e Expr) -> Result<Side<'e>, Fault> {
        let value = self.value(expr)?;
        Ok(Side { expr, value })
    }

    fn compare_sides(&self, left: Side<'_>, relation: Relation, right: Side<'_>) -> bool {
        // Sizes take a walk through the expressions, so they are asked for only where they can decide.
        if let (Some(a), Some(b)) = (as_number(left.value), as_number(right.value))
            && a.is_small_beside(b)
            && (self.model.is_real(left.expr) || self.model.is_real(right.expr))
        {
            let known = self.sizes_of_definitions();
            let size = self
                .size(left.expr, &known)
                .max(self.size(right.expr, &known));
            return is_met_by(relation, a.compare_beside(b, size));
        }
        self.compare(left.value, relation, right.value)
    }

    fn sizes_of_definitions(&self) -> Vec<f64> {
        let mut known = vec![1.0; self.model.definitions.len()];
        for d in self.model.all_definitions() {
            if self.defined[d].is_some() {
                known[d] = self.size(&self.model.definitions[d].expr, &known);
            }
        }
        known
    }

    /// How large the reals are of which an expression is made here, given those of definitions: 1 = 1000 - 999 is of size 1999. A
    /// real on a linear scale is at least a hundredth of its range: its decimals are those of the range.
    fn size(&self, e: &Expr, known: &[f64]) -> f64 {
        if !self.model.is_real(e) {
            return self.absolute(e);
        }
        match &e.node {
            Node::Symbol(Symbol::Definition(d), _) => known[*d],
            Node::Symbol(Symbol::Parameter(p), _) => self.size_of_real(e, *p),
            Node::Sum(parts) => parts.iter().map(|part| self.size(part, known)).sum(),
            Node::Product(parts) => parts.iter().map(|part| self.size(part, known)).product(),
            Node::Negate(a) => self.size(a, known),
            Node::Divide(a, b) if !self.model.is_real(b) => self.size(a, known) / self.absolute(b),
            Node::Call(Function::Min | Function::Max | Function::Abs, parts) => {
                self.size_of_deciding(e, parts, known)
            }
            // The rounding of its arguments may be larger than that of its value.
            _ => self.absolute(e).max(1.0),
        }
    }

    fn absolute(&self, e: &Expr) -> f64 {
        self.number(e).map_or(1.0, |n| n.to_f64().abs())
    }

    fn size_of_real(&self, e: &Expr, p: usize) -> f64 {
        let domain = &self.model.parameters[p].domain;
        match domain.set {
            Set::Float { low, high } if !domain.log => {
                self.absolute(e).max(OF_RANGE * (high - low))
            }
            _ => self.absolute(e),
        }
    }

    /// The size of the arguments that `min`, `max` or `abs` takes its value from.
    fn size_of_deciding(&self, e: &Expr, parts: &[Expr], known: &[f64]) -> f64 {
        let value = self.absolute(e);
        let deciding = parts.iter().filter(|part| self.absolute(part) == value);
        deciding
            .map(|part| self.size(part, known))
            .fold(value, f64::max)
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
            Node::Sum(terms) => self.folded(terms, Number::ZERO, Number::plus),
            Node::Product(parts) => self.folded(parts, Number::ONE, Number::times),
            Node::Negate(a) => Ok(self.number(a)?.negated()),
            Node::Divide(a, b) => {
                let quotient = self.number(a)?.over(self.number(b)?);
                quotient.ok_or(Fault::DivisionByZero)
            }
            Node::Remainder(a, b) => {
                let remainder = self.number(a)?.remainder(self.number(b)?);
                remainder.ok_or(Fault::DivisionByZero)
            }
            Node::Power(a, b) => power(self.number(a)?, self.number(b)?),
            Node::Call(function, arguments) => {
                let numbers = arguments.iter().map(|a| self.number(a));
                call(*function, &numbers.collect::<Result<Vec<_>, _>>()?)
            }
            // Names and handles are looked up before anything is evaluated.
            _ => Ok(Number::Real(f64::NAN)),
        }
    }

    fn folded(
        &self,
        parts: &[Expr],
        start: Number,
        join: impl Fn(Number, Number) -> Number,
    ) -> Result<Number, Fault> {
        let mut parts = parts.iter();
        parts.try_fold(start, |all, part| Ok(join(all, self.number(part)?)))
    }

    fn symbol(&self, symbol: Symbol) -> Result<Val<'static>, Fault> {
        match symbol {
            Symbol::Definition(d) => {
                // One that is undefined makes the constraint that names it inapplicable; nobody looks at the value.
                let number = self.defined[d].clone();
                let number = number.unwrap_or(Ok(Number::Real(f64::NAN)))?;
                Ok(of_kind(number, self.model.definitions[d].kind))
            }
            Symbol::Parameter(p) => Ok(match self.settings[p] {
                None => Val::Number(Number::Real(f64::NAN)),
                Some(Setting::Real(x)) => Val::Number(Number::Real(x)),
                Some(Setting::Index(index)) => self.discrete(p, index),
            }),
        }
    }

    fn discrete(&self, p: usize, index: u64) -> Val<'static> {
        let domain = &self.model.parameters[p].domain;
        match (domain.kind(), domain.number(index)) {
            (Kind::Label, _) | (_, None) => Val::Label(p, index),
            (kind, Some(n)) => of_kind(n, kind),
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
            // The label goes to the left: its list has the order.
            (other, Val::Label(p, index)) => {
                self.compare_label(p, index, mirrored(relation), other)
            }
            (Val::Text(a), Val::Text(b)) => is_met_by(relation, a.cmp(b)),
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
            Val::Number(n) => domain.index_of(&Value::of_number(n)),
        };
        match other_index {
            Some(other) => is_met_by(relation, index.cmp(&other)),
            None => relation == Relation::NotEqual,
        }
    }
}

/// NaN stands for what has no value, and meets no relation.
fn compare_numbers(left: Number, relation: Relation, right: Number) -> bool {
    let is_nan = left.to_f64().is_nan() || right.to_f64().is_nan();
    !is_nan && is_met_by(relation, left.compare(right))
}

fn of_kind(n: Number, kind: Kind) -> Val<'static> {
    match kind {
        Kind::Bool => Val::Bool(!n.is_zero()),
        Kind::Number | Kind::Label => Val::Number(n),
    }
}

fn as_number(value: Val<'_>) -> Option<Number> {
    match value {
        Val::Number(n) => Some(n),
        Val::Bool(b) => Some(b.into()),
        _ => None,
    }
}

fn is_met_by(relation: Relation, ordering: Ordering) -> bool {
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
fn mirrored(relation: Relation) -> Relation {
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
        let (base, exponent) = (base.to_f64(), exponent.to_f64());
        Fault::Undefined(format!("{base} to the power {exponent}"))
    })
}

fn call(function: Function, numbers: &[Number]) -> Result<Number, Fault> {
    let n = numbers.first().copied().unwrap_or(Number::ZERO);
    let x = n.to_f64();
    match function {
        Function::Min => Ok(extreme(numbers, Ordering::Less)),
        Function::Max => Ok(extreme(numbers, Ordering::Greater)),
        Function::Abs => Ok(n.absolute()),
        Function::Exp => Ok(Number::Real(x.exp())),
        Function::Log if x > 0.0 => Ok(Number::Real(x.ln())),
        Function::Log => Err(Fault::Undefined(format!("log of {x}"))),
        Function::Sqrt => {
            let root = n.square_root();
            root.ok_or_else(|| Fault::Undefined(format!("sqrt of {x}")))
        }
    }
}

/// The number that stands so to all others; of equal ones the last.
fn extreme(numbers: &[Number], keep: Ordering) -> Number {
    let numbers = numbers.iter().copied();
    let extreme = numbers.reduce(|a, b| if a.order(b) == keep { a } else { b });
    extreme.unwrap_or(Number::ZERO)
}
