//! Bayesian optimisation over mixed variables under known constraints.
//!
//! Start with [`Space::builder`] or [`Space::from_toml`]. The book is in the repository's `docs` folder.
//!
//! | topic | where | what it is for |
//! |---|---|---|
//! | space | [`space`] | parameters, constraints and points: what the user says |
//! | study | [`study`] | ask for points, tell what came of them, resume; which parameters matter |
//! | strategies | [`strategy`] | how points are chosen, by name and settings |
//! | measures | [`measure`] | what an evaluation gives, goals and limits, and the order of outcomes |
//! | views | [`view`] | a study as one document, for tables and pages |
//! | interrupting | [`interrupt`] | ends a long computation from another thread |
//!
//! Of the rooms behind them only what other programs use can be seen:
//!
//! | room | what it shows |
//! |---|---|
//! | [`language`] | what is wrong with a text, and where |
//! | [`acquire`] | feasible points, and how they are drawn at random |
//! | [`encoding`] | the bits and coordinates of a point, and the constraints over them |
//! | [`math`] | streams of random numbers |
//!
//! Two more are for experts, who measure or plot the paper's parts by themselves:
//!
//! | room | what it shows |
//! |---|---|
//! | [`features`] | the paper's features, and functions that are linear in them |
//! | [`surrogate`] | beliefs about functions: the paper's Gaussian model, and a Gaussian process over parameters |
//!
//! Data flows one way: a [`space`] becomes bits and the unit box ([`encoding`]), those become features ([`features`]), and
//! observations of them a belief ([`surrogate`]). A [`strategy`] chooses feasible points ([`acquire`]) by what is believed, and a
//! [`study`] hands them out.

pub mod acquire;
pub mod encoding;
pub mod features;
pub mod language;
pub mod math;
pub mod measure;
pub mod space;
pub mod strategy;
pub mod study;
pub mod surrogate;
mod trial;
pub mod view;

pub use crate::language::{counted, lasting, nearest};
pub use crate::space::Space;
pub use crate::study::{Error, Study};
pub use mivabo_bqp::interrupt;

/// The code of the README and of the documents is tested like any other.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
}
