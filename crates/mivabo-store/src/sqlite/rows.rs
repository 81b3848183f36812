//! Rows of SQLite tables as studies and trials, and back.

use std::ops::Deref;
use std::path::Path;
use std::time::Instant;

use mivabo::measure::{Measured, Outcome};
use rusqlite::types::Type;
use rusqlite::{Connection, Params, Row, ToSql, params};

use super::events::{self, WhatRow, to_event};
use super::hold::Turn;
use super::home::Home;
use super::mark::LastChange;
use super::{sum, translate};
use crate::backend::{Last, Rows, Transaction};
use crate::error::Error;
use crate::event::Event;
use crate::object::Object;
use crate::record::{Record, Revision, StudyEntry, StudyId};
use crate::state::RecordState;
use crate::waiting::let_others_go_first;

/// The columns of a trial, in the order in which [`to_trial`] reads them, and their checksum.
const COLUMNS: &str = "id, revision, based_on, params, state, lease, measured, reason, told, attempts, worker, created, started, finished, note, study, checksum";

/// The same of a study.
const STUDY: &str = "id, name, definition, checksum";

/// The tables of a file, within a transaction.
pub(super) struct Tables<'a, C> {
    pub(super) connection: C,
    pub(super) path: &'a Path,
    /// None for those that only read.
    pub(super) turned: Option<Turned<'a>>,
}

/// The turn to write.
pub(super) struct Turned<'a> {
    pub(super) home: &'a Home,
    /// The last change of the transaction.
    pub(super) last: Option<LastChange>,
    pub(super) begun: Instant,
    /// Given back after the end of the transaction.
    pub(super) turn: Turn<'a>,
}

impl<C: Deref<Target = Connection>> Tables<'_, C> {
    fn check<T>(&self, result: rusqlite::Result<T>) -> Result<T, Error> {
        result.map_err(|error| translate(self.path, &error))
    }

    /// All rows that a query finds.
    fn all<T>(
        &self,
        query: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Error> {
        let found = self
            .connection
            .prepare_cached(query)
            .and_then(|mut q| q.query_map(params, read)?.collect());
        self.check(found)
    }

    /// The trials of a study that the rest of a query selects.
    fn trials(
        &self,
        study: StudyId,
        rest: &str,
        params: impl Params,
    ) -> Result<Vec<Record>, Error> {
        let query = format!("SELECT {COLUMNS} FROM trial WHERE {rest}");
        let read = |row: &Row<'_>| {
            let is_right = sum::is_right(row)?;
            // What was changed may be anything, and need not make a trial.
            Ok(if is_right {
                Ok(to_trial(row)?)
            } else {
                Err(row.get_ref(0)?.as_i64()?)
            })
        };
        let found = self.all(&query, params, read)?;
        let changed =
            |id: i64| self.changed_on_disk(&format!("trial {id} of {}", self.called(study)));
        found
            .into_iter()
            .map(|trial| trial.map_err(changed))
            .collect()
    }

    /// The studies that the rest of a query selects, with their definitions.
    fn entries(&self, rest: &str, params: impl Params) -> Result<Vec<(StudyEntry, String)>, Error> {
        let query = format!("SELECT {STUDY} FROM study {rest}");
        let read = |row: &Row<'_>| {
            let is_right = sum::is_right(row)?;
            Ok(if is_right {
                Ok(to_study(row)?)
            } else {
                Err(row.get_ref(0)?.as_i64()?)
            })
        };
        let changed = |id: i64| self.changed_on_disk(&format!("study {id}"));
        let found = self.all(&query, params, read)?;
        found
            .into_iter()
            .map(|study| study.map_err(changed))
            .collect()
    }

    /// A study in a message: by its name, as long as that can be read.
    fn called(&self, study: StudyId) -> String {
        let found = self.entries("WHERE id = ?", [whole(study.0)]);
        let name = found.ok().and_then(|mut found| Some(found.pop()?.0.name));
        name.map_or(format!("study {}", study.0), |name| {
            format!("study `{name}`")
        })
    }

    fn changed_on_disk(&self, row: &str) -> Error {
        Error::Corrupt {
            path: self.path.to_owned(),
            what: format!("{row} was changed on disk after it was written"),
        }
    }

    fn execute(&self, statement: &str, params: impl Params) -> Result<(), Error> {
        self.check(
            self.connection
                .prepare_cached(statement)
                .and_then(|mut s| s.execute(params)),
        )
        .map(drop)
    }

    /// Executes a statement with these values and their checksum.
    fn execute_summed(&self, statement: &str, values: &[&dyn ToSql]) -> Result<(), Error> {
        let sum = self.check(sum::of(values))?;
        let values: Vec<&dyn ToSql> = values.iter().copied().chain([&sum as &dyn ToSql]).collect();
        self.execute(statement, values.as_slice())
    }
}

impl Tables<'_, rusqlite::Transaction<'_>> {
    /// Whether the revision is a new one. That of a heartbeat is not.
    fn is_change(&self, change: LastChange) -> Result<bool, Error> {
        let LastChange { study, revision } = change;
        let is_next = |last: &LastChange| last.study == study && last.revision.0 < revision.0;
        let before = self.turned.as_ref().and_then(|turned| turned.last.as_ref());
        Ok(before.is_some_and(is_next) || self.last(study)?.revision.0 < revision.0)
    }

    fn changed(&mut self, change: LastChange) {
        if let Some(turned) = &mut self.turned {
            turned.last = Some(change);
        }
    }
}

impl<C: Deref<Target = Connection>> Rows for Tables<'_, C> {
    fn studies(&self) -> Result<Vec<StudyEntry>, Error> {
        let found = self.entries("ORDER BY id", [])?;
        Ok(found.into_iter().map(|(study, _)| study).collect())
    }

    fn next_study(&self) -> Result<StudyId, Error> {
        let query = "SELECT max((SELECT coalesce(max(id) + 1, 0) FROM study),
                                (SELECT coalesce(max(study) + 1, 0) FROM removed))";
        let found = self.all(query, [], |row| natural(row, 0))?;
        Ok(StudyId(found.into_iter().max().unwrap_or_default()))
    }

    fn removed(&self, study: StudyId) -> Result<Option<String>, Error> {
        let query = "SELECT name FROM removed WHERE study = ?";
        let found = self.all(query, [whole(study.0)], |row| row.get(0))?;
        Ok(found.into_iter().next())
    }

    fn definition(&self, study: StudyId) -> Result<Option<String>, Error> {
        let found = self.entries("WHERE id = ?", [whole(study.0)])?.pop();
        Ok(found.map(|(_, definition)| definition))
    }

    fn last(&self, study: StudyId) -> Result<Last, Error> {
        // Looked up through the indices. Counters in a table of their own could disagree with the rows.
        let query = "SELECT
            (SELECT coalesce(max(id) + 1, 0) FROM trial WHERE study = ?1),
            (SELECT coalesce(max(told) + 1, 0) FROM trial WHERE study = ?1 AND told IS NOT NULL),
            max((SELECT coalesce(max(revision), 0) FROM trial WHERE study = ?1),
                (SELECT coalesce(max(revision), 0) FROM event WHERE study = ?1))";
        let found = self.connection.prepare_cached(query).and_then(|mut query| {
            query.query_row([whole(study.0)], |row| {
                Ok(Last {
                    trials: natural(row, 0)?,
                    tells: natural(row, 1)?,
                    revision: Revision(natural(row, 2)?),
                })
            })
        });
        self.check(found)
    }

    fn trial(&self, study: StudyId, id: u64) -> Result<Option<Record>, Error> {
        Ok(self
            .trials(study, "study = ? AND id = ?", [whole(study.0), whole(id)])?
            .pop())
    }

    fn changes(&self, study: StudyId, since: Revision) -> Result<Vec<Record>, Error> {
        self.trials(
            study,
            "study = ? AND revision > ? ORDER BY revision",
            [whole(study.0), whole(since.0)],
        )
    }

    fn events(&self, study: StudyId, since: Revision) -> Result<Vec<Event>, Error> {
        let columns = events::COLUMNS;
        let query = format!(
            "SELECT {columns} FROM event WHERE study = ? AND revision > ? ORDER BY revision"
        );
        let read = |row: &Row<'_>| {
            let is_right = sum::is_right(row)?;
            Ok(if is_right {
                Ok(to_event(row)?)
            } else {
                Err(row.get_ref(0)?.as_i64()?)
            })
        };
        let found = self.all(&query, [whole(study.0), whole(since.0)], read)?;
        let changed = |revision: i64| {
            let study = self.called(study);
            self.changed_on_disk(&format!("event {revision} of {study}"))
        };
        found
            .into_iter()
            .map(|event| event.map_err(changed))
            .collect()
    }

    fn waiting(&self, study: StudyId) -> Result<Vec<Record>, Error> {
        self.trials(
            study,
            "study = ? AND told IS NULL AND state = 'waiting' ORDER BY id",
            [whole(study.0)],
        )
    }

    fn oldest_waiting(&self, study: StudyId) -> Result<Option<Record>, Error> {
        let rest = "study = ? AND told IS NULL AND state = 'waiting' ORDER BY id LIMIT 1";
        Ok(self.trials(study, rest, [whole(study.0)])?.pop())
    }

    fn running(&self, study: StudyId) -> Result<Vec<Record>, Error> {
        self.trials(
            study,
            "study = ? AND told IS NULL AND state = 'running' ORDER BY id",
            [whole(study.0)],
        )
    }
}

impl Transaction for Tables<'_, rusqlite::Transaction<'_>> {
    fn insert_study(&mut self, study: &StudyEntry, definition: &str) -> Result<(), Error> {
        let statement = format!("INSERT INTO study ({STUDY}) VALUES (?, ?, ?, ?)");
        let values = params![whole(study.id.0), study.name, definition];
        self.execute_summed(&statement, values)?;
        self.changed(LastChange {
            study: study.id,
            revision: Revision::default(),
        });
        Ok(())
    }

    fn put(&mut self, study: StudyId, trial: &Record) -> Result<(), Error> {
        let row = StateRow::of(&trial.state);
        // What a trial was made with is not among the columns that are updated.
        let statement = format!(
            "INSERT INTO trial ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
             ON CONFLICT (study, id) DO UPDATE SET
                 revision = excluded.revision, state = excluded.state, lease = excluded.lease,
                 measured = excluded.measured, reason = excluded.reason, told = excluded.told,
                 attempts = excluded.attempts, worker = excluded.worker, started = excluded.started,
                 finished = excluded.finished, note = excluded.note, checksum = excluded.checksum"
        );
        let measured = self.check(row.measured())?;
        let values = params![
            whole(trial.id),
            whole(trial.revision.0),
            trial.based_on.map(|revision| whole(revision.0)),
            trial.params.as_str(),
            row.state,
            row.lease,
            measured,
            row.reason,
            trial.told.map(whole),
            trial.attempts,
            trial.worker,
            trial.created,
            trial.started,
            trial.finished,
            trial.note.as_str(),
            whole(study.0),
        ];
        let change = LastChange {
            study,
            revision: trial.revision,
        };
        // Asked before the row is there, as its revision is then the last one.
        let is_change = self.is_change(change)?;
        self.execute_summed(&statement, values)?;
        if is_change {
            self.changed(change);
        }
        Ok(())
    }

    fn append(&mut self, study: StudyId, event: &Event) -> Result<(), Error> {
        let row = self.check(WhatRow::of(&event.what))?;
        let columns = events::COLUMNS;
        let statement = format!("INSERT INTO event ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
        let values = params![
            whole(event.revision.0),
            row.kind,
            row.trial.map(whole),
            row.content,
            event.time,
            event.worker,
            whole(study.0),
        ];
        self.execute_summed(&statement, values)?;
        self.changed(LastChange {
            study,
            revision: event.revision,
        });
        Ok(())
    }

    fn remove(&mut self, study: StudyId, now: i64) -> Result<(), Error> {
        // A trigger then removes the rest, all of it.
        self.execute(
            "INSERT INTO removed (study, name, time) SELECT id, name, ?2 FROM study WHERE id = ?1",
            params![whole(study.0), now],
        )?;
        self.changed(LastChange {
            study,
            revision: Revision::default(),
        });
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<(), Error> {
        let Tables {
            connection,
            path,
            turned,
        } = *self;
        let Some(Turned {
            home,
            last,
            begun,
            turn,
        }) = turned
        else {
            return connection.commit().map_err(|error| translate(path, &error));
        };
        home.commit(&connection, last)?;
        // The transaction ends first, so that whoever has the turn next does not meet SQLite's lock.
        drop(connection);
        drop(turn);
        if !home.hold.has_lines() {
            let_others_go_first(begun);
        }
        Ok(())
    }
}

/// The columns that say what became of a trial.
struct StateRow<'a> {
    state: &'static str,
    lease: Option<i64>,
    measured: Option<&'a Measured>,
    reason: Option<&'a str>,
}

impl<'a> StateRow<'a> {
    fn of(state: &'a RecordState) -> StateRow<'a> {
        let of_name = |state| StateRow {
            state,
            lease: None,
            measured: None,
            reason: None,
        };
        let told = |state, outcome: &'a Outcome| StateRow {
            measured: Some(outcome.measured()),
            ..of_name(state)
        };
        match state {
            RecordState::Waiting => of_name("waiting"),
            RecordState::Running { lease, .. } => StateRow {
                lease: Some(*lease),
                ..of_name("running")
            },
            RecordState::Ended(outcome) => match outcome {
                Outcome::Complete(_) => told("complete", outcome),
                Outcome::Stopped(_) => told("stopped", outcome),
                Outcome::Failed { reason, .. } => StateRow {
                    reason: Some(reason),
                    ..told("failed", outcome)
                },
            },
        }
    }

    fn measured(&self) -> rusqlite::Result<Option<String>> {
        let written = self.measured.map(serde_json::to_string).transpose();
        written.map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
    }
}

/// A row of [`STUDY`].
fn to_study(row: &Row<'_>) -> rusqlite::Result<(StudyEntry, String)> {
    let study = StudyEntry {
        id: StudyId(natural(row, 0)?),
        name: row.get(1)?,
    };
    Ok((study, row.get(2)?))
}

/// A row of [`COLUMNS`] as a trial. What the schema forbids is an error, as is JSON that cannot be read.
fn to_trial(row: &Row<'_>) -> rusqlite::Result<Record> {
    let optional = |column| {
        let found: Option<i64> = row.get(column)?;
        found.map(|_| natural(row, column)).transpose()
    };
    Ok(Record {
        id: natural(row, 0)?,
        revision: Revision(natural(row, 1)?),
        based_on: optional(2)?.map(Revision),
        params: object(row, 3)?,
        state: state(row)?,
        told: optional(8)?,
        attempts: row.get(9)?,
        worker: row.get(10)?,
        created: row.get(11)?,
        started: row.get(12)?,
        finished: row.get(13)?,
        note: object(row, 14)?,
    })
}

fn state(row: &Row<'_>) -> rusqlite::Result<RecordState> {
    Ok(match row.get_ref(4)?.as_str()? {
        "waiting" => RecordState::Waiting,
        "running" => RecordState::Running {
            worker: row.get::<_, Option<String>>(10)?.unwrap_or_default(),
            lease: row.get(5)?,
        },
        "complete" => RecordState::Ended(Outcome::Complete(measured(row, 6)?)),
        "stopped" => RecordState::Ended(Outcome::Stopped(measured(row, 6)?)),
        // The schema lets no other state in.
        _ => RecordState::Ended(Outcome::Failed {
            reason: row.get(7)?,
            measured: measured(row, 6)?,
        }),
    })
}

fn measured(row: &Row<'_>, column: usize) -> rusqlite::Result<Measured> {
    serde_json::from_str(row.get_ref(column)?.as_str()?).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
    })
}

fn object(row: &Row<'_>, column: usize) -> rusqlite::Result<Object> {
    let text: String = row.get(column)?;
    Object::new(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
    })
}

fn natural(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}

/// SQLite's integers have 63 bits. No number that is given out is greater, and one that a caller invents finds nothing.
fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
