//! Whether what is written through a connection still reaches the file: before and after each transaction it is checked that
//! file, log and shared memory are those that were opened, and that nothing was cut off them.
//!
//! What was removed can still be written, and nobody would ever read it. Of a log that lost its name the connection still has
//! the contents, and writes them into the file.

use std::cell::Cell;
use std::fs::File;
use std::path::PathBuf;

use rusqlite::Connection;

use super::hold::Hold;
use super::index::Index;
use super::mark::LastChange;
use super::place::{Place, Seen};
use super::{beside, in_time, refused, translate, wait};
use crate::error::Error;

/// How often the log of a connection that lost it is written into the file, as long as readers stand in the way.
const RESCUES: i32 = 500;

/// A log of this many frames is written into the file; SQLite's own number.
const LONG_LOG: u64 = 1000;

/// What happened to a file while it was open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// There is another file at its path, or none.
    FileGone,
    /// There is another log, or none.
    LogGone {
        is_replaced: bool,
    },
    MemoryGone,
    /// So many bytes are left of so many.
    FileCut {
        left: u64,
        of: u64,
    },
    LogCut,
}

/// Where a connection that may write has its file.
#[derive(Debug)]
pub(super) struct Home {
    pub(super) path: PathBuf,
    pub(super) hold: Hold,
    /// None until the file is open.
    pub(super) place: Option<Place>,
    /// How long the file was when it was last seen.
    length: Cell<u64>,
    /// What was cut off it since. That stays so, however long the files are later.
    cut_off: Cell<Option<Change>>,
}

impl Home {
    pub(super) fn new(path: PathBuf, hold: Hold) -> Home {
        Home {
            path,
            hold,
            place: None,
            length: Cell::new(0),
            cut_off: Cell::new(None),
        }
    }

    /// From now on the file must stay as it is.
    pub(super) fn settle(&mut self) {
        let seen = Seen::of(&self.path);
        self.length.set(seen.file);
        self.place = Some(seen.place);
    }

    /// Whether log or memory are others, and the file is where it was.
    pub(super) fn is_cut_off(&self) -> bool {
        matches!(
            self.change(),
            Some(Change::LogGone { .. } | Change::MemoryGone)
        )
    }

    /// Refuses to go on where the file is not what was opened. To be called with the turn to write, outside of a transaction.
    pub(super) fn check(&self, connection: &Connection) -> Result<(), Error> {
        let Some(change) = self.change() else {
            return Ok(());
        };
        let _alone = in_time(self.hold.commit(), &self.path)?;
        Err(self.refusal(change, rescue(change, connection)))
    }

    /// Commits, and acknowledges only what others can read. To be called with the turn to write.
    pub(super) fn commit(
        &self,
        connection: &Connection,
        last: Option<LastChange>,
    ) -> Result<(), Error> {
        let say = |error| translate(&self.path, &error);
        let _alone = in_time(self.hold.commit(), &self.path)?;
        // The transaction may have taken minutes, and to write behind the end of a log that was cut off would hide the hole.
        if let Some(change) = self.change() {
            connection.execute_batch("ROLLBACK").map_err(say)?;
            return Err(self.refusal(change, rescue(change, connection)));
        }
        // To find a hole that was cut into the log while the commit wrote behind it.
        let before = self.index();
        connection.execute_batch("COMMIT").map_err(say)?;
        // Not before the commit: a file that lacks a change which it remembers is refused.
        if let Some(last) = last {
            self.hold.set_last(last);
        }
        let Some(change) = self.change().or_else(|| self.hole(before?)) else {
            self.shorten_log(connection);
            return Ok(());
        };
        match (change, rescue(change, connection)) {
            (Change::LogGone { .. }, true) => Ok(()),
            (change, is_rescued) => Err(self.refusal(change, is_rescued)),
        }
    }

    /// Before the connection is closed. Whether its log may be written into the file, and be removed.
    pub(super) fn leave(&mut self, connection: &Connection) -> bool {
        let change = self.change();
        if let Some(change) = change {
            let turns = (self.hold.turn(), self.hold.commit());
            if let (Some(_), Some(_)) = turns {
                rescue(change, connection);
            }
        } else if self.place.is_some() {
            // A file that never was settled, because it was refused, keeps the marks that it has.
            self.hold.is_in_order(&self.path);
        }
        self.hold.let_go();
        change.is_none()
    }

    fn index(&self) -> Option<Index> {
        self.hold.memory().and_then(Index::of)
    }

    /// Once the log has grown long, writes it into the file, as SQLite would do within the commit: only now is it known that nothing
    /// is missing in it.
    fn shorten_log(&self, connection: &Connection) {
        if self.index().is_some_and(|index| index.frames() >= LONG_LOG) {
            // What cannot be written now is written by a later commit, or by whoever closes the file.
            write_log(connection);
        }
    }

    fn change(&self) -> Option<Change> {
        if let Some(change) = self.cut_off.get() {
            return Some(change);
        }
        let opened = self.place?;
        // In this order: a commit in between makes the files longer than the memory says, which is no cause for alarm.
        let index = self.index();
        let seen = Seen::of(&self.path);
        let now = seen.place;
        if now.file != opened.file {
            return Some(Change::FileGone);
        }
        if now.log != opened.log {
            return Some(Change::LogGone {
                is_replaced: now.log.is_some(),
            });
        }
        if now.memory != opened.memory {
            return Some(Change::MemoryGone);
        }
        self.cut(&seen, index)
    }

    /// A file grows, except where another program packs it (`VACUUM`); the log has all frames that the memory counts.
    fn cut(&self, seen: &Seen, index: Option<Index>) -> Option<Change> {
        let known = self.length.get();
        let file = index.map_or(known, |index| {
            index.file().map_or(known, |length| length.min(known))
        });
        let log = index.map_or(0, Index::log);
        let change = if seen.file < file {
            Change::FileCut {
                left: seen.file,
                of: file,
            }
        } else if seen.log < log {
            Change::LogCut
        } else {
            self.length.set(seen.file);
            return None;
        };
        // Another program may have emptied the log since the memory was read.
        (self.index() == index).then(|| self.is_cut(change))
    }

    /// A log that was cut off just before a commit is long again: what the commit did not write is missing. The log is cut off
    /// before that commit, so that nobody takes it for whole: with a hole in it, it would damage the file.
    fn hole(&self, before: Index) -> Option<Change> {
        let has_begun_anew = self.index().is_none_or(|now| now.salts() != before.salts());
        let path = beside(&self.path, "-wal");
        if has_begun_anew || before.ends_in(&File::open(&path).ok()?) {
            return None;
        }
        let log = File::options().write(true).open(path);
        // Where that fails, this connection at least goes on no more.
        log.and_then(|log| log.set_len(before.last_frame())).ok();
        Some(self.is_cut(Change::LogCut))
    }

    fn is_cut(&self, change: Change) -> Change {
        self.cut_off.set(Some(change));
        change
    }

    fn refusal(&self, change: Change, is_rescued: bool) -> Error {
        let why = match change {
            Change::FileGone => return Error::no_longer_there(&self.path),
            Change::LogGone { .. } if is_rescued => "its log was removed while it was open; all that was told before is \
                                                     in the file; open it again"
                .to_owned(),
            Change::LogGone { .. } => "its log was removed while it was open, as another SQLite library in the same \
                                       process does when it closes the file; what was told last may be lost; open it \
                                       again"
                .to_owned(),
            Change::MemoryGone => "the shared memory of its log (`-shm`) was removed while it was open; what was told last is in the log (`-wal`): leave \
                                   that where it is, and open the file again"
                .to_owned(),
            Change::FileCut { left, of } => {
                format!(
                    "it was cut off while it was open: {left} of {of} bytes are left; what was told before may be lost"
                )
            }
            Change::LogCut => {
                "its log was cut off while it was open; what was told last may be lost".to_owned()
            }
        };
        refused(&self.path, &why)
    }
}

/// Writes a log that has no name any more into the file. Whether all of it is there now.
///
/// Nobody else opens the file meanwhile, as long as this connection says which log it uses.
fn rescue(change: Change, connection: &Connection) -> bool {
    // A new log may be in use by another library. From one that was cut off only a part could be written.
    if !matches!(
        change,
        Change::FileGone | Change::LogGone { is_replaced: false }
    ) {
        return false;
    }
    // All frames of the log must be in the file: a reader may keep some of them from being written for a while.
    (0..RESCUES).any(|number| write_log(connection) || !wait(number))
}

/// Writes the log into the file, as far as no reader needs it. Whether all of it is there now.
fn write_log(connection: &Connection) -> bool {
    let written = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
        Ok(row.get::<_, i64>(0)? == 0 && row.get::<_, i64>(1)? == row.get::<_, i64>(2)?)
    });
    written == Ok(true)
}
