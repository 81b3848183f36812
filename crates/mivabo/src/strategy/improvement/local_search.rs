//! Local search for a low point of a [`Surface`], from many candidates.
//!
//! Many candidates first: random feasible points, and mutants of the points that are known to be good. From the lowest few, hill
//! climbing: every value of every discrete parameter one at a time, mutants of one to three parameters, a jump into another branch
//! where parameters are conditional, and a descent in the region of the reals, in turn, until nothing improves. Every point on the way
//! is feasible.

use std::slice;

use crate::acquire::moves::Moves;
use crate::acquire::{Error, Feasible, Lowest};
use crate::encoding::Encoded;
use crate::encoding::region::minimise;
use crate::math::lbfgs;
use crate::math::random::Stream;
use crate::space::Space;

/// A function over feasible points that has slopes in their reals.
pub(super) trait Surface {
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
pub(crate) struct LocalSearchSettings {
    /// Random feasible candidates.
    pub random: usize,
    /// Mutants of good points.
    pub mutants: usize,
    /// Candidates from which hills are climbed.
    pub climbs: usize,
    /// The most rounds of a climb.
    pub rounds: usize,
}

impl Default for LocalSearchSettings {
    fn default() -> Self {
        LocalSearchSettings {
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

/// Proposals in a round where neighbours are rare, how few neighbours count as rare, and how hot the proposals are.
const RARE: usize = 5;
const HEAT: f64 = 1e-2;

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
pub(super) struct Climbed {
    /// The lowest point found.
    pub minimum: Lowest,
    /// The number of the good point from which the search came there; none where it came from a random one.
    pub from: Option<usize>,
}

/// The lowest point found; `good` are points from which mutants are made.
///
/// # Errors
/// [`Error::NoFeasiblePoint`] or [`Error::Encoding`] when `good` is empty and no point was found.
pub(super) fn minimise(
    space: &Space,
    surface: &dyn Surface,
    good: &[Feasible],
    settings: LocalSearchSettings,
    stream: &mut Stream,
) -> Result<Climbed, Error> {
    let mut search = Search {
        space,
        surface,
        moves: Moves::new(space, settings.random),
        settings,
    };
    let mut best: Option<Climbed> = None;
    for Climbed { minimum, from } in search.beginnings(good, stream)? {
        let minimum = search.climb(minimum, stream);
        let is_lower = |best: &Climbed| minimum.value < best.minimum.value;
        if best.as_ref().is_none_or(is_lower) {
            best = Some(Climbed { minimum, from });
        }
    }
    best.ok_or(Error::NoFeasiblePoint {
        tried: "no candidate".into(),
    })
}

struct Search<'a> {
    space: &'a Space,
    surface: &'a dyn Surface,
    moves: Moves<'a>,
    settings: LocalSearchSettings,
}

/// Points to begin with, and for each the number of the good point that it comes from.
#[derive(Default)]
struct Candidates {
    points: Vec<Feasible>,
    from: Vec<Option<usize>>,
}

impl Candidates {
    fn extend(&mut self, points: impl IntoIterator<Item = Feasible>, from: Option<usize>) {
        self.points.extend(points);
        self.from.resize(self.points.len(), from);
    }
}

impl Search<'_> {
    /// The lowest candidates, no two of them with equal bits.
    fn beginnings(
        &mut self,
        good: &[Feasible],
        stream: &mut Stream,
    ) -> Result<Vec<Climbed>, Error> {
        let Candidates { points, from } = self.candidates(good, stream)?;
        let valued = self.valued(points).into_iter().zip(from);
        let mut found: Vec<Climbed> = valued
            .map(|(minimum, from)| Climbed { minimum, from })
            .collect();
        found.sort_by(|a, b| a.minimum.value.total_cmp(&b.minimum.value));
        let n = self.settings.climbs.max(1);
        let mut chosen: Vec<Climbed> = Vec::new();
        for candidate in found {
            // The climbs are few, so they begin at different bits.
            let bits = &candidate.minimum.feasible.code().bits;
            let is_new = |other: &Climbed| other.minimum.feasible.code().bits != *bits;
            if chosen.len() < n && chosen.iter().all(is_new) {
                chosen.push(candidate);
            }
        }
        Ok(chosen)
    }

    /// The good points, random ones, and mutants of the good ones, each of them in turn.
    fn candidates(&mut self, good: &[Feasible], stream: &mut Stream) -> Result<Candidates, Error> {
        let drawn = self.moves.draw(self.settings.random, stream);
        // Without a good point there would be nothing to begin with; otherwise mutants are enough.
        if good.is_empty() {
            drawn?;
        }
        let mut candidates = Candidates::default();
        for (number, at) in good.iter().enumerate() {
            candidates.extend([at.clone()], Some(number));
        }
        candidates.extend(self.moves.pool.iter().cloned(), None);
        let parents = || good.iter().enumerate().cycle();
        for (parent, at) in parents().take(self.settings.mutants) {
            let n = 1 + stream.below(FAR);
            let step = 10.0_f64.powf(-1.5 + 1.2 * stream.unit());
            candidates.extend(self.moves.changed(at, n, step, stream), Some(parent));
        }
        for (parent, at) in parents().take(JUMPS) {
            candidates.extend(self.moves.jumped(at, stream), Some(parent));
        }
        Ok(candidates)
    }

    fn climb(&mut self, start: Lowest, stream: &mut Stream) -> Lowest {
        let mut here = self.descended(start);
        for _ in 0..self.settings.rounds {
            match self.lower(&here, stream) {
                Some(lower) => here = self.descended(lower),
                None => break,
            }
        }
        here
    }

    /// The lowest point around this one, where that is lower.
    fn lower(&mut self, here: &Lowest, stream: &mut Stream) -> Option<Lowest> {
        let points = self.around(&here.feasible, stream);
        let valued = self.valued(points).into_iter();
        let lowest = valued.min_by(|a, b| a.value.total_cmp(&b.value));
        lowest.filter(|lowest| lowest.value < here.value)
    }

    /// Where a climb may go from here: neighbours, mutants, and a jump.
    fn around(&mut self, here: &Feasible, stream: &mut Stream) -> Vec<Feasible> {
        let mut points = self.moves.neighbours(here, stream);
        if points.len() < RARE {
            // Under equations no single change is feasible, and proposals change what has to change together.
            let proposed = (0..RARE).filter_map(|_| self.moves.proposed(here, HEAT, stream));
            points.extend(proposed);
        }
        points.extend((0..PER_ROUND).filter_map(|_| self.mutant(here, stream)));
        points.extend(self.moves.jumped(here, stream));
        points
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
        let at = &here.feasible;
        let Encoded { bits, unit } = at.code();
        let region = self.space.encoding().given_bits(bits).ok()?;
        let slope = |x: &[f64], gradient: &mut [f64]| self.surface.slope(at, x, gradient);
        let end = region.minimise(&slope, slice::from_ref(unit), DESCENT)?;
        let end = Feasible::of_code(self.space, bits, &end.x)?;
        // Its value anew: inactive reals, which the descent may have moved, are back where they belong.
        self.valued(vec![end]).pop()
    }

    fn valued(&self, points: Vec<Feasible>) -> Vec<Lowest> {
        let values = self.surface.values(&points).into_iter().map(comparable);
        let lowest = |(feasible, value)| Lowest { feasible, value };
        points.into_iter().zip(values).map(lowest).collect()
    }

    /// A point with a few values changed, by a step of random size.
    fn mutant(&self, here: &Feasible, stream: &mut Stream) -> Option<Feasible> {
        let n = 1 + stream.below(NEAR);
        let step = 10.0_f64.powf(-2.0 + 1.5 * stream.unit());
        self.moves.changed(here, n, step, stream)
    }
}

/// NaN compares with nothing: a climb could neither leave it nor prefer anything to it.
fn comparable(value: f64) -> f64 {
    if value.is_nan() { f64::INFINITY } else { value }
}
