//! The posterior in M dimensions, for at least as many observations as weights: the cost of one more observation does
//! not depend on how many there were.
//!
//! ```text
//! w = Λ^-½ u,   Ψ = Φ Λ^-½                     weights with prior N(0, I)
//! R Rᵀ = I + β ΨᵀΨ,   u | y ~ N(û, (R Rᵀ)⁻¹),   û = β (R Rᵀ)⁻¹ Ψᵀy
//! ```
//!
//! Scaled so, the matrix is at least the identity whatever the variances are. A rank-one update of R only ever
//! makes its diagonal grow, so nothing can fail.

use super::super::prior::Prior;
use super::super::records::Records;
use super::Prediction;
use crate::math::linalg::{add_product, cholesky, dot, matrix, scale};
use crate::math::random::Stream;
use crate::math::vector::add_scaled;

/// Rows of Ψ that are made at a time.
const PANEL: usize = 64;

#[derive(Debug, Clone)]
pub(super) struct Primal {
    /// R by columns: column k holds rows k to M - 1.
    columns: Vec<Vec<f64>>,
    /// Λ^-½, in the order of flat rows.
    deviations: Vec<f64>,
    /// Ψᵀy
    moment: Vec<f64>,
    /// û
    mean: Vec<f64>,
    noise: f64,
}

impl Primal {
    pub(super) fn new(records: &Records, prior: Prior) -> Primal {
        let features = records.features();
        let noise = prior.effective_noise(features);
        let deviations: Vec<f64> = features
            .weights()
            .map(|(i, j)| prior.variance_of(i, j).sqrt())
            .collect();
        let m = deviations.len();
        let columns = (0..m).map(|k| unit_column(m - k)).collect();
        let mut primal = Primal {
            columns,
            deviations,
            moment: Vec::new(),
            mean: Vec::new(),
            noise,
        };
        primal.factor(records);
        primal.learn(records);
        primal
    }

    /// R from all records: ΨᵀΨ by panels, then one factorisation.
    fn factor(&mut self, records: &Records) {
        let m = self.deviations.len();
        let mut precision = vec![0.0; m * m];
        (0..m).for_each(|k| precision[k * m + k] = 1.0);
        for start in (0..records.n()).step_by(PANEL) {
            let range = start..(start + PANEL).min(records.n());
            let mut panel: Vec<f64> = range.flat_map(|i| self.scaled_row(records, i)).collect();
            scale(&mut panel, 1.0 / self.noise.sqrt());
            let panel = matrix(&panel, m);
            add_product(&mut precision, panel.transpose(), panel);
        }
        let Some(packed) = cholesky(&precision, m) else {
            (0..records.n()).for_each(|i| self.update(self.scaled_row(records, i)));
            return;
        };
        for (k, column) in self.columns.iter_mut().enumerate() {
            *column = (k..m).map(|i| packed[i * (i + 1) / 2 + k]).collect();
        }
    }

    /// ψᵢ
    fn scaled_row(&self, records: &Records, i: usize) -> Vec<f64> {
        let mut row = records.flat_row(i);
        row.iter_mut()
            .zip(&self.deviations)
            .for_each(|(x, d)| *x *= d);
        row
    }

    /// Takes in the last record.
    pub(super) fn append(&mut self, records: &Records) {
        let last = records.n() - 1;
        let row = self.scaled_row(records, last);
        add_scaled(&mut self.moment, records.y()[last], &row);
        self.update(row);
        self.solve_mean();
    }

    /// R Rᵀ ← R Rᵀ + β x xᵀ by plane rotations, one column at a time (Golub & Van Loan, Sec. 6.5.4).
    fn update(&mut self, mut x: Vec<f64>) {
        scale(&mut x, 1.0 / self.noise.sqrt());
        for (k, column) in self.columns.iter_mut().enumerate() {
            let (head, tail) = column.split_at_mut(1);
            let length = head[0].hypot(x[k]);
            let (cos, sin) = (head[0] / length, x[k] / length);
            head[0] = length;
            for (r, x) in tail.iter_mut().zip(&mut x[k + 1..]) {
                (*r, *x) = (cos * *r + sin * *x, cos * *x - sin * *r);
            }
        }
    }

    /// Ψᵀy and û for the outputs of the records.
    pub(super) fn learn(&mut self, records: &Records) {
        self.moment = vec![0.0; self.deviations.len()];
        for (i, &y) in records.y().iter().enumerate() {
            let row = self.scaled_row(records, i);
            add_scaled(&mut self.moment, y, &row);
        }
        self.solve_mean();
    }

    fn solve_mean(&mut self) {
        let mut mean: Vec<f64> = self.moment.iter().map(|b| b / self.noise).collect();
        self.forward(&mut mean);
        self.backward(&mut mean);
        self.mean = mean;
    }

    /// x ← R⁻¹x
    fn forward(&self, x: &mut [f64]) {
        for (k, column) in self.columns.iter().enumerate() {
            x[k] /= column[0];
            let (head, tail) = x.split_at_mut(k + 1);
            add_scaled(tail, -head[k], &column[1..]);
        }
    }

    /// x ← R⁻ᵀx
    fn backward(&self, x: &mut [f64]) {
        for (k, column) in self.columns.iter().enumerate().rev() {
            x[k] = (x[k] - dot(&column[1..], &x[k + 1..])) / column[0];
        }
    }

    pub(super) fn predict(&self, flat: &[f64]) -> Prediction {
        let mut psi: Vec<f64> = flat
            .iter()
            .zip(&self.deviations)
            .map(|(x, d)| x * d)
            .collect();
        let mean = dot(&psi, &self.mean);
        self.forward(&mut psi);
        Prediction {
            mean,
            variance: dot(&psi, &psi),
        }
    }

    /// m = Λ^-½ û, in the order of flat rows.
    pub(super) fn mean(&self) -> Vec<f64> {
        self.mean
            .iter()
            .zip(&self.deviations)
            .map(|(u, d)| u * d)
            .collect()
    }

    /// Λ^-½ (û + √c R⁻ᵀ z), z ~ N(0, I)
    pub(super) fn sample(&self, deviation: f64, stream: &mut Stream) -> Vec<f64> {
        let mut u: Vec<f64> = (0..self.mean.len())
            .map(|_| deviation * stream.normal())
            .collect();
        self.backward(&mut u);
        add_scaled(&mut u, 1.0, &self.mean);
        u.iter().zip(&self.deviations).map(|(u, d)| u * d).collect()
    }

    /// By the lemmas of Woodbury and Sylvester:
    ///
    /// ```text
    /// yᵀ(K + β⁻¹I)⁻¹y = β (yᵀy - yᵀΨû),   det(K + β⁻¹I) = β⁻ⁿ det(R)²
    /// ```
    pub(super) fn log_evidence(&self, y: &[f64]) -> f64 {
        let fit = (dot(y, y) - dot(&self.moment, &self.mean)) / self.noise;
        let log_determinant: f64 = self.columns.iter().map(|column| 2.0 * column[0].ln()).sum();
        let constant = y.len() as f64 * (std::f64::consts::TAU * self.noise).ln();
        -0.5 * (fit + log_determinant + constant)
    }
}

/// The first column of an identity matrix.
fn unit_column(n: usize) -> Vec<f64> {
    let mut column = vec![0.0; n];
    column[0] = 1.0;
    column
}
