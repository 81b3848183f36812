//! Bayesian optimisation over mixed variables under known constraints.
//!
//! Data flows one way: what the user says ([`space`]) becomes bits and the unit box ([`encoding`]).

pub mod encoding;
mod error;
pub mod space;

pub use crate::error::{BadCode, Error, Place, Snippet};
pub use crate::space::Space;
