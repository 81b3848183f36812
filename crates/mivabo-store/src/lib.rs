//! Studies and trials on disk, shared by many processes: the memory of mivabo.
//!
//! A [`Store`] at a [`Location`] keeps [`Record`]s of trials, and tells whoever follows a study what others did as
//! [`Changes`]. It does not know what a definition or a parameter means: parameters and notes are JSON objects, kept as they
//! were written. A [`Session`] knows: it joins a store and a [`mivabo::Study`].
//!
//! # Rules
//!
//! * **Told trials never change.** A trial is told once. A second tell is refused with what the trial already has. A wrong tell can be
//!   corrected: the correction is an [`Event`], and the row stays as it was told.
//! * **Events are appended.** A study can be revised ([`Store::revise`]): the last definition counts, and the first one stays. Events
//!   take revisions like every other change, so that whoever follows a study takes them in with its trials.
//! * **The first tell wins, whoever tells.** A worker whose lease ended may still tell its result, even when the trial
//!   waits again or runs for another worker: a result that was paid for is not thrown away. The other worker finds out
//!   at its next heartbeat, or when its own tell is refused.
//! * **Trials are numbered** 0, 1, 2, … within a study, in the order in which they are made. Tells have places 0, 1, 2, …
//!   in the order of telling; a trial that fails because its worker stopped answering has one too. Neither has gaps.
//!   Nothing is deleted but whole studies ([`Store::remove`]): whoever still works on one is told so.
//! * **A suggestion keeps nobody from working.** A claim hands out the oldest waiting trial, or else computes a new point: from
//!   everything that was written before, in the turn to suggest, which one claimer at a time has in a study. Everybody else tells,
//!   adds, enqueues, renews leases, takes waiting trials and reads meanwhile. Then the point is recorded as running, with the
//!   revision that it was computed from ([`Record::based_on`]), in one transaction. What happened meanwhile does not
//!   change it, unless somebody made a trial at that very point: then it is computed again. An error, a panic, an interrupt
//!   or the death of the process ends the turn and leaves everything as it was.
//! * **No two claimers share a point:** the turn to suggest ends after the point was recorded, so the next claimer
//!   sees it.
//! * **Revisions** of a study are numbered 1, 2, 3, …; each change of a trial takes the next one, so what changed since a
//!   revision is found without reading the rest. A heartbeat does not count as one.
//! * **What is acknowledged is kept.** A call that returned without an error has been written; one that returned an
//!   error changed nothing, unless the disk itself failed or the file was taken away meanwhile. A file that is used under two
//!   names, or lacks what was acknowledged last, is refused.
//! * **Readers never block writers,** nor writers readers. Writers take turns, each for the moment of a transaction.
//! * Time is told by the caller, in milliseconds since 1970; the store has no clock.
//!
//! ```text
//!              enqueue                        claim
//!                 │                             │ nothing waits: suggest
//!                 ▼           claim             ▼
//!              Waiting ─────────────────────▶ Running ──heartbeat──┐
//!                 │  ◀──────────────────────    │  ▲───────────────┘
//!                 │    release, lease ended     │
//!                 │                             │ tell; or lease ended once too often
//!                 └───────────tell────────────▶ ▼
//!                                add ────────▶ Ended: complete, stopped or failed, for ever
//! ```
//!
//! # Backends
//!
//! The rules are written once, in [`Store`]. A [`Backend`] only keeps rows and makes transactions of them: [`Memory`], the
//! slow, obvious one, and [`Sqlite`], a file. All of them pass one suite of tests (`tests/contract.rs`).
//!
//! ```
//! use mivabo::measure::{Outcome, VALUE};
//! use mivabo_store::{Claim, Error, Lease, Memory, Object, NewRecord, RecordState, Revision, Store, Tell};
//!
//! let mut store = Store::new(Memory::default());
//! let study = store.create("cnn", "[parameters]\nx = { type = 'int', low = 1, high = 3 }")?;
//!
//! let lease = Lease { worker: "host:42", now: 1_000, millis: 60_000 };
//! let claim = Claim { lease, since: Revision::default(), max_trials: Some(1) };
//! let trial = store.claim(study, &claim, |changes| {
//!     // Others may write while this computes.
//!     assert!(changes.trials.is_empty());    // nobody did anything yet
//!     Ok::<_, Error>(NewRecord::from(Object::new(r#"{"x": 2}"#)?))
//! })?;
//! let trial = trial.expect("one trial may be made");
//!
//! store.tell(study, trial.id, &Tell { worker: Some("host:42"), now: 2_000, ..Tell::new(Outcome::of(VALUE, 0.25)) })?;
//!
//! assert_eq!(store.trial(study, 0)?.state, RecordState::Ended(Outcome::of(VALUE, 0.25)));
//! let next = store.claim(study, &claim, |_| -> Result<_, Error> { unreachable!("one was the limit") })?;
//! assert!(next.is_none());
//! # Ok::<(), Error>(())
//! ```

mod backend;
mod claim;
mod comparison;
mod definition;
mod difference;
mod error;
mod event;
mod location;
mod memory;
mod object;
mod points;
mod record;
mod session;
mod sqlite;
mod state;
mod store;
mod told;
mod view;
mod waiting;

pub use crate::backend::{Backend, Last, Rows, Transaction, Turn, Waited};
pub use crate::claim::Claim;
pub use crate::definition::{AimsError, Definition, Said, default_strategy};
pub use crate::difference::{DefinitionDifference, Setting};
pub use crate::error::{Error, NO_STUDY, Refused};
pub use crate::event::{By, Correction, Event, What};
pub use crate::location::{Location, LocationError};
pub use crate::memory::Memory;
pub use crate::object::Object;
pub use crate::points::object_of;
pub use crate::record::{Lease, NewRecord, Record, Revision, StudyEntry, StudyId, Tell};
pub use crate::session::{Asked, Asking, Revised, Session, Teaching};
pub use crate::sqlite::Sqlite;
pub use crate::state::RecordState;
pub use crate::store::{Changes, Revising, Store, check_name};
pub use crate::told::Told;
pub use crate::waiting::{Awaited, on_long_wait};
