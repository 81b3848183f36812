//! Products of the design matrix Φ with vectors, by one matrix product for each group of mixed features and panel.
//!
//! ```text
//! (Φw)ᵢ   = aᵢᵀ W b̃ᵢ
//! Φᵀv     = Aᵀ diag(v) B̃           where products are in the model
//! ```

use std::ops::Range;

use super::Records;
use crate::features::Group;
use crate::math::matrix::{Matrix, add_product, chosen_columns};
use crate::math::vector::{add_scaled, dot_in_lanes, scale};
use crate::surrogate::prior::Variances;

/// Rows of A that are made at a time: a panel of the paper's largest space is 650 kB and stays in the cache.
const PANEL: usize = 64;

/// The most values of a panel, 32 MB: of four million monomials, one row at a time.
const MAX_PANEL: usize = 1 << 22;

impl Records {
    /// Φw: f(xᵢ) for every record, where `weights` is a matrix like W.
    pub(crate) fn times(&self, weights: &[f64]) -> Vec<f64> {
        let columns = self.features.n_columns();
        let constant = &weights[..columns];
        let mut f: Vec<f64> = (0..self.n())
            .map(|i| dot_in_lanes(constant, self.b_of(i)))
            .collect();
        let groups = self.features.mixed().groups().iter();
        let parts: Vec<Part<'_>> = groups
            .map(|group| Part::gathered(group, weights, columns))
            .collect();
        for range in self.panels() {
            let panel = self.panel(range.clone());
            for part in &parts {
                part.add_values(&panel, &mut f[range.clone()]);
            }
        }
        f
    }

    /// V∘(Aᵀ diag(v) B̃) where V holds the prior variances: prior covariance times Φᵀv, as a matrix like W.
    pub(crate) fn adjoint(&self, v: &[f64], variances: Variances) -> Vec<f64> {
        let columns = self.features.n_columns();
        let mut weights = vec![0.0; self.n_monomials() * columns];
        // Row 0 belongs to the empty monomial, which is in no group.
        self.empty_monomial(v, variances, &mut weights[..columns]);
        let groups = self.features.mixed().groups().iter();
        let mut parts: Vec<Part<'_>> = groups.map(Part::new).collect();
        for range in self.panels() {
            let panel = self.panel(range.clone());
            for part in &mut parts {
                part.add_adjoint(&panel, &v[range.clone()]);
            }
        }
        for part in &parts {
            part.scatter(variances, columns, &mut weights);
        }
        weights
    }

    /// The row of the empty monomial, which is 1 at every point: the constant and the waves alone.
    fn empty_monomial(&self, v: &[f64], variances: Variances, row: &mut [f64]) {
        let (constant, waves) = row.split_at_mut(1);
        for (i, &v) in v.iter().enumerate() {
            let b = self.b_of(i);
            add_scaled(constant, v, b);
            add_scaled(waves, v, &b[1..]);
        }
        scale(constant, variances.discrete);
        scale(waves, variances.continuous);
    }

    /// All records, as many at a time as a panel holds.
    fn panels(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let n = self.n();
        let size = (MAX_PANEL / self.n_monomials()).clamp(1, PANEL);
        (0..n)
            .step_by(size)
            .map(move |start| start..(start + size).min(n))
    }

    fn panel(&self, range: Range<usize>) -> Panel<'_> {
        let columns = self.features.n_columns();
        Panel {
            b: &self.b[range.start * columns..range.end * columns],
            n_rows: range.len(),
            n_columns: columns,
            n_monomials: self.n_monomials(),
            a: self.monomial_rows(range),
        }
    }

    /// The rows of A in `range`, row-major.
    pub(super) fn monomial_rows(&self, range: Range<usize>) -> Vec<f64> {
        let n = self.n_monomials();
        let mut rows = vec![0.0; range.len() * n];
        for (a, i) in rows.chunks_exact_mut(n).zip(range) {
            self.fill_a(i, a);
        }
        rows
    }
}

/// Some rows of A and of B̃, row-major.
struct Panel<'a> {
    a: Vec<f64>,
    b: &'a [f64],
    n_rows: usize,
    n_monomials: usize,
    n_columns: usize,
}

/// The rows and columns of W that belong to one group: its monomials, the constant and its waves.
struct Part<'a> {
    group: &'a Group,
    /// |monomials| × (1 + |waves|), row-major.
    weights: Vec<f64>,
}

/// Some columns of A, where they lie or gathered.
enum Monomials<'a> {
    Adjacent(Matrix<'a>),
    Gathered { data: Vec<f64>, n: usize },
}

impl Monomials<'_> {
    fn matrix(&self) -> Matrix<'_> {
        match self {
            Monomials::Adjacent(matrix) => *matrix,
            Monomials::Gathered { data, n } => Matrix::of_rows(data, *n),
        }
    }
}

impl<'a> Part<'a> {
    fn new(group: &'a Group) -> Part<'a> {
        Part {
            group,
            weights: vec![0.0; group.monomials.len() * (group.waves.len() + 1)],
        }
    }

    /// With this part's weights of W.
    fn gathered(group: &'a Group, weights: &[f64], columns: usize) -> Part<'a> {
        let mut part = Part::new(group);
        let rows = part.weights.chunks_exact_mut(group.waves.len() + 1);
        for (row, &i) in rows.zip(&group.monomials) {
            let from = &weights[i * columns..][..columns];
            row[0] = from[0];
            for (w, &j) in row[1..].iter_mut().zip(&group.waves) {
                *w = from[j + 1];
            }
        }
        part
    }

    /// Puts this part's weights into W, times their prior variances.
    fn scatter(&self, variances: Variances, columns: usize, weights: &mut [f64]) {
        let rows = self.weights.chunks_exact(self.width());
        for (row, &i) in rows.zip(&self.group.monomials) {
            let to = &mut weights[i * columns..][..columns];
            to[0] = variances.discrete * row[0];
            for (&j, w) in self.group.waves.iter().zip(&row[1..]) {
                to[j + 1] = variances.mixed * w;
            }
        }
    }

    fn width(&self) -> usize {
        self.group.waves.len() + 1
    }

    /// fᵢ += aᵢᵀ W b̃ᵢ for the records of a panel: Q = AW first, and then the products of its rows with those of B̃.
    fn add_values(&self, panel: &Panel<'_>, f: &mut [f64]) {
        let width = self.width();
        let mut q = vec![0.0; panel.n_rows * width];
        let weights = Matrix::of_rows(&self.weights, width);
        add_product(&mut q, self.monomials(panel).matrix(), weights);
        let b = self.waves(panel);
        // Only the diagonal of Q B̃ᵀ is needed, so no second matrix product.
        let rows = q.chunks_exact(width).zip(b.chunks_exact(width));
        for (f, (q, b)) in f.iter_mut().zip(rows) {
            *f += dot_in_lanes(q, b);
        }
    }

    /// W += Aᵀ diag(v) B̃
    fn add_adjoint(&mut self, panel: &Panel<'_>, v: &[f64]) {
        let width = self.width();
        let mut b = self.waves(panel);
        for (b, v) in b.chunks_exact_mut(width).zip(v) {
            scale(b, *v);
        }
        let monomials = self.monomials(panel);
        let left = monomials.matrix().transposed();
        add_product(&mut self.weights, left, Matrix::of_rows(&b, width));
    }

    /// The columns of B̃ of this part: the constant and its waves.
    fn waves(&self, panel: &Panel<'_>) -> Vec<f64> {
        // All of them, in the order in which they lie.
        if self.width() == panel.n_columns {
            return panel.b.to_vec();
        }
        let waves = self.group.waves.iter().map(|j| j + 1);
        let columns: Vec<usize> = std::iter::once(0).chain(waves).collect();
        chosen_columns(panel.b, panel.n_columns, &columns)
    }

    /// The columns of A of this part.
    fn monomials<'b>(&self, panel: &'b Panel<'_>) -> Monomials<'b> {
        let numbers = &self.group.monomials;
        let (first, n) = (numbers[0], numbers.len());
        // They rise, so none is missing between the first and the last: true of the one group of all products.
        if numbers[n - 1] - first + 1 == n {
            let all = Matrix::of_rows(&panel.a, panel.n_monomials);
            return Monomials::Adjacent(all.columns(first, n));
        }
        let data = chosen_columns(&panel.a, panel.n_monomials, numbers);
        Monomials::Gathered { data, n }
    }
}
