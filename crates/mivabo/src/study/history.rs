//! Replaying: a study takes in the trials that others made and told.

use super::{State, Study, Trial};
use crate::study::Error;

impl Study {
    /// Takes in what happened elsewhere: trials that are new here, in any order, and ones that are known here and have
    /// changed since. Trials that are the same here and there are left alone, so the whole history may be given.
    ///
    /// A study is a fold over its trials and the order of their tells, so this is all there is to resuming one, and to
    /// keeping up with other processes that work on it.
    ///
    /// # Errors
    /// [`Error::BadHistory`] when numbers of trials or places of tells have holes, or a told trial would change;
    /// [`Error::ForeignPoint`]. What came before the fault is taken in.
    pub fn replay<'t>(&mut self, trials: impl IntoIterator<Item = &'t Trial>) -> Result<(), Error> {
        let mut trials: Vec<&Trial> = trials.into_iter().collect();
        trials.sort_by_key(|trial| trial.id);
        for trial in &trials {
            self.follow(trial)?;
        }
        let mut told: Vec<&Trial> = trials.into_iter().filter(|trial| trial.is_told()).collect();
        told.sort_by_key(|trial| trial.told);
        for trial in told {
            // What is told here already is the same: `follow` has seen to that.
            if self.trials[self.place_of(trial.id)?].is_told() {
                continue;
            }
            let place = self.told.len();
            if trial.told != Some(place as u64) {
                let why = format!("trial {} is not the tell number {place}", trial.id);
                return Err(Error::BadHistory { why });
            }
            if let Some(outcome) = trial.outcome() {
                self.settle(trial.id, outcome.clone())?;
            }
        }
        Ok(())
    }

    /// The trial itself, without what was told.
    fn follow(&mut self, trial: &Trial) -> Result<(), Error> {
        let n = self.trials.len() as u64;
        if trial.id > n {
            let why = format!("trial {} stands where trial {n} should", trial.id);
            return Err(Error::BadHistory { why });
        }
        if trial.id == n {
            self.push(trial.at.clone());
        }
        let at = self.place_of(trial.id)?;
        let known = &mut self.trials[at];
        if known.point() != trial.point() {
            let why = format!("trial {} has moved", trial.id);
            return Err(Error::BadHistory { why });
        }
        if known.is_told() {
            let is_same = known.state == trial.state && known.told == trial.told;
            let why = format!("trial {} was told before, and something else", trial.id);
            return if is_same {
                Ok(())
            } else {
                Err(Error::BadHistory { why })
            };
        }
        match &trial.state {
            State::Waiting | State::Running if !self.space.is_feasible(trial.point()) => {
                let why = format!("trial {} is to be evaluated, but is not feasible", trial.id);
                Err(Error::BadHistory { why })
            }
            State::Waiting => self.set_waiting(trial.id),
            State::Running => {
                known.state = State::Running;
                self.waiting.remove(&at);
                Ok(())
            }
            // Tells come in their own order.
            State::Ended(_) => Ok(()),
        }
    }
}
