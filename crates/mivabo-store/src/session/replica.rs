//! The study in memory, and up to where it follows the stored one.

use mivabo::Study;
use mivabo::study::Trial;

use crate::error::Error;
use crate::points;
use crate::record::Revision;
use crate::store::Changes;

/// A study that follows a stored one.
///
/// A change or a computation that is [interrupted](mivabo::interrupt), or panics, may leave it half done. Then it is thrown
/// away and folded again from the stored trials, which is rare and cannot go wrong.
pub(super) struct Replica {
    study: Study,
    /// Up to where it follows.
    revision: Revision,
    /// Whether something began that did not end.
    is_torn: bool,
}

impl Replica {
    /// One that knows no trials yet.
    pub(super) fn new(study: Study) -> Replica {
        Replica {
            study,
            revision: Revision::default(),
            is_torn: false,
        }
    }

    pub(super) fn study(&self) -> &Study {
        &self.study
    }

    pub(super) fn revision(&self) -> Revision {
        self.revision
    }

    /// Whether it knows less than its revision says, until it is [mended](Replica::mend).
    pub(super) fn is_torn(&self) -> bool {
        self.is_torn
    }

    /// Begins anew if something did not end.
    pub(super) fn mend(&mut self) -> Result<(), Error> {
        if self.is_torn {
            let (space, spec) = (self.study.space().clone(), self.study.spec().clone());
            *self = Replica::new(Study::new(space, spec)?);
        }
        Ok(())
    }

    /// Takes in what changed after [`revision`](Replica::revision).
    pub(super) fn take_in(&mut self, changes: &Changes) -> Result<(), Error> {
        let space = self.study.space();
        let known: Result<Vec<Trial>, Error> = changes
            .trials
            .iter()
            .map(|trial| points::known(space, trial))
            .collect();
        // A fault in the middle leaves it torn: what came before the fault was taken in.
        self.is_torn = true;
        self.study.replay(&known?)?;
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
