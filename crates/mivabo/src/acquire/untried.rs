//! Finds a point that was not tried yet: the wish itself, or the best or nearest one instead of it. Where there is none, it says so.

use mivabo_bqp::{Bqp, Distance, Feasibility, Quadratic, Row, RowRelation, Tabu, feasible};

use super::bits::nearest_bits;
use super::random::RandomPoints;
use super::tried::Tried;
use super::{Feasible, all_bits, free_reals, has_room};
use crate::acquire::Error;
use crate::features;
use crate::features::Weights;
use crate::math::random::Stream;
use crate::space::Space;

/// Bits up to which all codes are looked at.
const ENUMERATED: usize = 14;

/// Random points and random steps before giving up.
const DRAWS: usize = 32;
const STEPS: i32 = 32;

/// The first random step of a coordinate, and by what each one is longer than the one before.
const FIRST_STEP: f64 = 0.01;
const GROWTH: f64 = 1.15;

/// Partial assignments in the search for one more point.
const NODES: u64 = 100_000;

/// Nodes in the search for the nearest point.
const NEAREST_NODES: u64 = 30;

/// What is needed to find an untried point.
pub(crate) struct Untried<'a> {
    pub space: &'a Space,
    pub points: &'a RandomPoints<'a>,
    pub tried: &'a Tried,
}

/// Other bits, the proof that there are none, or neither.
enum Other {
    Found(Feasible),
    Proved,
    Unknown,
}

impl Untried<'_> {
    /// A random untried point.
    ///
    /// # Errors
    /// [`Error::Encoding`], [`Error::NoFeasiblePoint`], [`Error::Exhausted`], [`Error::NoUntriedPoint`].
    pub(crate) fn random(&self, stream: &mut Stream) -> Result<Feasible, Error> {
        let mut last = self.points.draw(stream)?;
        for _ in 0..DRAWS {
            if self.is_untried(&last) {
                return Ok(last);
            }
            last = self.points.draw(stream)?;
        }
        self.instead_of(&last, None, stream)
    }

    /// The wish if it is untried; otherwise a point near it, or low in the drawn function.
    ///
    /// # Errors
    /// As [`random`](Self::random).
    pub(crate) fn at_or_instead_of(
        &self,
        wish: Feasible,
        weights: Option<&Weights>,
        stream: &mut Stream,
    ) -> Result<Feasible, Error> {
        if self.is_untried(&wish) {
            return Ok(wish);
        }
        self.instead_of(&wish, weights, stream)
    }

    fn instead_of(
        &self,
        wish: &Feasible,
        weights: Option<&Weights>,
        stream: &mut Stream,
    ) -> Result<Feasible, Error> {
        // Other reals first: that needs no search over bits.
        if let Some(moved) = self.moved(wish, stream) {
            return Ok(moved);
        }
        let is_finite = !has_free_reals(self.space);
        if is_finite && self.space.encoding().n_bits() <= ENUMERATED {
            let best = self.best_of_all(wish, weights);
            return best.ok_or_else(|| self.exhausted());
        }
        match self.other_bits(wish, weights)? {
            Other::Found(other) => {
                if let Some(found) = self.at_or_beside(other, stream) {
                    return Ok(found);
                }
            }
            // With reals the proof is about the wished ones only: others may leave other bits.
            Other::Proved if is_finite => return Err(self.exhausted()),
            Other::Proved | Other::Unknown => {}
        }
        self.by_chance(stream)
    }

    fn by_chance(&self, stream: &mut Stream) -> Result<Feasible, Error> {
        for _ in 0..DRAWS {
            let drawn = self.points.draw(stream)?;
            if let Some(found) = self.at_or_beside(drawn, stream) {
                return Ok(found);
            }
        }
        let n_tried = self.tried.len();
        Err(Error::NoUntriedPoint { n_tried })
    }

    /// The point if it is untried, otherwise one with the same bits.
    fn at_or_beside(&self, point: Feasible, stream: &mut Stream) -> Option<Feasible> {
        if self.is_untried(&point) {
            return Some(point);
        }
        self.moved(&point, stream)
    }

    /// The same bits with other reals: random steps, small ones first.
    fn moved(&self, wish: &Feasible, stream: &mut Stream) -> Option<Feasible> {
        let free = free_reals(self.space, wish.point());
        if !free.contains(&true) {
            return None;
        }
        (0..STEPS).find_map(|step| {
            let length = FIRST_STEP * GROWTH.powi(step);
            let coordinates = wish.code().unit.iter().zip(&free);
            let moved = coordinates.map(|(x, is_free)| {
                if *is_free {
                    (x + length * stream.normal()).clamp(0.0, 1.0)
                } else {
                    *x
                }
            });
            let unit: Vec<f64> = moved.collect();
            Feasible::of_code(self.space, &wish.code().bits, &unit)
                .filter(|moved| self.is_untried(moved))
        })
    }

    /// Of all codes the lowest in the drawn function, or the nearest to the wish without one.
    fn best_of_all(&self, wish: &Feasible, weights: Option<&Weights>) -> Option<Feasible> {
        let encoding = self.space.encoding();
        let unit = &wish.code().unit;
        let value = |point: &Feasible| match weights {
            Some(weights) => weights.value(&point.code().bits, unit),
            None => hamming(&point.code().bits, &wish.code().bits),
        };
        // The rows are cheaper to ask than the expressions, so they come first.
        let codes = all_bits(encoding.n_bits()).filter(|bits| encoding.problem().is_feasible(bits));
        codes
            .filter_map(|bits| Feasible::of_code(self.space, &bits, unit))
            .filter(|point| self.is_untried(point))
            .map(|point| (value(&point), point))
            .min_by(|(one, _), (other, _)| one.total_cmp(other))
            .map(|(_, point)| point)
    }

    /// Other bits, feasible with the reals of the wish.
    fn other_bits(&self, wish: &Feasible, weights: Option<&Weights>) -> Result<Other, Error> {
        let unit = &wish.code().unit;
        let problem = self.without_tried(unit)?;
        let found = match weights {
            Some(weights) => {
                let program = weights.program_given_reals(&problem, unit)?;
                let lowest = Tabu::default().minimise(&program, None);
                lowest.map(|(bits, _)| bits)
            }
            None => nearest_bits(
                &problem,
                &wish.code().bits,
                &Distance::hamming(problem.n()),
                &[],
                NEAREST_NODES,
            ),
        };
        if let Some(found) = found.and_then(|bits| self.of_bits(&bits, unit)) {
            return Ok(Other::Found(found));
        }
        // Neither search proves anything, so one that does comes last.
        Ok(match feasible(&problem, NODES) {
            Feasibility::Found(bits) => self
                .of_bits(&bits, unit)
                .map_or(Other::Unknown, Other::Found),
            Feasibility::Empty => Other::Proved,
            Feasibility::Unknown => Other::Unknown,
        })
    }

    /// The rows and tables at these reals, and a row for all bits at which there is nothing else to try.
    fn without_tried(&self, unit: &[f64]) -> Result<Bqp, Error> {
        let mut problem = self.space.encoding().given_reals(unit)?;
        for bits in self.tried.exhausted_bits() {
            problem
                .add_row(no_good(self.space, bits))
                .map_err(|e| features::Error::NoProgram { why: e.to_string() })?;
        }
        Ok(problem)
    }

    /// A program of a higher order has further bits behind those of the code.
    fn of_bits(&self, bits: &[bool], unit: &[f64]) -> Option<Feasible> {
        let own = &bits[..self.space.encoding().n_bits()];
        Feasible::of_code(self.space, own, unit)
    }

    fn is_untried(&self, point: &Feasible) -> bool {
        !self.tried.contains(self.space, point.point())
    }

    fn exhausted(&self) -> Error {
        let n_tried = self.tried.len();
        Error::Exhausted { n_tried }
    }
}

/// At least one bit that the objective can see differs: Σ_{i: bᵢ = 1} xᵢ - Σ_{i: bᵢ = 0} xᵢ ≤ |b| - 1.
fn no_good(space: &Space, bits: &[bool]) -> Row {
    let parameters = space.parameters().iter().enumerate();
    let visible: Vec<usize> = parameters
        .filter(|(_, parameter)| !parameter.is_auxiliary())
        .flat_map(|(p, _)| space.encoding().bits_of(p))
        .collect();
    let n_ones = visible.iter().filter(|bit| bits[**bit]).count();
    let signs = visible
        .iter()
        .map(|bit| (*bit, if bits[*bit] { 1.0 } else { -1.0 }));
    let sum = Quadratic::new(0.0, signs, []);
    Row::new(
        "not tried yet",
        sum,
        RowRelation::LessEqual,
        n_ones as f64 - 1.0,
    )
}

fn has_free_reals(space: &Space) -> bool {
    let mut parameters = space.parameters().iter();
    parameters.any(|parameter| has_room(parameter) == Some(true))
}

fn hamming(a: &[bool], b: &[bool]) -> f64 {
    a.iter().zip(b).filter(|(a, b)| a != b).count() as f64
}
