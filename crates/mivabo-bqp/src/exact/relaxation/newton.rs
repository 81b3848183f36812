//! One Newton step towards the central path.
//!
//! With p_r = Q_r u + α_r/2 for the rows, p = Qu + q for the cuts, and X = uu' + τW:
//!
//! ```text
//!            bits                          rows                                    cuts
//! gradient   X_ii - 1                      <Q_r, X> + α_r'u - β_r + τ/μ_r          <Q, X> + 2q'u - 1 + τ/ν
//! -Hessian   W_ij (2 u_i u_j + τ W_ij)     2 u_i (Wp_r)_i + τ (WQ_rW)_ii           as for rows
//!                                          2 p_r'Wp_s + τ <Q_rW, WQ_s> + [r = s] τ/μ_r²
//! ```
//!
//! An equation has no logarithm, and so no terms with τ/μ.

use super::Dual;
use super::elimination::Workspace;
use super::point::Point;
use super::restriction::Restriction;
use super::rows::NodeRow;
use super::square::Square;

/// What keeps the multipliers of two equal equations unique.
const REGULARISATION: f64 = 1e-9;

/// How much of the way to zero a multiplier may go in one step.
const MOST_OF_THE_WAY: f64 = 0.9;

/// The Newton system of a node. Its unknowns are the multipliers of the free bits, of the rows, and of the cuts.
#[derive(Default)]
pub(super) struct System {
    /// The upper triangle of minus the Hessian.
    hessian: Square,
    /// The gradient, and once it is solved the step.
    step: Vec<f64>,
    n_bits: usize,
    n_rows: usize,
}

impl System {
    /// Finds the step for the multipliers of a node; whether there is one.
    pub fn solve(
        &mut self,
        node: &mut Restriction,
        dual: &Dual,
        at: Point<'_>,
        workspace: &mut Workspace,
    ) -> bool {
        self.n_bits = node.m();
        self.n_rows = node.rows.len();
        self.hessian
            .clear(self.n_bits + self.n_rows + node.cuts.len());
        self.step.clear();
        self.add_bits(at);
        self.add_rows(node, dual, at);
        self.add_cuts(node, dual, at);
        workspace.solve(&self.hessian, &mut self.step)
    }

    fn add_bits(&mut self, at: Point<'_>) {
        let m = self.n_bits;
        for i in 0..m {
            self.step.push(at.entry(i, i) - 1.0);
            let twice = 2.0 * at.centre[i];
            // From the diagonal on: whoever solves the system reads the upper triangle only.
            let row = &mut self.hessian.row_mut(i)[i..m];
            let others = at.inverse.row(i)[i..].iter().zip(&at.centre[i..]);
            for (h, (w, u)) in row.iter_mut().zip(others) {
                *h = w * (twice * u + at.tau * w);
            }
        }
    }

    fn add_rows(&mut self, node: &mut Restriction, dual: &Dual, at: Point<'_>) {
        let m = self.n_bits;
        for (r, row) in node.rows.iter_mut().enumerate() {
            row.differentiate(at);
            let mu = dual.mu[row.index];
            let (barrier, curvature) = barrier(row, mu, at.tau);
            self.step.push(row.activity(at) - row.beta + barrier);
            for i in 0..m {
                *self.hessian.at_mut(i, m + r) = row.column_entry(at, i);
            }
            *self.hessian.at_mut(m + r, m + r) = curvature;
        }
        // Not in the loop above: a pair of rows needs both to be differentiated.
        for (r, row) in node.rows.iter().enumerate() {
            for (s, other) in node.rows.iter().enumerate().skip(r) {
                *self.hessian.at_mut(m + r, m + s) += row.curvature(other, at.tau);
            }
            *self.hessian.at_mut(m + r, m + r) *= 1.0 + REGULARISATION;
        }
    }

    fn add_cuts(&mut self, node: &mut Restriction, dual: &Dual, at: Point<'_>) {
        // All of them first, because a pair of cuts needs both slopes.
        for cut in &mut node.cuts {
            cut.differentiate(at.centre);
        }
        let m = self.n_bits;
        let first = m + self.n_rows;
        let mut column = vec![0.0; m];
        for (c, cut) in node.cuts.iter().enumerate() {
            let own = first + c;
            let nu = dual.nu[cut.index];
            self.step.push(cut.activity(at) - 1.0 + at.tau / nu);
            cut.column(at, &mut column);
            for (i, entry) in column.iter().enumerate() {
                *self.hessian.at_mut(i, own) = *entry;
            }
            for (r, row) in node.rows.iter().enumerate() {
                *self.hessian.at_mut(m + r, own) = row.curvature_with_cut(cut, at);
            }
            let others = &mut self.hessian.row_mut(own)[own..];
            for (entry, other) in others.iter_mut().zip(&node.cuts[c..]) {
                *entry = cut.curvature(other, at);
            }
            *self.hessian.at_mut(own, own) += at.tau / (nu * nu);
        }
    }

    /// How much of the step leaves the multipliers of all inequalities above zero.
    pub fn longest(&self, node: &Restriction, dual: &Dual) -> f64 {
        let (of_rows, of_cuts) = self.step[self.n_bits..].split_at(self.n_rows);
        let rows = node.rows.iter().zip(of_rows);
        let rows = rows
            // The multiplier of an equation may cross zero.
            .filter(|(row, _)| !row.is_equation)
            .map(|(row, step)| (dual.mu[row.index], *step));
        let cuts = node.cuts.iter().zip(of_cuts);
        let cuts = cuts.map(|(cut, step)| (dual.nu[cut.index], *step));
        rows.chain(cuts)
            .filter(|(_, step)| *step < 0.0)
            .map(|(multiplier, step)| -MOST_OF_THE_WAY * multiplier / step)
            .fold(1.0, f64::min)
    }

    /// The multipliers after this much of the step.
    pub fn moved(&self, node: &Restriction, dual: &Dual, length: f64) -> Dual {
        let (of_bits, others) = self.step.split_at(self.n_bits);
        let (of_rows, of_cuts) = others.split_at(self.n_rows);
        let mut moved = dual.clone();
        for (y, step) in moved.y.iter_mut().zip(of_bits) {
            *y += length * step;
        }
        for (row, step) in node.rows.iter().zip(of_rows) {
            moved.mu[row.index] += length * step;
        }
        for (cut, step) in node.cuts.iter().zip(of_cuts) {
            moved.nu[cut.index] += length * step;
        }
        moved
    }
}

/// What τ log μ adds to the gradient, and to minus the second derivative.
#[inline]
fn barrier(row: &NodeRow, mu: f64, tau: f64) -> (f64, f64) {
    // The multiplier of an equation may have either sign: nothing keeps it from zero.
    if row.is_equation {
        return (0.0, 0.0);
    }
    (tau / mu, tau / (mu * mu))
}
