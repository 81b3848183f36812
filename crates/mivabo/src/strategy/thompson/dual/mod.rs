//! Dual decomposition of a drawn function: a feasible point, and a bound on how far it may be from the best. MiVaBo, App. G and H.
//!
//! ```text
//! f = f_d(x_d) + f_c(x_c) + Σₖ fₖ(x_d|k, x_c|k)          every factor k gets copies of its bits and reals,
//! max over λ of L(λ) ≤ min f                             which the multipliers λ pull towards the originals
//! ```
//!
//! Each iteration solves the slaves at the present λ (`slaves`), which gives a bound, and makes feasible points of
//! their answers, which give a value: the discrete slave's bits with reals by [`Region::minimise`](crate::encoding::region::Region::minimise),
//! the continuous slave's reals with bits by branch and bound, both polished by [`alternating`]. The master then moves λ. Constraints over
//! reals are left out of the slaves, so the bound holds, and are kept by every point. The best bound and the best
//! point stay.

mod factors;
mod slaves;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use mivabo_bqp::{DiscreteOracle, Limits, Solver, interrupt};

use self::slaves::{Answer, Link, Slaves};
use super::alternating;
use crate::acquire::Error;
use crate::acquire::{Feasible, Lowest};
use crate::encoding::Encoded;
use crate::encoding::region::minimise;
use crate::features::Weights;
use crate::space::Space;

/// How the multipliers move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Master {
    /// λ ← λ + θ (value - L) / |g|² · g, g = originals less copies: a supergradient step of Polyak's length. After four
    /// steps without a better bound θ halves and the best λ is taken up again.
    #[default]
    Subgradient,
    /// One bit after the other, all its multipliers at once: with δₛ = (least value of slave s with the bit set) - (least
    /// without), every λ is moved so that all slaves that share the bit have the mean of their δ. This is the best that
    /// these multipliers can do, for L depends on them by Σₛ min(0, δₛ) and leaves Σₛ δₛ as it is (Sontag et al. 2011). The
    /// multipliers of the reals have no such step and follow the supergradient.
    BlockCoordinate,
}

/// In what the copies of the reals must agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Coupling {
    /// In their coordinates, as in the paper.
    #[cfg_attr(
        not(test),
        expect(
            dead_code,
            reason = "the lower bounds that those of `Waves` are compared with"
        )
    )]
    Coordinates,
    /// In their coordinates and in every wave of the model. It follows from the coordinates, but not in the
    /// relaxation: bounds are higher.
    #[default]
    Waves,
}

/// How much work a decomposition may do.
///
/// | field | default | what it does |
/// |---|---|---|
/// | `master` | subgradient | how the multipliers move |
/// | `coupling` | waves | in what copies must agree |
/// | `iterations` | 50 | the most moves of the multipliers |
/// | `gap` | 1e-6 | stops once value - bound ≤ gap · max(1, \|value\|) |
/// | `factor_bits` | 4 | factors join while they have at most as many bits |
/// | `nodes` | 1,000 | nodes of the branch and bound in the discrete slave |
/// | `boxes` | 1,000 | boxes of each search over reals |
/// | `slave_gap` | 1e-7 | the gap at which a search over reals stops |
/// | `polish` | as [`alternating`] | the search from recovered points |
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DualSettings {
    /// How the multipliers move.
    pub master: Master,
    /// In what copies must agree.
    pub coupling: Coupling,
    /// The most moves of the multipliers.
    pub iterations: usize,
    /// The gap at which to stop, relative to max(1, |value|).
    pub gap: f64,
    /// Bits up to which factors join.
    pub factor_bits: usize,
    /// Nodes in the discrete slave.
    pub nodes: u64,
    /// Boxes of each search over reals.
    pub boxes: usize,
    /// The gap of each search over reals.
    pub slave_gap: f64,
    /// The search from recovered points.
    pub polish: alternating::AlternatingSettings,
}

impl Default for DualSettings {
    fn default() -> Self {
        DualSettings {
            master: Master::default(),
            coupling: Coupling::default(),
            iterations: 50,
            gap: 1e-6,
            factor_bits: 4,
            nodes: 1_000,
            boxes: 1_000,
            slave_gap: 1e-7,
            polish: alternating::AlternatingSettings::default(),
        }
    }
}

/// A point, and how far it may be from the best.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Decomposed {
    /// The point.
    pub feasible: Feasible,
    /// The function there, in the model's units.
    pub value: f64,
    /// No feasible point has a value below this.
    pub bound: f64,
    /// value - bound, not negative.
    pub gap: f64,
    /// How often the slaves were solved.
    pub iterations: usize,
    /// How many mixed factors there are.
    pub n_factors: usize,
}

/// The lowest point found, with a bound; none when no feasible point was found.
///
/// # Errors
/// [`Error::Features`] when a weight is too large for a program, or a monomial has more than 14 bits.
///
/// # Panics
/// When the weights belong to a space with more bits.
pub(crate) fn minimise(
    space: &Space,
    weights: &Weights,
    starts: &[Feasible],
    settings: DualSettings,
) -> Result<Option<Decomposed>, Error> {
    minimise_with(&Solver::default(), space, weights, starts, settings)
}

/// As [`minimise`], with another oracle for the discrete slave and for the discrete halves of recovered points.
///
/// Each search has a clone of its own, so that what an oracle carries over stays within that search.
///
/// # Errors
/// As [`minimise`].
///
/// # Panics
/// As [`minimise`].
pub(crate) fn minimise_with<O: DiscreteOracle + Clone>(
    oracle: &O,
    space: &Space,
    weights: &Weights,
    starts: &[Feasible],
    settings: DualSettings,
) -> Result<Option<Decomposed>, Error> {
    let mut recovery = Recovery::new(oracle, space, weights, settings, starts)?;
    let mut slaves = Slaves::new(oracle.clone(), space, weights, settings)?;
    let mut ascent = Ascent::new(slaves.zeros());
    let mut iterations = 0;
    while let Some(answer) = ascent.answer(&mut slaves, settings.master) {
        interrupt::check();
        iterations += 1;
        // The points first: a better value makes the next step longer or ends the ascent.
        recovery.recover(&answer)?;
        let value = recovery.best.as_ref().map(|best| best.value);
        ascent.look_at(&answer);
        if iterations >= settings.iterations.max(1) || ascent.is_over(value, settings.gap) {
            break;
        }
        ascent.step(&answer, value, settings.master);
    }
    let n_factors = slaves.factors.len();
    Ok(recovery.best.map(|Lowest { feasible, value }| {
        // Rounding must not make the gap negative.
        let bound = ascent.bound.min(value);
        Decomposed {
            feasible,
            value,
            bound,
            gap: value - bound,
            iterations,
            n_factors,
        }
    }))
}

/// After so many steps without a better bound, steps become shorter.
const PATIENCE: usize = 4;

/// Copies this close to their originals agree: what is left of the gap is the slaves' own.
const AGREEMENT: f64 = 1e-7;

/// The master: where the multipliers are, and the best that was seen.
struct Ascent {
    links: Vec<Link>,
    best: Vec<Link>,
    bound: f64,
    /// θ
    relaxation: f64,
    n_vain: usize,
    n_steps: usize,
    is_flat: bool,
}

impl Ascent {
    fn new(links: Vec<Link>) -> Ascent {
        let best = links.clone();
        let bound = f64::NEG_INFINITY;
        Ascent {
            links,
            best,
            bound,
            relaxation: 1.0,
            n_vain: 0,
            n_steps: 0,
            is_flat: false,
        }
    }

    /// The slaves' answer, after the block steps where the master makes them; none when there is no feasible point.
    fn answer<O: DiscreteOracle>(
        &mut self,
        slaves: &mut Slaves<'_, O>,
        master: Master,
    ) -> Option<Answer> {
        let minima = slaves.minima(&self.links);
        if master == Master::BlockCoordinate {
            for bit in slaves.coupled_bits() {
                slaves.average(bit, &mut self.links, &minima);
            }
        }
        slaves.answer(&self.links, &minima).ok()
    }

    fn look_at(&mut self, answer: &Answer) {
        if answer.bound > self.bound {
            self.bound = answer.bound;
            self.best.clone_from(&self.links);
            self.n_vain = 0;
        } else {
            self.n_vain += 1;
        }
        // All copies agree with their originals: no multipliers are better.
        self.is_flat = agree(&answer.differences);
    }

    fn is_over(&self, value: Option<f64>, gap: f64) -> bool {
        let is_close = |value: f64| value - self.bound <= gap * value.abs().max(1.0);
        self.is_flat || value.is_some_and(is_close)
    }

    fn step(&mut self, answer: &Answer, value: Option<f64>, master: Master) {
        if self.n_vain >= PATIENCE {
            self.turn_back();
        }
        self.n_steps += 1;
        let directions = directions(answer, master);
        let length = self.length(answer, value, &directions);
        if length.is_finite() {
            for (link, by) in self.links.iter_mut().zip(&directions) {
                link.add(length, by);
            }
        }
    }

    fn turn_back(&mut self) {
        // Where no multipliers reach the value, Polyak's length overshoots for good: back to the best ones, with shorter steps.
        self.links.clone_from(&self.best);
        self.relaxation *= 0.5;
        self.n_vain = 0;
    }

    /// Polyak's length; without a value to aim at one of those that vanish and whose sum does not.
    fn length(&self, answer: &Answer, value: Option<f64>, directions: &[Link]) -> f64 {
        let square: f64 = directions.iter().flat_map(Link::all).map(|d| d * d).sum();
        let aim = value.map(|value| self.relaxation * (value - answer.bound));
        let aim = aim.filter(|aim| aim.is_finite());
        aim.unwrap_or(1.0 / self.n_steps as f64) / square
    }
}

fn agree(differences: &[Link]) -> bool {
    let mut differences = differences.iter().flat_map(Link::all);
    differences.all(|d| d.abs() <= AGREEMENT)
}

/// Where the multipliers move to.
fn directions(answer: &Answer, master: Master) -> Vec<Link> {
    let mut directions = answer.differences.clone();
    if master == Master::BlockCoordinate {
        // The multipliers of the bits have had their block steps.
        for direction in &mut directions {
            direction.bits.fill(0.0);
        }
    }
    directions
}

/// Makes feasible points of what the slaves answer, and keeps the best.
struct Recovery<'a, O> {
    space: &'a Space,
    weights: &'a Weights,
    settings: DualSettings,
    oracle: &'a O,
    /// Bits that were completed before.
    tried: BTreeSet<Vec<bool>>,
    best: Option<Lowest>,
}

impl<'a, O: DiscreteOracle + Clone> Recovery<'a, O> {
    /// Begins with what alternating optimisation makes of the starts.
    fn new(
        oracle: &'a O,
        space: &'a Space,
        weights: &'a Weights,
        settings: DualSettings,
        starts: &[Feasible],
    ) -> Result<Self, Error> {
        let polish = settings.polish;
        let best = alternating::minimise_with(&mut oracle.clone(), space, weights, starts, polish)?;
        let mut recovery = Recovery {
            space,
            weights,
            settings,
            oracle,
            tried: BTreeSet::new(),
            best,
        };
        // Beginning with the other half ends elsewhere.
        for start in starts {
            recovery.polish(Some(start.clone()))?;
        }
        Ok(recovery)
    }

    fn recover(&mut self, answer: &Answer) -> Result<(), Error> {
        let new_bits = answer.bits.as_ref();
        if let Some(bits) = new_bits.filter(|bits| !self.tried.contains(*bits)) {
            self.tried.insert(bits.clone());
            let mut starts = answer.copies.clone();
            starts.push(answer.unit.clone());
            let found = self.given_bits(bits, &starts);
            self.polish(found)?;
        }
        let found = self.given_reals(&answer.unit)?;
        self.polish(found)
    }

    /// The continuous half at these bits.
    fn given_bits(&self, bits: &[bool], starts: &[Vec<f64>]) -> Option<Feasible> {
        let region = self.space.encoding().given_bits(bits).ok()?;
        let sum = self.weights.given_bits(bits);
        let objective = |x: &[f64], gradient: &mut [f64]| sum.value_and_gradient(x, gradient);
        let reals = self.settings.polish.reals;
        let end = reals.minimise(
            &region,
            &objective,
            starts,
            minimise::DescentSettings::default(),
        )?;
        Feasible::of_code(self.space, bits, &end.x)
    }

    /// The discrete half at these reals.
    fn given_reals(&self, unit: &[f64]) -> Result<Option<Feasible>, Error> {
        let encoding = self.space.encoding();
        let Ok(problem) = encoding.given_reals(unit) else {
            return Ok(None);
        };
        let program = self.weights.program_given_reals(&problem, unit)?;
        let limits = Limits {
            nodes: Some(self.settings.polish.nodes),
            ..Limits::default()
        };
        let outcome = self.oracle.clone().minimise(&program, limits).ok();
        let solution = outcome.and_then(mivabo_bqp::Outcome::into_solution);
        Ok(solution.and_then(|s| Feasible::of_code(self.space, &s.x[..encoding.n_bits()], unit)))
    }

    /// Both halves in turn, the continuous one first, until nothing improves.
    fn polish(&mut self, found: Option<Feasible>) -> Result<(), Error> {
        let Some(mut here) = found else { return Ok(()) };
        let mut last = f64::INFINITY;
        for _ in 0..self.settings.polish.rounds {
            let Some(end) = self.polished(here)?.filter(|end| end.value < last) else {
                break;
            };
            last = end.value;
            here = end.feasible.clone();
            self.keep(end);
        }
        Ok(())
    }

    fn keep(&mut self, end: Lowest) {
        let best = self.best.as_ref();
        if best.is_none_or(|best| end.value < best.value) {
            self.best = Some(end);
        }
    }

    fn polished(&self, here: Feasible) -> Result<Option<Lowest>, Error> {
        let Encoded { bits, unit } = here.code();
        let descended = self.given_bits(bits, std::slice::from_ref(unit));
        alternating::minimise_with(
            &mut self.oracle.clone(),
            self.space,
            self.weights,
            &[descended.unwrap_or(here)],
            self.settings.polish,
        )
    }
}
