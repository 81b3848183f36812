//! The next point: what was told enters, an untried feasible point leaves.

use super::linear::Linear;
use super::process::{Aim, ProcessModel};
use super::spec::{Climb, Search, Strategy};
use super::{Known, Model, Origin, Recommendation, Study, Trial};
use crate::acquire;
use crate::acquire::local::{Climbed, Landscape};
use crate::acquire::random::{MUCH_WORK, RandomPoints};
use crate::acquire::untried;
use crate::acquire::{
    Feasible, Minimum, alternating, annealing, design, distance, dual, exact, local,
};
use crate::encoding::{Branch, Encoded};
use crate::features::Weights;
use crate::math::random::{Purpose, Stream, stream};
use crate::measure::{Outcome, Rank};
use crate::space::Point;
use crate::study::Error;

/// Random points of which the initial design takes the one farthest from all others.
const DESIGN_CANDIDATES: usize = 30;

/// The best trials, and the random points, from which the search for a minimum starts.
const INCUMBENTS: usize = 2;
const RANDOM_STARTS: usize = 2;
const RECOMMENDATION_STARTS: usize = 5;

/// The best trials of which a local search makes mutants.
const GOOD: usize = 5;

impl Study {
    /// The point of the next trial, and who proposes it.
    pub(super) fn chosen(&mut self) -> Result<(Feasible, Origin), Error> {
        // Where all have failed, a process knows where, and chance has every second turn: it finds other places.
        let is_blind = match self.model {
            Some(Model::Process(_)) if self.trials.len().is_multiple_of(2) => self.told.is_empty(),
            _ => !self.trials.iter().any(|trial| self.value(trial).is_some()),
        };
        let is_design = self.trials.len() < self.spec.n_initial(&self.space) || is_blind;
        match self.model.take() {
            None => Ok((self.random()?, Origin::Random)),
            Some(model) if is_design => {
                self.model = Some(model);
                let is_stratified = matches!(self.spec.strategy, Strategy::Improvement(_));
                let point = if is_stratified {
                    self.stratified()?
                } else {
                    self.spread()?
                };
                Ok((point, Origin::Design))
            }
            Some(mut model) => {
                let chosen = match &mut model {
                    Model::Linear(linear) => self.thompson(linear),
                    Model::Process(process) => self.improvement(process),
                };
                self.model = Some(model);
                chosen
            }
        }
    }

    fn random(&self) -> Result<Feasible, Error> {
        Ok(self
            .untried(&RandomPoints::new(&self.space))
            .random(&mut self.stream(Purpose::Design))?)
    }

    /// The next point of a design that covers the range of every parameter; a random one where that was tried.
    fn stratified(&mut self) -> Result<Feasible, Error> {
        if self.design.is_empty() {
            let n = self.spec.n_initial(&self.space);
            self.design = design::stratified(
                &self.space,
                n,
                &mut stream(self.spec.seed, 0, Purpose::Design),
            )?;
        }
        let next = self.design.get(self.trials.len());
        let untried = next.filter(|next| !self.tried.contains(&self.space, next.point()));
        untried.cloned().map_or_else(|| self.random(), Ok)
    }

    /// Of several random points the one farthest from all trials.
    fn spread(&self) -> Result<Feasible, Error> {
        let points = RandomPoints::new(&self.space);
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
        let here = (feasible.point(), feasible.code());
        let trials = self.trials.iter().zip(&self.known);
        let distances =
            trials.map(|(trial, known)| distance(&self.space, here, (&trial.point, &known.code)));
        distances.fold(f64::INFINITY, f64::min)
    }

    /// The minimum of a function drawn from the posterior, or an untried point instead of it.
    fn thompson(&self, model: &mut Linear) -> Result<(Feasible, Origin), Error> {
        let points = RandomPoints::new(&self.space);
        let mut stream = self.stream(Purpose::Acquisition);
        let mut starts = self.incumbents(INCUMBENTS);
        starts.extend(self.trials.last().and_then(|last| self.feasible(last)));
        starts.extend(self.random_starts(&points, &mut stream));
        let (weights, wish) = self.drawn(model, &starts, &mut stream)?;
        let Some(wish) = wish else {
            return Ok((self.untried(&points).random(&mut stream)?, Origin::Random));
        };
        let found =
            self.untried(&points)
                .at_or_instead_of(wish.feasible, Some(&weights), &mut stream)?;
        Ok((found, Origin::Thompson))
    }

    /// A function drawn from the posterior, and the minimum that is found from these starts.
    fn drawn(
        &self,
        model: &mut Linear,
        starts: &[Feasible],
        stream: &mut Stream,
    ) -> Result<(Weights, Option<Minimum>), Error> {
        let (search, scaling) = (model.settings().search, model.settings().scaling);
        let belief = model.after(&self.observations())?;
        let weights = belief
            .surrogate_mut()
            .sample(scaling, &mut self.stream(Purpose::Weights));
        let minimum = self.lowest(&weights, starts, search, stream)?;
        Ok((weights, minimum))
    }

    /// The point of the largest expected improvement, or an untried point instead of it.
    fn improvement(&self, model: &mut ProcessModel) -> Result<(Feasible, Origin), Error> {
        let search = model.settings().search;
        let pending = self.pending_points();
        let told = self.told_points();
        let mut improvement = model.after(&told, &pending)?;
        if self.trials.len().is_multiple_of(2) {
            improvement = improvement.sharpened();
        }
        let points = RandomPoints::new(&self.space);
        let mut stream = self.stream(Purpose::Acquisition);
        let tried = Some((&self.space, &self.tried));
        let codes: Vec<&Encoded> = self.known.iter().map(|known| &known.code).collect();
        // By default turns fall on the asks that a stall sharpens, so ordinary asks keep their length-scales meanwhile: what
        // came of asks elsewhere in between is no sign that they are stuck.
        if let Some(branch) = model.due(&codes) {
            let target = improvement.target_in(branch, &told);
            let aim = Aim {
                improving: &improvement,
                target,
                tried,
                within: Some(branch),
            };
            let good = self.points_in(branch, &points, &mut stream);
            let minimum = self.climbed(&aim, &good, search, &mut stream)?.minimum;
            // Where all of it was tried, or nothing of it was found, the ask is an ordinary one.
            if minimum.value.is_finite() {
                return Ok((minimum.feasible, Origin::Turn(improvement.kernel())));
            }
        }
        let mut good = self.incumbents(GOOD);
        let n_incumbents = good.len();
        good.extend(self.drawn_candidate(model, &points, &mut stream));
        let aim = Aim {
            improving: &improvement,
            target: improvement.target(),
            tried,
            within: None,
        };
        let Climbed { minimum, from } = self.climbed(&aim, &good, search, &mut stream)?;
        let found = self
            .untried(&points)
            .at_or_instead_of(minimum.feasible, None, &mut stream)?;
        let kernel = improvement.kernel();
        let is_drawn = from.is_some_and(|from| from >= n_incumbents);
        let origin = if is_drawn {
            Origin::Drawn(kernel)
        } else {
            Origin::Improvement(kernel)
        };
        Ok((found, origin))
    }

    /// The minimum of a function drawn from the paper's model, where that proposes candidates. One less is no reason to fail.
    fn drawn_candidate(
        &self,
        model: &mut ProcessModel,
        points: &RandomPoints<'_>,
        stream: &mut Stream,
    ) -> Option<Feasible> {
        let linear = model.drawing(self.told.len())?;
        let mut starts = self.incumbents(1);
        starts.extend(points.draw(stream));
        let (_, wish) = self.drawn(linear, &starts, stream).ok()?;
        wish.map(|wish| wish.feasible)
    }

    /// Where a search within a branch should begin: its best trials, and random points of it where there are few.
    fn points_in(
        &self,
        branch: &Branch,
        points: &RandomPoints<'_>,
        stream: &mut Stream,
    ) -> Vec<Feasible> {
        let is_inside = |known: &Known| branch.holds(&known.code.bits);
        let ranked = self.ranked_where(GOOD, is_inside).into_iter();
        let mut found: Vec<Feasible> = ranked.filter_map(|trial| self.feasible(trial)).collect();
        found.extend((found.len()..GOOD).filter_map(|_| points.draw_in(branch, stream)));
        found
    }

    /// The lowest point of a landscape that the search finds from good points.
    fn climbed(
        &self,
        aim: &Aim<'_>,
        good: &[Feasible],
        search: Climb,
        stream: &mut Stream,
    ) -> Result<Climbed, Error> {
        match search {
            Climb::Local(settings) => {
                Ok(local::minimise(&self.space, aim, good, settings, stream)?)
            }
            Climb::Annealing(settings) => {
                let mut energy = |at: &Feasible| aim.values(std::slice::from_ref(at))[0];
                let found = annealing::minimise(&self.space, &mut energy, good, settings, stream)?;
                let minimum = Minimum {
                    feasible: found.feasible,
                    value: found.energy,
                };
                Ok(Climbed {
                    minimum,
                    from: None,
                })
            }
        }
    }

    /// The lowest point that the search finds from these starts.
    fn lowest(
        &self,
        weights: &Weights,
        starts: &[Feasible],
        search: Search,
        stream: &mut Stream,
    ) -> Result<Option<Minimum>, Error> {
        match search {
            Search::Alternating(settings) => Ok(alternating::minimise(
                &self.space,
                weights,
                starts,
                settings,
            )?),
            Search::Decomposition(settings) => {
                let found = dual::minimise(&self.space, weights, starts, settings)?;
                Ok(found.map(|found| Minimum {
                    feasible: found.feasible,
                    value: found.value,
                }))
            }
            Search::Exact(settings) => match exact::minimise(&self.space, weights, settings)? {
                exact::Outcome::Found(found) => Ok(Some(Minimum {
                    feasible: found.feasible,
                    value: found.value,
                })),
                exact::Outcome::NoPoint { .. } => Ok(None),
                exact::Outcome::TooManyPatterns => Err(acquire::Error::TooManyPatterns {
                    limit: settings.patterns,
                }
                .into()),
            },
            Search::Annealing(settings) => {
                let mut energy = |at: &Feasible| weights.value(&at.code().bits, &at.code().unit);
                let found =
                    annealing::minimise(&self.space, &mut energy, starts, settings, stream)?;
                Ok(Some(Minimum {
                    feasible: found.feasible,
                    value: found.energy,
                }))
            }
        }
    }

    /// The feasible point of the best posterior mean.
    pub(super) fn lowest_mean(
        &self,
        model: &mut Model,
        best: Feasible,
    ) -> Result<Recommendation, Error> {
        let mut stream = stream(
            self.spec.seed,
            self.told.len() as u64,
            Purpose::Recommendation,
        );
        let mut starts = self.incumbents(RECOMMENDATION_STARTS);
        match model {
            Model::Linear(linear) => {
                starts.extend(self.random_starts(&RandomPoints::new(&self.space), &mut stream));
                let search = linear.settings().search;
                let belief = linear.after(&self.observations())?;
                let weights = belief.surrogate_mut().mean();
                let found = self
                    .lowest(&weights, &starts, search, &mut stream)?
                    .unwrap_or_else(|| {
                        let value = weights.value(&best.code().bits, &best.code().unit);
                        Minimum {
                            feasible: best,
                            value,
                        }
                    });
                let mean = self.turned(belief.outputs().from_model(found.value));
                Ok(Recommendation {
                    feasible: found.feasible,
                    mean,
                })
            }
            Model::Process(process) => {
                let search = process.settings().search;
                let improvement = process.after(&self.told_points(), &[])?;
                let aim = Aim {
                    improving: &improvement,
                    target: improvement.target(),
                    tried: None,
                    within: None,
                };
                let found = self
                    .climbed(&aim, &self.incumbents(GOOD), search, &mut stream)?
                    .minimum
                    .feasible;
                let found = if improvement.is_likely(&found) {
                    found
                } else {
                    best
                };
                let mean = self.turned(improvement.mean(&found));
                Ok(Recommendation {
                    feasible: found,
                    mean,
                })
            }
        }
    }

    fn untried<'a>(&'a self, points: &'a RandomPoints<'a>) -> untried::Search<'a> {
        untried::Search {
            space: &self.space,
            points,
            tried: &self.tried,
        }
    }

    fn stream(&self, purpose: Purpose) -> Stream {
        stream(self.spec.seed, self.trials.len() as u64, purpose)
    }

    /// Where a search for a minimum should begin: the best feasible trials.
    fn incumbents(&self, n: usize) -> Vec<Feasible> {
        self.ranked(n)
            .into_iter()
            .filter_map(|trial| self.feasible(trial))
            .collect()
    }

    fn feasible(&self, trial: &Trial) -> Option<Feasible> {
        Feasible::of_point(&self.space, trial.point.clone()).ok()
    }

    fn random_starts(&self, points: &RandomPoints<'_>, stream: &mut Stream) -> Vec<Feasible> {
        let is_discrete = self.space.encoding().n_reals() == 0;
        let n = if is_discrete && self.best().is_some() {
            0
        } else {
            RANDOM_STARTS
        };
        let goes_on = |_: &usize| points.work() < MUCH_WORK;
        (0..n)
            .take_while(goes_on)
            .filter_map(|_| points.draw(stream).ok())
            .collect()
    }

    /// The best `n` feasible trials with a value, the best first; of equal ones the first comes first.
    pub(super) fn ranked(&self, n: usize) -> Vec<&Trial> {
        self.ranked_where(n, |_| true)
    }

    fn ranked_where(&self, n: usize, counts: impl Fn(&Known) -> bool) -> Vec<&Trial> {
        let mut best: Vec<(Rank, &Trial)> = Vec::with_capacity(n + 1);
        let is_counted = |known: &Known| known.is_feasible && counts(known);
        let trials = self.trials.iter().zip(&self.known);
        for (trial, _) in trials.filter(|(_, known)| is_counted(known)) {
            let Some(rank) = trial
                .outcome()
                .and_then(|outcome| self.spec.aims.rank(outcome))
            else {
                continue;
            };
            let place = best.partition_point(|(other, _)| other.compare(&rank).is_le());
            if place < n {
                best.insert(place, (rank, trial));
                best.truncate(n);
            }
        }
        best.into_iter().map(|(_, trial)| trial).collect()
    }

    /// A value for a model that always minimizes, and back.
    fn turned(&self, value: f64) -> f64 {
        self.spec.aims.goal().sense.turned(value)
    }

    /// Codes and values of the told trials in the order of their tells, turned so that low is good. Failed trials have the worst value
    /// of all; without any value there are no observations.
    fn observations(&self) -> Vec<(&Encoded, f64)> {
        let told = self.told_points();
        let Some(worst) = told.iter().filter_map(|(.., y)| *y).max_by(f64::total_cmp) else {
            return Vec::new();
        };
        told.into_iter()
            .map(|(_, code, y)| (code, y.unwrap_or(worst)))
            .collect()
    }

    /// Points and codes of the trials that are not told.
    fn pending_points(&self) -> Vec<(&Point, &Encoded)> {
        let trials = self.trials.iter().zip(&self.known);
        trials
            .filter(|(trial, _)| !trial.is_told())
            .map(|(trial, known)| (&trial.point, &known.code))
            .collect()
    }

    /// Points, codes and values of the told trials in the order of their tells, turned so that low is good; None where they failed.
    fn told_points(&self) -> Vec<(&Point, &Encoded, Option<f64>)> {
        let turned = |trial: &Trial| self.value(trial).map(|value| self.turned(value));
        let told = self
            .told
            .iter()
            .map(|at| (&self.trials[*at], &self.known[*at]))
            // Neither a value nor a failure: nothing is learned from a trial that was stopped.
            .filter(|(trial, _)| !matches!(trial.outcome(), Some(Outcome::Stopped(_))));
        told.map(|(trial, known)| (&trial.point, &known.code, turned(trial)))
            .collect()
    }
}
