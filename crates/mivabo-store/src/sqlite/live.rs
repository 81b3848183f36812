//! A connection to a file that may write.

use std::path::{Path, PathBuf};
use std::time::Instant;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::admit::{Expected, admit, check_state, explained, has_last, lacking};
use super::hold::Hold;
use super::home::Home;
use super::place::Place;
use super::rows::{Tables, Turned};
use super::{
    LONGEST_PATH, beside, connect, in_time, length, refused, schema, translate, wait, without_links,
};
use crate::backend::{Rows, Transaction, Turn};
use crate::error::Error;
use crate::record::StudyId;

/// Why a file of an older version is left alone.
const IN_OLDER_USE: &str = "it is of an older version of mivabo, and another process has it open\n\
                            hint: end that process, then try again; the file is brought up to date when it is next opened";

/// An open file, and its place.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) connection: Connection,
    /// Dropped after the connection.
    home: Home,
}

impl Live {
    pub(super) fn open(path: PathBuf) -> Result<Live, Error> {
        let is_made = path.as_os_str().len() <= LONGEST_PATH;
        let hold = in_time(Hold::of(&path, is_made), &path)?;
        let is_new = length(&path) == 0;
        check_unopened(&hold, &path, is_new)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        // What a dead process left to be written into the file stays where it is until the file is known to be ours.
        let is_clean = length(&beside(&path, "-wal")) == 0;
        let expected = Expected::of(&hold, !is_clean).filter(|_| !is_new);
        let connection = connect(&path, &path, flags);
        let connection = connection.map_err(|error| explained(error, expected, &path))?;
        // A link that led nowhere leads to a file now.
        let mut live = Live {
            connection,
            home: Home::new(without_links(path), hold),
        };
        live.keep_log(!is_clean)?;
        live.check_writable()?;
        if !is_new {
            live.check_state(!is_clean)?;
        }
        // The tables come first, so that the header says whose file it is from the first moment in write-ahead mode.
        live.make_tables()?;
        live.write_ahead()?;
        live.keep_log(false)?;
        // The first look makes the shared memory.
        live.check(live.connection.query_row(
            "SELECT count(*) FROM sqlite_schema",
            [],
            |_| Ok(()),
        ))?;
        live.settle()?;
        Ok(live)
    }

    fn check_writable(&self) -> Result<(), Error> {
        if self.check(self.connection.is_readonly("main"))? {
            return Err(Error::ReadOnly {
                place: self.home.path.as_path().into(),
            });
        }
        Ok(())
    }

    fn check_state(&self, has_log: bool) -> Result<(), Error> {
        let Home { hold, path, .. } = &self.home;
        let expected = Expected::of(hold, has_log);
        check_state(&self.connection, expected, path, true)?;
        // Nothing was expected of it, so it may have been replaced by an older copy, on purpose: what it lacks is forgotten.
        let last = hold.last().filter(|_| expected.is_none());
        let found = last.map(|last| has_last(&self.connection, last, path));
        if matches!(found, Some(Err(Error::Missing { .. }))) {
            hold.forget_last();
        }
        Ok(())
    }

    /// The tables as they are in this version.
    fn make_tables(&mut self) -> Result<(), Error> {
        let Live { connection, home } = self;
        // Who has the turn may open the file once more: that waits only where something has to be written.
        let version = schema::check(connection, &home.path, schema::STEPS.len())?;
        let is_old = version < schema::STEPS.len();
        // An older program writes rows that the new tables refuse, and it may have the turn for as long as a suggestion takes while it
        // waits for us, who hold the door.
        if is_old && version > 0 && home.hold.is_used() {
            return Err(refused(&home.path, IN_OLDER_USE));
        }
        let _turn = if is_old {
            Some(in_time(home.hold.turn(), &home.path)?)
        } else {
            None
        };
        schema::migrate(connection, &home.path, &schema::STEPS)
    }

    /// Takes the locks of a user; from now on the file must stay where it is.
    fn settle(&mut self) -> Result<(), Error> {
        let home = &mut self.home;
        let place = Place::of(&home.path);
        home.hold.keep(&home.path, place);
        // Seen once more under the locks: until they were there, another SQLite library may have removed the log.
        home.settle();
        if home.hold.key().is_some_and(|key| place.file != Some(key)) {
            return Err(Error::no_longer_there(&home.path));
        }
        if cfg!(unix)
            && (place.memory.is_none() || place.log.is_none() || home.place != Some(place))
        {
            return Err(refused(
                &home.path,
                "its log was removed while it was being opened; open it again",
            ));
        }
        Ok(())
    }

    /// Switches to write-ahead mode, where the file stays. Two processes that make a file together can be in each
    /// other's way here, which SQLite does not wait for by itself.
    fn write_ahead(&self) -> Result<(), Error> {
        for attempt in 0.. {
            let mode = self
                .connection
                .query_row("PRAGMA journal_mode = WAL", [], |row| {
                    row.get::<_, String>(0)
                });
            match mode {
                Err(error)
                    if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                        && wait(attempt) => {}
                Ok(mode) if mode != "wal" => {
                    let why = format!(
                        "its file system lets SQLite work in mode `{mode}` only, not in `wal`"
                    );
                    return Err(refused(&self.home.path, &why));
                }
                mode => return self.check(mode).map(drop),
            }
        }
        Ok(())
    }

    /// Whether the last one to close leaves the log beside the file, instead of writing it into the file.
    fn keep_log(&self, keep: bool) -> Result<(), Error> {
        let set = self
            .connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep);
        self.check(set).map(drop)
    }

    fn check<T>(&self, result: rusqlite::Result<T>) -> Result<T, Error> {
        result.map_err(|error| translate(&self.home.path, &error))
    }

    pub(super) fn read(&self) -> Result<Box<dyn Rows + '_>, Error> {
        let home = &self.home;
        if home.is_cut_off() {
            // A log that has lost its name is written into the file before the call is refused.
            let _turn = in_time(home.hold.turn(), &home.path)?;
            home.check(&self.connection)?;
        }
        let look = in_time(home.hold.look(), &home.path)?;
        let connection = self.check(self.connection.unchecked_transaction())?;
        // What it sees is what is there at its first look.
        self.check(connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())))?;
        drop(look);
        Ok(Box::new(Tables {
            connection,
            path: &home.path,
            turned: None,
        }))
    }

    pub(super) fn write(&self) -> Result<Box<dyn Transaction + '_>, Error> {
        let Live { connection, home } = self;
        // Our turn before SQLite's lock, which ends without a word when another library in this process closes the file.
        let turn = in_time(home.hold.turn(), &home.path)?;
        home.check(connection)?;
        let turned = Some(Turned {
            home,
            last: None,
            begun: Instant::now(),
            turn,
        });
        // Unchecked: that nothing else is read or written meanwhile is what `Backend::write` asks of its callers. A turn to
        // suggest, which has the connection too, runs no statements.
        match rusqlite::Transaction::new_unchecked(connection, TransactionBehavior::Immediate) {
            Ok(connection) => Ok(Box::new(Tables {
                connection,
                path: &home.path,
                turned,
            })),
            Err(error) => Err(translate(&home.path, &error)),
        }
    }

    pub(super) fn turn_to_suggest(&self, study: StudyId) -> Option<Box<dyn Turn>> {
        let Home { hold, path, .. } = &self.home;
        let candidate = hold.candidate(path, study)?;
        Some(Box::new(candidate))
    }

    pub(super) fn is_cut_off(&self) -> bool {
        self.home.is_cut_off()
    }
}

/// Refuses what can be refused before SQLite sees the file, which takes whatever log lies beside this name for its own.
fn check_unopened(hold: &Hold, path: &Path, is_new: bool) -> Result<(), Error> {
    admit(hold, path)?;
    if !is_new {
        return schema::peek(path);
    }
    // A file that was in use is never empty, unless somebody emptied it.
    match hold.last().filter(|_| hold.mark().is_some()) {
        Some(last) => Err(lacking(path, last, 0)),
        None => Ok(()),
    }
}

impl Drop for Live {
    /// To close the last connection is to write the log into the file and to remove it, by its name: where that is now
    /// another one, it must not be touched.
    fn drop(&mut self) {
        if !self.home.leave(&self.connection) {
            self.keep_log(true).ok();
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rusqlite::Connection;

    #[test]
    fn a_file_of_an_older_version_is_left_alone_while_another_process_has_it_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("old.db");
        let old = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/old/version-1.sqlite");
        std::fs::copy(old, &path).unwrap();
        // As an older program holds it: with a log, and with the locks of a user.
        let connection = Connection::open(&path).unwrap();
        let write =
            "PRAGMA journal_mode = WAL; BEGIN IMMEDIATE; COMMIT; SELECT count(*) FROM trial";
        connection.execute_batch(write).unwrap();
        let mut hold = Hold::of(&path, false).unwrap();
        hold.keep(&path, Place::of(&path));

        let refused = Live::open(path.clone()).unwrap_err().to_string();
        drop((hold, connection));

        assert!(refused.contains("another process has it open"), "{refused}");
        assert!(Live::open(path).is_ok());
    }
}
