//! Expected improvement by a Gaussian process over the parameters: the default strategy.

mod acquisition;
mod belief;
mod design;
mod expected;
mod fits;
mod local_search;
mod model;
mod settings;
mod success;
mod turns;

use self::acquisition::{Acquisition, Improvement as Improve, Wanted};
use self::belief::ProcessBelief;
use self::local_search::Climbed;
use self::model::ProcessModel;
pub use self::settings::Improvement;
pub(crate) use self::settings::ImprovementSearch;
use super::{Error, Estimate, Origin, Proposal, Proposer, Recommendation, Seen, thompson};
use crate::acquire::annealing::{self, Annealed};
use crate::acquire::random::RandomPoints;
use crate::acquire::{Feasible, Lowest, Placed};
use crate::encoding::{Branch, Encoded};
use crate::math::random::{Purpose, Stream, stream};
use crate::space::Space;

/// The best trials of which a local search makes mutants.
const GOOD: usize = 5;

/// Expected improvement.
#[derive(Debug, Clone)]
pub(super) struct ImprovementProposer {
    model: ProcessModel,
    /// The initial design once it is made: it follows from space and seed.
    design: Vec<Feasible>,
}

impl ImprovementProposer {
    pub(super) fn new(
        space: &Space,
        settings: Improvement,
        seed: u64,
    ) -> Result<ImprovementProposer, Error> {
        Ok(ImprovementProposer {
            model: ProcessModel::new(space, settings, seed)?,
            design: Vec::new(),
        })
    }

    /// The next point of a design that covers the range of every parameter; a random one where that was tried.
    fn designed(&mut self, seen: &Seen<'_>) -> Result<Feasible, Error> {
        if self.design.is_empty() {
            let mut stream = stream(seen.seed, 0, Purpose::Design);
            self.design = design::stratified(seen.space, seen.n_initial, &mut stream)?;
        }
        // Somebody may have added or enqueued that very point.
        let next = self.design.get(seen.trials.len());
        let untried = next.filter(|next| !seen.tried.contains(seen.space, next.point()));
        untried.cloned().map_or_else(|| seen.random(), Ok)
    }
}

impl Proposer for ImprovementProposer {
    fn propose(&mut self, seen: &Seen<'_>) -> Result<Proposal, Error> {
        if is_designed(seen) {
            let (feasible, origin) = (self.designed(seen)?, Origin::Design);
            return Ok(Proposal { feasible, origin });
        }
        let mut belief = self.model.after(seen)?;
        if seen.trials.len().is_multiple_of(2) {
            belief = belief.sharpened();
        }
        let mut ask = Ask::new(seen, &self.model, seen.stream(Purpose::Acquisition));
        let codes: Vec<&Encoded> = seen.trials.iter().map(|trial| trial.at.code()).collect();
        // By default turns fall on the asks that a stall sharpens, so ordinary asks keep their length-scales meanwhile: what
        // came of asks elsewhere in between is no sign that they are stuck.
        if let Some(branch) = self.model.due(&codes)
            && let Some(proposal) = ask.in_branch(branch, &belief)?
        {
            return Ok(proposal);
        }
        ask.anywhere(&mut self.model, &belief)
    }

    fn recommend(
        &mut self,
        seen: &Seen<'_>,
        best: Recommendation,
    ) -> Result<Recommendation, Error> {
        let belief = self.model.without_pending(seen)?;
        let low_mean = Acquisition {
            belief: &belief,
            wanted: Wanted::Mean,
        };
        // Keyed by the tells, not by the trials: what is recommended changes only with what is known.
        let stream = stream(seen.seed, seen.told.len() as u64, Purpose::Recommendation);
        let mut ask = Ask::new(seen, &self.model, stream);
        let found = ask.climbed(&low_mean, &seen.incumbents(GOOD))?.minimum;
        let feasible = if belief.is_likely(&found.feasible) {
            found.feasible
        } else {
            best.feasible
        };
        let mean = seen.turned(belief.mean(&feasible));
        Ok(Recommendation { feasible, mean })
    }

    /// Of values alone: where trials have failed, of the value that there is if the next one does not.
    fn predict(&mut self, seen: &Seen<'_>, at: &[Placed]) -> Result<Vec<Estimate>, Error> {
        let belief = self.model.without_pending(seen)?;
        let sense = seen.aims.goal().sense;
        Ok(belief.estimates(at, sense))
    }

    fn boxed(&self) -> Box<dyn Proposer> {
        Box::new(self.clone())
    }
}

/// Whether the next point is one of the design. Where all trials have failed, the model knows where, and chance has every
/// second turn: it finds other places.
fn is_designed(seen: &Seen<'_>) -> bool {
    let is_blind = if seen.trials.len().is_multiple_of(2) {
        seen.told.is_empty()
    } else {
        !seen.has_value()
    };
    seen.trials.len() < seen.n_initial || is_blind
}

/// One search for a point, with its own random numbers.
struct Ask<'a> {
    seen: &'a Seen<'a>,
    points: RandomPoints<'a>,
    search: ImprovementSearch,
    stream: Stream,
}

impl<'a> Ask<'a> {
    fn new(seen: &'a Seen<'a>, model: &ProcessModel, stream: Stream) -> Ask<'a> {
        Ask {
            seen,
            points: RandomPoints::new(seen.space),
            search: model.settings().search,
            stream,
        }
    }

    /// The largest improvement within a branch, on the best outcome there; none where all of it was tried, or nothing of it was
    /// found.
    fn in_branch(
        &mut self,
        branch: &Branch,
        belief: &ProcessBelief,
    ) -> Result<Option<Proposal>, Error> {
        let target = belief.target_in(branch, &self.seen.observed());
        let improvement = self.improvement(belief, target, Some(branch));
        let good = self.points_in(branch);
        let found = self.climbed(&improvement, &good)?.minimum;
        Ok(found.value.is_finite().then(|| Proposal {
            feasible: found.feasible,
            origin: Origin::Turn(belief.kernel()),
        }))
    }

    /// The largest improvement, or an untried point instead of it.
    fn anywhere(
        &mut self,
        model: &mut ProcessModel,
        belief: &ProcessBelief,
    ) -> Result<Proposal, Error> {
        let mut good = self.seen.incumbents(GOOD);
        let n_incumbents = good.len();
        good.extend(self.drawn(model));
        let improvement = self.improvement(belief, belief.target, None);
        let Climbed { minimum, from } = self.climbed(&improvement, &good)?;
        let untried = self.seen.untried(&self.points);
        let feasible = untried.at_or_instead_of(minimum.feasible, None, &mut self.stream)?;
        // The drawn point comes last among the good ones.
        let origin = if from.is_some_and(|from| from >= n_incumbents) {
            Origin::Drawn(belief.kernel())
        } else {
            Origin::Improvement(belief.kernel())
        };
        Ok(Proposal { feasible, origin })
    }

    fn improvement<'b>(
        &self,
        belief: &'b ProcessBelief,
        target: f64,
        within: Option<&'b Branch>,
    ) -> Acquisition<'b>
    where
        'a: 'b,
    {
        let seen = self.seen;
        Acquisition {
            belief,
            wanted: Wanted::Improvement(Improve {
                target,
                seen,
                within,
            }),
        }
    }

    /// The minimum of a function drawn from the paper's model, where that proposes candidates.
    fn drawn(&mut self, model: &mut ProcessModel) -> Option<Feasible> {
        let linear = model.drawing(self.seen.told.len())?;
        let mut starts = self.seen.incumbents(1);
        starts.extend(self.points.draw(&mut self.stream));
        // A failure only means that there is one candidate less.
        let drawn = thompson::drawn(linear, self.seen, &starts, &mut self.stream).ok()?;
        drawn.minimum.map(|wish| wish.feasible)
    }

    /// Where a search within a branch should begin: its best trials, and random points of it where there are few.
    fn points_in(&mut self, branch: &Branch) -> Vec<Feasible> {
        let is_inside = |code: &Encoded| branch.holds(&code.bits);
        let mut found = self.seen.incumbents_where(GOOD, is_inside);
        let missing = found.len()..GOOD;
        found.extend(missing.filter_map(|_| self.points.draw_in(branch, &mut self.stream)));
        found
    }

    /// The lowest point that the search finds from good points.
    fn climbed(
        &mut self,
        acquisition: &Acquisition<'_>,
        good: &[Feasible],
    ) -> Result<Climbed, Error> {
        let (space, stream) = (self.seen.space, &mut self.stream);
        match self.search {
            ImprovementSearch::Local(settings) => Ok(local_search::minimise(
                space,
                acquisition,
                good,
                settings,
                stream,
            )?),
            ImprovementSearch::Annealing(settings) => {
                let mut energy = |at: &Feasible| acquisition.value(at);
                let Annealed {
                    feasible, energy, ..
                } = annealing::minimise(space, &mut energy, good, settings, stream)?;
                let value = energy;
                let minimum = Lowest { feasible, value };
                // A walk goes far from where it began.
                let from = None;
                Ok(Climbed { minimum, from })
            }
        }
    }
}
