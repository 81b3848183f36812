//! Hyper-parameters of a process: θ of the greatest posterior density, found by gradients.
//!
//! ```text
//! -log p(y, θ) = ½ yᵀb + ½ log det K + n/2 log 2π + Σ ½((θ - mean)/sd)²,   b = K⁻¹y
//! ```
//!
//! kᵢ of all pairs is made once, so that an evaluation has exponentials in its interaction term only. S is made of products
//! of matrices, with a column of F for each number and 1/√2 [x = c] for each label c.

use std::f64::consts::FRAC_1_SQRT_2;

use super::kernel::{Kernel, Terms, matern};
use super::layout::Layout;
use super::sites::Sites;
use crate::math::lbfgs::{self, LbfgsSettings};
use crate::math::matrix::{Matrix, add_product, diagonal, gram, scaled_columns};
use crate::math::vector::{add_scaled, dot_in_lanes};
use crate::surrogate::conditioned::Conditioned;
use crate::surrogate::log_prior::{LogPrior, means};

/// How hyper-parameters are fitted.
///
/// | field | default | what it is |
/// |---|---|---|
/// | `max_iterations` | 25 | steps from each start |
/// | `max_points` | 300 | the most observations that are looked at, evenly spread; the cost is cubic in them |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FitLimits {
    /// Steps from each start.
    pub max_iterations: usize,
    /// The most observations.
    pub max_points: usize,
}

impl Default for FitLimits {
    fn default() -> Self {
        FitLimits {
            max_iterations: 25,
            max_points: 300,
        }
    }
}

/// The slope of -log p in the logarithm of a hyper-parameter at which it is good enough.
const TOLERANCE: f64 = 1e-3;

/// The most numbers in the table of pairs: 64 MB.
const MAX_TABLE: usize = 1 << 23;

/// The points to look at, so that neither limit is passed.
pub(super) fn n_points(n: usize, n_parameters: usize, limits: FitLimits) -> usize {
    let fits = (2 * MAX_TABLE / n_parameters.max(1)).isqrt();
    n.min(limits.max_points).min(fits).max(1)
}

/// θ of the greatest posterior density found from these starts; none without starts.
pub(super) fn best(
    density: &Density<'_>,
    starts: &[Vec<f64>],
    limits: FitLimits,
) -> Option<Vec<f64>> {
    let bounds = density.kernel.bounds(density.layout);
    let settings = LbfgsSettings {
        max_iterations: limits.max_iterations,
        tolerance: TOLERANCE,
        ..LbfgsSettings::default()
    };
    let negative = |theta: &[f64], gradient: &mut [f64]| density.negative_log(theta, gradient);
    lbfgs::lowest(negative, starts, &bounds, settings).map(|found| found.x)
}

/// What of the posterior density does not depend on θ.
pub(super) struct Density<'a> {
    kernel: Kernel,
    layout: &'a Layout,
    prior: Vec<LogPrior>,
    y: Vec<f64>,
    /// kᵢ of each pair, a row for each parameter; empty where the kernel has no main effects.
    main: Vec<f64>,
    indicators: Indicators,
}

impl<'a> Density<'a> {
    pub(super) fn new(
        kernel: Kernel,
        layout: &'a Layout,
        sites: &Sites,
        y: Vec<f64>,
    ) -> Density<'a> {
        let prior = kernel.prior(layout);
        let has_main = !kernel.terms(layout, &means(&prior)).main.is_empty();
        // Their length-scale is fixed, so θ only weighs them.
        let of_parameter = |k: usize| (0..sites.n()).flat_map(move |i| sites.main_effects(k, i));
        let main = if has_main {
            (0..layout.len()).flat_map(of_parameter).collect()
        } else {
            Vec::new()
        };
        Density {
            kernel,
            layout,
            prior,
            y,
            main,
            indicators: Indicators::new(layout.len(), sites),
        }
    }

    /// -log p(y, θ) up to a constant, and its gradient.
    pub(super) fn negative_log(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let (mut value, by) = self.likelihood(&self.kernel.terms(self.layout, theta));
        gradient.copy_from_slice(&self.kernel.gradient(self.layout, theta, &by));
        for ((slope, log), prior) in gradient.iter_mut().zip(theta).zip(&self.prior) {
            value += prior.surprise(*log);
            *slope += prior.slope(*log);
        }
        value
    }

    /// -log p(y | θ), and its derivatives by the terms.
    ///
    /// ```text
    /// ∂/∂aᵢ = ⟨W ∘ (1 + w(A - aᵢKᵢ)), Kᵢ⟩,   ∂/∂λᵢ = ⟨W ∘ v dM/dS, dᵢ⟩,   A = Σᵢ aᵢKᵢ,   W = ½(K⁻¹ - bbᵀ)
    /// and so on for the other terms
    /// ```
    fn likelihood(&self, terms: &Terms) -> (f64, Terms) {
        let pairs = self.pairs(terms);
        let covariance = self.covariance(&pairs.kernel, terms.variance() + terms.noise);
        let conditioned = Conditioned::new(&covariance, &self.y);
        let slope = CovarianceSlope::new(&conditioned);
        let half = slope.half_trace;
        let by = Terms {
            constant: slope.pairs.iter().sum::<f64>() + half,
            main: self.by_main(terms, &slope, &pairs.main),
            pairs: dot_in_lanes(&slope.pairs, &pairs.products) + half * terms.main_pairs(),
            interaction: dot_in_lanes(&slope.pairs, &pairs.matern) + half,
            relevance: self.by_relevance(terms, &slope, &pairs.slope),
            noise: half,
        };
        (-conditioned.log_evidence(&self.y), by)
    }

    /// K, of which the lower half is enough.
    fn covariance(&self, pairs: &[f64], diagonal: f64) -> Vec<f64> {
        let n = self.y.len();
        let mut covariance = vec![0.0; n * n];
        for (i, row) in covariance.chunks_exact_mut(n.max(1)).enumerate() {
            row[..i].copy_from_slice(&pairs[before(i)..][..i]);
            row[i] = diagonal;
        }
        covariance
    }

    fn pairs(&self, terms: &Terms) -> Pairs {
        let (main, main_squares) = self.main_sums(terms);
        let sums = main.iter().zip(&main_squares);
        let products: Vec<f64> = sums
            .map(|(sum, squares)| 0.5 * (sum * sum - squares))
            .collect();
        let squares = self.indicators.squares(&terms.relevance, self.y.len());
        let (matern, slope): (Vec<f64>, Vec<f64>) =
            squares.iter().map(|square| matern(*square)).unzip();
        let mut kernel: Vec<f64> = main.iter().map(|main| terms.constant + main).collect();
        add_scaled(&mut kernel, terms.pairs, &products);
        add_scaled(&mut kernel, terms.interaction, &matern);
        Pairs {
            kernel,
            main,
            products,
            matern,
            slope,
        }
    }

    /// Σ aᵢkᵢ and Σ (aᵢkᵢ)² of each pair.
    fn main_sums(&self, terms: &Terms) -> (Vec<f64>, Vec<f64>) {
        let n_pairs = before(self.y.len());
        let (mut sums, mut squares) = (vec![0.0; n_pairs], vec![0.0; n_pairs]);
        if self.main.is_empty() {
            return (sums, squares);
        }
        let weights = Matrix::of_rows(&terms.main, terms.main.len());
        add_product(&mut sums, weights, Matrix::of_rows(&self.main, n_pairs));
        let rows = self.main.chunks_exact(n_pairs.max(1));
        for (a, row) in terms.main.iter().zip(rows) {
            for (sum, k) in squares.iter_mut().zip(row) {
                *sum += (a * k) * (a * k);
            }
        }
        (sums, squares)
    }

    /// The derivatives by a, from Σ aᵢkᵢ of each pair.
    fn by_main(&self, terms: &Terms, slope: &CovarianceSlope, sums: &[f64]) -> Vec<f64> {
        let mut by = by_main_of_diagonal(terms, slope.half_trace);
        let n_pairs = slope.pairs.len();
        if self.main.is_empty() || n_pairs == 0 {
            return by;
        }
        let pairs = slope.pairs.iter().zip(sums);
        let weighted: Vec<f64> = pairs
            .map(|(w, sum)| w * (1.0 + terms.pairs * sum))
            .collect();
        let main = Matrix::of_rows(&self.main, n_pairs);
        add_product(&mut by, main, Matrix::of_rows(&weighted, 1));
        // In Σ aᵢkᵢ each parameter is counted among its own partners.
        for (own, (by, a)) in self.own(slope).zip(by.iter_mut().zip(&terms.main)) {
            *by -= terms.pairs * a * own;
        }
        by
    }

    /// ⟨2W, kᵢ²⟩ over all pairs, for each parameter.
    fn own(&self, slope: &CovarianceSlope) -> impl Iterator<Item = f64> {
        let rows = self.main.chunks_exact(slope.pairs.len());
        rows.map(|row| row.iter().zip(&slope.pairs).map(|(k, w)| w * k * k).sum())
    }

    /// The derivatives by λ, from dM/dS of each pair.
    fn by_relevance(&self, terms: &Terms, slope: &CovarianceSlope, matern: &[f64]) -> Vec<f64> {
        let pairs = slope.pairs.iter().zip(matern);
        let weighted: Vec<f64> = pairs.map(|(w, s)| terms.interaction * w * s).collect();
        let mut by = vec![0.0; self.layout.len()];
        self.indicators
            .add_distances(&weighted, self.y.len(), &mut by);
        by
    }
}

/// What the diagonal of K adds to the derivatives by a: there every kᵢ is 1.
fn by_main_of_diagonal(terms: &Terms, half_trace: f64) -> Vec<f64> {
    let total: f64 = terms.main.iter().sum();
    let by = |a: &f64| half_trace * (1.0 + terms.pairs * (total - a));
    terms.main.iter().map(by).collect()
}

/// F: columns whose squared differences are the distances of the parameters.
struct Indicators {
    /// Row-major, a row for each point.
    rows: Vec<f64>,
    /// The parameter of each column.
    owners: Vec<usize>,
}

impl Indicators {
    /// Numbers are taken from the middle of [0, 1]: small, so that little is lost where S subtracts their squares.
    fn new(n_parameters: usize, sites: &Sites) -> Indicators {
        let mut columns: Vec<Vec<f64>> = Vec::new();
        let mut owners = Vec::new();
        for k in 0..n_parameters {
            let (at, is_label) = sites.column(k);
            columns.extend(if is_label {
                labels(at)
            } else {
                vec![centred(at)]
            });
            owners.resize(columns.len(), k);
        }
        let rows = (0..sites.n()).flat_map(|i| columns.iter().map(move |column| column[i]));
        Indicators {
            rows: rows.collect(),
            owners,
        }
    }

    /// S of each pair.
    ///
    /// ```text
    /// Sᵢⱼ = gᵢᵢ + gⱼⱼ - 2gᵢⱼ,   g = F diag(λ) Fᵀ
    /// ```
    fn squares(&self, relevance: &[f64], n: usize) -> Vec<f64> {
        if self.rows.is_empty() {
            return vec![0.0; before(n)];
        }
        let roots: Vec<f64> = self.owners.iter().map(|k| relevance[*k].sqrt()).collect();
        let g = gram(&scaled_columns(&self.rows, &roots), roots.len());
        let own: Vec<f64> = diagonal(&g, n).collect();
        let mut squares = Vec::with_capacity(before(n));
        for i in 0..n {
            let pairs = g[i * n..][..i].iter().zip(&own);
            // Rounding may make the square of a tiny distance negative, and its root is taken.
            squares.extend(pairs.map(|(g, other)| (own[i] + other - 2.0 * g).max(0.0)));
        }
        squares
    }

    /// Σ_{i<j} Ωᵢⱼ dᵢⱼ, for each parameter, from Ω of each pair.
    ///
    /// ```text
    /// Σ_{i<j} Ωᵢⱼ dᵢⱼ = Σᵢ fᵢ (fᵢ Σⱼ Ωᵢⱼ - (Ωf)ᵢ)                      for each column f
    /// ```
    fn add_distances(&self, weighted: &[f64], n: usize, by: &mut [f64]) {
        if self.rows.is_empty() {
            return;
        }
        let width = self.owners.len();
        let omega = symmetric(weighted, n);
        let mut product = vec![0.0; n * width];
        let columns = Matrix::of_rows(&self.rows, width);
        add_product(&mut product, Matrix::of_rows(&omega, n), columns);
        let rows = self.rows.chunks_exact(width);
        for (i, (f, product)) in rows.zip(product.chunks_exact(width)).enumerate() {
            let total: f64 = omega[i * n..][..n].iter().sum();
            for ((f, product), owner) in f.iter().zip(product).zip(&self.owners) {
                by[*owner] += f * (f * total - product);
            }
        }
    }
}

/// A column for each label.
fn labels(at: &[f64]) -> Vec<Vec<f64>> {
    let labels = distinct(at).into_iter();
    labels.map(|label| indicator(at, label)).collect()
}

fn centred(at: &[f64]) -> Vec<f64> {
    at.iter().map(|u| u - 0.5).collect()
}

/// 1/√2 [x = label]: two different labels are 1 apart in the squares of their columns.
fn indicator(at: &[f64], label: f64) -> Vec<f64> {
    at.iter()
        .map(|x| if *x == label { FRAC_1_SQRT_2 } else { 0.0 })
        .collect()
}

fn distinct(at: &[f64]) -> Vec<f64> {
    let mut labels = at.to_vec();
    labels.sort_by(f64::total_cmp);
    labels.dedup();
    labels
}

/// The symmetric matrix of values of pairs, with zeros on its diagonal.
fn symmetric(pairs: &[f64], n: usize) -> Vec<f64> {
    let mut matrix = vec![0.0; n * n];
    for i in 0..n {
        for (j, value) in pairs[before(i)..][..i].iter().enumerate() {
            matrix[i * n + j] = *value;
            matrix[j * n + i] = *value;
        }
    }
    matrix
}

/// Of each pair j < i, row by row.
struct Pairs {
    /// k
    kernel: Vec<f64>,
    /// Σ aᵢkᵢ
    main: Vec<f64>,
    /// Σ_{i<j} aᵢkᵢ aⱼkⱼ
    products: Vec<f64>,
    /// M
    matern: Vec<f64>,
    /// dM/dS
    slope: Vec<f64>,
}

/// How many pairs stand in the rows before row `i`.
fn before(i: usize) -> usize {
    i * i.saturating_sub(1) / 2
}

/// The slope of -log p in the entries of K, W = ½(K⁻¹ - bbᵀ).
struct CovarianceSlope {
    /// 2W of each pair: pairs count twice in ⟨W, ·⟩, the diagonal once.
    pairs: Vec<f64>,
    /// The trace of W.
    half_trace: f64,
}

impl CovarianceSlope {
    fn new(conditioned: &Conditioned) -> CovarianceSlope {
        let (inverse, b) = (conditioned.factor().inverse(), conditioned.alpha());
        let n = b.len();
        let mut pairs = Vec::with_capacity(before(n));
        let mut trace = 0.0;
        for i in 0..n {
            let row = &inverse[i * n..][..=i];
            pairs.extend(row[..i].iter().zip(b).map(|(k, bj)| k - b[i] * bj));
            trace += row[i] - b[i] * b[i];
        }
        CovarianceSlope {
            pairs,
            half_trace: 0.5 * trace,
        }
    }
}
