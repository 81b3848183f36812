//! A file that many processes share: SQLite, compiled in.
//!
//! The file is in write-ahead mode, so readers go on while somebody writes, and each commit is flushed to the disk before it
//! is acknowledged (`synchronous = FULL`): it survives the death of the process and the loss of power.
//!
//! Write-ahead mode needs memory that all processes share: the file must be on a local disk, not on a network share.

mod admit;
mod backup;
mod events;
mod hold;
mod home;
mod index;
mod line;
mod live;
mod lock;
mod look;
mod mark;
mod place;
mod rows;
mod schema;
mod sum;

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use mivabo::interrupt;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};

use self::live::Live;
use self::look::Look;
use self::rows::Tables;
use crate::backend::{Backend, Rows, Transaction, Turn};
use crate::error::Error;
use crate::record::StudyId;
use crate::waiting::{Awaited, pause};

/// The longest path that SQLite takes, in bytes. It refuses longer ones, and no file is made for them.
const LONGEST_PATH: usize = 504;

/// Studies in a SQLite file. Each thread opens its own.
#[derive(Debug)]
pub struct Sqlite(Access);

#[derive(Debug)]
enum Access {
    Live(Live),
    Look(Look),
}

impl Sqlite {
    /// The file at `path`, made if there is none or an empty one; older schemas are brought up to date.
    ///
    /// # Errors
    /// [`Error::NotADatabase`], [`Error::Foreign`], [`Error::Newer`] and [`Error::Corrupt`] for files that were left as
    /// they are; [`Error::Missing`] for one that lacks what was acknowledged last, and [`Error::CannotOpen`] for one that is in use
    /// under another name; [`Error::ReadOnly`], [`Error::Full`], [`Error::Busy`], [`Error::Database`].
    pub fn open(path: impl AsRef<Path>) -> Result<Sqlite, Error> {
        Ok(Sqlite(Access::Live(Live::open(absolute(path.as_ref())?)?)))
    }

    /// The file at `path`, to be looked at only; it must exist. Works beside writers, and on media that cannot be written. Nothing
    /// is made beside the file: each question is answered from a copy of its last state, in the folder for temporary files.
    ///
    /// # Errors
    /// As [`open`](Sqlite::open).
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Sqlite, Error> {
        let path = absolute(path.as_ref())?;
        if !path.exists() {
            return Err(cannot_open(&path, "there is no such file"));
        }
        check_not_empty(&path)?;
        schema::peek(&path)?;
        Ok(Sqlite(Access::Look(Look::open(path)?)))
    }

    /// The file at `path`, where there should be studies in it. An empty one stays as it is.
    ///
    /// # Errors
    /// As [`open`](Sqlite::open).
    pub fn open_existing(path: impl AsRef<Path>) -> Result<Sqlite, Error> {
        let path = absolute(path.as_ref())?;
        check_not_empty(&path)?;
        Ok(Sqlite(Access::Live(Live::open(path)?)))
    }

    /// Writes everything that is in the file at `path` into a new one at `to`, which is then a whole database. Works beside writers.
    /// What is at `to` already is replaced only where that is wanted.
    ///
    /// # Errors
    /// [`Error::Taken`], and as [`open`](Sqlite::open).
    pub fn back_up(
        path: impl AsRef<Path>,
        to: impl AsRef<Path>,
        is_replaced: bool,
    ) -> Result<(), Error> {
        backup::back_up(path.as_ref(), to.as_ref(), is_replaced)
    }

    /// The connection that may write.
    fn live(&self) -> Result<&Live, Error> {
        match &self.0 {
            Access::Live(live) => Ok(live),
            Access::Look(look) => Err(Error::ReadOnly {
                place: look.path.as_path().into(),
            }),
        }
    }
}

impl Backend for Sqlite {
    fn read(&self) -> Result<Box<dyn Rows + '_>, Error> {
        match &self.0 {
            Access::Live(live) => live.read(),
            Access::Look(look) => Ok(Box::new(Tables {
                connection: look.now()?,
                path: &look.path,
                turned: None,
            })),
        }
    }

    fn write(&self) -> Result<Box<dyn Transaction + '_>, Error> {
        self.live()?.write()
    }

    fn turn_to_suggest(&self, study: StudyId) -> Result<Option<Box<dyn Turn>>, Error> {
        Ok(self.live()?.turn_to_suggest(study))
    }

    fn is_cut_off(&self) -> bool {
        matches!(&self.0, Access::Live(live) if live.is_cut_off())
    }
}

/// An absolute path without links: SQLite gives names like `:memory:` and the empty one a meaning of their own, and keeps
/// the log beside the file that a link leads to.
fn absolute(path: &Path) -> Result<PathBuf, Error> {
    match std::path::absolute(path).map(without_links) {
        Ok(path) if path.is_dir() => Err(cannot_open(&path, "it is a folder")),
        Ok(path) if path.exists() && !path.is_file() => {
            Err(cannot_open(&path, "it is not a regular file"))
        }
        Ok(path) => Ok(path),
        Err(error) => Err(cannot_open(path, &error.to_string())),
    }
}

/// The same path without links, those of the folder where there is no file yet.
fn without_links(path: PathBuf) -> PathBuf {
    let of_folder = || {
        Some(
            std::fs::canonicalize(path.parent()?)
                .ok()?
                .join(path.file_name()?),
        )
    };
    std::fs::canonicalize(&path)
        .ok()
        .or_else(of_folder)
        .unwrap_or(path)
}

/// Refuses a file without a study. What is in a log is not in the file yet.
fn check_not_empty(path: &Path) -> Result<(), Error> {
    if path.exists() && length(path) == 0 && length(&beside(path, "-wal")) == 0 {
        return Err(refused(path, "it is empty: there is no study in it"));
    }
    Ok(())
}

/// The length of a file, without opening it: to close it would end the locks of other connections of this process.
fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |data| data.len())
}

/// Device and number of a file.
#[cfg(unix)]
fn identity(data: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (data.dev(), data.ino())
}

/// Elsewhere an open file cannot be removed.
#[cfg(not(unix))]
fn identity(_data: &Metadata) -> (u64, u64) {
    (0, 0)
}

/// The file beside `path` whose name ends so.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// A connection to a file, which errors call `path`.
fn connect(file: &Path, path: &Path, flags: OpenFlags) -> Result<Connection, Error> {
    let prepare = || {
        let connection =
            Connection::open_with_flags(file, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        // First of all: the next lines may fail because a log of another state is beside the file, and whoever closes the file last
        // would write that log into it. Without a log there is nothing to write, and nothing should stay beside the file.
        let has_log = length(&beside(file, "-wal")) > 0;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, has_log)?;
        connection.busy_handler(Some(wait))?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        // Without these two a commit on macOS waits for the disk to have the data, not for it to have written them.
        connection.pragma_update(None, "fullfsync", true)?;
        connection.pragma_update(None, "checkpoint_fullfsync", true)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        // The log is written by commits alone, so that it can be copied between two of them.
        connection.pragma_update(None, "cache_spill", false)?;
        // It is written into the file after a commit, and not within it: see `Home::commit`.
        connection.pragma_update(None, "wal_autocheckpoint", 0)?;
        Ok(connection)
    };
    prepare().map_err(|error| translate(path, &error))
}

/// Looks at every page of a file: whether they belong together.
fn check_pages(connection: &Connection, path: &Path) -> Result<(), Error> {
    let said = connection.query_row("PRAGMA integrity_check(1)", [], |row| {
        row.get::<_, String>(0)
    });
    match said.map_err(|error| translate(path, &error))? {
        said if said == "ok" => Ok(()),
        what => Err(Error::Corrupt {
            path: path.to_owned(),
            what,
        }),
    }
}

/// What to do when others have the lock: a pause, and whether to try again.
fn wait(attempt: i32) -> bool {
    pause(attempt, Awaited::Writer)
}

/// What was waited for, if it came.
fn in_time<T>(found: Option<T>, path: &Path) -> Result<T, Error> {
    if found.is_none() {
        // A wait that somebody broke off does not say that the file is busy.
        interrupt::check();
    }
    found.ok_or_else(|| Error::Busy { place: path.into() })
}

/// What SQLite says, in the words of this crate.
fn translate(path: &Path, error: &rusqlite::Error) -> Error {
    let place = path.into();
    let path = path.to_owned();
    let message = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy { place },
        Some(ErrorCode::DiskFull) => Error::Full { place },
        Some(ErrorCode::SystemIoFailure) if is_about_size(error) => {
            Error::CannotGrow { place, message }
        }
        Some(ErrorCode::ReadOnly) => Error::ReadOnly { place },
        Some(ErrorCode::CannotOpen) => cannot_open(&path, &message),
        Some(ErrorCode::NotADatabase) => Error::NotADatabase { path },
        Some(ErrorCode::DatabaseCorrupt) => Error::Corrupt {
            path,
            what: message,
        },
        _ if is_odd_value(error) => Error::Corrupt {
            path,
            what: message,
        },
        _ => Error::Database { place, message },
    }
}

/// Whether writing failed, of the file, its log or the memory that its users share, which is a file too.
fn is_about_size(error: &rusqlite::Error) -> bool {
    let growing = [
        ffi::SQLITE_IOERR_WRITE,
        ffi::SQLITE_IOERR_TRUNCATE,
        ffi::SQLITE_IOERR_SHMOPEN,
        ffi::SQLITE_IOERR_SHMSIZE,
        ffi::SQLITE_IOERR_SHMMAP,
    ];
    let code = error.sqlite_error().map(|error| error.extended_code);
    code.is_some_and(|code| growing.contains(&code))
}

/// Whether a value is not what the schema says.
fn is_odd_value(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{
        FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error,
    };
    matches!(
        error,
        FromSqlConversionFailure(..)
            | IntegralValueOutOfRange(..)
            | InvalidColumnType(..)
            | Utf8Error(..)
    )
}

/// A file that is not opened, for this reason.
fn refused(path: &Path, why: &str) -> Error {
    Error::CannotOpen {
        place: path.into(),
        why: why.to_owned(),
    }
}

/// A file that cannot be opened, with what the message does not say.
fn cannot_open(path: &Path, message: &str) -> Error {
    let why = match path.parent().filter(|folder| !folder.is_dir()) {
        Some(folder) if !folder.as_os_str().is_empty() => {
            format!("there is no folder `{}`", folder.display())
        }
        _ if path.is_file() => format!("{message}; its disk or folder may be read-only"),
        _ => message.to_owned(),
    };
    refused(path, &why)
}

#[cfg(test)]
mod tests {
    use super::hold::Hold;
    use super::*;
    use mivabo::measure::{Outcome, VALUE};

    use crate::{Claim, Lease, NewRecord, Object, Revision, Store, Tell};

    /// A stand-in for a full disk: the file may grow by a few pages only.
    fn limit_pages(store: &Sqlite, free: i64) {
        let Access::Live(live) = &store.0 else {
            unreachable!("it was opened to be written")
        };
        let ask = |pragma: &str| {
            live.connection
                .query_row(pragma, [], |row| row.get::<_, i64>(0))
                .unwrap()
        };
        let limit = ask("PRAGMA page_count") + free;
        assert_eq!(ask(&format!("PRAGMA max_page_count = {limit}")), limit);
    }

    #[test]
    #[cfg(unix)]
    fn nothing_is_written_to_a_file_that_was_removed_or_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let mut store = Store::new(Sqlite::open(&path).unwrap());
        store.create("a", "").unwrap();

        std::fs::remove_file(&path).unwrap();
        assert!(matches!(
            store.create("b", ""),
            Err(Error::CannotOpen { .. })
        ));
        Sqlite::open(&path).unwrap();

        let refused = store.create("b", "").unwrap_err().to_string();
        assert!(
            refused.contains("it was moved, removed or replaced"),
            "{refused}"
        );
    }

    #[test]
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    fn the_file_remembers_its_last_change_which_a_heartbeat_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let mut store = Store::new(Sqlite::open(&path).unwrap());
        let study = store.create("a", "").unwrap();
        let lease = Lease {
            worker: "w",
            now: 0,
            millis: 1_000,
        };
        let claim = Claim {
            lease,
            since: Revision::default(),
            max_trials: None,
        };
        let held = store
            .claim(study, &claim, |_| Ok::<_, Error>(Object::default().into()))
            .unwrap()
            .unwrap();
        store.enqueue(study, Object::default().into(), 0).unwrap();

        store.heartbeat(study, held.id, &lease).unwrap();

        let last = Hold::still(&path).unwrap().last();
        let is_remembered = Hold::still(&path).unwrap().mark().is_some();
        assert!(
            last == Some(mark::LastChange {
                study,
                revision: Revision(2)
            }) || !is_remembered,
            "{last:?}"
        );
        drop(store);
        assert_eq!(Hold::still(&path).unwrap().mark(), None);
    }

    #[test]
    fn a_full_disk_loses_nothing_and_the_store_goes_on_after() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let large = || {
            NewRecord::from(Object::new(format!(r#"{{"x": "{}"}}"#, "x".repeat(20_000))).unwrap())
        };
        let tell = Tell::new(Outcome::of(VALUE, 1.0));
        let study = Store::new(Sqlite::open(&path).unwrap())
            .create("a", "")
            .unwrap();

        let backend = Sqlite::open(&path).unwrap();
        limit_pages(&backend, 6);
        let mut store = Store::new(backend);
        store.add(study, large(), &tell).unwrap();
        for _ in 0..2 {
            assert_eq!(
                store.add(study, large(), &tell).unwrap_err(),
                Error::Full {
                    place: path.as_path().into()
                }
            );
        }

        assert_eq!(
            store
                .changes(study, Revision::default())
                .unwrap()
                .trials
                .len(),
            1
        );
        drop(store);
        let mut store = Store::new(Sqlite::open(&path).unwrap());
        assert_eq!(store.add(study, large(), &tell).unwrap().id, 1);
        assert_eq!(
            store
                .changes(study, Revision::default())
                .unwrap()
                .trials
                .len(),
            2
        );
    }
}
