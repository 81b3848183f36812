//! The values that parameters take, as study files, points and objectives hold them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::number::Number;

/// One value of a parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a value must be a number, a text, true or false"
)]
pub enum Value {
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A real number.
    Float(f64),
    /// A text.
    Text(String),
}

impl Value {
    /// The value as a floating-point number; `None` for texts. Booleans count as 0 and 1.
    ///
    /// ```
    /// # use mivabo::space::Value;
    /// assert_eq!(Value::Int(3).as_f64(), Some(3.0));
    /// assert_eq!(Value::from("adam").as_f64(), None);
    /// ```
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            Value::Bool(b) => Some(f64::from(u8::from(b))),
            Value::Int(n) => Some(n as f64),
            Value::Float(x) => Some(x),
            Value::Text(_) => None,
        }
    }

    /// The exact number; `None` for texts.
    pub(crate) fn number(&self) -> Option<Number> {
        match *self {
            Value::Bool(b) => Some(b.into()),
            Value::Int(n) => Some(n.into()),
            Value::Float(x) => Some(Number::decimal(x)),
            Value::Text(_) => None,
        }
    }

    /// A whole number where the number is one, otherwise the nearest floating-point number.
    pub(crate) fn of_number(n: Number) -> Value {
        n.to_integer()
            .map_or_else(|| Value::Float(n.to_f64()), Value::Int)
    }

    /// The integer that the value is: 3.0 is one, `true` is not.
    pub(crate) fn whole(&self) -> Option<i64> {
        match *self {
            Value::Int(n) => Some(n),
            Value::Float(x) => Number::decimal(x).to_integer(),
            _ => None,
        }
    }

    /// Equal as the user sees it: 1 and 1.0 are the same number, but `true` and "1" are not.
    pub(crate) fn same(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Int(a), Value::Float(b)) | (Value::Float(b), Value::Int(a)) => *a as f64 == *b,
            _ => self == other,
        }
    }
}

impl fmt::Display for Value {
    /// Numbers and truth values as they are written in an expression, texts in single quotes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(b) => write!(f, "{b}"),
            Value::Int(n) => write!(f, "{n}"),
            Value::Float(x) => write!(f, "{x:?}"),
            Value::Text(text) => f.write_str(&quoted(text)),
        }
    }
}

/// A text in single quotes, with quotes and backslashes escaped.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Value::Bool(b)
    }
}

impl From<i64> for Value {
    fn from(n: i64) -> Self {
        Value::Int(n)
    }
}

impl From<i32> for Value {
    fn from(n: i32) -> Self {
        Value::Int(n.into())
    }
}

impl From<f64> for Value {
    fn from(x: f64) -> Self {
        Value::Float(x)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}
