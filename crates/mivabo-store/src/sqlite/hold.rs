//! Locks that keep the log of an open file where it is, and writers apart, whatever else this process does with the file.
//!
//! SQLite's own locks belong to the process. When another SQLite library in it, such as Python's `sqlite3`, closes the file,
//! they are gone without a word: the next one to close takes itself for the last and removes the log, and another process
//! writes into a transaction that is not over. The locks here belong to an open file (`F_OFD_SETLK`, on Linux): shared ones on
//! the same bytes as SQLite's, so that everybody reads and writes as before and nobody believes to be alone, and exclusive
//! ones on bytes that SQLite does not use: for the turn to write, for a commit, while nobody begins to read, and while a
//! connection is opened or closed. (Who begins to read in the middle of a commit whose locks are gone would mend the log.)
//!
//! One more byte says which log a connection uses. The locks are on the file itself, so they count under each of its names (hard
//! links, bind mounts), while SQLite keeps one log for each name: whoever finds another log in use stays away.
//!
//! To close a file ends the locks that SQLite has on it in this process. So what was opened here stays open, for the next
//! connection to use, until the last connection to that file is closed.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::line::{Candidate, Line, Used};
use super::lock::{Bytes, Kind, Locked, locked, set};
use super::mark::{self, LastChange, Mark};
use super::place::{Key, Place};
use super::{beside, identity, in_time};
use crate::backend::Waited;
use crate::error::Error;
use crate::record::StudyId;
use crate::waiting::{Awaited, pause};

/// The bytes of a database that every reader has locked, and of the shared memory those that every user has: parts of
/// SQLite's file format (`PENDING_BYTE` + 2, `UNIX_SHM_DMS`).
const READERS: Bytes = Bytes::new(0x4000_0002, 510);
const USERS: Bytes = Bytes::one(128);

/// The bytes of a database behind SQLite's: who writes has locked the first, see [`WRITING`], who opens or closes it the second, and
/// who commits or begins to read the third.
const DOOR: Bytes = Bytes::one(0x4000_0201);
const COMMIT: Bytes = Bytes::one(0x4000_0202);

/// Whoever waits for so long has given up before.
const FOR_EVER: Duration = Duration::from_secs(86_400);

/// Who computes a suggestion for a study has locked the byte of that study, far behind everything that SQLite locks.
const SUGGESTIONS: i64 = 1 << 60;

/// Where connections say which log they use, one byte for each log: far behind everything that SQLite locks.
const LOGS: Bytes = Bytes::new(1 << 62, 1 << 61);

/// Where those stand in line who wait for the turn to compute a suggestion.
const SUGGESTION_LINES: i64 = (1 << 62) + (1 << 61);

/// The turn to write.
const WRITING: Line = Line {
    turn: Bytes::one(0x4000_0200),
    waiters: Bytes::new(1 << 61, 1 << 60),
    awaited: Awaited::Writer,
};

/// The turn to compute a suggestion for a study. Studies have lines of their own, as long as there are not millions of them.
fn suggesting(study: StudyId) -> Line {
    let line = (study.0 % (1 << 20)).cast_signed() << 40;
    Line {
        turn: Bytes::one(SUGGESTIONS + (study.0 % (1 << 60)).cast_signed()),
        waiters: Bytes::new(SUGGESTION_LINES + line, 1 << 40),
        awaited: Awaited::Suggestion,
    }
}

/// The byte of the log with this number.
fn of_log(number: u64) -> Bytes {
    // Of 64 bits the first 61.
    Bytes::one(LOGS.start + (number >> 3).cast_signed())
}

/// The connections of this process.
static CONNECTIONS: Mutex<BTreeMap<Key, Open>> = Mutex::new(BTreeMap::new());

#[derive(Debug, Default)]
struct Open {
    n_connections: usize,
    /// Open files without a lock, of the database and of its shared memory.
    spare: Vec<File>,
}

/// One connection, and its locks.
#[derive(Debug)]
pub(super) struct Hold {
    /// The database; none where this process may not open it by itself.
    database: Option<(Key, File)>,
    memory: Option<File>,
    /// Which stand for its log.
    log: Option<Bytes>,
    /// The log that must be gone, once the connection is closed, for the file to need no marks any more.
    last_log: Option<PathBuf>,
    /// How long the turns were that it had before the line.
    used: UsedTurns,
}

/// For each kind of turn how long those were that a connection had since it last stood in line.
#[derive(Debug, Default)]
struct UsedTurns {
    writing: Used,
    suggesting: Used,
}

impl Hold {
    /// To be called before a connection to this path is opened: nobody else opens or closes the file until [`keep`](Hold::keep).
    /// Makes the file, if it is asked to. None when others are at it for too long.
    pub(super) fn of(path: &Path, is_made: bool) -> Option<Hold> {
        let hold = Hold::without_locks(path, is_made);
        // In this order everywhere: nobody who is about to commit waits at the door.
        (hold.lock(DOOR, Kind::Exclusive) && hold.lock(COMMIT, Kind::Shared)).then_some(hold)
    }

    /// As long as it is there, nobody opens or closes the file, nor commits: what is in it and in its log stays as it is.
    pub(super) fn still(path: &Path) -> Option<Hold> {
        let hold = Hold::without_locks(path, false);
        (hold.lock(DOOR, Kind::Shared) && hold.lock(COMMIT, Kind::Shared)).then_some(hold)
    }

    fn without_locks(path: &Path, is_made: bool) -> Hold {
        let mut connections = connections();
        let key = std::fs::metadata(path).ok().map(|data| identity(&data));
        let file = opened(connections.get_mut(&key.unwrap_or_default()), path, is_made);
        let database = file.and_then(|file| Some((identity(&file.metadata().ok()?), file)));
        if let Some((key, _)) = &database {
            connections.entry(*key).or_default().n_connections += 1;
        }
        drop(connections);
        Hold {
            database,
            memory: None,
            log: None,
            last_log: None,
            used: UsedTurns::default(),
        }
    }

    /// Takes the locks of a user, once the connection is open, and marks the file with where its log is.
    pub(super) fn keep(&mut self, path: &Path, place: Place) {
        let Some((key, file)) = &self.database else {
            return;
        };
        if let Some(log) = place.log_number().map(of_log) {
            lock(file, log, Kind::Shared);
            self.log = Some(log);
        }
        // Whoever opens the file after this process was killed learns from it where the log is.
        if let Some(mark) = Mark::of(path, place) {
            mark::set(file, *key, &mark);
        }
        self.memory = opened(connections().get_mut(key), &beside(path, "-shm"), false);
        // Others may open and close other files while this waits.
        self.lock(READERS, Kind::Shared);
        if let Some(memory) = &self.memory {
            lock(memory, USERS, Kind::Shared);
        }
        // Last: until the shared locks are there, somebody who closes the file could take itself for the last one.
        self.lock(COMMIT, Kind::None);
        self.lock(DOOR, Kind::None);
    }

    /// Device and number of the database that is held.
    pub(super) fn key(&self) -> Option<Key> {
        self.database.as_ref().map(|(key, _)| *key)
    }

    /// The database that is held.
    pub(super) fn file(&self) -> Option<&File> {
        self.database.as_ref().map(|(_, file)| file)
    }

    /// The memory that the users of the log share.
    pub(super) fn memory(&self) -> Option<&File> {
        self.memory.as_ref()
    }

    /// Whether others have the file open with another log than the one with this number.
    pub(super) fn is_used_with_another_log(&self, number: Option<u64>) -> bool {
        let Some(own) = number.map(of_log) else {
            return self.is_locked(LOGS);
        };
        // Other connections to the same log have its byte locked, too.
        let others = [LOGS.before(own.start), LOGS.from(own.end())];
        others.into_iter().any(|bytes| self.is_locked(bytes))
    }

    /// Whether others have the file open, with whatever log.
    pub(super) fn is_used(&self) -> bool {
        self.is_locked(LOGS)
    }

    fn is_locked(&self, bytes: Bytes) -> bool {
        self.file()
            .is_some_and(|file| locked(file, bytes).is_some())
    }

    /// Where the log was when the file was last open and not closed.
    pub(super) fn mark(&self) -> Option<Mark> {
        self.database
            .as_ref()
            .and_then(|(key, file)| mark::get(file, *key))
    }

    /// The last change that was acknowledged.
    pub(super) fn last(&self) -> Option<LastChange> {
        self.database
            .as_ref()
            .and_then(|(key, file)| mark::last(file, *key))
    }

    /// Remembers the last change that is about to be acknowledged.
    pub(super) fn set_last(&self, last: LastChange) {
        if let Some((key, file)) = &self.database {
            mark::set_last(file, *key, last);
        }
    }

    /// The file was replaced by an older state of it, as its user wished.
    pub(super) fn forget_last(&self) {
        if let Some(file) = self.file() {
            mark::remove_last(file);
        }
    }

    /// The file is about to be closed in order: if this was the last connection, and the log is then gone, all is in the file.
    pub(super) fn is_in_order(&mut self, path: &Path) {
        self.last_log = Some(beside(path, "-wal"));
    }

    /// Locks these bytes so; false where others had them for too long. Where this cannot be done, SQLite's own locks have to do.
    fn lock(&self, bytes: Bytes, kind: Kind) -> bool {
        let file = self.file();
        file.is_none_or(|file| lock(file, bytes, kind) != Locked::Busy)
    }

    /// Whether those who wait for a turn stand in line.
    pub(super) fn has_lines(&self) -> bool {
        self.database.is_some()
    }

    /// Waits for the turn to write. None when others have it for too long, as in the next two.
    pub(super) fn turn(&self) -> Option<Turn<'_>> {
        let used = &self.used.writing;
        if let Some(file) = self.file() {
            let mut candidate = Candidate::new(WRITING, used);
            let done = candidate.wait(file, FOR_EVER);
            candidate.leave(file);
            if done == Locked::Busy {
                return None;
            }
        }
        Some(self.turn_of(WRITING.turn, Some(used)))
    }

    /// The wish for the turn to compute a suggestion for a study, apart from this connection. The lock is on the file, so it counts
    /// under each of its names, and ends with this process. None where there are no such locks.
    pub(super) fn candidate(&self, path: &Path, study: StudyId) -> Option<Suggesting> {
        let hold = Hold::without_locks(path, false);
        // Another file may be at this path by now.
        if hold.key().is_none() || hold.key() != self.key() {
            return None;
        }
        let used = self.used.suggesting.clone();
        Some(Suggesting {
            candidate: Candidate::new(suggesting(study), &used),
            hold,
            path: path.to_owned(),
            used,
            turn: None,
        })
    }

    /// Waits until nobody begins to read.
    pub(super) fn commit(&self) -> Option<Turn<'_>> {
        self.take(COMMIT, Kind::Exclusive)
    }

    /// Waits until nobody commits.
    pub(super) fn look(&self) -> Option<Turn<'_>> {
        self.take(COMMIT, Kind::Shared)
    }

    fn take(&self, bytes: Bytes, kind: Kind) -> Option<Turn<'_>> {
        let is_taken = self.lock(bytes, kind);
        is_taken.then(|| self.turn_of(bytes, None))
    }

    fn turn_of<'a>(&'a self, bytes: Bytes, used: Option<&'a Used>) -> Turn<'a> {
        Turn {
            hold: self,
            bytes,
            used,
            begun: Instant::now(),
        }
    }

    /// Ends the locks before the connection is closed: it may be the last one. Nobody opens the file until it is.
    pub(super) fn let_go(&self) {
        self.lock(DOOR, Kind::Exclusive);
        self.unlock();
    }

    /// Ends all locks but that of the door.
    fn unlock(&self) {
        for bytes in [WRITING.turn, COMMIT, READERS].into_iter().chain(self.log) {
            self.lock(bytes, Kind::None);
        }
        if let Some(file) = &self.memory {
            lock(file, USERS, Kind::None);
        }
    }
}

impl Drop for Hold {
    /// After the connection was closed.
    fn drop(&mut self) {
        self.unlock();
        let is_closed =
            self.last_log.take().is_some_and(|log| !log.exists()) && !self.is_locked(LOGS);
        if let (true, Some(file)) = (is_closed, self.file()) {
            mark::remove(file);
        }
        self.lock(DOOR, Kind::None);
        let Some((key, file)) = self.database.take() else {
            return;
        };
        let mut connections = connections();
        let open = connections.entry(key).or_default();
        open.n_connections -= 1;
        // Kept open, as to close one would end SQLite's locks of all other connections of this process to the file.
        open.spare
            .extend([Some(file), self.memory.take()].into_iter().flatten());
        // Nobody is left who has such locks.
        if open.n_connections == 0 {
            connections.remove(&key);
        }
    }
}

/// The turn to do something, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    hold: &'a Hold,
    bytes: Bytes,
    /// Where its length is counted, if there is a line for it.
    used: Option<&'a Used>,
    begun: Instant,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.hold.lock(self.bytes, Kind::None);
        if let Some(used) = self.used {
            used.add(self.begun.elapsed());
        }
    }
}

/// The turn to compute a suggestion, or the wait for it, until it is dropped.
#[derive(Debug)]
pub(super) struct Suggesting {
    candidate: Candidate,
    hold: Hold,
    path: PathBuf,
    used: Used,
    /// The bytes of the turn, and since when it is ours.
    turn: Option<(Bytes, Instant)>,
}

impl crate::backend::Turn for Suggesting {
    fn wait(&mut self, longest: Duration) -> Result<Waited, Error> {
        let Some(file) = self.hold.file() else {
            return Ok(Waited::Impossible);
        };
        if self.turn.is_some() {
            return Ok(Waited::Taken);
        }
        Ok(match self.candidate.wait(file, longest) {
            Locked::Taken(()) => {
                self.turn = Some((self.candidate.turn(), Instant::now()));
                Waited::Taken
            }
            Locked::Impossible => Waited::Impossible,
            Locked::Busy if self.candidate.is_over() => return in_time(None, &self.path),
            Locked::Busy => Waited::NotYet,
        })
    }
}

impl Drop for Suggesting {
    fn drop(&mut self) {
        if let Some(file) = self.hold.file() {
            self.candidate.leave(file);
        }
        if let Some((bytes, begun)) = self.turn {
            self.hold.lock(bytes, Kind::None);
            self.used.add(begun.elapsed());
        }
    }
}

fn connections() -> MutexGuard<'static, BTreeMap<Key, Open>> {
    CONNECTIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The file at a path: one of the spare ones of its database, or opened; only who may write can have a lock for himself.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn opened(open: Option<&mut Open>, path: &Path, is_made: bool) -> Option<File> {
    use std::os::unix::fs::OpenOptionsExt as _;

    let mut none = Open::default();
    let open = open.unwrap_or(&mut none);
    keep_clear_of_output();
    // As SQLite makes it.
    let mut options = File::options();
    options.read(true).write(true).create(is_made).mode(0o644);
    // One that is open already is taken first: whatever is opened here stays open until the last connection is closed.
    let writable = open.spare(path, true).or_else(|| options.open(path).ok());
    writable
        .or_else(|| open.spare(path, false))
        .or_else(|| File::open(path).ok())
}

/// Elsewhere there are no such locks, or an open file cannot be removed.
#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn opened(_open: Option<&mut Open>, _path: &Path, _is_made: bool) -> Option<File> {
    None
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
impl Open {
    /// The file at a path, if it is among the spare ones.
    fn spare(&mut self, path: &Path, is_writable: bool) -> Option<File> {
        use nix::fcntl::{FcntlArg, OFlag, fcntl};

        let wanted = identity(&std::fs::metadata(path).ok()?);
        let may_write = |file: &File| {
            fcntl(file, FcntlArg::F_GETFL)
                .is_ok_and(|flags| OFlag::from_bits_truncate(flags).contains(OFlag::O_RDWR))
        };
        let is_wanted = |file: &File| file.metadata().is_ok_and(|data| identity(&data) == wanted);
        let at = self
            .spare
            .iter()
            .position(|file| is_wanted(file) && may_write(file) == is_writable)?;
        Some(self.spare.swap_remove(at))
    }
}

/// Where a program has closed its standard output, the next file would take that place, and be printed to.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn keep_clear_of_output() {
    use std::os::fd::{AsRawFd as _, IntoRawFd as _};

    while let Ok(nothing) = File::options().read(true).write(true).open("/dev/null") {
        if nothing.as_raw_fd() > 2 {
            return;
        }
        // It stays there.
        let _ = nothing.into_raw_fd();
    }
}

/// Locks these bytes so, and waits where others have them. Busy where they have them for too long, or somebody asked this thread
/// to end.
fn lock(file: &File, bytes: Bytes, kind: Kind) -> Locked<()> {
    for attempt in 0.. {
        match set(file, bytes, kind) {
            Locked::Busy if pause(attempt, Awaited::Writer) => {}
            done => return done,
        }
    }
    Locked::Busy
}
