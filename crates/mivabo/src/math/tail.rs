//! Mass and moments of a Gaussian cut off at zero, accurate far into its tail.
//!
//! Everything rests on the ratio r(a) = φ(a)/Φ(a) of the normal density and distribution. Far in the tail, at a = -x, it
//! is Laplace's continued fraction
//!
//! ```text
//! r = x + K₁,   K₁ = 1/(x + K₂),   K₂ = 2/(x + K₃),   K₃ = 3/(x + …)
//! ```
//!
//! whose parts give the moments without cancellation: mean K₁ and variance K₁(K₂ - K₁), in units of the deviation.

use std::f64::consts::{PI, SQRT_2};

/// Below -`TAIL` the continued fraction takes over; above, the moments lose at most three digits to cancellation.
const TAIL: f64 = 5.0;

/// The law proportional to exp(-½ρw² + cw) on w > 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HalfLine {
    /// log ∫₀^∞ exp(-½ρw² + cw) dw
    pub log_mass: f64,
    pub mean: f64,
    pub variance: f64,
}

/// The moments of exp(-½ρw² + cw) on w > 0 for a precision ρ > 0 and a pull c.
///
/// ```text
/// a = c/√ρ,   ∫ = √(2π/ρ) exp(a²/2) Φ(a),   mean = (a + r)/√ρ,   variance = (1 - r(a + r))/ρ
/// ```
pub(crate) fn half_line(precision: f64, pull: f64) -> HalfLine {
    let root = precision.sqrt();
    let a = pull / root;
    if a < -TAIL {
        return far_tail(precision, a);
    }
    let cdf = 0.5 * libm::erfc(-a / SQRT_2);
    let ratio = (-0.5 * a * a).exp() / ((2.0 * PI).sqrt() * cdf);
    HalfLine {
        log_mass: 0.5 * (2.0 * PI / precision).ln() + 0.5 * a * a + cdf.ln(),
        mean: (a + ratio) / root,
        variance: (1.0 - ratio * (a + ratio)) / precision,
    }
}

/// The same at a < -[`TAIL`], where a + r ≈ 1/|a| would be a small difference of large numbers.
fn far_tail(precision: f64, a: f64) -> HalfLine {
    let root = precision.sqrt();
    let (k1, k2) = continued_fraction(-a);
    HalfLine {
        log_mass: -(root * (k1 - a)).ln(),
        mean: k1 / root,
        variance: k1 * (k2 - k1) / precision,
    }
}

/// K₁ and K₂ at x ≥ [`TAIL`], from the innermost part outwards: 60 parts give full accuracy there, fewer further out.
fn continued_fraction(x: f64) -> (f64, f64) {
    let n_parts = if x < 20.0 { 60 } else { 12 };
    let k2 = (2..=n_parts)
        .rev()
        .fold(0.0, |inner, part| f64::from(part) / (x + inner));
    (1.0 / (x + k2), k2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simpson's rule over all of the mass.
    fn slow(precision: f64, pull: f64) -> HalfLine {
        let peak = (pull / precision).max(0.0);
        let width = if pull < 0.0 {
            (1.0 / -pull).min(1.0 / precision.sqrt())
        } else {
            1.0 / precision.sqrt()
        };
        let (low, high) = ((peak - 12.0 * width).max(0.0), peak + 45.0 * width);
        let n = 20_000_u32;
        let h = (high - low) / f64::from(n);
        let top = -0.5 * precision * peak * peak + pull * peak;
        let mut sums = [0.0; 3];
        for i in 0..=n {
            let w = low + h * f64::from(i);
            let weight = if i == 0 || i == n {
                1.0
            } else {
                2.0 + 2.0 * f64::from(i % 2)
            } * h
                / 3.0;
            let density = weight * (-0.5 * precision * w * w + pull * w - top).exp();
            sums[0] += density;
            sums[1] += density * w;
            sums[2] += density * w * w;
        }
        let mean = sums[1] / sums[0];
        HalfLine {
            log_mass: sums[0].ln() + top,
            mean,
            variance: sums[2] / sums[0] - mean * mean,
        }
    }

    #[test]
    fn moments_agree_with_simpsons_rule() {
        for precision in [0.01, 1.0, 50.0] {
            for a in [-80.0, -19.9, -20.1, -5.01, -4.99, -1.0, 0.0, 0.5, 3.0, 30.0] {
                let pull: f64 = a * f64::sqrt(precision);

                let (fast, slow) = (half_line(precision, pull), slow(precision, pull));

                assert!(
                    (fast.log_mass - slow.log_mass).abs() < 1e-9 * (1.0 + slow.log_mass.abs()),
                    "{a}"
                );
                assert!(
                    (fast.mean / slow.mean - 1.0).abs() < 1e-9,
                    "{a} {fast:?} {slow:?}"
                );
                assert!(
                    (fast.variance / slow.variance - 1.0).abs() < 1e-8,
                    "{a} {fast:?} {slow:?}"
                );
            }
        }
    }

    #[test]
    fn a_flat_gaussian_leaves_the_exponential_law() {
        let law = half_line(1e-20, -2.0);

        assert!((law.log_mass + 2.0_f64.ln()).abs() < 1e-12);
        assert!((law.mean - 0.5).abs() < 1e-12);
        assert!((law.variance - 0.25).abs() < 1e-12);
    }
}
