//! What was observed, as the factors of its features: points and outputs enter; kernel rows, products with the design
//! matrix Φ and rows of Φ leave. Φ itself, n × M, is never stored.
//!
//! ```text
//! k(x, x') = v_d a·a' + v_c φ_c·φ_c' + v_m Σ_groups (a·a')_group (φ_c·φ_c')_group
//! (Φw)ᵢ   = aᵢᵀ W b̃ᵢ
//! Φᵀv     = Aᵀ diag(v) B̃           where products are in the model
//! ```
//!
//! The rows of A are made again from packed bits, a panel at a time: that costs a tenth of the product with them,
//! and a model of a hundred thousand monomials fits into memory.

use std::ops::Range;
use std::sync::Arc;

use super::prior::Variances;
use crate::encoding::BadCode;
use crate::features::{Factors, Features, Group};
use crate::math::linalg::{add_product, dot, gram, matrix, scale};
use crate::surrogate::Error;

/// Rows of A that are made at a time: a panel of the paper's largest space is 650 kB and stays in the cache.
const PANEL: usize = 64;

/// The most values of a panel, 32 MB: of four million monomials, one row at a time.
const MAX_PANEL: usize = 1 << 22;

/// The largest absolute output: far from overflow, and far from anything standardised.
const LARGEST_OUTPUT: f64 = 1e100;

/// Points as factors of features, and their outputs.
#[derive(Debug, Clone)]
pub(crate) struct Records {
    features: Arc<Features>,
    /// Visible bits, `n_words` for each point.
    words: Vec<u64>,
    /// Coordinates, Dc for each point.
    unit: Vec<f64>,
    /// b̃, 1 + M_c for each point.
    b: Vec<f64>,
    y: Vec<f64>,
}

/// The bits and waves of one point.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    words: Vec<u64>,
    b: Vec<f64>,
    /// φ_d, where the groups of mixed features need it.
    a: Vec<f64>,
}

impl Records {
    pub(crate) fn new(features: Arc<Features>) -> Records {
        Records {
            features,
            words: Vec::new(),
            unit: Vec::new(),
            b: Vec::new(),
            y: Vec::new(),
        }
    }

    /// The same points and outputs under features that differ in bandwidths or products only.
    pub(crate) fn with_features(&self, features: Arc<Features>) -> Records {
        let n_reals = features.waves().n_reals();
        let b = (0..self.n())
            .flat_map(|i| features.b(&self.unit[i * n_reals..][..n_reals]))
            .collect();
        Records {
            features,
            b,
            ..self.clone()
        }
    }

    /// Whether the points have as many bits and coordinates as other features need.
    pub(crate) fn check_features(&self, features: &Features) -> Result<(), Error> {
        let sizes = |f: &Features| {
            [
                ("bits", f.monomials().visible().len()),
                ("coordinates", f.waves().n_reals()),
            ]
        };
        for ((what, expected), (_, found)) in sizes(&self.features).into_iter().zip(sizes(features))
        {
            if found != expected {
                return Err(Error::BadCode(BadCode::Length {
                    what,
                    found,
                    expected,
                }));
            }
        }
        Ok(())
    }

    /// The points with the given rising numbers.
    pub(crate) fn subset(&self, chosen: &[usize]) -> Records {
        let mut subset = Records::new(self.features.clone());
        let (n_words, n_reals) = (
            self.features.monomials().n_words(),
            self.features.waves().n_reals(),
        );
        for &i in chosen {
            subset
                .words
                .extend_from_slice(&self.words[i * n_words..][..n_words]);
            subset
                .unit
                .extend_from_slice(&self.unit[i * n_reals..][..n_reals]);
            subset.b.extend_from_slice(self.b_of(i));
            subset.y.push(self.y[i]);
        }
        subset
    }

    pub(crate) fn features(&self) -> &Arc<Features> {
        &self.features
    }

    pub(crate) fn n(&self) -> usize {
        self.y.len()
    }

    pub(crate) fn y(&self) -> &[f64] {
        &self.y
    }

    /// All b̃, n × (1 + M_c), row-major.
    pub(crate) fn b(&self) -> &[f64] {
        &self.b
    }

    pub(crate) fn unit_of(&self, i: usize) -> &[f64] {
        let n_reals = self.features.waves().n_reals();
        &self.unit[i * n_reals..][..n_reals]
    }

    fn b_of(&self, i: usize) -> &[f64] {
        &self.b[i * self.features.n_columns()..][..self.features.n_columns()]
    }

    fn words_of(&self, i: usize) -> &[u64] {
        let n_words = self.features.monomials().n_words();
        &self.words[i * n_words..][..n_words]
    }

    /// Whether a point can be recorded.
    ///
    /// # Errors
    /// [`Error::BadCode`] for a wrong number of bits or coordinates, [`Error::BadOutput`] for an output that is not
    /// finite or beyond 1e100.
    pub(crate) fn check(&self, bits: &[bool], unit: &[f64], y: f64) -> Result<(), Error> {
        let needed = self.features.monomials().n_bits();
        let length = |what, found, expected| {
            Error::BadCode(BadCode::Length {
                what,
                found,
                expected,
            })
        };
        if bits.len() < needed {
            return Err(length("bits", bits.len(), needed));
        }
        let n_reals = self.features.waves().n_reals();
        if unit.len() != n_reals {
            return Err(length("coordinates", unit.len(), n_reals));
        }
        if let Some(k) = unit.iter().position(|x| !(0.0..=1.0).contains(x)) {
            let name = format!("continuous parameter {k}");
            return Err(Error::BadCode(BadCode::Coordinate {
                name,
                value: unit[k],
            }));
        }
        check_output(y)
    }

    /// Adds a point that passed [`check`](Self::check).
    pub(crate) fn push(&mut self, site: &Site, unit: &[f64], y: f64) {
        self.words.extend_from_slice(&site.words);
        self.unit.extend_from_slice(unit);
        self.b.extend_from_slice(&site.b);
        self.y.push(y);
    }

    /// Replaces the outputs of all points.
    pub(crate) fn set_outputs(&mut self, y: &[f64]) -> Result<(), Error> {
        if y.len() != self.n() {
            let (found, expected) = (y.len(), self.n());
            return Err(Error::BadCode(BadCode::Length {
                what: "outputs",
                found,
                expected,
            }));
        }
        y.iter().try_for_each(|&y| check_output(y))?;
        self.y.copy_from_slice(y);
        Ok(())
    }

    pub(crate) fn site(&self, bits: &[bool], unit: &[f64]) -> Site {
        let monomials = self.features.monomials();
        let a = if self.needs_monomials() {
            monomials.values(bits)
        } else {
            Vec::new()
        };
        Site {
            words: monomials.packed(bits),
            b: self.features.b(unit),
            a,
        }
    }

    /// Whether the mixed kernel is not simply (k_d - 1) k_c or 0.
    fn needs_monomials(&self) -> bool {
        let mixed = self.features.mixed();
        !mixed.is_empty() && mixed.groups().len() > 1
    }

    /// k(x, xᵢ) for every record.
    pub(crate) fn kernel_row(&self, site: &Site, variances: Variances) -> Vec<f64> {
        self.kernel_row_to(site, self.n(), variances)
    }

    /// k(x, xᵢ) for the first `n` records.
    fn kernel_row_to(&self, site: &Site, n: usize, variances: Variances) -> Vec<f64> {
        let mut a = vec![0.0; site.a.len()];
        let row = (0..n).map(|i| {
            if !a.is_empty() {
                self.fill_a(i, &mut a);
            }
            self.kernel(site, (self.words_of(i), self.b_of(i), &a), variances)
        });
        row.collect()
    }

    /// k(x, x)
    pub(crate) fn kernel_self(&self, site: &Site, variances: Variances) -> f64 {
        self.kernel(site, (&site.words, &site.b, &site.a), variances)
    }

    fn kernel(&self, site: &Site, other: (&[u64], &[f64], &[f64]), variances: Variances) -> f64 {
        let (words, b, a) = other;
        let discrete = self.features.monomials().kernel(&site.words, words);
        let continuous = dot(&site.b[1..], &b[1..]);
        let groups = self
            .features
            .mixed()
            .groups()
            .iter()
            .filter(|group| !group.waves.is_empty());
        let mixed: f64 = groups
            .map(|group| {
                let monomials = if a.is_empty() {
                    discrete - 1.0
                } else {
                    group.monomials.iter().map(|&i| site.a[i] * a[i]).sum()
                };
                monomials * self.group_kernel(group, &site.b, b, continuous)
            })
            .sum();
        variances.discrete * discrete + variances.continuous * continuous + variances.mixed * mixed
    }

    /// Σ over the waves of a group of φ_c,j φ_c,j'.
    fn group_kernel(&self, group: &Group, x: &[f64], y: &[f64], continuous: f64) -> f64 {
        if group.waves.len() == self.features.waves().len() {
            return continuous;
        }
        group.waves.iter().map(|&j| x[j + 1] * y[j + 1]).sum()
    }

    /// K over all records, row-major, without noise.
    pub(crate) fn kernel_matrix(&self, variances: Variances) -> Vec<f64> {
        let n = self.n();
        let mut kernel = vec![0.0; n * n];
        for i in 0..n {
            let row = self.kernel_row_to(&self.site_of(i), i + 1, variances);
            for (j, k) in row.into_iter().enumerate() {
                kernel[i * n + j] = k;
                kernel[j * n + i] = k;
            }
        }
        kernel
    }

    /// D: k_d over all records, row-major.
    pub(crate) fn discrete_kernel(&self) -> Vec<f64> {
        let kernel = |i: usize, j: usize| {
            self.features
                .monomials()
                .kernel(self.words_of(i), self.words_of(j))
        };
        (0..self.n())
            .flat_map(|i| (0..self.n()).map(move |j| (i, j)))
            .map(|(i, j)| kernel(i, j))
            .collect()
    }

    /// P_g: products of some monomials over all records, row-major.
    pub(crate) fn monomial_gram(&self, monomials: &[usize]) -> Vec<f64> {
        let mut a = vec![0.0; self.features.monomials().len()];
        let mut chosen = Vec::with_capacity(self.n() * monomials.len());
        for i in 0..self.n() {
            self.fill_a(i, &mut a);
            chosen.extend(monomials.iter().map(|&k| a[k]));
        }
        gram(&chosen, monomials.len())
    }

    /// Record `i` as a point to compare others with.
    fn site_of(&self, i: usize) -> Site {
        let mut a = vec![
            0.0;
            if self.needs_monomials() {
                self.features.monomials().len()
            } else {
                0
            }
        ];
        if !a.is_empty() {
            self.fill_a(i, &mut a);
        }
        Site {
            words: self.words_of(i).to_vec(),
            b: self.b_of(i).to_vec(),
            a,
        }
    }

    /// φ_d of record `i`.
    pub(crate) fn fill_a(&self, i: usize, a: &mut [f64]) {
        let words = self.words_of(i);
        self.features
            .monomials()
            .fill(|bit| words[bit / 64] >> (bit % 64) & 1 == 1, a);
    }

    /// φ(xᵢ) as one row over all weights.
    pub(crate) fn flat_row(&self, i: usize) -> Vec<f64> {
        let mut a = vec![0.0; self.features.monomials().len()];
        self.fill_a(i, &mut a);
        self.features.flatten(&Factors {
            a,
            b: self.b_of(i).to_vec(),
        })
    }

    /// The rows of A in `range`, row-major.
    pub(crate) fn panel(&self, range: Range<usize>) -> Vec<f64> {
        let n = self.features.monomials().len();
        let mut panel = vec![0.0; range.len() * n];
        panel
            .chunks_exact_mut(n)
            .zip(range)
            .for_each(|(a, i)| self.fill_a(i, a));
        panel
    }

    /// All records, as many at a time as a panel holds.
    fn panels(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (n, size) = (
            self.n(),
            (MAX_PANEL / self.features.monomials().len()).clamp(1, PANEL),
        );
        (0..n)
            .step_by(size)
            .map(move |start| start..(start + size).min(n))
    }

    /// Φw: f(xᵢ) for every record, by one matrix product for each group and panel.
    pub(crate) fn times(&self, weights: &[f64]) -> Vec<f64> {
        let columns = self.features.n_columns();
        let mut f: Vec<f64> = (0..self.n())
            .map(|i| dot(&weights[..columns], self.b_of(i)))
            .collect();
        let parts: Vec<Part<'_>> = self
            .parts()
            .map(|part| part.gathering(weights, columns))
            .collect();
        for range in self.panels() {
            let panel = self.panel(range.clone());
            for part in &parts {
                let b =
                    part.columns_of(&self.b[range.start * columns..range.end * columns], columns);
                let mut q = vec![0.0; range.len() * part.width()];
                let left = part.of_panel(&panel, self.features.monomials().len());
                add_product(&mut q, left.view(), matrix(&part.weights, part.width()));
                for (f, (q, b)) in f[range.clone()].iter_mut().zip(rows(&q, &b, part.width())) {
                    *f += dot(q, b);
                }
            }
        }
        f
    }

    /// V∘(Aᵀ diag(v) B̃) where V holds the prior variances: prior covariance times Φᵀv, as a matrix like W.
    pub(crate) fn adjoint(&self, v: &[f64], variances: Variances) -> Vec<f64> {
        let columns = self.features.n_columns();
        let n_monomials = self.features.monomials().len();
        let mut weights = vec![0.0; n_monomials * columns];
        for (i, &v) in v.iter().enumerate() {
            weights[..columns]
                .iter_mut()
                .zip(self.b_of(i))
                .for_each(|(w, b)| *w += v * b);
        }
        weights[0] *= variances.discrete;
        scale(&mut weights[1..columns], variances.continuous);
        let mut parts: Vec<Part<'_>> = self.parts().collect();
        for range in self.panels() {
            let panel = self.panel(range.clone());
            for part in &mut parts {
                let mut b =
                    part.columns_of(&self.b[range.start * columns..range.end * columns], columns);
                for (b, v) in b.chunks_exact_mut(part.width()).zip(&v[range.clone()]) {
                    scale(b, *v);
                }
                let left = part.of_panel(&panel, n_monomials);
                let right = matrix(&b, part.width());
                add_product(&mut part.weights, left.view().transpose(), right);
            }
        }
        for part in &parts {
            part.scatter(variances, columns, &mut weights);
        }
        weights
    }

    fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        self.features.mixed().groups().iter().map(Part::new)
    }
}

pub(super) fn check_output(y: f64) -> Result<(), Error> {
    if !y.is_finite() {
        return Err(Error::BadOutput {
            value: y,
            why: "it is not finite",
        });
    }
    if y.abs() > LARGEST_OUTPUT {
        return Err(Error::BadOutput {
            value: y,
            why: "it is beyond ±1e100; standardise outputs first",
        });
    }
    Ok(())
}

fn rows<'a>(
    x: &'a [f64],
    y: &'a [f64],
    width: usize,
) -> impl Iterator<Item = (&'a [f64], &'a [f64])> {
    x.chunks_exact(width).zip(y.chunks_exact(width))
}

/// The rows and columns of W that belong to one group: its monomials, the constant and its waves.
struct Part<'a> {
    group: &'a Group,
    /// |monomials| × (1 + |waves|), row-major.
    weights: Vec<f64>,
}

/// Some columns of a panel, where they lie or gathered.
enum Columns<'a> {
    Adjacent {
        panel: &'a [f64],
        of: usize,
        first: usize,
        n: usize,
    },
    Gathered {
        data: Vec<f64>,
        n: usize,
    },
}

impl Columns<'_> {
    fn view(&self) -> faer::MatRef<'_, f64> {
        match self {
            Columns::Adjacent {
                panel,
                of,
                first,
                n,
            } => matrix(panel, *of).subcols(*first, *n),
            Columns::Gathered { data, n } => matrix(data, *n),
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

    fn width(&self) -> usize {
        self.group.waves.len() + 1
    }

    /// Takes this part's weights out of W.
    fn gathering(mut self, weights: &[f64], columns: usize) -> Part<'a> {
        let group = self.group;
        for (row, &i) in self
            .weights
            .chunks_exact_mut(group.waves.len() + 1)
            .zip(&group.monomials)
        {
            let from = &weights[i * columns..][..columns];
            row[0] = from[0];
            row[1..]
                .iter_mut()
                .zip(&group.waves)
                .for_each(|(w, &j)| *w = from[j + 1]);
        }
        self
    }

    /// Puts this part's weights into W, times their prior variances.
    fn scatter(&self, variances: Variances, columns: usize, weights: &mut [f64]) {
        for (row, &i) in self
            .weights
            .chunks_exact(self.width())
            .zip(&self.group.monomials)
        {
            let to = &mut weights[i * columns..][..columns];
            to[0] = variances.discrete * row[0];
            self.group
                .waves
                .iter()
                .zip(&row[1..])
                .for_each(|(&j, w)| to[j + 1] = variances.mixed * w);
        }
    }

    /// The columns of b̃ of this part.
    fn columns_of(&self, b: &[f64], columns: usize) -> Vec<f64> {
        if self.width() == columns {
            return b.to_vec();
        }
        let row = |b: &'_ [f64]| {
            std::iter::once(1.0)
                .chain(self.group.waves.iter().map(|&j| b[j + 1]))
                .collect::<Vec<_>>()
        };
        b.chunks_exact(columns).flat_map(row).collect()
    }

    /// The columns of a panel of A of this part.
    fn of_panel<'b>(&self, panel: &'b [f64], of: usize) -> Columns<'b> {
        let monomials = &self.group.monomials;
        let (first, n) = (monomials[0], monomials.len());
        if monomials[n - 1] - first + 1 == n {
            return Columns::Adjacent {
                panel,
                of,
                first,
                n,
            };
        }
        let data = panel
            .chunks_exact(of)
            .flat_map(|a| monomials.iter().map(|&i| a[i]))
            .collect();
        Columns::Gathered { data, n }
    }
}
