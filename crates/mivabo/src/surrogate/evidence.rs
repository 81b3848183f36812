//! Hyper-parameters by evidence: observations enter, the variances, noise and bandwidths of the greatest posterior leave.
//!
//! ```text
//! K = v_d D + v_c C + v_m Σ_g P_g ∘ C_g + β⁻¹I        D, P_g: products of monomials, fixed; C, C_g: of waves
//! log p(y | θ) = -½ yᵀα - ½ log det K - n/2 log 2π,   α = K⁻¹y
//! ∂/∂θ log p   = ⟨G, ∂K/∂θ⟩,   G = ½(ααᵀ - K⁻¹)
//! ∂/∂log σₖ    = 2 ⟨Q, ∂B/∂log σₖ⟩,   Q = v_c G B + v_m Σ_g (G ∘ P_g) B_g
//! ```
//!
//! θ holds logarithms: of v_d, v_c, v_m, the noise and every bandwidth. Weak log-normal priors keep five observations
//! from saying something absurd: each block of features is expected to explain an equal share of variance 1 (outputs
//! are standardised), the noise 1 %, and bandwidths to be half the diagonal of the box.

use std::sync::Arc;

use super::gaussian::Gaussian;
use super::prior::{Prior, Variances};
use super::records::Records;
use crate::features::{Features, Group, Waves};
use crate::math::lbfgs;
use crate::math::linalg::{Triangle, add_product, dot, gram, matrix, scale};
use crate::math::random::Stream;
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

/// Standard deviations of the logarithms of variances and noise, and of bandwidths.
const SPREAD: f64 = 1.5;
const BANDWIDTH_SPREAD: f64 = 0.75;

/// How many standard deviations from its middle a hyper-parameter may go.
const REACH: f64 = 4.0;

/// The same observations under the hyper-parameters of the greatest posterior density.
///
/// # Errors
/// None in practice: the hyper-parameters stay in their ranges.
pub fn fitted(gaussian: &Gaussian, fit: Fit, stream: &mut Stream) -> Result<Gaussian, Error> {
    let chosen = spread_out(gaussian.n_observations(), fit.max_points);
    let evidence = Evidence::new(gaussian.records().subset(&chosen));
    let bounds: Vec<(f64, f64)> = evidence
        .beliefs
        .iter()
        .map(|(m, s)| (m - REACH * s, m + REACH * s))
        .collect();
    let middle = evidence.beliefs.iter().map(|(m, _)| *m).collect();
    let mut starts = vec![logs(gaussian), middle];
    while starts.len() < fit.n_starts {
        starts.push(
            evidence
                .beliefs
                .iter()
                .map(|(m, s)| m + s * stream.normal())
                .collect(),
        );
    }
    let settings = lbfgs::LbfgsSettings {
        max_iterations: fit.max_iterations,
        tolerance: 1e-4,
        ..Default::default()
    };
    let descend = |start: &Vec<f64>| {
        let descent = |theta: &[f64], gradient: &mut [f64]| {
            let value = evidence.log_posterior(theta, gradient);
            scale(gradient, -1.0);
            -value
        };
        lbfgs::minimise(descent, start, &bounds, settings)
    };
    let found = starts.iter().take(fit.n_starts.max(1)).map(descend);
    let best = found
        .min_by(|a, b| a.value.total_cmp(&b.value))
        .map(|m| m.x)
        .unwrap_or_default();
    if best.is_empty() {
        return Ok(gaussian.clone());
    }
    let (prior, bandwidths) = from_logs(&best);
    gaussian.refitted(
        Arc::new(gaussian.features().with_bandwidths(&bandwidths)),
        prior,
    )
}

/// At most `limit` of the numbers below `n`, evenly spread, the last one among them.
pub(crate) fn spread_out(n: usize, limit: usize) -> Vec<usize> {
    let limit = limit.clamp(1, n.max(1));
    if n == 0 {
        Vec::new()
    } else {
        (1..=limit).map(|k| k * n / limit - 1).collect()
    }
}

/// θ of a belief.
fn logs(gaussian: &Gaussian) -> Vec<f64> {
    let Prior {
        variances: v,
        noise,
    } = gaussian.prior();
    let head = [v.discrete, v.continuous, v.mixed, noise.max(1e-50)];
    head.iter()
        .chain(gaussian.features().waves().bandwidths())
        .map(|x| x.ln())
        .collect()
}

fn from_logs(theta: &[f64]) -> (Prior, Vec<f64>) {
    let value = |k: usize| theta[k].exp().clamp(1e-50, 1e50);
    let variances = Variances {
        discrete: value(0),
        continuous: value(1),
        mixed: value(2),
    };
    (
        Prior {
            variances,
            noise: value(3),
        },
        (FIRST_BANDWIDTH..theta.len()).map(value).collect(),
    )
}

/// What of the evidence does not depend on θ.
struct Evidence {
    records: Records,
    /// D
    discrete: Vec<f64>,
    /// P_g for each group with waves.
    groups: Vec<(Group, Vec<f64>)>,
    /// Means and standard deviations of θ.
    beliefs: Vec<(f64, f64)>,
}

impl Evidence {
    fn new(records: Records) -> Evidence {
        let n = records.n();
        let discrete = records.discrete_kernel();
        let all = records.features().mixed().groups();
        let groups = all
            .iter()
            .filter(|group| !group.waves.is_empty())
            .map(|group| {
                let products = match all {
                    // All monomials but the empty one.
                    [_] => discrete.iter().map(|d| d - 1.0).collect(),
                    _ => records.monomial_gram(&group.monomials),
                };
                (group.clone(), products)
            });
        let groups = groups.collect();
        let mut evidence = Evidence {
            records,
            discrete,
            groups,
            beliefs: Vec::new(),
        };
        evidence.beliefs = evidence.middle_of_prior(n);
        evidence
    }

    fn middle_of_prior(&self, n: usize) -> Vec<(f64, f64)> {
        let features = self.records.features();
        let waves = Kernels::new(self, features);
        let diagonal = |k: &[f64]| (0..n).map(|i| k[i * n + i]).sum::<f64>() / n.max(1) as f64;
        let sizes = [
            diagonal(&self.discrete),
            diagonal(&waves.all),
            diagonal(&waves.mixed),
        ];
        let share = 1.0 / sizes.iter().filter(|s| **s > 0.0).count().max(1) as f64;
        let variances =
            sizes.map(|size| (if size > 0.0 { (share / size).ln() } else { 0.0 }, SPREAD));
        let n_reals = features.waves().n_reals();
        // Half the diagonal of the coordinates that one wave sees.
        let seen = (0..features.waves().len())
            .map(|j| features.waves().reals_of(j).count())
            .max()
            .unwrap_or(1);
        let bandwidth = (0.5 * (seen.max(1) as f64).sqrt()).ln();
        let head = variances.into_iter().chain([(0.01_f64.ln(), SPREAD)]);
        head.chain(std::iter::repeat_n((bandwidth, BANDWIDTH_SPREAD), n_reals))
            .collect()
    }

    /// log p(y | θ) + log p(θ) up to a constant, and its gradient.
    fn log_posterior(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let mut value = self.log_likelihood(theta, gradient);
        for ((slope, t), (mean, spread)) in gradient.iter_mut().zip(theta).zip(&self.beliefs) {
            let off = (t - mean) / spread;
            value -= 0.5 * off * off;
            *slope -= off / spread;
        }
        value
    }

    fn log_likelihood(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let n = self.records.n();
        let (
            Prior {
                variances: v,
                noise,
            },
            bandwidths,
        ) = from_logs(theta);
        let features = self.records.features().with_bandwidths(&bandwidths);
        let kernels = Kernels::new(self, &features);
        let parts = self.discrete.iter().zip(&kernels.all).zip(&kernels.mixed);
        let mut k: Vec<f64> = parts
            .map(|((d, c), m)| v.discrete * d + v.continuous * c + v.mixed * m)
            .collect();
        (0..n).for_each(|i| k[i * n + i] += noise);
        let factor = Triangle::factor(&k, n);
        let mut alpha = self.records.y().to_vec();
        factor.solve(&mut alpha);
        let mut g = factor.inverse();
        for (i, row) in g.chunks_exact_mut(n.max(1)).enumerate() {
            row.iter_mut()
                .zip(&alpha)
                .for_each(|(g, a)| *g = 0.5 * (alpha[i] * a - *g));
        }
        gradient[0] = v.discrete * dot(&g, &self.discrete);
        gradient[1] = v.continuous * dot(&g, &kernels.all);
        gradient[2] = v.mixed * dot(&g, &kernels.mixed);
        gradient[3] = noise * (0..n).map(|i| g[i * n + i]).sum::<f64>();
        let q = self.wave_gradient(&g, &kernels.b, v);
        self.bandwidth_gradient(&q, features.waves(), &mut gradient[FIRST_BANDWIDTH..]);
        let fit = dot(self.records.y(), &alpha);
        -0.5 * (fit + factor.log_determinant() + n as f64 * std::f64::consts::TAU.ln())
    }

    /// Q = v_c G B + v_m Σ_g (G ∘ P_g) B_g, n × M_c.
    fn wave_gradient(&self, g: &[f64], b: &[f64], v: Variances) -> Vec<f64> {
        let (n, m) = (self.records.n(), self.records.features().waves().len());
        let mut q = vec![0.0; n * m];
        if m == 0 || n == 0 {
            return q;
        }
        add_product(&mut q, matrix(g, n), matrix(b, m));
        scale(&mut q, v.continuous);
        for (group, products) in &self.groups {
            let weighted: Vec<f64> = g
                .iter()
                .zip(products)
                .map(|(g, p)| v.mixed * g * p)
                .collect();
            let mut part = vec![0.0; n * group.waves.len()];
            add_product(
                &mut part,
                matrix(&weighted, n),
                matrix(&columns(b, m, &group.waves), group.waves.len()),
            );
            for (q, part) in q
                .chunks_exact_mut(m)
                .zip(part.chunks_exact(group.waves.len()))
            {
                group
                    .waves
                    .iter()
                    .zip(part)
                    .for_each(|(&j, part)| q[j] += part);
            }
        }
        q
    }

    fn bandwidth_gradient(&self, q: &[f64], waves: &Waves, gradient: &mut [f64]) {
        gradient.fill(0.0);
        for (i, q) in q.chunks_exact(waves.len().max(1)).enumerate() {
            let slopes = waves.bandwidth_gradients(self.records.unit_of(i));
            for (q, slopes) in q.iter().zip(slopes.chunks_exact(gradient.len().max(1))) {
                gradient
                    .iter_mut()
                    .zip(slopes)
                    .for_each(|(g, s)| *g += 2.0 * q * s);
            }
        }
    }
}

/// The kernels of the waves at some bandwidths.
struct Kernels {
    /// φ_c, n × M_c.
    b: Vec<f64>,
    /// C
    all: Vec<f64>,
    /// Σ_g P_g ∘ C_g
    mixed: Vec<f64>,
}

impl Kernels {
    fn new(evidence: &Evidence, features: &Features) -> Kernels {
        let (n, m) = (evidence.records.n(), features.waves().len());
        let b: Vec<f64> = (0..n)
            .flat_map(|i| features.waves().values(evidence.records.unit_of(i)))
            .collect();
        let all = if m == 0 {
            vec![0.0; n * n]
        } else {
            gram(&b, m)
        };
        let mut mixed = vec![0.0; n * n];
        for (group, products) in &evidence.groups {
            let some = (group.waves.len() < m)
                .then(|| gram(&columns(&b, m, &group.waves), group.waves.len()));
            let waves = some.as_ref().unwrap_or(&all);
            mixed
                .iter_mut()
                .zip(products.iter().zip(waves))
                .for_each(|(k, (p, c))| *k += p * c);
        }
        Kernels { b, all, mixed }
    }
}

/// Some columns of a row-major matrix with `m` columns.
pub(super) fn columns(b: &[f64], m: usize, chosen: &[usize]) -> Vec<f64> {
    b.chunks_exact(m)
        .flat_map(|row| chosen.iter().map(|&j| row[j]))
        .collect()
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
            let (prior, bandwidths) = from_logs(&theta);

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
            for (t, (mean, spread)) in logs(&found).iter().zip(&evidence.beliefs) {
                assert!((t - mean).abs() < 3.0 * spread, "{n}: {t} {mean}");
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
