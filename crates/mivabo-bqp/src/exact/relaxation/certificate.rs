//! Bounds that hold in spite of rounding.

use super::square::{dot, sum_of_sizes};
use super::{Dual, Relaxation};

/// Sums over the free bits at multipliers and a centre u.
#[derive(Default)]
struct Sums {
    /// u'Zu
    energy: f64,
    /// Σ |Zu + d|
    residual: f64,
    /// Σ |terms|: rounding errors are measured by it.
    size: f64,
}

impl Relaxation<'_> {
    /// L again, as a bound that holds in spite of rounding; `None` when it cannot be shown to hold.
    ///
    /// Z ⪰ 0 because Z - ηI has positive pivots for an η above all rounding errors of the elimination (Rump 2006).
    /// Then for the residual r = Zu + d of any u, s'Zs + 2d's >= 2r's - u'Zu >= -2 Σ|r_i| - u'Zu over spins. The
    /// rounding of these sums is bounded by the sum of their absolute terms.
    pub fn certify(&mut self, dual: &Dual) -> Option<f64> {
        self.assemble_matrix(dual);
        let value = self.assemble_slope(dual);
        // The centre may come from an inaccurate inverse: the residual pays for that.
        let sums = self.sums(dual);
        let is_definite = self.is_clearly_definite();
        let error = self.rounding(dual) + self.unit_of_rounding() * sums.size;
        let bound = value - sums.energy - 2.0 * sums.residual - error;
        (is_definite && bound.is_finite()).then_some(bound)
    }

    /// More than the rounding errors of the terms of L.
    pub fn rounding(&self, dual: &Dual) -> f64 {
        let node = &self.node;
        let mut size = self.spins.magnitude + node.penalties + node.constant.abs();
        // Multipliers of opposed rows grow and cancel: their terms count one by one.
        let rows = node.rows.iter();
        size += rows
            .map(|row| dual.mu[row.index].abs() * row.size)
            .sum::<f64>();
        // The terms of a cut are its constant and three products.
        size += 4.0 * node.cuts.iter().map(|cut| dual.nu[cut.index]).sum::<f64>();
        self.unit_of_rounding() * size
    }

    /// More than the relative error of a sum with a few terms for each bit.
    fn unit_of_rounding(&self) -> f64 {
        8.0 * (self.spins.n + 8) as f64 * f64::EPSILON
    }

    /// While `matrix` is Z.
    fn sums(&self, dual: &Dual) -> Sums {
        let mut sums = Sums::default();
        for (i, u) in self.centre.iter().enumerate() {
            let row = self.matrix.row(i);
            let image = dot(row, &self.centre);
            sums.energy += u * image;
            sums.residual += (image + self.slope[i]).abs();
            let terms = row.iter().zip(&self.centre).map(|(z, u)| (z * u).abs());
            sums.size += terms.sum::<f64>() * (1.0 + u.abs());
            sums.size += self.slope[i].abs() + dual.y[i].abs();
        }
        sums
    }

    /// Whether Z - ηI has positive pivots; `matrix` is that afterwards.
    fn is_clearly_definite(&mut self) -> bool {
        let m = self.matrix.n();
        let diagonal: Vec<f64> = self.matrix.diagonal().collect();
        let trace = sum_of_sizes(&diagonal);
        let shift = 4.0 * (m + 2) as f64 * f64::EPSILON * trace;
        self.lower_diagonal(shift);
        self.workspace.has_positive_pivots(&self.matrix)
    }

    fn lower_diagonal(&mut self, by: f64) {
        for i in 0..self.matrix.n() {
            *self.matrix.at_mut(i, i) -= by;
        }
    }
}
