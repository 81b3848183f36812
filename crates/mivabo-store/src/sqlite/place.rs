//! Whether what is written through a connection still reaches the file: before and after each transaction it is checked that
//! file, log and shared memory are those that were opened, and that nothing was cut off them.
//!
//! What was removed can still be written, and nobody would ever read it. Of a log that lost its name the connection still has
//! the contents, and writes them into the file.

use std::cell::Cell;
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::hold::{Hold, Key};
use super::mark::LastChange;
use super::{beside, identity, in_time, refused, translate, wait};
use crate::error::Error;

/// How often the log of a connection that lost it is written into the file, as long as readers stand in the way.
const RESCUES: i32 = 500;

/// A log of this many frames is written into the file; SQLite's own number.
const LONG_LOG: u64 = 1000;

/// What tells a file, its log and the shared memory beside it from others of the same name: device and number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: Option<Key>,
    pub(super) log: Option<Key>,
    pub(super) memory: Option<Key>,
}

impl Place {
    pub(super) fn of(path: &Path) -> Place {
        Seen::of(path).place
    }

    /// A number for the log and its memory together; none where there is no log.
    pub(super) fn log_number(self) -> Option<u64> {
        let (log, memory) = (self.log?, self.memory.unwrap_or_default());
        let bytes = [log.0, log.1, memory.0, memory.1].map(u64::to_le_bytes);
        // FNV-1a.
        let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        Some(bytes.as_flattened().iter().fold(0xcbf2_9ce4_8422_2325, mix))
    }
}

/// A place, and how long the files are.
struct Seen {
    place: Place,
    file: u64,
    log: u64,
}

impl Seen {
    fn of(path: &Path) -> Seen {
        let [file, log, memory] =
            ["", "-wal", "-shm"].map(|ending| std::fs::metadata(beside(path, ending)).ok());
        let key = |data: &Option<Metadata>| data.as_ref().map(identity);
        let length = |data: &Option<Metadata>| data.as_ref().map_or(0, Metadata::len);
        Seen {
            place: Place {
                file: key(&file),
                log: key(&log),
                memory: key(&memory),
            },
            file: length(&file),
            log: length(&log),
        }
    }
}

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

/// The head of the shared memory, a part of SQLite's file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Index {
    head: [u8; 48],
}

impl Index {
    /// None while somebody writes it.
    #[cfg(unix)]
    fn of(memory: &File) -> Option<Index> {
        use std::os::unix::fs::FileExt as _;

        let mut both = [0; 96];
        memory.read_exact_at(&mut both, 0).ok()?;
        let (head, again) = both.split_at(48);
        let is_initialized = head[12] != 0;
        let head = head
            .try_into()
            .ok()
            .filter(|_| head == again && is_initialized)?;
        Some(Index { head })
    }

    #[cfg(not(unix))]
    fn of(_memory: &File) -> Option<Index> {
        None
    }

    /// How long the file is, once the log is written into it; none where nothing is known.
    fn file(self) -> Option<u64> {
        let pages = self.number(20);
        (pages > 0).then(|| pages * self.page())
    }

    /// How many frames the log has.
    fn frames(self) -> u64 {
        self.number(16)
    }

    /// How long the log is at least.
    fn log(self) -> u64 {
        match self.frames() {
            0 => 0,
            frames => 32 + frames * (24 + self.page()),
        }
    }

    /// Where the last frame of the log begins; 0 where it has none.
    fn last_frame(self) -> u64 {
        self.log().saturating_sub(24 + self.page())
    }

    /// Whether the last frame that it counts is in the log.
    #[cfg(unix)]
    fn ends_in(self, log: &File) -> bool {
        use std::os::unix::fs::FileExt as _;

        let mut frame = [0; 24];
        if self.frames() == 0 {
            return true;
        }
        let read = log.read_exact_at(&mut frame, self.last_frame());
        read.is_ok() && frame[8..16] == self.salts()
    }

    #[cfg(not(unix))]
    fn ends_in(self, _log: &File) -> bool {
        true
    }

    /// The numbers that the frames of the log have in common until it begins anew.
    fn salts(self) -> [u8; 8] {
        std::array::from_fn(|k| self.head[32 + k])
    }

    fn page(self) -> u64 {
        let written = u16::from_ne_bytes([self.head[14], self.head[15]]);
        // 1 stands for 65536.
        u64::from(written & 0xfe00) + (u64::from(written & 1) << 16)
    }

    fn number(self, at: usize) -> u64 {
        let [a, b, c, d] = [0, 1, 2, 3].map(|k| self.head[at + k]);
        u64::from(u32::from_ne_bytes([a, b, c, d]))
    }
}
