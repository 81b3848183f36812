//! Triangle inequalities: what three spins can never be, and the relaxation can.
//!
//! ```text
//! σ_ij s_i s_j + σ_ik s_i s_k + σ_jk s_j s_k >= -1        for signs with product 1
//! ```
//!
//! One of the three may be the constant spin 1. Written as s'Qs + 2q's - 1 <= 0, each has a multiplier in the dual like
//! a row; its Q has three entries, so its share of a Newton step costs little.

use super::point::Point;
use super::spins::spin;
use crate::propagation::Assignment;

/// Stands for the constant spin.
const CONSTANT: usize = usize::MAX;

/// A violation below this is not worth a multiplier.
const LEAST_VIOLATION: f64 = 0.05;

/// The signs with product 1.
const SIGNS: [[f64; 3]; 4] = [
    [1.0, 1.0, 1.0],
    [1.0, -1.0, -1.0],
    [-1.0, 1.0, -1.0],
    [-1.0, -1.0, 1.0],
];

/// A triangle inequality between three bits, or two bits and the constant.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cut {
    /// Ascending; the last may be [`CONSTANT`].
    bits: [usize; 3],
    /// Signs of the pairs (0, 1), (0, 2), (1, 2).
    signs: [f64; 3],
}

/// The pairs of three positions, in the order of [`Cut::signs`].
const PAIRS: [(usize, usize); 3] = [(0, 1), (0, 2), (1, 2)];

/// A cut over the two or three of its bits that are free in a node. With two, the third position repeats the first and
/// has no part in anything.
#[derive(Debug, Clone)]
pub(super) struct NodeCut {
    pub index: usize,
    /// Places of its free bits.
    pub places: [usize; 3],
    /// Q, by pair of positions.
    pub pairs: [f64; 3],
    /// q, by position.
    pub linear: [f64; 3],
    /// p = Qu + q, by position.
    pub slope: [f64; 3],
}

impl Cut {
    /// Its bits.
    pub fn bits(&self) -> impl Iterator<Item = usize> + use<> {
        self.bits.into_iter().filter(|bit| *bit != CONSTANT)
    }

    /// What is left of the cut where some of its bits are fixed; `None` when that always holds.
    pub(super) fn restrict(
        &self,
        index: usize,
        assignment: &Assignment,
        place: &[usize],
    ) -> Option<NodeCut> {
        let spins = self.bits.map(|bit| match bit {
            CONSTANT => Some(1.0),
            _ => spin(assignment, bit),
        });
        // Valid at both values of a single free spin, and linear in it: so it always holds.
        if spins.iter().filter(|spin| spin.is_none()).count() < 2 {
            return None;
        }
        let first = spins.iter().position(Option::is_none)?;
        let mut cut = NodeCut {
            index,
            places: [place[self.bits[first]]; 3],
            pairs: [0.0; 3],
            linear: [0.0; 3],
            slope: [0.0; 3],
        };
        for at in (first..3).filter(|at| spins[*at].is_none()) {
            cut.places[at] = place[self.bits[at]];
        }
        cut.set_terms(spins, self.signs);
        Some(cut)
    }
}

impl NodeCut {
    /// Q and q, where some of the three spins are known.
    fn set_terms(&mut self, spins: [Option<f64>; 3], signs: [f64; 3]) {
        for (at, ((a, b), sign)) in PAIRS.into_iter().zip(signs).enumerate() {
            match (spins[a], spins[b]) {
                (None, None) => self.pairs[at] = -sign / 2.0,
                (None, Some(s)) => self.linear[a] -= sign * s / 2.0,
                (Some(s), None) => self.linear[b] -= sign * s / 2.0,
                (Some(_), Some(_)) => {}
            }
        }
    }

    /// The entries of Q that are not zero: two places and the entry.
    pub fn entries(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        let pairs = PAIRS.iter().zip(&self.pairs).filter(|(_, q)| **q != 0.0);
        pairs.map(|((a, b), q)| (self.places[*a], self.places[*b], *q))
    }

    /// Updates p = Qu + q.
    pub fn differentiate(&mut self, u: &[f64]) {
        self.slope = self.linear;
        for ((a, b), q) in PAIRS.into_iter().zip(self.pairs) {
            self.slope[a] += q * u[self.places[b]];
            self.slope[b] += q * u[self.places[a]];
        }
    }

    /// <Q, X> + 2q'u
    pub fn activity(&self, at: Point<'_>) -> f64 {
        let linear: f64 = self
            .places
            .iter()
            .zip(&self.linear)
            .map(|(place, q)| q * at.centre[*place])
            .sum();
        let square: f64 = self.entries().map(|(i, j, q)| q * at.entry(i, j)).sum();
        2.0 * (linear + square)
    }

    /// 2 uᵢ (Wp)ᵢ + τ (WQW)ᵢᵢ, for all i
    pub fn column(&self, at: Point<'_>, column: &mut [f64]) {
        let [a, b, c] = self.places.map(|place| at.inverse.row(place));
        let [p, q, r] = self.slope;
        let [ab, ac, bc] = self.pairs.map(|q| at.tau * q);
        let rows = at.centre.iter().zip(a).zip(b).zip(c);
        for (entry, (((u, a), b), c)) in column.iter_mut().zip(rows) {
            *entry = 2.0 * (u * (p * a + q * b + r * c) + ab * a * b + ac * a * c + bc * b * c);
        }
    }

    /// 2 p'Wp' + τ <QW, WQ'> of two cuts.
    pub fn curvature(&self, other: &NodeCut, at: Point<'_>) -> f64 {
        let w = self
            .places
            .map(|i| other.places.map(|j| at.inverse.at(i, j)));
        let [x, y, z] = other.slope;
        let mut linear = 0.0;
        for (row, p) in w.iter().zip(self.slope) {
            linear += p * (row[0] * x + row[1] * y + row[2] * z);
        }
        let mut square = 0.0;
        for ((a, b), q) in PAIRS.into_iter().zip(self.pairs) {
            for ((c, d), p) in PAIRS.into_iter().zip(other.pairs) {
                square += q * p * (w[a][c] * w[b][d] + w[a][d] * w[b][c]);
            }
        }
        2.0 * (linear + at.tau * square)
    }
}

/// The most violated triangle inequalities of X, at most `limit` of them; `x(i, j)` is an entry of X between the
/// free bits, and `x(i, m)` one with the constant, where there are m of them.
pub(super) fn separate(free: &[usize], x: impl Fn(usize, usize) -> f64, limit: usize) -> Vec<Cut> {
    let m = free.len();
    let bit = |i: usize| free.get(i).copied().unwrap_or(CONSTANT);
    let mut found: Vec<(f64, Cut)> = Vec::new();
    for i in 0..m {
        for j in i + 1..m {
            let ij = x(i, j);
            for k in j + 1..=m {
                let violated = violated_signs([ij, x(i, k), x(j, k)]);
                found.extend(violated.map(|(violation, signs)| {
                    let bits = [bit(i), bit(j), bit(k)];
                    (violation, Cut { bits, signs })
                }));
            }
        }
    }
    // The sort is stable: among equals always the same ones are kept.
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.truncate(limit);
    found.into_iter().map(|(_, cut)| cut).collect()
}

/// By how much three products of spins violate the inequalities, and the signs of those.
#[inline]
fn violated_signs([ij, ik, jk]: [f64; 3]) -> impl Iterator<Item = (f64, [f64; 3])> {
    SIGNS.into_iter().filter_map(move |signs| {
        let violation = -1.0 - (signs[0] * ij + signs[1] * ik + signs[2] * jk);
        (violation > LEAST_VIOLATION).then_some((violation, signs))
    })
}
