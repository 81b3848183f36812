//! Points that were not tried yet: a repeated wish enters, the best or nearest untried point leaves, or the knowledge
//! that there is none.

use std::collections::{BTreeMap, BTreeSet};

use mivabo_bqp::{
    Bqp, Distance, Feasibility, Limits, Quadratic, Row, Sense, Tabu, feasible, nearest,
};

use super::random::RandomPoints;
use super::{Feasible, free_reals};
use crate::acquire::Error;
use crate::features;
use crate::features::Weights;
use crate::language::domain::Set;
use crate::language::point::Setting;
use crate::math::random::Stream;
use crate::space::{Point, Space};

/// Bits up to which all codes are looked at.
const ENUMERATED: usize = 14;

/// Random points and random steps before giving up.
const DRAWS: usize = 32;
const STEPS: usize = 32;

/// Partial assignments in the search for one more point.
const NODES: u64 = 100_000;

/// Nodes in the search for the nearest point.
const NEAREST_NODES: u64 = 30;

/// Every point that was suggested or told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tried {
    /// What an objective can tell apart: by the discrete values that it sees, the reals.
    reals: BTreeMap<Vec<Option<u64>>, BTreeSet<Vec<u64>>>,
    /// Bits at which no coordinate can move: there is nothing else to try there.
    bits: BTreeSet<Vec<bool>>,
}

impl Tried {
    pub(crate) fn insert(&mut self, space: &Space, point: &Point) {
        let is_new = self
            .reals
            .entry(discrete(space, point))
            .or_default()
            .insert(reals(point));
        if is_new && !free_reals(space, point).contains(&true) {
            self.bits.insert(space.encoding().encode(point).bits);
        }
    }

    pub(crate) fn contains(&self, space: &Space, point: &Point) -> bool {
        self.reals
            .get(&discrete(space, point))
            .is_some_and(|tried| tried.contains(&reals(point)))
    }

    /// How many there are.
    fn len(&self) -> usize {
        self.reals.values().map(BTreeSet::len).sum()
    }
}

/// The index of each parameter that an objective sees; 0 for a real, and none where it is inactive.
fn discrete(space: &Space, point: &Point) -> Vec<Option<u64>> {
    let visible = space
        .parameters()
        .iter()
        .zip(&point.settings)
        .filter(|(p, _)| !p.is_auxiliary());
    let index = |setting| {
        if let Setting::Index(index) = setting {
            index
        } else {
            0
        }
    };
    visible.map(|(_, setting)| setting.map(index)).collect()
}

/// The active reals, as far as an objective can tell them apart. It sees all of them: only integers are auxiliary.
fn reals(point: &Point) -> Vec<u64> {
    let real = |setting| {
        if let Setting::Real(x) = setting {
            Some(nine_digits(x).to_bits())
        } else {
            None
        }
    };
    point
        .settings
        .iter()
        .copied()
        .flatten()
        .filter_map(real)
        .collect()
}

/// Reals that differ less are the same to an objective, and repair meets an equation now a little above and now below.
/// Adding 0 turns -0 into 0.
fn nine_digits(x: f64) -> f64 {
    format!("{x:.8e}").parse().unwrap_or(x) + 0.0
}

/// What is needed to find an untried point.
pub(crate) struct Untried<'a> {
    pub space: &'a Space,
    pub points: &'a RandomPoints<'a>,
    pub tried: &'a Tried,
}

impl Untried<'_> {
    /// A random untried point.
    ///
    /// # Errors
    /// [`Error::NoFeasiblePoint`], [`Error::Exhausted`], [`Error::NoUntriedPoint`].
    pub(crate) fn random(&self, stream: &mut Stream) -> Result<Feasible, Error> {
        let mut last = self.points.draw(stream)?;
        for _ in 0..DRAWS {
            if !self.tried.contains(self.space, last.point()) {
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
        if !self.tried.contains(self.space, wish.point()) {
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
        if let Some(moved) = self.moved(wish, stream) {
            return Ok(moved);
        }
        let n_tried = self.tried.len();
        let is_finite = !has_free_reals(self.space);
        if is_finite && self.space.encoding().n_bits() <= ENUMERATED {
            return self
                .best_of_all(wish, weights)
                .ok_or(Error::Exhausted { n_tried });
        }
        match self.other_bits(wish, weights)? {
            Other::Found(other) if !self.tried.contains(self.space, other.point()) => {
                return Ok(other);
            }
            Other::Found(other) => {
                if let Some(moved) = self.moved(&other, stream) {
                    return Ok(moved);
                }
            }
            Other::Proved if is_finite => return Err(Error::Exhausted { n_tried }),
            Other::Proved | Other::Unknown => {}
        }
        for _ in 0..DRAWS {
            let drawn = self.points.draw(stream)?;
            if !self.tried.contains(self.space, drawn.point()) {
                return Ok(drawn);
            }
            if let Some(moved) = self.moved(&drawn, stream) {
                return Ok(moved);
            }
        }
        Err(Error::NoUntriedPoint { n_tried })
    }

    /// The same bits with other reals: random steps, small ones first.
    fn moved(&self, wish: &Feasible, stream: &mut Stream) -> Option<Feasible> {
        let free = free_reals(self.space, wish.point());
        if !free.contains(&true) {
            return None;
        }
        for step in 0..STEPS {
            let size = 0.01 * 1.15_f64.powi(i32::try_from(step).unwrap_or(0));
            let unit = wish.code().unit.iter().zip(&free).map(|(x, free)| {
                if *free {
                    (x + size * stream.normal()).clamp(0.0, 1.0)
                } else {
                    *x
                }
            });
            let moved = Feasible::of_code(self.space, &wish.code().bits, &unit.collect::<Vec<_>>());
            if let Some(moved) =
                moved.filter(|moved| !self.tried.contains(self.space, moved.point()))
            {
                return Some(moved);
            }
        }
        None
    }

    /// Of all codes the lowest in the drawn function, or the nearest to the wish without one.
    fn best_of_all(&self, wish: &Feasible, weights: Option<&Weights>) -> Option<Feasible> {
        let encoding = self.space.encoding();
        let n_bits = encoding.n_bits();
        let unit = &wish.code().unit;
        let codes =
            (0..1_u32 << n_bits).map(|code| (0..n_bits).map(|k| code >> k & 1 == 1).collect());
        let feasible = codes.filter(|bits: &Vec<bool>| encoding.problem().is_feasible(bits));
        let untried = feasible
            .filter_map(|bits| Feasible::of_code(self.space, &bits, unit))
            .filter(|point| !self.tried.contains(self.space, point.point()));
        let value = |point: &Feasible| match weights {
            Some(weights) => weights.value(&point.code().bits, unit),
            None => hamming(&point.code().bits, &wish.code().bits),
        };
        untried
            .map(|point| (value(&point), point))
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, point)| point)
    }

    /// Other bits, feasible with the reals of the wish.
    fn other_bits(&self, wish: &Feasible, weights: Option<&Weights>) -> Result<Other, Error> {
        let encoding = self.space.encoding();
        let unit = &wish.code().unit;
        let mut problem = encoding.given_reals(unit)?;
        for bits in &self.tried.bits {
            problem
                .add_row(no_good(self.space, bits))
                .map_err(|e| features::Error::NoProgram { why: e.to_string() })?;
        }
        let of_code =
            |bits: &[bool]| Feasible::of_code(self.space, &bits[..encoding.n_bits()], unit);
        let found = match weights {
            Some(weights) => {
                let program = weights.program_given_reals(&problem, unit)?;
                Tabu::default()
                    .minimise(&program, None)
                    .map(|(bits, _)| bits)
            }
            None => near(&problem, &wish.code().bits),
        };
        if let Some(found) = found.and_then(|bits| of_code(&bits)) {
            return Ok(Other::Found(found));
        }
        Ok(match feasible(&problem, NODES) {
            Feasibility::Found(bits) => of_code(&bits).map_or(Other::Unknown, Other::Found),
            Feasibility::Empty => Other::Proved,
            Feasibility::Unknown => Other::Unknown,
        })
    }
}

/// Other bits, the proof that there are none, or neither.
enum Other {
    Found(Feasible),
    Proved,
    Unknown,
}

fn near(problem: &Bqp, wish: &[bool]) -> Option<Vec<bool>> {
    let limits = Limits {
        nodes: Some(NEAREST_NODES),
        ..Limits::default()
    };
    let outcome = nearest(problem, wish, &Distance::hamming(problem.n()), &[], limits)
        .ok()?
        .ok()?;
    outcome.into_solution().map(|solution| solution.x)
}

/// At least one bit that the objective can see differs: Σ_{i: bᵢ = 1} xᵢ - Σ_{i: bᵢ = 0} xᵢ ≤ |b| - 1.
fn no_good(space: &Space, bits: &[bool]) -> Row {
    let parameters = space
        .parameters()
        .iter()
        .enumerate()
        .filter(|(_, p)| !p.is_auxiliary());
    let visible: Vec<usize> = parameters
        .flat_map(|(p, _)| space.encoding().bits_of(p))
        .collect();
    let n_ones = visible.iter().filter(|&&i| bits[i]).count();
    let terms = visible
        .iter()
        .map(|&i| (i, if bits[i] { 1.0 } else { -1.0 }));
    Row::new(
        "not tried yet",
        Quadratic::new(0.0, terms, []),
        Sense::LessEqual,
        n_ones as f64 - 1.0,
    )
}

fn has_free_reals(space: &Space) -> bool {
    space
        .parameters()
        .iter()
        .any(|p| matches!(p.domain().set, Set::Float { low, high } if low < high))
}

fn hamming(a: &[bool], b: &[bool]) -> f64 {
    a.iter().zip(b).filter(|(a, b)| a != b).count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Value;

    #[test]
    fn points_are_tried_by_their_discrete_values_their_active_reals_and_nine_digits_of_those() {
        let mut space = Space::builder();
        let is_on = space.bool("on");
        let x = space.float("x", 0.0..=1.0);
        let _ = space.float("y", 0.0..=1.0);
        space.only_when(x, is_on);
        let _ = space.auxiliary("half", 0..=1);
        let space = space.build().unwrap();
        let point =
            |values: &[(&str, Value)]| space.point_where_active(values.iter().cloned()).unwrap();
        let with_x = |x: f64, half: i64| {
            point(&[
                ("on", true.into()),
                ("x", x.into()),
                ("y", 0.5.into()),
                ("half", half.into()),
            ])
        };
        let without_x = |y: f64| {
            point(&[
                ("on", false.into()),
                ("x", 0.5.into()),
                ("y", y.into()),
                ("half", 0.into()),
            ])
        };
        let mut tried = Tried::default();

        tried.insert(&space, &with_x(0.25, 0));
        tried.insert(&space, &with_x(0.25, 1));
        tried.insert(&space, &without_x(0.5));

        assert_eq!(tried.len(), 2);
        assert!(tried.contains(&space, &with_x(0.25 + 1e-12, 1)));
        assert!(!tried.contains(&space, &with_x(0.26, 0)));
        assert!(tried.contains(&space, &without_x(0.5)));
        assert!(!tried.contains(&space, &without_x(0.25)));
    }
}
