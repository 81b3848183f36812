//! Expected improvement by a Gaussian process over the parameters: the default strategy.

mod aim;
pub mod climb;
mod design;
mod fits;
pub mod gain;
mod model;
mod settings;
mod success;
mod turns;

use self::aim::{Aim, Believed};
use self::climb::Climbed;
use self::model::Model;
pub use self::settings::{Improvement, ImprovementSearch};
use super::{Error, Origin, Proposal, Proposer, Recommendation, Seen, thompson};
use crate::acquire::random::RandomPoints;
use crate::acquire::{Feasible, Lowest, annealing};
use crate::encoding::{Branch, Encoded};
use crate::math::random::{Purpose, Stream, stream};
use crate::space::Space;

/// The best trials of which a local search makes mutants.
const GOOD: usize = 5;

/// Expected improvement.
#[derive(Debug, Clone)]
pub(super) struct ImprovementProposer {
    model: Model,
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
            model: Model::new(space, settings, seed)?,
            design: Vec::new(),
        })
    }

    /// The next point of a design that covers the range of every parameter; a random one where that was tried.
    fn designed(&mut self, seen: &Seen<'_>) -> Result<Feasible, Error> {
        if self.design.is_empty() {
            let mut stream = stream(seen.seed, 0, Purpose::Design);
            self.design = design::stratified(seen.space, seen.n_initial, &mut stream)?;
        }
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
        let mut believed = self.model.after(seen)?;
        if seen.trials.len().is_multiple_of(2) {
            believed = believed.sharpened();
        }
        let mut ask = Ask {
            seen,
            points: RandomPoints::new(seen.space),
            search: self.model.settings().search,
            stream: seen.stream(Purpose::Acquisition),
        };
        let codes: Vec<&Encoded> = seen.trials.iter().map(|trial| trial.at.code()).collect();
        // By default turns fall on the asks that a stall sharpens, so ordinary asks keep their length-scales meanwhile: what
        // came of asks elsewhere in between is no sign that they are stuck.
        if let Some(branch) = self.model.due(&codes) {
            let minimum = ask.lowest_in(branch, &believed)?;
            // Where all of it was tried, or nothing of it was found, the ask is an ordinary one.
            if minimum.value.is_finite() {
                let origin = Origin::Turn(believed.kernel());
                let feasible = minimum.feasible;
                return Ok(Proposal { feasible, origin });
            }
        }
        ask.anywhere(&mut self.model, &believed)
    }

    fn recommend(
        &mut self,
        seen: &Seen<'_>,
        best: Recommendation,
    ) -> Result<Recommendation, Error> {
        let believed = self.model.without_pending(seen)?;
        let aim = Aim {
            believed: &believed,
            target: believed.target(),
            tried: None,
            within: None,
        };
        let mut ask = Ask {
            seen,
            points: RandomPoints::new(seen.space),
            search: self.model.settings().search,
            stream: stream(seen.seed, seen.told.len() as u64, Purpose::Recommendation),
        };
        let found = ask.climbed(&aim, &seen.incumbents(GOOD))?.minimum.feasible;
        let feasible = if believed.is_likely(&found) {
            found
        } else {
            best.feasible
        };
        let mean = seen.turned(believed.mean(&feasible));
        Ok(Recommendation { feasible, mean })
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

impl Ask<'_> {
    /// The largest improvement within a branch, on the best outcome there.
    fn lowest_in(&mut self, branch: &Branch, believed: &Believed) -> Result<Lowest, Error> {
        let aim = Aim {
            believed,
            target: believed.target_in(branch, &self.seen.observed()),
            tried: Some((self.seen.space, self.seen.tried)),
            within: Some(branch),
        };
        let good = self.points_in(branch);
        Ok(self.climbed(&aim, &good)?.minimum)
    }

    /// The largest improvement, or an untried point instead of it.
    fn anywhere(&mut self, model: &mut Model, believed: &Believed) -> Result<Proposal, Error> {
        let mut good = self.seen.incumbents(GOOD);
        let n_incumbents = good.len();
        good.extend(self.drawn(model));
        let aim = Aim {
            believed,
            target: believed.target(),
            tried: Some((self.seen.space, self.seen.tried)),
            within: None,
        };
        let Climbed { minimum, from } = self.climbed(&aim, &good)?;
        let feasible = self.seen.untried(&self.points).at_or_instead_of(
            minimum.feasible,
            None,
            &mut self.stream,
        )?;
        let is_drawn = from.is_some_and(|from| from >= n_incumbents);
        let origin = if is_drawn {
            Origin::Drawn(believed.kernel())
        } else {
            Origin::Improvement(believed.kernel())
        };
        Ok(Proposal { feasible, origin })
    }

    /// The minimum of a function drawn from the paper's model, where that proposes candidates. One less is no reason to fail.
    fn drawn(&mut self, model: &mut Model) -> Option<Feasible> {
        let linear = model.drawing(self.seen.told.len())?;
        let mut starts = self.seen.incumbents(1);
        starts.extend(self.points.draw(&mut self.stream));
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

    /// The lowest point of a landscape that the search finds from good points.
    fn climbed(&mut self, aim: &Aim<'_>, good: &[Feasible]) -> Result<Climbed, Error> {
        let (space, stream) = (self.seen.space, &mut self.stream);
        match self.search {
            ImprovementSearch::Local(settings) => {
                Ok(climb::minimise(space, aim, good, settings, stream)?)
            }
            ImprovementSearch::Annealing(settings) => {
                let mut energy = |at: &Feasible| aim.value(at);
                let found = annealing::minimise(space, &mut energy, good, settings, stream)?;
                let minimum = Lowest {
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
}
