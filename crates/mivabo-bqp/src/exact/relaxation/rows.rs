//! What is left of a row in a node, and its part of the Newton system.
//!
//! ```text
//! p = Qu + α/2        <Q, X> + α'u        Wp        (WQW)_ii        <QW, WQ'>
//! ```

use super::cuts::NodeCut;
use super::point::Point;
use super::spins::{SpinRow, spin};
use super::square::{Square, add, dot, sum_of_sizes};
use crate::propagation::Assignment;

/// A row over the free bits that can still be violated.
pub(super) struct NodeRow {
    pub index: usize,
    pub alpha: Vec<f64>,
    pub beta: f64,
    /// Q, as places i < j and its entry there.
    pub pairs: Vec<(usize, usize, f64)>,
    pub is_equation: bool,
    /// How large the terms are that a multiplier of 1 adds to L, before they cancel.
    pub size: f64,
    /// p = Qu + α/2
    pub slope: Vec<f64>,
    /// Wp
    pub image: Vec<f64>,
    /// QW; empty where Q is zero.
    product: Square,
}

/// The free bits of a node, and what the others are.
#[derive(Clone, Copy)]
pub(super) struct Free<'a> {
    pub assignment: &'a Assignment,
    pub bits: &'a [usize],
    /// The place of each free bit.
    pub place: &'a [usize],
}

impl NodeRow {
    /// What is left of the row of this index.
    pub fn restrict(row: &SpinRow, index: usize, free: Free<'_>) -> NodeRow {
        let mut left = NodeRow {
            index,
            alpha: free.bits.iter().map(|bit| row.alpha[*bit]).collect(),
            beta: row.beta - row.fixed_part(free.assignment),
            pairs: Vec::new(),
            is_equation: row.is_equation,
            size: row.size,
            slope: Vec::new(),
            image: Vec::new(),
            product: Square::default(),
        };
        for &(i, j, q) in &row.pairs {
            match (spin(free.assignment, i), spin(free.assignment, j)) {
                (None, None) => left.pairs.push((free.place[i], free.place[j], q)),
                (None, Some(s)) => left.alpha[free.place[i]] += 2.0 * q * s,
                (Some(s), None) => left.alpha[free.place[j]] += 2.0 * q * s,
                (Some(s), Some(t)) => left.beta -= 2.0 * q * s * t,
            }
        }
        left
    }

    /// Whether the row has no more to say in this node.
    pub fn is_settled(&self) -> bool {
        // A quadratic row stays until it is linear: its part of Z must not vanish between a node and its child.
        if !self.pairs.is_empty() {
            return false;
        }
        let greatest = sum_of_sizes(&self.alpha);
        // What is left of a row that says nothing may be rounding, which no multiplier must blow up.
        let is_rounding = greatest <= 1e-9 * self.size;
        is_rounding || (!self.is_equation && greatest <= self.beta)
    }

    /// Whether Q is not zero.
    pub fn is_quadratic(&self) -> bool {
        !self.pairs.is_empty()
    }

    /// Updates p, Wp and QW.
    pub fn differentiate(&mut self, at: Point<'_>) {
        let m = at.centre.len();
        self.slope.clear();
        self.slope.extend(self.alpha.iter().map(|a| a / 2.0));
        if self.is_quadratic() {
            self.product.clear(m);
        }
        for &(i, j, q) in &self.pairs {
            self.slope[i] += q * at.centre[j];
            self.slope[j] += q * at.centre[i];
            add(self.product.row_mut(i), q, at.inverse.row(j));
            add(self.product.row_mut(j), q, at.inverse.row(i));
        }
        self.image.clear();
        self.image
            .extend((0..m).map(|i| dot(at.inverse.row(i), &self.slope)));
    }

    /// <Q, X> + α'u
    pub fn activity(&self, at: Point<'_>) -> f64 {
        dot(&self.alpha, at.centre) + self.square_at(at)
    }

    /// <Q, X>
    fn square_at(&self, at: Point<'_>) -> f64 {
        let pairs = self.pairs.iter();
        pairs.map(|&(i, j, q)| 2.0 * q * at.entry(i, j)).sum()
    }

    /// 2 uᵢ (Wp)ᵢ + τ (WQW)ᵢᵢ
    pub fn column_entry(&self, at: Point<'_>, i: usize) -> f64 {
        let square = self.if_quadratic(|| self.square(at.inverse, i));
        2.0 * at.centre[i] * self.image[i] + at.tau * square
    }

    /// (WQW)ᵢᵢ
    fn square(&self, w: &Square, i: usize) -> f64 {
        w.row(i)
            .iter()
            .enumerate()
            .map(|(k, w)| w * self.product.at(k, i))
            .sum()
    }

    /// 2 p'Wp' + τ <QW, WQ'> of two rows.
    pub fn curvature(&self, other: &NodeRow, tau: f64) -> f64 {
        2.0 * dot(&other.slope, &self.image) + tau * self.trace(other)
    }

    /// <QW, WQ'> of two rows.
    fn trace(&self, other: &NodeRow) -> f64 {
        if !self.is_quadratic() || !other.is_quadratic() {
            return 0.0;
        }
        let m = self.product.n();
        let row = |i: usize| {
            (0..m)
                .map(move |j| self.product.at(i, j) * other.product.at(j, i))
                .sum::<f64>()
        };
        (0..m).map(row).sum()
    }

    /// 2 p'Wp' + τ <QW, WQ'> of a row and a cut.
    pub fn curvature_with_cut(&self, cut: &NodeCut, at: Point<'_>) -> f64 {
        let slopes = cut.places.iter().zip(&cut.slope);
        let product: f64 = slopes.map(|(place, p)| self.image[*place] * p).sum();
        let square = self.if_quadratic(|| self.trace_with_cut(cut, at.inverse));
        2.0 * product + at.tau * square
    }

    fn trace_with_cut(&self, cut: &NodeCut, w: &Square) -> f64 {
        let entries = cut.entries();
        entries
            .map(|(a, b, q)| 2.0 * q * self.product_entry(w.row(a), b))
            .sum()
    }

    /// (WQW)ₐᵦ, from row a of W.
    fn product_entry(&self, row: &[f64], b: usize) -> f64 {
        let row = row.iter().enumerate();
        row.map(|(k, w)| w * self.product.at(k, b)).sum()
    }

    /// What only products of bits bring; a linear row has no matrix to ask.
    fn if_quadratic(&self, square: impl FnOnce() -> f64) -> f64 {
        if self.is_quadratic() { square() } else { 0.0 }
    }
}
