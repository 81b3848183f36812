//! Which files are opened: those that have everything that was acknowledged, under the name that is in use.

use std::path::Path;

use rusqlite::Connection;

use super::hold::Hold;
use super::mark::{LastChange, Mark};
use super::place::Place;
use super::{beside, check_pages, refused, schema, translate};
use crate::error::Error;

/// Refuses a path whose log is not the one that was written last: what is in the other log would be lost.
pub(super) fn admit(hold: &Hold, path: &Path) -> Result<(), Error> {
    let place = Place::of(path);
    // The locks speak for processes that are alive, the mark for those that were killed.
    let mark = hold.mark();
    if hold.is_used_with_another_log(place.log_number()) {
        return Err(refused(path, &in_use(mark.as_ref(), path)));
    }
    match mark {
        Some(mark)
            if place.log.map(|(_, number)| number) != Some(mark.log) && !mark.is_over(path) =>
        {
            Err(refused(path, &not_closed(&mark)))
        }
        _ => Ok(()),
    }
}

/// The last change, where the file must have it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected {
    last: LastChange,
    /// Whether the file was closed in order since.
    is_closed: bool,
}

impl Expected {
    /// None where nothing is remembered, and for a file that was closed in order and has no log: it may have been replaced by an older copy.
    pub(super) fn of(hold: &Hold, has_log: bool) -> Option<Expected> {
        let is_closed = hold.mark().is_none();
        hold.last()
            .filter(|_| has_log || !is_closed)
            .map(|last| Expected { last, is_closed })
    }
}

/// Refuses a file without the last change that was acknowledged, and one that is not whole; without a look at every page if that is
/// not asked for.
pub(super) fn check_state(
    connection: &Connection,
    expected: Option<Expected>,
    path: &Path,
    is_every_page: bool,
) -> Result<(), Error> {
    // What is missing comes before what is damaged: a file that lost its log may be both, and only the first says what to do.
    let checked = || {
        schema::check(connection, path, schema::STEPS.len())?;
        if let Some(Expected { last, .. }) = expected {
            has_last(connection, last, path)?;
        }
        if is_every_page {
            check_pages(connection, path)?;
        }
        Ok(())
    };
    checked().map_err(|error| explained(error, expected, path))
}

/// Why a file cannot be read, if what was acknowledged of it says more than SQLite does.
pub(super) fn explained(error: Error, expected: Option<Expected>, path: &Path) -> Error {
    match expected {
        // A file that was closed in order is whole and has no log. So one beside it is of another state, whether that lacks the
        // last change or makes no sense with the pages of the file.
        Some(expected) if expected.is_closed && is_of_state(&error) => refused(path, &stale(path)),
        // It was ours when the last change was acknowledged, and has lost its beginning since.
        Some(expected) if matches!(error, Error::NotADatabase { .. }) => {
            lacking(path, expected.last, 0)
        }
        _ => error,
    }
}

/// Whether a log of another state may be the reason.
fn is_of_state(error: &Error) -> bool {
    matches!(
        error,
        Error::Missing { .. } | Error::Corrupt { .. } | Error::NotADatabase { .. }
    )
}

/// # Errors
/// [`Error::Missing`] where the file ends before this change.
pub(super) fn has_last(
    connection: &Connection,
    last: LastChange,
    path: &Path,
) -> Result<(), Error> {
    if !connection
        .table_exists(None, "trial")
        .map_err(|error| translate(path, &error))?
    {
        return Err(lacking(path, last, 0));
    }
    let [study, revision] =
        [last.study.0, last.revision.0].map(|number| i64::try_from(number).unwrap_or(i64::MAX));
    let found = last_of(connection, study);
    match found.map_err(|error| translate(path, &error))? {
        (true, found) if found >= revision => Ok(()),
        (_, found) => Err(lacking(path, last, found)),
    }
}

/// Whether a study is there, and its last revision. One that was removed is as it should be.
fn last_of(connection: &Connection, study: i64) -> rusqlite::Result<(bool, i64)> {
    let of_trials = "SELECT (SELECT count(*) FROM study WHERE id = ?1),
                            (SELECT coalesce(max(revision), 0) FROM trial WHERE study = ?1)";
    let (is_there, revision) = connection.query_row(of_trials, [study], |row| {
        Ok((row.get::<_, i64>(0)? > 0, row.get::<_, i64>(1)?))
    })?;
    // A file of an older version has no such tables.
    if !connection.table_exists(None, "removed")? {
        return Ok((is_there, revision));
    }
    let of_events = "SELECT (SELECT count(*) FROM removed WHERE study = ?1),
                            (SELECT coalesce(max(revision), 0) FROM event WHERE study = ?1)";
    connection.query_row(of_events, [study], |row| match row.get(0)? {
        0 => Ok((is_there, revision.max(row.get(1)?))),
        _ => Ok((true, i64::MAX)),
    })
}

/// A file that ends before the last change that was acknowledged.
pub(super) fn lacking(path: &Path, last: LastChange, found: i64) -> Error {
    let found = u64::try_from(found).unwrap_or_default();
    Error::Missing {
        path: path.to_owned(),
        study: last.study.0,
        last: last.revision.0,
        found,
    }
}

fn in_use(mark: Option<&Mark>, path: &Path) -> String {
    match mark {
        Some(mark) if mark.has_name(path) => {
            "another process has it open, and its log was removed since; that process stops at its next write\n\
             hint: try again then"
                .to_owned()
        }
        Some(mark) if !mark.path.as_os_str().is_empty() => format!(
            "it is open under another name, `{}`, with a log of its own: results told under two names would be lost\n\
             hint: use that name, or wait until it is closed there",
            mark.path.display()
        ),
        _ => "it is open with another log: under another name of the same file (a hard link, a bind mount), or its log \
              was removed since\nhint: use the name under which it is open, or wait until it is closed there"
            .to_owned(),
    }
}

fn stale(path: &Path) -> String {
    format!(
        "the log `{}` beside it is of an older state of this file; with it, results that were told since would be lost\n\
         hint: move the log away; the file itself is whole",
        beside(path, "-wal").display()
    )
}

fn not_closed(mark: &Mark) -> String {
    let name = if mark.path.as_os_str().is_empty() {
        Path::new("another name")
    } else {
        &mark.path
    };
    format!(
        "it was last open as `{}` and was not closed in order; what was told last may be in the log `{}`\n\
         hint: go on under that name; if that log is lost, use a copy of the file, made with `cp`",
        name.display(),
        beside(name, "-wal").display()
    )
}
