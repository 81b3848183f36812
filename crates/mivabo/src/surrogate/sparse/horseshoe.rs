//! The horseshoe prior (Carvalho, Polson & Scott 2010) by Gibbs sampling.
//!
//! ```text
//! w_k ~ N(0, λ_k²τ²),   λ_k ~ C⁺(0, 1),   τ ~ C⁺(0, τ₀),   y ~ N(Φw, σ²I),   σ known or σ ~ C⁺(0, s)
//! ```
//!
//! A half-Cauchy variable x ~ C⁺(0, a) is a mixture of inverse gammas, x² | c ~ IG(½, 1/c) with c ~ IG(½, 1/a²)
//! (Makalic & Schmidt 2016, *A simple sampler for the horseshoe estimator*). So every conditional is a known law:
//!
//! ```text
//! w  | …   Gaussian, by `regression`: O(n²M) for n < M
//! c_k| …   IG(1, 1 + 1/λ_k²)            λ_k² | …   IG(1, 1/c_k + w_k²/(2τ²))
//! c  | …   IG(1, 1/τ₀² + 1/τ²)          τ²   | …   IG((M+1)/2, 1/c + Σ w_k²/(2λ_k²))
//! c  | …   IG(1, 1/s² + 1/σ²)           σ²   | …   IG((n+1)/2, 1/c + ‖y - Φw‖²/2)
//! ```
//!
//! Given M weights, τ is known to a share of about 1/√M of itself, and moves slowly. So each sweep begins with a Metropolis
//! step for τ with the weights integrated out, from p(τ | λ, σ, y), as Johndrow, Orenstein & Bhattacharya (2020), *Scalable
//! approximate MCMC algorithms for the horseshoe prior*, do. It doubles the cost of a sweep, and the autocorrelation
//! time of log τ falls from 43 sweeps to 27 at M = 150 and from 203 to 60 at M = 2000 (n = 100, ten weights not zero).
//!
//! Unlike Makalic & Schmidt's, weights do not scale with the noise, for which they would be n + M observations instead
//! of n, and it would come out too small (Moran, Ročková & George 2019, *Variance prior forms for high-dimensional
//! Bayesian variable selection*).
//!
//! The tails of the horseshoe are so heavy that a weight without data has no variance. A slab of variance c² cuts them: each
//! weight is seen once more, as 0 with variance c² (Piironen & Vehtari 2017; in this form, which leaves all other conditionals
//! as they are, Nishimura & Suchard 2022, *Shrinkage with shrunken shoulders*).

use super::regression::{Marginal, Regression};
use super::{Design, NOISE_FLOOR, SparsePosterior, positive_or};
use crate::math::matrix::times;
use crate::math::random::Stream;
use crate::math::vector::{differences, dot};

/// λ², τ² and σ² stay within these limits: their products neither vanish nor overflow.
const SQUARE: (f64, f64) = (1e-30, 1e30);

/// The horseshoe prior, and how long to sample from its posterior.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Horseshoe {
    /// τ₀, the scale of the global scale.
    pub global: f64,
    /// Deviation of a weight that is not shrunk at all; infinite for the plain horseshoe.
    pub slab: f64,
    /// The noise of an observation.
    pub noise: Noise,
    /// Sweeps before the first draw is kept.
    pub burn_in: usize,
    /// Draws kept, at least one.
    pub draws: usize,
    /// Sweeps for each draw kept, at least one.
    pub thinning: usize,
}

/// The variance of the noise of an observation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Noise {
    /// Known; floored at 10⁻⁸ of the mean square of the outputs.
    #[cfg_attr(
        not(test),
        expect(
            dead_code,
            reason = "where the answer is known exactly, so is the noise"
        )
    )]
    Known(f64),
    /// Sampled, with a half-Cauchy prior of this scale on the deviation.
    HalfCauchy(f64),
}

impl Default for Horseshoe {
    /// For standardised outputs and features of order 1.
    fn default() -> Self {
        Self {
            global: 1.0,
            slab: 100.0,
            noise: Noise::HalfCauchy(1.0),
            burn_in: 200,
            draws: 200,
            thinning: 1,
        }
    }
}

impl Horseshoe {
    /// The belief after the design's observations.
    pub(crate) fn fit(&self, design: &Design, stream: &mut Stream) -> SparsePosterior {
        let mut chain = Chain::new(self, design);
        for _ in 0..self.burn_in {
            chain.sweep(stream);
        }
        let n_draws = self.draws.max(1);
        let mut draws = Vec::with_capacity(n_draws * design.m);
        for _ in 0..n_draws {
            // The last of them is the one that is kept.
            for _ in 1..self.thinning.max(1) {
                chain.sweep(stream);
            }
            draws.extend(chain.sweep(stream));
        }
        SparsePosterior::sampled(draws, design.m)
    }
}

/// Where a chain stands, but for the weights.
struct Scales {
    /// λ_k²
    local: Vec<f64>,
    /// τ²
    global: f64,
    /// σ²
    noise: f64,
}

/// A chain on its way.
struct Chain<'a> {
    design: &'a Design,
    regression: Regression<'a>,
    now: Scales,
    /// τ₀²
    global: f64,
    /// 1/c² of the slab.
    slab_precision: f64,
    noise: NoisePrior,
}

/// What σ² may be.
struct NoisePrior {
    /// s², where the noise is sampled.
    scale: Option<f64>,
    least: f64,
    first: f64,
}

impl NoisePrior {
    /// For outputs of this mean square.
    fn new(noise: Noise, mean_square: f64) -> NoisePrior {
        let least = positive_or(NOISE_FLOOR * mean_square, NOISE_FLOOR).min(SQUARE.1);
        let (scale, first) = match noise {
            Noise::Known(variance) => (None, positive_or(variance, least)),
            Noise::HalfCauchy(scale) => {
                let variance = positive_or(scale * scale, 1.0);
                (Some(variance), 0.1 * variance)
            }
        };
        NoisePrior {
            scale,
            least,
            first: first.max(least),
        }
    }
}

impl<'a> Chain<'a> {
    fn new(settings: &Horseshoe, design: &'a Design) -> Self {
        let mean_square = dot(&design.y, &design.y) / design.n.max(1) as f64;
        let noise = NoisePrior::new(settings.noise, mean_square);
        let global = positive_or(settings.global * settings.global, 1.0);
        // With λ = 1, outputs have the variance that was seen.
        let squares = design.y.len() as f64 * mean_square;
        let spread = positive_or(squares / dot(&design.rows, &design.rows), global);
        Self {
            design,
            regression: Regression::new(design),
            now: Scales {
                local: vec![1.0; design.m],
                global: spread.clamp(1e-12, 1e12),
                noise: noise.first,
            },
            global,
            slab_precision: positive_or(1.0 / (settings.slab * settings.slab), 0.0),
            noise,
        }
    }

    /// One draw of everything, of which the weights are returned.
    fn sweep(&mut self, stream: &mut Stream) -> Vec<f64> {
        // τ was drawn with the weights integrated out, so they have to be drawn anew before anything else looks at them.
        let weights = self.draw_global(stream).draw(self.design, stream);
        self.draw_scales(&weights, stream);
        if let Some(scale) = self.noise.scale {
            self.draw_noise(scale, &weights, stream);
        }
        weights
    }

    /// A Metropolis step in log τ with the weights integrated out. Its length is drawn too, between 0.1 and 2, because the
    /// posterior of τ may be narrow or wide.
    fn draw_global(&mut self, stream: &mut Stream) -> Marginal {
        let length = 0.1 * 20_f64.powf(stream.unit());
        let factor = (2.0 * length * stream.normal()).exp();
        let proposed = within(self.now.global * factor);
        let (old, log_old) = self.given_global(self.now.global);
        let (new, log_new) = self.given_global(proposed);
        // The same as u < new/old for a uniform u, without leaving the logarithms.
        if stream.exponential() > log_old - log_new {
            self.now.global = proposed;
            return new;
        }
        old
    }

    /// The outputs given λ and τ, and the log density of log τ given λ.
    ///
    /// ```text
    /// v = 1/(1/(λ²τ²) + 1/c²)
    /// log p(log τ | λ, y) = log τ - log(1 + τ²/τ₀²) + log N(y; 0, σ²I + ΦVΦᵀ) + ½ Σ log(v/(λ²τ²)) + constant
    /// ```
    ///
    /// The sum is the mass that the slab leaves of each N(0, λ²τ²).
    fn given_global(&self, global: f64) -> (Marginal, f64) {
        let local = self.now.local.iter();
        let plain: Vec<f64> = local.map(|local| (local * global).max(SQUARE.0)).collect();
        // As a quotient and not by precisions: an infinite slab then leaves v as it is.
        let cut = |v: &f64| v / (1.0 + v * self.slab_precision);
        let variance: Vec<f64> = plain.iter().map(cut).collect();
        let lost = plain.iter().map(|v| (v * self.slab_precision).ln_1p());
        let lost: f64 = lost.sum();
        let marginal = self.regression.marginal(&variance, self.now.noise);
        let log_prior = 0.5 * global.ln() - (global / self.global).ln_1p();
        let log_density = log_prior + marginal.log_evidence - 0.5 * lost;
        (marginal, log_density)
    }

    fn draw_scales(&mut self, weights: &[f64], stream: &mut Stream) {
        let now = &mut self.now;
        let mut sum = 0.0;
        for (local, w) in now.local.iter_mut().zip(weights) {
            let mixing = mixing(1.0, *local, stream);
            *local = inverse_gamma(1.0, 1.0 / mixing + 0.5 * w * w / now.global, stream);
            sum += 0.5 * w * w / *local;
        }
        let mixing = mixing(self.global, now.global, stream);
        let shape = 0.5 * (weights.len() as f64 + 1.0);
        now.global = inverse_gamma(shape, 1.0 / mixing + sum, stream);
    }

    fn draw_noise(&mut self, scale: f64, weights: &[f64], stream: &mut Stream) {
        let fitted = times(&self.design.rows, self.design.n, weights);
        let error = differences(&self.design.y, &fitted);
        let mixing = mixing(scale, self.now.noise, stream);
        let shape = 0.5 * (self.design.n as f64 + 1.0);
        let rate = 1.0 / mixing + 0.5 * dot(&error, &error);
        self.now.noise = inverse_gamma(shape, rate, stream).max(self.noise.least);
    }
}

/// c given x², where x ~ C⁺(0, a): IG(1, 1/a² + 1/x²).
fn mixing(scale: f64, square: f64, stream: &mut Stream) -> f64 {
    inverse_gamma(1.0, 1.0 / scale + 1.0 / square, stream)
}

/// rate / Gamma(shape, 1), within [`SQUARE`].
fn inverse_gamma(shape: f64, rate: f64, stream: &mut Stream) -> f64 {
    let gamma = if shape == 1.0 {
        stream.exponential()
    } else {
        stream.gamma(shape, 1.0)
    };
    within(rate / gamma.max(f64::MIN_POSITIVE))
}

/// Within [`SQUARE`]. Unlike `clamp`, this turns NaN into a number.
fn within(square: f64) -> f64 {
    square.max(SQUARE.0).min(SQUARE.1)
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;
    use crate::math::random::{Purpose, stream};
    use crate::surrogate::sparse::moments;

    /// Nodes of the trapezoidal rule in log x for x ~ C⁺(0, 1): x and the mass it stands for.
    fn half_cauchy() -> Vec<(f64, f64)> {
        let step = 0.25;
        (-40..=40)
            .map(|i| (f64::from(i) * step).exp())
            .map(|x| (x, step * 2.0 / PI * x / (1.0 + x * x)))
            .collect()
    }

    /// Posterior means of w₁, w₁², w₂, w₂² by quadrature over λ₁, λ₂ and τ, given which the weights are Gaussian.
    fn two_weights(design: &Design, noise: f64, global: f64, slab: f64) -> [f64; 4] {
        let gram = |i: usize, j: usize| {
            design
                .rows
                .chunks_exact(2)
                .map(|r| r[i] * r[j])
                .sum::<f64>()
                / noise
        };
        let pull = |i: usize| {
            design
                .rows
                .chunks_exact(2)
                .zip(&design.y)
                .map(|(r, y)| r[i] * y)
                .sum::<f64>()
                / noise
        };
        let ([a, b, c], [p, q]) = ([gram(0, 0), gram(0, 1), gram(1, 1)], [pull(0), pull(1)]);
        let nodes = half_cauchy();
        let (mut mass, mut sums) = (0.0, [0.0; 4]);
        for (tau, at_tau) in &nodes {
            for (one, at_one) in &nodes {
                for (two, at_two) in &nodes {
                    let prior = [one, two].map(|local| (local * tau * global).powi(-2));
                    let [a, c] = [a + prior[0] + slab.powi(-2), c + prior[1] + slab.powi(-2)];
                    let determinant = a * c - b * b;
                    let mean = [(c * p - b * q) / determinant, (a * q - b * p) / determinant];
                    let exponent = 0.5 * (p * mean[0] + q * mean[1]);
                    let weight = at_tau
                        * at_one
                        * at_two
                        * (prior[0] * prior[1] / determinant).sqrt()
                        * exponent.exp();
                    mass += weight;
                    let squares = [
                        c / determinant + mean[0].powi(2),
                        a / determinant + mean[1].powi(2),
                    ];
                    let terms = [mean[0], squares[0], mean[1], squares[1]];
                    sums.iter_mut()
                        .zip(terms)
                        .for_each(|(sum, term)| *sum += weight * term);
                }
            }
        }
        sums.map(|sum| sum / mass)
    }

    /// Posterior means of w, w² and σ² by quadrature over λ, τ and σ.
    fn one_weight_and_noise(design: &Design, scale: f64, slab: f64) -> [f64; 3] {
        let square = |f: &dyn Fn(f64, f64) -> f64| {
            design
                .rows
                .iter()
                .zip(&design.y)
                .map(|(x, y)| f(*x, *y))
                .sum::<f64>()
        };
        let (xx, xy, yy) = (
            square(&|x, _| x * x),
            square(&|x, y| x * y),
            square(&|_, y| y * y),
        );
        let nodes = half_cauchy();
        let (mut mass, mut sums) = (0.0, [0.0; 3]);
        for (sigma, at_sigma) in &nodes {
            let noise = (sigma * scale).powi(2);
            for (tau, at_tau) in &nodes {
                for (local, at_local) in &nodes {
                    let prior = (tau * local).powi(-2);
                    let precision = xx / noise + prior + slab.powi(-2);
                    let mean = xy / noise / precision;
                    let exponent = 0.5 * (xy / noise * mean - yy / noise);
                    let normal = noise.powf(-0.5 * design.n as f64) * (prior / precision).sqrt();
                    let weight = at_sigma * at_tau * at_local * normal * exponent.exp();
                    mass += weight;
                    let terms = [mean, 1.0 / precision + mean * mean, noise];
                    sums.iter_mut()
                        .zip(terms)
                        .for_each(|(sum, term)| *sum += weight * term);
                }
            }
        }
        sums.map(|sum| sum / mass)
    }

    /// The mean of a chain is that of a law within five standard errors, which 40 batch means estimate: batches are so
    /// much longer than the chain remembers that their means are independent.
    fn assert_mean(chain: &[f64], wanted: f64, what: &str) {
        let batches: Vec<f64> = chain
            .chunks_exact(chain.len() / 40)
            .map(|batch| moments(batch.iter().copied()).0)
            .collect();
        let (mean, variance) = moments(batches.iter().copied());
        let error = (variance / 39.0).sqrt();
        assert!(
            (mean - wanted).abs() < 5.0 * error,
            "{what}: {mean} ± {error}, not {wanted}"
        );
        assert!(
            error < 0.05 * (wanted.abs() + 0.2),
            "{what}: too short a chain, ± {error}"
        );
    }

    #[test]
    fn two_weights_have_the_moments_of_quadrature_in_dual_and_primal() {
        let dual = Design::new(2, vec![1.0, 0.8], vec![1.5]);
        let primal = Design::new(2, vec![1.0, 0.5, -0.3, 1.0, 0.7, 0.7], vec![2.0, 0.1, 1.0]);
        for (seed, design) in [(1, dual), (2, primal)] {
            let horseshoe = Horseshoe {
                global: 0.5,
                slab: 2.0,
                noise: Noise::Known(0.3),
                burn_in: 500,
                draws: 40_000,
                thinning: 1,
            };

            let fit = horseshoe.fit(&design, &mut stream(seed, 0, Purpose::Inference));

            let exact = two_weights(&design, 0.3, 0.5, 2.0);
            let draws = |k: usize| {
                fit.draws()
                    .iter()
                    .skip(k)
                    .step_by(2)
                    .copied()
                    .collect::<Vec<f64>>()
            };
            for k in 0..2 {
                let squares: Vec<f64> = draws(k).iter().map(|w| w * w).collect();
                assert_mean(&draws(k), exact[2 * k], "mean");
                assert_mean(&squares, exact[2 * k + 1], "square");
            }
            assert!((fit.mean()[0] - moments(draws(0).into_iter()).0).abs() < 1e-12);
        }
    }

    #[test]
    fn a_weight_and_the_noise_have_the_moments_of_quadrature() {
        let design = Design::new(
            1,
            vec![1.0, -0.5, 0.8, 1.2, -1.0, 0.3],
            vec![1.1, -0.2, 0.9, 1.6, -0.7, 0.0],
        );
        let horseshoe = Horseshoe {
            global: 1.0,
            slab: 3.0,
            noise: Noise::HalfCauchy(0.5),
            burn_in: 0,
            draws: 1,
            thinning: 1,
        };
        let mut stream = stream(4, 0, Purpose::Inference);
        let mut chain = Chain::new(&horseshoe, &design);
        let (mut weights, mut squares, mut noises) = (Vec::new(), Vec::new(), Vec::new());

        for _ in 0..40_000 {
            let weight = chain.sweep(&mut stream)[0];
            weights.push(weight);
            squares.push(weight * weight);
            noises.push(chain.now.noise);
        }

        let exact = one_weight_and_noise(&design, 0.5, 3.0);
        assert_mean(&weights, exact[0], "mean");
        assert_mean(&squares, exact[1], "square");
        assert_mean(&noises, exact[2], "noise");
    }
}
