//! Replaying: a study takes in the trials that others made and told.

use super::ledger::Ledger;
use super::{Error, State, Trial};

impl Ledger {
    /// See [`Study::replay`](super::Study::replay).
    pub(super) fn replay<'t>(
        &mut self,
        trials: impl IntoIterator<Item = &'t Trial>,
    ) -> Result<(), Error> {
        let mut trials: Vec<&Trial> = trials.into_iter().collect();
        trials.sort_by_key(|trial| trial.id);
        for trial in &trials {
            self.follow(trial)?;
        }
        // Tells have an order of their own, and the model depends on it.
        trials.retain(|trial| trial.is_told());
        trials.sort_by_key(|trial| trial.told);
        for trial in trials {
            self.follow_tell(trial)?;
        }
        Ok(())
    }

    /// The trial itself, without what was told.
    fn follow(&mut self, trial: &Trial) -> Result<(), Error> {
        let (id, n) = (trial.id, self.trials.len() as u64);
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
        let place = self.told.len();
        if trial.told != Some(place as u64) {
            let why = format!("trial {} is not tell number {place}", trial.id);
            return Err(bad(why));
        }
        match trial.outcome() {
            Some(outcome) => self.settle(trial.id, outcome.clone()),
            None => Ok(()),
        }
    }
}

fn bad(why: String) -> Error {
    Error::BadHistory { why }
}
