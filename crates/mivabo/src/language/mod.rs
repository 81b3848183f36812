//! What the user says: values, domains, expressions, and the model of a space in which every name is looked up.
//!
//! The meaning of a constraint is that of its expression ([`eval`]). Nothing here knows of bits or rows.

pub(crate) mod bounds;
pub(crate) mod check;
mod display;
pub(crate) mod domain;
pub(crate) mod error;
pub(crate) mod eval;
pub(crate) mod expr;
pub(crate) mod gradient;
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
pub(crate) mod spelling;
pub(crate) mod value;

pub use self::error::{Error, Place, PointError, Snippet};
pub use self::spelling::nearest;
