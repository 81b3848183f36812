//! Numbers as the user means them: decimals and fractions stay exact, the rest is floating point.
//!
//! `0.1 * a + 0.2 * b <= 0.3` must hold at a = b = 1 although 0.1 + 0.2 > 0.3 in floating point. So a literal is
//! the decimal that was written, arithmetic on decimals and integers is done with fractions of 64-bit integers,
//! and only what leaves that range (float parameters, `log`, `exp`, overflow) is computed in `f64` and compared
//! with [`TOLERANCE`].

use std::cmp::Ordering;

use num_integer::Integer;
use num_rational::Ratio;
use num_traits::{CheckedAdd, CheckedDiv, CheckedMul, CheckedSub, Signed, ToPrimitive, Zero};

/// Two floating-point sides closer than this, relative to max(1, |left|, |right|), count as equal. Where continuous parameters
/// take part and everything is small, the 1 is the size of what the sides are made of.
///
/// It plays no part between exact numbers: integers, decimals and fractions of them.
pub(crate) const TOLERANCE: f64 = 1e-9;

/// A number that knows whether it is exact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    /// An integer or a fraction, without any rounding.
    Exact(Ratio<i64>),
    /// A floating-point number.
    Real(f64),
}

impl Number {
    pub const ZERO: Number = Number::Exact(Ratio::new_raw(0, 1));
    pub const ONE: Number = Number::Exact(Ratio::new_raw(1, 1));

    /// The decimal number that prints as `x` does: 0.1 is one tenth.
    pub fn decimal(x: f64) -> Number {
        decimal_ratio(x).map_or(Number::Real(x), Number::Exact)
    }

    pub fn to_f64(self) -> f64 {
        match self {
            Number::Exact(r) if *r.denom() == 1 => *r.numer() as f64,
            Number::Exact(r) => r.to_f64().unwrap_or(*r.numer() as f64 / *r.denom() as f64),
            Number::Real(x) => x,
        }
    }

    /// The integer this number is, if it is one and exact.
    pub fn to_integer(self) -> Option<i64> {
        match self {
            Number::Exact(r) if r.is_integer() => Some(r.to_integer()),
            _ => None,
        }
    }

    pub fn is_zero(self) -> bool {
        match self {
            Number::Exact(r) => r.is_zero(),
            Number::Real(x) => x == 0.0,
        }
    }

    pub fn is_negative(self) -> bool {
        match self {
            Number::Exact(r) => r.is_negative(),
            Number::Real(x) => x < 0.0,
        }
    }

    pub fn plus(self, other: Number) -> Number {
        self.combine(
            other,
            of_integers(i64::checked_add, |a, b| a.checked_add(&b)),
            |a, b| a + b,
        )
    }

    pub fn minus(self, other: Number) -> Number {
        self.combine(
            other,
            of_integers(i64::checked_sub, |a, b| a.checked_sub(&b)),
            |a, b| a - b,
        )
    }

    pub fn times(self, other: Number) -> Number {
        self.combine(
            other,
            of_integers(i64::checked_mul, |a, b| a.checked_mul(&b)),
            |a, b| a * b,
        )
    }

    /// `None` when `other` is zero.
    pub fn over(self, other: Number) -> Option<Number> {
        (!other.is_zero()).then(|| self.combine(other, |a, b| a.checked_div(&b), |a, b| a / b))
    }

    /// The floor remainder, as in Python: it has the sign of the divisor. `None` when `other` is zero.
    pub fn remainder(self, other: Number) -> Option<Number> {
        // Checked at each step: the quotient may overflow although the remainder is small.
        let exact = |a: Ratio<i64>, b: Ratio<i64>| {
            let quotient = a.checked_div(&b)?;
            let floor = Integer::div_floor(quotient.numer(), quotient.denom());
            a.checked_sub(&b.checked_mul(&Ratio::from_integer(floor))?)
        };
        (!other.is_zero()).then(|| self.combine(other, exact, |a, b| a - b * (a / b).floor()))
    }

    /// `None` when the power is not a real number: 0 to a negative power, a negative base to a fraction.
    pub fn power(self, exponent: Number) -> Option<Number> {
        if let (Number::Exact(base), Some(n)) = (self, exponent.to_integer()) {
            if base.is_zero() && n < 0 {
                return None;
            }
            if let Some(power) = exact_power(base, n).and_then(within_range) {
                return Some(Number::Exact(power));
            }
        }
        let power = self.to_f64().powf(exponent.to_f64());
        (!power.is_nan()).then_some(Number::Real(power))
    }

    /// Exact for squares of fractions. `None` for negative numbers.
    pub fn square_root(self) -> Option<Number> {
        if let Number::Exact(r) = self
            && let Some(root) = exact_root(r)
        {
            return Some(Number::Exact(root));
        }
        let root = self.to_f64().sqrt();
        (!root.is_nan()).then_some(Number::Real(root))
    }

    /// Orders two numbers without any tolerance.
    pub fn order(self, other: Number) -> Ordering {
        match (self, other) {
            (Number::Exact(a), Number::Exact(b)) => a.cmp(&b),
            _ => self.to_f64().total_cmp(&other.to_f64()),
        }
    }

    /// Whether both are below 1 in size and, by the tolerance that fits 1, equal: it may be too large for them.
    pub fn is_small_beside(self, other: Number) -> bool {
        let (a, b) = (self.to_f64(), other.to_f64());
        let is_exact = matches!((self, other), (Number::Exact(_), Number::Exact(_)));
        !is_exact && a.abs().max(b.abs()) < 1.0 && a != b && (a - b).abs() <= TOLERANCE
    }

    pub fn negated(self) -> Number {
        Number::ZERO.minus(self)
    }

    pub fn absolute(self) -> Number {
        if self.is_negative() {
            self.negated()
        } else {
            self
        }
    }

    /// Orders two numbers; floating-point ones closer than [`TOLERANCE`] are equal.
    pub fn compare(self, other: Number) -> Ordering {
        self.compare_beside(other, 1.0)
    }

    /// The same for numbers that came out of a calculation with numbers of this size, 1 at most.
    pub fn compare_beside(self, other: Number, size: f64) -> Ordering {
        if let (Number::Exact(a), Number::Exact(b)) = (self, other) {
            return a.cmp(&b);
        }
        let (a, b) = (self.to_f64(), other.to_f64());
        // The slack of an infinite number would be infinite, and everything equal to it.
        if a.is_infinite() || b.is_infinite() {
            return a.total_cmp(&b);
        }
        let slack = TOLERANCE * a.abs().max(b.abs()).max(size.min(1.0));
        if (a - b).abs() <= slack {
            Ordering::Equal
        } else {
            a.total_cmp(&b)
        }
    }

    fn combine(
        self,
        other: Number,
        exact: impl Fn(Ratio<i64>, Ratio<i64>) -> Option<Ratio<i64>>,
        real: impl Fn(f64, f64) -> f64,
    ) -> Number {
        if let (Number::Exact(a), Number::Exact(b)) = (self, other)
            && let Some(r) = exact(a, b).and_then(within_range)
        {
            return Number::Exact(r);
        }
        // On overflow as well: a rounded result is worth more than none.
        Number::Real(real(self.to_f64(), other.to_f64()))
    }
}

impl From<i64> for Number {
    fn from(n: i64) -> Self {
        within_range(Ratio::from_integer(n)).map_or(Number::Real(n as f64), Number::Exact)
    }
}

impl From<bool> for Number {
    fn from(b: bool) -> Self {
        if b { Number::ONE } else { Number::ZERO }
    }
}

/// An operation on fractions with a quick way for integers, where nothing has to be reduced.
fn of_integers(
    integers: impl Fn(i64, i64) -> Option<i64>,
    fractions: impl Fn(Ratio<i64>, Ratio<i64>) -> Option<Ratio<i64>>,
) -> impl Fn(Ratio<i64>, Ratio<i64>) -> Option<Ratio<i64>> {
    move |a, b| {
        if *a.denom() == 1 && *b.denom() == 1 {
            integers(*a.numer(), *b.numer()).map(Ratio::from_integer)
        } else {
            fractions(a, b)
        }
    }
}

/// The least integer has no counterpart of the other sign, on which reducing a fraction would overflow.
fn within_range(r: Ratio<i64>) -> Option<Ratio<i64>> {
    (*r.numer() != i64::MIN && *r.denom() != i64::MIN).then_some(r)
}

/// Reads the shortest decimal that prints as `x` as a fraction, where it fits.
fn decimal_ratio(x: f64) -> Option<Ratio<i64>> {
    if let Some(whole) = exact_integer(x) {
        return Some(Ratio::from_integer(whole));
    }
    // Rust writes the shortest decimal that reads back as `x`, so 0.1 is one tenth and not 0.1000000000000000055….
    let text = format!("{x:e}");
    let (mantissa, exponent) = text.split_once('e')?;
    let n_decimals = mantissa
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    let digits = mantissa.replace('.', "").parse().ok()?;
    let shift = exponent.parse::<i32>().ok()? - i32::try_from(n_decimals).ok()?;
    shifted(digits, shift)
}

/// The integer that `x` is, if floating point tells it from its neighbours.
fn exact_integer(x: f64) -> Option<i64> {
    const LARGEST: f64 = 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "whole and at most 2^53")]
    let whole = x as i64;
    (x.fract() == 0.0 && x.abs() <= LARGEST).then_some(whole)
}

/// digits · 10^shift, where it fits.
fn shifted(digits: i64, shift: i32) -> Option<Ratio<i64>> {
    let scale = 10_i64.checked_pow(shift.unsigned_abs())?;
    if shift < 0 {
        Some(Ratio::new(digits, scale))
    } else {
        digits.checked_mul(scale).map(Ratio::from_integer)
    }
}

fn exact_power(base: Ratio<i64>, exponent: i64) -> Option<Ratio<i64>> {
    let n = u32::try_from(exponent.unsigned_abs()).ok()?;
    let (numer, denom) = (base.numer().checked_pow(n)?, base.denom().checked_pow(n)?);
    // Powers of a reduced fraction are reduced.
    let power = within_range(Ratio::new_raw(numer, denom))?;
    Some(if exponent >= 0 {
        power
    } else {
        // Not raw: the sign has to move to the numerator.
        Ratio::new(denom, numer)
    })
}

/// The root of the square of a fraction.
fn exact_root(r: Ratio<i64>) -> Option<Ratio<i64>> {
    if r.is_negative() {
        return None;
    }
    let (n, d) = (num_integer::sqrt(*r.numer()), num_integer::sqrt(*r.denom()));
    let is_square = n * n == *r.numer() && d * d == *r.denom();
    is_square.then(|| Ratio::new_raw(n, d))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n(x: f64) -> Number {
        Number::decimal(x)
    }

    #[test]
    fn decimals_add_up_as_written() {
        assert_eq!(n(0.1).plus(n(0.2)), n(0.3));
    }

    #[test]
    fn the_remainder_has_the_sign_of_the_divisor() {
        assert_eq!(n(-1.0).remainder(n(3.0)), Some(n(2.0)));
        assert_eq!(n(1.0).remainder(n(-3.0)), Some(n(-2.0)));
        assert_eq!(n(1.0).remainder(n(0.0)), None);
    }

    proptest::proptest! {
        #[test]
        fn integers_are_added_subtracted_and_multiplied_as_fractions_are(
            a in -i64::MAX..=i64::MAX,
            b in -i64::MAX..=i64::MAX,
            shift in 0..64,
        ) {
            let (a, b) = (a >> shift, b >> shift);
            let as_fractions = |exact: Option<Ratio<i64>>, real: f64| {
                exact.and_then(within_range).map_or(Number::Real(real), Number::Exact)
            };
            let (x, y) = (Ratio::from_integer(a), Ratio::from_integer(b));
            let (m, n) = (Number::from(a), Number::from(b));
            let (u, v) = (m.to_f64(), n.to_f64());
            proptest::prop_assert_eq!(m.plus(n), as_fractions(x.checked_add(&y), u + v));
            proptest::prop_assert_eq!(m.minus(n), as_fractions(x.checked_sub(&y), u - v));
            proptest::prop_assert_eq!(m.times(n), as_fractions(x.checked_mul(&y), u * v));
        }
    }

    #[test]
    fn overflow_goes_on_in_floating_point() {
        let huge = n(9e15).times(n(9e15));

        assert_eq!(huge, Number::Real(8.1e31));
    }

    #[test]
    fn powers_are_exact_while_they_fit() {
        assert_eq!(n(2.0).power(n(10.0)), Some(n(1024.0)));
        assert_eq!(n(2.0).power(n(-2.0)), Some(n(0.25)));
        assert_eq!(n(0.0).power(n(-1.0)), None);
        assert_eq!(n(-1.0).power(n(0.5)), None);
        assert_eq!(
            n(i64::MIN as f64).power(n(-1.0)).map(Number::to_f64),
            Some(1.0 / i64::MIN as f64)
        );
    }

    #[test]
    fn the_ends_of_the_integer_range_do_not_panic() {
        let least = Number::from(-2).power(Number::from(63)).unwrap();
        assert_eq!(
            least.power(Number::from(-1)).map(Number::to_f64),
            Some(-(0.5_f64.powi(63)))
        );
        let far = Number::from(-9_000_000_000_000_000_000);
        assert!(
            far.remainder(Number::from(7_000_000_000_000_000_001))
                .is_some()
        );
        assert!(Number::from(1).remainder(Number::from(i64::MAX)).is_some());
        assert!(Number::from(i64::MIN).negated().to_f64() > 0.0);
    }

    #[test]
    fn infinity_is_not_close_to_anything() {
        let infinite = Number::Real(f64::INFINITY);
        assert_eq!(infinite.compare(n(5.0)), Ordering::Greater);
        assert_eq!(n(5.0).compare(infinite), Ordering::Less);
    }

    #[test]
    fn roots_of_squares_are_exact() {
        assert_eq!(n(2.25).square_root(), Some(n(1.5)));
        assert_eq!(n(-1.0).square_root(), None);
    }

    #[test]
    fn extreme_literals_do_not_overflow() {
        for x in [1e300, 5e-324, f64::MAX, 1.234_567_890_123_456_7e-30] {
            assert!((n(x).to_f64() - x).abs() <= x * 1e-15);
        }
    }
}
