//! Moves between feasible points: a point enters, other ones near it leave, each of them feasible.

use super::random::{MUCH_WORK, RandomPoints};
use super::{Feasible, is_mixed};
use crate::acquire::Error;
use crate::language::domain::Domain;
use crate::language::point::Setting;
use crate::math::random::Stream;
use crate::space::{Point, Space};

/// Random points that the pool begins with.
const PROBES: usize = 20;

/// Proposals that may be infeasible before a random point is used.
const ATTEMPTS: usize = 8;

/// One proposal in so many flips bits.
const FLIPS: usize = 4;

/// The deviation of the first steps of reals and numbers, as a share of their range.
const FIRST_STEP: f64 = 0.3;

/// Values of a parameter up to which a neighbourhood has all of them.
const ALL_VALUES: u64 = 9;

/// The middle of a scale, and of two middle values the lower one.
const MIDDLE: f64 = 0.5 - f64::EPSILON;

/// Values of a parameter above which a neighbourhood has larger steps too, and those steps as shares of its scale.
const MANY_VALUES: u64 = 64;
const LARGE_STEPS: [f64; 4] = [-0.25, -0.0625, 0.0625, 0.25];

/// Feasible moves in one space.
pub(crate) struct Moves<'a> {
    space: &'a Space,
    points: RandomPoints<'a>,
    /// What was drawn so far.
    pub pool: Vec<Feasible>,
    draws_left: usize,
    /// The coordinate of each continuous parameter.
    coordinates: Vec<Option<usize>>,
    /// The parameters that decide which others are active.
    switches: Vec<usize>,
    /// Whether a constraint speaks of reals.
    is_mixed: bool,
}

impl<'a> Moves<'a> {
    pub fn new(space: &'a Space, draws: usize) -> Moves<'a> {
        let mut n_reals = 0;
        let coordinates = space.parameters().iter().map(|parameter| {
            n_reals += usize::from(parameter.domain().is_continuous());
            parameter.domain().is_continuous().then(|| n_reals - 1)
        });
        let coordinates = coordinates.collect();
        let points = RandomPoints::new(space);
        let (switches, is_mixed) = (space.encoding().switches(), is_mixed(space));
        Moves {
            space,
            points,
            pool: vec![],
            draws_left: draws,
            coordinates,
            switches,
            is_mixed,
        }
    }

    /// Fills the pool for the first time.
    pub fn draw_first(&mut self, stream: &mut Stream) -> Result<(), Error> {
        self.draw(PROBES.min(self.draws_left.max(1)), stream)
    }

    /// Draws points into the pool; fewer where that is much work.
    pub fn draw(&mut self, n: usize, stream: &mut Stream) -> Result<(), Error> {
        for drawn in 0..n {
            if drawn > 0 && self.points.work() >= MUCH_WORK {
                break;
            }
            self.draw_one(stream)?;
        }
        Ok(())
    }

    /// Draws a point into the pool. One failure is enough: it took long.
    fn draw_one(&mut self, stream: &mut Stream) -> Result<(), Error> {
        let drawn = self.points.draw(stream);
        self.draws_left = if drawn.is_ok() {
            self.draws_left.saturating_sub(1)
        } else {
            0
        };
        self.pool.push(drawn?);
        Ok(())
    }

    /// A feasible point that is not `here`.
    pub fn proposed(
        &mut self,
        here: &Feasible,
        heat: f64,
        stream: &mut Stream,
    ) -> Option<Feasible> {
        for _ in 0..ATTEMPTS {
            let is_flip = stream.below(FLIPS) == 0;
            let moved = if is_flip {
                self.flipped(here, stream)
            } else {
                self.changed(here, 1 + stream.below(2), FIRST_STEP * heat.sqrt(), stream)
            };
            let moved = moved.filter(|moved| moved.point() != here.point());
            if moved.is_some() {
                return moved;
            }
        }
        let is_new =
            self.draws_left > 0 && self.points.work() < MUCH_WORK && self.draw_one(stream).is_ok();
        let other = if is_new {
            self.pool.len() - 1
        } else {
            stream.below(self.pool.len())
        };
        let other = self.pool.get(other)?.clone();
        Some(self.drawn_back(other, here, (heat, &[]), stream))
            .filter(|moved| moved.point() != here.point())
    }

    /// A point of a random branch that is otherwise like `here` where that is feasible: whole blocks of parameters become active
    /// or inactive together.
    pub fn jumped(&self, here: &Feasible, stream: &mut Stream) -> Option<Feasible> {
        let other = self.points.draw_branch(stream)?;
        Some(self.drawn_back(other, here, (0.0, &self.switches), stream))
    }

    /// Up to `n` active parameters at other values, the reals by steps of this deviation. What becomes active by that takes a
    /// random value.
    pub fn changed(
        &self,
        here: &Feasible,
        n: usize,
        step: f64,
        stream: &mut Stream,
    ) -> Option<Feasible> {
        let (mut settings, mut unit) = self.opened(here, stream);
        let active: Vec<usize> = (0..settings.len())
            .filter(|p| here.point().settings[*p].is_some())
            .collect();
        let is_visible = |p: &&usize| !self.space.parameters()[**p].is_auxiliary();
        let visible: Vec<usize> = active.iter().filter(is_visible).copied().collect();
        let mut chosen = vec![*visible.get(stream.below(visible.len()))?];
        // The others may be auxiliary ones, which often have to follow the first.
        for _ in 1..n {
            chosen.extend(
                active
                    .get(stream.below(active.len()))
                    .filter(|p| !chosen.contains(p)),
            );
        }
        for p in chosen {
            match (settings[p], self.coordinates[p]) {
                (Some(Setting::Index(index)), _) => {
                    let other =
                        other_index(self.space.parameters()[p].domain(), index, step, stream);
                    settings[p] = Some(Setting::Index(other));
                }
                (_, Some(k)) => unit[k] = reflected(unit[k] + step * stream.normal()),
                _ => {}
            }
        }
        let bits = self.space.encoding().encode(&Point { settings }).bits;
        self.accepted(&bits, &unit)
    }

    /// Every visible active discrete parameter at its other values: at all of them, or where there are many at some near and far
    /// ones.
    pub fn neighbours(&self, here: &Feasible, stream: &mut Stream) -> Vec<Feasible> {
        let mut found = Vec::new();
        for (p, parameter) in self.space.parameters().iter().enumerate() {
            let Some(Setting::Index(index)) = here.point().settings[p] else {
                continue;
            };
            if parameter.is_auxiliary() {
                continue;
            }
            for other in other_indices(parameter.domain(), index, stream) {
                let (mut settings, unit) = self.opened(here, stream);
                settings[p] = Some(Setting::Index(other));
                let bits = self.space.encoding().encode(&Point { settings }).bits;
                found.extend(self.accepted(&bits, &unit));
            }
        }
        found
    }

    /// Settings and coordinates of a point, with random values for what is inactive.
    fn opened(&self, here: &Feasible, stream: &mut Stream) -> (Vec<Option<Setting>>, Vec<f64>) {
        let mut unit = here.code().unit.clone();
        let mut settings = here.point().settings.clone();
        for (p, parameter) in self.space.parameters().iter().enumerate() {
            match (settings[p], self.coordinates[p]) {
                (Some(_), _) => {}
                (None, Some(k)) => unit[k] = stream.unit(),
                (None, None) => {
                    settings[p] = any_index(parameter.domain(), stream).map(Setting::Index);
                }
            }
        }
        (settings, unit)
    }

    /// One or two bits of active parameters flipped.
    fn flipped(&self, here: &Feasible, stream: &mut Stream) -> Option<Feasible> {
        let active = (0..self.coordinates.len()).filter(|p| here.point().settings[*p].is_some());
        let of_active: Vec<usize> = active
            .flat_map(|p| self.space.encoding().bits_of(p))
            .collect();
        let mut bits = here.code().bits.clone();
        for _ in 0..=stream.below(2) {
            let bit = *of_active.get(stream.below(of_active.len()))?;
            bits[bit] = !bits[bit];
        }
        self.accepted(&bits, &here.code().unit)
    }

    /// The point of a code, with its reals repaired where that is needed and possible.
    fn accepted(&self, bits: &[bool], unit: &[f64]) -> Option<Feasible> {
        let as_it_is = Feasible::of_code(self.space, bits, unit);
        if as_it_is.is_some() || !self.is_mixed {
            return as_it_is;
        }
        let region = self.space.encoding().given_bits(bits).ok()?;
        Feasible::of_code(self.space, bits, &region.repaired(unit)?)
    }

    /// The point with its numbers moved to the middle of their ranges, in random order, where it stays feasible.
    pub fn centred(&self, point: Feasible, stream: &mut Stream) -> Feasible {
        let mut found = point;
        let mut order: Vec<usize> = (0..self.coordinates.len()).collect();
        while !order.is_empty() {
            let p = order.swap_remove(stream.below(order.len()));
            let domain = self.space.parameters()[p].domain();
            let Some(setting) = found.point().settings[p] else {
                continue;
            };
            let (mut settings, mut unit) =
                (found.point().settings.clone(), found.code().unit.clone());
            match (setting, self.coordinates[p]) {
                (_, Some(k)) => unit[k] = 0.5,
                (Setting::Index(_), None) if domain.is_ordered() => {
                    settings[p] = domain.index_at(MIDDLE).map(Setting::Index);
                }
                _ => continue,
            }
            let bits = self.space.encoding().encode(&Point { settings }).bits;
            found = self.accepted(&bits, &unit).unwrap_or(found);
        }
        found
    }

    /// Takes over values of `here`, in random order, where the point stays feasible and another one than `here`; each is left alone
    /// with probability `heat`, and those of `held` always.
    pub fn drawn_back(
        &self,
        other: Feasible,
        here: &Feasible,
        (heat, held): (f64, &[usize]),
        stream: &mut Stream,
    ) -> Feasible {
        let mut found = other;
        let mut order: Vec<usize> = (0..self.coordinates.len()).collect();
        while !order.is_empty() {
            let p = order.swap_remove(stream.below(order.len()));
            let value = here.point().settings[p];
            let is_left = stream.unit() < heat || held.contains(&p);
            if is_left || value.is_none() || value == found.point().settings[p] {
                continue;
            }
            let (mut bits, mut unit) = (found.code().bits.clone(), found.code().unit.clone());
            let range = self.space.encoding().bits_of(p);
            bits[range.clone()].copy_from_slice(&here.code().bits[range]);
            if let Some(k) = self.coordinates[p] {
                unit[k] = here.code().unit[k];
            }
            let nearer = Feasible::of_code(self.space, &bits, &unit);
            found = nearer
                .filter(|nearer| nearer.point() != here.point())
                .unwrap_or(found);
        }
        found
    }
}

/// A random index, even on the domain's own scale.
fn any_index(domain: &Domain, stream: &mut Stream) -> Option<u64> {
    if domain.is_log() {
        domain.index_at(stream.unit())
    } else {
        Some(below(domain.size()?, stream))
    }
}

/// Another index: any, or for ordered values half of the time a near one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a size is a size"
)]
fn other_index(domain: &Domain, index: u64, step: f64, stream: &mut Stream) -> u64 {
    let n = domain.size().unwrap_or(1);
    if n < 2 {
        return index;
    }
    let is_far = !domain.is_ordered() || stream.below(2) == 0;
    if domain.is_log() {
        let u = if is_far {
            stream.unit()
        } else {
            reflected(domain.position(index) + step * stream.normal())
        };
        let other = domain.index_at(u).filter(|other| *other != index);
        return other.unwrap_or_else(|| moved_by(1, index, n, stream));
    }
    if is_far {
        return (index + 1 + below(n - 1, stream)) % n;
    }
    let by = 1 + below((step * n as f64) as u64, stream);
    moved_by(by, index, n, stream)
}

/// Up or down by so many, but not beyond the ends.
fn moved_by(by: u64, index: u64, n: u64, stream: &mut Stream) -> u64 {
    let is_up = index == 0 || index + 1 < n && stream.below(2) == 0;
    if is_up {
        (index + by).min(n - 1)
    } else {
        index.saturating_sub(by)
    }
}

/// All other indices of a small domain; of a large one those near by, a few far away in each direction, and two random ones.
fn other_indices(domain: &Domain, index: u64, stream: &mut Stream) -> Vec<u64> {
    let n = domain.size().unwrap_or(1);
    if n <= ALL_VALUES {
        return (0..n).filter(|other| *other != index).collect();
    }
    let mut others: Vec<u64> = (0..2).filter_map(|_| any_index(domain, stream)).collect();
    if domain.is_ordered() {
        others.extend(
            [1, 2, 4]
                .into_iter()
                .flat_map(|by| [index.checked_sub(by), Some(index + by)])
                .flatten(),
        );
        if n > MANY_VALUES {
            let at = domain.position(index);
            let far = LARGE_STEPS
                .iter()
                .map(|by| at + by)
                .filter(|u| (0.0..=1.0).contains(u));
            others.extend(far.filter_map(|u| domain.index_at(u)));
        }
    }
    others.retain(|other| *other < n && *other != index);
    others.sort_unstable();
    others.dedup();
    others
}

fn below(n: u64, stream: &mut Stream) -> u64 {
    stream.below(usize::try_from(n).unwrap_or(usize::MAX)) as u64
}

/// Into [0, 1], turned back at its ends.
fn reflected(u: f64) -> f64 {
    let turned = u.abs() % 2.0;
    if turned > 1.0 { 2.0 - turned } else { turned }
}
