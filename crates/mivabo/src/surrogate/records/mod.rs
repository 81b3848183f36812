//! What was observed, kept as the factors of its features. Φ itself, n × M, is never stored.
//!
//! ```text
//! k(x, x') = v_d a·a' + v_c φ_c·φ_c' + v_m Σ_groups (a·a')_group (φ_c·φ_c')_group
//! ```
//!
//! The rows of A are made again from packed bits, a panel at a time: that costs a tenth of the product with them,
//! and a model of a hundred thousand monomials fits into memory.

mod products;

use std::sync::Arc;

use super::checks::{check_length, check_output, check_outputs};
use super::prior::Variances;
use crate::encoding::BadCode;
use crate::features::{Factors, Features, Group};
use crate::math::matrix::{chosen_columns, gram};
use crate::math::vector::dot_in_lanes;
use crate::surrogate::Error;

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
    /// φ_d, where the groups of mixed features need it; else empty.
    a: Vec<f64>,
}

/// The same, borrowed.
#[derive(Clone, Copy)]
struct SiteView<'a> {
    words: &'a [u64],
    b: &'a [f64],
    a: &'a [f64],
}

impl Site {
    fn view(&self) -> SiteView<'_> {
        SiteView {
            words: &self.words,
            b: &self.b,
            a: &self.a,
        }
    }
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
        // Waves depend on bandwidths; bits do not, and their monomials are made anew wherever they are needed.
        let rows = (0..self.n()).flat_map(|i| features.b(self.unit_of(i)));
        Records {
            b: rows.collect(),
            features,
            ..self.clone()
        }
    }

    /// Whether the points have as many bits and coordinates as other features need.
    ///
    /// # Errors
    /// [`Error::BadCode`] when they do not.
    pub(crate) fn check_features(&self, features: &Features) -> Result<(), Error> {
        let n_bits = |f: &Features| f.monomials().visible().len();
        check_length("bits", n_bits(features), n_bits(&self.features))?;
        let (found, expected) = (features.waves().n_reals(), self.n_reals());
        check_length("coordinates", found, expected)
    }

    /// The points with the given rising numbers.
    pub(crate) fn subset(&self, chosen: &[usize]) -> Records {
        let mut subset = Records::new(self.features.clone());
        for &i in chosen {
            subset.push_copy(self, i);
        }
        subset
    }

    fn push_copy(&mut self, other: &Records, i: usize) {
        self.words.extend_from_slice(other.words_of(i));
        self.unit.extend_from_slice(other.unit_of(i));
        self.b.extend_from_slice(other.b_of(i));
        self.y.push(other.y[i]);
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

    fn n_reals(&self) -> usize {
        self.features.waves().n_reals()
    }

    fn n_monomials(&self) -> usize {
        self.features.monomials().len()
    }

    pub(crate) fn unit_of(&self, i: usize) -> &[f64] {
        &self.unit[i * self.n_reals()..][..self.n_reals()]
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
        // More bits than the model needs are those of auxiliary parameters.
        let needed = self.features.monomials().n_bits();
        check_length("bits", bits.len().min(needed), needed)?;
        check_length("coordinates", unit.len(), self.n_reals())?;
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
    ///
    /// # Errors
    /// [`Error::BadCode`] for a wrong number of them, [`Error::BadOutput`] as [`check`](Self::check).
    pub(crate) fn set_outputs(&mut self, y: &[f64]) -> Result<(), Error> {
        check_outputs(y, self.n())?;
        self.y.copy_from_slice(y);
        Ok(())
    }

    pub(crate) fn site(&self, bits: &[bool], unit: &[f64]) -> Site {
        let monomials = self.features.monomials();
        Site {
            words: monomials.packed(bits),
            b: self.features.b(unit),
            a: self.if_needed(|| monomials.values(bits)),
        }
    }

    /// Record `i` as a point to compare others with.
    fn site_of(&self, i: usize) -> Site {
        Site {
            words: self.words_of(i).to_vec(),
            b: self.b_of(i).to_vec(),
            a: self.if_needed(|| self.monomials_of(i)),
        }
    }

    fn if_needed(&self, monomials: impl FnOnce() -> Vec<f64>) -> Vec<f64> {
        if self.needs_monomials() {
            monomials()
        } else {
            Vec::new()
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
        // One place for the monomials of all records in turn.
        let mut a = vec![0.0; site.a.len()];
        let kernel = |i: usize| {
            if !a.is_empty() {
                self.fill_a(i, &mut a);
            }
            self.kernel(site.view(), self.view_of(i, &a), variances)
        };
        (0..n).map(kernel).collect()
    }

    /// Record `i`, with its monomials where they are needed.
    fn view_of<'a>(&'a self, i: usize, a: &'a [f64]) -> SiteView<'a> {
        SiteView {
            words: self.words_of(i),
            b: self.b_of(i),
            a,
        }
    }

    /// k(x, x)
    pub(crate) fn kernel_self(&self, site: &Site, variances: Variances) -> f64 {
        self.kernel(site.view(), site.view(), variances)
    }

    fn kernel(&self, x: SiteView<'_>, other: SiteView<'_>, variances: Variances) -> f64 {
        let discrete = self.features.monomials().kernel(x.words, other.words);
        let continuous = dot_in_lanes(&x.b[1..], &other.b[1..]);
        let groups = self.features.mixed().groups().iter();
        let mixed: f64 = groups
            .filter(|group| !group.waves.is_empty())
            .map(|group| {
                let monomials = if other.a.is_empty() {
                    // All monomials but the empty one: no need to list them.
                    discrete - 1.0
                } else {
                    group.monomials.iter().map(|&i| x.a[i] * other.a[i]).sum()
                };
                monomials * self.wave_kernel(group, x.b, other.b, continuous)
            })
            .sum();
        variances.discrete * discrete + variances.continuous * continuous + variances.mixed * mixed
    }

    /// Σ over the waves of a group of φ_c,j φ_c,j', given the sum over all waves.
    fn wave_kernel(&self, group: &Group, b: &[f64], other: &[f64], all: f64) -> f64 {
        if group.waves.len() == self.features.waves().len() {
            return all;
        }
        group.waves.iter().map(|&j| b[j + 1] * other[j + 1]).sum()
    }

    /// K + noise I over all records, row-major.
    pub(crate) fn covariance(&self, variances: Variances, noise: f64) -> Vec<f64> {
        let n = self.n();
        let mut covariance = vec![0.0; n * n];
        for i in 0..n {
            // Up to the diagonal, at half the work: the rest follows by symmetry.
            let row = self.kernel_row_to(&self.site_of(i), i + 1, variances);
            for (j, k) in row.into_iter().enumerate() {
                covariance[i * n + j] = k;
                covariance[j * n + i] = k;
            }
            covariance[i * n + i] += noise;
        }
        covariance
    }

    /// D: k_d over all records, row-major.
    pub(crate) fn discrete_kernel(&self) -> Vec<f64> {
        let rows = (0..self.n()).flat_map(|i| self.discrete_row(i));
        rows.collect()
    }

    fn discrete_row(&self, i: usize) -> impl Iterator<Item = f64> {
        let monomials = self.features.monomials();
        let words = self.words_of(i);
        (0..self.n()).map(move |j| monomials.kernel(words, self.words_of(j)))
    }

    /// P_g: products of some monomials over all records, row-major.
    pub(crate) fn monomial_gram(&self, chosen: &[usize]) -> Vec<f64> {
        let mut a = vec![0.0; self.n_monomials()];
        let mut rows = Vec::with_capacity(self.n() * chosen.len());
        for i in 0..self.n() {
            self.fill_a(i, &mut a);
            rows.extend(chosen.iter().map(|&k| a[k]));
        }
        gram(&rows, chosen.len())
    }

    /// C_g: products of some waves over all records, row-major.
    pub(crate) fn wave_gram(&self, waves: &[usize]) -> Vec<f64> {
        // Column 0 of b̃ is the constant.
        let shifted: Vec<usize> = waves.iter().map(|j| j + 1).collect();
        let b = chosen_columns(&self.b, self.features.n_columns(), &shifted);
        gram(&b, shifted.len())
    }

    /// φ_d of record `i`.
    fn fill_a(&self, i: usize, a: &mut [f64]) {
        let words = self.words_of(i);
        let is_set = |bit: usize| words[bit / 64] >> (bit % 64) & 1 == 1;
        self.features.monomials().fill(is_set, a);
    }

    fn monomials_of(&self, i: usize) -> Vec<f64> {
        let mut a = vec![0.0; self.n_monomials()];
        self.fill_a(i, &mut a);
        a
    }

    /// φ(xᵢ) as one row over all weights.
    pub(crate) fn flat_row(&self, i: usize) -> Vec<f64> {
        self.features.flatten(&Factors {
            a: self.monomials_of(i),
            b: self.b_of(i).to_vec(),
        })
    }

    /// A: φ_d of all records, n × M_d, row-major.
    pub(crate) fn all_monomials(&self) -> Vec<f64> {
        self.monomial_rows(0..self.n())
    }
}
