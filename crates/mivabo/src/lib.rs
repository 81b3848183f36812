//! Bayesian optimisation over mixed variables under known constraints.
//!
//! Start with [`Space::builder`] or [`Space::from_toml`]. The book is in the repository's `docs` folder.
//!
//! Data flows one way: what the user says ([`space`]) becomes bits and the unit box ([`encoding`]), those become
//! features ([`features`]), and observations of them a belief about the weights ([`surrogate`]). Feasible points where a
//! drawn function is low ([`acquire`]) are the suggestions of a [`study`].

pub mod acquire;
pub mod encoding;
pub mod features;
pub mod language;
pub mod math;
pub mod measure;
pub mod space;
pub mod study;
pub mod surrogate;
pub mod view;

pub use crate::language::nearest;
pub use crate::space::Space;
pub use crate::study::{Error, Study};
pub use mivabo_bqp::interrupt;

/// The code of the README and of the documents is tested like any other.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
}
