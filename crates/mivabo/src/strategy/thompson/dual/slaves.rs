//! The dual function: multipliers enter, the minima of all slaves leave, and a bound. MiVaBo, App. G and H.
//!
//! ```text
//! L(λ) =   min over x_d of f_d + Σₖ λ_d,k·x_d|k                     discrete slave: branch and bound, rows and tables
//!        + min over x_c of f_c + Σₖ (λ_c,k·x_c + μₖ·φ_c(x_c))       continuous slave: boxes
//!        + Σₖ min over (p, x) of fₖ - λ_d,k·p - λ_c,k·x - μₖ·φ_c(x)     mixed slaves: patterns, and boxes
//! ```
//!
//! With μ = 0 it is the paper's, in the sign of a minimisation. μ asks in addition that the copies of the reals agree on the
//! waves, which changes no slave's form: all are sums of cosines anyway. L(λ, μ) is never above min f.

use mivabo_bqp::{Bqp, DiscreteOracle, Limits as Nodes, Quadratic, Row, Sense};

use super::factors::{Factor, factors};
use super::{Coupling, DualSettings};
use crate::acquire::Error;
use crate::features::{Waves, Weights};
use crate::space::Space;
use crate::strategy::thompson::exact::rounding;
use crate::strategy::thompson::global::{BoxLimits, Certified, Landscape};

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
        let parts = [
            (&mut self.bits, &other.bits),
            (&mut self.reals, &other.reals),
        ];
        for (to, from) in parts.into_iter().chain([(&mut self.waves, &other.waves)]) {
            to.iter_mut()
                .zip(from)
                .for_each(|(to, from)| *to += step * from);
        }
    }

    pub fn all(&self) -> impl Iterator<Item = f64> + '_ {
        self.bits
            .iter()
            .chain(&self.reals)
            .chain(&self.waves)
            .copied()
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

impl<'a, O: DiscreteOracle> Slaves<'a, O> {
    pub fn new(
        oracle: O,
        space: &'a Space,
        weights: &'a Weights,
        settings: DualSettings,
    ) -> Result<Self, Error> {
        let (features, problem) = (weights.features(), space.encoding().problem());
        let columns = features.n_columns();
        let matrix = weights.matrix().iter().enumerate();
        let of_bits = matrix
            .map(|(at, w)| if at.is_multiple_of(columns) { *w } else { 0.0 })
            .collect();
        let of_bits = Weights::new(features.clone(), of_bits);
        let program =
            of_bits.program_given_reals(problem, &vec![0.5; space.encoding().n_reals()])?;
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

    /// No multipliers yet.
    pub fn zeros(&self) -> Vec<Link> {
        let n_waves = if self.settings.coupling == Coupling::Waves {
            self.waves.len()
        } else {
            0
        };
        let zero = |factor: &Factor<'_>| Link {
            bits: vec![0.0; factor.bits.len()],
            reals: vec![0.0; self.waves.n_reals()],
            waves: vec![0.0; n_waves],
        };
        self.factors.iter().map(zero).collect()
    }

    fn limits(&self) -> BoxLimits {
        BoxLimits {
            boxes: self.settings.boxes,
            gap: self.settings.slave_gap,
            cutoff: f64::INFINITY,
        }
    }

    fn unit_box(&self) -> Vec<(f64, f64)> {
        vec![(0.0, 1.0); self.waves.n_reals()]
    }

    /// For each factor and pattern the minimum over the reals; λ_d plays no part yet.
    pub fn minima(&self, links: &[Link]) -> Vec<Vec<Certified>> {
        let negative = |values: &[f64]| values.iter().map(|v| -v).collect::<Vec<f64>>();
        let each = self.factors.iter().zip(links).map(|(factor, link)| {
            let (slope, weights) = (negative(&link.reals), negative(&link.waves));
            let minimum = |landscape: &Landscape<'_>| {
                landscape
                    .clone()
                    .tilted(&slope, &weights)
                    .minimise(&self.unit_box(), self.limits())
            };
            factor
                .patterns
                .iter()
                .map(|pattern| minimum(&pattern.landscape))
                .collect()
        });
        each.collect()
    }

    /// All slaves at `links`, whose `minima` are known.
    pub fn answer(&mut self, links: &[Link], minima: &[Vec<Certified>]) -> Result<Answer, NoPoint> {
        let (bits, of_discrete) = self.discrete(links, None)?;
        let sum = |part: fn(&Link) -> &Vec<f64>, n: usize| {
            let mut total = vec![0.0; n];
            for link in links {
                total
                    .iter_mut()
                    .zip(part(link))
                    .for_each(|(total, l)| *total += l);
            }
            total
        };
        let n_reals = self.waves.n_reals();
        let tilted = self.continuous.clone();
        let tilted = tilted.tilted(
            &sum(|l| &l.reals, n_reals),
            &sum(|l| &l.waves, self.waves.len()),
        );
        let original = tilted.minimise(&self.unit_box(), self.limits());
        let mut bound = of_discrete + original.bound;
        let (mut copies, mut differences) = (Vec::new(), Vec::new());
        for ((factor, link), minima) in self.factors.iter().zip(links).zip(minima) {
            let tilted = || {
                factor
                    .patterns
                    .iter()
                    .zip(minima)
                    .map(|(p, m)| (p, m, p.dot(&link.bits)))
            };
            bound += tilted()
                .map(|(_, minimum, by)| minimum.bound - by)
                .fold(f64::INFINITY, f64::min);
            // Without a pattern there is no point at all.
            let lowest = tilted().min_by(|a, b| (a.1.value - a.2).total_cmp(&(b.1.value - b.2)));
            let (pattern, minimum, _) = lowest.ok_or(NoPoint)?;
            let pair = (bits.as_deref(), &original.x[..]);
            differences.push(self.difference(factor, pair, (&pattern.bits, &minimum.x)));
            copies.push(minimum.x.clone());
        }
        let bound = bound - self.rounding(links);
        // Sums of infinities of both signs are no number.
        let bound = if bound.is_nan() {
            f64::NEG_INFINITY
        } else {
            bound
        };
        Ok(Answer {
            bits,
            unit: original.x,
            copies,
            bound,
            differences,
        })
    }

    /// Originals less copies, where the factor takes part.
    fn difference(
        &self,
        factor: &Factor<'_>,
        (bits, unit): (Option<&[bool]>, &[f64]),
        (pattern, x): (&[bool], &[f64]),
    ) -> Link {
        let less = |mine: bool, other: bool| f64::from(u8::from(mine)) - f64::from(u8::from(other));
        let of_bit = |at: usize| bits.map_or(0.0, |bits| less(bits[factor.bits[at]], pattern[at]));
        let masked = |a: &[f64], b: &[f64], has: &[bool]| -> Vec<f64> {
            a.iter()
                .zip(b)
                .zip(has)
                .map(|((a, b), has)| if *has { a - b } else { 0.0 })
                .collect()
        };
        Link {
            bits: (0..pattern.len()).map(of_bit).collect(),
            reals: masked(unit, x, &factor.has_real),
            waves: match self.settings.coupling {
                Coupling::Coordinates => vec![],
                Coupling::Waves => masked(
                    &self.waves.values(unit),
                    &self.waves.values(x),
                    &factor.has_wave,
                ),
            },
        }
    }

    /// The point and the bound of the discrete slave, where one bit may be held.
    fn discrete(
        &mut self,
        links: &[Link],
        held: Option<(usize, bool)>,
    ) -> Result<(Option<Vec<bool>>, f64), NoPoint> {
        let linear =
            self.factors.iter().zip(links).flat_map(|(factor, link)| {
                factor.bits.iter().copied().zip(link.bits.iter().copied())
            });
        let objective = self.discrete.plus(&Quadratic::new(0.0, linear, []));
        // The solver tells values apart that differ by 1e-9 of their size, in each of its parts.
        let size = objective.magnitude() + self.n_bits as f64;
        let mut program = self.program.clone();
        let is_sound = program.set_objective(objective).is_ok()
            && held.is_none_or(|(bit, value)| {
                let bit = Quadratic::new(0.0, [(bit, 1.0)], []);
                let row = Row::new("held", bit, Sense::Equal, f64::from(u8::from(value)));
                program.add_row(row).is_ok()
            });
        // Multipliers that overflow prove nothing.
        if !is_sound {
            return Ok((None, f64::NEG_INFINITY));
        }
        let limits = Nodes {
            nodes: Some(self.settings.nodes),
            ..Nodes::default()
        };
        let outcome = self
            .oracle
            .minimise(&program, limits)
            .map_err(|_| NoPoint)?;
        let bound = outcome.bound() - 1e-9 * size;
        Ok((
            outcome
                .into_solution()
                .map(|solution| solution.x[..self.n_bits].to_vec()),
            bound,
        ))
    }

    /// The block step for one bit; see [`Master::BlockCoordinate`](super::Master).
    pub fn average(&mut self, bit: usize, links: &mut [Link], minima: &[Vec<Certified>]) {
        let places: Vec<(usize, usize)> = self
            .factors
            .iter()
            .enumerate()
            .filter_map(|(k, factor)| factor.bits.binary_search(&bit).ok().map(|at| (k, at)))
            .collect();
        let mine = [true, false].map(|value| {
            self.discrete(links, Some((bit, value)))
                .map_or(f64::INFINITY, |m| m.1)
        });
        let theirs: Vec<f64> = places
            .iter()
            .map(|(k, at)| self.marginal(*k, *at, &links[*k], &minima[*k]))
            .collect();
        let mine = mine[0] - mine[1];
        let mean = if mine.is_finite() {
            (mine + theirs.iter().sum::<f64>()) / (places.len() + 1) as f64
        } else {
            0.0
        };
        for ((k, at), difference) in places
            .into_iter()
            .zip(theirs)
            .filter(|(_, d)| d.is_finite())
        {
            links[k].bits[at] += difference - mean;
        }
    }

    /// What it costs a factor to set a bit: its least value with the bit less that without.
    fn marginal(&self, k: usize, at: usize, link: &Link, minima: &[Certified]) -> f64 {
        let patterns = || self.factors[k].patterns.iter().zip(minima);
        let least = |value: bool| {
            let of = patterns().filter(|(pattern, _)| pattern.bits[at] == value);
            of.map(|(pattern, minimum)| minimum.value - pattern.dot(&link.bits))
                .fold(f64::INFINITY, f64::min)
        };
        least(true) - least(false)
    }

    /// What rounding may change in L.
    fn rounding(&self, links: &[Link]) -> f64 {
        let size: f64 = links.iter().flat_map(Link::all).map(f64::abs).sum();
        let steps = (self.factors.len() + self.waves.len() + self.n_bits + 16) as f64;
        self.slack + 8.0 * f64::EPSILON * steps * size
    }
}
