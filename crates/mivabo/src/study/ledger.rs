//! The trials of a study, and the rules by which they are made, wait, run and end.

use std::collections::BTreeSet;

use super::{Error, Origin, Proposal, Spec, State, Suggestion, Trial};
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
    pub trials: Vec<Trial>,
    /// Numbers of told trials, in the order of their tells.
    pub told: Vec<usize>,
    /// Numbers of waiting trials.
    pub waiting: BTreeSet<usize>,
    tried: Tried,
}

impl Ledger {
    pub(super) fn new(space: Space, spec: Spec) -> Ledger {
        Ledger {
            space,
            spec,
            trials: Vec::new(),
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
            trials: &self.trials,
            told: &self.told,
            tried: &self.tried,
        }
    }

    pub(super) fn placed(&self, point: &Point) -> Result<Placed, Error> {
        Placed::of(&self.space, point).ok_or(Error::ForeignPoint)
    }

    /// A new trial, which runs.
    pub(super) fn push(&mut self, at: Placed) -> u64 {
        let id = self.trials.len() as u64;
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
        self.waiting.remove(&at);
        Ok(Some(Suggestion::new(at as u64, proposal)))
    }

    pub(super) fn settle(&mut self, id: u64, outcome: Outcome) -> Result<(), Error> {
        let at = self.untold(id)?;
        let trial = &mut self.trials[at];
        trial.state = State::Ended(outcome);
        trial.told = Some(self.told.len() as u64);
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
        let n = self.trials.len();
        let at = usize::try_from(id).ok().filter(|at| *at < n);
        at.ok_or(Error::UnknownTrial { id, n })
    }
}
