//! Bayesian optimisation over mixed variables under known constraints.
//!
//! Start with [`Space::builder`] or [`Space::from_toml`]. The book is in the repository's `docs` folder.
//!
//! | topic | where | what it is for |
//! |---|---|---|
//! | space | [`space`] | parameters, constraints and points: what the user says |
//! | study | [`study`] | ask for points, tell what came of them, resume; which parameters matter |
//! | strategies | [`strategy`] | how points are chosen, by name or by settings |
//! | measures | [`measure`] | what an evaluation gives, goals and limits, and the order of outcomes |
//! | interrupting | [`interrupt`] | ends a long computation from another thread |
//!
//! The rooms behind them are for experts:
//!
//! | room | what it is for |
//! |---|---|
//! | [`language`] | reads and checks what is written in constraints and study files |
//! | [`encoding`] | turns points into bits and the unit box, and constraints into rows, tables and regions |
//! | [`features`] | the paper's features of bits and coordinates |
//! | [`surrogate`] | beliefs about functions: linear models with several priors, Gaussian processes |
//! | [`acquire`] | feasible points: drawn at random, moved, repaired, annealed, the nearest to a wish |
//! | [`math`] | linear algebra, minimisers and random streams, which know nothing of spaces |
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
