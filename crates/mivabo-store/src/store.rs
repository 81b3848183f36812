//! The store: what users call, and the rules of the [crate](crate), over the rows of a [`Backend`].

use std::path::Path;

use mivabo::interrupt;
use mivabo::measure::Outcome;

use crate::backend::{Backend, Rows, Transaction};
use crate::error::{Error, Refused};
use crate::event::{By, Correction, Event, What};
use crate::location::Location;
use crate::memory::Memory;
use crate::record::{Lease, NewRecord, Record, Revision, StudyEntry, StudyId, Tell};
use crate::sqlite::Sqlite;
use crate::state::RecordState;

/// Studies and trials in one place. The rules are in the documentation of the [crate](crate).
pub struct Store {
    pub(crate) backend: Box<dyn Backend>,
}

/// So many changes are read within the turn to write.
const NEAR: u64 = 100;

/// What changed since a revision.
#[derive(Debug, Clone, PartialEq)]
pub struct Changes {
    /// The trials that changed, as they are now, each once, in the order of their last changes.
    pub trials: Vec<Record>,
    /// The events, in their order. What a study is follows from its events and its trials as they are now, so it makes no difference
    /// which of them came between which.
    pub events: Vec<Event>,
    /// The revision up to which this tells everything: the `since` of the next question.
    pub revision: Revision,
}

/// How a study is revised.
#[derive(Debug, Clone, Copy)]
pub struct Revising<'a> {
    /// The definition that the reviser knows.
    pub from: &'a str,
    /// The definition that counts from now on.
    pub to: &'a str,
    /// Only where nothing was told yet.
    pub is_untold: bool,
    /// Who, and when.
    pub by: By<'a>,
}

impl Store {
    /// What is kept at this place, made if there is nothing yet.
    ///
    /// # Errors
    /// [`Error::NotADatabase`], [`Error::Foreign`], [`Error::Newer`] and [`Error::Corrupt`] for files that were left as they
    /// are; [`Error::Missing`] for one that lacks what was acknowledged last, and [`Error::CannotOpen`] for one that is in
    /// use under another name; [`Error::ReadOnly`], [`Error::Full`], [`Error::Busy`], [`Error::Database`].
    pub fn open(location: &Location) -> Result<Store, Error> {
        Ok(match location {
            Location::Memory => Store::new(Memory::default()),
            Location::File(path) => Store::new(Sqlite::open(path)?),
        })
    }

    /// What is kept at this place, where it must exist.
    ///
    /// # Errors
    /// [`Error::NotThere`], and those of [`open`](Store::open).
    pub fn open_existing(location: &Location) -> Result<Store, Error> {
        check_there(location)?;
        Ok(match location {
            Location::Memory => Store::new(Memory::default()),
            Location::File(path) => Store::new(Sqlite::open_existing(path)?),
        })
    }

    /// What is kept at this place, to be looked at only: every call that would write is refused. Works beside writers and
    /// on media that cannot be written, and leaves nothing behind.
    ///
    /// # Errors
    /// As [`open_existing`](Store::open_existing).
    pub fn look(location: &Location) -> Result<Store, Error> {
        check_there(location)?;
        Ok(match location {
            Location::Memory => Store::new(Memory::default()),
            Location::File(path) => Store::new(Sqlite::open_read_only(path)?),
        })
    }

    /// Writes everything that is kept at a place, as it is now, into a new file, which is then a whole database. Works beside writers.
    /// A file that is there already is replaced only where that is wanted.
    ///
    /// # Errors
    /// [`Error::Taken`], and as [`open_existing`](Store::open_existing).
    pub fn back_up(location: &Location, to: &Path, is_replaced: bool) -> Result<(), Error> {
        check_there(location)?;
        match location {
            Location::Memory => Err(Error::NotThere {
                place: Location::Memory,
            }),
            Location::File(path) => Sqlite::back_up(path, to, is_replaced),
        }
    }

    /// A store on this backend.
    pub fn new(backend: impl Backend + 'static) -> Store {
        Store {
            backend: Box::new(backend),
        }
    }

    /// The study of this name, made if there is none.
    ///
    /// # Errors
    /// [`Error::DefinitionDiffers`] if there is one with another definition, [`Error::BadName`], or what the backend meets.
    pub fn create(&mut self, name: &str, definition: &str) -> Result<StudyId, Error> {
        check_name(name)?;
        // Nearly always it exists, and who only opens it needs no turn to write.
        if let Some(id) = existing(&*self.backend.read()?, name, definition)? {
            return Ok(id);
        }
        self.write(|rows| {
            // Somebody may have made it since.
            if let Some(id) = existing(rows, name, definition)? {
                return Ok(id);
            }
            let id = rows.next_study()?;
            rows.insert_study(
                &StudyEntry {
                    id,
                    name: name.to_owned(),
                },
                definition,
            )?;
            Ok(id)
        })
    }

    /// All studies, by number.
    ///
    /// # Errors
    /// What the backend meets.
    pub fn studies(&self) -> Result<Vec<StudyEntry>, Error> {
        self.backend.read()?.studies()
    }

    /// What a study is, as it was last revised.
    ///
    /// # Errors
    /// [`Error::UnknownStudy`], [`Error::Removed`], or what the backend meets.
    pub fn definition(&self, study: StudyId) -> Result<String, Error> {
        current(&*self.backend.read()?, study)
    }

    /// What a study was made from, before it was revised.
    ///
    /// # Errors
    /// As [`definition`](Store::definition).
    pub fn first_definition(&self, study: StudyId) -> Result<String, Error> {
        definition(&*self.backend.read()?, study)
    }

    /// Gives a study another definition. Waiting trials for which `forbidden` has a reason fail with it; their numbers are the
    /// answer. None where the study has another definition by now than the reviser knows, or was told although it should not be:
    /// then nothing is changed.
    ///
    /// # Errors
    /// [`Error::UnknownStudy`], [`Error::Removed`], or what the backend meets.
    pub fn revise(
        &mut self,
        study: StudyId,
        revising: &Revising<'_>,
        forbidden: impl Fn(&Record) -> Option<String>,
    ) -> Result<Option<Vec<u64>>, Error> {
        self.write_if(|rows| {
            let is_known = current(rows, study)? == revising.from;
            if !is_known || revising.is_untold && rows.last(study)?.tells > 0 {
                return Ok(None);
            }
            let definition = revising.to.to_owned();
            append(
                rows,
                study,
                Event::new(What::Revised { definition }, revising.by),
            )?;
            let mut failed = Vec::new();
            for mut trial in rows.waiting(study)? {
                let Some(reason) = forbidden(&trial) else {
                    continue;
                };
                let tell = Tell {
                    now: revising.by.now,
                    ..Tell::new(Outcome::failed(reason))
                };
                trial.finish(&tell, rows.last(study)?.tells)?;
                failed.push(trial.id);
                put(rows, study, trial)?;
            }
            Ok(Some(failed))
        })
    }

    /// Lets another outcome count for a told trial, whose row stays as it was told.
    ///
    /// # Errors
    /// [`Error::NotTold`], [`Error::UnknownStudy`], [`Error::UnknownTrial`], or what the backend meets.
    pub fn correct(
        &mut self,
        study: StudyId,
        correction: Correction,
        by: By<'_>,
    ) -> Result<Event, Error> {
        self.write(|rows| {
            let trial = trial(rows, study, correction.trial)?;
            if !trial.is_told() {
                return Err(Error::NotTold {
                    id: trial.id,
                    state: trial.state,
                });
            }
            append(rows, study, Event::new(What::Corrected(correction), by))
        })
    }

    /// Removes a study with all its trials and events. Whoever still works on it gets [`Error::Removed`] from then on, and a new
    /// study may have its name.
    ///
    /// # Errors
    /// [`Error::UnknownStudy`], [`Error::Removed`], or what the backend meets.
    pub fn remove(&mut self, study: StudyId, now: i64) -> Result<(), Error> {
        self.write(|rows| {
            definition(rows, study)?;
            rows.remove(study, now)
        })
    }

    /// One trial.
    ///
    /// # Errors
    /// [`Error::UnknownStudy`], [`Error::UnknownTrial`], or what the backend meets.
    pub fn trial(&self, study: StudyId, id: u64) -> Result<Record, Error> {
        trial(&*self.backend.read()?, study, id)
    }

    /// What changed after a revision; since `Revision::default()`, all trials and all events.
    ///
    /// # Errors
    /// [`Error::UnknownStudy`], or what the backend meets.
    pub fn changes(&self, study: StudyId, since: Revision) -> Result<Changes, Error> {
        let rows = self.backend.read()?;
        definition(&*rows, study)?;
        changes(&*rows, study, since)
    }

    /// The trials that run, by number.
    ///
    /// # Errors
    /// [`Error::UnknownStudy`], or what the backend meets.
    pub fn running(&self, study: StudyId) -> Result<Vec<Record>, Error> {
        let rows = self.backend.read()?;
        definition(&*rows, study)?;
        rows.running(study)
    }

    /// A new trial that waits for a worker.
    ///
    /// # Errors
    /// [`Error::UnknownStudy`], or what the backend meets.
    pub fn enqueue(&mut self, study: StudyId, new: NewRecord, now: i64) -> Result<Record, Error> {
        self.write(|rows| {
            definition(rows, study)?;
            enqueue(rows, study, new, now)
        })
    }

    /// The same for many, all of them or none. None, too, where the study was revised after `known`, a revision: then their points may
    /// have no place in it any more.
    ///
    /// # Errors
    /// As [`Store::enqueue`]; nothing is then added.
    pub fn enqueue_all(
        &mut self,
        study: StudyId,
        new: Vec<NewRecord>,
        now: i64,
        known: Revision,
    ) -> Result<Option<Vec<Record>>, Error> {
        self.write_if(|rows| {
            definition(rows, study)?;
            if is_revised(rows, study, known)? {
                return Ok(None);
            }
            let mut made = Vec::with_capacity(new.len());
            for new in new {
                made.push(enqueue(rows, study, new, now)?);
            }
            Ok(Some(made))
        })
    }

    /// A new trial that is told already: a result from elsewhere.
    ///
    /// # Errors
    /// [`Error::UnknownStudy`], or what the backend meets.
    pub fn add(
        &mut self,
        study: StudyId,
        new: NewRecord,
        tell: &Tell<'_>,
    ) -> Result<Record, Error> {
        self.write(|rows| {
            definition(rows, study)?;
            add(rows, study, new, tell)
        })
    }

    /// The same for many, all of them or none.
    ///
    /// # Errors
    /// As [`Store::add`]; nothing is then added.
    pub fn add_all(
        &mut self,
        study: StudyId,
        told: Vec<(NewRecord, Tell<'_>)>,
    ) -> Result<Vec<Record>, Error> {
        self.write(|rows| {
            definition(rows, study)?;
            told.into_iter()
                .map(|(new, tell)| add(rows, study, new, &tell))
                .collect()
        })
    }

    /// A sign of life: the lease ends later. The trial does not change by it: its revision stays.
    ///
    /// # Errors
    /// [`Error::NotHeld`] when the trial is no longer this worker's, with what became of it;
    /// [`Error::UnknownStudy`], [`Error::UnknownTrial`], or what the backend meets.
    pub fn heartbeat(&mut self, study: StudyId, id: u64, lease: &Lease<'_>) -> Result<(), Error> {
        self.write(|rows| {
            let mut trial = trial(rows, study, id)?;
            trial.renew(lease)?;
            // As it is: a new revision would make everybody read the trial again.
            rows.put(study, &trial)
        })
    }

    /// As [`heartbeat`](Self::heartbeat) for many trials in one turn, except those that are no longer this worker's.
    ///
    /// # Errors
    /// [`Error::UnknownStudy`], [`Error::UnknownTrial`], or what the backend meets.
    pub fn heartbeat_all(
        &mut self,
        study: StudyId,
        ids: &[u64],
        lease: &Lease<'_>,
    ) -> Result<(), Error> {
        self.write(|rows| {
            for &id in ids {
                let mut trial = trial(rows, study, id)?;
                // Who lost one of many trials keeps the others alive.
                if trial.renew(lease).is_ok() {
                    rows.put(study, &trial)?;
                }
            }
            Ok(())
        })
    }

    /// The outcome of a trial. The first one counts, whoever tells it and whoever holds the trial.
    ///
    /// # Errors
    /// [`Error::AlreadyTold`] with what the trial has, [`Error::UnknownStudy`],
    /// [`Error::UnknownTrial`], or what the backend meets.
    pub fn tell(&mut self, study: StudyId, id: u64, tell: &Tell<'_>) -> Result<Record, Error> {
        self.write(|rows| finish(rows, study, id, tell))
    }

    /// The same, and what changed since a revision: who follows the study need not look once more. None where that is much, and others
    /// would wait for it.
    pub(crate) fn tell_since(
        &mut self,
        study: StudyId,
        id: u64,
        tell: &Tell<'_>,
        since: Revision,
    ) -> Result<Option<Changes>, Error> {
        self.write(|rows| {
            let told = finish(rows, study, id, tell)?;
            let is_near = told.revision.0 <= since.0.saturating_add(NEAR);
            is_near.then(|| changes(rows, study, since)).transpose()
        })
    }

    /// The same for many, all of them or none. A trial that was told the very same before stays as it is; for each tell, whether it
    /// did.
    ///
    /// # Errors
    /// As [`tell`](Store::tell), with the place of the tell that is refused; nothing is then told.
    pub fn tell_many(
        &mut self,
        study: StudyId,
        tells: &[(u64, Tell<'_>)],
    ) -> Result<Vec<bool>, Refused> {
        let heard = self.write_if(|rows| {
            let numbered = tells.iter().enumerate();
            let heard = numbered.map(|(at, (id, tell))| {
                let heard = tell_or_repeat(rows, study, *id, tell);
                heard.map_err(|why| Refused {
                    at: Some(at),
                    why: Box::new(why),
                })
            });
            heard.collect::<Result<Vec<bool>, Refused>>().map(Some)
        })?;
        Ok(heard.unwrap_or_default())
    }

    /// A worker that stops gives its trial back. It waits again, and the attempt does not count.
    ///
    /// # Errors
    /// [`Error::NotHeld`] when the trial is not this worker's, with what became of it;
    /// [`Error::UnknownStudy`], [`Error::UnknownTrial`], or what the backend meets.
    pub fn release(&mut self, study: StudyId, id: u64, worker: &str) -> Result<Record, Error> {
        self.write(|rows| {
            let mut trial = trial(rows, study, id)?;
            trial.give_back(worker)?;
            put(rows, study, trial)
        })
    }

    /// Running trials whose lease has ended wait again, or fail if they were tried `max_attempts` times. Returns them, by
    /// number.
    ///
    /// # Errors
    /// [`Error::UnknownStudy`], or what the backend meets.
    pub fn release_expired(
        &mut self,
        study: StudyId,
        now: i64,
        max_attempts: u32,
    ) -> Result<Vec<Record>, Error> {
        // Workers ask often and mostly in vain: only those who find something wait for their turn.
        let rows = self.backend.read()?;
        definition(&*rows, study)?;
        if expired(&*rows, study, now)?.is_empty() {
            return Ok(Vec::new());
        }
        drop(rows);
        self.write(|rows| {
            let mut released = Vec::new();
            // Looked up again: another worker may have released them since, or a heartbeat may have come.
            for (worker, mut trial) in expired(rows, study, now)? {
                if trial.attempts < max_attempts {
                    trial.state = RecordState::Waiting;
                } else {
                    let reason = format!("worker {worker} stopped answering");
                    let tell = Tell {
                        now,
                        ..Tell::new(Outcome::failed(reason))
                    };
                    trial.finish(&tell, rows.last(study)?.tells)?;
                }
                released.push(put(rows, study, trial)?);
            }
            Ok(released)
        })
    }

    /// Whether the backend lost its place and must be opened anew.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.backend.is_cut_off()
    }

    /// Everything or nothing: an error, a panic or an [interrupt] leaves the rows as they were.
    fn write<T>(
        &mut self,
        act: impl FnOnce(&mut dyn Transaction) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut transaction = self.backend.write()?;
        let answer = act(&mut *transaction)?;
        commit(transaction)?;
        Ok(answer)
    }

    /// The same, where nothing is written unless there is an answer.
    pub(crate) fn write_if<T, E: From<Error>>(
        &self,
        act: impl FnOnce(&mut dyn Transaction) -> Result<Option<T>, E>,
    ) -> Result<Option<T>, E> {
        let mut transaction = self.backend.write()?;
        let answer = act(&mut *transaction)?;
        // Without an answer there is more to compute, and that may still be interrupted.
        if answer.is_some() {
            commit(transaction)?;
        }
        Ok(answer)
    }
}

fn commit(transaction: Box<dyn Transaction + '_>) -> Result<(), Error> {
    // An interrupt that comes later finds that it has happened.
    interrupt::settle();
    transaction.commit()
}

/// What is in memory was made by this process, so nothing is there that could be opened again.
fn check_there(place: &Location) -> Result<(), Error> {
    if place.exists() {
        return Ok(());
    }
    Err(Error::NotThere {
        place: place.clone(),
    })
}

/// Refuses a name that no study can have.
///
/// # Errors
/// [`Error::BadName`].
pub fn check_name(name: &str) -> Result<(), Error> {
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err(Error::BadName {
            name: name.to_owned(),
        });
    }
    Ok(())
}

/// The study of this name, whose definition must be this one.
fn existing(
    rows: &(impl Rows + ?Sized),
    name: &str,
    given: &str,
) -> Result<Option<StudyId>, Error> {
    let Some(study) = rows.studies()?.into_iter().find(|study| study.name == name) else {
        return Ok(None);
    };
    let stored = current(rows, study.id)?;
    if stored != given {
        return Err(Error::DefinitionDiffers {
            name: study.name,
            stored,
            given: given.to_owned(),
        });
    }
    Ok(Some(study.id))
}

pub(crate) fn definition(rows: &(impl Rows + ?Sized), study: StudyId) -> Result<String, Error> {
    match rows.definition(study)? {
        Some(text) => Ok(text),
        None => Err(unknown(rows, study)?),
    }
}

/// Why there is no such study.
fn unknown(rows: &(impl Rows + ?Sized), study: StudyId) -> Result<Error, Error> {
    Ok(match rows.removed(study)? {
        Some(name) => Error::Removed { name },
        None => Error::UnknownStudy {
            id: study.0,
            n: rows.studies()?.len(),
        },
    })
}

/// The definition that counts: the last one.
fn current(rows: &(impl Rows + ?Sized), study: StudyId) -> Result<String, Error> {
    let first = definition(rows, study)?;
    let events = rows.events(study, Revision::default())?;
    let last = events.iter().rev().find_map(Event::definition);
    Ok(last.map_or(first, ToOwned::to_owned))
}

/// Whether a study was revised after a revision.
pub(crate) fn is_revised(
    rows: &(impl Rows + ?Sized),
    study: StudyId,
    since: Revision,
) -> Result<bool, Error> {
    let events = rows.events(study, since)?;
    Ok(events.iter().any(|event| event.definition().is_some()))
}

fn enqueue(
    rows: &mut dyn Transaction,
    study: StudyId,
    new: NewRecord,
    now: i64,
) -> Result<Record, Error> {
    let trial = Record::new(rows.last(study)?.trials, new, now);
    put(rows, study, trial)
}

fn trial(rows: &(impl Rows + ?Sized), study: StudyId, id: u64) -> Result<Record, Error> {
    if let Some(trial) = rows.trial(study, id)? {
        return Ok(trial);
    }
    definition(rows, study)?;
    Err(Error::UnknownTrial {
        id,
        n: rows.last(study)?.trials,
    })
}

pub(crate) fn changes(
    rows: &(impl Rows + ?Sized),
    study: StudyId,
    since: Revision,
) -> Result<Changes, Error> {
    let trials = rows.changes(study, since)?;
    let events = rows.events(study, since)?;
    let last_trial = trials.last().map_or(since, |trial| trial.revision);
    let last_event = events.last().map_or(since, |event| event.revision);
    Ok(Changes {
        trials,
        events,
        revision: last_trial.max(last_event),
    })
}

/// Running trials whose lease has ended, and who had them.
fn expired(
    rows: &(impl Rows + ?Sized),
    study: StudyId,
    now: i64,
) -> Result<Vec<(String, Record)>, Error> {
    let ended = |trial: Record| match &trial.state {
        RecordState::Running { worker, lease } if *lease <= now => Some((worker.clone(), trial)),
        _ => None,
    };
    Ok(rows.running(study)?.into_iter().filter_map(ended).collect())
}

fn finish(
    rows: &mut dyn Transaction,
    study: StudyId,
    id: u64,
    tell: &Tell<'_>,
) -> Result<Record, Error> {
    let mut trial = trial(rows, study, id)?;
    // Whoever holds it by now: a result that was paid for counts.
    trial.finish(tell, rows.last(study)?.tells)?;
    put(rows, study, trial)
}

/// Tells a trial, unless that was told before; whether it was.
fn tell_or_repeat(
    rows: &mut dyn Transaction,
    study: StudyId,
    id: u64,
    tell: &Tell<'_>,
) -> Result<bool, Error> {
    if trial(rows, study, id)?.was_told(tell) {
        return Ok(true);
    }
    finish(rows, study, id, tell)?;
    Ok(false)
}

fn add(
    rows: &mut dyn Transaction,
    study: StudyId,
    new: NewRecord,
    tell: &Tell<'_>,
) -> Result<Record, Error> {
    let last = rows.last(study)?;
    let mut trial = Record::new(last.trials, new, tell.now);
    trial.finish(tell, last.tells)?;
    put(rows, study, trial)
}

/// Writes an event, under the next revision.
fn append(rows: &mut dyn Transaction, study: StudyId, mut event: Event) -> Result<Event, Error> {
    event.revision = Revision(rows.last(study)?.revision.0 + 1);
    rows.append(study, &event)?;
    Ok(event)
}

/// Writes a changed trial, under the next revision.
pub(crate) fn put(
    rows: &mut dyn Transaction,
    study: StudyId,
    mut trial: Record,
) -> Result<Record, Error> {
    trial.revision = Revision(rows.last(study)?.revision.0 + 1);
    rows.put(study, &trial)?;
    Ok(trial)
}
