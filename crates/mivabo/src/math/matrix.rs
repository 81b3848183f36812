//! Products of dense matrices, on one thread, by faer, which nothing but `math` knows.

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, Mat, MatMut, MatRef, Par};

/// A matrix that lies in a slice row by row, or its transpose.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a> {
    view: MatRef<'a, f64>,
}

impl<'a> Matrix<'a> {
    /// A slice with `columns` numbers for each row.
    pub(crate) fn of_rows(data: &'a [f64], columns: usize) -> Matrix<'a> {
        let n_rows = data.len().checked_div(columns).unwrap_or(0);
        Matrix {
            view: MatRef::from_row_major_slice(data, n_rows, columns),
        }
    }

    /// The transpose, without a copy.
    pub(crate) fn transposed(self) -> Matrix<'a> {
        Matrix {
            view: self.view.transpose(),
        }
    }

    /// `n` columns from `first` on, without a copy.
    pub(crate) fn columns(self, first: usize, n: usize) -> Matrix<'a> {
        Matrix {
            view: self.view.subcols(first, n),
        }
    }

    pub(super) fn view(self) -> MatRef<'a, f64> {
        self.view
    }
}

/// `target` += `left` · `right`, where `target` lies row by row.
pub(crate) fn add_product(target: &mut [f64], left: Matrix<'_>, right: Matrix<'_>) {
    let (left, right) = (left.view, right.view);
    let target = MatMut::from_row_major_slice_mut(target, left.nrows(), right.ncols());
    matmul(target, Accum::Add, left, right, 1.0, Par::Seq);
}

/// X Xᵀ, row by row, of a slice with `columns` numbers for each row.
pub(crate) fn gram(data: &[f64], columns: usize) -> Vec<f64> {
    let x = Matrix::of_rows(data, columns);
    let n = x.view.nrows();
    let mut gram = vec![0.0; n * n];
    add_product(&mut gram, x, x.transposed());
    gram
}

/// The identity, row by row.
pub(crate) fn identity(n: usize) -> Vec<f64> {
    let mut identity = vec![0.0; n * n];
    (0..n).for_each(|k| identity[k * n + k] = 1.0);
    identity
}

/// The diagonal of a square matrix that lies in a slice row by row.
pub(crate) fn diagonal(rows: &[f64], n: usize) -> impl Iterator<Item = f64> {
    (0..n).map(move |i| rows[i * n + i])
}

/// Some columns of a slice with `width` numbers for each row, row by row.
pub(crate) fn chosen_columns(data: &[f64], width: usize, chosen: &[usize]) -> Vec<f64> {
    data.chunks_exact(width.max(1))
        .flat_map(|row| chosen.iter().map(|&j| row[j]))
        .collect()
}

/// AD for a diagonal D: each column times a number, row by row.
pub(crate) fn scaled_columns(rows: &[f64], diagonal: &[f64]) -> Vec<f64> {
    let mut scaled = Vec::with_capacity(rows.len());
    for row in rows.chunks_exact(diagonal.len().max(1)) {
        scaled.extend(row.iter().zip(diagonal).map(|(x, d)| x * d));
    }
    scaled
}

/// Ax for A of `n` rows, stored row by row.
pub(crate) fn times(rows: &[f64], n: usize, x: &[f64]) -> Vec<f64> {
    let a = MatRef::from_row_major_slice(rows, n, x.len());
    apply(a, x)
}

/// Aᵀx for A of `m` columns, stored row by row.
pub(crate) fn transposed_times(rows: &[f64], m: usize, x: &[f64]) -> Vec<f64> {
    let a = MatRef::from_row_major_slice(rows, x.len(), m);
    apply(a.transpose(), x)
}

fn apply(a: MatRef<'_, f64>, x: &[f64]) -> Vec<f64> {
    let mut product = vec![0.0; a.nrows()];
    let n = product.len();
    let target = MatMut::from_column_major_slice_mut(&mut product, n, 1);
    let x = MatRef::from_column_major_slice(x, x.len(), 1);
    matmul(target, Accum::Replace, a, x, 1.0, Par::Seq);
    product
}

/// A symmetric matrix, of which the lower triangle is kept.
#[derive(Debug, Clone)]
pub(crate) struct Symmetric {
    lower: Mat<f64>,
}

impl Symmetric {
    /// AAᵀ (n × n) for A of n rows and m columns, stored row by row.
    pub(crate) fn outer(rows: &[f64], n: usize, m: usize) -> Symmetric {
        let a = MatRef::from_row_major_slice(rows, n, m);
        Symmetric::product(a, a.transpose())
    }

    /// AᵀA (m × m) for A of n rows and m columns, stored row by row.
    pub(crate) fn inner(rows: &[f64], n: usize, m: usize) -> Symmetric {
        let a = MatRef::from_row_major_slice(rows, n, m);
        Symmetric::product(a.transpose(), a)
    }

    /// A symmetric product of two matrices: half the work of a general one.
    fn product(left: MatRef<'_, f64>, right: MatRef<'_, f64>) -> Symmetric {
        let mut lower = Mat::zeros(left.nrows(), left.nrows());
        triangular::matmul(
            lower.as_mut(),
            BlockStructure::TriangularLower,
            Accum::Replace,
            left,
            BlockStructure::Rectangular,
            right,
            BlockStructure::Rectangular,
            1.0,
            Par::Seq,
        );
        Symmetric { lower }
    }

    /// From a square matrix that lies in a slice row by row.
    pub(crate) fn of_rows(rows: &[f64], n: usize) -> Symmetric {
        let entry = |i: usize, j: usize| if i < j { 0.0 } else { rows[i * n + j] };
        Symmetric {
            lower: Mat::from_fn(n, n, entry),
        }
    }

    /// Each entry of the lower triangle as a function of its row, its column and what stood there.
    pub(crate) fn mapped(&self, entry: impl Fn(usize, usize, f64) -> f64) -> Symmetric {
        let n = self.lower.nrows();
        let below = |i: usize, j: usize| {
            if i < j {
                0.0
            } else {
                entry(i, j, self.lower[(i, j)])
            }
        };
        Symmetric {
            lower: Mat::from_fn(n, n, below),
        }
    }

    /// A + value · I
    pub(crate) fn plus_diagonal(mut self, value: f64) -> Symmetric {
        for i in 0..self.lower.nrows() {
            self.lower[(i, i)] += value;
        }
        self
    }

    pub(super) fn lower(&self) -> &Mat<f64> {
        &self.lower
    }

    pub(super) fn into_lower(self) -> Mat<f64> {
        self.lower
    }
}
