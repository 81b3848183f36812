//! Hyper-parameters of a process: observations enter, θ of the greatest posterior density leaves.
//!
//! ```text
//! -log p(y, θ) = ½ yᵀb + ½ log det K + n/2 log 2π + Σ ½((θ - mean)/sd)²,   b = K⁻¹y
//! ∂/∂log aᵢ = aᵢ⟨W, Kᵢ⟩ + λᵢ⟨W ∘ v dM/dS, dᵢ⟩,   W = ½(K⁻¹ - bbᵀ)          and so on for the other terms
//! ```
//!
//! kᵢ and dᵢ of all pairs are made once, so that an evaluation has exponentials in its interaction term only.

use super::kernel::{Kernel, Terms, matern};
use super::layout::Layout;
use super::sites::Sites;
use crate::continuous::lbfgs;
use crate::surrogate::linalg::{Triangle, add_scaled, dot};

/// How hyper-parameters are fitted.
///
/// | field | default | what it is |
/// |---|---|---|
/// | `max_iterations` | 25 | steps from each start |
/// | `max_points` | 300 | the most observations that are looked at, evenly spread; the cost is cubic in them |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Steps from each start.
    pub max_iterations: usize,
    /// The most observations.
    pub max_points: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { max_iterations: 25, max_points: 300 }
    }
}

/// The slope of -log p in the logarithm of a hyper-parameter at which it is good enough.
const TOLERANCE: f64 = 1e-3;

/// The most numbers in each of the two tables of pairs: 64 MB.
const MAX_TABLE: usize = 1 << 23;

/// The points to look at, so that neither limit is passed.
pub(super) fn n_points(n: usize, n_parameters: usize, settings: Settings) -> usize {
    let fits = (2 * MAX_TABLE / n_parameters.max(1)).isqrt();
    n.min(settings.max_points).min(fits).max(1)
}

/// θ of the greatest posterior density found from these starts; none without starts.
pub(super) fn best(density: &Density<'_>, starts: &[Vec<f64>], settings: Settings) -> Option<Vec<f64>> {
    let bounds = density.kernel.bounds(density.layout);
    let settings = lbfgs::Settings {
        max_iterations: settings.max_iterations,
        tolerance: TOLERANCE,
        ..lbfgs::Settings::default()
    };
    let descend = |start: &Vec<f64>| {
        let negative = |theta: &[f64], gradient: &mut [f64]| density.negative_log(theta, gradient);
        lbfgs::minimise(negative, start, &bounds, settings)
    };
    starts.iter().map(descend).min_by(|a, b| a.value.total_cmp(&b.value)).map(|found| found.x)
}

/// What of the posterior density does not depend on θ.
pub(super) struct Density<'a> {
    kernel: Kernel,
    layout: &'a Layout,
    prior: Vec<(f64, f64)>,
    y: Vec<f64>,
    /// kᵢ for each parameter, where the kernel has main effects: pairs j < i, row by row.
    main: Vec<Vec<f64>>,
    /// dᵢ, likewise.
    squares: Vec<Vec<f64>>,
}

impl<'a> Density<'a> {
    pub(super) fn new(kernel: Kernel, layout: &'a Layout, sites: &Sites, y: Vec<f64>) -> Density<'a> {
        let prior = kernel.prior(layout);
        let middle: Vec<f64> = prior.iter().map(|(mean, _)| *mean).collect();
        let has_main = !kernel.terms(layout, &middle).main.is_empty();
        let (mut main, mut squares) = (Vec::new(), Vec::new());
        for parameter in 0..layout.len() {
            let (mut k, mut d) = (Vec::new(), Vec::new());
            for i in 0..sites.n() {
                let parts = sites.parts(parameter, i);
                k.extend(parts.0);
                d.extend(parts.1);
            }
            squares.push(d);
            if has_main {
                main.push(k);
            }
        }
        Density { kernel, layout, prior, y, main, squares }
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
        let Pairs { kernel, matern, slope } = self.pairs(terms);
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
        let weighted: Vec<f64> = weights.iter().zip(&slope).map(|(w, s)| terms.interaction * w * s).collect();
        let by = Terms {
            constant: weights.iter().sum::<f64>() + half,
            main: self.main.iter().map(|main| dot(&weights, main) + half).collect(),
            interaction: dot(&weights, &matern) + half,
            relevance: self.squares.iter().map(|squares| dot(&weighted, squares)).collect(),
            noise: half,
        };
        (value, by)
    }

    fn pairs(&self, terms: &Terms) -> Pairs {
        let n_pairs = before(self.y.len());
        let (mut kernel, mut squares) = (vec![terms.constant; n_pairs], vec![0.0; n_pairs]);
        for (a, main) in terms.main.iter().zip(&self.main) {
            add_scaled(&mut kernel, *a, main);
        }
        for (relevance, square) in terms.relevance.iter().zip(&self.squares) {
            add_scaled(&mut squares, *relevance, square);
        }
        let (values, slope): (Vec<f64>, Vec<f64>) = squares.iter().map(|square| matern(*square)).unzip();
        add_scaled(&mut kernel, terms.interaction, &values);
        Pairs { kernel, matern: values, slope }
    }
}

/// Of each pair j < i, row by row.
struct Pairs {
    /// k
    kernel: Vec<f64>,
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
        weights.extend(row[..i].iter().zip(b).map(|(inverse, bj)| inverse - b[i] * bj));
        trace += row[i] - b[i] * b[i];
    }
    (weights, trace)
}
