//! A linear model under a Gaussian prior with one variance per weight: the step that all three sparse priors repeat.
//!
//! Enters: a design Φ (n×M), outputs y, prior N(m₀, V) with diagonal V, noise variance σ². Leaves: the posterior's
//! means, variances and draws, and the log evidence. Two equal paths:
//!
//! ```text
//! dual,   n < M:   C = σ²I + ΦVΦᵀ = LLᵀ,       G = L⁻¹ΦV^½     covariance V^½ (I - GᵀG) V^½      O(n²M)
//! primal, n ≥ M:   B = I + V^½ΦᵀΦV^½/σ² = RRᵀ,                 covariance V^½ B⁻¹ V^½            O(M³)
//! ```
//!
//! Draws in the dual follow Bhattacharya, Chakraborty & Mallick (2016), *Fast sampling with Gaussian scale mixture
//! priors in high-dimensional regression*: a draw of prior and noise, corrected by what it mispredicts.

use std::f64::consts::PI;

use faer::Mat;

use super::Design;
use crate::math::cholesky::{Cholesky, inner, outer, times, transposed_times};
use crate::math::random::Stream;
use crate::math::vector::dot;

/// The least share of its prior variance that data leave to a weight: below it, rounding decides.
const LEAST_LEFT: f64 = 1e-14;

/// What is greater, in units of a prior deviation, overflows when it is squared: such data are not used.
const HUGE: f64 = 1e100;

/// Independent weights w_k ~ N(mean_k, variance_k) with positive variances.
#[derive(Debug, Clone)]
pub(super) struct Diagonal {
    pub mean: Vec<f64>,
    pub variance: Vec<f64>,
}

/// A design, with what does not depend on the prior computed once.
#[derive(Debug)]
pub(super) struct Regression<'a> {
    design: &'a Design,
    /// The lower triangle of ΦᵀΦ in the primal.
    gram: Option<Mat<f64>>,
}

/// The posterior of the weights.
#[derive(Debug, Clone)]
pub(super) struct Gaussian {
    pub mean: Vec<f64>,
    pub variance: Vec<f64>,
    /// The share of its prior variance that is left to each weight, in (0, 1].
    pub left: Vec<f64>,
    /// Φᵀ C⁻¹ (y - Φm₀): how strongly data pull each weight away from its prior mean.
    pub pull: Vec<f64>,
    /// log N(y; Φm₀, C)
    pub log_evidence: f64,
    /// V^½
    deviation: Vec<f64>,
    factor: Factor,
}

#[derive(Debug, Clone)]
enum Factor {
    /// L and G, row by row.
    Dual {
        lower: Cholesky,
        g: Vec<f64>,
        noise: f64,
    },
    /// R⁻¹, row by row.
    Primal { inverse: Vec<f64> },
    /// No data, or none that floating point can hold.
    Prior,
}

impl<'a> Regression<'a> {
    pub(super) fn new(design: &'a Design) -> Self {
        let gram = (design.n >= design.m).then(|| inner(&design.rows, design.n, design.m));
        Self { design, gram }
    }

    /// The posterior under a prior and a noise variance.
    pub(super) fn posterior(&self, prior: &Diagonal, noise: f64) -> Gaussian {
        let deviation: Vec<f64> = prior.variance.iter().map(|v| v.sqrt()).collect();
        let fitted = times(&self.design.rows, self.design.n, &prior.mean);
        let residual: Vec<f64> = self
            .design
            .y
            .iter()
            .zip(&fitted)
            .map(|(y, f)| y - f)
            .collect();
        let known = match &self.gram {
            Some(gram) => self.primal(gram, &deviation, &residual, noise),
            None => self.dual(&deviation, &residual, noise),
        };
        let known = known
            .filter(Known::is_usable)
            .unwrap_or_else(|| Known::nothing(prior.mean.len()));
        known.gaussian(prior, deviation)
    }

    /// ```text
    /// pull = V^-½ Gᵀ L⁻¹r,   left = 1 - ‖G_k‖²,   log N(r; 0, C) = -½(n log 2π + log|C| + ‖L⁻¹r‖²)
    /// ```
    fn dual(&self, deviation: &[f64], residual: &[f64], noise: f64) -> Option<Known> {
        let (n, m) = (self.design.n, self.design.m);
        let mut g = Vec::new();
        scale_columns(&self.design.rows, deviation, &mut g);
        let lower = Cholesky::new(&plus_diagonal(outer(&g, n, m), noise))?;
        lower.forward_rows(&mut g, m);
        let mut white = residual.to_vec();
        lower.forward(&mut white);
        let pull = transposed_times(&g, m, &white)
            .iter()
            .zip(deviation)
            .map(|(t, d)| t / d)
            .collect();
        let mut left = vec![1.0; m];
        for row in g.chunks_exact(m.max(1)) {
            left.iter_mut()
                .zip(row)
                .for_each(|(left, g)| *left -= g * g);
        }
        let log_evidence = log_normal(n, lower.log_determinant(), dot(&white, &white));
        Some(Known {
            pull,
            left,
            log_evidence,
            factor: Factor::Dual { lower, g, noise },
        })
    }

    /// ```text
    /// t = V^½Φᵀr/σ²,   pull = V^-½ B⁻¹t,   left = (B⁻¹)_kk = ‖R⁻¹e_k‖²,
    /// log|C| = n log σ² + log|B|,   rᵀC⁻¹r = ‖r - Φδ‖²/σ² + δᵀV⁻¹δ   with the shift δ = V^½B⁻¹t
    /// ```
    fn primal(
        &self,
        gram: &Mat<f64>,
        deviation: &[f64],
        residual: &[f64],
        noise: f64,
    ) -> Option<Known> {
        let (n, m) = (self.design.n, self.design.m);
        let factor = Cholesky::new(&normal_matrix(gram, deviation, noise))?;
        let mut inverse = vec![0.0; m * m];
        (0..m).for_each(|k| inverse[k * m + k] = 1.0);
        factor.forward_rows(&mut inverse, m);
        let t: Vec<f64> = transposed_times(&self.design.rows, m, residual)
            .iter()
            .zip(deviation)
            .map(|(t, d)| t * d / noise)
            .collect();
        let unit_shift = transposed_times(&inverse, m, &times(&inverse, m, &t));
        let pull = unit_shift
            .iter()
            .zip(deviation)
            .map(|(u, d)| u / d)
            .collect();
        let mut left = vec![0.0; m];
        for row in inverse.chunks_exact(m.max(1)) {
            left.iter_mut()
                .zip(row)
                .for_each(|(left, r)| *left += r * r);
        }
        let shift: Vec<f64> = unit_shift
            .iter()
            .zip(deviation)
            .map(|(u, d)| u * d)
            .collect();
        let fitted = times(&self.design.rows, self.design.n, &shift);
        let error: f64 = residual
            .iter()
            .zip(&fitted)
            .map(|(r, f)| (r - f) * (r - f))
            .sum();
        let log_determinant = n as f64 * noise.ln() + factor.log_determinant();
        let log_evidence = log_normal(
            n,
            log_determinant,
            error / noise + dot(&unit_shift, &unit_shift),
        );
        Some(Known {
            pull,
            left,
            log_evidence,
            factor: Factor::Primal { inverse },
        })
    }

    /// A draw from the posterior under the prior N(0, V), without its moments: half the work of [`Self::posterior`].
    pub(super) fn draw(&self, variance: &[f64], noise: f64, stream: &mut Stream) -> Vec<f64> {
        self.marginal(variance, noise).draw(self.design, stream)
    }

    /// The outputs with the weights integrated out under the prior N(0, V), ready for draws of the weights.
    pub(super) fn marginal(&self, variance: &[f64], noise: f64) -> Marginal {
        let deviation: Vec<f64> = variance.iter().map(|v| v.sqrt()).collect();
        let solved = match &self.gram {
            Some(gram) => self.marginal_primal(gram, &deviation, noise),
            None => self.marginal_dual(&deviation, noise),
        };
        let solved = solved.filter(|(_, log_evidence)| log_evidence.abs() < HUGE);
        let (solved, log_evidence) = solved.unwrap_or((Solved::Prior, 0.0));
        Marginal {
            log_evidence,
            deviation,
            noise,
            solved,
        }
    }

    /// log N(y; 0, C) with yᵀC⁻¹y = yᵀy/σ² - ‖R⁻¹t‖² and t = V^½Φᵀy/σ².
    fn marginal_primal(
        &self,
        gram: &Mat<f64>,
        deviation: &[f64],
        noise: f64,
    ) -> Option<(Solved, f64)> {
        let Design { n, m, rows, y } = self.design;
        let factor = Cholesky::new(&normal_matrix(gram, deviation, noise))?;
        let mut white = transposed_times(rows, *m, y);
        white
            .iter_mut()
            .zip(deviation)
            .for_each(|(t, d)| *t *= d / noise);
        factor.forward(&mut white);
        let log_determinant = *n as f64 * noise.ln() + factor.log_determinant();
        let log_evidence = log_normal(*n, log_determinant, dot(y, y) / noise - dot(&white, &white));
        Some((Solved::Primal { factor, white }, log_evidence))
    }

    fn marginal_dual(&self, deviation: &[f64], noise: f64) -> Option<(Solved, f64)> {
        let Design { n, m, rows, y } = self.design;
        let mut scaled = Vec::new();
        scale_columns(rows, deviation, &mut scaled);
        let lower = Cholesky::new(&plus_diagonal(outer(&scaled, *n, *m), noise))?;
        let mut white = y.clone();
        lower.forward(&mut white);
        let log_evidence = log_normal(*n, lower.log_determinant(), dot(&white, &white));
        Some((Solved::Dual { lower, scaled }, log_evidence))
    }
}

/// The outputs with the weights integrated out.
pub(super) struct Marginal {
    /// log N(y; 0, C)
    pub log_evidence: f64,
    /// V^½
    deviation: Vec<f64>,
    noise: f64,
    solved: Solved,
}

enum Solved {
    /// L and A = ΦV^½, row by row.
    Dual {
        lower: Cholesky,
        scaled: Vec<f64>,
    },
    /// R and R⁻¹V^½Φᵀy/σ².
    Primal {
        factor: Cholesky,
        white: Vec<f64>,
    },
    Prior,
}

impl Marginal {
    /// A draw of the weights, given the outputs that they were integrated out of.
    ///
    /// ```text
    /// dual     V^-½w = z + AᵀC⁻¹(y - Az - σε)
    /// primal   V^-½w = R⁻ᵀ(R⁻¹V^½Φᵀy/σ² + z)
    /// ```
    pub(super) fn draw(&self, design: &Design, stream: &mut Stream) -> Vec<f64> {
        let z: Vec<f64> = self.deviation.iter().map(|_| stream.normal()).collect();
        let unit: Vec<f64> = match &self.solved {
            Solved::Prior => z.clone(),
            Solved::Primal { factor, white } => {
                let mut unit: Vec<f64> = white.iter().zip(&z).map(|(t, z)| t + z).collect();
                factor.backward(&mut unit);
                unit
            }
            Solved::Dual { lower, scaled } => {
                let seen = times(scaled, design.n, &z);
                let outputs = design.y.iter().zip(&seen);
                let mut missed: Vec<f64> = outputs
                    .map(|(y, seen)| y - seen - self.noise.sqrt() * stream.normal())
                    .collect();
                lower.forward(&mut missed);
                lower.backward(&mut missed);
                transposed_times(scaled, z.len(), &missed)
                    .iter()
                    .zip(&z)
                    .map(|(u, z)| u + z)
                    .collect()
            }
        };
        let unit = if unit.iter().all(|u| u.abs() < HUGE) {
            unit
        } else {
            z
        };
        unit.iter()
            .zip(&self.deviation)
            .map(|(u, d)| u * d)
            .collect()
    }
}

/// What data say, before it is joined to the prior.
struct Known {
    pull: Vec<f64>,
    left: Vec<f64>,
    log_evidence: f64,
    factor: Factor,
}

impl Known {
    fn nothing(m: usize) -> Self {
        Self {
            pull: vec![0.0; m],
            left: vec![1.0; m],
            log_evidence: 0.0,
            factor: Factor::Prior,
        }
    }

    fn is_usable(&self) -> bool {
        let mut numbers = self
            .pull
            .iter()
            .chain(&self.left)
            .chain([&self.log_evidence]);
        numbers.all(|x| x.abs() < HUGE)
    }

    /// mean = m₀ + V pull,   variance = V left
    fn gaussian(self, prior: &Diagonal, deviation: Vec<f64>) -> Gaussian {
        let left: Vec<f64> = self
            .left
            .iter()
            .map(|left| left.clamp(LEAST_LEFT, 1.0))
            .collect();
        let shift = self
            .pull
            .iter()
            .zip(&prior.variance)
            .map(|(pull, v)| pull * v);
        Gaussian {
            mean: prior
                .mean
                .iter()
                .zip(shift)
                .map(|(mean, shift)| mean + shift)
                .collect(),
            variance: left
                .iter()
                .zip(&prior.variance)
                .map(|(left, v)| left * v)
                .collect(),
            left,
            pull: self.pull,
            log_evidence: self.log_evidence,
            deviation,
            factor: self.factor,
        }
    }
}

impl Gaussian {
    /// A draw of all weights.
    ///
    /// ```text
    /// dual     w = m + V^½ (z - Gᵀ(Gz + L⁻¹σε))
    /// primal   w = m + V^½ R⁻ᵀz
    /// ```
    pub(super) fn sample(&self, stream: &mut Stream) -> Vec<f64> {
        let m = self.mean.len();
        let z: Vec<f64> = (0..m).map(|_| stream.normal()).collect();
        let unit = match &self.factor {
            Factor::Prior => z,
            Factor::Primal { inverse } => transposed_times(inverse, m, &z),
            Factor::Dual { lower, g, noise } => {
                let seen = times(g, lower.order(), &z);
                let mut missed: Vec<f64> = seen
                    .iter()
                    .map(|_| noise.sqrt() * stream.normal())
                    .collect();
                lower.forward(&mut missed);
                missed
                    .iter_mut()
                    .zip(&seen)
                    .for_each(|(missed, seen)| *missed += seen);
                let correction = transposed_times(g, m, &missed);
                z.iter().zip(&correction).map(|(z, c)| z - c).collect()
            }
        };
        let shift = unit.iter().zip(&self.deviation).map(|(u, d)| u * d);
        self.mean
            .iter()
            .zip(shift)
            .map(|(mean, shift)| mean + shift)
            .collect()
    }

    /// Mean and variance of φᵀw, without the noise of an observation.
    pub(super) fn predict(&self, row: &[f64]) -> (f64, f64) {
        let t: Vec<f64> = row
            .iter()
            .zip(&self.deviation)
            .map(|(x, d)| x * d)
            .collect();
        let all = dot(&t, &t);
        let variance = match &self.factor {
            Factor::Prior => all,
            Factor::Primal { inverse } => {
                let r = times(inverse, t.len(), &t);
                dot(&r, &r)
            }
            Factor::Dual { lower, g, .. } => {
                let seen = times(g, lower.order(), &t);
                (all - dot(&seen, &seen)).max(LEAST_LEFT * all)
            }
        };
        (dot(row, &self.mean), variance)
    }
}

/// AD for a diagonal D.
fn scale_columns(rows: &[f64], diagonal: &[f64], scaled: &mut Vec<f64>) {
    scaled.clear();
    scaled.reserve(rows.len());
    for row in rows.chunks_exact(diagonal.len().max(1)) {
        scaled.extend(row.iter().zip(diagonal).map(|(x, d)| x * d));
    }
}

/// I + V^½ΦᵀΦV^½/σ², the lower triangle.
fn normal_matrix(gram: &Mat<f64>, deviation: &[f64], noise: f64) -> Mat<f64> {
    let m = deviation.len();
    let entry = |i: usize, j: usize| {
        if i < j {
            0.0
        } else {
            gram[(i, j)] * (deviation[i] / noise) * deviation[j]
        }
    };
    plus_diagonal(Mat::from_fn(m, m, entry), 1.0)
}

fn plus_diagonal(mut matrix: Mat<f64>, value: f64) -> Mat<f64> {
    for i in 0..matrix.nrows() {
        matrix[(i, i)] += value;
    }
    matrix
}

fn log_normal(n: usize, log_determinant: f64, square: f64) -> f64 {
    -0.5 * (n as f64 * (2.0 * PI).ln() + log_determinant + square)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::math::random::{Purpose, stream};

    struct Problem {
        design: Design,
        prior: Diagonal,
        noise: f64,
    }

    fn problem(n: usize, m: usize, noise: f64, seed: u64) -> Problem {
        let mut stream = stream(seed, 0, Purpose::Inference);
        let mut normals = |n: usize| (0..n).map(|_| stream.normal()).collect::<Vec<f64>>();
        let design = Design::new(m, normals(n * m), normals(n));
        let variance = normals(m).iter().map(|x| (2.0 * x).exp()).collect();
        Problem {
            design,
            prior: Diagonal {
                mean: normals(m),
                variance,
            },
            noise,
        }
    }

    /// The same design, worked on in the primal or in the dual, whatever its shape.
    fn forced(design: &Design, primal: bool) -> Regression<'_> {
        let gram = primal.then(|| inner(&design.rows, design.n, design.m));
        Regression { design, gram }
    }

    /// (V⁻¹ + ΦᵀΦ/σ²)⁻¹ by Gauss and Jordan.
    fn covariance(design: &Design, variance: &[f64], noise: f64) -> Vec<Vec<f64>> {
        let m = design.m;
        let gram = |i: usize, j: usize| {
            design
                .rows
                .chunks_exact(m)
                .map(|r| r[i] * r[j])
                .sum::<f64>()
                / noise
        };
        let unit = |i: usize, j: usize| f64::from(u8::from(i == j));
        let row = |i: usize| {
            let left = (0..m).map(move |j| gram(i, j) + unit(i, j) / variance[i]);
            left.chain((0..m).map(move |j| unit(i, j)))
                .collect::<Vec<f64>>()
        };
        let mut a: Vec<Vec<f64>> = (0..m).map(row).collect();
        for k in 0..m {
            let pivot: Vec<f64> = a[k].iter().map(|x| x / a[k][k]).collect();
            for i in (0..m).filter(|i| *i != k) {
                let factor = a[i][k];
                a[i].iter_mut()
                    .zip(&pivot)
                    .for_each(|(x, p)| *x -= factor * p);
            }
            a[k] = pivot;
        }
        a.iter().map(|row| row[m..].to_vec()).collect()
    }

    proptest! {
        #[test]
        fn dual_and_primal_agree(n in 0_usize..12, m in 1_usize..12, digits in -4..1, seed in 0_u64..1000) {
            let Problem { design, prior, noise } = problem(n, m, 10_f64.powi(digits), seed);

            let dual = forced(&design, false).posterior(&prior, noise);
            let primal = forced(&design, true).posterior(&prior, noise);

            prop_assert!((dual.log_evidence - primal.log_evidence).abs() < 1e-7 * (1.0 + dual.log_evidence.abs()));
            for k in 0..m {
                let unit = prior.variance[k].sqrt();
                prop_assert!((dual.mean[k] - primal.mean[k]).abs() < 1e-7 * unit);
                prop_assert!((dual.variance[k] - primal.variance[k]).abs() < 1e-8 * unit * unit);
            }
            let row: Vec<f64> = (0..m).map(|k| (k as f64).cos()).collect();
            let ((a, v), (b, w)) = (dual.predict(&row), primal.predict(&row));
            prop_assert!((a - b).abs() < 1e-6 * (1.0 + a.abs()) && (v - w).abs() < 1e-6 * (1.0 + v.abs()));
        }
    }

    #[test]
    fn marginals_are_those_of_the_inverse_matrix() {
        for (n, m) in [(3, 6), (6, 3)] {
            let Problem {
                design,
                prior,
                noise,
            } = problem(n, m, 0.1, 5);

            let posterior = Regression::new(&design).posterior(&prior, noise);

            let exact = covariance(&design, &prior.variance, noise);
            assert!((0..m).all(|k| (posterior.variance[k] / exact[k][k] - 1.0).abs() < 1e-9));
        }
    }

    /// Means and covariances of draws are those of the exact Gaussian within five standard errors.
    fn assert_gaussian(draws: &[Vec<f64>], mean: &[f64], covariance: &[Vec<f64>]) {
        let n = draws.len() as f64;
        for i in 0..mean.len() {
            let error = (covariance[i][i] / n).sqrt();
            let drawn = draws.iter().map(|w| w[i]).sum::<f64>() / n;
            assert!(
                (drawn - mean[i]).abs() < 5.0 * error,
                "mean {i}: {drawn} ± {error}, not {}",
                mean[i]
            );
            for j in 0..=i {
                let wanted = covariance[i][j];
                let error = ((covariance[i][i] * covariance[j][j] + wanted * wanted) / n).sqrt();
                let drawn = draws
                    .iter()
                    .map(|w| (w[i] - mean[i]) * (w[j] - mean[j]))
                    .sum::<f64>()
                    / n;
                assert!(
                    (drawn - wanted).abs() < 5.0 * error,
                    "{i} {j}: {drawn} ± {error}, not {wanted}"
                );
            }
        }
    }

    #[test]
    fn draws_have_the_exact_mean_and_covariance() {
        let n_draws = 20_000;
        for (n, m) in [(3, 5), (5, 3)] {
            let Problem {
                design,
                mut prior,
                noise,
            } = problem(n, m, 0.2, 9);
            prior.mean = vec![0.0; m];
            let exact = covariance(&design, &prior.variance, noise);
            for primal in [false, true] {
                let mut stream = stream(1, 0, Purpose::Inference);
                let regression = forced(&design, primal);
                let posterior = regression.posterior(&prior, noise);

                let kept: Vec<_> = (0..n_draws)
                    .map(|_| posterior.sample(&mut stream))
                    .collect();
                let fast: Vec<_> = (0..n_draws)
                    .map(|_| regression.draw(&prior.variance, noise, &mut stream))
                    .collect();

                assert_gaussian(&kept, &posterior.mean, &exact);
                assert_gaussian(&fast, &posterior.mean, &exact);
            }
        }
    }
}
