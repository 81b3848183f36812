//! Hyper-parameters of the paper's model by evidence: variances, noise and bandwidths of the greatest posterior density.
//!
//! ```text
//! K = v_d D + v_c C + v_m Σ_g P_g ∘ C_g + β⁻¹I        D, P_g: products of monomials, fixed; C, C_g: of waves
//! log p(y | θ) = -½ yᵀα - ½ log det K - n/2 log 2π,   α = K⁻¹y
//! ```
//!
//! θ holds logarithms: of v_d, v_c, v_m, the noise and every bandwidth. Weak log-normal priors keep five observations
//! from saying something absurd: each block of features is expected to explain an equal share of variance 1 (outputs
//! are standardised), the noise 1 %, and bandwidths to be half the diagonal of the box.

use std::sync::Arc;

use super::conditioned::Conditioned;
use super::gaussian::Gaussian;
use super::log_prior::{LogPrior, means};
use super::prior::{Prior, Variances};
use super::records::Records;
use crate::features::{Features, Group, HYPERPARAMETERS, Waves};
use crate::math::lbfgs::{self, LbfgsSettings};
use crate::math::matrix::{Matrix, add_product, chosen_columns, diagonal, gram};
use crate::math::random::Stream;
use crate::math::vector::{add_scaled, dot_in_lanes, scale};
use crate::surrogate::Error;

/// How hyper-parameters are fitted.
///
/// | field | default | what it is |
/// |---|---|---|
/// | `n_starts` | 3 | searches: from the present values, from the middle of the prior, the others from draws of it |
/// | `max_points` | 400 | the most observations that are looked at, evenly spread; the cost is cubic in them |
/// | `max_iterations` | 40 | steps of each search |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fit {
    /// Searches.
    pub n_starts: usize,
    /// The most observations.
    pub max_points: usize,
    /// Steps of each search.
    pub max_iterations: usize,
}

impl Default for Fit {
    fn default() -> Self {
        Fit {
            n_starts: 3,
            max_points: 400,
            max_iterations: 40,
        }
    }
}

/// Variances, noise, and then the bandwidths.
const FIRST_BANDWIDTH: usize = 4;

/// The share of the variance of outputs that is expected to be noise.
const NOISE: f64 = 0.01;

/// Standard deviations of the logarithms of variances and noise, and of bandwidths.
const SPREAD: f64 = 1.5;
const BANDWIDTH_SPREAD: f64 = 0.75;

/// How many standard deviations from its middle a hyper-parameter may go.
const REACH: f64 = 4.0;

/// The slope of log p in the logarithm of a hyper-parameter at which it is good enough.
const TOLERANCE: f64 = 1e-4;

/// The same observations under the hyper-parameters of the greatest posterior density.
///
/// # Errors
/// None in practice: the hyper-parameters stay in their ranges.
pub fn fitted(gaussian: &Gaussian, fit: Fit, stream: &mut Stream) -> Result<Gaussian, Error> {
    let chosen = spread_out(gaussian.n_observations(), fit.max_points);
    let evidence = Evidence::new(gaussian.records().subset(&chosen));
    let starts = evidence.starts(gaussian, fit.n_starts, stream);
    let Some(best) = evidence.best(&starts, fit.max_iterations) else {
        return Ok(gaussian.clone());
    };
    let Hyperparameters { prior, bandwidths } = Hyperparameters::from_logs(&best);
    let features = gaussian.features().with_bandwidths(&bandwidths);
    gaussian.refitted(Arc::new(features), prior)
}

/// At most `limit` of the numbers below `n`, evenly spread, the last one among them.
pub(crate) fn spread_out(n: usize, limit: usize) -> Vec<usize> {
    // Not `clamp`, which would panic where there is nothing to choose from.
    let n_chosen = limit.max(1).min(n);
    (1..=n_chosen).map(|k| k * n / n_chosen - 1).collect()
}

/// What θ stands for.
struct Hyperparameters {
    prior: Prior,
    bandwidths: Vec<f64>,
}

impl Hyperparameters {
    fn from_logs(theta: &[f64]) -> Hyperparameters {
        let (least, most) = (*HYPERPARAMETERS.start(), *HYPERPARAMETERS.end());
        let value = |k: usize| theta[k].exp().clamp(least, most);
        let variances = Variances {
            discrete: value(0),
            continuous: value(1),
            mixed: value(2),
        };
        Hyperparameters {
            prior: Prior {
                variances,
                noise: value(3),
            },
            bandwidths: (FIRST_BANDWIDTH..theta.len()).map(value).collect(),
        }
    }
}

/// θ of a belief.
fn logs(gaussian: &Gaussian) -> Vec<f64> {
    let Prior { variances, noise } = gaussian.prior();
    let head = [
        variances.discrete,
        variances.continuous,
        variances.mixed,
        // A prior without noise is allowed; its logarithm is not.
        noise.max(*HYPERPARAMETERS.start()),
    ];
    let bandwidths = gaussian.features().waves().bandwidths();
    head.iter().chain(bandwidths).map(|x| x.ln()).collect()
}

/// What of the evidence does not depend on θ.
struct Evidence {
    records: Records,
    /// D
    discrete: Vec<f64>,
    /// Of each group with waves.
    blocks: Vec<Block>,
    /// Of θ.
    priors: Vec<LogPrior>,
}

/// A group of mixed features over all records.
struct Block {
    waves: Vec<usize>,
    /// P_g
    products: Vec<f64>,
}

impl Evidence {
    fn new(records: Records) -> Evidence {
        let mut evidence = Evidence {
            discrete: records.discrete_kernel(),
            records,
            blocks: Vec::new(),
            priors: Vec::new(),
        };
        evidence.blocks = evidence.blocks();
        evidence.priors = evidence.priors();
        evidence
    }

    fn blocks(&self) -> Vec<Block> {
        let groups = self.records.features().mixed().groups();
        let products = |group: &Group| match groups {
            // All monomials but the empty one.
            [_] => self.discrete.iter().map(|d| d - 1.0).collect(),
            _ => self.records.monomial_gram(&group.monomials),
        };
        groups
            .iter()
            .filter(|group| !group.waves.is_empty())
            .map(|group| Block {
                waves: group.waves.clone(),
                products: products(group),
            })
            .collect()
    }

    fn priors(&self) -> Vec<LogPrior> {
        let features = self.records.features();
        let waves = WaveKernels::new(self, features);
        let sizes = [&self.discrete, &waves.all, &waves.mixed].map(|k| self.mean_diagonal(k));
        let n_blocks = sizes.iter().filter(|size| **size > 0.0).count();
        let share = 1.0 / n_blocks.max(1) as f64;
        // A block that explains nothing has a variance all the same: the middle of its prior is 1.
        let variances = sizes.map(|size| if size > 0.0 { share / size } else { 1.0 });
        let head = variances.into_iter().chain([NOISE]);
        let n_reals = features.waves().n_reals();
        let bandwidths = std::iter::repeat_n(middle_bandwidth(features.waves()), n_reals);
        head.map(|middle| LogPrior::about(middle, SPREAD))
            .chain(bandwidths.map(|middle| LogPrior::about(middle, BANDWIDTH_SPREAD)))
            .collect()
    }

    /// φ_c of all records, n × M_c.
    fn wave_values(&self, waves: &Waves) -> Vec<f64> {
        let n = self.records.n();
        (0..n)
            .flat_map(|i| waves.values(self.records.unit_of(i)))
            .collect()
    }

    fn mean_diagonal(&self, kernel: &[f64]) -> f64 {
        let n = self.records.n();
        diagonal(kernel, n).sum::<f64>() / n.max(1) as f64
    }

    /// Where searches begin: the present values, the middle of the prior, and draws of it.
    fn starts(&self, gaussian: &Gaussian, n_starts: usize, stream: &mut Stream) -> Vec<Vec<f64>> {
        // The first two take no draws, so they are the same however many starts there are.
        let mut starts = vec![logs(gaussian), means(&self.priors)];
        while starts.len() < n_starts {
            let draw = |prior: &LogPrior| prior.mean + prior.deviation * stream.normal();
            starts.push(self.priors.iter().map(draw).collect());
        }
        starts.truncate(n_starts.max(1));
        starts
    }

    /// θ of the greatest posterior density that searches from these starts find.
    fn best(&self, starts: &[Vec<f64>], max_iterations: usize) -> Option<Vec<f64>> {
        let bounds: Vec<(f64, f64)> = self.priors.iter().map(|p| p.within(REACH)).collect();
        let settings = LbfgsSettings {
            max_iterations,
            tolerance: TOLERANCE,
            ..LbfgsSettings::default()
        };
        let negative = |theta: &[f64], gradient: &mut [f64]| {
            let value = self.log_posterior(theta, gradient);
            scale(gradient, -1.0);
            -value
        };
        lbfgs::lowest(negative, starts, &bounds, settings).map(|found| found.x)
    }

    /// log p(y | θ) + log p(θ) up to a constant, and its gradient.
    fn log_posterior(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let mut value = self.log_likelihood(theta, gradient);
        for ((slope, log), prior) in gradient.iter_mut().zip(theta).zip(&self.priors) {
            value -= prior.surprise(*log);
            *slope -= prior.slope(*log);
        }
        value
    }

    /// log p(y | θ), and its gradient.
    ///
    /// ```text
    /// ∂/∂log v_d   = v_d ⟨G, D⟩, and so on;   ∂/∂log noise = noise · tr G;   G = ½(ααᵀ - K⁻¹)
    /// ∂/∂log σₖ    = 2 ⟨Q, ∂B/∂log σₖ⟩,   Q = v_c G B + v_m Σ_g (G ∘ P_g) B_g
    /// ```
    fn log_likelihood(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let Hyperparameters { prior, bandwidths } = Hyperparameters::from_logs(theta);
        let features = self.records.features().with_bandwidths(&bandwidths);
        let kernels = WaveKernels::new(self, &features);
        let covariance = self.covariance(&kernels, prior);
        let conditioned = Conditioned::new(&covariance, self.records.y());
        let g = kernel_slope(&conditioned);
        let (of_prior, of_bandwidths) = gradient.split_at_mut(FIRST_BANDWIDTH);
        of_prior.copy_from_slice(&self.prior_gradient(&g, &kernels, prior));
        let q = self.wave_slope(&g, &kernels.b, prior.variances);
        self.bandwidth_gradient(&q, features.waves(), of_bandwidths);
        conditioned.log_evidence(self.records.y())
    }

    /// K
    fn covariance(&self, kernels: &WaveKernels, prior: Prior) -> Vec<f64> {
        let (n, v) = (self.records.n(), prior.variances);
        let parts = self.discrete.iter().zip(&kernels.all).zip(&kernels.mixed);
        let mut covariance: Vec<f64> = parts
            .map(|((d, c), m)| v.discrete * d + v.continuous * c + v.mixed * m)
            .collect();
        (0..n).for_each(|i| covariance[i * n + i] += prior.noise);
        covariance
    }

    /// By the logarithms of the three variances and of the noise.
    fn prior_gradient(
        &self,
        g: &[f64],
        kernels: &WaveKernels,
        prior: Prior,
    ) -> [f64; FIRST_BANDWIDTH] {
        let (n, v) = (self.records.n(), prior.variances);
        let trace = diagonal(g, n).sum::<f64>();
        [
            v.discrete * dot_in_lanes(g, &self.discrete),
            v.continuous * dot_in_lanes(g, &kernels.all),
            v.mixed * dot_in_lanes(g, &kernels.mixed),
            prior.noise * trace,
        ]
    }

    /// Q, n × M_c: half the slope of log p in the values of the waves, at all points.
    fn wave_slope(&self, g: &[f64], b: &[f64], v: Variances) -> Vec<f64> {
        let (n, m) = (self.records.n(), self.records.features().waves().len());
        let mut q = vec![0.0; n * m];
        if q.is_empty() {
            return q;
        }
        add_product(&mut q, Matrix::of_rows(g, n), Matrix::of_rows(b, m));
        scale(&mut q, v.continuous);
        for block in &self.blocks {
            let part = block.slope(g, &chosen_columns(b, m, &block.waves), v.mixed);
            for (q, part) in q
                .chunks_exact_mut(m)
                .zip(part.chunks_exact(block.waves.len()))
            {
                add_at(q, &block.waves, part);
            }
        }
        q
    }

    fn bandwidth_gradient(&self, q: &[f64], waves: &Waves, gradient: &mut [f64]) {
        gradient.fill(0.0);
        for (i, q) in q.chunks_exact(waves.len().max(1)).enumerate() {
            let slopes = waves.bandwidth_gradients(self.records.unit_of(i));
            for (q, slopes) in q.iter().zip(slopes.chunks_exact(gradient.len().max(1))) {
                add_scaled(gradient, 2.0 * q, slopes);
            }
        }
    }
}

impl Block {
    /// C_g, from the values of all `m` waves.
    fn wave_gram(&self, b: &[f64], m: usize) -> Vec<f64> {
        gram(&chosen_columns(b, m, &self.waves), self.waves.len())
    }

    /// v_m (G ∘ P) B, for the values B of its waves.
    fn slope(&self, g: &[f64], b: &[f64], mixed: f64) -> Vec<f64> {
        let weighted: Vec<f64> = g
            .iter()
            .zip(&self.products)
            .map(|(g, p)| mixed * g * p)
            .collect();
        let width = self.waves.len();
        let mut slope = vec![0.0; b.len()];
        let left = Matrix::of_rows(&weighted, b.len() / width);
        add_product(&mut slope, left, Matrix::of_rows(b, width));
        slope
    }
}

/// G = ½(ααᵀ - K⁻¹), the slope of log p in the entries of K.
fn kernel_slope(conditioned: &Conditioned) -> Vec<f64> {
    let alpha = conditioned.alpha();
    let mut g = conditioned.factor().inverse();
    for (i, row) in g.chunks_exact_mut(alpha.len().max(1)).enumerate() {
        for (g, a) in row.iter_mut().zip(alpha) {
            *g = 0.5 * (alpha[i] * a - *g);
        }
    }
    g
}

/// Half the diagonal of the coordinates that one wave sees.
fn middle_bandwidth(waves: &Waves) -> f64 {
    0.5 * (most_seen(waves) as f64).sqrt()
}

/// The most coordinates that one wave sees, at least one.
fn most_seen(waves: &Waves) -> usize {
    let n_seen = (0..waves.len()).map(|j| waves.reals_of(j).count());
    n_seen.max().unwrap_or(1).max(1)
}

/// The kernels of the waves at some bandwidths.
struct WaveKernels {
    /// φ_c, n × M_c.
    b: Vec<f64>,
    /// C
    all: Vec<f64>,
    /// Σ_g P_g ∘ C_g
    mixed: Vec<f64>,
}

impl WaveKernels {
    fn new(evidence: &Evidence, features: &Features) -> WaveKernels {
        let (n, m) = (evidence.records.n(), features.waves().len());
        let b = evidence.wave_values(features.waves());
        let all = if m == 0 {
            vec![0.0; n * n]
        } else {
            gram(&b, m)
        };
        let mut mixed = vec![0.0; n * n];
        for block in &evidence.blocks {
            if block.waves.len() == m {
                // All waves: C itself, which is there already.
                add_entrywise(&mut mixed, &block.products, &all);
            } else {
                add_entrywise(&mut mixed, &block.products, &block.wave_gram(&b, m));
            }
        }
        WaveKernels { b, all, mixed }
    }
}

/// Adds some numbers to those at the given places.
fn add_at(target: &mut [f64], places: &[usize], numbers: &[f64]) {
    for (&place, number) in places.iter().zip(numbers) {
        target[place] += number;
    }
}

/// K += P ∘ C
fn add_entrywise(k: &mut [f64], p: &[f64], c: &[f64]) {
    for (k, (p, c)) in k.iter_mut().zip(p.iter().zip(c)) {
        *k += p * c;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::{Expansion, FeatureSettings, Products, WaveKernel};
    use crate::math::random::{Purpose, stream};
    use proptest::prelude::*;

    fn observed(n: usize, products: Products, additive: bool, seed: u64) -> Gaussian {
        let kernel = WaveKernel::SquaredExponential;
        let expansion = if additive {
            Expansion::RandomAdditive { kernel, n: 3 }
        } else {
            Expansion::Random { kernel, n: 6 }
        };
        let settings = FeatureSettings {
            expansion,
            products,
            ..FeatureSettings::default()
        };
        let features = Features::new((0..4).collect(), 2, &settings, seed).unwrap();
        let mut gaussian = Gaussian::new(Arc::new(features), Prior::default()).unwrap();
        let mut stream = stream(seed, 0, Purpose::Design);
        for _ in 0..n {
            let bits: Vec<bool> = (0..4).map(|_| stream.unit() < 0.5).collect();
            let unit = [stream.unit(), stream.unit()];
            let y = (5.0 * unit[0]).sin()
                + f64::from(u8::from(bits[1])) * unit[1]
                + 0.1 * stream.normal();
            gaussian.observe(&bits, &unit, y).unwrap();
        }
        gaussian
    }

    fn any_products() -> impl Strategy<Value = Products> {
        prop_oneof![
            Just(Products::All),
            Just(Products::None),
            Just(Products::Linked(vec![(0, 0), (1, 1), (2, 1)])),
            prop::collection::vec((1_usize..11, 0_usize..6), 0..20).prop_map(Products::Listed),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn the_gradient_is_that_of_finite_differences_in_every_hyperparameter(
            n in 0_usize..12, products in any_products(), additive: bool, seed in 0_u64..500,
            theta in prop::collection::vec(-1.2_f64..1.2, 6),
        ) {
            let evidence = Evidence::new(observed(n, products, additive, seed).records().clone());
            let mut gradient = vec![0.0; 6];
            let value = evidence.log_posterior(&theta, &mut gradient);

            for k in 0..6 {
                let at = |h: f64| {
                    let mut moved = theta.clone();
                    moved[k] += h;
                    evidence.log_posterior(&moved, &mut [0.0; 6])
                };
                // Fourth order: truncation h⁴, rounding ε·|value|/h.
                let h = 1e-3;
                let slope = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
                prop_assert!((slope - gradient[k]).abs() < 1e-7 * (1.0 + value.abs() + gradient[k].abs()), "{k}: {slope} {}", gradient[k]);
            }
        }

        #[test]
        fn the_likelihood_is_the_evidence_of_the_posterior(
            n in 0_usize..12, products in any_products(), additive: bool, theta in prop::collection::vec(-1.2_f64..1.2, 6),
        ) {
            let gaussian = observed(n, products, additive, 3);
            let evidence = Evidence::new(gaussian.records().clone());
            let Hyperparameters { prior, bandwidths } = Hyperparameters::from_logs(&theta);

            let value = evidence.log_likelihood(&theta, &mut [0.0; 6]);

            let features = Arc::new(gaussian.features().with_bandwidths(&bandwidths));
            let posterior = gaussian.refitted(features, prior).unwrap();
            prop_assert!((value - posterior.log_evidence()).abs() < 1e-8 * (1.0 + value.abs()));
        }
    }

    #[test]
    fn a_fit_raises_the_evidence_and_finds_the_noise() {
        let gaussian = observed(80, Products::All, true, 1);
        let mut stream = stream(0, 0, Purpose::Hyperparameters);

        let better = fitted(&gaussian, Fit::default(), &mut stream).unwrap();

        assert!(better.log_evidence() > gaussian.log_evidence() + 10.0);
        // The noise has standard deviation 0.1.
        assert!(
            (0.003..0.03).contains(&better.prior().noise),
            "{:?}",
            better.prior()
        );
    }

    #[test]
    fn few_observations_leave_the_hyperparameters_near_their_prior() {
        for n in 0..=5 {
            let gaussian = observed(n, Products::All, false, 2);
            let mut stream = stream(0, 0, Purpose::Hyperparameters);

            let found = fitted(&gaussian, Fit::default(), &mut stream).unwrap();

            let evidence = Evidence::new(gaussian.records().clone());
            for (t, LogPrior { mean, deviation }) in logs(&found).iter().zip(&evidence.priors) {
                assert!((t - mean).abs() < 3.0 * deviation, "{n}: {t} {mean}");
            }
        }
    }

    #[test]
    fn points_are_chosen_evenly_with_the_last_among_them() {
        assert_eq!(spread_out(10, 3), [2, 5, 9]);
        assert_eq!(spread_out(2, 400), [0, 1]);
        assert!(spread_out(0, 400).is_empty());
    }
}
