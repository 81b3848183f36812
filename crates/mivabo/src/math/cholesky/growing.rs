//! A factor that grows by a row at a time, as observations arrive.

use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::triangular_inverse::invert_lower_triangular;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Accum, MatMut, Par};

use super::packed_factor;
use crate::math::matrix::Matrix;
use crate::math::vector::{add_scaled, dot_in_lanes};

/// The least share of a diagonal element that may be left of it; see [`GrowingFactor::append`].
const LEAST_PIVOT: f64 = 1e-14;

/// L with K = LLᵀ, stored row by row without the upper half, so that it grows at its end.
#[derive(Debug, Clone, Default)]
pub(crate) struct GrowingFactor {
    n: usize,
    packed: Vec<f64>,
}

impl GrowingFactor {
    /// The factor of a row-major n × n matrix.
    pub(crate) fn factor(symmetric: &[f64], n: usize) -> GrowingFactor {
        if let Some(packed) = packed_factor(symmetric, n) {
            return GrowingFactor { n, packed };
        }
        // By blocks is faster, but fails where rounding makes a pivot negative; row by row cannot fail.
        let mut factor = GrowingFactor::default();
        for i in 0..n {
            let row = &symmetric[i * n..];
            factor.append(row[..i].to_vec(), row[i]);
        }
        factor
    }

    /// Grows K by a row and a column with `diagonal` at its end, in n²/2 operations.
    ///
    /// ```text
    /// l = L⁻¹k,   pivot = √(diagonal - |l|²)
    /// ```
    pub(crate) fn append(&mut self, mut row: Vec<f64>, diagonal: f64) {
        self.forward(&mut row);
        let left = diagonal - dot_in_lanes(&row, &row);
        // Of a repeated point nothing is left but rounding, which may be negative: its pivot is 10⁻¹⁴ of the diagonal.
        let least = (LEAST_PIVOT * diagonal).max(f64::MIN_POSITIVE);
        self.packed.extend(row);
        self.packed.push(left.max(least).sqrt());
        self.n += 1;
    }

    fn row(&self, i: usize) -> (&[f64], f64) {
        let start = i * (i + 1) / 2;
        (&self.packed[start..start + i], self.packed[start + i])
    }

    /// x ← L⁻¹x
    pub(crate) fn forward(&self, x: &mut [f64]) {
        for i in 0..self.n {
            let (row, diagonal) = self.row(i);
            let (before, after) = x.split_at_mut(i);
            after[0] = (after[0] - dot_in_lanes(row, before)) / diagonal;
        }
    }

    /// x ← L⁻ᵀx
    pub(crate) fn backward(&self, x: &mut [f64]) {
        for i in (0..self.n).rev() {
            let (row, diagonal) = self.row(i);
            let (before, after) = x.split_at_mut(i);
            after[0] /= diagonal;
            add_scaled(before, -after[0], row);
        }
    }

    /// x ← K⁻¹x
    pub(crate) fn solve(&self, x: &mut [f64]) {
        self.forward(x);
        self.backward(x);
    }

    /// log det K = 2 Σ log Lᵢᵢ
    pub(crate) fn log_determinant(&self) -> f64 {
        (0..self.n).map(|i| 2.0 * self.row(i).1.ln()).sum()
    }

    /// K⁻¹ = L⁻ᵀL⁻¹, row-major, both halves.
    pub(crate) fn inverse(&self) -> Vec<f64> {
        let n = self.n;
        let ZeroFilled { lower, .. } = self.zero_filled();
        let mut inverse_factor = vec![0.0; n * n];
        invert_lower_triangular(
            MatMut::from_row_major_slice_mut(&mut inverse_factor, n, n),
            Matrix::of_rows(&lower, n).view(),
            Par::Seq,
        );
        // The place of L is not needed any more, and its upper half is zero already.
        let mut inverse = lower;
        let factor = Matrix::of_rows(&inverse_factor, n).view();
        triangular::matmul(
            MatMut::from_row_major_slice_mut(&mut inverse, n, n),
            BlockStructure::TriangularLower,
            Accum::Replace,
            factor.transpose(),
            BlockStructure::TriangularUpper,
            factor,
            BlockStructure::TriangularLower,
            1.0,
            Par::Seq,
        );
        mirror(&mut inverse, n);
        inverse
    }

    /// The same with its zeros, for many solves at once.
    pub(crate) fn zero_filled(&self) -> ZeroFilled {
        let n = self.n;
        let mut lower = vec![0.0; n * n];
        for i in 0..n {
            lower[i * n..][..=i].copy_from_slice(&self.packed[i * (i + 1) / 2..][..=i]);
        }
        ZeroFilled { n, lower }
    }
}

/// Copies the lower half of a row-major matrix to its upper half.
fn mirror(matrix: &mut [f64], n: usize) {
    for i in 0..n {
        (0..i).for_each(|j| matrix[j * n + i] = matrix[i * n + j]);
    }
}

/// A lower triangular matrix L with its zeros, row-major.
pub(crate) struct ZeroFilled {
    n: usize,
    lower: Vec<f64>,
}

impl ZeroFilled {
    /// x ← L⁻¹x for each of the vectors that stand one after the other.
    pub(crate) fn forward(&self, vectors: &mut [f64]) {
        let m = vectors.len().checked_div(self.n).unwrap_or(0);
        solve_lower_triangular_in_place(
            Matrix::of_rows(&self.lower, self.n).view(),
            MatMut::from_column_major_slice_mut(vectors, self.n, m),
            Par::Seq,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::matrix::gram;
    use crate::math::random::{Purpose, stream};

    fn symmetric(n: usize) -> Vec<f64> {
        let mut stream = stream(5, 0, Purpose::Weights);
        let x: Vec<f64> = (0..n * (n + 2)).map(|_| stream.normal()).collect();
        gram(&x, n + 2)
    }

    #[test]
    fn a_factor_grown_row_by_row_is_the_factor_by_blocks() {
        let n = 37;
        let k = symmetric(n);
        let mut grown = GrowingFactor::default();

        (0..n).for_each(|i| grown.append(k[i * n..][..i].to_vec(), k[i * n + i]));

        let blocks = GrowingFactor::factor(&k, n);
        let difference = grown
            .packed
            .iter()
            .zip(&blocks.packed)
            .map(|(x, y)| (x - y).abs())
            .fold(0.0, f64::max);
        assert!(difference < 1e-10, "{difference}");
    }

    #[test]
    fn solutions_and_inverse_multiply_back_to_what_was_given() {
        let n = 20;
        let k = symmetric(n);
        let factor = GrowingFactor::factor(&k, n);
        let b: Vec<f64> = (0..n).map(|i| i as f64 - 7.5).collect();
        let mut x = b.clone();

        factor.solve(&mut x);

        let by_inverse: Vec<f64> = factor
            .inverse()
            .chunks(n)
            .map(|row| dot_in_lanes(row, &b))
            .collect();
        for i in 0..n {
            assert!((dot_in_lanes(&k[i * n..][..n], &x) - b[i]).abs() < 1e-7);
            assert!((by_inverse[i] - x[i]).abs() < 1e-7 * (1.0 + x[i].abs()));
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_still_has_a_finite_factor() {
        let factor = GrowingFactor::factor(&[1.0, 1.0, 1.0, 1.0 - 1e-9], 2);
        let mut x = [1.0, -1.0];

        factor.solve(&mut x);

        assert!(x.iter().all(|x| x.is_finite()), "{x:?}");
    }

    #[test]
    fn nothing_has_a_factor() {
        let factor = GrowingFactor::factor(&[], 0);

        assert_eq!((factor.log_determinant(), factor.inverse().len()), (0.0, 0));
    }
}
