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
use crate::math::cholesky::UpdatedFactor;
use crate::math::matrix::{Matrix, add_product, identity};
use crate::math::random::Stream;
use crate::math::vector::{add_scaled, dot_in_lanes, products, scale};

/// Rows of Ψ that are made at a time.
const PANEL: usize = 64;

#[derive(Debug, Clone)]
pub(super) struct Primal {
    /// R
    factor: UpdatedFactor,
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
        let deviations: Vec<f64> = features
            .weights()
            .map(|(i, j)| prior.variance_of(i, j).sqrt())
            .collect();
        let mut primal = Primal {
            factor: UpdatedFactor::identity(deviations.len()),
            deviations,
            moment: Vec::new(),
            mean: Vec::new(),
            noise: prior.effective_noise(features),
        };
        primal.take_in_all(records);
        primal.learn(records);
        primal
    }

    /// R from all records.
    fn take_in_all(&mut self, records: &Records) {
        let m = self.deviations.len();
        if let Some(factor) = UpdatedFactor::factor(&self.precision(records), m) {
            self.factor = factor;
        } else {
            // Slower, one record at a time, but it cannot fail.
            (0..records.n()).for_each(|i| self.update(self.scaled_row(records, i)));
        }
    }

    /// I + β ΨᵀΨ by panels: Ψ as a whole, n × M, may be large.
    fn precision(&self, records: &Records) -> Vec<f64> {
        let (n, m) = (records.n(), self.deviations.len());
        let mut precision = identity(m);
        for start in (0..n).step_by(PANEL) {
            let numbers = start..(start + PANEL).min(n);
            let mut rows: Vec<f64> = numbers.flat_map(|i| self.scaled_row(records, i)).collect();
            scale(&mut rows, 1.0 / self.noise.sqrt());
            let panel = Matrix::of_rows(&rows, m);
            add_product(&mut precision, panel.transposed(), panel);
        }
        precision
    }

    /// ψᵢ
    fn scaled_row(&self, records: &Records, i: usize) -> Vec<f64> {
        products(&records.flat_row(i), &self.deviations)
    }

    /// Takes in the last record.
    pub(super) fn append(&mut self, records: &Records) {
        let last = records.n() - 1;
        let row = self.scaled_row(records, last);
        add_scaled(&mut self.moment, records.y()[last], &row);
        self.update(row);
        self.solve_mean();
    }

    /// R Rᵀ ← R Rᵀ + β ψ ψᵀ
    fn update(&mut self, mut psi: Vec<f64>) {
        scale(&mut psi, 1.0 / self.noise.sqrt());
        self.factor.update(psi);
    }

    /// Ψᵀy and û for the outputs of the records.
    pub(super) fn learn(&mut self, records: &Records) {
        // Anew: old outputs taken out of the sum would leave their rounding in it.
        self.moment = vec![0.0; self.deviations.len()];
        for (i, &y) in records.y().iter().enumerate() {
            let row = self.scaled_row(records, i);
            add_scaled(&mut self.moment, y, &row);
        }
        self.solve_mean();
    }

    fn solve_mean(&mut self) {
        self.mean = self.moment.iter().map(|b| b / self.noise).collect();
        self.factor.solve(&mut self.mean);
    }

    /// ```text
    /// mean = ψᵀû,   variance = |R⁻¹ψ|²
    /// ```
    pub(super) fn predict(&self, flat: &[f64]) -> Prediction {
        let mut psi = products(flat, &self.deviations);
        let mean = dot_in_lanes(&psi, &self.mean);
        self.factor.forward(&mut psi);
        Prediction::new(mean, dot_in_lanes(&psi, &psi))
    }

    /// m = Λ^-½ û, in the order of flat rows.
    pub(super) fn mean(&self) -> Vec<f64> {
        products(&self.mean, &self.deviations)
    }

    /// Λ^-½ (û + √c R⁻ᵀ z), z ~ N(0, I)
    pub(super) fn sample(&self, deviation: f64, stream: &mut Stream) -> Vec<f64> {
        let mut u: Vec<f64> = (0..self.mean.len())
            .map(|_| deviation * stream.normal())
            .collect();
        self.factor.backward(&mut u);
        add_scaled(&mut u, 1.0, &self.mean);
        products(&u, &self.deviations)
    }

    /// By the lemmas of Woodbury and Sylvester:
    ///
    /// ```text
    /// yᵀ(K + β⁻¹I)⁻¹y = β (yᵀy - yᵀΨû),   det(K + β⁻¹I) = β⁻ⁿ det(R)²
    /// ```
    pub(super) fn log_evidence(&self, y: &[f64]) -> f64 {
        let unexplained = dot_in_lanes(y, y) - dot_in_lanes(&self.moment, &self.mean);
        let constant = y.len() as f64 * (std::f64::consts::TAU * self.noise).ln();
        -0.5 * (unexplained / self.noise + self.factor.log_determinant() + constant)
    }
}
