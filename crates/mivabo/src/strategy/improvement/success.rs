//! How likely a trial is to have a value, by a process over values and failures.
//!
//! ```text
//! z = 1 for a value, -1 for a failure;   z = g(x) + ε,   g ~ GP,   ε ~ N(0, noise)
//! P = P(g > 0) = Φ(a),   a = μ/s,   s² = variance of g
//! ∂log P/∂μ = r/s,   ∂log P/∂s² = -r a/(2s²),   r = φ(a)/Φ(a)
//! ```
//!
//! P is the probability that a value is likelier than a failure. The noise is fitted like all else: where failures are bad luck it takes
//! them, g is positive nearly everywhere, and P says nothing; where they have a cause that the parameters show, P falls to nothing beyond
//! some border.

use std::f64::consts::TAU;

use crate::math::tail::half_line;
use crate::surrogate::Prediction;
use crate::surrogate::process::{Process, Sloped, Traits};

/// Smaller variances count as this one.
const LEAST_VARIANCE: f64 = 1e-9;

/// The largest |a|.
const FARTHEST: f64 = 1e6;

/// A process over values and failures.
#[derive(Debug)]
pub(super) struct Success(Process);

impl Success {
    pub(super) fn new(process: Process) -> Success {
        Success(process)
    }

    /// log P at many points.
    pub(super) fn logs(&self, points: &[Traits]) -> Vec<f64> {
        let predictions = self.0.predict_all(points).into_iter();
        predictions
            .map(|prediction| log_positive(prediction).value)
            .collect()
    }

    /// log P, and its derivatives by the continuous coordinates.
    pub(super) fn log_with_gradient(&self, at: &Traits) -> (f64, Vec<f64>) {
        let Sloped {
            prediction,
            mean,
            variance,
        } = self.0.predict_with_gradient(at);
        let log = log_positive(prediction);
        let slopes = mean
            .iter()
            .zip(&variance)
            .map(|(m, v)| log.by_mean * m + log.by_variance * v);
        (log.value, slopes.collect())
    }
}

/// log P(g > 0), and its derivatives by mean and variance of g.
#[derive(Debug)]
struct LogPositive {
    value: f64,
    by_mean: f64,
    by_variance: f64,
}

fn log_positive(prediction: Prediction) -> LogPositive {
    let variance = prediction.variance.max(LEAST_VARIANCE);
    let deviation = variance.sqrt();
    let a = (prediction.mean / deviation).clamp(-FARTHEST, FARTHEST);
    // √(2π) exp(a²/2) Φ(a), and a + r
    let law = half_line(1.0, a);
    let ratio = law.mean - a;
    LogPositive {
        value: law.log_mass - 0.5 * (TAU.ln() + a * a),
        by_mean: ratio / deviation,
        by_variance: -ratio * a / (2.0 * variance),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_p_is_that_of_the_normal_distribution_and_its_slopes_are_those_of_differences() {
        for (mean, variance) in [
            (0.4, 0.84),
            (1.0, 0.21),
            (-0.9, 0.4),
            (-1.0, 2e-3),
            (-40.0, 1.0),
        ] {
            let at = |mean: f64, variance: f64| log_positive(Prediction { mean, variance });
            let found = at(mean, variance);
            let a = mean / f64::sqrt(variance);

            if a > -30.0 {
                let slow = (0.5 * libm::erfc(-a / std::f64::consts::SQRT_2)).ln();
                assert!(
                    (found.value - slow).abs() < 1e-10 * (1.0 + slow.abs()),
                    "{mean}"
                );
            }
            let h = 1e-7;
            let by_mean = (at(mean + h, variance).value - at(mean - h, variance).value) / (2.0 * h);
            let by_variance =
                (at(mean, variance + h).value - at(mean, variance - h).value) / (2.0 * h);
            assert!(
                (found.by_mean - by_mean).abs() < 1e-4 * (1.0 + by_mean.abs()),
                "{mean}"
            );
            assert!(
                (found.by_variance - by_variance).abs() < 1e-4 * (1.0 + by_variance.abs()),
                "{mean}"
            );
        }
    }

    #[test]
    fn log_p_is_a_number_at_the_ends() {
        for (mean, variance) in [
            (-1e100, 0.0),
            (-1e3, 1e-300),
            (0.0, 0.0),
            (1e3, 0.0),
            (1e100, 1e100),
        ] {
            let found = log_positive(Prediction { mean, variance });

            assert!(
                [found.value, found.by_mean, found.by_variance]
                    .iter()
                    .all(|x| x.is_finite()),
                "{found:?}"
            );
            assert!(found.value <= 1e-12, "{found:?}");
        }
    }
}
