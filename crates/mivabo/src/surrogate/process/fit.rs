//! Hyper-parameters of a process: observations enter, θ of the greatest posterior density leaves.
//!
//! ```text
//! -log p(y, θ) = ½ yᵀb + ½ log det K + n/2 log 2π + Σ ½((θ - mean)/sd)²,   b = K⁻¹y
//! ∂/∂log aᵢ = aᵢ⟨W ∘ (1 + w(A - aᵢKᵢ)), Kᵢ⟩ + λᵢ⟨W ∘ v dM/dS, dᵢ⟩,   A = Σᵢ aᵢKᵢ,   W = ½(K⁻¹ - bbᵀ)
//! and so on for the other terms
//! ```
//!
//! kᵢ of all pairs is made once, so that an evaluation has exponentials in its interaction term only. S is made of products
//! of matrices, with a column of F for each number and 1/√2 [x = c] for each label c:
//!
//! ```text
//! Sᵢⱼ = gᵢᵢ + gⱼⱼ - 2gᵢⱼ,   g = F diag(λ) Fᵀ
//! Σ_{i<j} Ωᵢⱼ dᵢⱼ = Σᵢ fᵢ (fᵢ Σⱼ Ωᵢⱼ - (Ωf)ᵢ)                      for each column f
//! ```

use std::f64::consts::FRAC_1_SQRT_2;

use super::kernel::{Kernel, Terms, matern};
use super::layout::Layout;
use super::sites::Sites;
use crate::math::lbfgs;
use crate::math::linalg::{Triangle, add_product, dot, gram, matrix};
use crate::math::vector::add_scaled;

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
pub(super) fn n_points(n: usize, n_parameters: usize, settings: FitLimits) -> usize {
    let fits = (2 * MAX_TABLE / n_parameters.max(1)).isqrt();
    n.min(settings.max_points).min(fits).max(1)
}

/// θ of the greatest posterior density found from these starts; none without starts.
pub(super) fn best(
    density: &Density<'_>,
    starts: &[Vec<f64>],
    settings: FitLimits,
) -> Option<Vec<f64>> {
    let bounds = density.kernel.bounds(density.layout);
    let settings = lbfgs::LbfgsSettings {
        max_iterations: settings.max_iterations,
        tolerance: TOLERANCE,
        ..lbfgs::LbfgsSettings::default()
    };
    let descend = |start: &Vec<f64>| {
        let negative = |theta: &[f64], gradient: &mut [f64]| density.negative_log(theta, gradient);
        lbfgs::minimise(negative, start, &bounds, settings)
    };
    starts
        .iter()
        .map(descend)
        .min_by(|a, b| a.value.total_cmp(&b.value))
        .map(|found| found.x)
}

/// What of the posterior density does not depend on θ.
pub(super) struct Density<'a> {
    kernel: Kernel,
    layout: &'a Layout,
    prior: Vec<(f64, f64)>,
    y: Vec<f64>,
    /// kᵢ of each pair, a row for each parameter; empty where the kernel has no main effects.
    main: Vec<f64>,
    /// F, row-major.
    columns: Vec<f64>,
    /// The parameter of each column of F.
    owners: Vec<usize>,
}

impl<'a> Density<'a> {
    pub(super) fn new(
        kernel: Kernel,
        layout: &'a Layout,
        sites: &Sites,
        y: Vec<f64>,
    ) -> Density<'a> {
        let prior = kernel.prior(layout);
        let middle: Vec<f64> = prior.iter().map(|(mean, _)| *mean).collect();
        let has_main = !kernel.terms(layout, &middle).main.is_empty();
        let of_parameter = |k: usize| (0..sites.n()).flat_map(move |i| sites.main_effects(k, i));
        let main = if has_main {
            (0..layout.len()).flat_map(of_parameter).collect()
        } else {
            Vec::new()
        };
        let (columns, owners) = columns(layout.len(), sites);
        Density {
            kernel,
            layout,
            prior,
            y,
            main,
            columns,
            owners,
        }
    }

    /// -log p(y, θ) up to a constant, and its gradient.
    pub(super) fn negative_log(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let (mut value, by) = self.likelihood(&self.kernel.terms(self.layout, theta));
        gradient.copy_from_slice(&self.kernel.gradient(self.layout, theta, &by));
        for ((slope, t), (mean, deviation)) in gradient.iter_mut().zip(theta).zip(&self.prior) {
            let off = (t - mean) / deviation;
            value += 0.5 * off * off;
            *slope += off / deviation;
        }
        value
    }

    /// -log p(y | θ), and its derivatives by the terms.
    fn likelihood(&self, terms: &Terms) -> (f64, Terms) {
        let n = self.y.len();
        let Pairs {
            kernel,
            main: sums,
            products,
            matern,
            slope,
        } = self.pairs(terms);
        let mut k = vec![0.0; n * n];
        let diagonal = terms.variance() + terms.noise;
        for (i, row) in k.chunks_exact_mut(n.max(1)).enumerate() {
            row[..i].copy_from_slice(&kernel[before(i)..][..i]);
            row[i] = diagonal;
        }
        let factor = Triangle::factor(&k, n);
        let mut b = self.y.clone();
        factor.solve(&mut b);
        let constant = n as f64 * std::f64::consts::TAU.ln();
        let value = 0.5 * (dot(&self.y, &b) + factor.log_determinant() + constant);
        let (weights, trace) = pair_weights(&factor.inverse(), &b);
        let half = 0.5 * trace;
        let main = self.by_main(terms, &weights, &sums, half);
        let weighted: Vec<f64> = weights
            .iter()
            .zip(&slope)
            .map(|(w, s)| terms.interaction * w * s)
            .collect();
        let by = Terms {
            constant: weights.iter().sum::<f64>() + half,
            main,
            pairs: dot(&weights, &products) + half * terms.main_pairs(),
            interaction: dot(&weights, &matern) + half,
            relevance: self.by_relevance(&weighted),
            noise: half,
        };
        (value, by)
    }

    fn pairs(&self, terms: &Terms) -> Pairs {
        let n_pairs = before(self.y.len());
        let (mut main, mut main_squares) = (vec![0.0; n_pairs], vec![0.0; n_pairs]);
        if !self.main.is_empty() {
            add_product(
                &mut main,
                matrix(&terms.main, terms.main.len()),
                matrix(&self.main, n_pairs),
            );
            for (a, row) in terms
                .main
                .iter()
                .zip(self.main.chunks_exact(n_pairs.max(1)))
            {
                main_squares
                    .iter_mut()
                    .zip(row)
                    .for_each(|(sum, k)| *sum += (a * k) * (a * k));
            }
        }
        let products: Vec<f64> = main
            .iter()
            .zip(&main_squares)
            .map(|(sum, squares)| 0.5 * (sum * sum - squares))
            .collect();
        let squares = self.squares(&terms.relevance);
        let (values, slope): (Vec<f64>, Vec<f64>) =
            squares.iter().map(|square| matern(*square)).unzip();
        let mut kernel: Vec<f64> = main.iter().map(|main| terms.constant + main).collect();
        add_scaled(&mut kernel, terms.pairs, &products);
        add_scaled(&mut kernel, terms.interaction, &values);
        Pairs {
            kernel,
            main,
            products,
            matern: values,
            slope,
        }
    }

    /// The derivatives by a, with 2W of the pairs and half the trace of 2W.
    fn by_main(&self, terms: &Terms, weights: &[f64], sums: &[f64], half: f64) -> Vec<f64> {
        let sum: f64 = terms.main.iter().sum();
        let mut by: Vec<f64> = terms
            .main
            .iter()
            .map(|a| half * (1.0 + terms.pairs * (sum - a)))
            .collect();
        if self.main.is_empty() || weights.is_empty() {
            return by;
        }
        let weighted = weights
            .iter()
            .zip(sums)
            .map(|(w, sum)| w * (1.0 + terms.pairs * sum));
        let weighted: Vec<f64> = weighted.collect();
        add_product(
            &mut by,
            matrix(&self.main, weights.len()),
            matrix(&weighted, 1),
        );
        for ((by, a), row) in by
            .iter_mut()
            .zip(&terms.main)
            .zip(self.main.chunks_exact(weights.len()))
        {
            let own: f64 = row.iter().zip(weights).map(|(k, w)| w * k * k).sum();
            *by -= terms.pairs * a * own;
        }
        by
    }

    /// S of each pair.
    fn squares(&self, relevance: &[f64]) -> Vec<f64> {
        let n = self.y.len();
        let roots: Vec<f64> = self.owners.iter().map(|k| relevance[*k].sqrt()).collect();
        let rows = self.columns.chunks_exact(roots.len().max(1));
        let scaled: Vec<f64> = rows
            .flat_map(|row| row.iter().zip(&roots).map(|(f, root)| f * root))
            .collect();
        if scaled.is_empty() {
            return vec![0.0; before(n)];
        }
        let g = gram(&scaled, roots.len());
        let own: Vec<f64> = (0..n).map(|i| g[i * n + i]).collect();
        let mut squares = Vec::with_capacity(before(n));
        for i in 0..n {
            let pairs = g[i * n..][..i].iter().zip(&own);
            squares.extend(pairs.map(|(g, other)| (own[i] + other - 2.0 * g).max(0.0)));
        }
        squares
    }

    /// Σ Ω dᵢ over all pairs, for each parameter.
    fn by_relevance(&self, weighted: &[f64]) -> Vec<f64> {
        let (n, width) = (self.y.len(), self.owners.len());
        let mut omega = vec![0.0; n * n];
        for i in 0..n {
            for (j, w) in weighted[before(i)..][..i].iter().enumerate() {
                omega[i * n + j] = *w;
                omega[j * n + i] = *w;
            }
        }
        let mut by = vec![0.0; self.layout.len()];
        if self.columns.is_empty() {
            return by;
        }
        let mut product = vec![0.0; n * width];
        add_product(
            &mut product,
            matrix(&omega, n),
            matrix(&self.columns, width),
        );
        for (i, (f, product)) in self
            .columns
            .chunks_exact(width)
            .zip(product.chunks_exact(width))
            .enumerate()
        {
            let total: f64 = omega[i * n..][..n].iter().sum();
            for ((f, product), owner) in f.iter().zip(product).zip(&self.owners) {
                by[*owner] += f * (f * total - product);
            }
        }
        by
    }
}

/// F, row-major, and the parameter of each of its columns. Numbers are taken from the middle of [0, 1].
fn columns(n_parameters: usize, sites: &Sites) -> (Vec<f64>, Vec<usize>) {
    let (mut columns, mut owners) = (Vec::new(), Vec::new());
    for k in 0..n_parameters {
        let (at, is_label) = sites.column(k);
        let mut labels = at.to_vec();
        labels.sort_by(f64::total_cmp);
        labels.dedup();
        if is_label {
            let indicator = |label: f64| {
                at.iter()
                    .map(|x| if *x == label { FRAC_1_SQRT_2 } else { 0.0 })
                    .collect()
            };
            columns.extend(labels.into_iter().map(indicator));
        } else {
            columns.push(at.iter().map(|u| u - 0.5).collect::<Vec<f64>>());
        }
        owners.resize(columns.len(), k);
    }
    let rows = (0..sites.n()).flat_map(|i| columns.iter().map(move |column| column[i]));
    (rows.collect(), owners)
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

/// 2W of each pair, and the trace of 2W. Pairs count twice in ⟨W, ·⟩, the diagonal once.
fn pair_weights(inverse: &[f64], b: &[f64]) -> (Vec<f64>, f64) {
    let n = b.len();
    let mut weights = Vec::with_capacity(before(n));
    let mut trace = 0.0;
    for i in 0..n {
        let row = &inverse[i * n..][..=i];
        weights.extend(
            row[..i]
                .iter()
                .zip(b)
                .map(|(inverse, bj)| inverse - b[i] * bj),
        );
        trace += row[i] - b[i] * b[i];
    }
    (weights, trace)
}
