//! The trials of a study, and the rules by which they are made, wait, run and end.

use std::collections::BTreeSet;

use super::{Absent, Error, Origin, Proposal, Spec, State, Suggestion, Trial};
use crate::acquire::Placed;
use crate::acquire::tried::Tried;
use crate::measure::Outcome;
use crate::space::{Point, Space};
use crate::strategy::Seen;

/// All that a study knows, but for what its proposer has learned from it.
#[derive(Debug, Clone)]
pub(super) struct Ledger {
    pub space: Space,
    pub spec: Spec,
    /// By number.
    pub trials: Vec<Trial>,
    /// Those whose points cannot be said in the space, by number.
    pub absent: Vec<Absent>,
    /// How many of those are told.
    pub n_absent_tells: u64,
    /// Places of told trials in `trials`, in the order of their tells.
    pub told: Vec<usize>,
    /// Places of waiting trials in `trials`.
    pub waiting: BTreeSet<usize>,
    tried: Tried,
}

impl Ledger {
    pub(super) fn new(space: Space, spec: Spec) -> Ledger {
        Ledger {
            space,
            spec,
            trials: Vec::new(),
            absent: Vec::new(),
            n_absent_tells: 0,
            told: Vec::new(),
            waiting: BTreeSet::new(),
            tried: Tried::default(),
        }
    }

    /// What a proposer may see of it.
    pub(super) fn seen(&self) -> Seen<'_> {
        Seen {
            space: &self.space,
            aims: &self.spec.aims,
            seed: self.spec.seed,
            n_initial: self.spec.n_initial(&self.space),
            n_trials: self.n_trials(),
            trials: &self.trials,
            told: &self.told,
            tried: &self.tried,
        }
    }

    /// How many trials there are, whether their points can be said in the space or not.
    pub(super) fn n_trials(&self) -> u64 {
        (self.trials.len() + self.absent.len()) as u64
    }

    /// How many of them are told.
    pub(super) fn n_tells(&self) -> u64 {
        self.told.len() as u64 + self.n_absent_tells
    }

    pub(super) fn place_of_absent(&self, id: u64) -> Option<usize> {
        self.absent.binary_search_by_key(&id, |trial| trial.id).ok()
    }

    pub(super) fn placed(&self, point: &Point) -> Result<Placed, Error> {
        Placed::of(&self.space, point).ok_or(Error::ForeignPoint)
    }

    /// A new trial, which runs.
    pub(super) fn push(&mut self, at: Placed) -> u64 {
        let id = self.n_trials();
        // From now on, not from its tell on: pending and failed points are not suggested again either.
        self.tried.insert(&self.space, at.point());
        self.trials.push(Trial {
            id,
            at,
            state: State::Running,
            told: None,
        });
        id
    }

    /// The oldest waiting trial, which runs from now on.
    pub(super) fn next_waiting(&mut self) -> Result<Option<Suggestion>, Error> {
        let Some(at) = self.waiting.first().copied() else {
            return Ok(None);
        };
        let trial = &mut self.trials[at];
        let proposal = Proposal {
            feasible: trial.at.feasible().cloned().ok_or(Error::ForeignPoint)?,
            origin: Origin::Queue,
        };
        trial.state = State::Running;
        let id = trial.id;
        self.waiting.remove(&at);
        Ok(Some(Suggestion::new(id, proposal)))
    }

    pub(super) fn settle(&mut self, id: u64, outcome: Outcome) -> Result<(), Error> {
        let at = self.untold(id)?;
        let place = self.n_tells();
        let trial = &mut self.trials[at];
        trial.state = State::Ended(outcome);
        trial.told = Some(place);
        self.told.push(at);
        // It may have been told by whoever had it before it was given back.
        self.waiting.remove(&at);
        Ok(())
    }

    pub(super) fn set_waiting(&mut self, id: u64) -> Result<(), Error> {
        let at = self.untold(id)?;
        self.trials[at].state = State::Waiting;
        self.waiting.insert(at);
        Ok(())
    }

    pub(super) fn set_running(&mut self, id: u64) -> Result<(), Error> {
        let at = self.untold(id)?;
        self.trials[at].state = State::Running;
        self.waiting.remove(&at);
        Ok(())
    }

    pub(super) fn trial(&self, id: u64) -> Result<&Trial, Error> {
        Ok(&self.trials[self.place_of(id)?])
    }

    fn untold(&self, id: u64) -> Result<usize, Error> {
        let at = self.place_of(id)?;
        if self.trials[at].is_told() {
            return Err(Error::AlreadyTold { id });
        }
        Ok(at)
    }

    fn place_of(&self, id: u64) -> Result<usize, Error> {
        let at = self.trials.binary_search_by_key(&id, |trial| trial.id);
        at.map_err(|_| Error::UnknownTrial {
            id,
            n: self.trials.len() + self.absent.len(),
        })
    }
}
