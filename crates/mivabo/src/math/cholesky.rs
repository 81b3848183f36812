//! Products and the Cholesky factor, on one thread: the only place here that calls `faer`'s kernels.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::{matmul, triangular};
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::{Accum, Mat, MatMut, MatRef, Par};
use mivabo_bqp::interrupt;
use triangular::BlockStructure::{Rectangular, TriangularLower};

/// The jitter on the diagonal, as a share of its mean: none, and then more until the factor exists.
const JITTERS: [f64; 5] = [0.0, 1e-14, 1e-12, 1e-10, 1e-7];

/// L with A = LLᵀ.
#[derive(Debug, Clone)]
pub(crate) struct Cholesky {
    lower: Mat<f64>,
}

impl Cholesky {
    /// Factors a matrix given by its lower triangle; `None` where it is not finite or not positive definite at all.
    pub(crate) fn new(matrix: &Mat<f64>) -> Option<Self> {
        let n = matrix.nrows();
        let mean = (0..n).map(|i| matrix[(i, i)]).sum::<f64>() / (n.max(1) as f64);
        if !mean.is_finite() {
            return None;
        }
        JITTERS.iter().find_map(|jitter| {
            let mut lower = matrix.clone();
            for i in 0..n {
                lower[(i, i)] += jitter * mean;
            }
            factor(&mut lower).then_some(Self { lower })
        })
    }

    /// The number of rows.
    pub(crate) fn order(&self) -> usize {
        self.lower.nrows()
    }

    /// log|A| = 2 Σ log L_ii
    pub(crate) fn log_determinant(&self) -> f64 {
        2.0 * (0..self.lower.nrows())
            .map(|i| self.lower[(i, i)].ln())
            .sum::<f64>()
    }

    /// x ← L⁻¹x
    pub(crate) fn forward(&self, x: &mut [f64]) {
        let n = x.len();
        solve_lower_triangular_in_place(self.lower.as_ref(), column_mut(x, n), Par::Seq);
    }

    /// x ← L⁻ᵀx
    pub(crate) fn backward(&self, x: &mut [f64]) {
        let n = x.len();
        solve_upper_triangular_in_place(self.lower.transpose(), column_mut(x, n), Par::Seq);
    }

    /// X ← L⁻¹X for a matrix of m columns, stored row by row.
    pub(crate) fn forward_rows(&self, rows: &mut [f64], m: usize) {
        let n = self.lower.nrows();
        let rows = MatMut::from_row_major_slice_mut(rows, n, m);
        solve_lower_triangular_in_place(self.lower.as_ref(), rows, Par::Seq);
    }
}

fn factor(a: &mut Mat<f64>) -> bool {
    interrupt::check();
    let n = a.nrows();
    let mut memory = MemBuffer::new(cholesky_in_place_scratch::<f64>(
        n,
        Par::Seq,
        faer::prelude::default(),
    ));
    let done = cholesky_in_place(
        a.as_mut(),
        faer::prelude::default(),
        Par::Seq,
        MemStack::new(&mut memory),
        faer::prelude::default(),
    );
    done.is_ok() && (0..n).all(|i| a[(i, i)].is_finite() && a[(i, i)] > 0.0)
}

/// The lower triangle of AAᵀ (n×n) for A of n rows and m columns, stored row by row.
pub(crate) fn outer(rows: &[f64], n: usize, m: usize) -> Mat<f64> {
    let a = MatRef::from_row_major_slice(rows, n, m);
    lower_product(a, a.transpose())
}

/// The lower triangle of AᵀA (m×m) for A of n rows and m columns, stored row by row.
pub(crate) fn inner(rows: &[f64], n: usize, m: usize) -> Mat<f64> {
    let a = MatRef::from_row_major_slice(rows, n, m);
    lower_product(a.transpose(), a)
}

fn lower_product(left: MatRef<'_, f64>, right: MatRef<'_, f64>) -> Mat<f64> {
    let mut product = Mat::zeros(left.nrows(), left.nrows());
    triangular::matmul(
        product.as_mut(),
        TriangularLower,
        Accum::Replace,
        left,
        Rectangular,
        right,
        Rectangular,
        1.0,
        Par::Seq,
    );
    product
}

/// Ax for A of n rows, stored row by row.
pub(crate) fn times(rows: &[f64], n: usize, x: &[f64]) -> Vec<f64> {
    let mut product = vec![0.0; n];
    let a = MatRef::from_row_major_slice(rows, n, x.len());
    matmul(
        column_mut(&mut product, n),
        Accum::Replace,
        a,
        column(x),
        1.0,
        Par::Seq,
    );
    product
}

/// Aᵀx for A of m columns, stored row by row.
pub(crate) fn transposed_times(rows: &[f64], m: usize, x: &[f64]) -> Vec<f64> {
    let mut product = vec![0.0; m];
    let a = MatRef::from_row_major_slice(rows, x.len(), m);
    matmul(
        column_mut(&mut product, m),
        Accum::Replace,
        a.transpose(),
        column(x),
        1.0,
        Par::Seq,
    );
    product
}

fn column(x: &[f64]) -> MatRef<'_, f64> {
    MatRef::from_column_major_slice(x, x.len(), 1)
}

fn column_mut(x: &mut [f64], n: usize) -> MatMut<'_, f64> {
    MatMut::from_column_major_slice_mut(x, n, 1)
}
