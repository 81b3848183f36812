//! Outputs as a model likes them, with mean 0 and deviation 1, and the way back.
//!
//! ```text
//! standard:   z = (y - mean) / sd
//! robust:     z = standardised ψ_λ((y - median) / spread),   ψ_λ: Yeo & Johnson 2000, λ by maximum likelihood
//! ```
//!
//! The power ψ_λ draws in one heavy tail (λ < 1 the right one) and is the identity at λ = 1. Where the likelihood asks for
//! |λ| beyond 3 the data do not follow a bent normal distribution, and outputs are standardised only. Every transform rises, so it maps medians
//! and quantiles to medians and quantiles; means only where it is affine.

use crate::surrogate::Error;
use crate::surrogate::checks::check_finite;

/// How outputs are transformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Transform {
    /// Mean 0 and standard deviation 1.
    #[default]
    Standard,
    /// Also bent towards a normal distribution, for heavy tails.
    Robust,
    /// Left as they are.
    Identity,
}

/// The largest |λ| that is used.
const LARGEST_POWER: f64 = 3.0;

/// Outputs far outside what was fitted are drawn in to this many deviations.
const LARGEST_DEVIATION: f64 = 1e6;

/// Outputs that are left as they are are drawn in to this: a model takes no larger ones.
const LARGEST_OUTPUT: f64 = 1e100;

/// A fitted transform.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Outputs {
    first: Affine,
    power: Option<Power>,
    /// What larger numbers are drawn in to.
    largest: f64,
}

impl Default for Outputs {
    /// The identity.
    fn default() -> Self {
        let first = Affine {
            half_centre: 0.0,
            half_spread: 0.5,
        };
        Outputs {
            first,
            power: None,
            largest: LARGEST_OUTPUT,
        }
    }
}

impl Outputs {
    /// The transform that fits these outputs. Without any, the identity; where all are equal, their difference from
    /// that value, in units of 1.
    ///
    /// # Errors
    /// [`Error::BadOutput`] when one is not finite.
    pub fn fit(y: &[f64], transform: Transform) -> Result<Outputs, Error> {
        y.iter().try_for_each(|y| check_finite(*y))?;
        if y.is_empty() {
            return Ok(Outputs::default());
        }
        Ok(match transform {
            Transform::Identity => Outputs::default(),
            Transform::Standard => Outputs::standard(y),
            Transform::Robust => Outputs::robust(y).unwrap_or_else(|| Outputs::standard(y)),
        })
    }

    fn standard(y: &[f64]) -> Outputs {
        Outputs {
            first: Affine::standard(y),
            power: None,
            largest: LARGEST_DEVIATION,
        }
    }

    /// None where no power bends the outputs towards a normal distribution.
    fn robust(y: &[f64]) -> Option<Outputs> {
        let first = Affine::robust(y);
        let bulk: Vec<f64> = y.iter().map(|y| first.apply(*y)).collect();
        let lambda = best_power(&bulk)?;
        let bent: Vec<f64> = bulk.iter().map(|u| bend(*u, lambda)).collect();
        Some(Outputs {
            first,
            power: Some(Power {
                lambda,
                then: Affine::standard(&bent),
            }),
            largest: LARGEST_DEVIATION,
        })
    }

    /// The model's number for an output. Drawn in to ±1e6 deviations (±1e100 by the identity), and 0 for NaN.
    pub fn to_model(self, y: f64) -> f64 {
        let u = self.first.apply(y);
        let z = self.power.map_or(u, |power| power.apply(u));
        if z.is_nan() {
            0.0
        } else {
            z.clamp(-self.largest, self.largest)
        }
    }

    /// The output for a model's number: of a median the median, of a quantile the quantile. Saturates at the largest
    /// finite numbers.
    #[expect(
        clippy::wrong_self_convention,
        reason = "the way back of `to_model`, not a constructor"
    )]
    pub fn from_model(self, z: f64) -> f64 {
        let u = self.power.map_or(z, |power| power.invert(z));
        let y = self.first.invert(u);
        // NaN says nothing, and the centre is what is believed then.
        if y.is_nan() {
            self.first.invert(0.0)
        } else {
            y.clamp(-f64::MAX, f64::MAX)
        }
    }
}

/// ψ_λ, and what makes the bent outputs standard.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Power {
    lambda: f64,
    then: Affine,
}

impl Power {
    fn apply(self, u: f64) -> f64 {
        self.then.apply(bend(u, self.lambda))
    }

    fn invert(self, z: f64) -> f64 {
        unbend(self.then.invert(z), self.lambda)
    }
}

/// u = (y/2 - half_centre) / half_spread: halves, because the difference of two outputs may overflow.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Affine {
    half_centre: f64,
    half_spread: f64,
}

impl Affine {
    fn apply(self, y: f64) -> f64 {
        (0.5 * y - self.half_centre) / self.half_spread
    }

    fn invert(self, u: f64) -> f64 {
        2.0 * (self.half_centre + self.half_spread * u)
    }

    /// Mean and standard deviation, of finite outputs.
    fn standard(y: &[f64]) -> Affine {
        // About the median first: the mean of 1e10 + {0, 1, 2} loses no digits, and nothing overflows.
        let median = median(y);
        let off: Vec<f64> = y.iter().map(|y| 0.5 * y - 0.5 * median).collect();
        let largest = off.iter().fold(0.0, |m: f64, d| m.max(d.abs()));
        let n = y.len() as f64;
        // In units of the largest: squares of outputs of 10³⁰⁰ overflow, and those of 10⁻³⁰⁰ vanish.
        let mean = off.iter().map(|d| d / largest / n).sum::<f64>();
        let squares = off.iter().map(|d| (d / largest - mean).powi(2));
        let deviation = (squares.sum::<f64>() / n).sqrt();
        Affine::checked(0.5 * median + largest * mean, largest * deviation, median)
    }

    /// Median and interquartile range over 1.349 (a standard deviation for normal outputs); where more than half of
    /// them are equal, mean and deviation.
    fn robust(y: &[f64]) -> Affine {
        let median = median(y);
        // Halves first: the difference of two outputs may overflow.
        let half_spread = (0.5 * quantile(y, 0.75) - 0.5 * quantile(y, 0.25)) / 1.349;
        if half_spread > 0.0 {
            Affine::checked(0.5 * median, half_spread, median)
        } else {
            Affine::standard(y)
        }
    }

    /// A spread that is lost in the rounding of the values counts as none.
    fn checked(half_centre: f64, half_spread: f64, size: f64) -> Affine {
        if half_spread > 1e-14 * size.abs() && half_spread.is_normal() {
            Affine {
                half_centre,
                half_spread,
            }
        } else {
            Affine {
                half_centre: 0.5 * size,
                half_spread: 0.5,
            }
        }
    }
}

fn median(y: &[f64]) -> f64 {
    quantile(y, 0.5)
}

/// The value at a share of the sorted values; the lower one between two. `y` is not empty.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a length"
)]
fn quantile(y: &[f64], share: f64) -> f64 {
    let mut sorted = y.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() - 1) as f64 * share) as usize]
}

/// Yeo and Johnson's ψ_λ.
///
/// ```text
/// u ≥ 0:  ((u + 1)^λ - 1) / λ            or log(u + 1) at λ = 0
/// u < 0:  -((1 - u)^(2-λ) - 1) / (2 - λ)  or -log(1 - u) at λ = 2
/// ```
fn bend(u: f64, lambda: f64) -> f64 {
    if u < 0.0 {
        -bend_positive(-u, 2.0 - lambda)
    } else {
        bend_positive(u, lambda)
    }
}

fn bend_positive(u: f64, power: f64) -> f64 {
    let log = u.ln_1p();
    // The limit, where the quotient would be 0/0. `exp_m1` and `ln_1p` keep the digits of u near 0.
    if power.abs() < 1e-8 {
        log
    } else {
        (power * log).exp_m1() / power
    }
}

fn unbend(v: f64, lambda: f64) -> f64 {
    if v < 0.0 {
        -unbend_positive(-v, 2.0 - lambda)
    } else {
        unbend_positive(v, lambda)
    }
}

fn unbend_positive(v: f64, power: f64) -> f64 {
    if power.abs() < 1e-8 {
        return v.exp_m1();
    }
    // With a negative power ψ is bounded by -1/power: above it lies only infinity.
    let inside = power * v;
    if inside <= -1.0 {
        f64::MAX
    } else {
        (inside.ln_1p() / power).exp_m1()
    }
}

/// The λ of the greatest likelihood by golden sections; none where it lies at the limits or the data say nothing.
fn best_power(u: &[f64]) -> Option<f64> {
    if u.len() < 3 {
        return None;
    }
    let ratio = 0.5 * (5.0_f64.sqrt() - 1.0);
    let (mut low, mut high) = (-LARGEST_POWER - 0.5, LARGEST_POWER + 0.5);
    while high - low > 1e-4 {
        let (left, right) = (high - ratio * (high - low), low + ratio * (high - low));
        if likelihood(u, left) > likelihood(u, right) {
            high = right;
        } else {
            low = left;
        }
    }
    let lambda = 0.5 * (low + high);
    (lambda.abs() <= LARGEST_POWER && likelihood(u, lambda).is_finite()).then_some(lambda)
}

fn variance(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    // Divided before they are added, so that a sum of large outputs does not overflow.
    let mean = values.iter().map(|v| v / n).sum::<f64>();
    values.iter().map(|v| (v - mean).powi(2) / n).sum()
}

/// log p up to a constant: -n/2 log var(ψ(u)) + (λ - 1) Σ sign(u) log(|u| + 1).
fn likelihood(u: &[f64], lambda: f64) -> f64 {
    let n = u.len() as f64;
    let bent: Vec<f64> = u.iter().map(|u| bend(*u, lambda)).collect();
    let jacobian: f64 = u.iter().map(|u| u.signum() * u.abs().ln_1p()).sum();
    let value = -0.5 * n * variance(&bent).ln() + (lambda - 1.0) * jacobian;
    // A NaN is neither greater nor less than anything, and would lead golden sections astray.
    if value.is_finite() {
        value
    } else {
        f64::NEG_INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::{Purpose, stream};
    use proptest::prelude::*;

    #[test]
    fn outputs_of_any_size_are_standardised() {
        let outputs = Outputs::fit(&[1e300, -1e300, 1e300, -1e300], Transform::Standard).unwrap();

        assert!((outputs.to_model(1e300) - 1.0).abs() < 1e-12);
        assert!((outputs.from_model(-1.0) / -1e300 - 1.0).abs() < 1e-12);
        assert!(Outputs::fit(&[f64::NAN], Transform::Standard).is_err());
    }

    fn moments(z: &[f64]) -> (f64, f64) {
        let n = z.len() as f64;
        let mean = z.iter().sum::<f64>() / n;
        (
            mean,
            (z.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / n).sqrt(),
        )
    }

    fn transformed(y: &[f64], transform: Transform) -> Vec<f64> {
        let outputs = Outputs::fit(y, transform).unwrap();
        y.iter().map(|y| outputs.to_model(*y)).collect()
    }

    #[test]
    fn outputs_of_any_size_get_mean_zero_and_deviation_one() {
        for scale in [1e-300, 1e-10, 1.0, 1e10, 1e307] {
            for shift in [0.0, 1.0, -7.0] {
                let y: Vec<f64> = [1.0, 2.0, 4.0, 8.0, -3.0]
                    .iter()
                    .map(|y| (y + shift) * scale)
                    .collect();
                for transform in [Transform::Standard, Transform::Robust] {
                    let (mean, deviation) = moments(&transformed(&y, transform));
                    assert!(
                        mean.abs() < 1e-9 && (deviation - 1.0).abs() < 1e-9,
                        "{scale} {mean} {deviation}"
                    );
                }
            }
        }
    }

    #[test]
    fn small_differences_of_large_outputs_keep_their_digits() {
        let z = transformed(&[1e10, 1e10 + 1.0, 1e10 + 2.0], Transform::Standard);

        assert!(
            (z[2] - 1.5_f64.sqrt()).abs() < 1e-9 && z[1].abs() < 1e-9,
            "{z:?}"
        );
    }

    #[test]
    fn constants_one_output_and_none_are_safe() {
        for y in [
            vec![],
            vec![5.0],
            vec![3.0; 7],
            vec![0.0; 3],
            vec![1e308; 2],
            vec![5e-324; 4],
            vec![f64::MAX; 3],
        ] {
            for transform in [Transform::Standard, Transform::Robust] {
                let outputs = Outputs::fit(&y, transform).unwrap();
                assert!(y.iter().all(|y| outputs.to_model(*y).abs() < 1e-9), "{y:?}");
                assert!(
                    [-3.0, 0.0, 1e300]
                        .iter()
                        .all(|z| outputs.from_model(*z).is_finite())
                );
            }
        }
    }

    #[test]
    fn one_disaster_does_not_hide_the_rest() {
        let mut y: Vec<f64> = (0..20).map(f64::from).collect();
        y.push(1e9);

        let standard = transformed(&y, Transform::Standard);
        let robust = transformed(&y, Transform::Robust);

        assert!(standard[19] - standard[0] < 1e-6);
        assert!(robust[19] - robust[0] > 0.3, "{robust:?}");
    }

    #[test]
    fn log_normal_outputs_become_nearly_symmetric() {
        let mut stream = stream(2, 0, Purpose::Design);
        let y: Vec<f64> = (0..400).map(|_| (1.5 * stream.normal()).exp()).collect();

        let skewness = |z: &[f64]| z.iter().map(|z| z.powi(3)).sum::<f64>() / z.len() as f64;

        assert!(skewness(&transformed(&y, Transform::Standard)) > 2.0);
        assert!(skewness(&transformed(&y, Transform::Robust)).abs() < 0.5);
    }

    proptest! {
        #[test]
        fn there_is_a_way_back_and_order_is_kept(
            y in prop::collection::vec(-1e3_f64..1e3, 1..30), robust: bool, at in -1e3_f64..1e3,
        ) {
            let transform = if robust { Transform::Robust } else { Transform::Standard };
            let outputs = Outputs::fit(&y, transform).unwrap();

            let back = outputs.from_model(outputs.to_model(at));
            let saturates = outputs.to_model(at).abs() >= LARGEST_DEVIATION || outputs.power.is_some_and(|p| p.lambda < 0.0 || p.lambda > 2.0);

            prop_assert!(saturates || (back - at).abs() < 1e-5 * (1.0 + at.abs()), "{back} {at} {outputs:?}");
            prop_assert!(outputs.to_model(at) <= outputs.to_model(at + 1.0));
        }

        #[test]
        fn nothing_finite_becomes_nan(bits in prop::collection::vec(any::<f64>(), 0..8), z in any::<f64>(), robust: bool) {
            let transform = if robust { Transform::Robust } else { Transform::Standard };
            let y: Vec<f64> = bits.into_iter().filter(|y| y.is_finite()).collect();
            let outputs = Outputs::fit(&y, transform).unwrap();

            prop_assert!(y.iter().all(|y| outputs.to_model(*y).is_finite()));
            prop_assert!(outputs.from_model(z).is_finite());
        }
    }
}
