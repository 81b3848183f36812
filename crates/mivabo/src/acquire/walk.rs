//! A walk over the bits towards the feasible set, where feasible points are too rare to be drawn.

use mivabo_bqp::Distance;

use super::Feasible;
use super::bits::nearest_bits;
use crate::language::point::Setting;
use crate::math::random::Stream;
use crate::space::Space;

/// Nodes in the search for the bits nearest to a wish.
const NODES: u64 = 10;

/// Where a walk is: bits, and the reals that violate least there.
pub(super) struct Walk<'a> {
    space: &'a Space,
    bits: Vec<bool>,
    unit: Vec<f64>,
    violation: f64,
}

impl<'a> Walk<'a> {
    /// At these bits, and the best reals that are found for them from `unit`.
    ///
    /// What is violated is what the limits of the region fail by, and a thousandth for each constraint that does not hold: the
    /// region does not know of what can only be tested.
    pub(super) fn at(space: &'a Space, bits: Vec<bool>, unit: &[f64]) -> Option<Walk<'a>> {
        let region = space.encoding().given_bits(&bits).ok()?;
        let nearest = region.nearest(unit);
        let unit = region.repaired(&nearest).unwrap_or(nearest);
        let point = space.encoding().decode(&bits, &unit).ok()?;
        let n_violated = space.check(&point).violations.len();
        let violation = if n_violated == 0 {
            0.0
        } else {
            region.violation(&unit) + 1e-3 * n_violated as f64
        };
        Some(Walk {
            space,
            bits,
            unit,
            violation,
        })
    }

    /// Changes one parameter after the other, at random, wherever that leaves less to violate, or as much.
    pub(super) fn end(mut self, steps: usize, stream: &mut Stream) -> Option<Feasible> {
        for _ in 0..steps {
            if self.violation == 0.0 {
                break;
            }
            let Some(next) = self.neighbour(stream) else {
                continue;
            };
            // A step that leaves as much is taken too, or the walk would stop on the first plateau.
            if next.violation <= self.violation {
                self = next;
            }
        }
        Feasible::of_code(self.space, &self.bits, &self.unit)
    }

    /// The bits nearest to these that satisfy the discrete constraints with another value of one parameter.
    fn neighbour(&self, stream: &mut Stream) -> Option<Walk<'a>> {
        let encoding = self.space.encoding();
        let p = stream.below(self.space.parameters().len());
        let wish = self.changed(p, stream)?;
        let bits = if encoding.problem().is_feasible(&wish) {
            wish
        } else {
            let held: Vec<usize> = encoding.bits_of(p).collect();
            let distance = Distance::hamming(wish.len());
            nearest_bits(encoding.problem(), &wish, &distance, &held, NODES)?
        };
        Walk::at(self.space, bits, &self.unit)
    }

    /// The bits with another value of parameter `p`, whatever the constraints say.
    fn changed(&self, p: usize, stream: &mut Stream) -> Option<Vec<bool>> {
        let encoding = self.space.encoding();
        let mut point = encoding.decode(&self.bits, &self.unit).ok()?;
        let size = self.space.parameters()[p].domain().size()?;
        let Some(Setting::Index(old)) = point.settings[p] else {
            return None;
        };
        let new = stream.below(usize::try_from(size).ok()?) as u64;
        if new == old {
            return None;
        }
        point.settings[p] = Some(Setting::Index(new));
        Some(encoding.encode(&point).bits)
    }
}
