//! The slow, obvious backend: lists in memory, copied for each transaction. Clones share what they hold.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mivabo::interrupt;

use crate::backend::{Backend, Last, Rows, Transaction, Turn, Waited};
use crate::error::Error;
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
    shelves: Arc<Mutex<Vec<Shelf>>>,
}

/// A study and its trials, by number.
#[derive(Debug, Clone)]
struct Shelf {
    study: StudyEntry,
    definition: String,
    trials: Vec<Arc<Record>>,
}

/// A copy of everything; the way back if it is for writing.
struct Draft<'a> {
    shelves: Vec<Shelf>,
    home: Option<(&'a Mutex<Vec<Shelf>>, MutexGuard<'a, ()>)>,
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
        self.shelves.iter().find(|shelf| shelf.study.id == study)
    }

    fn trials(&self, study: StudyId) -> impl Iterator<Item = &Record> {
        self.shelf(study)
            .into_iter()
            .flat_map(|shelf| shelf.trials.iter().map(|trial| &**trial))
    }
}

impl Rows for Draft<'_> {
    fn studies(&self) -> Result<Vec<StudyEntry>, Error> {
        Ok(self
            .shelves
            .iter()
            .map(|shelf| shelf.study.clone())
            .collect())
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
        self.shelves.push(Shelf {
            study: study.clone(),
            definition: definition.to_owned(),
            trials: Vec::new(),
        });
        Ok(())
    }

    fn put(&mut self, study: StudyId, trial: &Record) -> Result<(), Error> {
        // Replaced and not changed: readers still have the old one.
        let new = Arc::new(trial.clone());
        if let Some(shelf) = self
            .shelves
            .iter_mut()
            .find(|shelf| shelf.study.id == study)
        {
            match shelf.trials.iter_mut().find(|old| old.id == trial.id) {
                Some(old) => *old = new,
                None => shelf.trials.push(new),
            }
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
