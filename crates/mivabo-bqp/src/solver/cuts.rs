//! Triangle inequalities: what three spins can never be, and the relaxation can.
//!
//! ```text
//! σ_ij s_i s_j + σ_ik s_i s_k + σ_jk s_j s_k >= -1        for signs with product 1
//! ```
//!
//! One of the three may be the constant spin 1. Written as s'Qs + 2q's - 1 <= 0, each has a multiplier in the dual like
//! a row; its Q has three entries, so its share of a Newton step costs little.

use crate::assignment::Assignment;

/// Stands for the constant spin.
const CONSTANT: usize = usize::MAX;

/// A violation below this is not worth a multiplier.
const LEAST_VIOLATION: f64 = 0.05;

/// A triangle inequality between three bits, or two bits and the constant.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cut {
    /// Ascending; the last may be [`CONSTANT`].
    bits: [usize; 3],
    /// Signs of the pairs (0, 1), (0, 2), (1, 2).
    signs: [f64; 3],
}

/// A cut over the free bits of a node.
#[derive(Debug, Clone)]
pub(crate) struct NodeCut {
    pub index: usize,
    /// Places of its free bits; two or three.
    pub places: Vec<usize>,
    /// (position in `places`, position in `places`, Q entry)
    pub pairs: Vec<(usize, usize, f64)>,
    /// q, by position in `places`.
    pub linear: Vec<f64>,
    /// Qu + q, by position in `places`.
    pub image: Vec<f64>,
}

impl Cut {
    /// Its bits.
    pub fn bits(&self) -> impl Iterator<Item = usize> + use<> {
        self.bits.into_iter().filter(|bit| *bit != CONSTANT)
    }

    /// What is left of the cut where some of its bits are fixed; `None` when that always holds.
    pub fn restrict(&self, index: usize, assignment: &Assignment, place: &[usize]) -> Option<NodeCut> {
        let spin = |bit: usize| match bit {
            CONSTANT => Some(1.0),
            _ => assignment.value(bit).map(|b| if b { 1.0 } else { -1.0 }),
        };
        let spins = self.bits.map(spin);
        let free: Vec<usize> = (0..3).filter(|k| spins[*k].is_none()).collect();
        if free.len() < 2 {
            return None;
        }
        let position = |k: usize| free.iter().position(|f| *f == k);
        let mut cut = NodeCut {
            index,
            places: free.iter().map(|k| place[self.bits[*k]]).collect(),
            pairs: Vec::with_capacity(3),
            linear: vec![0.0; free.len()],
            image: vec![0.0; free.len()],
        };
        for ((a, b), sign) in [(0, 1), (0, 2), (1, 2)].into_iter().zip(self.signs) {
            match (position(a), position(b)) {
                (Some(i), Some(j)) => cut.pairs.push((i, j, -sign / 2.0)),
                (Some(i), None) => cut.linear[i] -= sign * spins[b].unwrap_or(1.0) / 2.0,
                (None, Some(j)) => cut.linear[j] -= sign * spins[a].unwrap_or(1.0) / 2.0,
                (None, None) => {}
            }
        }
        Some(cut)
    }
}

/// The most violated triangle inequalities of X, at most `limit` of them; `x(i, j)` is an entry of X between the
/// `m` free bits, and `x(i, m)` one with the constant.
pub(crate) fn separate(free: &[usize], x: impl Fn(usize, usize) -> f64, limit: usize) -> Vec<Cut> {
    let m = free.len();
    let bit = |i: usize| free.get(i).copied().unwrap_or(CONSTANT);
    let mut found: Vec<(f64, Cut)> = Vec::new();
    for i in 0..m {
        for j in i + 1..m {
            let ij = x(i, j);
            for k in j + 1..=m {
                let (ik, jk) = (x(i, k), x(j, k));
                for signs in [[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]] {
                    let violation = -1.0 - (signs[0] * ij + signs[1] * ik + signs[2] * jk);
                    if violation > LEAST_VIOLATION {
                        found.push((violation, Cut { bits: [bit(i), bit(j), bit(k)], signs }));
                    }
                }
            }
        }
    }
    // The most violated ones, and among equals always the same.
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.truncate(limit);
    found.into_iter().map(|(_, cut)| cut).collect()
}
