//! The tables, and how files of older versions get there.
//!
//! Two numbers in the header of the file say what it is: the application id, written when the file is made, and the
//! version: how many steps of [`STEPS`] it has been through. A step that was published never changes; the next version
//! appends one.
//!
//! The database guards the rules by itself, too: told trials and events cannot change, nothing can be deleted but a whole study,
//! states have the columns that belong to them. What was measured is JSON that reads back to the bit: SQLite drops the sign of a zero in a column of reals.
//! Numbers are given out as the greatest one so far plus one, found through the indices.

use std::fmt::Write as _;
use std::path::Path;

use mivabo::measure::{Measured, VALUE};
use rusqlite::{Connection, OpenFlags, Row, TransactionBehavior, params};

use super::{length, sum, translate};
use crate::error::Error;
use crate::object::Object;
use crate::told::numbers;

/// "mvbo" in ASCII.
const APPLICATION: i32 = 0x6d76_626f;

/// What each version adds to the one before.
pub(super) const STEPS: [Step; 4] = [
    Step::Text(FIRST),
    Step::Code(outcomes),
    Step::Code(checksums),
    Step::Text(EVENTS),
];

/// One step from a version to the next.
#[derive(Clone, Copy)]
pub(super) enum Step {
    Text(&'static str),
    /// What SQL cannot say: SQLite does not write every number so that it reads back to the bit.
    Code(fn(&Connection) -> rusqlite::Result<()>),
}

impl Step {
    fn take(self, connection: &Connection) -> rusqlite::Result<()> {
        match self {
            Step::Text(text) => connection.execute_batch(text),
            Step::Code(code) => code(connection),
        }
    }
}

/// Version 1: a trial has one value.
const FIRST: &str = "
CREATE TABLE study (
    id         INTEGER PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    definition TEXT NOT NULL
) STRICT;

CREATE TABLE trial (
    study    INTEGER NOT NULL REFERENCES study (id),
    id       INTEGER NOT NULL CHECK (id >= 0),
    revision INTEGER NOT NULL CHECK (revision > 0),
    params   TEXT NOT NULL,
    state    TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'complete', 'failed')),
    lease    INTEGER CHECK ((lease IS NOT NULL) = (state = 'running')),
    value    ANY CHECK ((value IS NOT NULL) = (state = 'complete')
                        AND (value IS NULL OR typeof(value) = 'real' AND abs(value) <= 1.7976931348623157e308)),
    reason   TEXT CHECK ((reason IS NOT NULL) = (state = 'failed')),
    told     INTEGER CHECK (told >= 0 AND (told IS NOT NULL) = (state IN ('complete', 'failed'))),
    attempts INTEGER NOT NULL CHECK (attempts >= 0),
    worker   TEXT,
    created  INTEGER NOT NULL,
    started  INTEGER,
    finished INTEGER,
    note     TEXT NOT NULL,
    PRIMARY KEY (study, id)
) STRICT;

CREATE UNIQUE INDEX trial_by_revision ON trial (study, revision);
CREATE UNIQUE INDEX trial_by_tell ON trial (study, told) WHERE told IS NOT NULL;
CREATE INDEX trial_untold ON trial (study, state, id) WHERE told IS NULL;

CREATE TRIGGER told_trials_never_change BEFORE UPDATE ON trial WHEN old.told IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'told trials never change'); END;
CREATE TRIGGER told_trials_are_never_replaced BEFORE INSERT ON trial WHEN EXISTS (
    SELECT 1 FROM trial AS other WHERE other.study = new.study AND other.told IS NOT NULL
    AND (other.id = new.id OR other.revision = new.revision OR other.told = new.told))
BEGIN SELECT RAISE(ABORT, 'told trials never change'); END;
CREATE TRIGGER trials_are_never_deleted BEFORE DELETE ON trial
BEGIN SELECT RAISE(ABORT, 'trials are never deleted'); END;
CREATE TRIGGER studies_never_change BEFORE UPDATE ON study
BEGIN SELECT RAISE(ABORT, 'studies never change'); END;
CREATE TRIGGER studies_are_never_deleted BEFORE DELETE ON study
BEGIN SELECT RAISE(ABORT, 'studies are never deleted'); END;
";

/// The trials of version 2: finite numbers by name instead of one value, trials that were stopped, and up to which revision
/// the proposer of a trial knew the study. The triggers on studies stay.
const SECOND: &str = "
DROP TRIGGER told_trials_never_change;
DROP TRIGGER told_trials_are_never_replaced;
DROP TRIGGER trials_are_never_deleted;
DROP INDEX trial_by_revision;
DROP INDEX trial_by_tell;
DROP INDEX trial_untold;
ALTER TABLE trial RENAME TO trial_before;

CREATE TABLE trial (
    study    INTEGER NOT NULL REFERENCES study (id),
    id       INTEGER NOT NULL CHECK (id >= 0),
    revision INTEGER NOT NULL CHECK (revision > 0),
    based_on INTEGER CHECK (based_on >= 0),
    params   TEXT NOT NULL,
    state    TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'complete', 'stopped', 'failed')),
    lease    INTEGER CHECK ((lease IS NOT NULL) = (state = 'running')),
    measured TEXT CHECK ((measured IS NOT NULL) = (state IN ('complete', 'stopped', 'failed'))
                         AND (measured IS NULL OR json_valid(measured))),
    reason   TEXT CHECK ((reason IS NOT NULL) = (state = 'failed')),
    told     INTEGER CHECK (told >= 0 AND (told IS NOT NULL) = (state IN ('complete', 'stopped', 'failed'))),
    attempts INTEGER NOT NULL CHECK (attempts >= 0),
    worker   TEXT,
    created  INTEGER NOT NULL,
    started  INTEGER,
    finished INTEGER,
    note     TEXT NOT NULL,
    PRIMARY KEY (study, id)
) STRICT;
";

/// Each `EXISTS` uses one index. With one `OR` in their place SQLite looks at every told trial for each new one.
const SECOND_RULES: &str = "
DROP TABLE trial_before;

CREATE UNIQUE INDEX trial_by_revision ON trial (study, revision);
CREATE UNIQUE INDEX trial_by_tell ON trial (study, told) WHERE told IS NOT NULL;
CREATE INDEX trial_untold ON trial (study, state, id) WHERE told IS NULL;

CREATE TRIGGER told_trials_never_change BEFORE UPDATE ON trial WHEN old.told IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'told trials never change'); END;
CREATE TRIGGER told_trials_are_never_replaced BEFORE INSERT ON trial WHEN
    EXISTS (SELECT 1 FROM trial AS other
            WHERE other.study = new.study AND other.id = new.id AND other.told IS NOT NULL)
    OR EXISTS (SELECT 1 FROM trial AS other
               WHERE other.study = new.study AND other.revision = new.revision AND other.told IS NOT NULL)
    OR EXISTS (SELECT 1 FROM trial AS other WHERE other.study = new.study AND other.told = new.told)
BEGIN SELECT RAISE(ABORT, 'told trials never change'); END;
CREATE TRIGGER trials_are_never_deleted BEFORE DELETE ON trial
BEGIN SELECT RAISE(ABORT, 'trials are never deleted'); END;
";

/// Version 4: what happened to a study beside its trials, and studies that were removed.
///
/// Rows can be deleted only while their study stands in `removed`, and whoever puts it there has removed all of it: the trigger takes
/// its rows in the same moment. A number that stands there is never given out again, so that nobody who worked on the study
/// takes another one for it.
const EVENTS: &str = "
CREATE TABLE event (
    study    INTEGER NOT NULL REFERENCES study (id),
    revision INTEGER NOT NULL CHECK (revision > 0),
    kind     TEXT NOT NULL CHECK (kind IN ('revised', 'corrected')),
    trial    INTEGER CHECK ((trial IS NOT NULL) = (kind = 'corrected')),
    content  TEXT NOT NULL CHECK (kind = 'revised' OR json_valid(content)),
    time     INTEGER NOT NULL,
    worker   TEXT,
    checksum INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (study, revision)
) STRICT, WITHOUT ROWID;

CREATE TABLE removed (
    study INTEGER PRIMARY KEY,
    name  TEXT NOT NULL,
    time  INTEGER NOT NULL
) STRICT;

CREATE TRIGGER events_never_change BEFORE UPDATE ON event
BEGIN SELECT RAISE(ABORT, 'events never change'); END;
CREATE TRIGGER events_are_appended BEFORE INSERT ON event WHEN
    EXISTS (SELECT 1 FROM event AS other WHERE other.study = new.study AND other.revision >= new.revision)
    OR EXISTS (SELECT 1 FROM trial WHERE trial.study = new.study AND trial.revision >= new.revision)
BEGIN SELECT RAISE(ABORT, 'events are appended and never change'); END;
CREATE TRIGGER only_what_was_told_is_corrected BEFORE INSERT ON event WHEN new.kind = 'corrected' AND NOT EXISTS (
    SELECT 1 FROM trial WHERE trial.study = new.study AND trial.id = new.trial AND trial.told IS NOT NULL)
BEGIN SELECT RAISE(ABORT, 'what was not told is never corrected'); END;
CREATE TRIGGER new_trials_take_revisions_of_their_own BEFORE INSERT ON trial WHEN EXISTS (
    SELECT 1 FROM event WHERE event.study = new.study AND event.revision = new.revision)
BEGIN SELECT RAISE(ABORT, 'revisions are never shared'); END;
CREATE TRIGGER trials_take_revisions_of_their_own BEFORE UPDATE OF revision ON trial WHEN EXISTS (
    SELECT 1 FROM event WHERE event.study = new.study AND event.revision = new.revision)
BEGIN SELECT RAISE(ABORT, 'revisions are never shared'); END;

DROP TRIGGER trials_are_never_deleted;
DROP TRIGGER studies_are_never_deleted;
CREATE TRIGGER trials_are_never_deleted_alone BEFORE DELETE ON trial
WHEN NOT EXISTS (SELECT 1 FROM removed WHERE removed.study = old.study)
BEGIN SELECT RAISE(ABORT, 'trials are never deleted, only whole studies'); END;
CREATE TRIGGER events_are_never_deleted_alone BEFORE DELETE ON event
WHEN NOT EXISTS (SELECT 1 FROM removed WHERE removed.study = old.study)
BEGIN SELECT RAISE(ABORT, 'events are never deleted, only whole studies'); END;
CREATE TRIGGER studies_are_never_deleted_in_part BEFORE DELETE ON study
WHEN NOT EXISTS (SELECT 1 FROM removed WHERE removed.study = old.id)
BEGIN SELECT RAISE(ABORT, 'studies are never deleted but as a whole, with all that they have'); END;
CREATE TRIGGER only_studies_are_removed BEFORE INSERT ON removed
WHEN NOT EXISTS (SELECT 1 FROM study WHERE study.id = new.study)
BEGIN SELECT RAISE(ABORT, 'what is not there is never removed'); END;
CREATE TRIGGER whole_studies_are_removed AFTER INSERT ON removed
BEGIN
    DELETE FROM event WHERE event.study = new.study;
    DELETE FROM trial WHERE trial.study = new.study;
    DELETE FROM study WHERE study.id = new.study;
END;
CREATE TRIGGER removed_studies_stay_removed BEFORE UPDATE ON removed
BEGIN SELECT RAISE(ABORT, 'removed studies never change'); END;
CREATE TRIGGER removed_studies_are_remembered BEFORE DELETE ON removed
BEGIN SELECT RAISE(ABORT, 'removed studies are never forgotten'); END;
CREATE TRIGGER numbers_of_studies_are_given_once BEFORE INSERT ON study
WHEN EXISTS (SELECT 1 FROM removed WHERE removed.study = new.id)
BEGIN SELECT RAISE(ABORT, 'numbers of studies are never given twice'); END;
";

/// Version 2. A value becomes the measure `value`, and the numbers of the result that was noted beside it are measured, too.
fn outcomes(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(SECOND)?;
    copy_trials(connection)?;
    connection.execute_batch(SECOND_RULES)
}

fn copy_trials(connection: &Connection) -> rusqlite::Result<()> {
    // Row by row, as numbers in notes have to be read as the very same ones, which SQLite's JSON functions do not promise.
    let mut read = connection.prepare(
        "SELECT study, id, told IS NOT NULL, value, note FROM trial_before ORDER BY study, id",
    )?;
    let mut write = connection.prepare(
        "INSERT INTO trial
         SELECT study, id, revision, NULL, params, state, lease, ?3, reason, told, attempts, worker,
                created, started, finished, note
         FROM trial_before WHERE study = ?1 AND id = ?2",
    )?;
    let mut rows = read.query([])?;
    while let Some(row) = rows.next()? {
        let (study, id): (i64, i64) = (row.get(0)?, row.get(1)?);
        let is_told: bool = row.get(2)?;
        let measured = is_told.then(|| measured_before(row)).transpose()?;
        write.execute(params![study, id, measured])?;
    }
    Ok(())
}

/// What version 1 kept of the numbers of an evaluation, as version 2 writes them.
fn measured_before(row: &Row<'_>) -> rusqlite::Result<String> {
    let note: String = row.get(4)?;
    let result = Object::new(note).ok().and_then(|note| note.result());
    let mut measured = result.as_ref().map_or_else(Measured::default, numbers);
    if let Some(value) = row.get::<_, Option<f64>>(3)? {
        measured
            .insert(VALUE, value)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
    }
    serde_json::to_string(&measured)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

/// The columns of version 3, in the order in which they are summed.
const STUDY_OF_THIRD: &str = "id, name, definition";
const TRIAL_OF_THIRD: &str = "id, revision, based_on, params, state, lease, measured, reason, told, attempts, worker, \
                              created, started, finished, note, study";

/// Version 3: each row has a checksum. Whoever writes one by hand leaves it at 0, so that the row is not taken for one of ours.
fn checksums(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "DROP TRIGGER told_trials_never_change;
         DROP TRIGGER studies_never_change;
         ALTER TABLE study ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
         ALTER TABLE trial ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;",
    )?;
    add_sums(connection, "study", STUDY_OF_THIRD)?;
    add_sums(connection, "trial", TRIAL_OF_THIRD)?;
    connection.execute_batch(
        "CREATE TRIGGER told_trials_never_change BEFORE UPDATE ON trial WHEN old.told IS NOT NULL
         BEGIN SELECT RAISE(ABORT, 'told trials never change'); END;
         CREATE TRIGGER studies_never_change BEFORE UPDATE ON study
         BEGIN SELECT RAISE(ABORT, 'studies never change'); END;",
    )
}

/// The sum of these columns for each row of a table.
fn add_sums(connection: &Connection, table: &str, columns: &str) -> rusqlite::Result<()> {
    let n = columns.split(',').count();
    let mut read = connection.prepare(&format!("SELECT {columns}, rowid FROM {table}"))?;
    // All of them first: what is read must not be changed meanwhile.
    let sums: rusqlite::Result<Vec<(u32, i64)>> = read
        .query_map([], |row| Ok((sum::of_first(row, n)?, row.get(n)?)))?
        .collect();
    let mut write =
        connection.prepare(&format!("UPDATE {table} SET checksum = ? WHERE rowid = ?"))?;
    for sum in sums? {
        write.execute(sum)?;
    }
    Ok(())
}

/// Refuses files of others without a lock, a log or a byte written. What is only damaged is for [`check`]: while another
/// process writes, this look past its locks may see half of a change.
pub(super) fn peek(path: &Path) -> Result<(), Error> {
    // SQLite takes a file of one byte for an empty one.
    if length(path) == 1 {
        return Err(Error::NotADatabase {
            path: path.to_owned(),
        });
    }
    match connect_immutable(path).and_then(|connection| check(&connection, path, STEPS.len())) {
        Err(Error::Corrupt { .. }) => Ok(()),
        checked => checked.map(drop),
    }
}

/// A connection that assumes that nobody writes, and so needs no locks and no files beside.
pub(super) fn connect_immutable(path: &Path) -> Result<Connection, Error> {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|error| translate(path, &error))
}

/// The version of a file that is ours and not newer than `known`; 0 for an empty one. All of it is read at one moment: another
/// process may be making the file.
pub(super) fn check(connection: &Connection, path: &Path, known: usize) -> Result<usize, Error> {
    if connection.is_autocommit() {
        let moment = connection
            .unchecked_transaction()
            .map_err(|error| translate(path, &error))?;
        return check(&moment, path, known);
    }
    let number = |query| {
        connection
            .query_row(query, [], |row| row.get::<_, i64>(0))
            .map_err(|error| translate(path, &error))
    };
    // An empty file is anybody's. One with tables and without our number is somebody else's.
    let application = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    if application == 0 && version == 0 && number("SELECT count(*) FROM sqlite_schema")? == 0 {
        return Ok(0);
    }
    if application != i64::from(APPLICATION) {
        let application_id = i32::try_from(application).unwrap_or_default();
        return Err(Error::Foreign {
            path: path.to_owned(),
            application_id,
        });
    }
    match usize::try_from(version) {
        Ok(version) if version <= known => Ok(version),
        _ => Err(Error::Newer {
            path: path.to_owned(),
            found: version,
            known,
        }),
    }
}

/// Takes the steps that the file lacks, all or none.
pub(super) fn migrate(
    connection: &mut Connection,
    path: &Path,
    steps: &[Step],
) -> Result<(), Error> {
    if check(connection, path, steps.len())? == steps.len() {
        return Ok(());
    }
    let say = |error| translate(path, &error);
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(say)?;
    // Checked again within the transaction: another process may have taken the steps meanwhile.
    for step in &steps[check(&transaction, path, steps.len())?..] {
        step.take(&transaction).map_err(say)?;
    }
    let version = steps.len();
    let marks = format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {version};");
    transaction.execute_batch(&marks).map_err(say)?;
    transaction.commit().map_err(say)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: Step = Step::Text("CREATE TABLE a (x INTEGER) STRICT");
    const NEW: Step = Step::Text("ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 7");

    fn old_file() -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, Path::new("a"), &[OLD]).unwrap();
        connection.execute("INSERT INTO a VALUES (1)", []).unwrap();
        connection
    }

    #[test]
    fn an_old_file_takes_the_steps_that_it_lacks() {
        let mut connection = old_file();

        migrate(&mut connection, Path::new("a"), &[OLD, NEW]).unwrap();
        migrate(&mut connection, Path::new("a"), &[OLD, NEW]).unwrap();

        assert_eq!(check(&connection, Path::new("a"), 2), Ok(2));
        let y: i64 = connection
            .query_row("SELECT y FROM a", [], |row| row.get(0))
            .unwrap();
        assert_eq!(y, 7);
        let newer = check(&connection, Path::new("a"), 1).unwrap_err();
        assert_eq!(
            newer,
            Error::Newer {
                path: "a".into(),
                found: 2,
                known: 1
            }
        );
    }

    #[test]
    fn a_step_that_fails_leaves_the_file_at_its_version() {
        let mut connection = old_file();

        let failed = migrate(
            &mut connection,
            Path::new("a"),
            &[OLD, NEW, Step::Text("CREATE nonsense")],
        );

        assert!(matches!(failed, Err(Error::Database { .. })));
        assert_eq!(check(&connection, Path::new("a"), 3), Ok(1));
        assert!(connection.prepare("SELECT y FROM a").is_err());
    }

    #[test]
    fn rows_of_an_older_version_get_their_checksums_and_stay_as_they_are() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, Path::new("a"), &STEPS[..2]).unwrap();
        connection
            .execute_batch(
                "INSERT INTO study VALUES (0, 'a', 'b');
                 INSERT INTO trial (study, id, revision, params, state, measured, told, attempts, created, note)
                 VALUES (0, 0, 1, '{}', 'complete', '{}', 0, 1, 0, '{}');
                 INSERT INTO trial (study, id, revision, params, state, attempts, created, note)
                 VALUES (0, 1, 2, '{\"x\": 1}', 'waiting', 0, 0, '{}');",
            )
            .unwrap();

        migrate(&mut connection, Path::new("a"), &STEPS).unwrap();

        let rows = |what: &str| -> Vec<bool> {
            let mut query = connection.prepare(what).unwrap();
            let found = query.query_map([], sum::is_right).unwrap();
            found.map(Result::unwrap).collect()
        };
        let trials = format!("SELECT {TRIAL_OF_THIRD}, checksum FROM trial");
        assert_eq!(rows(&trials), [true, true]);
        assert_eq!(
            rows(&format!("SELECT {STUDY_OF_THIRD}, checksum FROM study")),
            [true]
        );
        for change in [
            "UPDATE trial SET note = 'c' WHERE id = 0",
            "UPDATE study SET name = 'c'",
        ] {
            let refused = connection.execute(change, []).unwrap_err().to_string();
            assert!(refused.contains("never change"), "{change}: {refused}");
        }
    }

    #[test]
    fn the_database_itself_refuses_to_change_told_trials() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, Path::new("a"), &STEPS).unwrap();
        connection
            .execute_batch(
                "INSERT INTO study (id, name, definition) VALUES (0, 'a', 'b');
                 INSERT INTO trial (study, id, revision, params, state, measured, told, attempts, created, note)
                 VALUES (0, 0, 1, '{}', 'complete', '{}', 0, 1, 0, '{}');
                 INSERT INTO event (study, revision, kind, trial, content, time, worker) VALUES (0, 2, 'revised', NULL, 'c', 0, NULL);",
            )
            .unwrap();

        for change in [
            "UPDATE trial SET measured = 2",
            "INSERT OR REPLACE INTO trial (study, id, revision, params, state, measured, told, attempts, created, note)
             VALUES (0, 0, 1, '{}', 'complete', '{}', 0, 1, 0, '{}')",
            "INSERT OR REPLACE INTO trial (study, id, revision, params, state, measured, told, attempts, created, note)
             VALUES (0, 1, 2, '{}', 'complete', '{}', 0, 1, 0, '{}')",
            "INSERT OR REPLACE INTO trial (study, id, revision, params, state, attempts, created, note)
             VALUES (0, 1, 1, '{}', 'waiting', 0, 0, '{}')",
            "DELETE FROM trial",
            "DELETE FROM study",
            "DELETE FROM event",
            "UPDATE study SET definition = 'c'",
            "UPDATE event SET content = 'c'",
            "INSERT INTO event (study, revision, kind, trial, content, time, worker) VALUES (0, 2, 'revised', NULL, 'c', 0, NULL)",
            "INSERT OR REPLACE INTO event (study, revision, kind, trial, content, time, worker) VALUES (0, 2, 'revised', NULL, 'c', 0, NULL)",
            "INSERT INTO event (study, revision, kind, trial, content, time, worker) VALUES (0, 1, 'revised', NULL, 'c', 0, NULL)",
            "INSERT INTO event (study, revision, kind, trial, content, time, worker) VALUES (0, 9, 'corrected', 1, '{}', 0, NULL)",
            "INSERT INTO trial (study, id, revision, params, state, attempts, created, note)
             VALUES (0, 1, 2, '{}', 'waiting', 0, 0, '{}')",
            "INSERT INTO removed VALUES (1, 'a', 0)",
        ] {
            let refused = connection.execute(change, []).unwrap_err().to_string();
            assert!(refused.contains("never"), "{change}: {refused}");
        }
    }
    #[test]
    fn a_study_is_deleted_as_a_whole_or_not_at_all_and_stays_so() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection
            .pragma_update(None, "foreign_keys", true)
            .unwrap();
        migrate(&mut connection, Path::new("a"), &STEPS).unwrap();
        let trial = |study: i64| {
            format!(
                "INSERT INTO study (id, name, definition) VALUES ({study}, 'a{study}', 'b');
                 INSERT INTO trial (study, id, revision, params, state, measured, told, attempts, created, note)
                 VALUES ({study}, 0, 1, '{{}}', 'complete', '{{}}', 0, 1, 0, '{{}}');
                 INSERT INTO event (study, revision, kind, trial, content, time, worker) VALUES ({study}, 2, 'corrected', 0, '{{}}', 0, NULL);"
            )
        };
        connection.execute_batch(&trial(0)).unwrap();
        connection.execute_batch(&trial(1)).unwrap();

        let removed = "INSERT INTO removed VALUES (1, 'a1', 7)";
        connection.execute(removed, []).unwrap();

        let count = |table: &str| -> i64 {
            let query = format!("SELECT count(*) FROM {table}");
            connection.query_row(&query, [], |row| row.get(0)).unwrap()
        };
        assert_eq!(["study", "trial", "event"].map(count), [1; 3]);
        for change in [
            removed,
            "DELETE FROM removed",
            "UPDATE removed SET study = 0",
            "INSERT INTO study (id, name, definition) VALUES (1, 'again', 'b')",
            "DELETE FROM trial",
        ] {
            let refused = connection.execute(change, []).unwrap_err().to_string();
            assert!(refused.contains("never"), "{change}: {refused}");
        }
    }
}
