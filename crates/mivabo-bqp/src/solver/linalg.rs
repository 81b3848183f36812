//! Dense linear algebra for symmetric matrices of up to a few hundred rows, stored row by row.
//!
//! Every inner loop adds a multiple of one row to another, which compilers vectorise as it stands; `pulp` picks the
//! widest instructions that the machine has when the program runs, so a portable build is as fast as a native one.

#![allow(clippy::inline_always, reason = "only what is inlined into the dispatch gets the wide instructions")]

use pulp::Arch;

/// A pivot below this share of the largest diagonal entry counts as zero: what follows would not be accurate.
const LEAST_PIVOT: f64 = 1e-9;

/// Replaces the upper triangle of a positive definite matrix by its inverse, in full storage.
///
/// The sweep operator, pivot after pivot: `A_ij ← A_ij - A_ik A_kj / A_kk`. Its pivots are those of a Cholesky
/// factorisation, so they tell whether the matrix is positive definite; `false` when it is not, clearly.
pub(crate) fn invert(arch: Arch, a: &mut [f64], m: usize, column: &mut Vec<f64>) -> bool {
    column.clear();
    column.resize(m, 0.0);
    arch.dispatch(|| sweep(a, m, column))
}

/// Solves `H x = g` for a positive definite `H` given by its upper triangle, which is overwritten; `g` becomes x.
pub(crate) fn solve(arch: Arch, h: &mut [f64], m: usize, g: &mut [f64]) -> bool {
    arch.dispatch(|| {
        if !eliminate(h, m, 0.0) {
            return false;
        }
        for k in 0..m {
            let factor = g[k] / h[k * m + k];
            subtract(&mut g[k + 1..m], factor, &h[k * m + k + 1..(k + 1) * m]);
        }
        for k in (0..m).rev() {
            let row = &h[k * m + k + 1..(k + 1) * m];
            let known: f64 = row.iter().zip(&g[k + 1..m]).map(|(a, x)| a * x).sum();
            g[k] = (g[k] - known) / h[k * m + k];
        }
        true
    })
}

/// Whether Gaussian elimination of the upper triangle, which is overwritten, meets only pivots above `least`.
pub(crate) fn has_pivots_above(arch: Arch, a: &mut [f64], m: usize, least: f64) -> bool {
    arch.dispatch(|| eliminate(a, m, least))
}

#[inline(always)]
fn sweep(a: &mut [f64], m: usize, column: &mut [f64]) -> bool {
    let largest = (0..m).map(|i| a[i * m + i]).fold(0.0, f64::max);
    for k in 0..m {
        let pivot = a[k * m + k];
        // Also refuses NaN.
        if !matches!(pivot.partial_cmp(&(LEAST_PIVOT * largest)), Some(std::cmp::Ordering::Greater)) {
            return false;
        }
        for i in 0..k {
            column[i] = a[i * m + k];
        }
        column[k..m].copy_from_slice(&a[k * m + k..(k + 1) * m]);
        for i in (0..m).filter(|i| *i != k) {
            subtract(&mut a[i * m + i..(i + 1) * m], column[i] / pivot, &column[i..m]);
        }
        for i in 0..k {
            a[i * m + k] = column[i] / pivot;
        }
        for j in k + 1..m {
            a[k * m + j] = column[j] / pivot;
        }
        a[k * m + k] = -1.0 / pivot;
    }
    for i in 0..m {
        for j in i..m {
            let entry = -a[i * m + j];
            a[i * m + j] = entry;
            a[j * m + i] = entry;
        }
    }
    true
}

#[inline(always)]
fn eliminate(a: &mut [f64], m: usize, least: f64) -> bool {
    for k in 0..m {
        let (above, below) = a.split_at_mut((k + 1) * m);
        let row = &above[k * m..];
        let pivot = row[k];
        if !matches!(pivot.partial_cmp(&least), Some(std::cmp::Ordering::Greater)) {
            return false;
        }
        for i in k + 1..m {
            let at = (i - k - 1) * m;
            subtract(&mut below[at + i..at + m], row[i] / pivot, &row[i..m]);
        }
    }
    true
}

#[inline(always)]
fn subtract(from: &mut [f64], factor: f64, row: &[f64]) {
    for (x, y) in from.iter_mut().zip(row) {
        *x -= factor * y;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Diagonally dominant, and so positive definite.
    fn matrix(m: usize) -> Vec<f64> {
        let entry = |i: usize, j: usize| ((i * 7 + j * 7 + i * j) % 5) as f64 - 2.0;
        (0..m * m).map(|k| if k / m == k % m { 3.0 * m as f64 } else { entry(k / m, k % m) }).collect()
    }

    #[test]
    fn a_matrix_times_its_inverse_is_the_identity() {
        for m in [0, 1, 2, 7, 33] {
            let a = matrix(m);
            let mut inverse = a.clone();
            assert!(invert(Arch::new(), &mut inverse, m, &mut Vec::new()));
            for i in 0..m {
                for j in 0..m {
                    let product: f64 = (0..m).map(|k| a[i * m + k] * inverse[k * m + j]).sum();
                    assert!((product - f64::from(u8::from(i == j))).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn a_solution_solves() {
        let m = 20;
        let a = matrix(m);
        let wanted: Vec<f64> = (0..m).map(|i| i as f64 - 8.0).collect();
        let mut g: Vec<f64> = (0..m).map(|i| (0..m).map(|j| a[i * m + j] * wanted[j]).sum()).collect();

        assert!(solve(Arch::new(), &mut a.clone(), m, &mut g));

        assert!(g.iter().zip(&wanted).all(|(x, y)| (x - y).abs() < 1e-10));
    }

    #[test]
    fn an_indefinite_matrix_is_refused() {
        let mut a = vec![1.0, 2.0, 2.0, 1.0];

        assert!(!invert(Arch::new(), &mut a.clone(), 2, &mut Vec::new()));
        assert!(!has_pivots_above(Arch::new(), &mut a.clone(), 2, 0.0));
        assert!(!solve(Arch::new(), &mut a, 2, &mut [1.0, 1.0]));
    }
}
