//! Study files, and the loop that evaluates the trials of a study: what the command line and Python share.
//!
//! A [`StudyFile`] is read once and checked whole; a [`Plan`] is what a run makes of it. [`Work`] then says what is to be done
//! next. It evaluates nothing and starts nothing: whoever runs it brings processes, threads or executors, and a [`Session`]
//! for each call.
//!
//! ```text
//!          ┌── Evaluate(trial) ──▶ the front end evaluates ──▶ ended(id, Ending) ──┐
//! next() ──┼── Wait(until) ──────▶ others work on what is left ────────────────────┼──▶ next() …
//!          └── Done(why)                                     Again: once more ◀────┘
//!
//! beat()     now and then, from a thread that nothing else holds up
//! release()  when the front end stops before its trials have ended
//! ```
//!
//! # Contract
//!
//! * A trial that [`Work::next`] hands out is held here until [`Work::ended`] or [`Work::release`] is called for it. An interrupt or
//!   a panic inside a call leaves it held, so that a release afterwards gives it back.
//! * While trials are held, [`Work::beat`] is called at least every [`Work::pulse`]. A worker that is silent for a lease loses its
//!   trials to others; its results still count if they come first.
//! * A trial over which [`MAX_ATTEMPTS`] workers died in a row has failed.
//! * Trials of others are waited for as long as their leases may still end soon: they are told, or come back. Trials that somebody
//!   keeps for longer are not waited for.
//! * What was evaluated is never forgotten: what the store does not take is an error and stays known
//!   ([`Work::unstored`]), and so does what it took and lacks later ([`Work::missing_in`]).
//!
//! [`Session`]: mivabo_store::Session

mod builtin;
mod error;
mod file;
mod interpreter;
mod keys;
mod lost;
mod objective;
mod schema;
mod template;
mod time;
mod typed;
mod value;
mod variables;
mod work;

use std::time::Duration;

pub use crate::builtin::Builtin;
pub use crate::error::{Mistake, ObjectiveError, Problem};
pub use crate::file::{Budget, Overrides, Plan, StudyFile};
pub use crate::keys::{Key, Takes};
pub use crate::lost::still_told;
pub use crate::objective::{Kind, Objective};
pub use crate::schema::schema;
pub use crate::template::{Template, shown};
pub use crate::time::{TimeError, duration, lease};
pub use crate::variables::{STUDY_VARIABLE, TRIAL_VARIABLE};
pub use crate::work::{AwaitedTrial, Done, Ended, Ending, Next, Terms, Work};

/// How long a worker may be silent before its trials are given to others.
pub const LEASE: Duration = Duration::from_secs(60);

/// The shortest lease: signs of life come four times in a lease.
pub const SHORTEST_LEASE: Duration = Duration::from_millis(100);

/// How often workers may die over a trial before it counts as failed.
pub const MAX_ATTEMPTS: u32 = 5;

/// A run without any value gives up after this many failed trials.
pub const MAX_FAILURES: u64 = 10;

/// The most workers of one process: they are threads.
pub const MAX_WORKERS: usize = 1024;

/// How long a worker that waits for trials of others rests before it looks again: a file does not say when it changes.
const PAUSE: Duration = Duration::from_millis(100);

/// After how long a wait the user hears of it.
const SILENCE: Duration = Duration::from_secs(2);
