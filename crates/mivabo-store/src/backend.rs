//! What a database has to do for a store: keep rows, and make transactions of them.
//!
//! No rule of the store is in here, so that a backend cannot break one: it returns the rows that were put, in the order
//! that is asked for. A backend on a server makes writers take turns, for example by locking the row of the study at
//! the begin of a transaction, and lets readers see the last committed state without waiting.

use std::fmt::Debug;
use std::time::Duration;

use crate::error::Error;
use crate::event::Event;
use crate::record::{Record, Revision, StudyEntry, StudyId};

/// A place where studies and trials are kept.
pub trait Backend: Send {
    /// One consistent state, for reading. Never waits for a writer.
    ///
    /// # Errors
    /// What the database meets.
    fn read(&self) -> Result<Box<dyn Rows + '_>, Error>;

    /// The turn to write; waits for that of others. Nobody else writes before it ends. Dropped without
    /// [`commit`](Transaction::commit), it leaves everything as it was. Nobody asks for it while they read or write already.
    ///
    /// # Errors
    /// What the database meets; [`Error::Busy`] after a long wait.
    fn write(&self) -> Result<Box<dyn Transaction + '_>, Error>;

    /// The wish for the turn to compute a suggestion for a study, which is to be [waited](Turn::wait) for. None where there are no such
    /// turns: suggestions are then computed in the turn to write.
    ///
    /// # Errors
    /// What the database meets.
    fn turn_to_suggest(&self, _study: StudyId) -> Result<Option<Box<dyn Turn>>, Error> {
        Ok(None)
    }

    /// Whether this connection lost its place and must be opened anew; the studies are where they were.
    fn is_cut_off(&self) -> bool {
        false
    }
}

/// The turn to compute a suggestion, or a place in the line for it. It keeps nobody from reading and writing, and ends when it is
/// dropped, or with its process.
///
/// It is apart from the connection that gave it, which can be used meanwhile.
pub trait Turn: Send + Debug {
    /// Waits for the turn, but not for longer than this; the place in the line stays as long as this does.
    ///
    /// # Errors
    /// [`Error::Busy`] after a wait of ten minutes altogether.
    fn wait(&mut self, longest: Duration) -> Result<Waited, Error>;
}

/// What came of a wait for a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// It is ours.
    Taken,
    /// Others still have it.
    NotYet,
    /// There are no such turns here.
    Impossible,
}

/// The last numbers that a study has given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Last {
    /// How many trials there are.
    pub trials: u64,
    /// How many of them are told.
    pub tells: u64,
    /// The last revision, of a trial or an event.
    pub revision: Revision,
}

/// Rows of studies, their trials and their events, to read. A study that does not exist has none.
pub trait Rows {
    /// All studies, by number.
    ///
    /// # Errors
    /// What the database meets; so do all others.
    fn studies(&self) -> Result<Vec<StudyEntry>, Error>;

    /// The number of the next study. None is given out twice, even where the study that had it was removed.
    #[expect(clippy::missing_errors_doc, reason = "said once, above")]
    fn next_study(&self) -> Result<StudyId, Error>;

    /// The name that a study had which was removed.
    #[expect(clippy::missing_errors_doc, reason = "said once, above")]
    fn removed(&self, study: StudyId) -> Result<Option<String>, Error>;

    /// What a study was made from.
    #[expect(clippy::missing_errors_doc, reason = "said once, above")]
    fn definition(&self, study: StudyId) -> Result<Option<String>, Error>;

    /// The last numbers given out.
    #[expect(clippy::missing_errors_doc, reason = "said once, above")]
    fn last(&self, study: StudyId) -> Result<Last, Error>;

    /// One trial.
    #[expect(clippy::missing_errors_doc, reason = "said once, above")]
    fn trial(&self, study: StudyId, id: u64) -> Result<Option<Record>, Error>;

    /// Trials whose revision is after `since`, by revision.
    #[expect(clippy::missing_errors_doc, reason = "said once, above")]
    fn changes(&self, study: StudyId, since: Revision) -> Result<Vec<Record>, Error>;

    /// Events whose revision is after `since`, by revision.
    #[expect(clippy::missing_errors_doc, reason = "said once, above")]
    fn events(&self, study: StudyId, since: Revision) -> Result<Vec<Event>, Error>;

    /// All waiting trials, by number.
    #[expect(clippy::missing_errors_doc, reason = "said once, above")]
    fn waiting(&self, study: StudyId) -> Result<Vec<Record>, Error>;

    /// The waiting trial with the smallest number.
    #[expect(clippy::missing_errors_doc, reason = "said once, above")]
    fn oldest_waiting(&self, study: StudyId) -> Result<Option<Record>, Error>;

    /// All running trials, by number.
    #[expect(clippy::missing_errors_doc, reason = "said once, above")]
    fn running(&self, study: StudyId) -> Result<Vec<Record>, Error>;
}

/// Rows that can be changed, together or not at all. It reads what it has put.
pub trait Transaction: Rows {
    /// Adds a study, whose number and name are new.
    ///
    /// # Errors
    /// What the database meets; so do all others.
    fn insert_study(&mut self, study: &StudyEntry, definition: &str) -> Result<(), Error>;

    /// Adds a trial, or replaces the one of its number, whose `params` and `created` are the same and which is not told.
    #[expect(clippy::missing_errors_doc, reason = "said once, above")]
    fn put(&mut self, study: StudyId, trial: &Record) -> Result<(), Error>;

    /// Adds an event, whose revision is after those of all trials and events of the study.
    #[expect(clippy::missing_errors_doc, reason = "said once, above")]
    fn append(&mut self, study: StudyId, event: &Event) -> Result<(), Error>;

    /// Removes a study with its trials and events, and keeps its number and its name from then on as those of a removed one.
    #[expect(clippy::missing_errors_doc, reason = "said once, above")]
    fn remove(&mut self, study: StudyId, now: i64) -> Result<(), Error>;

    /// Makes the changes last, and seen by all. After an error nothing has changed.
    #[expect(clippy::missing_errors_doc, reason = "said once, above")]
    fn commit(self: Box<Self>) -> Result<(), Error>;
}
