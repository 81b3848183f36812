//! Random feasible points, spread over the feasible set.
//!
//! Five ways, each tried a bounded number of times, from the cheapest and most even to the most stubborn:
//!
//! 1. every parameter by itself, uniformly on its own scale, kept where every constraint holds;
//! 2. bits from the [`Sampler`] over the discrete constraints, reals uniform, kept where every constraint holds;
//! 3. reals uniform, and bits from a sampler over the rows and tables that these reals leave;
//! 4. bits from the sampler, and reals from the region that these bits leave;
//! 5. a walk over the bits that lessens what the best reals for them still violate.
//!
//! The second spreads points nearly as the first does unless an integer is logarithmic, and costs less where constraints are tight, so
//! the first is for spaces with such integers. Where parameters are conditional, the first two take a [branch](crate::encoding)
//! before all else: each is as likely as any other, however many codes it has. A way that fails is tried less the next time. Where
//! all fail, there may be a proof that no point exists.

use std::cell::Cell;

use mivabo_bqp::{Effort, Sampler};

use super::proof::conflict;
use super::walk::Walk;
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

/// Reals drawn to look for bits that go with them, and how long to look for those.
const GIVEN_REALS: usize = 16;
const BITS_EFFORT: Effort = Effort {
    listing: 256,
    dives: 4,
    nodes: 10_000,
};

/// Bits drawn to look for reals that go with them, and starts of the search for those.
const GIVEN_BITS: usize = 16;
const STARTS: usize = 2;

/// Walks over the bits, and steps of each.
const WALKS: usize = 8;
const STEPS: usize = 200;

/// Values of a parameter above which they are not looked at one by one.
const MANY_VALUES: u64 = 256;

/// Work budget of a batch of draws, in units of [`work`](RandomPoints::work): a quarter of a second. When it is spent, the batch ends
/// with what was drawn.
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

/// A way to draw a point, of those that become impatient.
#[derive(Debug, Clone, Copy)]
enum Way {
    ByParameters,
    ByCodes,
    GivenReals,
    GivenBits,
}

impl<'a> RandomPoints<'a> {
    /// Prepares the sampler of the bits.
    pub fn new(space: &'a Space) -> RandomPoints<'a> {
        let mut domains = space.parameters().iter().map(Parameter::domain);
        let is_log = domains.any(|domain| domain.is_log() && !domain.is_continuous());
        RandomPoints {
            space,
            sampler: space.encoding().sampler(),
            is_mixed: is_mixed(space),
            is_log,
            impatience: [const { Cell::new(1) }; 4],
            work: Cell::new(0),
        }
    }

    /// A random feasible point.
    ///
    /// # Errors
    /// [`Error::Encoding`] when it is proved that there is none; [`Error::NoFeasiblePoint`] when all ways failed,
    /// which proves nothing.
    pub fn draw(&self, stream: &mut Stream) -> Result<Feasible, Error> {
        if let Some(found) = self.by_rejection(stream) {
            return Ok(found);
        }
        // Without constraints on reals only the search for bits can have failed, and that took long: the others need it too.
        if !self.is_mixed {
            return Err(self.nothing_found());
        }
        if let Some(found) = self.by_repair(stream) {
            return Ok(found);
        }
        Err(match conflict(self.space) {
            Some(names) => encoding::Error::Infeasible { names }.into(),
            None => self.nothing_found(),
        })
    }

    /// How much work the draws so far were, in [units](Sampler::work) of some 60 ns; none where constraints are listed.
    pub fn work(&self) -> u64 {
        self.sampler.work().saturating_add(self.work.get())
    }

    /// Up to `n` random feasible points: fewer after a failure, since others would fail after as long a search, and after much
    /// work.
    pub(crate) fn draw_many(&self, n: usize, stream: &mut Stream) -> Vec<Feasible> {
        (0..n)
            .take_while(|drawn| *drawn == 0 || self.work() < MUCH_WORK)
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
        self.with_random_reals(&bits, stream)
    }

    /// The values of each choice, and of each truth value that conditions name, where it is always active: one list for each parameter
    /// that has more than one possible value.
    pub(crate) fn branches_by_value(&self) -> Vec<Vec<Branch>> {
        let encoding = self.space.encoding();
        let switches = encoding.switches();
        let parameters = self.space.parameters().iter().enumerate();
        let counted = parameters.filter(|(p, parameter)| {
            parameter.condition().is_none() && is_label(parameter, switches.contains(p))
        });
        let values = counted.map(|(p, _)| encoding.branches_by_value(p, &self.sampler));
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

    /// The first two ways.
    fn by_rejection(&self, stream: &mut Stream) -> Option<Feasible> {
        if self.is_log
            && let Some(found) = self.in_one_branch(stream)
        {
            return Some(found);
        }
        let n = if self.is_mixed { BITS } else { BITS_ALONE };
        self.tries(Way::ByCodes, n, || self.by_codes(stream))
    }

    fn in_one_branch(&self, stream: &mut Stream) -> Option<Feasible> {
        // One branch for all tries: a new one for each would prefer branches in which a try is likely to succeed.
        let branch = self.branch(stream);
        let by_parameters = || self.by_parameters(branch, stream);
        self.tries(Way::ByParameters, POINTS, by_parameters)
    }

    /// The other three.
    fn by_repair(&self, stream: &mut Stream) -> Option<Feasible> {
        self.tries(Way::GivenReals, GIVEN_REALS, || self.given_reals(stream))
            .or_else(|| self.tries(Way::GivenBits, GIVEN_BITS, || self.given_bits(stream)))
            .or_else(|| (0..WALKS).find_map(|_| self.by_walk(stream)))
    }

    /// Tries a way up to `n` times, and fewer after it has failed, but at least once.
    fn tries(
        &self,
        way: Way,
        n: usize,
        mut attempt: impl FnMut() -> Option<Feasible>,
    ) -> Option<Feasible> {
        let impatience = &self.impatience[way as usize];
        let found = (0..n.div_ceil(impatience.get())).find_map(|_| attempt());
        // A way that never succeeds soon costs one try a draw; a single success makes it patient again.
        impatience.set(match found {
            Some(_) => 1,
            None => (4 * impatience.get()).min(n),
        });
        found
    }

    fn by_parameters(&self, branch: Option<&Branch>, stream: &mut Stream) -> Option<Feasible> {
        let parameters = self.space.parameters().iter();
        let settings = parameters
            .map(|p| p.domain().index_at(stream.unit()).map(Setting::Index))
            .collect();
        let mut bits = self.space.encoding().encode(&Point { settings }).bits;
        if let Some(branch) = branch {
            // What the branch fixes holds, whatever was drawn; all else stays as drawn.
            for (bit, value) in bits.iter_mut().enumerate() {
                *value = branch.root().value(bit).unwrap_or(*value);
            }
        }
        Feasible::of_code(self.space, &bits, &self.reals(stream))
    }

    fn by_codes(&self, stream: &mut Stream) -> Option<Feasible> {
        let bits = self.bits(stream)?;
        self.with_random_reals(&bits, stream)
    }

    fn with_random_reals(&self, bits: &[bool], stream: &mut Stream) -> Option<Feasible> {
        (0..REALS).find_map(|_| Feasible::of_code(self.space, bits, &self.reals(stream)))
    }

    fn given_reals(&self, stream: &mut Stream) -> Option<Feasible> {
        let unit = self.reals(stream);
        // Drawn before anything can fail, so that every try takes as many numbers from the stream.
        let seed = seed(stream);
        let problem = self.space.encoding().given_reals(&unit).ok()?;
        let sampler = Sampler::with_effort(&problem, BITS_EFFORT);
        let bits = sampler.sample(seed);
        self.work
            .set(self.work.get().saturating_add(sampler.work()));
        Feasible::of_code(self.space, &bits?, &unit)
    }

    fn given_bits(&self, stream: &mut Stream) -> Option<Feasible> {
        let bits = self.bits(stream)?;
        let region = self.space.encoding().given_bits(&bits).ok()?;
        let unit = region.find(stream, STARTS)?;
        Feasible::of_code(self.space, &bits, &unit)
    }

    fn by_walk(&self, stream: &mut Stream) -> Option<Feasible> {
        let bits = self.bits(stream)?;
        let unit = self.reals(stream);
        Walk::at(self.space, bits, &unit)?.end(STEPS, stream)
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

    fn nothing_found(&self) -> Error {
        let tried = self.tried();
        Error::NoFeasiblePoint { tried }
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

/// Whether the values of a parameter are names without an order, few enough to look at one by one.
fn is_label(parameter: &Parameter, is_switch: bool) -> bool {
    let domain = parameter.domain();
    match domain.set {
        Set::Choice(_) => domain.size().is_some_and(|size| size <= MANY_VALUES),
        Set::Bool => is_switch,
        _ => false,
    }
}

/// A seed for the sampler.
fn seed(stream: &mut Stream) -> u64 {
    stream.below(usize::MAX) as u64
}
