//! Moves from a feasible point to others near it, each of them feasible.

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

/// What a point keeps of its own where it takes over the values of another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept<'a> {
    /// The probability with which each parameter keeps its value.
    pub chance: f64,
    /// Parameters that always do.
    pub parameters: &'a [usize],
}

/// A point on its way: values of all parameters, and coordinates of all reals, before anybody has asked whether it is feasible.
struct Draft {
    settings: Vec<Option<Setting>>,
    unit: Vec<f64>,
}

impl<'a> Moves<'a> {
    pub fn new(space: &'a Space, draws: usize) -> Moves<'a> {
        Moves {
            space,
            points: RandomPoints::new(space),
            pool: vec![],
            draws_left: draws,
            coordinates: coordinates(space),
            switches: space.encoding().switches(),
            is_mixed: is_mixed(space),
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

    /// Draws a point into the pool.
    fn draw_one(&mut self, stream: &mut Stream) -> Result<(), Error> {
        let drawn = self.points.draw(stream);
        self.draws_left = match drawn {
            Ok(_) => self.draws_left.saturating_sub(1),
            // One failure is enough: it took long, and another one would take as long.
            Err(_) => 0,
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
        let moved = (0..ATTEMPTS).find_map(|_| {
            self.stepped(here, heat, stream)
                .filter(|moved| moved.point() != here.point())
        });
        if moved.is_some() {
            return moved;
        }
        // Where single changes are never feasible, as under an equation, a whole other point is drawn back towards this one.
        let other = self.another(stream)?;
        let kept = Kept {
            chance: heat,
            parameters: &[],
        };
        let drawn_back = self.drawn_back(other, here, kept, stream);
        Some(drawn_back).filter(|moved| moved.point() != here.point())
    }

    /// One or two bits flipped, or one or two parameters changed; the hotter, the farther.
    fn stepped(&self, here: &Feasible, heat: f64, stream: &mut Stream) -> Option<Feasible> {
        if stream.below(FLIPS) == 0 {
            return self.flipped(here, stream);
        }
        let n = 1 + stream.below(2);
        self.changed(here, n, FIRST_STEP * heat.sqrt(), stream)
    }

    fn may_draw(&self) -> bool {
        self.draws_left > 0 && self.points.work() < MUCH_WORK
    }

    /// A new random point as long as there may be more, otherwise an old one.
    fn another(&mut self, stream: &mut Stream) -> Option<Feasible> {
        let at = if self.may_draw() && self.draw_one(stream).is_ok() {
            self.pool.len() - 1
        } else {
            stream.below(self.pool.len())
        };
        self.pool.get(at).cloned()
    }

    /// A point of a random branch that is otherwise like `here` where that is feasible: whole blocks of parameters become active
    /// or inactive together.
    pub fn jumped(&self, here: &Feasible, stream: &mut Stream) -> Option<Feasible> {
        let other = self.points.draw_branch(stream)?;
        // The switches make the branch: taking one of them back would undo the jump.
        let kept = Kept {
            chance: 0.0,
            parameters: &self.switches,
        };
        Some(self.drawn_back(other, here, kept, stream))
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
        let mut draft = self.opened(here, stream);
        for p in self.chosen(here, n, stream)? {
            match (draft.settings[p], self.coordinates[p]) {
                (Some(Setting::Index(index)), _) => {
                    let domain = self.space.parameters()[p].domain();
                    let other = other_index(domain, index, step, stream);
                    draft.settings[p] = Some(Setting::Index(other));
                }
                (_, Some(k)) => {
                    draft.unit[k] = reflected(draft.unit[k] + step * stream.normal());
                }
                _ => {}
            }
        }
        self.finished(draft)
    }

    /// Up to `n` active parameters, the first of them visible.
    fn chosen(&self, here: &Feasible, n: usize, stream: &mut Stream) -> Option<Vec<usize>> {
        let active: Vec<usize> = active(here).collect();
        let is_visible = |p: &&usize| !self.space.parameters()[**p].is_auxiliary();
        let visible: Vec<usize> = active.iter().filter(is_visible).copied().collect();
        let mut chosen = vec![*visible.get(stream.below(visible.len()))?];
        // The others may be auxiliary ones, which often have to follow the first.
        for _ in 1..n {
            let other = active.get(stream.below(active.len()));
            chosen.extend(other.filter(|p| !chosen.contains(p)));
        }
        Some(chosen)
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
                let mut draft = self.opened(here, stream);
                draft.settings[p] = Some(Setting::Index(other));
                found.extend(self.finished(draft));
            }
        }
        found
    }

    /// A feasible point to be changed, with random values for what is inactive: a change may make it active.
    fn opened(&self, here: &Feasible, stream: &mut Stream) -> Draft {
        let mut draft = Draft::of(here);
        for (p, parameter) in self.space.parameters().iter().enumerate() {
            match (draft.settings[p], self.coordinates[p]) {
                (Some(_), _) => {}
                (None, Some(k)) => draft.unit[k] = stream.unit(),
                (None, None) => {
                    draft.settings[p] = any_index(parameter.domain(), stream).map(Setting::Index);
                }
            }
        }
        draft
    }

    /// One or two bits of active parameters flipped.
    fn flipped(&self, here: &Feasible, stream: &mut Stream) -> Option<Feasible> {
        let of_active: Vec<usize> = active(here)
            .flat_map(|p| self.space.encoding().bits_of(p))
            .collect();
        let mut bits = here.code().bits.clone();
        for _ in 0..=stream.below(2) {
            let bit = *of_active.get(stream.below(of_active.len()))?;
            bits[bit] = !bits[bit];
        }
        self.accepted(&bits, &here.code().unit)
    }

    fn finished(&self, draft: Draft) -> Option<Feasible> {
        let Draft { settings, unit } = draft;
        let bits = self.space.encoding().encode(&Point { settings }).bits;
        self.accepted(&bits, &unit)
    }

    /// The point of a code, with its reals repaired where that is needed and possible.
    fn accepted(&self, bits: &[bool], unit: &[f64]) -> Option<Feasible> {
        let as_it_is = Feasible::of_code(self.space, bits, unit);
        if as_it_is.is_some() || !self.is_mixed {
            return as_it_is;
        }
        // The bits stay: where they are wrong for all reals, no repair helps.
        self.repaired(bits, unit)
    }

    /// With the reals moved into what these bits leave.
    fn repaired(&self, bits: &[bool], unit: &[f64]) -> Option<Feasible> {
        let region = self.space.encoding().given_bits(bits).ok()?;
        Feasible::of_code(self.space, bits, &region.repaired(unit)?)
    }

    /// The point with its numbers moved to the middle of their ranges, in random order, where it stays feasible.
    pub fn centred(&self, point: Feasible, stream: &mut Stream) -> Feasible {
        let mut found = point;
        for p in self.in_random_order(stream) {
            let centred = self.centred_in(&found, p);
            found = centred.unwrap_or(found);
        }
        found
    }

    fn centred_in(&self, point: &Feasible, p: usize) -> Option<Feasible> {
        let domain = self.space.parameters()[p].domain();
        let mut draft = Draft::of(point);
        match (draft.settings[p]?, self.coordinates[p]) {
            (_, Some(k)) => draft.unit[k] = 0.5,
            (Setting::Index(_), None) if domain.is_ordered() => {
                draft.settings[p] = domain.index_at(MIDDLE).map(Setting::Index);
            }
            _ => return None,
        }
        self.finished(draft)
    }

    /// Takes over values of `here`, in random order, where the point stays feasible and another one than `here`.
    pub fn drawn_back(
        &self,
        other: Feasible,
        here: &Feasible,
        kept: Kept<'_>,
        stream: &mut Stream,
    ) -> Feasible {
        let mut found = other;
        let mut order: Vec<usize> = self.parameters().collect();
        while !order.is_empty() {
            let p = order.swap_remove(stream.below(order.len()));
            let is_kept = stream.unit() < kept.chance || kept.parameters.contains(&p);
            if !is_kept {
                found = self.with_value_of(here, p, &found).unwrap_or(found);
            }
        }
        found
    }

    /// The point with the value that parameter `p` has in `here`, if that differs, is feasible and does not lead to `here` itself.
    fn with_value_of(&self, here: &Feasible, p: usize, point: &Feasible) -> Option<Feasible> {
        let value = here.point().settings[p];
        if value.is_none() || value == point.point().settings[p] {
            return None;
        }
        let (mut bits, mut unit) = (point.code().bits.clone(), point.code().unit.clone());
        let range = self.space.encoding().bits_of(p);
        bits[range.clone()].copy_from_slice(&here.code().bits[range]);
        if let Some(k) = self.coordinates[p] {
            unit[k] = here.code().unit[k];
        }
        Feasible::of_code(self.space, &bits, &unit).filter(|nearer| nearer.point() != here.point())
    }

    fn parameters(&self) -> std::ops::Range<usize> {
        0..self.coordinates.len()
    }

    fn in_random_order(&self, stream: &mut Stream) -> Vec<usize> {
        let mut left: Vec<usize> = self.parameters().collect();
        let mut order = Vec::with_capacity(left.len());
        while !left.is_empty() {
            order.push(left.swap_remove(stream.below(left.len())));
        }
        order
    }
}

impl Draft {
    fn of(point: &Feasible) -> Draft {
        Draft {
            settings: point.point().settings.clone(),
            unit: point.code().unit.clone(),
        }
    }
}

/// The coordinate of each continuous parameter.
fn coordinates(space: &Space) -> Vec<Option<usize>> {
    let mut n_reals = 0;
    let coordinates = space.parameters().iter().map(|parameter| {
        let is_real = parameter.domain().is_continuous();
        n_reals += usize::from(is_real);
        is_real.then(|| n_reals - 1)
    });
    coordinates.collect()
}

/// Positions of the active parameters.
fn active(point: &Feasible) -> impl Iterator<Item = usize> + '_ {
    let settings = point.point().settings.iter().enumerate();
    settings.filter_map(|(p, setting)| setting.map(|_| p))
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
        // By 1 to n - 1 around the circle: every other index is as likely as any.
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
        others.extend(near_indices(index));
        if n > MANY_VALUES {
            others.extend(far_indices(domain, index));
        }
    }
    others.retain(|other| *other < n && *other != index);
    others.sort_unstable();
    others.dedup();
    others
}

/// A few steps up and down; some may be beyond the end.
fn near_indices(index: u64) -> impl Iterator<Item = u64> {
    let steps = [1, 2, 4].into_iter();
    steps
        .flat_map(move |by| [index.checked_sub(by), Some(index + by)])
        .flatten()
}

fn far_indices(domain: &Domain, index: u64) -> impl Iterator<Item = u64> {
    let at = domain.position(index);
    let far = LARGE_STEPS.iter().map(move |by| at + by);
    far.filter(|u| (0.0..=1.0).contains(u))
        .filter_map(|u| domain.index_at(u))
}

fn below(n: u64, stream: &mut Stream) -> u64 {
    stream.below(usize::try_from(n).unwrap_or(usize::MAX)) as u64
}

/// Into [0, 1], turned back at its ends.
fn reflected(u: f64) -> f64 {
    let turned = u.abs() % 2.0;
    if turned > 1.0 { 2.0 - turned } else { turned }
}
