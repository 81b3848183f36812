//! What a proposer sees of a study: the space, the aims, and all trials.

use crate::acquire::random::{MUCH_WORK, RandomPoints};
use crate::acquire::tried::Tried;
use crate::acquire::untried::Untried;
use crate::acquire::{Feasible, Placed, distance};
use crate::encoding::Encoded;
use crate::math::random::{Purpose, Stream, stream};
use crate::math::vector::least;
use crate::measure::{Aims, Outcome, Rank};
use crate::space::Space;
use crate::strategy::Error;
use crate::trial::Trial;

/// Random points of which a design takes the one farthest from all others.
const DESIGN_CANDIDATES: usize = 30;

/// What a proposer sees of a study. Values are turned, so that lower is better.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub space: &'a Space,
    pub aims: &'a Aims,
    pub seed: u64,
    /// The number of trials in the initial design.
    pub n_initial: usize,
    /// How many trials there are, those included that cannot be said in the space.
    pub n_trials: u64,
    /// By number; in a space that was revised only those that can be said there.
    pub trials: &'a [Trial],
    /// Places of told trials among these, in the order of their tells.
    pub told: &'a [usize],
    pub tried: &'a Tried,
}

/// A told trial as a model sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Observed<'a> {
    pub at: &'a Placed,
    /// Lower is better; none where the trial failed.
    pub value: Option<f64>,
}

impl<'a> Seen<'a> {
    /// The stream of the next trial for one purpose.
    pub(crate) fn stream(&self, purpose: Purpose) -> Stream {
        stream(self.seed, self.n_trials, purpose)
    }

    /// Whether any trial has a value.
    pub(crate) fn has_value(&self) -> bool {
        self.trials.iter().any(|trial| self.value(trial).is_some())
    }

    /// The goal's number, where a trial has one.
    pub(crate) fn value(&self, trial: &Trial) -> Option<f64> {
        self.aims.value(trial.outcome()?)
    }

    /// A value for a model that always minimises, and back.
    pub(crate) fn turned(&self, value: f64) -> f64 {
        self.aims.goal().sense.turned(value)
    }

    /// The told trials in the order of their tells.
    pub(crate) fn observed(&self) -> Vec<Observed<'a>> {
        let told = self.told.iter().map(|at| &self.trials[*at]);
        let learned = told.filter(|trial| !is_stopped(trial));
        learned.map(|trial| self.observation(trial)).collect()
    }

    fn observation(&self, trial: &'a Trial) -> Observed<'a> {
        let value = self.value(trial).map(|value| self.turned(value));
        Observed {
            at: &trial.at,
            value,
        }
    }

    /// The points of the trials that are not told.
    pub(crate) fn pending(&self) -> Vec<&'a Placed> {
        let pending = self.trials.iter().filter(|trial| !trial.is_told());
        pending.map(|trial| &trial.at).collect()
    }

    /// The best `n` feasible trials with a value, the best first.
    pub(crate) fn incumbents(&self, n: usize) -> Vec<Feasible> {
        self.incumbents_where(n, |_| true)
    }

    /// The same among those whose codes count.
    pub(crate) fn incumbents_where(
        &self,
        n: usize,
        counts: impl Fn(&Encoded) -> bool,
    ) -> Vec<Feasible> {
        let ranked = self.ranked_where(n, counts).into_iter();
        ranked
            .filter_map(|trial| trial.at.feasible().cloned())
            .collect()
    }

    /// The best `n` feasible trials with a value, the best first; of equal ones the first comes first.
    pub(crate) fn ranked(&self, n: usize) -> Vec<&'a Trial> {
        self.ranked_where(n, |_| true)
    }

    fn ranked_where(&self, n: usize, counts: impl Fn(&Encoded) -> bool) -> Vec<&'a Trial> {
        let mut best: Vec<(Rank, &Trial)> = Vec::with_capacity(n + 1);
        let is_counted = |trial: &&Trial| trial.at.feasible().is_some() && counts(trial.at.code());
        for trial in self.trials.iter().filter(is_counted) {
            let Some(rank) = trial.outcome().and_then(|outcome| self.aims.rank(outcome)) else {
                continue;
            };
            // Behind those that are as good: of equal ones the first comes first.
            let place = best.partition_point(|(other, _)| other.compare(&rank).is_le());
            if place < n {
                best.insert(place, (rank, trial));
                best.truncate(n);
            }
        }
        best.into_iter().map(|(_, trial)| trial).collect()
    }

    /// The search for points that were not tried.
    pub(crate) fn untried<'p>(&self, points: &'p RandomPoints<'p>) -> Untried<'p>
    where
        'a: 'p,
    {
        Untried {
            space: self.space,
            points,
            tried: self.tried,
        }
    }

    /// An untried point by chance.
    pub(crate) fn random(&self) -> Result<Feasible, Error> {
        let points = RandomPoints::new(self.space);
        Ok(self
            .untried(&points)
            .random(&mut self.stream(Purpose::Design))?)
    }

    /// Of several random points the one farthest from all trials.
    pub(crate) fn spread(&self) -> Result<Feasible, Error> {
        let points = RandomPoints::new(self.space);
        let mut stream = self.stream(Purpose::Design);
        let mut best = self.untried(&points).random(&mut stream)?;
        if self.trials.is_empty() {
            return Ok(best);
        }
        let mut farthest = self.distance_to_trials(&best);
        for _ in (1..DESIGN_CANDIDATES).take_while(|_| points.work() < MUCH_WORK) {
            let Ok(candidate) = points.draw(&mut stream) else {
                continue;
            };
            let distance = self.distance_to_trials(&candidate);
            // A tried point is at distance 0, so it is never better than an untried one.
            if distance > farthest {
                (best, farthest) = (candidate, distance);
            }
        }
        Ok(best)
    }

    fn distance_to_trials(&self, feasible: &Feasible) -> f64 {
        let points = self.trials.iter().map(|trial| trial.at.coded());
        least(points.map(|point| distance(self.space, feasible.coded(), point)))
    }
}

/// Neither a value nor a failure: nothing is learned from a trial that was stopped.
fn is_stopped(trial: &Trial) -> bool {
    matches!(trial.outcome(), Some(Outcome::Stopped(_)))
}
