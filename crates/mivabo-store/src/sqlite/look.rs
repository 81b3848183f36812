//! A file that is only looked at: copied into a folder of its own, and opened there.
//!
//! A connection to the file itself would make log and shared memory beside it, which the next writer may not be allowed to
//! write, and could be the last one to close it. To copy file and log takes a moment, in which nobody commits, and opens or
//! closes the file; where there are no such locks, a copy during which something changed is made again.

use std::cell::RefCell;
use std::fs::{File, Metadata};
use std::io::{Seek as _, copy};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

use super::admit::{Expected, admit, check_state, explained};
use super::hold::Hold;
use super::place::Key;
use super::{beside, cannot_open, connect, identity, in_time, refused, schema, wait};
use crate::error::Error;

/// What belongs to a database: its log, and the journal of one that is being made.
const PARTS: [&str; 3] = ["", "-wal", "-journal"];

/// How often a copy is made again of a file that changes meanwhile.
const ATTEMPTS: i32 = 200;

/// A file that changes may keep a time that is younger than this.
const TICK: Duration = Duration::from_secs(2);

/// A file to look at, as it was when it was last asked.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) path: PathBuf,
    image: RefCell<Image>,
}

impl Look {
    pub(super) fn open(path: PathBuf) -> Result<Look, Error> {
        let image = RefCell::new(Image::of(&path, true)?);
        Ok(Look { path, image })
    }

    /// What is in the file now.
    pub(super) fn now(&self) -> Result<std::cell::Ref<'_, Connection>, Error> {
        // Whoever is reading goes on with what it has.
        if let Ok(mut image) = self.image.try_borrow_mut()
            && !image.is_of(&self.path)
        {
            if !self.path.exists() {
                return Err(Error::no_longer_there(&self.path));
            }
            // Where nobody can be kept from writing, a look at all pages says whether the copy is of one piece.
            *image = Image::of(
                &self.path,
                !cfg!(all(target_os = "linux", target_pointer_width = "64")),
            )?;
        }
        Ok(std::cell::Ref::map(self.image.borrow(), |image| {
            &image.connection
        }))
    }
}

/// A copy of a file.
#[derive(Debug)]
struct Image {
    connection: Connection,
    stamp: Stamp,
    /// Where it is; none where open files can be removed.
    _folder: Option<TempDir>,
}

impl Image {
    fn of(path: &Path, is_checked: bool) -> Result<Image, Error> {
        for attempt in 0..ATTEMPTS {
            let Some(copied) = Copied::of(path)? else {
                wait(attempt);
                continue;
            };
            let stamp = copied.stamp;
            match copied.open(path, is_checked) {
                // While others write without our locks, the copy may be of two states.
                Err(_) if stamp != Stamp::of(path) => wait(attempt),
                opened => return opened,
            };
        }
        Err(Error::Busy { place: path.into() })
    }

    /// Whether the file is as it was when it was copied.
    fn is_of(&self, path: &Path) -> bool {
        let is_settled = |time| {
            self.stamp
                .taken
                .duration_since(time)
                .is_ok_and(|age| age > TICK)
        };
        self.stamp == Stamp::of(path)
            && self
                .stamp
                .parts
                .iter()
                .flatten()
                .all(|part| is_settled(part.changed))
    }
}

/// Files that were copied at one moment.
struct Copied {
    folder: TempDir,
    stamp: Stamp,
    expected: Option<Expected>,
}

impl Copied {
    /// None where something changed meanwhile.
    fn of(path: &Path) -> Result<Option<Copied>, Error> {
        let folder = private_folder().map_err(|error| no_copy(path, &error))?;
        let hold = in_time(Hold::still(path), path)?;
        admit(&hold, path)?;
        // Taken before and after the copy: where nobody can be kept from writing, a copy of two states is noticed by it.
        let stamp = Stamp::of(path);
        for (ending, part) in PARTS.into_iter().zip(&stamp.parts) {
            let to = beside(&folder.path().join("copy"), ending);
            // A FIFO or a device never ends.
            if part.is_some_and(|part| !part.is_file) {
                return Err(refused(
                    path,
                    &format!("`{}` is not a file", beside(path, ending).display()),
                ));
            }
            match part {
                None => {}
                Some(_) if ending.is_empty() => copy_database(&hold, path, &to)?,
                Some(_) => copy_file(
                    path,
                    &File::open(beside(path, ending)).map_err(|e| unreadable(path, &e))?,
                    &to,
                )?,
            }
        }
        let expected = Expected::of(&hold, stamp.has_log());
        Ok((stamp == Stamp::of(path)).then_some(Copied {
            folder,
            stamp,
            expected,
        }))
    }

    fn open(self, path: &Path, is_checked: bool) -> Result<Image, Error> {
        let Copied {
            folder,
            stamp,
            expected,
        } = self;
        let connection = connect(
            &folder.path().join("copy"),
            path,
            OpenFlags::SQLITE_OPEN_READ_WRITE,
        );
        let mut connection = connection.map_err(|error| explained(error, expected, path))?;
        check_state(&connection, expected, path, is_checked)?;
        // The copy is ours: an older file is read as what it will be, and stays as it is.
        schema::migrate(&mut connection, path, &schema::STEPS)?;
        // What is open needs no name, and so nothing stays if this process is killed.
        Ok(Image {
            connection,
            stamp,
            _folder: (!cfg!(unix)).then_some(folder),
        })
    }
}

/// A folder into which only this user can look: what is copied may be for nobody else.
fn private_folder() -> std::io::Result<TempDir> {
    let mut folder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        folder.permissions(std::fs::Permissions::from_mode(0o700));
    }
    folder.tempdir()
}

fn copy_database(hold: &Hold, path: &Path, to: &Path) -> Result<(), Error> {
    match hold.file() {
        Some(file) => copy_file(path, file, to),
        None => with_database(path, |file| copy_file(path, file, to)),
    }
}

/// To close a file ends the locks that SQLite has on it in this process, so it stays open.
#[cfg(unix)]
fn with_database(path: &Path, act: impl FnOnce(&File) -> Result<(), Error>) -> Result<(), Error> {
    use std::collections::BTreeMap;
    use std::sync::{Mutex, PoisonError};

    static OPEN: Mutex<BTreeMap<Key, File>> = Mutex::new(BTreeMap::new());
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let key = std::fs::metadata(path)
        .map(|data| identity(&data))
        .map_err(|error| unreadable(path, &error))?;
    let file = match open.remove(&key) {
        Some(file) => file,
        None => File::open(path).map_err(|error| unreadable(path, &error))?,
    };
    act(open.entry(key).or_insert(file))
}

#[cfg(not(unix))]
fn with_database(path: &Path, act: impl FnOnce(&File) -> Result<(), Error>) -> Result<(), Error> {
    act(&File::open(path).map_err(|error| unreadable(path, &error))?)
}

fn copy_file(path: &Path, mut from: &File, to: &Path) -> Result<(), Error> {
    from.rewind().map_err(|error| unreadable(path, &error))?;
    let mut to = File::create(to).map_err(|error| no_copy(path, &error))?;
    copy(&mut from, &mut to)
        .map(drop)
        .map_err(|error| no_copy(path, &error))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    cannot_open(path, &error.to_string())
}

fn no_copy(path: &Path, error: &std::io::Error) -> Error {
    let folder = std::env::temp_dir();
    refused(
        path,
        &format!(
            "no copy to look at can be made in `{}`: {error}",
            folder.display()
        ),
    )
}

/// What changes when one of the files does.
#[derive(Debug, Clone, Copy)]
struct Stamp {
    parts: [Option<Part>; PARTS.len()],
    taken: SystemTime,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    key: Key,
    length: u64,
    changed: SystemTime,
    is_file: bool,
}

impl PartialEq for Stamp {
    /// Whenever they were taken.
    fn eq(&self, other: &Stamp) -> bool {
        self.parts == other.parts
    }
}

impl Stamp {
    fn has_log(&self) -> bool {
        self.parts[1].is_some_and(|log| log.length > 0)
    }

    fn of(path: &Path) -> Stamp {
        let part = |data: Metadata| {
            let (length, changed) = (data.len(), data.modified().ok()?);
            Some(Part {
                key: identity(&data),
                length,
                changed,
                is_file: data.is_file(),
            })
        };
        Stamp {
            parts: PARTS.map(|ending| std::fs::metadata(beside(path, ending)).ok().and_then(part)),
            taken: SystemTime::now(),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn nobody_else_can_look_into_the_folder_of_a_copy() {
        let folder = private_folder().unwrap();

        let mode = std::fs::metadata(folder.path())
            .unwrap()
            .permissions()
            .mode();

        assert_eq!(mode & 0o77, 0);
    }
}
