//! What a strategy's model believes of the value at a point, in the units of the goal.

use crate::measure::Sense;
use crate::surrogate::{Outputs, Prediction};

/// What the model of a strategy believes of f(x), the value at a point without noise, in the units of the goal.
///
/// A model sees outputs through a transform T that rises, and believes T(f(x)) to be normal, with mean m and deviation s. Of f(x) itself
///
/// ```text
/// mean      = T⁻¹(m)                              its median
/// deviation = (T⁻¹(m + s) - T⁻¹(m - s)) / 2       half the width of the interval that holds it with a probability of 68 %
/// ```
///
/// Where T is affine these are the mean and the standard deviation. Where it bends heavy tails, moments may not exist, but quantiles do.
/// Both saturate at the largest finite numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The value that is expected: the median of what is believed.
    pub mean: f64,
    /// How uncertain it is, at least 0.
    pub deviation: f64,
}

impl Estimate {
    /// From what a model believes, of values that are turned for it as `sense` says.
    pub(super) fn of(prediction: Prediction, outputs: &Outputs, sense: Sense) -> Estimate {
        let Prediction { mean, variance } = prediction;
        let spread = variance.sqrt();
        // Halves first: the difference of two outputs may overflow.
        let half = |z: f64| 0.5 * outputs.from_model(z);
        Estimate {
            mean: sense.turned(outputs.from_model(mean)),
            deviation: (half(mean + spread) - half(mean - spread)).max(0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::{Purpose, stream};
    use crate::surrogate::Transform;

    fn estimate(y: &[f64], transform: Transform, prediction: Prediction, sense: Sense) -> Estimate {
        Estimate::of(prediction, &Outputs::fit(y, transform).unwrap(), sense)
    }

    #[test]
    fn an_affine_transform_leaves_mean_and_standard_deviation() {
        let y = [1.0, 3.0, 5.0, 7.0];
        let believed = Prediction {
            mean: 0.5,
            variance: 0.04,
        };
        // Mean 4 and deviation √5; turned, the model saw the negative values.
        let at = |sense| estimate(&y, Transform::Standard, believed, sense);
        let (low, high) = (at(Sense::Minimize), at(Sense::Maximize));

        assert!((low.mean - (4.0 + 0.5 * 5.0_f64.sqrt())).abs() < 1e-12);
        assert!((low.deviation - 0.2 * 5.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!((high.mean, high.deviation), (-low.mean, low.deviation));
    }

    #[test]
    fn a_bent_transform_gives_the_median_and_half_the_central_interval() {
        let mut random = stream(3, 0, Purpose::Design);
        let y: Vec<f64> = (0..200).map(|_| (1.2 * random.normal()).exp()).collect();
        let outputs = Outputs::fit(&y, Transform::Robust).unwrap();
        let believed = Prediction {
            mean: 0.3,
            variance: 0.25,
        };
        // The same by chance: outputs of many numbers that the model may mean.
        let mut drawn: Vec<f64> = (0..40_001)
            .map(|_| outputs.from_model(0.3 + 0.5 * random.normal()))
            .collect();
        drawn.sort_by(f64::total_cmp);
        let (low, median, high) = (drawn[6_346], drawn[20_000], drawn[33_654]);

        let found = Estimate::of(believed, &outputs, Sense::Minimize);

        assert!((found.mean / median - 1.0).abs() < 0.02, "{found:?}");
        let half = 0.5 * (high - low);
        assert!((found.deviation / half - 1.0).abs() < 0.03, "{found:?}");
    }

    #[test]
    fn no_estimate_is_infinite_or_negative() {
        for y in [
            &[][..],
            &[1e300, -1e300, 3e299],
            &[0.0; 5],
            &[1.0, 2.0, 1e300],
        ] {
            for (mean, variance) in [(0.0, 0.0), (-1e100, 1.0), (1e6, 1e12), (0.0, 1e300)] {
                for transform in [Transform::Standard, Transform::Robust, Transform::Identity] {
                    let believed = Prediction { mean, variance };
                    let found = estimate(y, transform, believed, Sense::Maximize);

                    let is_sane = found.mean.is_finite() && found.deviation.is_finite();
                    assert!(is_sane && found.deviation >= 0.0, "{y:?} {found:?}");
                }
            }
        }
    }
}
