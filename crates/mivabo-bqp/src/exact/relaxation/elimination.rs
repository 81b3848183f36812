//! Dense linear algebra for symmetric matrices of up to a few hundred rows.
//!
//! Matrices are eliminated four pivots at a time: a row is loaded and stored once for four multiples of other rows,
//! two rows at a time. `pulp` picks the widest instructions that the machine has when the program runs, so a portable
//! build is as fast as a native one.

#![allow(
    clippy::needless_range_loop,
    reason = "iterator adapters are not inlined into the dispatch"
)]
#![allow(
    clippy::inline_always,
    reason = "only what is inlined into the dispatch gets the wide instructions"
)]

use std::cmp::Ordering;

use pulp::{Arch, Simd, WithSimd};

/// A pivot below this share of the largest diagonal entry counts as zero: what follows would not be accurate.
const LEAST_PIVOT: f64 = 1e-9;

/// Pivots that are eliminated together.
const BLOCK: usize = 4;

/// Rows begin at multiples of this: no vector is longer.
const WIDTH: usize = 8;

/// A symmetric matrix of which the upper triangle counts, with room to work on it.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Rows of `stride` entries.
    entries: Vec<f64>,
    /// The four rows that are being eliminated, and their multiples.
    panel: Vec<f64>,
}

impl Work {
    /// Replaces the upper triangle of a positive definite m×m matrix by its inverse, in full storage.
    ///
    /// The sweep operator, for blocks B of four pivots: `A_ij ← A_ij - A_iB A_BB⁻¹ A_Bj`. Its pivots are those of a
    /// Cholesky factorisation, so they tell whether the matrix is positive definite; `false` when it is not, clearly.
    pub fn invert(&mut self, arch: Arch, a: &mut [f64], m: usize) -> bool {
        let stride = self.load(a, m);
        let largest = (0..m).map(|i| a[i * m + i]).fold(0.0, f64::max);
        self.panel.clear();
        self.panel.resize(2 * BLOCK * stride, 0.0);
        let least = LEAST_PIVOT * largest;
        let sweep = Sweep {
            a: &mut self.entries,
            panel: &mut self.panel,
            m,
            stride,
            least,
        };
        if !arch.dispatch(sweep) {
            return false;
        }
        for i in 0..m {
            for (j, entry) in self.entries[i * stride..]
                .iter()
                .enumerate()
                .take(m)
                .skip(i)
            {
                a[i * m + j] = -entry;
                a[j * m + i] = -entry;
            }
        }
        true
    }

    /// Solves `H x = g` for a positive definite `H` given by its upper triangle; `g` becomes x.
    pub fn solve(&mut self, arch: Arch, h: &[f64], m: usize, g: &mut [f64]) -> bool {
        let stride = self.load(h, m);
        if !arch.dispatch(Eliminate {
            a: &mut self.entries,
            m,
            stride,
        }) {
            return false;
        }
        let h = &self.entries;
        for k in 0..m {
            let factor = g[k] / h[k * stride + k];
            for (x, a) in g[k + 1..m].iter_mut().zip(&h[k * stride + k + 1..]) {
                *x -= factor * a;
            }
        }
        for k in (0..m).rev() {
            let row = &h[k * stride + k + 1..k * stride + m];
            let known: f64 = row.iter().zip(&g[k + 1..m]).map(|(a, x)| a * x).sum();
            g[k] = (g[k] - known) / h[k * stride + k];
        }
        true
    }

    /// Whether Gaussian elimination of the upper triangle meets only positive pivots.
    pub fn has_positive_pivots(&mut self, arch: Arch, a: &[f64], m: usize) -> bool {
        let stride = self.load(a, m);
        arch.dispatch(Eliminate {
            a: &mut self.entries,
            m,
            stride,
        })
    }

    /// Copies the upper triangle and adds unit pivots until there are whole blocks; the stride.
    fn load(&mut self, a: &[f64], m: usize) -> usize {
        let stride = m.next_multiple_of(WIDTH);
        self.entries.clear();
        self.entries.resize(m.next_multiple_of(BLOCK) * stride, 0.0);
        for (i, row) in self.entries.chunks_exact_mut(stride.max(1)).enumerate() {
            if i < m {
                row[i..m].copy_from_slice(&a[i * m + i..(i + 1) * m]);
            } else {
                row[i] = 1.0;
            }
        }
        stride
    }
}

/// Inverts, by blocks of pivots; see [`Work::invert`].
struct Sweep<'a> {
    a: &'a mut [f64],
    panel: &'a mut [f64],
    m: usize,
    stride: usize,
    least: f64,
}

impl WithSimd for Sweep<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let Sweep {
            a,
            panel,
            m,
            stride,
            least,
        } = self;
        let (columns, images) = panel.split_at_mut(BLOCK * stride);
        for k in (0..m).step_by(BLOCK) {
            gather(a, columns, k, stride);
            // Unit pivots that were added are not measured.
            let least = |p| if k + p < m { least } else { 0.0 };
            let Some(inverse) = invert_block(columns, k, stride, least) else {
                return false;
            };
            images.fill(0.0);
            for (image, factors) in images.chunks_exact_mut(stride).zip(&inverse) {
                let [a, b, c, d] = *factors;
                subtract(simd, &mut [image], [[-a, -b, -c, -d]], columns, 0);
            }
            let (above, rest) = a.split_at_mut(k * stride);
            let (block, below) = rest.split_at_mut(BLOCK * stride);
            for (first, part) in [(0, &mut *above), (k + BLOCK, below)] {
                for (pair, rows) in part.chunks_exact_mut(2 * stride).enumerate() {
                    let i = first + 2 * pair;
                    subtract(
                        simd,
                        &mut halves(rows),
                        [column(columns, i), column(columns, i + 1)],
                        images,
                        i,
                    );
                }
            }
            for (p, (row, image)) in block
                .chunks_exact_mut(stride)
                .zip(images.chunks_exact(stride))
                .enumerate()
            {
                for (above, image) in above.chunks_exact_mut(stride).zip(image) {
                    above[k + p] = *image;
                }
                row[k + BLOCK..].copy_from_slice(&image[k + BLOCK..]);
                for (entry, inverse) in row[k..k + BLOCK].iter_mut().zip(&inverse[p]) {
                    *entry = -inverse;
                }
            }
        }
        true
    }
}

/// Gaussian elimination by blocks of pivots, with the operations of the textbook one on every entry.
struct Eliminate<'a> {
    a: &'a mut [f64],
    m: usize,
    stride: usize,
}

impl WithSimd for Eliminate<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let Eliminate { a, m, stride } = self;
        for k in (0..m).step_by(BLOCK) {
            let (above, below) = a.split_at_mut((k + BLOCK) * stride);
            let block = &mut above[k * stride..];
            for p in 0..BLOCK {
                let (rows, rest) = block.split_at_mut((p + 1) * stride);
                let row = &rows[p * stride..];
                if !is_above(row[k + p], 0.0) {
                    return false;
                }
                for (q, next) in rest.chunks_exact_mut(stride).enumerate() {
                    let factor = row[k + p + 1 + q] / row[k + p];
                    for (x, y) in next[k..].iter_mut().zip(&row[k..]) {
                        *x -= factor * y;
                    }
                }
            }
            for (pair, rows) in below.chunks_exact_mut(2 * stride).enumerate() {
                let i = k + BLOCK + 2 * pair;
                let (mut one, mut two) = (column(block, i), column(block, i + 1));
                for p in 0..BLOCK {
                    one[p] /= block[p * stride + k + p];
                    two[p] /= block[p * stride + k + p];
                }
                subtract(simd, &mut halves(rows), [one, two], block, i);
            }
        }
        true
    }
}

/// The columns of a block of pivots, from the upper triangle.
#[inline(always)]
fn gather(a: &[f64], columns: &mut [f64], k: usize, stride: usize) {
    for (p, column) in columns.chunks_exact_mut(stride).enumerate() {
        for (entry, row) in column[..k + p].iter_mut().zip(a.chunks_exact(stride)) {
            *entry = row[k + p];
        }
        column[k + p..].copy_from_slice(&a[(k + p) * stride + k + p..(k + p + 1) * stride]);
    }
}

/// The inverse of a block of pivots; `None` when a pivot is not above its least.
#[inline(always)]
fn invert_block(
    columns: &[f64],
    k: usize,
    stride: usize,
    least: impl Fn(usize) -> f64,
) -> Option<[[f64; BLOCK]; BLOCK]> {
    let mut a = [[0.0; BLOCK]; BLOCK];
    for (p, row) in a.iter_mut().enumerate() {
        row.copy_from_slice(&columns[p * stride + k..p * stride + k + BLOCK]);
    }
    for p in 0..BLOCK {
        let pivot = a[p][p];
        if !is_above(pivot, least(p)) {
            return None;
        }
        let row = a[p];
        for q in 0..BLOCK {
            if q == p {
                continue;
            }
            let factor = a[q][p] / pivot;
            for j in 0..BLOCK {
                a[q][j] -= factor * row[j];
            }
            a[q][p] = -factor;
        }
        for entry in &mut a[p] {
            *entry /= pivot;
        }
        a[p][p] = 1.0 / pivot;
    }
    Some(a)
}

/// Takes multiples of the four `images` from rows, from about the entry `from` on.
///
/// Written without closures: they would not be inlined into the dispatch.
#[inline(always)]
fn subtract<S: Simd, const N: usize>(
    simd: S,
    rows: &mut [&mut [f64]; N],
    factors: [[f64; BLOCK]; N],
    images: &[f64],
    from: usize,
) {
    let stride = images.len() / BLOCK;
    let start = from / S::F64_LANES * S::F64_LANES;
    let zero = simd.splat_f64s(0.0);
    let mut splat = [[zero; BLOCK]; N];
    for r in 0..N {
        for p in 0..BLOCK {
            splat[r][p] = simd.splat_f64s(-factors[r][p]);
        }
    }
    let (one, rest) = images.split_at(stride);
    let (two, rest) = rest.split_at(stride);
    let (three, four) = rest.split_at(stride);
    let one = S::as_simd_f64s(&one[start..]).0;
    let two = S::as_simd_f64s(&two[start..]).0;
    let three = S::as_simd_f64s(&three[start..]).0;
    let four = S::as_simd_f64s(&four[start..]).0;
    for at in 0..one.len() {
        let image = [one[at], two[at], three[at], four[at]];
        for r in 0..N {
            let entry = &mut S::as_mut_simd_f64s(&mut rows[r][start..]).0[at];
            let mut sum = *entry;
            for p in 0..BLOCK {
                sum = simd.mul_add_e_f64s(splat[r][p], image[p], sum);
            }
            *entry = sum;
        }
    }
}

/// An entry of each of four rows.
#[inline(always)]
fn column(rows: &[f64], i: usize) -> [f64; BLOCK] {
    let stride = rows.len() / BLOCK;
    [
        rows[i],
        rows[stride + i],
        rows[2 * stride + i],
        rows[3 * stride + i],
    ]
}

#[inline(always)]
fn halves(rows: &mut [f64]) -> [&mut [f64]; 2] {
    let (one, two) = rows.split_at_mut(rows.len() / 2);
    [one, two]
}

/// Also refuses NaN.
#[inline(always)]
fn is_above(pivot: f64, least: f64) -> bool {
    pivot.partial_cmp(&least) == Some(Ordering::Greater)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Diagonally dominant, and so positive definite.
    fn matrix(m: usize) -> Vec<f64> {
        let entry = |i: usize, j: usize| ((i * 7 + j * 7 + i * j) % 5) as f64 - 2.0;
        (0..m * m)
            .map(|k| {
                if k / m == k % m {
                    3.0 * m as f64
                } else {
                    entry(k / m, k % m)
                }
            })
            .collect()
    }

    #[test]
    fn a_matrix_times_its_inverse_is_the_identity() {
        for m in [0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 33] {
            let a = matrix(m);
            let mut inverse = a.clone();
            assert!(Work::default().invert(Arch::new(), &mut inverse, m));
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
        for m in [1, 2, 6, 8, 21] {
            let a = matrix(m);
            let wanted: Vec<f64> = (0..m).map(|i| i as f64 - 8.0).collect();
            let mut g: Vec<f64> = (0..m)
                .map(|i| (0..m).map(|j| a[i * m + j] * wanted[j]).sum())
                .collect();

            assert!(Work::default().solve(Arch::new(), &a, m, &mut g));

            assert!(g.iter().zip(&wanted).all(|(x, y)| (x - y).abs() < 1e-10));
        }
    }

    #[test]
    fn an_indefinite_matrix_is_refused() {
        let mut a = vec![1.0, 2.0, 2.0, 1.0];

        assert!(!Work::default().has_positive_pivots(Arch::new(), &a, 2));
        assert!(!Work::default().solve(Arch::new(), &a, 2, &mut [1.0, 1.0]));
        assert!(!Work::default().invert(Arch::new(), &mut a, 2));
    }
}
