//! Locks that keep the log of an open file where it is, whatever else this process does with the file.
//!
//! SQLite's own locks belong to the process. When another SQLite library in it, such as Python's `sqlite3`, closes the file,
//! they are gone without a word, and the next one to close takes itself for the last and removes the log. The locks here
//! belong to an open file (`F_OFD_SETLK`, on Linux): shared ones on the same bytes as SQLite's, so that everybody reads and
//! writes as before, and nobody believes to be alone. They do not stand for the locks of a transaction: beside other
//! processes that write, a second library in this one can still do harm.
//!
//! To close a file ends the locks that SQLite has on it in this process. So what was opened here stays open, for the next
//! connection to use, until the last connection to that file is closed.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
use super::wait;
use super::{beside, identity};

/// The bytes of a database that every reader has locked, and of the shared memory those that every user has: parts of
/// SQLite's file format (`PENDING_BYTE` + 2, `UNIX_SHM_DMS`).
const READERS: (i64, i64) = (0x4000_0002, 510);
const USERS: (i64, i64) = (128, 1);

/// Device and number of a file, which it has under whatever name.
type Key = (u64, u64);

/// The connections of this process.
static CONNECTIONS: Mutex<Connections> = Mutex::new(Connections { n_opening: 0, open: BTreeMap::new() });

#[derive(Debug)]
struct Connections {
    /// Those of which it is not known yet which file they open: nothing is closed meanwhile.
    n_opening: usize,
    open: BTreeMap<Key, Open>,
}

#[derive(Debug, Default)]
struct Open {
    n_connections: usize,
    /// Open files without a lock, of the database and of its shared memory.
    spare: Vec<File>,
}

/// One connection, and its locks.
#[derive(Debug)]
pub(super) struct Hold {
    /// None while the connection is being opened.
    key: Option<Key>,
    locked: Vec<(File, (i64, i64))>,
}

impl Hold {
    /// Says that a connection is about to be opened.
    pub(super) fn announce() -> Hold {
        connections().n_opening += 1;
        Hold { key: None, locked: Vec::new() }
    }

    /// Takes the locks, once the connection to this path is open. Where there are none such, SQLite's own have to do.
    pub(super) fn keep(&mut self, path: &Path) {
        let Ok(data) = std::fs::metadata(path) else { return };
        self.locked = self.files(path, identity(&data));
        // Others may open and close files while this waits.
        for (file, bytes) in &self.locked {
            lock(file, *bytes, true);
        }
    }

    /// What has to be locked. From now on it is known which file the connection has.
    fn files(&mut self, path: &Path, key: Key) -> Vec<(File, (i64, i64))> {
        let mut connections = connections();
        let open = connections.open.entry(key).or_default();
        open.n_connections += 1;
        let wanted = [(path.to_owned(), READERS), (beside(path, "-shm"), USERS)];
        let files = wanted.into_iter().filter_map(|(path, bytes)| Some((open.file(&path)?, bytes))).collect();
        self.key = Some(key);
        connections.n_opening -= 1;
        connections.close_unused();
        files
    }

    /// Ends the locks, before the connection is closed: it may be the last one.
    pub(super) fn let_go(&mut self) {
        for (file, bytes) in &self.locked {
            lock(file, *bytes, false);
        }
    }
}

impl Drop for Hold {
    /// After the connection was closed.
    fn drop(&mut self) {
        self.let_go();
        let mut connections = connections();
        match self.key.and_then(|key| connections.open.get_mut(&key)) {
            None => connections.n_opening -= 1,
            Some(open) => {
                open.n_connections -= 1;
                open.spare.extend(self.locked.drain(..).map(|(file, _)| file));
            }
        }
        connections.close_unused();
    }
}

impl Connections {
    fn close_unused(&mut self) {
        if self.n_opening == 0 {
            self.open.retain(|_, open| open.n_connections > 0);
        }
    }
}

impl Open {
    /// The file at a path, opened if none of the spare ones is that.
    fn file(&mut self, path: &Path) -> Option<File> {
        let wanted = identity(&std::fs::metadata(path).ok()?);
        let is_wanted = |file: &File| file.metadata().is_ok_and(|data| identity(&data) == wanted);
        match self.spare.iter().position(is_wanted) {
            Some(at) => Some(self.spare.swap_remove(at)),
            None => File::open(path).ok(),
        }
    }
}

fn connections() -> MutexGuard<'static, Connections> {
    CONNECTIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn lock(file: &File, (start, length): (i64, i64), is_locked: bool) {
    use nix::errno::Errno;
    use nix::fcntl::{FcntlArg, fcntl};
    use nix::libc::{F_RDLCK, F_UNLCK, SEEK_SET, flock};

    let kind = if is_locked { F_RDLCK } else { F_UNLCK };
    #[expect(
        clippy::cast_possible_truncation,
        reason = "small constants of the system, which its own struct has as shorts"
    )]
    let wish = flock { l_type: kind as _, l_whence: SEEK_SET as _, l_start: start, l_len: length, l_pid: 0 };
    // Somebody may be alone at this moment, to close the file or to make it.
    let mut attempt = 0;
    while fcntl(file, FcntlArg::F_OFD_SETLK(&wish)) == Err(Errno::EAGAIN) && wait(attempt) {
        attempt += 1;
    }
}

/// Elsewhere there are no such locks, or an open file cannot be removed.
#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn lock(_file: &File, _bytes: (i64, i64), _is_locked: bool) {}
