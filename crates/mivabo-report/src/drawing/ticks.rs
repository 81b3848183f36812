//! Ticks at round numbers.
//!
//! ```text
//! linear   multiples of 1, 2 or 5 times a power of ten
//! log      powers of ten, or 1, 2 and 5 times one
//! ```

use crate::text::{digits, short};

/// Beyond this many times the step, multiples of it are no longer numbers of their own.
const FINEST: f64 = 1e12;

/// By which share of a step, or of a value, rounding may move a tick off the end of its scale.
const ROUNDING: f64 = 1e-9;

/// A place in [0, 1] and what stands there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub place: f64,
    pub label: String,
}

/// A value of a scale and what stands at it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mark {
    pub value: f64,
    pub label: String,
}

impl Mark {
    fn labelled(value: f64, label: impl Fn(f64) -> String) -> Mark {
        let label = label(value);
        Mark { value, label }
    }
}

/// Ticks at multiples of a step that is at least `least`.
pub(super) fn linear_ticks(low: f64, high: f64, n: usize, least: f64) -> Vec<Mark> {
    let n = n.max(1) as f64;
    let step = rounded((high / n - low / n).max(least));
    let largest = low.abs().max(high.abs());
    if !step.is_normal() || largest / step > FINEST {
        return ends(low, high, short);
    }
    let first = (low / step - ROUNDING).ceil();
    let is_on = |value: &f64| value.is_finite() && *value <= high + ROUNDING * step;
    // Each as a multiple: adding step after step would let rounding grow from tick to tick.
    let multiples = (0..=20).map(|k| (first + f64::from(k)) * step);
    let shown = multiples.take_while(is_on);
    marks(shown, |value| in_steps(value, step, largest))
}

/// The number nearest to `x`, by ratio, that is 1, 2 or 5 times a power of ten.
fn rounded(x: f64) -> f64 {
    let power = 10_f64.powf(x.log10().floor());
    let off = |step: &f64| (step / x).ln().abs();
    let steps = [1.0, 2.0, 5.0, 10.0].map(|k| k * power);
    let nearest = steps.into_iter().min_by(|a, b| off(a).total_cmp(&off(b)));
    nearest.unwrap_or(power)
}

/// A multiple of a step, in as many digits as tell it from the next one where the largest has this size.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at most thirteen digits"
)]
fn in_steps(value: f64, step: f64, largest: f64) -> String {
    // Rounding leaves a little of the multiple 0.
    if value.abs() < ROUNDING * step {
        return "0".to_owned();
    }
    let n_digits = (largest / step).log10().max(0.0).floor() + 1.0;
    digits(value, n_digits as usize)
}

/// Ticks at powers of ten, of which some are left out where there are many; at 1, 2 and 5 times them where there are few.
pub(super) fn log_ticks(low: f64, high: f64, n: usize) -> Vec<Mark> {
    let values = round_values(low, high, n);
    // One tick alone does not tell the scale.
    if values.len() < 2 {
        return ends(low, high, in_two_digits);
    }
    marks(values.into_iter(), in_two_digits)
}

fn round_values(low: f64, high: f64, n: usize) -> Vec<f64> {
    let lowest = low * (1.0 - ROUNDING);
    let highest = high * (1.0 + ROUNDING);
    let is_on = |value: &f64| value.is_finite() && (lowest..=highest).contains(value);
    let decades = Decades::of(low, high);
    let fine: Vec<f64> = decades.fine().filter(is_on).collect();
    if fine.len() <= 2 * n {
        return fine;
    }
    let every = (decades.n() / n.max(1) as f64).ceil();
    decades.powers(every).filter(is_on).collect()
}

fn marks(values: impl Iterator<Item = f64>, label: impl Fn(f64) -> String) -> Vec<Mark> {
    values.map(|value| Mark::labelled(value, &label)).collect()
}

/// Exponents of ten around a scale.
#[derive(Clone, Copy)]
struct Decades {
    first: f64,
    last: f64,
}

impl Decades {
    fn of(low: f64, high: f64) -> Decades {
        Decades {
            first: low.log10().floor(),
            last: high.log10().ceil(),
        }
    }

    fn n(self) -> f64 {
        self.last - self.first
    }

    /// 1, 2 and 5 times each power of ten.
    fn fine(self) -> impl Iterator<Item = f64> {
        let powers = self.powers(1.0);
        powers.flat_map(|power| [1.0, 2.0, 5.0].map(|k| k * power))
    }

    /// Powers of ten in steps of so many decades.
    fn powers(self, every: f64) -> impl Iterator<Item = f64> {
        let exponents = (0..=40).map(move |k| self.first + f64::from(k) * every);
        let exponents = exponents.take_while(move |exponent| *exponent <= self.last);
        exponents.map(|exponent| 10_f64.powf(exponent))
    }
}

fn in_two_digits(x: f64) -> String {
    digits(x, 2)
}

/// Ticks at both ends of a scale, for those that hold no round numbers.
fn ends(low: f64, high: f64, label: fn(f64) -> String) -> Vec<Mark> {
    [low, high]
        .map(|value| Mark::labelled(value, label))
        .to_vec()
}
