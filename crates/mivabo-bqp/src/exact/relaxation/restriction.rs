//! The problem of one node: objective, rows and cuts over its free bits.

use super::cuts::{Cut, NodeCut};
use super::rows::{Free, NodeRow};
use super::spins::{Spins, spin};
use super::square::{Square, add, sum_of_sizes};
use crate::propagation::Assignment;

/// Objective, rows and cuts where some spins are fixed.
///
/// ```text
/// s'Ms + 2 c's + κ         over the free spins, penalties of equations included
/// ```
#[derive(Default)]
pub(super) struct Restriction {
    /// M
    pub quadratic: Square,
    /// c
    pub linear: Vec<f64>,
    /// κ
    pub constant: f64,
    /// How large the terms of the penalties are.
    pub penalties: f64,
    pub rows: Vec<NodeRow>,
    pub cuts: Vec<NodeCut>,
    /// The place of each free bit among the free bits.
    pub place: Vec<usize>,
}

impl Restriction {
    pub fn new(spins: &Spins) -> Restriction {
        Restriction {
            place: vec![0; spins.n],
            ..Restriction::default()
        }
    }

    /// The number of free bits, m.
    pub fn m(&self) -> usize {
        self.linear.len()
    }

    /// Goes to the node in which these bits are free and the others have their assigned values.
    pub fn restrict(
        &mut self,
        spins: &Spins,
        cuts: &[Cut],
        assignment: &Assignment,
        free: &[usize],
    ) {
        self.restrict_objective(spins, assignment, free);
        for (place, bit) in free.iter().enumerate() {
            self.place[*bit] = place;
        }
        self.restrict_rows(spins, assignment, free);
        let left = cuts
            .iter()
            .enumerate()
            .filter_map(|(index, cut)| cut.restrict(index, assignment, &self.place));
        self.cuts.clear();
        self.cuts.extend(left);
    }

    fn restrict_objective(&mut self, spins: &Spins, assignment: &Assignment, free: &[usize]) {
        let fixed = fixed_spins(spins.n, assignment);
        let influence = |bit: usize| -> f64 {
            let row = spins.quadratic.row(bit);
            fixed.iter().map(|(j, s)| row[*j] * s).sum()
        };
        let energy = |(bit, s): &(usize, f64)| s * (2.0 * spins.linear[*bit] + influence(*bit));
        self.constant = spins.constant + fixed.iter().map(energy).sum::<f64>();
        self.linear.clear();
        self.linear
            .extend(free.iter().map(|bit| spins.linear[*bit] + influence(*bit)));
        self.quadratic.copy_part(&spins.quadratic, free);
    }

    fn restrict_rows(&mut self, spins: &Spins, assignment: &Assignment, bits: &[usize]) {
        self.penalties = 0.0;
        self.rows.clear();
        for (index, row) in spins.rows.iter().enumerate() {
            let free = Free {
                assignment,
                bits,
                place: &self.place,
            };
            let left = NodeRow::restrict(row, index, free);
            // Multipliers go by the number of the row: one that is left out here keeps its own.
            if left.is_settled() {
                continue;
            }
            if row.penalty > 0.0 {
                self.penalise(&left, row.penalty);
            }
            self.rows.push(left);
        }
    }

    /// Adds ρ(α's - β)² to the objective.
    fn penalise(&mut self, row: &NodeRow, penalty: f64) {
        let (alpha, beta) = (&row.alpha, row.beta);
        self.constant += penalty * beta * beta;
        let greatest = sum_of_sizes(alpha) + beta.abs();
        self.penalties += penalty * greatest * greatest;
        for i in (0..alpha.len()).filter(|i| alpha[*i] != 0.0) {
            let scaled = penalty * alpha[i];
            self.linear[i] -= scaled * beta;
            add(self.quadratic.row_mut(i), scaled, alpha);
        }
    }
}

/// The bits that are fixed, as spins.
fn fixed_spins(n: usize, assignment: &Assignment) -> Vec<(usize, f64)> {
    let fixed = |bit| Some((bit, spin(assignment, bit)?));
    (0..n).filter_map(fixed).collect()
}
