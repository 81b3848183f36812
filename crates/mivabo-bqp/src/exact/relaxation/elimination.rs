//! Elimination in dense symmetric matrices of up to a few hundred rows: inverses, solutions, signs of pivots.
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

use super::square::Square;

/// A pivot below this share of the largest diagonal entry counts as zero: what follows would not be accurate.
const LEAST_PIVOT: f64 = 1e-9;

/// Pivots that are eliminated together.
const BLOCK: usize = 4;

/// Rows begin at multiples of this: no vector is longer.
const WIDTH: usize = 8;

/// Room to eliminate a symmetric matrix, of which the upper triangle counts.
#[derive(Debug)]
pub(super) struct Workspace {
    arch: Arch,
    /// Rows of `stride` entries.
    entries: Vec<f64>,
    /// The four rows that are being eliminated, and their multiples.
    panel: Vec<f64>,
}

impl Workspace {
    pub fn new() -> Workspace {
        Workspace {
            arch: Arch::new(),
            entries: Vec::new(),
            panel: Vec::new(),
        }
    }

    /// Replaces the upper triangle of a positive definite matrix by its inverse, in full storage.
    ///
    /// The sweep operator, for blocks B of four pivots: `A_ij ← A_ij - A_iB A_BB⁻¹ A_Bj`. Its pivots are those of a
    /// Cholesky factorisation, so they tell whether the matrix is positive definite; `false` when it is not, clearly.
    pub fn invert(&mut self, matrix: &mut Square) -> bool {
        let m = matrix.n();
        let stride = self.load(matrix);
        let largest = matrix.diagonal().fold(0.0, f64::max);
        self.panel.clear();
        self.panel.resize(2 * BLOCK * stride, 0.0);
        let sweep = Sweep {
            a: &mut self.entries,
            panel: &mut self.panel,
            m,
            stride,
            least: LEAST_PIVOT * largest,
        };
        if !self.arch.dispatch(sweep) {
            return false;
        }
        // A sweep over all pivots leaves minus the inverse.
        for i in 0..m {
            let row = &self.entries[i * stride..i * stride + m];
            for (j, entry) in row.iter().enumerate().skip(i) {
                *matrix.at_mut(i, j) = -entry;
                *matrix.at_mut(j, i) = -entry;
            }
        }
        true
    }

    /// Solves `H x = g` for a positive definite `H` given by its upper triangle; `g` becomes x.
    pub fn solve(&mut self, h: &Square, g: &mut [f64]) -> bool {
        let m = h.n();
        let stride = self.load(h);
        if !self.arch.dispatch(Eliminate {
            a: &mut self.entries,
            m,
            stride,
        }) {
            return false;
        }
        let row = |k: usize| &self.entries[k * stride..k * stride + m];
        for k in 0..m {
            let factor = g[k] / row(k)[k];
            for (x, a) in g[k + 1..].iter_mut().zip(&row(k)[k + 1..]) {
                *x -= factor * a;
            }
        }
        for k in (0..m).rev() {
            let known = row(k)[k + 1..].iter().zip(&g[k + 1..]);
            let known: f64 = known.map(|(a, x)| a * x).sum();
            g[k] = (g[k] - known) / row(k)[k];
        }
        true
    }

    /// Whether Gaussian elimination of the upper triangle meets only positive pivots.
    pub fn has_positive_pivots(&mut self, matrix: &Square) -> bool {
        let stride = self.load(matrix);
        self.arch.dispatch(Eliminate {
            a: &mut self.entries,
            m: matrix.n(),
            stride,
        })
    }

    /// Copies the upper triangle and adds unit pivots until there are whole blocks; the stride.
    fn load(&mut self, matrix: &Square) -> usize {
        let m = matrix.n();
        let stride = m.next_multiple_of(WIDTH);
        self.entries.clear();
        self.entries.resize(m.next_multiple_of(BLOCK) * stride, 0.0);
        for (i, row) in self.entries.chunks_exact_mut(stride.max(1)).enumerate() {
            if i < m {
                row[i..m].copy_from_slice(&matrix.row(i)[i..]);
            } else {
                // Nothing couples it with the matrix, so it changes no other entry.
                row[i] = 1.0;
            }
        }
        stride
    }
}

/// Inverts, by blocks of pivots; see [`Workspace::invert`].
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
            subtract_pairs(simd, above, columns, images, 0);
            subtract_pairs(simd, below, columns, images, k + BLOCK);
            store_images(above, block, images, k);
            store_inverse(block, &inverse, k);
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
            if !eliminate_block(block, k, stride) {
                return false;
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

/// Eliminates within the rows of a block of pivots, the first of which is the k-th; whether all pivots are positive.
#[inline(always)]
fn eliminate_block(block: &mut [f64], k: usize, stride: usize) -> bool {
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
    true
}

/// Takes from the rows of `part` their multiples of the images, two rows at a time; the first is row `first`.
#[inline(always)]
fn subtract_pairs<S: Simd>(
    simd: S,
    part: &mut [f64],
    columns: &[f64],
    images: &[f64],
    first: usize,
) {
    let stride = images.len() / BLOCK;
    for (pair, rows) in part.chunks_exact_mut(2 * stride).enumerate() {
        let i = first + 2 * pair;
        let factors = [column(columns, i), column(columns, i + 1)];
        subtract(simd, &mut halves(rows), factors, images, i);
    }
}

/// Puts the images of a block of pivots where its columns and rows were.
#[inline(always)]
fn store_images(above: &mut [f64], block: &mut [f64], images: &[f64], k: usize) {
    let stride = images.len() / BLOCK;
    for p in 0..BLOCK {
        let image = &images[p * stride..(p + 1) * stride];
        for (row, entry) in above.chunks_exact_mut(stride).zip(image) {
            row[k + p] = *entry;
        }
        let row = &mut block[p * stride..(p + 1) * stride];
        row[k + BLOCK..].copy_from_slice(&image[k + BLOCK..]);
    }
}

/// Puts minus the inverse of a block of pivots in its place.
#[inline(always)]
fn store_inverse(block: &mut [f64], inverse: &[[f64; BLOCK]; BLOCK], k: usize) {
    let stride = block.len() / BLOCK;
    for p in 0..BLOCK {
        let row = &mut block[p * stride + k..p * stride + k + BLOCK];
        for (entry, inverse) in row.iter_mut().zip(&inverse[p]) {
            *entry = -inverse;
        }
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
        // A sweep: the pivot's row and column hold what a Gauss-Jordan step would write into an identity beside it.
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
    // Whole vectors only: what they cover before `from` lies below the diagonal, which nobody reads.
    let start = from / S::F64_LANES * S::F64_LANES;
    let zero = simd.splat_f64s(0.0);
    let mut multiples = [[zero; BLOCK]; N];
    for r in 0..N {
        for p in 0..BLOCK {
            multiples[r][p] = simd.splat_f64s(-factors[r][p]);
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
                sum = simd.mul_add_e_f64s(multiples[r][p], image[p], sum);
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
    fn matrix(m: usize) -> Square {
        let entry = |i: usize, j: usize| ((i * 7 + j * 7 + i * j) % 5) as f64 - 2.0;
        let mut matrix = Square::zeros(m);
        for i in 0..m {
            for j in 0..m {
                *matrix.at_mut(i, j) = entry(i, j);
            }
            *matrix.at_mut(i, i) = 3.0 * m as f64;
        }
        matrix
    }

    #[test]
    fn a_matrix_times_its_inverse_is_the_identity() {
        for m in [0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 33] {
            let a = matrix(m);
            let mut inverse = a.clone();
            assert!(Workspace::new().invert(&mut inverse));
            for i in 0..m {
                for j in 0..m {
                    let product: f64 = (0..m).map(|k| a.at(i, k) * inverse.at(k, j)).sum();
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
                .map(|i| (0..m).map(|j| a.at(i, j) * wanted[j]).sum())
                .collect();

            assert!(Workspace::new().solve(&a, &mut g));

            assert!(g.iter().zip(&wanted).all(|(x, y)| (x - y).abs() < 1e-10));
        }
    }

    #[test]
    fn an_indefinite_matrix_is_refused() {
        let mut a = Square::from_entries(2, vec![1.0, 2.0, 2.0, 1.0]);

        assert!(!Workspace::new().has_positive_pivots(&a));
        assert!(!Workspace::new().solve(&a, &mut [1.0, 1.0]));
        assert!(!Workspace::new().invert(&mut a));
    }
}
