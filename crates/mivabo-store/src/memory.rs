//! The slow, obvious backend: lists in memory, copied for each transaction. Clones share what they hold.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mivabo::interrupt;

use crate::backend::{Backend, Last, Rows, Transaction, Turn, Waited};
use crate::error::Error;
use crate::event::Event;
use crate::location::Location;
use crate::record::{Record, Revision, StudyEntry, StudyId};
use crate::state::RecordState;
use crate::waiting::{Awaited, pause};

/// Studies in memory, gone when the last clone is.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    /// Whoever has it may write.
    turn: Arc<Mutex<()>>,
    /// The studies for which somebody computes a suggestion.
    suggesting: Arc<Mutex<BTreeSet<StudyId>>>,
    /// What was committed last; locked only to be copied or replaced.
    shelves: Arc<Mutex<Shelves>>,
}

/// All studies, and what is remembered of those that were removed.
#[derive(Debug, Clone, Default)]
struct Shelves {
    /// By number.
    studies: BTreeMap<StudyId, Shelf>,
    /// The names that removed studies had.
    removed: BTreeMap<StudyId, String>,
}

/// A study and its trials, by number.
#[derive(Debug, Clone)]
struct Shelf {
    study: StudyEntry,
    definition: String,
    trials: Vec<Arc<Record>>,
    /// By revision.
    events: Vec<Arc<Event>>,
}

impl Shelf {
    fn last_event(&self) -> Option<Revision> {
        self.events.last().map(|event| event.revision)
    }
}

/// A copy of everything; the way back if it is for writing.
struct Draft<'a> {
    shelves: Shelves,
    home: Option<(&'a Mutex<Shelves>, MutexGuard<'a, ()>)>,
}

impl Backend for Memory {
    fn read(&self) -> Result<Box<dyn Rows + '_>, Error> {
        Ok(Box::new(Draft {
            shelves: lock(&self.shelves).clone(),
            home: None,
        }))
    }

    fn write(&self) -> Result<Box<dyn Transaction + '_>, Error> {
        let turn = lock(&self.turn);
        Ok(Box::new(Draft {
            shelves: lock(&self.shelves).clone(),
            home: Some((&self.shelves, turn)),
        }))
    }

    fn turn_to_suggest(&self, study: StudyId) -> Result<Option<Box<dyn Turn>>, Error> {
        Ok(Some(Box::new(Suggesting {
            all: self.suggesting.clone(),
            study,
            is_taken: false,
            n_pauses: 0,
        })))
    }
}

/// The turn to compute a suggestion for a study, or the wait for it.
#[derive(Debug)]
struct Suggesting {
    all: Arc<Mutex<BTreeSet<StudyId>>>,
    study: StudyId,
    is_taken: bool,
    n_pauses: i32,
}

impl Turn for Suggesting {
    fn wait(&mut self, longest: Duration) -> Result<Waited, Error> {
        let began = Instant::now();
        // A set and not a lock for each study, so that a wait can be interrupted.
        while !self.is_taken && !lock(&self.all).insert(self.study) {
            if began.elapsed() >= longest {
                return Ok(Waited::NotYet);
            }
            if !pause(self.n_pauses, Awaited::Suggestion) {
                interrupt::check();
                return Err(Error::Busy {
                    place: Location::Memory,
                });
            }
            self.n_pauses += 1;
        }
        self.is_taken = true;
        Ok(Waited::Taken)
    }
}

impl Drop for Suggesting {
    fn drop(&mut self) {
        if self.is_taken {
            lock(&self.all).remove(&self.study);
        }
    }
}

/// A panic of another thread while it had the lock left nothing half done: only copies are changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Draft<'_> {
    fn shelf(&self, study: StudyId) -> Option<&Shelf> {
        self.shelves.studies.get(&study)
    }

    fn shelf_mut(&mut self, study: StudyId) -> Option<&mut Shelf> {
        self.shelves.studies.get_mut(&study)
    }

    fn trials(&self, study: StudyId) -> impl Iterator<Item = &Record> {
        self.shelf(study)
            .into_iter()
            .flat_map(|shelf| shelf.trials.iter().map(|trial| &**trial))
    }
}

impl Rows for Draft<'_> {
    fn studies(&self) -> Result<Vec<StudyEntry>, Error> {
        let shelves = self.shelves.studies.values();
        Ok(shelves.map(|shelf| shelf.study.clone()).collect())
    }

    fn next_study(&self) -> Result<StudyId, Error> {
        let known = self.shelves.studies.keys();
        let last = known.chain(self.shelves.removed.keys()).max();
        Ok(StudyId(last.map_or(0, |last| last.0 + 1)))
    }

    fn removed(&self, study: StudyId) -> Result<Option<String>, Error> {
        Ok(self.shelves.removed.get(&study).cloned())
    }

    fn definition(&self, study: StudyId) -> Result<Option<String>, Error> {
        Ok(self.shelf(study).map(|shelf| shelf.definition.clone()))
    }

    fn last(&self, study: StudyId) -> Result<Last, Error> {
        Ok(Last {
            trials: self.trials(study).count() as u64,
            tells: self
                .trials(study)
                .filter(|trial| trial.told.is_some())
                .count() as u64,
            revision: self
                .trials(study)
                .map(|trial| trial.revision)
                .chain(self.shelf(study).and_then(Shelf::last_event))
                .max()
                .unwrap_or_default(),
        })
    }

    fn trial(&self, study: StudyId, id: u64) -> Result<Option<Record>, Error> {
        Ok(self.trials(study).find(|trial| trial.id == id).cloned())
    }

    fn changes(&self, study: StudyId, since: Revision) -> Result<Vec<Record>, Error> {
        let mut changed: Vec<Record> = self
            .trials(study)
            .filter(|trial| trial.revision > since)
            .cloned()
            .collect();
        changed.sort_by_key(|trial| trial.revision);
        Ok(changed)
    }

    fn events(&self, study: StudyId, since: Revision) -> Result<Vec<Event>, Error> {
        let shelf = self.shelf(study).into_iter();
        let events = shelf.flat_map(|shelf| shelf.events.iter().map(|event| &**event));
        let later = events.filter(|event| event.revision > since);
        Ok(later.cloned().collect())
    }

    fn waiting(&self, study: StudyId) -> Result<Vec<Record>, Error> {
        let waits = |trial: &&Record| trial.state == RecordState::Waiting;
        Ok(self.trials(study).filter(waits).cloned().collect())
    }

    fn oldest_waiting(&self, study: StudyId) -> Result<Option<Record>, Error> {
        Ok(self
            .trials(study)
            .find(|trial| trial.state == RecordState::Waiting)
            .cloned())
    }

    fn running(&self, study: StudyId) -> Result<Vec<Record>, Error> {
        let runs = |trial: &&Record| matches!(trial.state, RecordState::Running { .. });
        Ok(self.trials(study).filter(runs).cloned().collect())
    }
}

impl Transaction for Draft<'_> {
    fn insert_study(&mut self, study: &StudyEntry, definition: &str) -> Result<(), Error> {
        let shelf = Shelf {
            study: study.clone(),
            definition: definition.to_owned(),
            trials: Vec::new(),
            events: Vec::new(),
        };
        self.shelves.studies.insert(study.id, shelf);
        Ok(())
    }

    fn put(&mut self, study: StudyId, trial: &Record) -> Result<(), Error> {
        // Replaced and not changed: readers still have the old one.
        let new = Arc::new(trial.clone());
        if let Some(shelf) = self.shelf_mut(study) {
            match shelf.trials.iter_mut().find(|old| old.id == trial.id) {
                Some(old) => *old = new,
                None => shelf.trials.push(new),
            }
        }
        Ok(())
    }

    fn append(&mut self, study: StudyId, event: &Event) -> Result<(), Error> {
        if let Some(shelf) = self.shelf_mut(study) {
            shelf.events.push(Arc::new(event.clone()));
        }
        Ok(())
    }

    fn remove(&mut self, study: StudyId, _now: i64) -> Result<(), Error> {
        if let Some(shelf) = self.shelves.studies.remove(&study) {
            self.shelves.removed.insert(study, shelf.study.name);
        }
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<(), Error> {
        if let Some((home, _turn)) = self.home {
            *lock(home) = self.shelves;
        }
        Ok(())
    }
}
