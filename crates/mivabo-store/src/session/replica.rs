//! The study in memory, and up to where it follows the stored one.

use std::collections::BTreeSet;

use mivabo::Study;
use mivabo::space::Unsaid;
use mivabo::study::Known;

use super::fold::{Fold, Folded};
use crate::definition::Definition;
use crate::error::Error;
use crate::record::{Record, Revision};
use crate::store::Changes;

/// A study that follows a stored one.
///
/// A change or a computation that is [interrupted](mivabo::interrupt), or panics, may leave it half done. Then it is thrown
/// away and folded again from the stored trials, which is rare and cannot go wrong. So it is after each event: a revision moves
/// every trial, and a correction changes what was learned.
pub(super) struct Replica {
    study: Study,
    fold: Fold,
    /// Up to where it follows.
    revision: Revision,
    /// Whether something began that did not end.
    is_torn: bool,
}

/// A study without trials that was made from a definition, so that neither has to be made again.
pub(super) struct Made {
    pub definition: Definition,
    pub study: Study,
}

impl Made {
    /// Fails where the definition makes no study.
    pub(super) fn of(definition: &Definition) -> Result<Made, Error> {
        let study = Study::new(definition.space.clone(), definition.spec()?)?;
        Ok(Made {
            definition: definition.clone(),
            study,
        })
    }
}

impl Replica {
    /// Of a study with this first definition, from all that happened to it.
    pub(super) fn of(first: &str, all: &Changes, made: Option<Made>) -> Result<Replica, Error> {
        let known = made.as_ref().map(|made| &made.definition);
        let fold = Fold::of(first, &all.events, known)?;
        let is_made = |made: &Made| made.definition.to_json() == fold.text;
        let made = match made.filter(is_made) {
            Some(made) => made,
            None => Made::of(&fold.definition)?,
        };
        let mut replica = Replica {
            study: made.study,
            fold,
            revision: Revision::default(),
            is_torn: false,
        };
        replica.take_in(all)?;
        Ok(replica)
    }

    pub(super) fn study(&self) -> &Study {
        &self.study
    }

    pub(super) fn fold(&self) -> &Fold {
        &self.fold
    }

    pub(super) fn revision(&self) -> Revision {
        self.revision
    }

    /// Whether it knows less than its revision says, until it is folded again.
    pub(super) fn is_torn(&self) -> bool {
        self.is_torn
    }

    /// Takes in what changed after [`revision`](Replica::revision), if that can be taken in one by one. Otherwise nothing happens, and the
    /// study must be folded again from all that happened to it.
    pub(super) fn follow(&mut self, changes: &Changes) -> Result<bool, Error> {
        if !self.follows(changes) {
            return Ok(false);
        }
        self.take_in(changes)?;
        Ok(true)
    }

    fn follows(&self, changes: &Changes) -> bool {
        let barred = self.barred();
        let is_moved = |trial: &Record| trial.is_told() && barred.contains(&trial.id);
        !self.is_torn && changes.events.is_empty() && !changes.trials.iter().any(is_moved)
    }

    /// Trials that are still evaluated at points that a revision forbids. Once they are told they have a place.
    fn barred(&self) -> BTreeSet<u64> {
        let absent = self.study.absent().iter();
        let barred = absent
            .filter(|trial| trial.told.is_none() && matches!(trial.why, Unsaid::Violated { .. }));
        barred.map(|trial| trial.id).collect()
    }

    fn take_in(&mut self, changes: &Changes) -> Result<(), Error> {
        // A fault in the middle leaves it torn: what came before the fault was taken in.
        self.is_torn = true;
        let trials = changes.trials.iter();
        let folded = trials.map(|trial| self.fold.folded(trial));
        let folded = folded.collect::<Result<Vec<Folded>, Error>>()?;
        self.study.replay_known(folded.iter().map(Folded::known))?;
        self.is_torn = false;
        self.revision = changes.revision;
        Ok(())
    }

    /// Computes something that changes no trial.
    pub(super) fn compute<T>(&mut self, act: impl FnOnce(&mut Study) -> T) -> T {
        // The model is taken out of the study while it computes, and an interrupt would not put it back.
        self.is_torn = true;
        let answer = act(&mut self.study);
        self.is_torn = false;
        answer
    }
}

impl Folded {
    fn known(&self) -> Known<'_> {
        match self {
            Folded::Here(trial) => Known::Here(trial),
            Folded::Absent(trial) => Known::Absent(trial),
        }
    }
}
