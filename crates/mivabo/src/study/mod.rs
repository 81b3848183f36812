//! Ask and tell: a study hands out feasible points and learns what came of them.
//!
//! # Rules
//!
//! * Trials are numbered 0, 1, 2, … in the order in which they are made: by an ask, by a point that is enqueued, or by a
//!   result from outside.
//! * A trial is told once, in any order, by whoever comes first. A value that is NaN or infinite makes it a failed trial.
//! * An enqueued point is a trial that waits; an ask hands out waiting trials first, the oldest first. A trial that was
//!   handed out can be given back ([`Study::release`]) and waits again. Only waiting points are suggested as they
//!   are, tried or not: [`Study::replicate`] asks for a point once more.
//! * No other point is suggested twice while an untried feasible one is found; pending and failed points count as tried.
//!   Points differ when their visible parameters do: auxiliary ones do not count. When a finite space has no point
//!   left, that is an error.
//! * Failed trials are neither forgotten nor tried again. Expected improvement learns values from values alone, and from failures
//!   where one is likely: those that are bad luck change little. Thompson sampling counts them as the worst value told so far, and
//!   leaves them out until there is one. [`Study::replicate`] tries the point of one again.
//! * Pending trials do not collide. For Thompson sampling each one minimises another function, drawn for it alone; expected
//!   improvement treats them as observed at their predicted mean.
//! * The point of all defaults is the first trial, where the space has one that is feasible; it counts as one of the initial design.
//! * A space may be revised: the study is then made anew, and takes in all its trials as far as they can be said in the new space
//!   ([`Space::say`]). Those that cannot are [`Absent`]: they keep their numbers and their places among the tells, and teach nothing.
//! * Each trial draws from streams of its own, keyed by seed and number. A study is a fold over its trials and the order
//!   of their tells: [`Study::resume`] with the same trials goes on with the same suggestions.
//!
//! ```
//! use mivabo::space::Space;
//! use mivabo::study::{Spec, Study};
//!
//! let mut space = Space::builder();
//! let kernel = space.integer("kernel", 1..=7);
//! let stride = space.integer("stride", 1..=3);
//! space.subject_to("receptive field", (kernel * stride).le(12));
//! let space = space.build()?;
//!
//! let mut study = Study::new(space.clone(), Spec { seed: 7, ..Spec::default() })?;
//! for _ in 0..17 {
//!     let suggestion = study.ask()?;
//!     let number = |name| space.value(suggestion.point(), name).and_then(|v| v.as_f64()).unwrap_or(0.0);
//!     study.tell(suggestion.id(), (number("kernel") - 4.0).powi(2) + number("stride"))?;
//! }
//!
//! assert!(study.trials().iter().all(|trial| space.check(trial.point()).is_feasible()));
//! assert_eq!(study.best().and_then(|trial| study.value(trial)), Some(1.0));
//! assert!(study.ask().is_err());    // these were all 17 points
//! # Ok::<(), mivabo::Error>(())
//! ```

mod error;
#[cfg(test)]
mod feasibility_tests;
mod history;
mod importance;
mod ledger;
#[cfg(test)]
mod predicting;
mod spec;
mod suggestion;
#[cfg(test)]
mod tests;

pub use self::error::Error;
pub use self::importance::{Effect, Importance, Interaction};
use self::ledger::Ledger;
pub use self::spec::Spec;
pub use self::suggestion::Suggestion;
use crate::acquire::{Feasible, Placed};
use crate::interrupt;
use crate::measure::Outcome;
use crate::space::{Point, Space};
use crate::strategy::Proposer;
pub use crate::strategy::{Estimate, Origin, Proposal, Recommendation};
pub use crate::trial::{Absent, Known, State, Trial};

/// The most trials of an initial design.
pub const MAX_INITIAL: usize = 10_000;

/// An optimisation in progress. The rules are in the [module](self)'s documentation.
#[derive(Debug, Clone)]
pub struct Study {
    ledger: Ledger,
    proposer: Box<dyn Proposer>,
}

impl Study {
    /// A study without trials.
    ///
    /// # Errors
    /// [`Error::TooManyInitial`]; [`Error::Features`], [`Error::Search`] or [`Error::Strategy`] when the strategy's model cannot be
    /// made, or its search is exact and the space is too large for that.
    pub fn new(space: Space, spec: Spec) -> Result<Study, Error> {
        let limit = MAX_INITIAL;
        if let Some(n) = spec.n_initial.filter(|n| *n > limit) {
            return Err(Error::TooManyInitial { n, limit });
        }
        let proposer = spec.strategy.proposer(&space, spec.seed)?;
        let ledger = Ledger::new(space, spec);
        Ok(Study { ledger, proposer })
    }

    /// The study that has these trials.
    ///
    /// # Errors
    /// As [`new`](Self::new) and [`replay`](Self::replay).
    pub fn resume(space: Space, spec: Spec, trials: &[Trial]) -> Result<Study, Error> {
        let mut study = Study::new(space, spec)?;
        study.replay(trials)?;
        Ok(study)
    }

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
        self.replay_known(trials.into_iter().map(Known::Here))
    }

    /// The same with trials whose points cannot be said in the space. Such a trial stays one: where a point gains or loses its
    /// place, the study is made anew.
    ///
    /// # Errors
    /// As [`replay`](Self::replay).
    pub fn replay_known<'t>(
        &mut self,
        trials: impl IntoIterator<Item = Known<'t>>,
    ) -> Result<(), Error> {
        self.ledger.replay(trials)
    }

    /// The space.
    pub fn space(&self) -> &Space {
        &self.ledger.space
    }

    /// What it is asked to do.
    pub fn spec(&self) -> &Spec {
        &self.ledger.spec
    }

    /// All trials, by number; where the space was revised, only those whose points can be said in it.
    pub fn trials(&self) -> &[Trial] {
        &self.ledger.trials
    }

    /// The trials whose points cannot be said in the space, by number.
    pub fn absent(&self) -> &[Absent] {
        &self.ledger.absent
    }

    /// How many trials there are, of both kinds.
    pub fn n_trials(&self) -> u64 {
        self.ledger.n_trials()
    }

    /// How many of them are told.
    pub fn n_tells(&self) -> u64 {
        self.ledger.n_tells()
    }

    /// The trial of this number, if its point can be said in the space.
    pub fn trial(&self, id: u64) -> Option<&Trial> {
        self.ledger.trial(id).ok()
    }

    /// The next point to evaluate: a waiting one, one of the initial design, or one that the strategy chooses.
    ///
    /// # Errors
    /// [`Error::Encoding`] or [`Error::Search`] when there is no point to give, and what the strategy's model meets; the study is
    /// then unchanged.
    pub fn ask(&mut self) -> Result<Suggestion, Error> {
        if let Some(suggestion) = self.ledger.next_waiting()? {
            return Ok(suggestion);
        }
        let proposal = self.propose()?;
        let id = self.ledger.push(proposal.feasible.clone().into());
        Ok(Suggestion::new(id, proposal))
    }

    /// The point that the next new trial would have. The study is as it was: nobody has the point yet.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn propose(&mut self) -> Result<Proposal, Error> {
        if let Some(feasible) = self.first_of_defaults() {
            let origin = Origin::Defaults;
            return Ok(Proposal { feasible, origin });
        }
        Ok(self.proposer.propose(&self.ledger.seen())?)
    }

    /// The point of all defaults, in a study without trials.
    fn first_of_defaults(&self) -> Option<Feasible> {
        if self.n_trials() > 0 {
            return None;
        }
        let point = self.space().default_point()?.ok()?;
        Feasible::of_point(self.space(), point).ok()
    }

    /// The next `k` points; fewer where there are no more.
    ///
    /// # Errors
    /// As [`ask`](Self::ask), when there is not even one.
    pub fn ask_many(&mut self, k: usize) -> Result<Vec<Suggestion>, Error> {
        let mut suggestions = Vec::new();
        while suggestions.len() < k {
            match self.ask() {
                Ok(suggestion) => suggestions.push(suggestion),
                // Those that were handed out run: they must not be lost for want of one more.
                Err(_) if !suggestions.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(suggestions)
    }

    /// The value of a trial. One that is not finite makes it a failed trial.
    ///
    /// # Errors
    /// [`Error::UnknownTrial`], [`Error::AlreadyTold`].
    pub fn tell(&mut self, id: u64, value: f64) -> Result<(), Error> {
        let measure = &self.spec().aims.goal().measure;
        self.tell_outcome(id, Outcome::of(measure, value))
    }

    /// How the evaluation of a trial ended. One without the goal's number has failed.
    ///
    /// # Errors
    /// [`Error::UnknownTrial`], [`Error::AlreadyTold`].
    pub fn tell_outcome(&mut self, id: u64, outcome: Outcome) -> Result<(), Error> {
        let judged = self.spec().aims.judged(outcome);
        self.ledger.settle(id, judged)
    }

    /// A trial that has no value.
    ///
    /// # Errors
    /// [`Error::UnknownTrial`], [`Error::AlreadyTold`].
    pub fn tell_failed(&mut self, id: u64, reason: impl Into<String>) -> Result<(), Error> {
        self.ledger.settle(id, Outcome::failed(reason))
    }

    /// A result from elsewhere. The model learns from it even where the point is not feasible; it is then never the best.
    ///
    /// # Errors
    /// [`Error::ForeignPoint`] when its values do not fit this space.
    pub fn add(&mut self, point: &Point, value: f64) -> Result<u64, Error> {
        let id = self.ledger.push(self.ledger.placed(point)?);
        self.tell(id, value)?;
        Ok(id)
    }

    /// A point to suggest before any other. It becomes a trial at once, which waits; its number is the answer.
    ///
    /// # Errors
    /// [`Error::Violated`] when it is not feasible, [`Error::ForeignPoint`] when its values do not fit this space.
    pub fn enqueue(&mut self, point: &Point) -> Result<u64, Error> {
        let placed = self.ledger.placed(point)?;
        if placed.feasible().is_none() {
            let violations = self.space().check(point).violations;
            return Err(Error::Violated { violations });
        }
        let id = self.ledger.push(placed);
        self.ledger.set_waiting(id)?;
        Ok(id)
    }

    /// The point of a trial once more, for an objective with noise or one that failed by chance. The new trial waits;
    /// its number is the answer.
    ///
    /// # Errors
    /// [`Error::UnknownTrial`]; [`Error::Violated`] when the trial came from outside and is not feasible.
    pub fn replicate(&mut self, id: u64) -> Result<u64, Error> {
        let point = self.ledger.trial(id)?.point().clone();
        self.enqueue(&point)
    }

    /// Gives back a trial that nobody evaluates any more: it waits, and the next ask hands it out again.
    ///
    /// # Errors
    /// [`Error::UnknownTrial`], [`Error::AlreadyTold`].
    pub fn release(&mut self, id: u64) -> Result<(), Error> {
        self.ledger.set_waiting(id)
    }

    /// The goal's number, where a trial has one.
    pub fn value(&self, trial: &Trial) -> Option<f64> {
        self.spec().aims.value(trial.outcome()?)
    }

    /// The best feasible trial: of those that keep the limits, or where none does of all, the one with the best value;
    /// of equal ones the first.
    pub fn best(&self) -> Option<&Trial> {
        self.ledger.seen().ranked(1).into_iter().next()
    }

    /// The feasible point of the best posterior mean; without a model the best trial.
    ///
    /// # Errors
    /// [`Error::NothingFeasible`] when no feasible trial has a value.
    pub fn recommend(&mut self) -> Result<Recommendation, Error> {
        // The proposer gets it as what to fall back on: its own point may be worse than what is known.
        let best = self.best().ok_or(Error::NothingFeasible)?;
        let best = Recommendation {
            feasible: best.at.feasible().ok_or(Error::NothingFeasible)?.clone(),
            mean: self.value(best).ok_or(Error::NothingFeasible)?,
        };
        Ok(self.proposer.recommend(&self.ledger.seen(), best)?)
    }

    /// What the strategy's model believes of the values at these points, feasible or not, after all told trials. It is what the next
    /// proposal comes from, before waiting and running trials are taken into account.
    ///
    /// Values are those without noise, in the units of the goal. Where trials have failed, expected improvement predicts the value that
    /// there is if the next one does not fail; Thompson sampling counts a failure as the worst value told.
    ///
    /// # Errors
    /// [`Error::NothingTold`] when no trial has a value; [`Error::Strategy`] when the strategy has no model;
    /// [`Error::ForeignPoint`] when values do not fit this space.
    ///
    /// ```
    /// use mivabo::space::Space;
    /// use mivabo::study::{Spec, Study};
    ///
    /// let mut space = Space::builder();
    /// let _ = space.float("x", 0.0..=1.0);
    /// let space = space.build()?;
    /// let at = |x: f64| space.point([("x", x.into())]);
    /// let mut study = Study::new(space.clone(), Spec::default())?;
    /// for k in 0..=10 {
    ///     let x = 0.05 * f64::from(k);
    ///     study.add(&at(x)?, x * x)?;
    /// }
    ///
    /// let [near, far] = study.predict(&[at(0.23)?, at(1.0)?])?[..] else { unreachable!() };
    /// assert!((near.mean - 0.23 * 0.23).abs() < 0.01 && near.deviation < 0.01);
    /// assert!(far.deviation > 5.0 * near.deviation);
    /// # Ok::<(), mivabo::Error>(())
    /// ```
    pub fn predict(&mut self, points: &[Point]) -> Result<Vec<Estimate>, Error> {
        let seen = self.ledger.seen();
        let placed = points.iter().map(|point| {
            // There may be any number of them.
            interrupt::check();
            self.ledger.placed(point)
        });
        let placed: Result<Vec<Placed>, Error> = placed.collect();
        // A strategy without a model says so first: for it no outcome would help.
        let estimates = self.proposer.predict(&seen, &placed?)?;
        if !seen.has_value() {
            return Err(Error::NothingTold);
        }
        Ok(estimates)
    }
}
