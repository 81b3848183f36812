//! The paper's algorithm: a function is drawn from the posterior, and its minimum is the next point. MiVaBo, Alg. 1.

pub(crate) mod alternating;
pub(crate) mod dual;
pub(crate) mod exact;
pub(crate) mod global;
mod landscape;
mod model;
mod products;
mod search;
mod settings;
#[cfg(test)]
mod tests;

pub(crate) use self::model::Linear;
pub use self::products::Link;
pub(crate) use self::products::ProductRule;
use self::search::{Searched, search};
pub use self::settings::Thompson;
pub(crate) use self::settings::{THEORY, ThompsonSearch, WaveFeatures, WeightPrior};
use super::{Error, Estimate, Observed, Origin, Proposal, Proposer, Recommendation, Seen};
use crate::acquire::random::{MUCH_WORK, RandomPoints};
use crate::acquire::{Feasible, Lowest, Placed};
use crate::encoding::Encoded;
use crate::features::Weights;
use crate::interrupt;
use crate::math::random::{Purpose, Stream, stream};
use crate::space::Space;
use crate::surrogate::Outputs;

/// The best trials, and the random points, from which the search for a minimum starts.
const INCUMBENTS: usize = 2;
const RANDOM_STARTS: usize = 2;
const RECOMMENDATION_STARTS: usize = 5;

/// Thompson sampling.
#[derive(Debug, Clone)]
pub(super) struct ThompsonProposer(Linear);

impl ThompsonProposer {
    pub(super) fn new(
        space: &Space,
        settings: Thompson,
        seed: u64,
    ) -> Result<ThompsonProposer, Error> {
        Linear::new(space, settings, seed).map(ThompsonProposer)
    }

    /// The minimum of a drawn function, or an untried point instead of it.
    fn sampled(&mut self, seen: &Seen<'_>) -> Result<Proposal, Error> {
        let points = RandomPoints::new(seen.space);
        let mut stream = seen.stream(Purpose::Acquisition);
        let starts = starts(seen, &points, &mut stream);
        let drawn = drawn(&mut self.0, seen, &starts, &mut stream)?;
        let untried = seen.untried(&points);
        let Some(wish) = &drawn.minimum else {
            let (feasible, origin) = (untried.random(&mut stream)?, Origin::Random);
            return Ok(Proposal { feasible, origin });
        };
        let wish = wish.feasible.clone();
        let feasible = untried.at_or_instead_of(wish, Some(&drawn.weights), &mut stream)?;
        let origin = drawn.origin(&feasible);
        Ok(Proposal { feasible, origin })
    }
}

impl Proposer for ThompsonProposer {
    fn propose(&mut self, seen: &Seen<'_>) -> Result<Proposal, Error> {
        if seen.trials.len() < seen.n_initial || !seen.has_value() {
            let (feasible, origin) = (seen.spread()?, Origin::Design);
            return Ok(Proposal { feasible, origin });
        }
        self.sampled(seen)
    }

    fn recommend(
        &mut self,
        seen: &Seen<'_>,
        best: Recommendation,
    ) -> Result<Recommendation, Error> {
        let mut stream = stream(seen.seed, seen.told.len() as u64, Purpose::Recommendation);
        let mut starts = seen.incumbents(RECOMMENDATION_STARTS);
        let points = RandomPoints::new(seen.space);
        starts.extend(random_starts(seen, &points, &mut stream));
        let how = self.0.settings().search;
        let belief = self.0.after(&observations(seen))?;
        let weights = belief.surrogate_mut().mean();
        let found = search(seen.space, &weights, &starts, how, &mut stream)?;
        let instead = || {
            let code = best.feasible.code();
            let value = weights.value(&code.bits, &code.unit);
            Lowest {
                feasible: best.feasible.clone(),
                value,
            }
        };
        let found = found.map_or_else(instead, |found| found.lowest);
        Ok(Recommendation {
            feasible: found.feasible,
            mean: seen.turned(belief.outputs().from_model(found.value)),
        })
    }

    /// By the posterior from which functions are drawn; failed trials count as the worst value.
    fn predict(&mut self, seen: &Seen<'_>, at: &[Placed]) -> Result<Vec<Estimate>, Error> {
        let sense = seen.aims.goal().sense;
        let belief = self.0.after(&observations(seen))?;
        let outputs = *belief.outputs();
        let estimates = at.iter().map(|at| {
            interrupt::check();
            let Encoded { bits, unit } = at.code();
            let prediction = belief.surrogate_mut().predict(bits, unit);
            Estimate::of(prediction, &outputs, sense)
        });
        Ok(estimates.collect())
    }

    fn boxed(&self) -> Box<dyn Proposer> {
        Box::new(self.clone())
    }
}

/// A function drawn from the posterior, and the minimum that was found of it.
pub(crate) struct Drawn {
    pub weights: Weights,
    pub minimum: Option<Lowest>,
    /// No feasible point has a lower value, where that was proved.
    bound: Option<f64>,
    outputs: Outputs,
}

impl Drawn {
    /// Who proposes a point. It need not be the minimum: that may have been tried before.
    fn origin(&self, feasible: &Feasible) -> Origin {
        let Some(bound) = self.bound else {
            return Origin::Thompson;
        };
        let code = feasible.code();
        let value = self.weights.value(&code.bits, &code.unit);
        let gap = self.outputs.from_model(value) - self.outputs.from_model(bound);
        if gap.is_finite() {
            Origin::Certified { gap: gap.max(0.0) }
        } else {
            Origin::Thompson
        }
    }
}

/// Draws a function from the posterior and searches for its minimum from these starts.
pub(crate) fn drawn(
    model: &mut Linear,
    seen: &Seen<'_>,
    starts: &[Feasible],
    stream: &mut Stream,
) -> Result<Drawn, Error> {
    let (how, scaling) = (model.settings().search, model.settings().scaling);
    let belief = model.after(&observations(seen))?;
    let weights = belief
        .surrogate_mut()
        .sample(scaling, &mut seen.stream(Purpose::Weights));
    let found = search(seen.space, &weights, starts, how, stream)?;
    let bound = found.as_ref().and_then(|found| found.bound);
    Ok(Drawn {
        weights,
        minimum: found.map(|Searched { lowest, .. }| lowest),
        bound,
        outputs: *belief.outputs(),
    })
}

/// The highest value.
fn worst(told: &[Observed<'_>]) -> Option<f64> {
    let values = told.iter().filter_map(|observed| observed.value);
    values.max_by(f64::total_cmp)
}

/// Codes and values of the told trials in the order of their tells. Failed trials have the worst value of all; without any value
/// there are no observations.
fn observations<'a>(seen: &Seen<'a>) -> Vec<(&'a Encoded, f64)> {
    let told = seen.observed();
    let Some(worst) = worst(&told) else {
        return Vec::new();
    };
    let valued = told
        .into_iter()
        .map(|observed| (observed.at.code(), observed.value.unwrap_or(worst)));
    valued.collect()
}

/// Where the search for a minimum starts: the best trials, the last one and random points.
fn starts(seen: &Seen<'_>, points: &RandomPoints<'_>, stream: &mut Stream) -> Vec<Feasible> {
    let mut starts = seen.incumbents(INCUMBENTS);
    let last = seen.trials.last();
    starts.extend(last.and_then(|last| last.at.feasible().cloned()));
    starts.extend(random_starts(seen, points, stream));
    starts
}

/// Random points to start from. Where all parameters are discrete, the search needs none once there is a best trial.
fn random_starts(seen: &Seen<'_>, points: &RandomPoints<'_>, stream: &mut Stream) -> Vec<Feasible> {
    (0..n_random_starts(seen))
        .take_while(|_| points.work() < MUCH_WORK)
        .filter_map(|_| points.draw(stream).ok())
        .collect()
}

fn n_random_starts(seen: &Seen<'_>) -> usize {
    let is_discrete = seen.space.encoding().n_reals() == 0;
    if is_discrete && !seen.ranked(1).is_empty() {
        0
    } else {
        RANDOM_STARTS
    }
}
