//! Random feasible points: a space and a stream enter, points spread over the feasible set leave.
//!
//! Three ways, each tried a bounded number of times, from the cheapest and most uniform to the most stubborn:
//!
//! 1. bits from the [`Sampler`] over the discrete constraints, reals uniform, kept where every constraint holds;
//! 2. reals uniform, and bits from a sampler over the rows and tables that these reals leave;
//! 3. bits from the sampler, and reals moved by random steps that lessen what is violated until nothing is.

use mivabo_bqp::{Effort, Sampler};

use super::Feasible;
use crate::error::Error;
use crate::random::Stream;
use crate::space::{Class, Space};

/// Bits drawn by rejection, and reals drawn for each of them.
const BITS: usize = 16;
const REALS: usize = 8;

/// Reals drawn to look for bits that go with them.
const GIVEN_REALS: usize = 16;

/// Points that are moved towards the feasible set, and steps for each of them.
const REPAIRS: usize = 16;
const STEPS: usize = 600;

/// Draws random feasible points of one space.
#[derive(Debug)]
pub struct RandomPoints<'a> {
    space: &'a Space,
    sampler: Sampler<'a>,
    /// Whether a constraint speaks of reals.
    is_mixed: bool,
}

impl<'a> RandomPoints<'a> {
    /// Prepares the sampler of the bits.
    pub fn new(space: &'a Space) -> RandomPoints<'a> {
        let sampler = Sampler::new(space.encoding().problem());
        let is_mixed = space.constraints().iter().any(|c| c.class() >= Class::LinearContinuous);
        RandomPoints { space, sampler, is_mixed }
    }

    /// A random feasible point.
    ///
    /// # Errors
    /// [`Error::NoFeasiblePoint`] when all three ways failed. It is no proof that there is no such point.
    pub fn draw(&self, stream: &mut Stream) -> Result<Feasible, Error> {
        let found = self.by_rejection(stream);
        let found = if self.is_mixed { found.or_else(|| self.by_bits(stream)) } else { found };
        let found = if self.is_mixed { found.or_else(|| self.by_repair(stream)) } else { found };
        found.ok_or_else(|| Error::NoFeasiblePoint { tried: self.tried() })
    }

    fn by_rejection(&self, stream: &mut Stream) -> Option<Feasible> {
        for _ in 0..BITS {
            let bits = self.bits(stream)?;
            for _ in 0..REALS {
                let unit = self.reals(stream);
                if let Some(feasible) = Feasible::of_code(self.space, &bits, &unit) {
                    return Some(feasible);
                }
            }
        }
        None
    }

    fn by_bits(&self, stream: &mut Stream) -> Option<Feasible> {
        let effort = Effort { listing: 256, dives: 4, nodes: 10_000 };
        for _ in 0..GIVEN_REALS {
            let unit = self.reals(stream);
            let seed = seed(stream);
            let Ok(problem) = self.space.encoding().given_reals(&unit) else { continue };
            let bits = Sampler::with_effort(&problem, effort).sample(seed);
            let found = bits.and_then(|bits| Feasible::of_code(self.space, &bits, &unit));
            if found.is_some() {
                return found;
            }
        }
        None
    }

    fn by_repair(&self, stream: &mut Stream) -> Option<Feasible> {
        (0..REPAIRS).find_map(|_| {
            let bits = self.bits(stream)?;
            let unit = self.reals(stream);
            self.repaired(&bits, unit, stream)
        })
    }

    /// Random steps that are taken when less is violated. Their size grows with success and shrinks without, by the
    /// one-fifth rule (Rechenberg 1973).
    fn repaired(&self, bits: &[bool], mut unit: Vec<f64>, stream: &mut Stream) -> Option<Feasible> {
        let mut violated = self.violated(bits, &unit)?;
        let mut size = 0.3;
        for _ in 0..STEPS {
            if violated == 0.0 {
                break;
            }
            let next: Vec<f64> = unit.iter().map(|x| (x + size * stream.normal()).clamp(0.0, 1.0)).collect();
            let then = self.violated(bits, &next)?;
            if then < violated {
                (unit, violated) = (next, then);
                size = f64::min(1.5 * size, 1.0);
            } else {
                size *= 0.9;
            }
        }
        Feasible::of_code(self.space, bits, &unit)
    }

    /// By how much all constraints together are violated.
    fn violated(&self, bits: &[bool], unit: &[f64]) -> Option<f64> {
        let point = self.space.encoding().decode(bits, unit).ok()?;
        Some(self.space.check(&point).violations.iter().map(|violation| violation.amount).sum())
    }

    fn bits(&self, stream: &mut Stream) -> Option<Vec<bool>> {
        self.sampler.sample(seed(stream))
    }

    fn reals(&self, stream: &mut Stream) -> Vec<f64> {
        (0..self.space.encoding().n_reals()).map(|_| stream.unit()).collect()
    }

    fn tried(&self) -> String {
        if !self.is_mixed {
            return "a search for bits that satisfy the discrete constraints".into();
        }
        format!(
            "{} random points, bits for {GIVEN_REALS} random settings of the continuous parameters, and {REPAIRS} \
             walks of {STEPS} steps towards the feasible set",
            BITS * REALS
        )
    }
}

/// A seed for the sampler.
fn seed(stream: &mut Stream) -> u64 {
    stream.below(usize::MAX) as u64
}
