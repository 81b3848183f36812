//! The rows of a node: what is left of a constraint over the free bits enters, its part of the Newton system leaves.
//!
//! ```text
//! p = Qu + α/2        <Q, X> + α'u        Wp        (WQW)_ii        <QW, WQ'>
//! ```

use super::cuts::NodeCut;

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
    pub product: Vec<f64>,
}

impl NodeRow {
    /// Updates p, Wp and QW.
    pub fn differentiate(&mut self, w: &[f64], u: &[f64]) {
        let m = u.len();
        self.slope.clear();
        self.slope.extend(self.alpha.iter().map(|a| a / 2.0));
        self.product.clear();
        if !self.pairs.is_empty() {
            self.product.resize(m * m, 0.0);
        }
        for &(i, j, q) in &self.pairs {
            self.slope[i] += q * u[j];
            self.slope[j] += q * u[i];
            add(
                &mut self.product[i * m..(i + 1) * m],
                q,
                &w[j * m..(j + 1) * m],
            );
            add(
                &mut self.product[j * m..(j + 1) * m],
                q,
                &w[i * m..(i + 1) * m],
            );
        }
        self.image.clear();
        self.image
            .extend((0..m).map(|i| dot(&w[i * m..(i + 1) * m], &self.slope)));
    }

    /// <Q, X> + α'u
    pub fn activity(&self, u: &[f64], w: &[f64], tau: f64) -> f64 {
        let m = u.len();
        let entry = |&(i, j, q): &(usize, usize, f64)| 2.0 * q * (u[i] * u[j] + tau * w[i * m + j]);
        dot(&self.alpha, u) + self.pairs.iter().map(entry).sum::<f64>()
    }

    /// (WQW)_ii
    pub fn square(&self, w: &[f64], i: usize) -> f64 {
        let m = self.alpha.len();
        w[i * m..(i + 1) * m]
            .iter()
            .enumerate()
            .map(|(k, w)| w * self.product[k * m + i])
            .sum()
    }

    /// <QW, WQ'> of two rows.
    pub fn trace(&self, other: &NodeRow, m: usize) -> f64 {
        if self.product.is_empty() || other.product.is_empty() {
            return 0.0;
        }
        let row = |i: usize| {
            (0..m)
                .map(move |j| self.product[i * m + j] * other.product[j * m + i])
                .sum::<f64>()
        };
        (0..m).map(row).sum()
    }

    /// <QW, WQ'> with the Q' of a cut.
    pub fn trace_with_cut(&self, w: &[f64], cut: &NodeCut) -> f64 {
        let m = self.alpha.len();
        let entry = |a: usize, b: usize| -> f64 {
            w[a * m..(a + 1) * m]
                .iter()
                .enumerate()
                .map(|(k, w)| w * self.product[k * m + b])
                .sum()
        };
        cut.entries().map(|(a, b, q)| 2.0 * q * entry(a, b)).sum()
    }
}

fn add(to: &mut [f64], factor: f64, row: &[f64]) {
    for (x, y) in to.iter_mut().zip(row) {
        *x += factor * y;
    }
}

/// a'b
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    // Four sums at a time, so that the additions need not wait for each other.
    let mut sums = [0.0; 4];
    let (a_blocks, b_blocks) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = a_blocks
        .remainder()
        .iter()
        .zip(b_blocks.remainder())
        .map(|(x, y)| x * y)
        .sum();
    for (x, y) in a_blocks.zip(b_blocks) {
        for k in 0..4 {
            sums[k] += x[k] * y[k];
        }
    }
    sums.iter().sum::<f64>() + rest
}
