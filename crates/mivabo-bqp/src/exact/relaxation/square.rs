//! Square matrices, row by row, and the products of vectors.

/// An n×n matrix in full storage.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Square {
    n: usize,
    entries: Vec<f64>,
}

impl Square {
    /// The matrix of zeros.
    pub fn zeros(n: usize) -> Square {
        Square {
            n,
            entries: vec![0.0; n * n],
        }
    }

    /// The matrix with these entries, row by row.
    pub fn from_entries(n: usize, entries: Vec<f64>) -> Square {
        debug_assert_eq!(entries.len(), n * n);
        Square { n, entries }
    }

    /// Becomes the part of `other` in these rows and columns, in the memory that it has.
    pub fn copy_part(&mut self, other: &Square, places: &[usize]) {
        self.n = places.len();
        self.entries.clear();
        // Row by row: the lengths are known, so nothing is checked at each entry.
        for i in places {
            let row = other.row(*i);
            self.entries.extend(places.iter().map(|j| row[*j]));
        }
    }

    /// Becomes the n×n matrix of zeros, in the memory that it has.
    pub fn clear(&mut self, n: usize) {
        self.n = n;
        self.entries.clear();
        self.entries.resize(n * n, 0.0);
    }

    /// Becomes `other`, in the memory that it has.
    pub fn copy_from(&mut self, other: &Square) {
        self.n = other.n;
        self.entries.clear();
        self.entries.extend_from_slice(&other.entries);
    }

    /// The number of rows.
    #[inline]
    pub fn n(&self) -> usize {
        self.n
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Row `i`.
    #[inline]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.entries[i * self.n..(i + 1) * self.n]
    }

    /// Row `i`.
    #[inline]
    pub fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.entries[i * self.n..(i + 1) * self.n]
    }

    /// The entry in row `i` and column `j`.
    #[inline]
    pub fn at(&self, i: usize, j: usize) -> f64 {
        self.entries[i * self.n + j]
    }

    /// The entry in row `i` and column `j`.
    #[inline]
    pub fn at_mut(&mut self, i: usize, j: usize) -> &mut f64 {
        &mut self.entries[i * self.n + j]
    }

    /// Adds to the entries (i, j) and (j, i).
    #[inline]
    pub fn add_symmetric(&mut self, i: usize, j: usize, value: f64) {
        *self.at_mut(i, j) += value;
        *self.at_mut(j, i) += value;
    }

    /// All entries, row by row.
    pub fn entries(&self) -> &[f64] {
        &self.entries
    }

    /// The entries of the diagonal.
    pub fn diagonal(&self) -> impl Iterator<Item = f64> + '_ {
        (0..self.n).map(|i| self.at(i, i))
    }
}

/// a'b
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    // Four sums at a time, so that the additions need not wait for each other.
    let mut sums = [0.0; 4];
    let (a_blocks, b_blocks) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = a_blocks
        .remainder()
        .iter()
        .zip(b_blocks.remainder())
        .map(|(x, y)| x * y)
        .sum();
    for (x, y) in a_blocks.zip(b_blocks) {
        for k in 0..4 {
            sums[k] += x[k] * y[k];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// Adds `factor` times a vector to another.
pub(super) fn add(to: &mut [f64], factor: f64, vector: &[f64]) {
    for (x, y) in to.iter_mut().zip(vector) {
        *x += factor * y;
    }
}

/// Σ |aᵢ|
pub(super) fn sum_of_sizes(a: &[f64]) -> f64 {
    a.iter().map(|a| a.abs()).sum()
}
