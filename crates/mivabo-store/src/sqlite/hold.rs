//! Locks that keep the log of an open file where it is, whatever else this process does with the file.
//!
//! SQLite's own locks belong to the process. When another SQLite library in it, such as Python's `sqlite3`, closes the file,
//! they are gone without a word, and the next one to close takes itself for the last and removes the log. The locks here
//! belong to an open file (`F_OFD_SETLK`, on Linux): shared ones on the same bytes as SQLite's, so that everybody reads and
//! writes as before, and nobody believes to be alone.
//!
//! To close a file ends the locks that SQLite has on it in this process. So what was opened here stays open, for the next
//! connection to use, until the last connection to the path is closed.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{beside, identity};

/// The bytes of a database that every reader has locked, and of the shared memory those that every user has: parts of
/// SQLite's file format (`PENDING_BYTE` + 2, `UNIX_SHM_DMS`).
const READERS: (i64, i64) = (0x4000_0002, 510);
const USERS: (i64, i64) = (128, 1);

/// Paths that are open in this process.
static IN_USE: Mutex<BTreeMap<PathBuf, InUse>> = Mutex::new(BTreeMap::new());

#[derive(Debug, Default)]
struct InUse {
    n_connections: usize,
    /// Open files without a lock.
    spare: Vec<File>,
}

impl InUse {
    /// The file at a path, opened if no spare one is that.
    fn file(&mut self, path: &Path) -> Option<File> {
        let wanted = identity(&std::fs::metadata(path).ok()?);
        let is_wanted = |file: &File| file.metadata().is_ok_and(|data| identity(&data) == wanted);
        match self.spare.iter().position(is_wanted) {
            Some(at) => Some(self.spare.swap_remove(at)),
            None => File::open(path).ok(),
        }
    }
}

/// One connection to a path, and its locks.
#[derive(Debug)]
pub(super) struct Hold {
    path: PathBuf,
    locked: Vec<(File, (i64, i64))>,
}

impl Hold {
    /// Says that a connection to the path is about to be opened.
    pub(super) fn announce(path: &Path) -> Hold {
        in_use().entry(path.to_owned()).or_default().n_connections += 1;
        Hold { path: path.to_owned(), locked: Vec::new() }
    }

    /// Takes the locks, once the connection is open. Where that is not possible, SQLite's own have to do.
    pub(super) fn keep(&mut self) {
        let mut paths = in_use();
        let Some(open) = paths.get_mut(&self.path) else { return };
        for (path, bytes) in [(self.path.clone(), READERS), (beside(&self.path, "-shm"), USERS)] {
            if let Some(file) = open.file(&path) {
                lock(&file, bytes, true);
                self.locked.push((file, bytes));
            }
        }
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
        let mut paths = in_use();
        if let Some(path) = paths.get_mut(&self.path) {
            path.n_connections -= 1;
            path.spare.extend(self.locked.drain(..).map(|(file, _)| file));
            if path.n_connections == 0 {
                paths.remove(&self.path);
            }
        }
    }
}

fn in_use() -> MutexGuard<'static, BTreeMap<PathBuf, InUse>> {
    IN_USE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(target_os = "linux")]
fn lock(file: &File, (start, length): (i64, i64), is_locked: bool) {
    use nix::fcntl::{FcntlArg, fcntl};
    use nix::libc::{F_RDLCK, F_UNLCK, SEEK_SET, flock};

    let kind = if is_locked { F_RDLCK } else { F_UNLCK };
    #[expect(
        clippy::cast_possible_truncation,
        reason = "small constants of the system, which its own struct has as shorts"
    )]
    let wish = flock { l_type: kind as _, l_whence: SEEK_SET as _, l_start: start, l_len: length, l_pid: 0 };
    fcntl(file, FcntlArg::F_OFD_SETLK(&wish)).ok();
}

/// Elsewhere there are no such locks, or an open file cannot be removed.
#[cfg(not(target_os = "linux"))]
fn lock(_file: &File, _bytes: (i64, i64), _is_locked: bool) {}
