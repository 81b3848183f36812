//! The set of values that a parameter may take, and how a discrete one is coded in bits.
//!
//! A domain is written unchecked, in builder style, and checked once by [`SpaceBuilder::build`]. Inside, the
//! values of a discrete domain are numbered 0, 1, 2, … in their order; that number is the value's *index*.
//!
//! [`SpaceBuilder::build`]: crate::space::SpaceBuilder::build

use std::fmt;

use serde::{Deserialize, Serialize};

use super::number::Number;
use super::value::Value;

/// The most values that a list, a unary or a one-hot code may have.
pub(crate) const MAX_VALUES: u64 = 4096;

/// How the index of a discrete value is written in bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coding {
    /// ⌈log₂ n⌉ bits, lowest first: the paper's code, and the fewest bits.
    #[default]
    Binary,
    /// n - 1 bits, bit k set when the index exceeds k: an order comparison is a single bit.
    Unary,
    /// n bits, exactly one set: every function of the value is linear in them.
    OneHot,
}

/// The set of values of one parameter.
///
/// | constructor | values | coded as |
/// |---|---|---|
/// | [`Domain::float`] | all reals from low to high | one coordinate in [0, 1] |
/// | [`Domain::int`] | low, low + step, …, high | binary, unary or one-hot |
/// | [`Domain::ordinal`] | a list whose order matters | as int, over the position |
/// | [`Domain::choice`] | a list whose order does not matter | one-hot |
/// | [`Domain::bool`] | false, true | one bit |
///
/// ```
/// use mivabo::space::{Coding, Domain};
/// let kernel = Domain::int(1, 7).step(2);             // 1, 3, 5, 7
/// let rate = Domain::float(1e-4, 1e-1).log();
/// let units = Domain::ordinal([64, 128, 256]).coding(Coding::Unary);
/// assert_eq!(kernel.size(), Some(4));
/// assert_eq!(rate.size(), None);
/// assert_eq!(units.size(), Some(3));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Domain {
    pub(crate) set: Set,
    pub(crate) coding: Coding,
    pub(crate) log: bool,
    /// As it was said, and once it is checked as the domain itself writes it.
    pub(crate) default: Option<Value>,
}

/// The values of a [`Domain`], apart from how they are scaled and coded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Set {
    Float { low: f64, high: f64 },
    Int { low: i64, high: i64, step: i64 },
    Ordinal(Vec<Value>),
    Choice(Vec<Value>),
    Bool,
}

/// The type of an expression or of a parameter's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Number,
    Bool,
    /// A text, or a list of values that are neither all numbers nor all truth values.
    Label,
}

impl Domain {
    /// Reals from `low` to `high`, both included.
    pub fn float(low: f64, high: f64) -> Domain {
        Set::Float { low, high }.into()
    }

    /// Integers from `low` to `high`, both included.
    pub fn int(low: i64, high: i64) -> Domain {
        Set::Int { low, high, step: 1 }.into()
    }

    /// Numbers or texts whose order matters.
    pub fn ordinal<V: Into<Value>>(values: impl IntoIterator<Item = V>) -> Domain {
        Set::Ordinal(values.into_iter().map(Into::into).collect()).into()
    }

    /// Texts, numbers or truth values whose order does not matter.
    pub fn choice<V: Into<Value>>(values: impl IntoIterator<Item = V>) -> Domain {
        Domain {
            coding: Coding::OneHot,
            ..Set::Choice(values.into_iter().map(Into::into).collect()).into()
        }
    }

    /// False and true.
    pub fn bool() -> Domain {
        Set::Bool.into()
    }

    /// Keeps every `step`-th integer; the step must divide high - low. Has no meaning for other domains.
    pub fn step(mut self, by: i64) -> Domain {
        if let Set::Int { step, .. } = &mut self.set {
            *step = by;
        }
        self
    }

    /// Scales a float or an int by its logarithm; the low bound must be positive. Values stay as they are.
    pub fn log(mut self) -> Domain {
        self.log = true;
        self
    }

    /// What is taken where nothing else is said. The point of all defaults is the first trial of a study, where it is feasible.
    ///
    /// ```
    /// use mivabo::space::{Domain, Space};
    /// let mut space = Space::builder();
    /// space.add("rate", Domain::float(1e-4, 1e-1).log().default(1e-3));
    /// space.add("layers", Domain::int(1, 6).default(2));
    /// let space = space.build()?;
    /// let first = space.default_point().and_then(Result::ok);
    /// assert_eq!(first.and_then(|point| space.value(&point, "layers")), Some(2.into()));
    /// # Ok::<(), mivabo::Error>(())
    /// ```
    pub fn default(mut self, value: impl Into<Value>) -> Domain {
        self.default = Some(value.into());
        self
    }

    /// What is taken where nothing else is said.
    pub fn default_value(&self) -> Option<&Value> {
        self.default.as_ref()
    }

    /// A value as the domain itself writes it: 3 for 3.0 of an int, 3.0 for 3 of a float. None where it does not hold the value.
    pub(crate) fn own(&self, value: &Value) -> Option<Value> {
        match (&self.set, value) {
            (Set::Float { low, high }, Value::Int(_) | Value::Float(_)) => {
                let x = value.as_f64().filter(|x| (*low..=*high).contains(x));
                x.map(Value::Float)
            }
            _ => Some(self.value(self.index_of(value)?)),
        }
    }

    /// Chooses the bits of an int or an ordinal. A choice is always one-hot, a bool always one bit.
    pub fn coding(mut self, coding: Coding) -> Domain {
        if matches!(self.set, Set::Int { .. } | Set::Ordinal(_)) {
            self.coding = coding;
        }
        self
    }

    /// How many values there are; `None` for a float.
    pub fn size(&self) -> Option<u64> {
        match &self.set {
            Set::Float { .. } => None,
            Set::Int { low, high, step } => {
                let span = (i128::from(*high) - i128::from(*low)) / i128::from(*step).max(1);
                Some(u64::try_from(span + 1).unwrap_or(0))
            }
            Set::Ordinal(values) | Set::Choice(values) => Some(values.len() as u64),
            Set::Bool => Some(2),
        }
    }

    /// Whether this is a float.
    pub(crate) fn is_continuous(&self) -> bool {
        matches!(self.set, Set::Float { .. })
    }

    /// Whether it is scaled by its logarithm.
    pub fn is_log(&self) -> bool {
        self.log
    }

    /// The least and the greatest value of a float or an int.
    pub fn range(&self) -> Option<(f64, f64)> {
        match self.set {
            Set::Float { low, high } => Some((low, high)),
            Set::Int { low, high, .. } => Some((low as f64, high as f64)),
            _ => None,
        }
    }

    /// All values in their order; none for a float.
    pub fn values(&self) -> impl Iterator<Item = Value> {
        (0..self.size().unwrap_or(0)).map(|index| self.value(index))
    }

    /// The value with this index, for an index below [`size`](Self::size).
    pub(crate) fn value(&self, index: u64) -> Value {
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        match &self.set {
            Set::Float { low, .. } => Value::Float(*low),
            Set::Int { low, step, .. } => Value::Int(low + step * index.cast_signed()),
            Set::Ordinal(values) | Set::Choice(values) => values[at].clone(),
            Set::Bool => Value::Bool(index == 1),
        }
    }

    /// The number with this index, where values are numbers or truth values.
    pub(crate) fn number(&self, index: u64) -> Option<Number> {
        match &self.set {
            Set::Int { low, step, .. } => Some(Number::from(low + step * index.cast_signed())),
            Set::Ordinal(values) | Set::Choice(values) => {
                values[usize::try_from(index).ok()?].number()
            }
            _ => self.value(index).number(),
        }
    }

    /// Where the value with this index lies on the domain's own scale, from 0 to 1; ½ where it is the only one.
    pub(crate) fn position(&self, index: u64) -> f64 {
        let last = self.size().unwrap_or(1).saturating_sub(1);
        if last == 0 {
            return 0.5;
        }
        match self.set {
            Set::Int { low, high, step } if self.log => {
                let value = (low + step * index.cast_signed()) as f64;
                (value / low as f64).ln() / (high as f64 / low as f64).ln()
            }
            _ => index as f64 / last as f64,
        }
    }

    /// The index at `u` from 0 to 1 of the domain's own scale; `None` for a float. For uniform u every value is as likely as any
    /// other; on a logarithmic scale the nearest value is taken, so the two at its ends have half a cell each.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "u times a size is a size"
    )]
    pub(crate) fn index_at(&self, u: f64) -> Option<u64> {
        let n = self.size()?;
        let at = match self.set {
            Set::Int { low, high, step } if self.log => {
                let low = low as f64;
                ((low * (high as f64 / low).powf(u) - low) / step as f64).round()
            }
            _ => (u * n as f64).floor(),
        };
        Some((at as u64).min(n.saturating_sub(1)))
    }

    /// The index of a value; `None` when the domain is continuous or does not hold it.
    pub fn index_of(&self, value: &Value) -> Option<u64> {
        match &self.set {
            Set::Float { .. } => None,
            Set::Int { low, high, step } => {
                let n = value.whole()?;
                let is_member = (*low..=*high).contains(&n) && (n - low) % step == 0;
                is_member.then(|| ((n - low) / step).cast_unsigned())
            }
            Set::Ordinal(_) | Set::Choice(_) => self.index_where(|listed| listed.same(value)),
            Set::Bool => match value {
                Value::Bool(b) => Some(u64::from(*b)),
                _ => None,
            },
        }
    }

    /// The index of a text, without making a [`Value`] of it.
    pub(crate) fn index_of_text(&self, text: &str) -> Option<u64> {
        self.index_where(|listed| matches!(listed, Value::Text(t) if t == text))
    }

    /// The index of the first listed value that passes a test.
    fn index_where(&self, test: impl Fn(&Value) -> bool) -> Option<u64> {
        let (Set::Ordinal(values) | Set::Choice(values)) = &self.set else {
            return None;
        };
        values.iter().position(test).map(|at| at as u64)
    }

    pub(crate) fn kind(&self) -> Kind {
        match &self.set {
            Set::Float { .. } | Set::Int { .. } => Kind::Number,
            Set::Bool => Kind::Bool,
            Set::Ordinal(values) | Set::Choice(values) => list_kind(values),
        }
    }

    /// Whether every value is a whole number or a truth value.
    pub(crate) fn is_whole(&self) -> bool {
        let is_whole = |value: &Value| value.number().is_some_and(|n| n.to_integer().is_some());
        match &self.set {
            Set::Float { .. } => false,
            Set::Int { .. } | Set::Bool => true,
            Set::Ordinal(values) | Set::Choice(values) => values.iter().all(is_whole),
        }
    }

    /// Whether values can be compared with `<`: everything but a choice of labels.
    pub(crate) fn is_ordered(&self) -> bool {
        !matches!(self.set, Set::Choice(_)) || self.kind() != Kind::Label
    }
}

impl From<Set> for Domain {
    fn from(set: Set) -> Self {
        Domain {
            set,
            coding: Coding::Binary,
            log: false,
            default: None,
        }
    }
}

impl fmt::Display for Domain {
    /// What may be put in, as an error message says it: "an integer from 1 to 7 in steps of 2".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.set {
            Set::Float { low, high } => write!(f, "a number from {low:?} to {high:?}"),
            Set::Int { low, high, step: 1 } => write!(f, "an integer from {low} to {high}"),
            Set::Int { low, high, step } => {
                write!(f, "an integer from {low} to {high} in steps of {step}")
            }
            Set::Bool => f.write_str("true or false"),
            Set::Ordinal(values) | Set::Choice(values) => {
                write!(f, "one of {}", first_few(values))
            }
        }
    }
}

fn list_kind(values: &[Value]) -> Kind {
    let all = |test: fn(&Value) -> bool| values.iter().all(test);
    if all(|v| matches!(v, Value::Bool(_))) {
        Kind::Bool
    } else if all(|v| matches!(v, Value::Int(_) | Value::Float(_))) {
        Kind::Number
    } else {
        Kind::Label
    }
}

/// As many values as a message has room for.
fn first_few(values: &[Value]) -> String {
    const FEW: usize = 12;
    let shown: Vec<String> = values.iter().take(FEW).map(Value::to_string).collect();
    let more = if values.len() > FEW { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_and_value_are_inverse() {
        for domain in [
            Domain::int(-3, 9).step(4),
            Domain::ordinal(["s", "m", "l"]),
            Domain::choice([0.5, 0.25]),
            Domain::bool(),
            Domain::int(7, 7),
        ] {
            for index in 0..domain.size().unwrap() {
                assert_eq!(
                    domain.index_of(&domain.value(index)),
                    Some(index),
                    "{domain}"
                );
            }
            assert!(
                domain
                    .values()
                    .enumerate()
                    .all(|(k, value)| domain.index_of(&value) == Some(k as u64))
            );
        }
    }

    #[test]
    fn positions_cover_the_scale_and_lead_back_to_their_values() {
        for domain in [
            Domain::int(-3, 9).step(4),
            Domain::int(1, 5000).log(),
            Domain::int(64, 640).step(64).log(),
        ] {
            let last = domain.size().unwrap() - 1;
            assert_eq!(
                (domain.position(0), domain.position(last)),
                (0.0, 1.0),
                "{domain}"
            );
            assert_eq!(
                (domain.index_at(0.0), domain.index_at(1.0)),
                (Some(0), Some(last)),
                "{domain}"
            );
            assert!(
                (0..=last).all(|index| domain.index_at(domain.position(index)) == Some(index)),
                "{domain}"
            );
        }
        assert_eq!(Domain::int(7, 7).position(0), 0.5);
        assert_eq!(Domain::int(1, 10_000).log().index_at(0.5), Some(99));
        assert_eq!(Domain::bool().index_at(0.4), Some(0));
    }

    #[test]
    fn a_whole_float_is_an_integer_value() {
        assert_eq!(Domain::int(0, 5).index_of(&Value::Float(3.0)), Some(3));
        assert_eq!(Domain::int(0, 5).index_of(&Value::Float(3.5)), None);
        assert_eq!(Domain::int(0, 5).index_of(&Value::Bool(true)), None);
    }
}
