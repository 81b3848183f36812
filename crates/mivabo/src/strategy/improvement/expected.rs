//! The logarithm of the expected improvement on a value, and its slopes.
//!
//! ```text
//! EI = E max(0, y* - f) = s h(z),   h = φ + zΦ,   z = (y* - μ)/s
//! ∂log EI/∂μ = -Φ/(h s),   ∂log EI/∂s = φ/(h s)
//! ```
//!
//! Far from the best point EI is below the smallest number, but its logarithm still shows where to go (Ament et al. 2023). For
//! z < -1 the two parts of h cancel; there h is Φ(z) times the mean of a normal about z cut off at zero, and the sparse
//! priors' `half_line` has both factors without cancellation.

use std::f64::consts::{SQRT_2, TAU};

use crate::math::tail::half_line;
use crate::surrogate::Prediction;

/// Deviations below it count as this one, so that a point that is known exactly has a number too.
const LEAST_DEVIATION: f64 = 1e-50;

/// The largest |z|: its square is a number.
const FARTHEST: f64 = 1e100;

/// Below it the two parts of h cancel.
const CANCELS: f64 = -1.0;

/// log EI, and its derivatives by the mean and by the deviation of f.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LogImprovement {
    /// log EI
    pub value: f64,
    /// ∂/∂μ
    pub by_mean: f64,
    /// ∂/∂s
    pub by_deviation: f64,
}

/// How much lower than `target` f is expected to be; always finite for finite arguments below 1e50.
pub(crate) fn log_improvement(prediction: Prediction, target: f64) -> LogImprovement {
    let deviation = prediction.variance.sqrt().max(LEAST_DEVIATION);
    let z = ((target - prediction.mean) / deviation).clamp(-FARTHEST, FARTHEST);
    let Gain { log, below, at } = gain(z);
    LogImprovement {
        value: log + deviation.ln(),
        by_mean: -below / deviation,
        by_deviation: at / deviation,
    }
}

/// log h, Φ/h and φ/h.
struct Gain {
    log: f64,
    below: f64,
    at: f64,
}

fn gain(z: f64) -> Gain {
    if z < CANCELS {
        // h = Φ(z) E[X], where X is a normal about z that is cut off at zero: nothing is subtracted.
        let law = half_line(1.0, z);
        let log_below = law.log_mass - 0.5 * (TAU.ln() + z * z);
        return Gain {
            log: log_below + law.mean.ln(),
            below: 1.0 / law.mean,
            at: 1.0 - z / law.mean,
        };
    }
    let below = 0.5 * libm::erfc(-z / SQRT_2);
    let at = (-0.5 * z * z).exp() / TAU.sqrt();
    let h = at + z * below;
    Gain {
        log: h.ln(),
        below: below / h,
        at: at / h,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn improvement_is_known_at_the_target_and_far_above_it() {
        let at = |mean| {
            let variance = 1.0;
            log_improvement(Prediction { mean, variance }, 0.0).value
        };

        assert!((at(0.0).exp() - 0.398_942_28).abs() < 1e-8);
        assert!((at(1000.0) + 500_014.734_452_091).abs() < 1e-6);
    }

    /// z, log h, Φ/h, φ/h to 13 digits, computed with 400.
    const KNOWN: [(f64, f64, f64, f64); 11] = [
        (
            -1_000.0,
            -500_014.734_452_1,
            1_000.001_999_994,
            1_000_002.999_994,
        ),
        (
            -100.0,
            -5_010.129_578_8,
            100.019_994_004_2,
            10_002.999_400_42,
        ),
        (
            -30.0,
            -457.724_653_760_6,
            30.066_446_154_16,
            902.993_384_624_9,
        ),
        (
            -10.0,
            -55.553_122_036_12,
            10.194_383_033_41,
            102.943_830_334_1,
        ),
        (
            -5.01,
            -16.797_966_327_74,
            5.371_217_079_667,
            27.909_797_569_13,
        ),
        (-4.99, -16.690_729_996_8, 5.352_417_238_277, 27.708_562_019),
        (
            -1.01,
            -2.504_199_857_48,
            1.911_497_172_861,
            2.930_612_144_589,
        ),
        (
            -0.99,
            -2.466_114_391_669,
            1.897_057_637_186,
            2.878_087_060_814,
        ),
        (0.0, -0.918_938_533_204_7, 1.253_314_137_316, 1.0),
        (
            1.0,
            0.080_026_218_849_31,
            0.776_638_725_201_7,
            0.223_361_274_798_3,
        ),
        (8.0, 2.079_441_541_68, 0.125, 6.315_338_854_421e-16),
    ];

    #[test]
    fn logarithm_and_slopes_are_those_of_high_precision() {
        for (z, log, below, at) in KNOWN {
            let found = gain(z);

            assert!((found.log - log).abs() < 1e-11 * (1.0 + log.abs()), "{z}");
            assert!((found.below / below - 1.0).abs() < 1e-10, "{z}");
            assert!((found.at / at - 1.0).abs() < 1e-10, "{z}");
        }
    }

    #[test]
    fn improvement_is_the_integral_of_what_is_gained() {
        for (mean, variance, target) in [
            (0.3, 0.25, 0.0),
            (-2.0, 4.0, 1.0),
            (1.0, 1e-4, 0.97),
            (5.0, 1.0, 0.0),
        ] {
            let s = f64::sqrt(variance);
            let low = f64::min(target, mean) - 15.0 * s;
            let (n, h) = (200_000, (target - low) / 200_000.0);
            let density = |f: f64| (-0.5 * ((f - mean) / s).powi(2)).exp() / (s * TAU.sqrt());
            let gained =
                |i: i32| (target - (low + h * f64::from(i))) * density(low + h * f64::from(i));
            let integral = h * (0..n).map(gained).sum::<f64>();

            let found = log_improvement(Prediction { mean, variance }, target);

            assert!(
                (found.value - integral.ln()).abs() < 1e-4,
                "{mean} {found:?} {}",
                integral.ln()
            );
        }
    }

    #[test]
    fn slopes_are_those_of_finite_differences() {
        for (mean, deviation) in [(0.0, 1.0), (40.0, 0.5), (3.0, 1.0), (2.0, 2.0), (-5.0, 0.1)] {
            let at = |mean: f64, s: f64| {
                log_improvement(
                    Prediction {
                        mean,
                        variance: s * s,
                    },
                    0.0,
                )
            };
            let found = at(mean, deviation);

            let by_mean =
                (at(mean + 1e-6, deviation).value - at(mean - 1e-6, deviation).value) / 2e-6;
            let by_deviation =
                (at(mean, deviation + 1e-6).value - at(mean, deviation - 1e-6).value) / 2e-6;

            assert!(
                (found.by_mean - by_mean).abs() < 1e-5 * (1.0 + by_mean.abs()),
                "{found:?} {by_mean}"
            );
            assert!(
                (found.by_deviation - by_deviation).abs() < 1e-5 * (1.0 + by_deviation.abs()),
                "{found:?}"
            );
        }
    }

    #[test]
    fn points_without_variance_have_numbers() {
        for (mean, target) in [
            (0.0, 0.0),
            (1.0, 0.0),
            (0.0, 1.0),
            (-1e40, 1e40),
            (1e40, -1e40),
        ] {
            let found = log_improvement(
                Prediction {
                    mean,
                    variance: 0.0,
                },
                target,
            );

            let all = [found.value, found.by_mean, found.by_deviation];
            assert!(
                all.iter().all(|x| x.is_finite()),
                "{mean} {target} {found:?}"
            );
        }
        assert!(
            (log_improvement(
                Prediction {
                    mean: 1.0,
                    variance: 0.0
                },
                3.0
            )
            .value
                - 2.0_f64.ln())
            .abs()
                < 1e-12
        );
    }
}
