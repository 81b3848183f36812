//! The dual function of a decomposition: the minima of all slaves at given multipliers, and the bound that they make.
//! MiVaBo, App. G and H.
//!
//! ```text
//! L(λ) =   min over x_d of f_d + Σₖ λ_d,k·x_d|k                     discrete slave: branch and bound, rows and tables
//!        + min over x_c of f_c + Σₖ (λ_c,k·x_c + μₖ·φ_c(x_c))       continuous slave: boxes
//!        + Σₖ min over (p, x) of fₖ - λ_d,k·p - λ_c,k·x - μₖ·φ_c(x)     mixed slaves: patterns, and boxes
//! ```
//!
//! With μ = 0 it is the paper's, in the sign of a minimisation. μ asks in addition that the copies of the reals agree on the
//! waves, which changes no slave's form: all are sums of cosines anyway. L(λ, μ) is never above min f.

use std::collections::BTreeSet;

use mivabo_bqp::{Bqp, DiscreteOracle, Limits as Nodes, Quadratic, Row};

use super::factors::{Factor, factors};
use super::{Coupling, DualSettings};
use crate::acquire::Error;
use crate::features::{Waves, Weights};
use crate::math::vector::{add_scaled, least};
use crate::space::Space;
use crate::strategy::thompson::exact::rounding;
use crate::strategy::thompson::global::{BoxLimits, Certified, Landscape};
use crate::strategy::thompson::landscape::proved;

/// Multipliers of one factor, or what they multiply: the difference between its copies and the originals.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Link {
    /// λ_d, for each bit of the factor.
    pub bits: Vec<f64>,
    /// λ_c, for each coordinate; 0 where the factor does not depend on it.
    pub reals: Vec<f64>,
    /// μ, for each wave; 0 where the factor does not have it.
    pub waves: Vec<f64>,
}

impl Link {
    pub fn add(&mut self, step: f64, other: &Link) {
        add_scaled(&mut self.bits, step, &other.bits);
        add_scaled(&mut self.reals, step, &other.reals);
        add_scaled(&mut self.waves, step, &other.waves);
    }

    pub fn all(&self) -> impl Iterator<Item = f64> + '_ {
        let numbers = self.bits.iter().chain(&self.reals).chain(&self.waves);
        numbers.copied()
    }
}

/// What the slaves answer.
pub(super) struct Answer {
    /// Of the discrete slave; none when it found no point within its nodes.
    pub bits: Option<Vec<bool>>,
    /// Of the continuous slave.
    pub unit: Vec<f64>,
    /// Of the mixed slaves: the coordinates at their minima.
    pub copies: Vec<Vec<f64>>,
    /// L(λ) is at least this.
    pub bound: f64,
    /// ∂L/∂λ: originals less copies.
    pub differences: Vec<Link>,
}

pub(super) struct Slaves<'a, O> {
    pub factors: Vec<Factor<'a>>,
    settings: DualSettings,
    waves: &'a Waves,
    n_bits: usize,
    /// The rows and tables, and f_d as objective.
    program: Bqp,
    discrete: Quadratic,
    oracle: O,
    continuous: Landscape<'a>,
    /// What rounding may change in f.
    slack: f64,
}

/// It is proved that no point satisfies the discrete constraints.
pub(super) struct NoPoint;

/// A bit that has a fixed value.
#[derive(Clone, Copy)]
struct Held {
    bit: usize,
    value: bool,
}

/// What the discrete slave answers.
struct DiscreteMinimum {
    /// None when no point was found within the nodes.
    bits: Option<Vec<bool>>,
    bound: f64,
}

/// A mixed slave at its minimum.
struct MixedMinimum<'s> {
    pattern: &'s [bool],
    x: &'s [f64],
    bound: f64,
}

impl<'a, O: DiscreteOracle> Slaves<'a, O> {
    pub fn new(
        oracle: O,
        space: &'a Space,
        weights: &'a Weights,
        settings: DualSettings,
    ) -> Result<Self, Error> {
        let (features, problem) = (weights.features(), space.encoding().problem());
        let columns = features.n_columns();
        // f_d does not depend on the reals: any will do.
        let unit = vec![0.5; space.encoding().n_reals()];
        let program = discrete_part(weights).program_given_reals(problem, &unit)?;
        Ok(Slaves {
            factors: factors(weights, problem, settings.factor_bits)?,
            settings,
            waves: features.waves(),
            n_bits: problem.n(),
            discrete: program.objective().clone(),
            program,
            oracle,
            continuous: Landscape::of_weights(features.waves(), 0.0, &weights.matrix()[1..columns]),
            slack: rounding(weights),
        })
    }

    /// The bits of all factors.
    pub fn coupled_bits(&self) -> BTreeSet<usize> {
        let bits = self.factors.iter().flat_map(|factor| &factor.bits);
        bits.copied().collect()
    }

    /// No multipliers yet.
    pub fn zeros(&self) -> Vec<Link> {
        let factors = self.factors.iter();
        factors.map(|factor| self.zero(factor)).collect()
    }

    fn zero(&self, factor: &Factor<'_>) -> Link {
        Link {
            bits: vec![0.0; factor.bits.len()],
            reals: vec![0.0; self.waves.n_reals()],
            waves: vec![0.0; self.n_coupled_waves()],
        }
    }

    fn n_coupled_waves(&self) -> usize {
        match self.settings.coupling {
            Coupling::Waves => self.waves.len(),
            Coupling::Coordinates => 0,
        }
    }

    /// The minimum of a landscape over all reals.
    fn over_box(&self, landscape: &Landscape<'_>) -> Certified {
        let limits = BoxLimits {
            boxes: self.settings.boxes,
            gap: self.settings.slave_gap,
            cutoff: f64::INFINITY,
        };
        landscape.minimise(&vec![(0.0, 1.0); self.waves.n_reals()], limits)
    }

    /// For each factor and pattern the minimum over the reals. λ_d plays no part yet: for one pattern it is a constant, so a block
    /// step that moves it leaves these minima as they are.
    pub fn minima(&self, links: &[Link]) -> Vec<Vec<Certified>> {
        let factors = self.factors.iter().zip(links);
        factors
            .map(|(factor, link)| self.minima_of(factor, link))
            .collect()
    }

    fn minima_of(&self, factor: &Factor<'_>, link: &Link) -> Vec<Certified> {
        let (slope, weights) = (negative(&link.reals), negative(&link.waves));
        let landscapes = factor.patterns.iter().map(|pattern| &pattern.landscape);
        let tilted = landscapes.map(|own| own.clone().tilted(&slope, &weights));
        tilted.map(|own| self.over_box(&own)).collect()
    }

    /// All slaves at `links`, whose `minima` are known.
    pub fn answer(&mut self, links: &[Link], minima: &[Vec<Certified>]) -> Result<Answer, NoPoint> {
        let discrete = self.discrete(links, None)?;
        let continuous = self.continuous(links);
        let mut bound = discrete.bound + continuous.bound;
        let (mut copies, mut differences) = (Vec::new(), Vec::new());
        for ((factor, link), minima) in self.factors.iter().zip(links).zip(minima) {
            let copy = mixed(factor, link, minima)?;
            bound += copy.bound;
            differences.push(Link {
                bits: bit_differences(factor, discrete.bits.as_deref(), copy.pattern),
                ..self.real_differences(factor, &continuous.x, copy.x)
            });
            copies.push(copy.x.to_vec());
        }
        let bound = bound - self.rounding(links);
        Ok(Answer {
            bits: discrete.bits,
            unit: continuous.x,
            copies,
            // Sums of infinities of both signs are not a number.
            bound: proved(bound),
            differences,
        })
    }

    /// The minimum of the continuous slave.
    fn continuous(&self, links: &[Link]) -> Certified {
        let mut slope = vec![0.0; self.waves.n_reals()];
        let mut weights = vec![0.0; self.waves.len()];
        for link in links {
            add_scaled(&mut slope, 1.0, &link.reals);
            add_scaled(&mut weights, 1.0, &link.waves);
        }
        self.over_box(&self.continuous.clone().tilted(&slope, &weights))
    }

    /// Originals less copies in the coordinates and waves in which the factor takes part.
    fn real_differences(&self, factor: &Factor<'_>, original: &[f64], copy: &[f64]) -> Link {
        let waves = match self.settings.coupling {
            Coupling::Coordinates => vec![],
            Coupling::Waves => self.wave_differences(factor, original, copy),
        };
        Link {
            bits: vec![],
            reals: masked_differences(original, copy, &factor.has_real),
            waves,
        }
    }

    fn wave_differences(&self, factor: &Factor<'_>, original: &[f64], copy: &[f64]) -> Vec<f64> {
        let [original, copy] = [original, copy].map(|x| self.waves.values(x));
        masked_differences(&original, &copy, &factor.has_wave)
    }

    /// The point and the bound of the discrete slave, where one bit may be held.
    fn discrete(&mut self, links: &[Link], held: Option<Held>) -> Result<DiscreteMinimum, NoPoint> {
        let objective = self.discrete.plus(&self.linear(links));
        // The solver tells values apart that differ by 1e-9 of their size, in each of its parts.
        let size = objective.magnitude() + self.n_bits as f64;
        let Some(program) = self.program(objective, held) else {
            // Multipliers that overflow prove nothing.
            return Ok(DiscreteMinimum {
                bits: None,
                bound: f64::NEG_INFINITY,
            });
        };
        let limits = Nodes {
            nodes: Some(self.settings.nodes),
            ..Nodes::default()
        };
        let outcome = self.oracle.minimise(&program, limits);
        let outcome = outcome.map_err(|_| NoPoint)?;
        let bound = outcome.bound() - 1e-9 * size;
        // Programs of a higher order have further bits.
        let solution = outcome.into_solution();
        let bits = solution.map(|solution| solution.x[..self.n_bits].to_vec());
        Ok(DiscreteMinimum { bits, bound })
    }

    /// Σₖ λ_d,k·x_d|k
    fn linear(&self, links: &[Link]) -> Quadratic {
        let factors = self.factors.iter().zip(links);
        let terms = factors.flat_map(|(factor, link)| factor.terms(&link.bits));
        Quadratic::new(0.0, terms, [])
    }

    /// The rows and tables with this objective; none where that is not a number.
    fn program(&self, objective: Quadratic, held: Option<Held>) -> Option<Bqp> {
        let mut program = self.program.clone();
        program.set_objective(objective).ok()?;
        if let Some(held) = held {
            program.add_row(Row::held(held.bit, held.value)).ok()?;
        }
        Some(program)
    }

    /// The block step for one bit; see [`Master::BlockCoordinate`](super::Master).
    pub fn average(&mut self, bit: usize, links: &mut [Link], minima: &[Vec<Certified>]) {
        let places = self.places(bit);
        let costs: Vec<f64> = places
            .iter()
            .map(|place| self.cost_in(place, &links[place.factor], &minima[place.factor]))
            .collect();
        let own = self.cost(bit, links);
        let mean = if own.is_finite() {
            mean_with(own, &costs)
        } else {
            0.0
        };
        // Where a factor allows one value only, the cost is infinite and the multiplier stays.
        let moved = places.into_iter().zip(costs);
        for (place, cost) in moved.filter(|(_, cost)| cost.is_finite()) {
            links[place.factor].bits[place.at] += cost - mean;
        }
    }

    /// Where a bit takes part.
    fn places(&self, bit: usize) -> Vec<PlaceOfBit> {
        let factors = self.factors.iter().enumerate();
        let places = factors.filter_map(|(factor, Factor { bits, .. })| {
            let at = bits.binary_search(&bit).ok()?;
            Some(PlaceOfBit { factor, at })
        });
        places.collect()
    }

    /// What it costs the discrete slave to set a bit.
    fn cost(&mut self, bit: usize, links: &[Link]) -> f64 {
        let [set, unset] = [true, false].map(|value| {
            self.discrete(links, Some(Held { bit, value }))
                .map_or(f64::INFINITY, |minimum| minimum.bound)
        });
        set - unset
    }

    /// What it costs a factor to set a bit: its least value with the bit less that without.
    fn cost_in(&self, place: &PlaceOfBit, link: &Link, minima: &[Certified]) -> f64 {
        let patterns = &self.factors[place.factor].patterns;
        let cost = |value: bool| {
            let of_value = patterns
                .iter()
                .zip(minima)
                .filter(|(pattern, _)| pattern.bits[place.at] == value);
            least(of_value.map(|(pattern, minimum)| minimum.value - pattern.dot(&link.bits)))
        };
        cost(true) - cost(false)
    }

    /// What rounding may change in L.
    fn rounding(&self, links: &[Link]) -> f64 {
        let size: f64 = links.iter().flat_map(Link::all).map(f64::abs).sum();
        let steps = (self.factors.len() + self.waves.len() + self.n_bits + 16) as f64;
        self.slack + 8.0 * f64::EPSILON * steps * size
    }
}

/// A factor, and the place of a bit among its own.
struct PlaceOfBit {
    factor: usize,
    at: usize,
}

/// f_d: the weights of bits alone.
fn discrete_part(weights: &Weights) -> Weights {
    let columns = weights.features().n_columns();
    let matrix = weights.matrix().iter().enumerate();
    let of_bits = matrix.map(|(at, w)| if at.is_multiple_of(columns) { *w } else { 0.0 });
    Weights::new(weights.features().clone(), of_bits.collect())
}

/// The minimum of a mixed slave, and its bound: they may be those of two different patterns.
fn mixed<'s>(
    factor: &'s Factor<'_>,
    link: &Link,
    minima: &'s [Certified],
) -> Result<MixedMinimum<'s>, NoPoint> {
    let tilted = || {
        let patterns = factor.patterns.iter().zip(minima);
        patterns.map(|(pattern, minimum)| (pattern, minimum, pattern.dot(&link.bits)))
    };
    let bound = tilted()
        .map(|(_, minimum, by)| minimum.bound - by)
        .fold(f64::INFINITY, f64::min);
    let lowest = tilted().min_by(|(_, one, by_one), (_, other, by_other)| {
        (one.value - by_one).total_cmp(&(other.value - by_other))
    });
    // Without a pattern there is no point at all.
    let (pattern, minimum, _) = lowest.ok_or(NoPoint)?;
    Ok(MixedMinimum {
        pattern: &pattern.bits,
        x: &minimum.x,
        bound,
    })
}

/// Originals less copies of a factor's bits; 0 while there are no originals.
fn bit_differences(factor: &Factor<'_>, originals: Option<&[bool]>, copies: &[bool]) -> Vec<f64> {
    let Some(originals) = originals else {
        return vec![0.0; copies.len()];
    };
    let pairs = factor.bits.iter().zip(copies);
    let differences = pairs.map(|(bit, copy)| difference(originals[*bit], *copy));
    differences.collect()
}

fn difference(original: bool, copy: bool) -> f64 {
    f64::from(i8::from(original) - i8::from(copy))
}

fn negative(values: &[f64]) -> Vec<f64> {
    values.iter().map(|v| -v).collect()
}

/// a - b where they count, and 0 elsewhere.
/// The mean of `own` and of the finite ones among `others`.
fn mean_with(own: f64, others: &[f64]) -> f64 {
    let finite = others.iter().filter(|cost| cost.is_finite());
    let n = 1 + finite.clone().count();
    (own + finite.sum::<f64>()) / n as f64
}

fn masked_differences(a: &[f64], b: &[f64], counts: &[bool]) -> Vec<f64> {
    let pairs = a.iter().zip(b).zip(counts);
    pairs
        .map(|((a, b), counts)| if *counts { a - b } else { 0.0 })
        .collect()
}
