//! Local search over feasible points: a landscape and good points enter, a lower one leaves.
//!
//! Many candidates first: random feasible points, and mutants of the points that are known to be good. From the lowest few, hill
//! climbing: every value of every discrete parameter one at a time, mutants of one to three parameters, a jump into another branch
//! where parameters are conditional, and a descent in the region of the reals, in turn, until nothing improves. Every point on the way
//! is feasible.

use crate::acquire::Error;
use crate::acquire::moves::Moves;
use crate::acquire::{Feasible, Lowest};
use crate::encoding::region::minimise;
use crate::math::lbfgs;
use crate::math::random::Stream;
use crate::space::Space;

/// A function to be minimised over feasible points.
pub trait Surface {
    /// Its values at many points.
    fn values(&self, points: &[Feasible]) -> Vec<f64>;

    /// Its value at `at` with other coordinates, and the gradient by those.
    fn slope(&self, at: &Feasible, unit: &[f64], gradient: &mut [f64]) -> f64;
}

/// How much work a search may do.
///
/// | field | default | what it is |
/// |---|---|---|
/// | `random` | 60 | random feasible candidates |
/// | `mutants` | 240 | candidates that are mutants of good points |
/// | `climbs` | 4 | candidates from which hills are climbed |
/// | `rounds` | 12 | the most rounds of a climb |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClimbSettings {
    /// Random feasible candidates.
    pub random: usize,
    /// Mutants of good points.
    pub mutants: usize,
    /// Candidates from which hills are climbed.
    pub climbs: usize,
    /// The most rounds of a climb.
    pub rounds: usize,
}

impl Default for ClimbSettings {
    fn default() -> Self {
        ClimbSettings {
            random: 60,
            mutants: 240,
            climbs: 4,
            rounds: 12,
        }
    }
}

/// The most parameters that a mutant among the candidates changes, and one in a climb.
const FAR: usize = 6;
const NEAR: usize = 3;

/// Mutants in each round of a climb.
const PER_ROUND: usize = 20;

/// Candidates that are a good point in another branch.
const JUMPS: usize = 12;

/// Proposals in a round where neighbours are rare, and how few neighbours count as rare.
const RARE: usize = 5;

/// A descent in a round need not converge.
const DESCENT: minimise::DescentSettings = minimise::DescentSettings {
    inner: lbfgs::LbfgsSettings {
        max_iterations: 15,
        tolerance: 1e-6,
        memory: 8,
    },
    max_rounds: 8,
};

/// Where a search ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Climbed {
    /// The lowest point found.
    pub minimum: Lowest,
    /// The number of the good point from which the search came there; none where it came from a random one.
    pub from: Option<usize>,
}

/// The lowest point found; `good` are points from which mutants are made.
///
/// # Errors
/// [`Error::NoFeasiblePoint`] or [`Error::Infeasible`] when `good` is empty and no point was found.
pub fn minimise(
    space: &Space,
    landscape: &dyn Surface,
    good: &[Feasible],
    settings: ClimbSettings,
    stream: &mut Stream,
) -> Result<Climbed, Error> {
    let mut search = Search {
        space,
        landscape,
        moves: Moves::new(space, settings.random),
        settings,
    };
    let candidates = search.candidates(good, stream)?;
    let mut best: Option<Climbed> = None;
    for Climbed {
        minimum: start,
        from,
    } in candidates
    {
        let minimum = search.climb(start, stream);
        if best
            .as_ref()
            .is_none_or(|best| minimum.value < best.minimum.value)
        {
            best = Some(Climbed { minimum, from });
        }
    }
    best.ok_or(Error::NoFeasiblePoint {
        tried: "no candidate".into(),
    })
}

struct Search<'a> {
    space: &'a Space,
    landscape: &'a dyn Surface,
    moves: Moves<'a>,
    settings: ClimbSettings,
}

impl Search<'_> {
    /// The lowest candidates, no two of them with equal bits.
    fn candidates(
        &mut self,
        good: &[Feasible],
        stream: &mut Stream,
    ) -> Result<Vec<Climbed>, Error> {
        let drawn = self.moves.draw(self.settings.random, stream);
        if good.is_empty() {
            drawn?;
        }
        let mut points = good.to_vec();
        let mut from: Vec<Option<usize>> = (0..good.len()).map(Some).collect();
        points.extend(self.moves.pool.iter().cloned());
        from.resize(points.len(), None);
        for (parent, at) in good.iter().enumerate().cycle().take(self.settings.mutants) {
            let n = 1 + stream.below(FAR);
            let step = 10.0_f64.powf(-1.5 + 1.2 * stream.unit());
            points.extend(self.moves.changed(at, n, step, stream));
            from.resize(points.len(), Some(parent));
        }
        for (parent, at) in good.iter().enumerate().cycle().take(JUMPS) {
            points.extend(self.moves.jumped(at, stream));
            from.resize(points.len(), Some(parent));
        }
        let valued = self.valued(points).into_iter().zip(from);
        let mut found: Vec<Climbed> = valued
            .map(|(minimum, from)| Climbed { minimum, from })
            .collect();
        found.sort_by(|a, b| a.minimum.value.total_cmp(&b.minimum.value));
        let mut chosen: Vec<Climbed> = Vec::new();
        for candidate in found {
            let bits = &candidate.minimum.feasible.code().bits;
            let is_new = |other: &Climbed| other.minimum.feasible.code().bits != *bits;
            if chosen.len() < self.settings.climbs.max(1) && chosen.iter().all(is_new) {
                chosen.push(candidate);
            }
        }
        Ok(chosen)
    }

    fn climb(&mut self, start: Lowest, stream: &mut Stream) -> Lowest {
        let mut here = self.descended(start);
        for _ in 0..self.settings.rounds {
            let mut points = self.moves.neighbours(&here.feasible, stream);
            if points.len() < RARE {
                let heat = 1e-2;
                points.extend(
                    (0..RARE).filter_map(|_| self.moves.proposed(&here.feasible, heat, stream)),
                );
            }
            for _ in 0..PER_ROUND {
                let n = 1 + stream.below(NEAR);
                let step = 10.0_f64.powf(-2.0 + 1.5 * stream.unit());
                points.extend(self.moves.changed(&here.feasible, n, step, stream));
            }
            points.extend(self.moves.jumped(&here.feasible, stream));
            let lowest = self
                .valued(points)
                .into_iter()
                .min_by(|a, b| a.value.total_cmp(&b.value));
            match lowest.filter(|lowest| lowest.value < here.value) {
                Some(lower) => here = self.descended(lower),
                None => break,
            }
        }
        here
    }

    /// The same bits with lower reals, if there are any.
    fn descended(&self, here: Lowest) -> Lowest {
        if here.feasible.code().unit.is_empty() {
            return here;
        }
        self.lower_reals(&here)
            .filter(|lower| lower.value < here.value)
            .unwrap_or(here)
    }

    fn lower_reals(&self, here: &Lowest) -> Option<Lowest> {
        let code = here.feasible.code();
        let region = self.space.encoding().given_bits(&code.bits).ok()?;
        let slope =
            |x: &[f64], gradient: &mut [f64]| self.landscape.slope(&here.feasible, x, gradient);
        let end = region.minimise(&slope, std::slice::from_ref(&code.unit), DESCENT)?;
        let end = Feasible::of_code(self.space, &code.bits, &end.x)?;
        self.valued(vec![end]).pop()
    }

    /// NaN counts as the highest value.
    fn valued(&self, points: Vec<Feasible>) -> Vec<Lowest> {
        let values = self.landscape.values(&points);
        let valued = points.into_iter().zip(values);
        valued
            .map(|(feasible, value)| Lowest {
                feasible,
                value: if value.is_nan() { f64::INFINITY } else { value },
            })
            .collect()
    }
}
