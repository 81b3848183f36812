//! What the user says: values, domains and expressions, and the model of a space in which every name is looked up.
//!
//! This room gives a statement its meaning: `eval` says what an expression is worth at a point, and nothing else is
//! asked whether a constraint holds. `normal` and `interval` say what can be told about it without a point. It knows
//! numbers and texts, and neither bits, rows and coordinates (`encoding`) nor how a space is put together (`space`).
//!
//! From the ground up: `number`, `value`, `domain`, `expr` with `lex`, `display` and `parse`; `snippet`, `error`,
//! `validate` and `resolve`; `model`; `eval` with `check` and `margin`; `interval`, `polynomial`, `normal` and `bounds`;
//! `formula` and `claim`.

pub(crate) mod bounds;
pub(crate) mod check;
pub(crate) mod claim;
mod display;
pub(crate) mod domain;
pub(crate) mod error;
pub(crate) mod eval;
pub(crate) mod expr;
mod extremum;
pub(crate) mod formula;
pub(crate) mod interval;
mod lex;
pub(crate) mod margin;
pub(crate) mod model;
pub(crate) mod normal;
pub(crate) mod number;
pub(crate) mod parse;
pub(crate) mod point;
pub(crate) mod polynomial;
pub(crate) mod resolve;
mod snippet;
pub(crate) mod spelling;
pub(crate) mod validate;
pub(crate) mod value;
mod wording;

pub use self::error::{Error, Place, PointError, Subject};
pub use self::snippet::Snippet;
pub use self::spelling::nearest;
pub use self::wording::{counted, lasting};
