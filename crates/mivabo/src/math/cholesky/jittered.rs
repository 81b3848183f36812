//! A factor of a matrix that is made once, for which jitter on the diagonal makes up for rounding.

use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::{Mat, MatMut, Par};

use super::factor_in_place;
use crate::math::matrix::Symmetric;

/// The jitter on the diagonal, as a share of its mean: none, and then more until the factor exists.
const JITTERS: [f64; 5] = [0.0, 1e-14, 1e-12, 1e-10, 1e-7];

/// L with A = LLᵀ.
#[derive(Debug, Clone)]
pub(crate) struct JitteredFactor {
    lower: Mat<f64>,
}

impl JitteredFactor {
    /// None where the matrix is not finite, or so far from positive definite that no jitter helps.
    pub(crate) fn new(symmetric: &Symmetric) -> Option<Self> {
        let matrix = symmetric.lower();
        let n = matrix.nrows();
        let trace = (0..n).map(|i| matrix[(i, i)]).sum::<f64>();
        let mean = trace / (n.max(1) as f64);
        if !mean.is_finite() {
            return None;
        }
        // A share of the diagonal: an absolute jitter would drown small matrices and be lost in large ones.
        let mut raised = JITTERS.iter().map(|jitter| jitter * mean);
        raised.find_map(|jitter| Self::raised_by(jitter, matrix))
    }

    /// The factor with a number added to the diagonal.
    fn raised_by(jitter: f64, matrix: &Mat<f64>) -> Option<Self> {
        let mut lower = matrix.clone();
        for i in 0..lower.nrows() {
            lower[(i, i)] += jitter;
        }
        factor_in_place(&mut lower).then_some(Self { lower })
    }

    /// The number of rows.
    pub(crate) fn order(&self) -> usize {
        self.lower.nrows()
    }

    fn pivots(&self) -> impl Iterator<Item = f64> {
        (0..self.order()).map(|i| self.lower[(i, i)])
    }

    /// log|A| = 2 Σ log L_ii
    pub(crate) fn log_determinant(&self) -> f64 {
        2.0 * self.pivots().map(f64::ln).sum::<f64>()
    }

    /// x ← L⁻¹x
    pub(crate) fn forward(&self, x: &mut [f64]) {
        solve_lower_triangular_in_place(self.lower.as_ref(), column(x), Par::Seq);
    }

    /// x ← L⁻ᵀx
    pub(crate) fn backward(&self, x: &mut [f64]) {
        solve_upper_triangular_in_place(self.lower.transpose(), column(x), Par::Seq);
    }

    /// X ← L⁻¹X for a matrix of m columns, stored row by row.
    pub(crate) fn forward_rows(&self, rows: &mut [f64], m: usize) {
        let rows = MatMut::from_row_major_slice_mut(rows, self.order(), m);
        solve_lower_triangular_in_place(self.lower.as_ref(), rows, Par::Seq);
    }
}

fn column(x: &mut [f64]) -> MatMut<'_, f64> {
    let n = x.len();
    MatMut::from_column_major_slice_mut(x, n, 1)
}
