//! Random feasible points: a space and a stream enter, points spread over the feasible set leave.
//!
//! Five ways, each tried a bounded number of times, from the cheapest and most even to the most stubborn:
//!
//! 1. every parameter by itself, uniformly on its own scale, kept where every constraint holds;
//! 2. bits from the [`Sampler`] over the discrete constraints, reals uniform, kept where every constraint holds;
//! 3. reals uniform, and bits from a sampler over the rows and tables that these reals leave;
//! 4. bits from the sampler, and reals from the [region](crate::encoding::region) that these bits leave;
//! 5. a walk over the bits that lessens what the best reals for them still violate.
//!
//! The second spreads points nearly as the first does unless an integer is logarithmic, and costs less where constraints are tight, so
//! the first is for spaces with such integers. Where parameters are conditional, the first two take a [branch](crate::encoding)
//! before all else: each is as likely as any other, however many codes it has. A way that fails is tried less the next time. Where
//! all fail, there may be a proof that no point exists.

use std::cell::Cell;

use mivabo_bqp::{Distance, Effort, Limits, Sampler, nearest};

use super::{Feasible, is_mixed};
use crate::acquire::Error;
use crate::encoding;
use crate::encoding::Branch;
use crate::language::domain::Set;
use crate::language::point::Setting;
use crate::math::random::Stream;
use crate::space::{Parameter, Point, Space};

/// Points of which every parameter is drawn by itself.
const POINTS: usize = 200;

/// Bits drawn by rejection, and reals drawn for each of them.
const BITS: usize = 16;
const REALS: usize = 8;

/// Bits drawn where reals are free.
const BITS_ALONE: usize = 2;

/// Reals drawn to look for bits that go with them.
const GIVEN_REALS: usize = 16;

/// Bits drawn to look for reals that go with them, and starts of the search for those.
const GIVEN_BITS: usize = 16;
const STARTS: usize = 2;

/// Walks over the bits, and steps of each.
const WALKS: usize = 8;
const STEPS: usize = 200;

/// Nodes in the search for the bits nearest to a wish.
const NEAREST_NODES: u64 = 10;

/// Codes that are looked at one by one, and pieces of their regions, in the search for a proof.
const PROVED_BITS: usize = 12;
const PROVED_BOXES: usize = 20_000;

/// Values of a parameter above which they are not looked at one by one.
const MANY_VALUES: u64 = 256;

/// [Work](RandomPoints::work) after which those who draw many points make do with those that they have: a quarter of a second.
pub(crate) const MUCH_WORK: u64 = 4_000_000;

/// Draws random feasible points of one space.
#[derive(Debug)]
pub struct RandomPoints<'a> {
    space: &'a Space,
    sampler: Sampler<'a>,
    /// Whether a constraint speaks of reals.
    is_mixed: bool,
    /// Whether an integer is logarithmic.
    is_log: bool,
    /// For each of the first four ways by how much its tries are divided.
    impatience: [Cell<usize>; 4],
    /// Work of samplers over what given reals leave.
    work: Cell<u64>,
}

impl<'a> RandomPoints<'a> {
    /// Prepares the sampler of the bits.
    pub fn new(space: &'a Space) -> RandomPoints<'a> {
        let sampler = space.encoding().sampler();
        let impatience = [const { Cell::new(1) }; 4];
        let mut domains = space.parameters().iter().map(Parameter::domain);
        let is_log = domains.any(|domain| domain.is_log() && !domain.is_continuous());
        RandomPoints {
            space,
            sampler,
            is_mixed: is_mixed(space),
            is_log,
            impatience,
            work: Cell::new(0),
        }
    }

    /// A random feasible point.
    ///
    /// # Errors
    /// [`Error::Infeasible`] when it is proved that there is none; [`Error::NoFeasiblePoint`] when all ways failed,
    /// which proves nothing.
    pub fn draw(&self, stream: &mut Stream) -> Result<Feasible, Error> {
        if self.is_log {
            let branch = self.branch(stream);
            if let Some(found) = self.tries(0, POINTS, |_| self.by_parameters(branch, stream)) {
                return Ok(found);
            }
        }
        // Without constraints on reals only the search for bits can fail, and that took long.
        let tries = if self.is_mixed { BITS } else { BITS_ALONE };
        if let Some(found) = self.tries(1, tries, |_| self.by_codes(stream)) {
            return Ok(found);
        }
        if !self.is_mixed {
            return Err(Error::NoFeasiblePoint {
                tried: self.tried(),
            });
        }
        let found = self
            .tries(2, GIVEN_REALS, |_| self.by_bits(stream))
            .or_else(|| self.tries(3, GIVEN_BITS, |_| self.by_reals(stream)))
            .or_else(|| (0..WALKS).find_map(|_| self.by_walk(stream)));
        found.ok_or_else(|| match self.conflict() {
            Some(names) => encoding::Error::Infeasible { names }.into(),
            None => Error::NoFeasiblePoint {
                tried: self.tried(),
            },
        })
    }

    /// How much work the draws so far were, in [units](Sampler::work) of some 60 ns; none where constraints are listed.
    pub fn work(&self) -> u64 {
        self.sampler.work().saturating_add(self.work.get())
    }

    /// Up to `n` random feasible points: fewer after a failure, since others would fail after as long a search, and after much
    /// work.
    pub(crate) fn draw_many(&self, n: usize, stream: &mut Stream) -> Vec<Feasible> {
        let goes_on = |drawn: &usize| *drawn == 0 || self.work() < MUCH_WORK;
        (0..n)
            .take_while(goes_on)
            .map_while(|_| self.draw(stream).ok())
            .collect()
    }

    /// A random feasible point of a random branch, quickly or not at all; never where no parameter is conditional.
    pub(super) fn draw_branch(&self, stream: &mut Stream) -> Option<Feasible> {
        self.draw_in(self.branch(stream)?, stream)
    }

    /// A random feasible point of a branch, quickly or not at all.
    pub(crate) fn draw_in(&self, branch: &Branch, stream: &mut Stream) -> Option<Feasible> {
        let bits = self.sampler.sample_from(branch.root(), seed(stream))?;
        (0..REALS).find_map(|_| Feasible::of_code(self.space, &bits, &self.reals(stream)))
    }

    /// The values of each choice, and of each truth value that conditions name, where it is always active: one list for each parameter
    /// that has more than one possible value.
    pub(crate) fn branches_by_value(&self) -> Vec<Vec<Branch>> {
        let (parameters, switches) = (self.space.parameters(), self.space.encoding().switches());
        let is_counted = |p: &usize| {
            let domain = parameters[*p].domain();
            let is_small = domain.size().is_some_and(|size| size <= MANY_VALUES);
            let is_label = match domain.set {
                Set::Choice(_) => is_small,
                Set::Bool => switches.contains(p),
                _ => false,
            };
            is_label && parameters[*p].condition().is_none()
        };
        let counted = (0..parameters.len()).filter(is_counted);
        let values = counted.map(|p| self.space.encoding().branches_by_value(p, &self.sampler));
        values.filter(|values| values.len() > 1).collect()
    }

    /// The branches of the space: one for each way in which the parameters that conditions name may be set.
    pub(crate) fn branches(&self) -> &[Branch] {
        self.space.encoding().branches(&self.sampler)
    }

    /// The space.
    pub(crate) fn space(&self) -> &'a Space {
        self.space
    }

    /// Tries a way up to `n` times, and fewer after it has failed, but at least once.
    fn tries(
        &self,
        way: usize,
        n: usize,
        mut attempt: impl FnMut(usize) -> Option<Feasible>,
    ) -> Option<Feasible> {
        let impatience = &self.impatience[way];
        let found = (0..n.div_ceil(impatience.get())).find_map(&mut attempt);
        impatience.set(if found.is_some() {
            1
        } else {
            (4 * impatience.get()).min(n)
        });
        found
    }

    fn by_parameters(&self, branch: Option<&Branch>, stream: &mut Stream) -> Option<Feasible> {
        let parameters = self.space.parameters().iter();
        let settings = parameters
            .map(|p| p.domain().index_at(stream.unit()).map(Setting::Index))
            .collect();
        let drawn = self
            .space
            .encoding()
            .encode(&Point { settings })
            .bits
            .into_iter()
            .enumerate();
        let given = |bit| branch.and_then(|branch| branch.root().value(bit));
        let bits: Vec<bool> = drawn
            .map(|(bit, drawn)| given(bit).unwrap_or(drawn))
            .collect();
        Feasible::of_code(self.space, &bits, &self.reals(stream))
    }

    fn by_codes(&self, stream: &mut Stream) -> Option<Feasible> {
        let bits = self.bits(stream)?;
        (0..REALS).find_map(|_| Feasible::of_code(self.space, &bits, &self.reals(stream)))
    }

    fn by_bits(&self, stream: &mut Stream) -> Option<Feasible> {
        let effort = Effort {
            listing: 256,
            dives: 4,
            nodes: 10_000,
        };
        let unit = self.reals(stream);
        let seed = seed(stream);
        let problem = self.space.encoding().given_reals(&unit).ok()?;
        let sampler = Sampler::with_effort(&problem, effort);
        let bits = sampler.sample(seed);
        self.work
            .set(self.work.get().saturating_add(sampler.work()));
        Feasible::of_code(self.space, &bits?, &unit)
    }

    fn by_reals(&self, stream: &mut Stream) -> Option<Feasible> {
        let bits = self.bits(stream)?;
        let unit = self
            .space
            .encoding()
            .given_bits(&bits)
            .ok()?
            .find(stream, STARTS)?;
        Feasible::of_code(self.space, &bits, &unit)
    }

    /// Changes one parameter after the other, at random, wherever that leaves less to violate, or as much.
    fn by_walk(&self, stream: &mut Stream) -> Option<Feasible> {
        let mut bits = self.bits(stream)?;
        let (mut unit, mut violated) = self.nearest_reals(&bits, &self.reals(stream))?;
        for _ in 0..STEPS {
            if violated == 0.0 {
                break;
            }
            let Some(next) = self.neighbour(&bits, &unit, stream) else {
                continue;
            };
            let Some((reals, then)) = self.nearest_reals(&next, &unit) else {
                continue;
            };
            if then <= violated {
                (bits, unit, violated) = (next, reals, then);
            }
        }
        Feasible::of_code(self.space, &bits, &unit)
    }

    /// The reals that violate least from here, and by how much: what the limits of the region fail by, and a thousandth
    /// for each constraint that does not hold.
    fn nearest_reals(&self, bits: &[bool], unit: &[f64]) -> Option<(Vec<f64>, f64)> {
        let region = self.space.encoding().given_bits(bits).ok()?;
        let nearest = region.nearest(unit);
        let unit = region.repaired(&nearest).unwrap_or(nearest);
        let point = self.space.encoding().decode(bits, &unit).ok()?;
        let n_violated = self.space.check(&point).violations.len();
        let by = if n_violated == 0 {
            0.0
        } else {
            region.violation(&unit) + 1e-3 * n_violated as f64
        };
        Some((unit, by))
    }

    /// The bits that satisfy the discrete constraints nearest to these with another value of one parameter.
    fn neighbour(&self, bits: &[bool], unit: &[f64], stream: &mut Stream) -> Option<Vec<bool>> {
        let (space, encoding) = (self.space, self.space.encoding());
        let mut point = encoding.decode(bits, unit).ok()?;
        let p = stream.below(space.parameters().len());
        let size = space.parameters()[p].domain().size()?;
        let Some(Setting::Index(old)) = point.settings[p] else {
            return None;
        };
        let next = stream.below(usize::try_from(size).ok()?) as u64;
        if next == old {
            return None;
        }
        point.settings[p] = Some(Setting::Index(next));
        let wish = encoding.encode(&point).bits;
        if encoding.problem().is_feasible(&wish) {
            return Some(wish);
        }
        let held: Vec<usize> = encoding.bits_of(p).collect();
        let limits = Limits {
            nodes: Some(NEAREST_NODES),
            ..Limits::default()
        };
        let distance = Distance::hamming(wish.len());
        let outcome = nearest(encoding.problem(), &wish, &distance, &held, limits)
            .ok()?
            .ok()?;
        outcome.into_solution().map(|solution| solution.x)
    }

    /// Constraints that no point satisfies together, if that is proved; without any one of them it is not.
    fn conflict(&self) -> Option<Vec<String>> {
        let encoding = self.space.encoding();
        let n = encoding.n_bits();
        if n > PROVED_BITS {
            return None;
        }
        let unit = vec![0.5; encoding.n_reals()];
        let codes =
            (0..1_u32 << n).map(|code| (0..n).map(|k| code >> k & 1 == 1).collect::<Vec<bool>>());
        // One code for each point: what is inactive has any bits otherwise.
        let codes = codes.filter(|bits| {
            encoding
                .decode(bits, &unit)
                .is_ok_and(|p| encoding.encode(&p).bits == *bits)
        });
        let regions = codes
            .map(|bits| encoding.given_bits(&bits))
            .collect::<Result<Vec<_>, _>>()
            .ok()?;
        let is_proved = |kept: &[usize]| {
            let mut boxes = PROVED_BOXES;
            regions
                .iter()
                .all(|region| region.is_proved_empty(&|c| kept.contains(&c), &mut boxes))
        };
        let constraints = self.space.constraints();
        let mut kept: Vec<usize> = (0..constraints.len()).collect();
        if !is_proved(&kept) {
            return None;
        }
        for c in kept.clone() {
            let without: Vec<usize> = kept.iter().copied().filter(|k| *k != c).collect();
            if is_proved(&without) {
                kept = without;
            }
        }
        Some(
            kept.into_iter()
                .map(|c| constraints[c].name().to_owned())
                .collect(),
        )
    }

    /// A random branch, each as likely as any other; none where no parameter is conditional.
    fn branch(&self, stream: &mut Stream) -> Option<&Branch> {
        let branches = self.branches();
        branches.get(stream.below(branches.len().max(1)))
    }

    /// Of a random branch, where there are any, or of all.
    fn bits(&self, stream: &mut Stream) -> Option<Vec<bool>> {
        let found = self
            .branch(stream)
            .and_then(|branch| self.sampler.sample_from(branch.root(), seed(stream)));
        found.or_else(|| self.sampler.sample(seed(stream)))
    }

    fn reals(&self, stream: &mut Stream) -> Vec<f64> {
        (0..self.space.encoding().n_reals())
            .map(|_| stream.unit())
            .collect()
    }

    fn tried(&self) -> String {
        if !self.is_mixed {
            return "a search for bits that satisfy the discrete constraints".into();
        }
        format!(
            "{} random points, discrete values for {GIVEN_REALS} random settings of the continuous parameters, \
             continuous values for {GIVEN_BITS} random settings of the discrete parameters, and {WALKS} walks of {STEPS} \
             steps towards the feasible set",
            BITS * REALS + if self.is_log { POINTS } else { 0 }
        )
    }
}

/// A seed for the sampler.
fn seed(stream: &mut Stream) -> u64 {
    stream.below(usize::MAX) as u64
}
