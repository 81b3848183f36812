//! A file that many processes share: SQLite, compiled in.
//!
//! A path enters; a [`Backend`] leaves, or an error and a file that is as it was. The file is in write-ahead mode, so
//! readers go on while somebody writes, and each commit is flushed to the disk before it is acknowledged
//! (`synchronous = FULL`): it survives the death of the process and the loss of power.
//!
//! Write-ahead mode needs memory that all processes share: the file must be on a local disk, not on a network share.

mod hold;
mod rows;
mod schema;

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use mivabo::interrupt;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use self::hold::Hold;
use self::rows::Tables;
use crate::backend::{Backend, Rows, Transaction};
use crate::error::Error;
use crate::waiting;

/// How often a locked file is tried again, and the longest pause between two attempts. The pauses add up to ten minutes:
/// many workers may wait in line while each of them computes a suggestion.
const ATTEMPTS: i32 = 120_000;
const PAUSE: Duration = Duration::from_millis(5);

/// The attempt after two seconds, when it is said what is waited for.
const LONG_WAIT: i32 = 420;

/// The longest path that SQLite takes, in bytes. It refuses longer ones, and no file is made for them.
const LONGEST_PATH: usize = 504;

/// SQLite has no queue of waiting writers. Who had the turn for this long leaves time for one of the others.
const LONG_TURN: Duration = Duration::from_millis(50);

/// Studies in a SQLite file. Each thread opens its own.
#[derive(Debug)]
pub struct Sqlite {
    connection: Connection,
    path: PathBuf,
    /// Where it is, if it was opened to be written.
    place: Option<Place>,
    /// Dropped after the connection.
    hold: Hold,
}

/// What tells a file, and the shared memory beside it, from others of the same name: device and number.
///
/// What was removed can still be written, and nobody would ever read it. SQLite removes memory and log when the last
/// connection is closed; a second SQLite library in the same process ends the locks of the first one when it closes the
/// file, and so takes itself for the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    file: Option<(u64, u64)>,
    memory: Option<(u64, u64)>,
}

impl Place {
    fn of(path: &Path) -> Place {
        let at = |path: &Path| std::fs::metadata(path).ok().map(|data| identity(&data));
        Place { file: at(path), memory: at(&beside(path, "-shm")) }
    }

    /// Whether what is written through a connection that was opened here still reaches the file.
    fn check(self, path: &Path) -> Result<(), Error> {
        let now = Place::of(path);
        if now == self {
            return Ok(());
        }
        if now.file != self.file {
            return Err(Error::no_longer_there(path));
        }
        let why = "its log was removed while it was open, as another SQLite library in the same process does when it \
                   closes the file; open it again";
        Err(refused(path, why))
    }
}

impl Sqlite {
    /// The file at `path`, made if there is none or an empty one; older schemas are brought up to date.
    ///
    /// # Errors
    /// [`Error::NotADatabase`], [`Error::Foreign`], [`Error::Newer`] and [`Error::Corrupt`] for files that were left as
    /// they are; [`Error::ReadOnly`], [`Error::CannotOpen`], [`Error::Full`], [`Error::Busy`], [`Error::Database`].
    pub fn open(path: impl AsRef<Path>) -> Result<Sqlite, Error> {
        let path = absolute(path.as_ref())?;
        let is_made = path.as_os_str().len() <= LONGEST_PATH;
        let hold = in_time(Hold::of(&path, is_made), &path)?;
        let is_new = length(&path) == 0;
        if !is_new {
            schema::peek(&path)?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        // What a dead process left to be written into the file stays where it is until the file is known to be ours.
        let is_clean = length(&beside(&path, "-wal")) == 0;
        let connection = connect(&path, flags)?;
        // A link that led nowhere leads to a file now.
        let mut store = Sqlite { connection, path: without_links(path), place: None, hold };
        store.keep_log(!is_clean)?;
        if store.check(store.connection.is_readonly("main"))? {
            return Err(Error::ReadOnly { path: store.path.clone() });
        }
        if !is_new {
            store.check_whole()?;
        }
        // Who has the turn may open the file once more: that waits only where something has to be written.
        let version = schema::check(&store.connection, &store.path, schema::STEPS.len())?;
        let turn =
            if version < schema::STEPS.len() { Some(in_time(store.hold.turn(), &store.path)?) } else { None };
        schema::migrate(&mut store.connection, &store.path, &schema::STEPS)?;
        drop(turn);
        store.write_ahead()?;
        store.keep_log(false)?;
        // The first look makes the shared memory.
        store.check(store.connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())))?;
        store.hold.keep(&store.path);
        let place = Place::of(&store.path);
        store.place = Some(place);
        if store.hold.key().is_some_and(|key| place.file != Some(key)) {
            return Err(Error::no_longer_there(&store.path));
        }
        if cfg!(unix) && place.memory.is_none() {
            return Err(refused(&store.path, "its log was removed while it was being opened; open it again"));
        }
        Ok(store)
    }

    /// The file at `path`, to be looked at only; it must exist. Works beside writers, and on media that cannot be written.
    ///
    /// # Errors
    /// As [`open`](Sqlite::open).
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Sqlite, Error> {
        let path = absolute(path.as_ref())?;
        if !path.exists() {
            return Err(cannot_open(&path, "there is no such file"));
        }
        if length(&path) == 0 && length(&beside(&path, "-wal")) == 0 {
            return Err(refused(&path, "it is empty: there is no study in it"));
        }
        schema::peek(&path)?;
        let whole = |connect: &dyn Fn() -> Result<Connection, Error>| {
            let hold = in_time(Hold::of(&path, false), &path)?;
            let mut store = Sqlite { connection: connect()?, path: path.clone(), place: None, hold };
            store.check_whole()?;
            store.hold.keep(&store.path);
            Ok(store)
        };
        match whole(&|| connect(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)) {
            // The shared memory of write-ahead mode cannot be made here. Without a log nobody is writing either.
            Err(Error::CannotOpen { .. } | Error::ReadOnly { .. }) if length(&beside(&path, "-wal")) == 0 => {
                whole(&|| schema::connect_immutable(&path))
            }
            opened => opened,
        }
    }

    /// A quick look at every page, before anything is written.
    fn check_whole(&self) -> Result<(), Error> {
        schema::check(&self.connection, &self.path, schema::STEPS.len())?;
        let said: String =
            self.check(self.connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)))?;
        if said == "ok" { Ok(()) } else { Err(Error::Corrupt { path: self.path.clone(), what: said }) }
    }

    /// Switches to write-ahead mode, where the file stays. Two processes that make a file together can be in each
    /// other's way here, which SQLite does not wait for by itself.
    fn write_ahead(&self) -> Result<(), Error> {
        for attempt in 0.. {
            let mode =
                self.connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
            match mode {
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && wait(attempt) => {
                }
                Ok(mode) if mode != "wal" => {
                    let why = format!("its file system lets SQLite work in mode `{mode}` only, not in `wal`");
                    return Err(refused(&self.path, &why));
                }
                mode => return self.check(mode).map(drop),
            }
        }
        Ok(())
    }

    /// Whether the last one to close leaves the log beside the file, instead of writing it into the file.
    fn keep_log(&self, keep: bool) -> Result<(), Error> {
        let set = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep);
        self.check(set).map(drop)
    }

    fn check<T>(&self, result: rusqlite::Result<T>) -> Result<T, Error> {
        result.map_err(|error| translate(&self.path, &error))
    }
}

impl Backend for Sqlite {
    fn read(&self) -> Result<Box<dyn Rows + '_>, Error> {
        if let Some(place) = self.place.filter(|_| self.is_cut_off()) {
            place.check(&self.path)?;
        }
        let look = in_time(self.hold.look(), &self.path)?;
        let connection = self.check(self.connection.unchecked_transaction())?;
        // What it sees is what is there at its first look.
        self.check(connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())))?;
        drop(look);
        Ok(Box::new(Tables { connection, path: &self.path, place: None, begun: Instant::now(), turn: None }))
    }

    fn write(&mut self) -> Result<Box<dyn Transaction + '_>, Error> {
        if let Some(place) = self.place {
            place.check(&self.path)?;
        }
        let (path, place) = (&self.path, self.place);
        let turn = Some(in_time(self.hold.turn(), path)?);
        match self.connection.transaction_with_behavior(TransactionBehavior::Immediate) {
            Ok(connection) => Ok(Box::new(Tables { connection, path, place, begun: Instant::now(), turn })),
            Err(error) => Err(translate(path, &error)),
        }
    }

    fn is_cut_off(&self) -> bool {
        self.place.is_some_and(|opened| {
            let now = Place::of(&self.path);
            now.file == opened.file && now.memory != opened.memory
        })
    }
}

impl Drop for Sqlite {
    /// To close the last connection is to write the log into the file and to remove it, by its name: where that is now
    /// another one, it must not be touched.
    fn drop(&mut self) {
        if self.place.is_some_and(|place| place.check(&self.path).is_err()) {
            self.keep_log(true).ok();
        }
        self.hold.let_go();
    }
}

/// An absolute path without links: SQLite gives names like `:memory:` and the empty one a meaning of their own, and keeps
/// the log beside the file that a link leads to.
fn absolute(path: &Path) -> Result<PathBuf, Error> {
    match std::path::absolute(path).map(without_links) {
        Ok(path) if path.is_dir() => Err(cannot_open(&path, "it is a folder")),
        Ok(path) if path.exists() && !path.is_file() => {
            Err(cannot_open(&path, "it is no file with contents"))
        }
        Ok(path) => Ok(path),
        Err(error) => Err(cannot_open(path, &error.to_string())),
    }
}

/// The same path without links, those of the folder where there is no file yet.
fn without_links(path: PathBuf) -> PathBuf {
    let of_folder = || Some(std::fs::canonicalize(path.parent()?).ok()?.join(path.file_name()?));
    std::fs::canonicalize(&path).ok().or_else(of_folder).unwrap_or(path)
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

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, Error> {
    let prepare = || {
        let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.busy_handler(Some(wait))?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "fullfsync", true)?;
        connection.pragma_update(None, "checkpoint_fullfsync", true)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        Ok(connection)
    };
    prepare().map_err(|error| translate(path, &error))
}

/// What to do when others have the lock: a pause, and whether to try again.
fn wait(attempt: i32) -> bool {
    if attempt == LONG_WAIT {
        waiting::is_long();
    }
    sleep(PAUSE.min(Duration::from_millis(1 + u64::from(attempt.unsigned_abs()) / 10)));
    // SQLite's code, from which this may be called, cannot unwind.
    attempt < ATTEMPTS && !interrupt::is_requested()
}

/// What was waited for, if it came.
fn in_time<T>(found: Option<T>, path: &Path) -> Result<T, Error> {
    found.ok_or_else(|| Error::Busy { path: path.to_owned() })
}

/// What SQLite says, in the words of this crate.
fn translate(path: &Path, error: &rusqlite::Error) -> Error {
    let path = path.to_owned();
    let message = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy { path },
        Some(ErrorCode::DiskFull) => Error::Full { path },
        Some(ErrorCode::ReadOnly) => Error::ReadOnly { path },
        Some(ErrorCode::CannotOpen) => cannot_open(&path, &message),
        Some(ErrorCode::NotADatabase) => Error::NotADatabase { path },
        Some(ErrorCode::DatabaseCorrupt) => Error::Corrupt { path, what: message },
        _ if is_odd_value(error) => Error::Corrupt { path, what: message },
        _ => Error::Database { path, message },
    }
}

/// Whether a value is not what the schema says.
fn is_odd_value(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error};
    matches!(
        error,
        FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) | Utf8Error(..)
    )
}

/// A file that is not opened, for this reason.
fn refused(path: &Path, why: &str) -> Error {
    Error::CannotOpen { path: path.to_owned(), why: why.to_owned() }
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
    use super::*;
    use crate::{Object, Outcome, Proposal, Revision, Store, Tell};

    /// A stand-in for a full disk: the file may grow by a few pages only.
    fn limit_pages(store: &Sqlite, free: i64) {
        let ask = |pragma: &str| store.connection.query_row(pragma, [], |row| row.get::<_, i64>(0)).unwrap();
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
        assert!(matches!(store.create("b", ""), Err(Error::CannotOpen { .. })));
        Sqlite::open(&path).unwrap();

        let refused = store.create("b", "").unwrap_err().to_string();
        assert!(refused.contains("it was moved, removed or replaced"), "{refused}");
    }

    #[test]
    fn a_full_disk_loses_nothing_and_the_store_goes_on_after() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let large = || Proposal::from(Object::new(format!(r#"{{"x": "{}"}}"#, "x".repeat(20_000))).unwrap());
        let tell = Tell::new(Outcome::Complete(1.0));
        let study = Store::new(Sqlite::open(&path).unwrap()).create("a", "").unwrap();

        let backend = Sqlite::open(&path).unwrap();
        limit_pages(&backend, 6);
        let mut store = Store::new(backend);
        store.add(study, large(), &tell).unwrap();
        for _ in 0..2 {
            assert_eq!(store.add(study, large(), &tell).unwrap_err(), Error::Full { path: path.clone() });
        }

        assert_eq!(store.changes(study, Revision::default()).unwrap().trials.len(), 1);
        drop(store);
        let mut store = Store::new(Sqlite::open(&path).unwrap());
        assert_eq!(store.add(study, large(), &tell).unwrap().id, 1);
        assert_eq!(store.changes(study, Revision::default()).unwrap().trials.len(), 2);
    }
}
