//! Ask and tell: values of trials enter, feasible suggestions leave.
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
//!   where there is likely to be one: those that are bad luck change little. To Thompson sampling they have the worst value told so far
//!   (and do not exist until there is one). [`Study::replicate`] tries the point of one again.
//! * Pending trials do not collide. For Thompson sampling each one minimises another function, drawn for it alone; expected
//!   improvement takes them for observed at their predicted mean.
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
//! assert!(study.trials().iter().all(|trial| space.check(&trial.point).is_feasible()));
//! assert_eq!(study.best().and_then(|trial| study.value(trial)), Some(1.0));
//! assert!(study.ask().is_err());    // these were all 17 points
//! # Ok::<(), mivabo::Error>(())
//! ```

mod choose;
mod error;
mod fits;
mod history;
mod importance;
mod linear;
mod process;
mod settings;
mod spec;
mod success;
#[cfg(test)]
mod tests;
mod trial;
mod turns;

pub use self::error::Error;
use std::collections::BTreeSet;

pub use self::importance::{Effect, Importance, Interaction};
use self::linear::Linear;
use self::process::ProcessModel;
pub use self::spec::{Climb, Improvement, Search, Spec, Strategy, Thompson, WeightPrior};
pub use self::trial::{Origin, State, Suggestion, Trial};
use crate::acquire::Feasible;
use crate::acquire::untried::Tried;
use crate::encoding::Encoded;
use crate::measure::Outcome;
use crate::space::{Point, Space};

/// The most trials of an initial design.
pub const MAX_INITIAL: usize = 10_000;

/// An optimisation in progress. The rules are in the [module](self)'s documentation.
#[derive(Debug, Clone)]
pub struct Study {
    space: Space,
    spec: Spec,
    trials: Vec<Trial>,
    /// What follows from the points of the trials, one by one.
    known: Vec<Known>,
    /// Numbers of told trials, in the order of their tells.
    told: Vec<usize>,
    /// Numbers of waiting trials.
    waiting: BTreeSet<usize>,
    tried: Tried,
    /// The initial design once it is made: it follows from space and seed.
    design: Vec<Feasible>,
    model: Option<Model>,
}

/// What a strategy believes.
#[derive(Debug, Clone)]
enum Model {
    Linear(Box<Linear>),
    Process(Box<ProcessModel>),
}

#[derive(Debug, Clone)]
struct Known {
    code: Encoded,
    /// Only a result from outside may not be.
    is_feasible: bool,
}

/// The point of the best posterior mean.
#[derive(Debug, Clone, PartialEq)]
pub struct Recommendation {
    feasible: Feasible,
    mean: f64,
}

impl Recommendation {
    /// The point, which satisfies every constraint.
    pub fn point(&self) -> &Point {
        self.feasible.point()
    }

    /// The value that is expected there: by the model, or what was told where there is no model.
    pub fn mean(&self) -> f64 {
        self.mean
    }
}

impl Study {
    /// A study without trials.
    ///
    /// # Errors
    /// [`Error::TooManyInitial`]; [`Error::BadHyperparameter`] or [`Error::TooManyFeatures`] when the strategy's model
    /// cannot be made,
    /// [`Error::TooManyPatterns`] when its search is exact and the space is too large for that.
    pub fn new(space: Space, spec: Spec) -> Result<Study, Error> {
        if let Some(n) = spec.n_initial.filter(|n| *n > MAX_INITIAL) {
            return Err(Error::TooManyInitial {
                n,
                limit: MAX_INITIAL,
            });
        }
        let model = match &spec.strategy {
            Strategy::Thompson(thompson) => Some(Model::Linear(
                Linear::new(&space, thompson.clone(), spec.seed)?.into(),
            )),
            Strategy::Improvement(improvement) => Some(Model::Process(
                ProcessModel::new(&space, improvement.clone(), spec.seed)?.into(),
            )),
            Strategy::Random => None,
        };
        let tried = Tried::default();
        let (trials, known, told, waiting) = (vec![], vec![], vec![], BTreeSet::new());
        Ok(Study {
            space,
            spec,
            trials,
            known,
            told,
            waiting,
            tried,
            design: vec![],
            model,
        })
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

    /// The space.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// What it is asked to do.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// All trials, by number.
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// The next point to evaluate: a waiting one, one of the initial design, or one that the strategy chooses.
    ///
    /// # Errors
    /// [`Error::Infeasible`], [`Error::NoFeasiblePoint`], [`Error::Exhausted`] or [`Error::NoUntriedPoint`]; the study is
    /// then unchanged.
    pub fn ask(&mut self) -> Result<Suggestion, Error> {
        if let Some(at) = self.waiting.first().copied() {
            let feasible = Feasible::of_point(&self.space, self.trials[at].point.clone()).map_err(
                |report| Error::Violated {
                    violations: report.violations,
                },
            )?;
            self.waiting.remove(&at);
            self.trials[at].state = State::Running;
            return Ok(Suggestion::new(at as u64, feasible, Origin::Queue));
        }
        let (feasible, origin) = self.propose()?;
        let id = self.push(feasible.point())?;
        Ok(Suggestion::new(id, feasible, origin))
    }

    /// The point that a new trial would have if it were made now, and who proposes it. No trial is made, and the study is as
    /// it was; the random streams are those of the number of its trials.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn propose(&mut self) -> Result<(Feasible, Origin), Error> {
        self.chosen()
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
                Err(error) if suggestions.is_empty() => return Err(error),
                Err(_) => break,
            }
        }
        Ok(suggestions)
    }

    /// The value of a trial. One that is not finite makes it a failed trial.
    ///
    /// # Errors
    /// [`Error::UnknownTrial`], [`Error::AlreadyTold`].
    pub fn tell(&mut self, id: u64, value: f64) -> Result<(), Error> {
        self.tell_outcome(id, self.outcome_of(value))
    }

    /// How the evaluation of a trial ended. One without the goal's number has failed.
    ///
    /// # Errors
    /// [`Error::UnknownTrial`], [`Error::AlreadyTold`].
    pub fn tell_outcome(&mut self, id: u64, outcome: Outcome) -> Result<(), Error> {
        self.settle(id, self.spec.aims.judged(outcome))
    }

    /// A trial that has no value.
    ///
    /// # Errors
    /// [`Error::UnknownTrial`], [`Error::AlreadyTold`].
    pub fn tell_failed(&mut self, id: u64, reason: impl Into<String>) -> Result<(), Error> {
        self.settle(id, Outcome::failed(reason))
    }

    /// A result from elsewhere. The model learns from it even where the point is not feasible; it is then never the best.
    ///
    /// # Errors
    /// [`Error::ForeignPoint`] when its values do not fit this space.
    pub fn add(&mut self, point: &Point, value: f64) -> Result<u64, Error> {
        let id = self.push(point)?;
        self.tell(id, value)?;
        Ok(id)
    }

    /// A point to suggest before any other. It becomes a trial at once, which waits; its number is the answer.
    ///
    /// # Errors
    /// [`Error::Violated`] when it is not feasible, [`Error::ForeignPoint`] when its values do not fit this space.
    pub fn enqueue(&mut self, point: &Point) -> Result<u64, Error> {
        self.code_of(point)?;
        let feasible =
            Feasible::of_point(&self.space, point.clone()).map_err(|report| Error::Violated {
                violations: report.violations,
            })?;
        let id = self.push(feasible.point())?;
        self.set_waiting(id)?;
        Ok(id)
    }

    /// The point of a trial once more, for an objective with noise or one that failed by chance. The new trial waits;
    /// its number is the answer.
    ///
    /// # Errors
    /// [`Error::UnknownTrial`]; [`Error::Violated`] when the trial came from outside and is not feasible.
    pub fn replicate(&mut self, id: u64) -> Result<u64, Error> {
        let point = self.trials[self.place_of(id)?].point.clone();
        self.enqueue(&point)
    }

    /// Gives back a trial that nobody evaluates any more: it waits, and the next ask hands it out again.
    ///
    /// # Errors
    /// [`Error::UnknownTrial`], [`Error::AlreadyTold`].
    pub fn release(&mut self, id: u64) -> Result<(), Error> {
        self.set_waiting(id)
    }

    /// The goal's number, where a trial has one.
    pub fn value(&self, trial: &Trial) -> Option<f64> {
        self.spec.aims.value(trial.outcome()?)
    }

    /// The best feasible trial: of those that keep the limits, or where none does of all, the one with the best value;
    /// of equal ones the first.
    pub fn best(&self) -> Option<&Trial> {
        self.ranked(1).into_iter().next()
    }

    /// The feasible point of the best posterior mean; without a model the best trial.
    ///
    /// # Errors
    /// [`Error::NothingFeasible`] when no feasible trial has a value.
    pub fn recommend(&mut self) -> Result<Recommendation, Error> {
        let best = self.best().ok_or(Error::NothingFeasible)?;
        let value = self.value(best).ok_or(Error::NothingFeasible)?;
        let best = Feasible::of_point(&self.space, best.point.clone()).map_err(|report| {
            Error::Violated {
                violations: report.violations,
            }
        })?;
        let Some(mut model) = self.model.take() else {
            return Ok(Recommendation {
                feasible: best,
                mean: value,
            });
        };
        let found = self.lowest_mean(&mut model, best);
        self.model = Some(model);
        found
    }

    /// A new pending trial.
    fn push(&mut self, point: &Point) -> Result<u64, Error> {
        let code = self.code_of(point)?;
        let id = self.trials.len() as u64;
        let is_feasible = self.space.is_feasible(point);
        self.tried.insert(&self.space, point);
        self.trials.push(Trial {
            id,
            point: point.clone(),
            state: State::Running,
            told: None,
        });
        self.known.push(Known { code, is_feasible });
        Ok(id)
    }

    /// What a single number says of a trial.
    fn outcome_of(&self, value: f64) -> Outcome {
        Outcome::of(&self.spec.aims.goal().measure, value)
    }

    fn settle(&mut self, id: u64, outcome: Outcome) -> Result<(), Error> {
        let at = self.untold(id)?;
        self.trials[at].state = State::Ended(outcome);
        self.trials[at].told = Some(self.told.len() as u64);
        self.told.push(at);
        self.waiting.remove(&at);
        Ok(())
    }

    fn set_waiting(&mut self, id: u64) -> Result<(), Error> {
        let at = self.untold(id)?;
        self.trials[at].state = State::Waiting;
        self.waiting.insert(at);
        Ok(())
    }

    fn untold(&self, id: u64) -> Result<usize, Error> {
        let at = self.place_of(id)?;
        if self.trials[at].is_told() {
            Err(Error::AlreadyTold { id })
        } else {
            Ok(at)
        }
    }

    fn place_of(&self, id: u64) -> Result<usize, Error> {
        let n = self.trials.len();
        usize::try_from(id)
            .ok()
            .filter(|at| *at < n)
            .ok_or(Error::UnknownTrial { id, n })
    }

    /// The code of a point whose values fit this space.
    fn code_of(&self, point: &Point) -> Result<Encoded, Error> {
        if !self.space.fits(point) {
            return Err(Error::ForeignPoint);
        }
        let code = self.space.encoding().encode(point);
        let again = self.space.encoding().decode(&code.bits, &code.unit)?;
        let is_active = |point: &Point| {
            point
                .settings
                .iter()
                .map(Option::is_some)
                .collect::<Vec<_>>()
        };
        if is_active(&again) != is_active(point) {
            return Err(Error::ForeignPoint);
        }
        Ok(code)
    }
}
