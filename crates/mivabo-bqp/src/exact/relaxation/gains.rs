//! The bounds of all children of a node, from the inverse at hand.
//!
//! ```text
//! min { s'Zs + 2d's : s_i = σ } - min { s'Zs + 2d's } = (σ - u_i)² / W_ii
//! min { s'Zs + 2d's : s_B = p } - min { s'Zs + 2d's } = (p - u_B)' (W_BB)⁻¹ (p - u_B)
//! ```

use super::Relaxation;
use super::groups::{Group, Open};
use super::square::dot;
use crate::propagation::Assignment;

/// By how much the bound of a node grows at least when a bit gets a value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gain {
    pub zero: f64,
    pub one: f64,
}

impl Relaxation<'_> {
    /// By how much L grows at least when each free bit is 0, and when it is 1.
    pub fn gains(&mut self, assignment: &Assignment, groups: &[Group]) -> Vec<Gain> {
        let centre = self.centre.iter().zip(self.matrix.diagonal());
        let mut gains: Vec<Gain> = centre
            .map(|(u, w)| Gain {
                zero: (1.0 + u) * (1.0 + u) / w,
                one: (1.0 - u) * (1.0 - u) / w,
            })
            .collect();
        let m = self.node.m();
        // All groups together may cost about as much as a Newton step.
        let most = m * m * m / 4;
        for group in groups {
            if let Some(open) = group.open(assignment, &self.node.place, most)
                && let Some(costs) = self.pattern_gains(&open)
            {
                open.raise(&mut gains, &costs);
            }
        }
        gains
    }

    /// By how much L grows at least when the bits of a group have each of its patterns.
    ///
    /// `None` when the block of W cannot be inverted.
    fn pattern_gains(&mut self, open: &Open) -> Option<Vec<f64>> {
        let places = &open.places;
        self.block.copy_part(&self.matrix, places);
        if !self.workspace.invert(&mut self.block) {
            return None;
        }
        let mut difference = vec![0.0; places.len()];
        let gain = |pattern: &u64| {
            for (at, (d, place)) in difference.iter_mut().zip(places).enumerate() {
                let spin = if pattern >> at & 1 == 1 { 1.0 } else { -1.0 };
                *d = spin - self.centre[*place];
            }
            let terms = difference
                .iter()
                .enumerate()
                .map(|(i, d)| d * dot(self.block.row(i), &difference));
            terms.sum()
        };
        Some(open.patterns.iter().map(gain).collect())
    }
}

impl Open {
    /// Raises the gains of its bits: a value costs at least what the cheapest pattern with that value costs.
    fn raise(&self, gains: &mut [Gain], costs: &[f64]) {
        for (i, place) in self.places.iter().enumerate() {
            let least = |value: u64| {
                let all = self.patterns.iter().zip(costs);
                let having = all.filter(|(pattern, _)| **pattern >> i & 1 == value);
                having.map(|(_, cost)| *cost).fold(f64::INFINITY, f64::min)
            };
            let gain = &mut gains[*place];
            gain.zero = gain.zero.max(least(0));
            gain.one = gain.one.max(least(1));
        }
    }
}
