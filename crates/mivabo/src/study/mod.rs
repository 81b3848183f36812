//! Ask and tell: values of trials enter, feasible suggestions leave.
//!
//! # Rules
//!
//! * Trials are numbered 0, 1, 2, … in the order in which they are made, by an ask or by a result from outside.
//! * A trial is told once, in any order. A value that is NaN or infinite makes it a failed trial.
//! * Failed trials are not suggested again. The model sees them as the worst value told so far, and not at all until
//!   there is one.
//! * No point is suggested twice while an untried feasible one is found; pending points count as tried. Points differ
//!   when their visible parameters do: auxiliary ones do not count. When a finite space has no point left, that is an
//!   error. Only an enqueued point is suggested as it is, tried or not.
//! * Each trial draws from streams of its own, keyed by seed and number. A study is a fold over its trials and the order
//!   of their tells: [`Study::resume`] with the same trials goes on with the same suggestions.
//! * Several pending trials are no problem for Thompson sampling: each one minimises another function.
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
//! assert!(study.trials().iter().all(|trial| trial.is_feasible));
//! assert_eq!(study.best().and_then(|trial| trial.value()), Some(1.0));
//! assert!(study.ask().is_err());    // these were all 17 points
//! # Ok::<(), mivabo::Error>(())
//! ```

mod model;
mod spec;
#[cfg(test)]
mod tests;
mod trial;

use std::collections::VecDeque;

use self::model::{Model, observations};
pub use self::spec::{Direction, Spec, Strategy, Thompson, WeightPrior};
pub use self::trial::{State, Suggestion, Trial};
use crate::acquire::random::RandomPoints;
use crate::acquire::untried::{Search, Tried};
use crate::acquire::{Feasible, alternating, distance};
use crate::encoding::Encoded;
use crate::error::Error;
use crate::random::{Purpose, Stream, stream};
use crate::space::eval::Setting;
use crate::space::{Point, Space};
use crate::surrogate::Scaling;

/// Random points of which the initial design takes the one farthest from all others.
const DESIGN_CANDIDATES: usize = 30;

/// The best trials, and the random points, from which the search for a minimum starts.
const INCUMBENTS: usize = 2;
const RANDOM_STARTS: usize = 2;
const RECOMMENDATION_STARTS: usize = 5;

/// An optimisation in progress. The rules are in the [module](self)'s documentation.
#[derive(Debug, Clone)]
pub struct Study {
    space: Space,
    spec: Spec,
    trials: Vec<Trial>,
    /// Numbers of told trials, in the order of their tells.
    told: Vec<usize>,
    queue: VecDeque<Feasible>,
    tried: Tried,
    model: Option<Model>,
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
    /// [`Error::BadHyperparameter`] or [`Error::TooManyFeatures`] when the strategy's model cannot be made.
    pub fn new(space: Space, spec: Spec) -> Result<Study, Error> {
        let model = match &spec.strategy {
            Strategy::Thompson(thompson) => Some(Model::new(&space, thompson.clone(), spec.seed)?),
            Strategy::Random => None,
        };
        let (trials, told, queue) = (Vec::new(), Vec::new(), VecDeque::new());
        Ok(Study { space, spec, trials, told, queue, tried: Tried::default(), model })
    }

    /// The study that has these trials, in the order of their numbers. What was enqueued must be enqueued again.
    ///
    /// # Errors
    /// As [`new`](Self::new); [`Error::BadHistory`] when numbers are not 0, 1, 2, … or the places of the tells are not
    /// 0, 1, 2, … in some order; [`Error::ForeignPoint`].
    pub fn resume(space: Space, spec: Spec, trials: &[Trial]) -> Result<Study, Error> {
        let mut study = Study::new(space, spec)?;
        for trial in trials {
            let id = study.push(&trial.point)?;
            if trial.id != id {
                let why = format!("trial {} stands where trial {id} should", trial.id);
                return Err(Error::BadHistory { why });
            }
        }
        let mut told: Vec<&Trial> = trials.iter().filter(|trial| !trial.is_pending()).collect();
        told.sort_by_key(|trial| trial.told);
        for (place, trial) in told.into_iter().enumerate() {
            if trial.told != Some(place as u64) {
                let why = format!("trial {} is not the tell number {place}", trial.id);
                return Err(Error::BadHistory { why });
            }
            study.settle(trial.id, trial.state.clone())?;
        }
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

    /// The next point to evaluate: an enqueued one, one of the initial design, or one that the strategy chooses.
    ///
    /// # Errors
    /// [`Error::NoFeasiblePoint`], [`Error::Exhausted`] or [`Error::NoUntriedPoint`]; the study is then unchanged.
    pub fn ask(&mut self) -> Result<Suggestion, Error> {
        let feasible = match self.queue.pop_front() {
            Some(feasible) => feasible,
            None => self.chosen()?,
        };
        let id = self.push(feasible.point())?;
        Ok(Suggestion::new(id, feasible))
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
        self.settle(id, state_of(value))
    }

    /// A trial that has no value.
    ///
    /// # Errors
    /// [`Error::UnknownTrial`], [`Error::AlreadyTold`].
    pub fn tell_failed(&mut self, id: u64, reason: impl Into<String>) -> Result<(), Error> {
        self.settle(id, State::Failed { reason: reason.into() })
    }

    /// A result from elsewhere. The model learns from it even where the point is not feasible; it is then never the best.
    ///
    /// # Errors
    /// [`Error::ForeignPoint`] when its values do not fit this space.
    pub fn add(&mut self, point: &Point, value: f64) -> Result<u64, Error> {
        let id = self.push(point)?;
        self.settle(id, state_of(value))?;
        Ok(id)
    }

    /// A point to suggest before any other.
    ///
    /// # Errors
    /// [`Error::Violated`] when it is not feasible, [`Error::ForeignPoint`] when its values do not fit this space.
    pub fn enqueue(&mut self, point: Point) -> Result<(), Error> {
        self.code_of(&point)?;
        let feasible = Feasible::of_point(&self.space, point)
            .map_err(|report| Error::Violated { violations: report.violations })?;
        self.queue.push_back(feasible);
        Ok(())
    }

    /// The feasible trial with the best value; of equal ones the first.
    pub fn best(&self) -> Option<&Trial> {
        self.ranked().into_iter().next()
    }

    /// The feasible point of the best posterior mean; without a model the best trial.
    ///
    /// # Errors
    /// [`Error::NothingTold`] when no feasible trial has a value.
    pub fn recommend(&mut self) -> Result<Recommendation, Error> {
        let best = self.best().ok_or(Error::NothingTold)?;
        let value = best.value().ok_or(Error::NothingTold)?;
        let best = Feasible::of_point(&self.space, best.point.clone())
            .map_err(|report| Error::Violated { violations: report.violations })?;
        let Some(mut model) = self.model.take() else {
            return Ok(Recommendation { feasible: best, mean: value });
        };
        let found = self.lowest_mean(&mut model, best);
        self.model = Some(model);
        found
    }

    fn lowest_mean(&self, model: &mut Model, best: Feasible) -> Result<Recommendation, Error> {
        let mut stream = stream(self.spec.seed, self.told.len() as u64, Purpose::Recommendation);
        let mut starts = self.incumbents(RECOMMENDATION_STARTS);
        starts.extend(self.random_starts(&RandomPoints::new(&self.space), &mut stream));
        let search = model.settings().search;
        let belief = model.after(&self.observations())?;
        let weights = belief.surrogate_mut().mean();
        let found = alternating::minimise(&self.space, &weights, &starts, search)?;
        let found = found.unwrap_or_else(|| {
            let value = weights.value(&best.code().bits, &best.code().unit);
            alternating::Minimum { feasible: best, value }
        });
        let mean = self.spec.direction.turned(belief.outputs().from_model(found.value));
        Ok(Recommendation { feasible: found.feasible, mean })
    }

    /// The point of the next trial.
    fn chosen(&mut self) -> Result<Feasible, Error> {
        let observations = self.observations();
        let is_design = self.trials.len() < self.spec.n_initial(&self.space) || observations.is_empty();
        drop(observations);
        match self.model.take() {
            None => self.search(&RandomPoints::new(&self.space)).random(&mut self.stream(Purpose::Design)),
            Some(model) if is_design => {
                self.model = Some(model);
                self.designed()
            }
            Some(mut model) => {
                let chosen = self.thompson(&mut model);
                self.model = Some(model);
                chosen
            }
        }
    }

    /// Of several random points the one farthest from all trials.
    fn designed(&self) -> Result<Feasible, Error> {
        let points = RandomPoints::new(&self.space);
        let mut stream = self.stream(Purpose::Design);
        let mut best = self.search(&points).random(&mut stream)?;
        if self.trials.is_empty() {
            return Ok(best);
        }
        let mut farthest = self.distance_to_trials(&best);
        for _ in 1..DESIGN_CANDIDATES {
            let Ok(candidate) = points.draw(&mut stream) else { continue };
            let distance = self.distance_to_trials(&candidate);
            // A tried point is at distance 0, so it is never better than an untried one.
            if distance > farthest {
                (best, farthest) = (candidate, distance);
            }
        }
        Ok(best)
    }

    fn distance_to_trials(&self, feasible: &Feasible) -> f64 {
        let here = (feasible.point(), feasible.code());
        let distances =
            self.trials.iter().map(|trial| distance(&self.space, here, (&trial.point, &trial.code)));
        distances.fold(f64::INFINITY, f64::min)
    }

    /// The minimum of a function drawn from the posterior, or an untried point instead of it.
    fn thompson(&self, model: &mut Model) -> Result<Feasible, Error> {
        let search = model.settings().search;
        let belief = model.after(&self.observations())?;
        let weights = belief.surrogate_mut().sample(Scaling::None, &mut self.stream(Purpose::Weights));
        let points = RandomPoints::new(&self.space);
        let mut stream = self.stream(Purpose::Acquisition);
        let mut starts = self.incumbents(INCUMBENTS);
        let last = self.trials.last().filter(|trial| trial.is_feasible);
        starts.extend(last.and_then(|trial| Feasible::of_point(&self.space, trial.point.clone()).ok()));
        starts.extend(self.random_starts(&points, &mut stream));
        let untried = self.search(&points);
        match alternating::minimise(&self.space, &weights, &starts, search)? {
            Some(minimum) => untried.at_or_instead_of(minimum.feasible, &weights, &mut stream),
            None => untried.random(&mut stream),
        }
    }

    fn search<'a>(&'a self, points: &'a RandomPoints<'a>) -> Search<'a> {
        Search { space: &self.space, points, tried: &self.tried }
    }

    fn stream(&self, purpose: Purpose) -> Stream {
        stream(self.spec.seed, self.trials.len() as u64, purpose)
    }

    /// Where a search for a minimum should begin: the best feasible trials.
    fn incumbents(&self, n: usize) -> Vec<Feasible> {
        let best = self.ranked().into_iter().take(n);
        best.filter_map(|trial| Feasible::of_point(&self.space, trial.point.clone()).ok()).collect()
    }

    fn random_starts(&self, points: &RandomPoints<'_>, stream: &mut Stream) -> Vec<Feasible> {
        let n = if self.space.encoding().n_reals() == 0 && self.best().is_some() { 0 } else { RANDOM_STARTS };
        (0..n).filter_map(|_| points.draw(stream).ok()).collect()
    }

    /// Feasible trials with a value, the best first.
    fn ranked(&self) -> Vec<&Trial> {
        let mut ranked: Vec<(f64, &Trial)> = self
            .trials
            .iter()
            .filter(|trial| trial.is_feasible)
            .filter_map(|trial| Some((self.spec.direction.turned(trial.value()?), trial)))
            .collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
        ranked.into_iter().map(|(_, trial)| trial).collect()
    }

    fn observations(&self) -> Vec<(&Encoded, f64)> {
        let told = self.told.iter().map(|at| &self.trials[*at]);
        observations(told, |value| self.spec.direction.turned(value))
    }

    /// A new pending trial.
    fn push(&mut self, point: &Point) -> Result<u64, Error> {
        let code = self.code_of(point)?;
        let id = self.trials.len() as u64;
        let is_feasible = self.space.check(point).is_feasible();
        self.tried.insert(&self.space, point);
        let point = point.clone();
        self.trials.push(Trial { id, point, state: State::Pending, told: None, is_feasible, code });
        Ok(id)
    }

    fn settle(&mut self, id: u64, state: State) -> Result<(), Error> {
        let n = self.trials.len();
        let at = usize::try_from(id).ok().filter(|at| *at < n).ok_or(Error::UnknownTrial { id, n })?;
        if !self.trials[at].is_pending() {
            return Err(Error::AlreadyTold { id });
        }
        self.trials[at].state = state;
        self.trials[at].told = Some(self.told.len() as u64);
        self.told.push(at);
        Ok(())
    }

    /// The code of a point whose values fit this space.
    fn code_of(&self, point: &Point) -> Result<Encoded, Error> {
        let parameters = self.space.parameters();
        let fits = point.settings.len() == parameters.len()
            && parameters.iter().zip(&point.settings).all(|(parameter, setting)| match setting {
                None => true,
                Some(Setting::Real(_)) => parameter.domain().is_continuous(),
                Some(Setting::Index(index)) => parameter.domain().size().is_some_and(|size| *index < size),
            });
        if !fits {
            return Err(Error::ForeignPoint);
        }
        let code = self.space.encoding().encode(point);
        let again = self.space.encoding().decode(&code.bits, &code.unit)?;
        let is_active = |point: &Point| point.settings.iter().map(Option::is_some).collect::<Vec<_>>();
        if is_active(&again) != is_active(point) {
            return Err(Error::ForeignPoint);
        }
        Ok(code)
    }
}

/// What a told value makes of a trial.
fn state_of(value: f64) -> State {
    if value.is_finite() {
        State::Complete(value)
    } else {
        State::Failed { reason: format!("the value is {value}") }
    }
}
