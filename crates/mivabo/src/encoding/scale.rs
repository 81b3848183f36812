//! Scales reals to the unit box and back.
//!
//! ```text
//! u = (x - low) / (high - low)                      linear
//! u = (ln x - ln low) / (ln high - ln low)          log
//! ```
//!
//! A coordinate decodes to a decimal with twelve digits: of the range for a linear scale, significant ones for a
//! log scale. So decoding an encoded value gives that very value whenever it was written with up to twelve
//! digits, and suggestions read 0.0316 rather than 0.031600000000000003. Both ends decode exactly.

use crate::language::domain::{Domain, Set};

/// Decimal digits that survive a round trip.
const DIGITS: i32 = 12;

/// The coordinate of a parameter that is inactive, or has a single value.
pub(crate) const CANONICAL: f64 = 0.5;

/// The coordinate of `x` in [0, 1].
pub(crate) fn to_unit(domain: &Domain, x: f64) -> f64 {
    let Some((low, high)) = bounds(domain).filter(|(low, high)| low < high) else {
        return CANONICAL;
    };
    let u = if domain.log {
        (x.ln() - low.ln()) / (high.ln() - low.ln())
    } else {
        (x - low) / (high - low)
    };
    u.clamp(0.0, 1.0)
}

/// The value at coordinate `u`.
pub(crate) fn from_unit(domain: &Domain, u: f64) -> f64 {
    let Some((low, high)) = bounds(domain) else {
        return f64::NAN;
    };
    // Both ends as they were written: rounding could lead outside.
    if u <= 0.0 || low >= high {
        return low;
    }
    if u >= 1.0 {
        return high;
    }
    // A log scale keeps significant digits, a linear one those of its range.
    let (x, largest) = if domain.log {
        let x = (low.ln() + (high.ln() - low.ln()) * u).exp();
        (x, x.abs())
    } else {
        (low + (high - low) * u, high - low)
    };
    round_to(x, DIGITS - digits_before_point(largest)).clamp(low, high)
}

fn bounds(domain: &Domain) -> Option<(f64, f64)> {
    match domain.set {
        Set::Float { low, high } => Some((low, high)),
        _ => None,
    }
}

/// 3 for 123.4, 0 for 0.5, -1 for 0.05.
fn digits_before_point(x: f64) -> i32 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a logarithm of a finite number is small"
    )]
    let digits = x.log10().floor() as i32;
    digits + 1
}

/// The decimal with this many places that is nearest to `x`; a negative number of them rounds to tens, hundreds, …
fn round_to(x: f64, places: i32) -> f64 {
    // By way of the text: x · 10^places, rounded and divided again, would not always be the nearest decimal.
    if let Ok(places) = usize::try_from(places) {
        return format!("{x:.places$}").parse().unwrap_or(x);
    }
    let unit = 10_f64.powi(-places);
    (x / unit).round() * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_decimals_come_back_as_they_were() {
        for (domain, values) in [
            (
                Domain::float(-1.0, 1e6),
                vec![1e-5, 0.1, 123_456.789, -0.333_33, 999_999.9],
            ),
            (
                Domain::float(1e-4, 1e-1).log(),
                vec![1e-3, 3e-4, 0.05, 1.234_567_890_12e-2],
            ),
            (Domain::float(0.0, 0.3), vec![0.1, 0.2, 1e-9, 0.299_999]),
            (Domain::float(1e20, 1e21), vec![2e20, 3.5e20]),
            (
                Domain::float(1e-300, 1e300).log(),
                vec![1.0, 1e-200, 2.5e17],
            ),
        ] {
            for x in values {
                assert_eq!(from_unit(&domain, to_unit(&domain, x)), x, "{domain}");
            }
        }
    }

    #[test]
    fn both_ends_are_exact() {
        for domain in [
            Domain::float(-0.1, 0.7),
            Domain::float(1.0 / 3.0, 1e9).log(),
            Domain::float(2.0, 2.0),
        ] {
            let Set::Float { low, high } = domain.set else {
                unreachable!()
            };
            assert_eq!(from_unit(&domain, to_unit(&domain, low)), low);
            assert_eq!(from_unit(&domain, to_unit(&domain, high)), high);
        }
    }
}
