//! Dense linear algebra of the surrogates: products and factorisations by faer on one thread, and a Cholesky factor
//! that grows by a row at a time.

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::triangular_inverse::invert_lower_triangular;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Accum, MatMut, MatRef, Par, Side};
use mivabo_bqp::interrupt;

use crate::math::vector::add_scaled;

/// The least share of a diagonal element that may be left of it in a Cholesky factor; see [`Triangle::append`].
const LEAST_PIVOT: f64 = 1e-14;

/// Σ xᵢ yᵢ in eight interleaved sums, which the compiler turns into vector instructions.
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    let (x_chunks, y_chunks) = (x.chunks_exact(8), y.chunks_exact(8));
    let rest: f64 = x_chunks
        .remainder()
        .iter()
        .zip(y_chunks.remainder())
        .map(|(x, y)| x * y)
        .sum();
    let mut sums = [0.0; 8];
    for (x, y) in x_chunks.zip(y_chunks) {
        for k in 0..8 {
            sums[k] += x[k] * y[k];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// x ← factor · x
pub(crate) fn scale(x: &mut [f64], factor: f64) {
    for x in x {
        *x *= factor;
    }
}

/// A row-major slice as a matrix with `columns` columns.
pub(crate) fn matrix(data: &[f64], columns: usize) -> MatRef<'_, f64> {
    MatRef::from_row_major_slice(data, data.len().checked_div(columns).unwrap_or(0), columns)
}

/// `target` += `left` · `right`, where `target` is a row-major slice.
pub(crate) fn add_product(target: &mut [f64], left: MatRef<'_, f64>, right: MatRef<'_, f64>) {
    let target = MatMut::from_row_major_slice_mut(target, left.nrows(), right.ncols());
    matmul(target, Accum::Add, left, right, 1.0, Par::Seq);
}

/// X Xᵀ of a row-major slice with `columns` columns.
pub(crate) fn gram(data: &[f64], columns: usize) -> Vec<f64> {
    let x = matrix(data, columns);
    let mut gram = vec![0.0; x.nrows() * x.nrows()];
    add_product(&mut gram, x, x.transpose());
    gram
}

/// The lower Cholesky factor of a row-major symmetric matrix, row by row without the upper half; none when the
/// matrix is not positive definite.
pub(crate) fn cholesky(symmetric: &[f64], n: usize) -> Option<Vec<f64>> {
    interrupt::check();
    let factored = MatRef::from_row_major_slice(symmetric, n, n)
        .llt(Side::Lower)
        .ok()?;
    let lower = factored.L();
    let mut packed = Vec::with_capacity(n * (n + 1) / 2);
    for i in 0..n {
        packed.extend((0..=i).map(|j| lower[(i, j)]));
    }
    packed.iter().all(|x: &f64| x.is_finite()).then_some(packed)
}

/// A lower triangular matrix L with K = L Lᵀ, stored row by row so that it grows at its end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Triangle {
    n: usize,
    packed: Vec<f64>,
}

impl Triangle {
    /// The factor of a row-major n × n matrix: by blocks, or row by row with [`append`](Self::append)'s guard where
    /// that fails.
    pub(crate) fn factor(symmetric: &[f64], n: usize) -> Triangle {
        if let Some(packed) = cholesky(symmetric, n) {
            return Triangle { n, packed };
        }
        let mut triangle = Triangle::default();
        for i in 0..n {
            let row = &symmetric[i * n..];
            triangle.append(row[..i].to_vec(), row[i]);
        }
        triangle
    }

    /// Grows K by a row and a column with `diagonal` at its end, in n²/2 operations.
    ///
    /// What is left of the diagonal never falls below 10⁻¹⁴ of it: rounding cannot make it negative.
    pub(crate) fn append(&mut self, mut row: Vec<f64>, diagonal: f64) {
        self.forward(&mut row);
        let left = diagonal - dot(&row, &row);
        self.packed.extend(row);
        self.packed.push(
            left.max(LEAST_PIVOT * diagonal)
                .max(f64::MIN_POSITIVE)
                .sqrt(),
        );
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
            after[0] = (after[0] - dot(row, before)) / diagonal;
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
        let Dense { mut lower, .. } = self.dense();
        let mut factor = vec![0.0; n * n];
        let inverse = MatMut::from_row_major_slice_mut(&mut factor, n, n);
        invert_lower_triangular(inverse, matrix(&lower, n), Par::Seq);
        let factor = matrix(&factor, n);
        triangular::matmul(
            MatMut::from_row_major_slice_mut(&mut lower, n, n),
            BlockStructure::TriangularLower,
            Accum::Replace,
            factor.transpose(),
            BlockStructure::TriangularUpper,
            factor,
            BlockStructure::TriangularLower,
            1.0,
            Par::Seq,
        );
        for i in 0..n {
            (0..i).for_each(|j| lower[j * n + i] = lower[i * n + j]);
        }
        lower
    }

    /// The same with its zeros, for many solves at once.
    pub(crate) fn dense(&self) -> Dense {
        let n = self.n;
        let mut lower = vec![0.0; n * n];
        for i in 0..n {
            lower[i * n..][..=i].copy_from_slice(&self.packed[i * (i + 1) / 2..][..=i]);
        }
        Dense { n, lower }
    }
}

/// A lower triangular matrix L with its zeros, row-major.
pub(crate) struct Dense {
    n: usize,
    lower: Vec<f64>,
}

impl Dense {
    /// x ← L⁻¹x for each of the vectors that stand one after the other.
    pub(crate) fn forward(&self, vectors: &mut [f64]) {
        let m = vectors.len().checked_div(self.n).unwrap_or(0);
        solve_lower_triangular_in_place(
            matrix(&self.lower, self.n),
            MatMut::from_column_major_slice_mut(vectors, self.n, m),
            Par::Seq,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let mut grown = Triangle::default();

        (0..n).for_each(|i| grown.append(k[i * n..][..i].to_vec(), k[i * n + i]));

        let blocks = Triangle::factor(&k, n);
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
        let factor = Triangle::factor(&k, n);
        let b: Vec<f64> = (0..n).map(|i| i as f64 - 7.5).collect();
        let mut x = b.clone();

        factor.solve(&mut x);

        let by_inverse: Vec<f64> = factor.inverse().chunks(n).map(|row| dot(row, &b)).collect();
        for i in 0..n {
            assert!((dot(&k[i * n..][..n], &x) - b[i]).abs() < 1e-7);
            assert!((by_inverse[i] - x[i]).abs() < 1e-7 * (1.0 + x[i].abs()));
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_still_has_a_finite_factor() {
        let factor = Triangle::factor(&[1.0, 1.0, 1.0, 1.0 - 1e-9], 2);
        let mut x = [1.0, -1.0];

        factor.solve(&mut x);

        assert!(x.iter().all(|x| x.is_finite()), "{x:?}");
    }

    #[test]
    fn nothing_has_a_factor() {
        let factor = Triangle::factor(&[], 0);

        assert_eq!((factor.log_determinant(), factor.inverse().len()), (0.0, 0));
    }
}
