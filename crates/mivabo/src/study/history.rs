//! Replaying: a study takes in the trials that others made and told.

use super::ledger::Ledger;
use super::{Absent, Error, Known, State, Trial};

impl Ledger {
    /// See [`Study::replay`](super::Study::replay).
    pub(super) fn replay<'t>(
        &mut self,
        trials: impl IntoIterator<Item = Known<'t>>,
    ) -> Result<(), Error> {
        let mut trials: Vec<Known<'_>> = trials.into_iter().collect();
        trials.sort_by_key(Known::id);
        for known in &trials {
            match known {
                Known::Here(trial) => self.follow(trial)?,
                Known::Absent(trial) => self.follow_absent(trial)?,
            }
        }
        // Tells have an order of their own, and the model depends on it.
        trials.retain(|known| known.told().is_some());
        trials.sort_by_key(Known::told);
        for known in trials {
            match known {
                Known::Here(trial) => self.follow_tell(trial)?,
                Known::Absent(trial) => self.follow_absent_tell(trial)?,
            }
        }
        Ok(())
    }

    /// The trial itself, without what was told.
    fn follow_absent(&mut self, trial: &Absent) -> Result<(), Error> {
        let (id, n) = (trial.id, self.n_trials());
        if id > n {
            return Err(bad(format!("trial {id} comes where trial {n} should")));
        }
        let untold = Absent {
            told: None,
            ..trial.clone()
        };
        if id == n {
            self.absent.push(untold);
            return Ok(());
        }
        let Some(at) = self.place_of_absent(id) else {
            return Err(bad(format!("trial {id} has another point than before")));
        };
        if self.absent[at].told.is_none() {
            self.absent[at] = untold;
        }
        Ok(())
    }

    fn follow_absent_tell(&mut self, trial: &Absent) -> Result<(), Error> {
        let Some(at) = self.place_of_absent(trial.id) else {
            return Ok(());
        };
        if self.absent[at].told.is_none() {
            self.check_place(trial.id, trial.told)?;
            self.absent[at].told = trial.told;
            self.n_absent_tells += 1;
        }
        Ok(())
    }

    /// Tells have no gaps.
    fn check_place(&self, id: u64, told: Option<u64>) -> Result<(), Error> {
        let place = self.n_tells();
        if told == Some(place) {
            return Ok(());
        }
        Err(bad(format!("trial {id} is not tell number {place}")))
    }

    /// The trial itself, without what was told.
    fn follow(&mut self, trial: &Trial) -> Result<(), Error> {
        let (id, n) = (trial.id, self.n_trials());
        if id > n {
            return Err(bad(format!("trial {id} comes where trial {n} should")));
        }
        if id == n {
            self.push(trial.at.clone());
        }
        // Since it was taken in a trial may have been given back, handed out or told, but not moved.
        let known = self.trial(id)?;
        if known.point() != trial.point() {
            return Err(bad(format!("trial {id} has another point than before")));
        }
        if known.is_told() {
            let is_same = known.state == trial.state && known.told == trial.told;
            let why = format!("trial {id} was already told another outcome");
            return if is_same { Ok(()) } else { Err(bad(why)) };
        }
        self.follow_state(trial)
    }

    fn follow_state(&mut self, trial: &Trial) -> Result<(), Error> {
        let id = trial.id;
        // A result from outside may violate constraints; what is still to be evaluated may not.
        if !trial.is_told() && !self.space.is_feasible(trial.point()) {
            let why = format!("trial {id} is to be evaluated, but is not feasible");
            return Err(bad(why));
        }
        match trial.state {
            State::Waiting => self.set_waiting(id),
            State::Running => self.set_running(id),
            State::Ended(_) => Ok(()),
        }
    }

    fn follow_tell(&mut self, trial: &Trial) -> Result<(), Error> {
        // What is told here already is the same: `follow` has seen to that.
        if self.trial(trial.id)?.is_told() {
            return Ok(());
        }
        self.check_place(trial.id, trial.told)?;
        match trial.outcome() {
            Some(outcome) => self.settle(trial.id, outcome.clone()),
            None => Ok(()),
        }
    }
}

fn bad(why: String) -> Error {
    Error::BadHistory { why }
}
