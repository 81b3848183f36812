//! The Laplace prior by expectation propagation.
//!
//! Reference: MiVaBo, App. A; Seeger (2008), *Bayesian inference and optimal design for the sparse linear model*.

use super::ep::{Cavity, PriorTerm, Tilted, propagate};
use super::{Design, SparsePosterior, positive_or};
use crate::math::tail::half_line;

/// Independent weights with density p(w) = exp(-|w|/scale) / (2 scale).
///
/// Expectation propagation, rather than the convex bound of Seeger & Nickisch (2011), *Large scale Bayesian inference
/// and experimental design for sparse linear models*, which the paper's experiments used: the bound replaces the prior
/// of a weight that data say nothing about, of variance 2 scale², by a Gaussian of variance scale². With many more
/// weights than observations that is most of them, and Thompson sampling would explore too little. Expectation
/// propagation is exact there, and it is as safe: the density is log-concave, so that no site ever wants a negative
/// precision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Laplace {
    /// b in exp(-|w|/b).
    pub scale: f64,
    /// Variance of the noise of an observation; floored at 10⁻⁸ of the prior variance of an output.
    pub noise: f64,
}

impl Default for Laplace {
    /// For standardised outputs and a few dozen features of order 1 that are not 0 at a point.
    fn default() -> Self {
        Self {
            scale: 0.2,
            noise: 0.01,
        }
    }
}

impl Laplace {
    /// The belief after the design's observations.
    pub(crate) fn fit(&self, design: &Design) -> SparsePosterior {
        let prior = Term {
            rate: 1.0 / positive_or(self.scale, 1.0),
        };
        let noise = design.floored(self.noise, prior.variance());
        SparsePosterior::propagated(propagate(&prior, design, noise), None)
    }
}

/// exp(-rate |w|) rate/2
struct Term {
    rate: f64,
}

impl PriorTerm for Term {
    fn variance(&self) -> f64 {
        2.0 / (self.rate * self.rate)
    }

    /// The two half-lines w > 0 and w < 0 carry Gaussians pulled down by the rate; their mixture has
    ///
    /// ```text
    /// E = p₊ E₊ - p₋ E₋,   Var = p₊ Var₊ + p₋ Var₋ + p₊ p₋ (E₊ + E₋)²
    /// ```
    fn tilted(&self, cavity: Cavity) -> Tilted {
        // A cavity this flat says nothing, and the half-line needs some precision.
        let precision = cavity.precision.max(1e-20 * self.rate * self.rate);
        let above = half_line(precision, cavity.pull - self.rate);
        let below = half_line(precision, -cavity.pull - self.rate);
        // Relative to the larger mass: both alone may vanish or overflow.
        let larger = above.log_mass.max(below.log_mass);
        let up = (above.log_mass - larger).exp();
        let down = (below.log_mass - larger).exp();
        let (p_up, p_down) = (up / (up + down), down / (up + down));
        let apart = above.mean + below.mean;
        let within = p_up * above.variance + p_down * below.variance;
        Tilted {
            log_mass: (0.5 * self.rate).ln() + larger + (up + down).ln(),
            mean: p_up * above.mean - p_down * below.mean,
            variance: within + p_up * p_down * apart * apart,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::{Purpose, stream};
    use crate::math::vector::dot;

    struct Exact {
        mean: Vec<f64>,
        variance: Vec<f64>,
        log_evidence: f64,
    }

    /// The trapezoidal rule on a grid that has the kink of the density, 0, among its points.
    fn quadrature(laplace: Laplace, design: &Design, step: f64, n_steps: i32) -> Exact {
        let (m, width) = (design.m, 2 * n_steps + 1);
        let (mut mass, mut first, mut second) = (0.0, vec![0.0; m], vec![0.0; m]);
        for code in 0..width.pow(u32::try_from(m).unwrap()) {
            let digit = |k: usize| code / width.pow(u32::try_from(k).unwrap()) % width - n_steps;
            let w: Vec<f64> = (0..m).map(|k| f64::from(digit(k)) * step).collect();
            let errors = design
                .rows
                .chunks_exact(m)
                .zip(&design.y)
                .map(|(row, y)| (dot(row, &w) - y).powi(2));
            let density = (-0.5 * errors.sum::<f64>() / laplace.noise
                - w.iter().map(|w| w.abs()).sum::<f64>() / laplace.scale)
                .exp();
            mass += density;
            for k in 0..m {
                first[k] += density * w[k];
                second[k] += density * w[k] * w[k];
            }
        }
        let mean: Vec<f64> = first.iter().map(|f| f / mass).collect();
        let variance = second
            .iter()
            .zip(&mean)
            .map(|(s, mean)| s / mass - mean * mean)
            .collect();
        let normal = 0.5 * design.n as f64 * (2.0 * std::f64::consts::PI * laplace.noise).ln();
        let log_evidence = mass.ln() + m as f64 * (step / (2.0 * laplace.scale)).ln() - normal;
        Exact {
            mean,
            variance,
            log_evidence,
        }
    }

    fn problem(n: usize, m: usize, seed: u64) -> Design {
        let mut stream = stream(seed, 0, Purpose::Inference);
        let mut normals = |n: usize| (0..n).map(|_| stream.normal()).collect::<Vec<f64>>();
        let (rows, weights, errors) = (normals(n * m), normals(m), normals(n));
        let y = rows
            .chunks_exact(m)
            .zip(errors)
            .map(|(row, e)| dot(row, &weights) + 0.4 * e)
            .collect();
        Design::new(m, rows, y)
    }

    #[test]
    fn one_weight_has_its_exact_moments_and_evidence() {
        let laplace = Laplace {
            scale: 0.7,
            noise: 0.3,
        };
        for (x, y) in [
            (1.0, 2.0),
            (1.0, 0.1),
            (0.2, -0.5),
            (-3.0, 1.0),
            (0.01, 1.0),
        ] {
            let design = Design::new(1, vec![x], vec![y]);

            let (fit, exact) = (
                laplace.fit(&design),
                quadrature(laplace, &design, 1e-3, 20_000),
            );

            // What is left of the damped steps is 10⁻⁴ deviations at most.
            let unit = exact.variance[0].sqrt();
            assert!(
                (fit.mean()[0] - exact.mean[0]).abs() < 2e-4 * unit,
                "{x} {y}"
            );
            assert!(
                (fit.variance()[0] / exact.variance[0] - 1.0).abs() < 4e-4,
                "{x} {y}"
            );
            assert!(
                (fit.log_evidence().unwrap() - exact.log_evidence).abs() < 1e-5,
                "{x} {y}"
            );
        }
    }

    fn median_and_worst(mut errors: Vec<f64>) -> (f64, f64) {
        errors.sort_by(f64::total_cmp);
        (errors[errors.len() / 2], errors[errors.len() - 1])
    }

    /// The error of expectation propagation itself: small where the data determine the weights, larger where they leave
    /// ridges, which a Gaussian can only round off.
    #[test]
    fn few_weights_have_nearly_their_moments_and_evidence() {
        let laplace = Laplace {
            scale: 0.5,
            noise: 0.2,
        };
        let cases = [
            (1, 2, 0.02, 300),
            (3, 2, 0.02, 300),
            (2, 3, 0.08, 75),
            (4, 3, 0.08, 75),
        ];
        for (n, m, step, n_steps) in cases {
            let mut errors = [vec![], vec![], vec![]];
            for seed in 0..12 {
                let design = problem(n, m, seed);

                let (fit, exact) = (
                    laplace.fit(&design),
                    quadrature(laplace, &design, step, n_steps),
                );

                for k in 0..m {
                    errors[0]
                        .push((fit.mean()[k] - exact.mean[k]).abs() / exact.variance[k].sqrt());
                    errors[1].push((fit.variance()[k] / exact.variance[k] - 1.0).abs());
                }
                errors[2].push((fit.log_evidence().unwrap() - exact.log_evidence).abs());
            }
            let [mean, variance, evidence] = errors.map(median_and_worst);
            assert!(
                mean.0 < 0.01 && mean.1 < 0.05,
                "{n} {m}: means off by {mean:?} deviations"
            );
            assert!(
                variance.0 < 0.04 && variance.1 < 0.3,
                "{n} {m}: variances off by {variance:?}"
            );
            assert!(
                evidence.0 < 0.01 && evidence.1 < 0.07,
                "{n} {m}: evidence off by {evidence:?}"
            );
        }
    }

    #[test]
    fn without_data_the_belief_is_the_prior() {
        let laplace = Laplace {
            scale: 3.0,
            noise: 1.0,
        };

        let fit = laplace.fit(&Design::new(2, vec![1.0, 0.0], vec![4.0]));

        assert!((fit.variance()[1] / 18.0 - 1.0).abs() < 1e-12);
        assert_eq!(fit.mean()[1], 0.0);
    }
}
