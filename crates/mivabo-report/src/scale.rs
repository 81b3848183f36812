//! Scales: values enter, places in [0, 1] and ticks at round numbers leave.
//!
//! ```text
//! linear   (v - low) / (high - low)          ticks at multiples of 1, 2 or 5 times a power of ten
//! log      the same of logarithms            ticks at powers of ten, or at 1, 2 and 5 times one
//! bands    (k + ½) / n of the k-th value     a tick for each value
//! ```

use crate::text::{digits, short};

/// How values become places.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scale {
    /// From the first number to the second, which is greater.
    Linear(f64, f64),
    /// The whole numbers from 0 to this one, with half of one to spare at both ends.
    Whole(u64),
    /// As linear, of logarithms; both are positive.
    Log(f64, f64),
    /// One band for each of these labels; values are their positions.
    Bands(Vec<String>),
}

/// A place in [0, 1] and what stands there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub place: f64,
    pub label: String,
}

impl Scale {
    /// A linear scale that holds both numbers, which may be equal.
    pub fn linear(low: f64, high: f64) -> Scale {
        if low < high {
            return Scale::Linear(low, high);
        }
        let room = if low == 0.0 { 1.0 } else { 0.1 * low.abs() };
        let (low, high) = (low.min(high) - room, low.max(high) + room);
        Scale::Linear(low.max(-f64::MAX), high.min(f64::MAX))
    }

    /// A logarithmic scale that holds both positive numbers.
    pub fn log(low: f64, high: f64) -> Scale {
        if low < high {
            Scale::Log(low, high)
        } else {
            Scale::Log(0.5 * low, (2.0 * high).min(f64::MAX))
        }
    }

    /// Where a value lies: in [0, 1] where it is on the scale.
    pub fn place(&self, value: f64) -> f64 {
        match self {
            // In halves where the difference is too large for a number.
            Scale::Linear(low, high) if (high - low).is_infinite() => {
                (0.5 * value - 0.5 * low) / (0.5 * high - 0.5 * low)
            }
            Scale::Linear(low, high) => (value - low) / (high - low),
            Scale::Whole(last) => (value + 0.5) / (*last as f64 + 1.0),
            Scale::Log(low, high) => (value.ln() - low.ln()) / (high.ln() - low.ln()),
            Scale::Bands(labels) => (value + 0.5) / labels.len().max(1) as f64,
        }
    }

    /// About `n` ticks; for bands one for each.
    pub fn ticks(&self, n: usize) -> Vec<Tick> {
        let labels = match self {
            Scale::Linear(low, high) => linear_ticks((*low, *high), n, 0.0),
            Scale::Whole(last) => linear_ticks((0.0, *last as f64), n, 1.0),
            Scale::Log(low, high) => log_ticks(*low, *high, n),
            Scale::Bands(labels) => labels
                .iter()
                .enumerate()
                .map(|(k, l)| (k as f64, l.clone()))
                .collect(),
        };
        labels
            .into_iter()
            .map(|(value, label)| Tick {
                place: self.place(value),
                label,
            })
            .collect()
    }
}

/// The number nearest to `x`, by ratio, that is 1, 2 or 5 times a power of ten.
fn rounded(x: f64) -> f64 {
    let power = 10_f64.powf(x.log10().floor());
    let off = |step: &f64| (step / x).ln().abs();
    let steps = [1.0, 2.0, 5.0, 10.0].map(|k| k * power);
    steps
        .into_iter()
        .min_by(|a, b| off(a).total_cmp(&off(b)))
        .unwrap_or(power)
}

/// Ticks at multiples of a step that is at least `least`.
fn linear_ticks((low, high): (f64, f64), n: usize, least: f64) -> Vec<(f64, String)> {
    let n = n.max(1) as f64;
    let step = rounded((high / n - low / n).max(least));
    let largest = low.abs().max(high.abs());
    // Beyond these, multiples of the step are no longer numbers of their own.
    if !step.is_normal() || largest / step > 1e12 {
        return vec![(low, short(low)), (high, short(high))];
    }
    let first = (low / step - 1e-9).ceil();
    let is_on = |v: &f64| v.is_finite() && *v <= high + 1e-9 * step;
    let values = (0..=20)
        .map(|k| (first + f64::from(k)) * step)
        .take_while(is_on);
    // As many digits as tell a tick from the next.
    let n_digits = (largest / step).log10().max(0.0).floor() + 1.0;
    values.map(|v| (v, label(v, n_digits, step))).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at most thirteen digits"
)]
fn label(value: f64, n_digits: f64, step: f64) -> String {
    if value.abs() < 1e-9 * step {
        "0".to_owned()
    } else {
        digits(value, n_digits as usize)
    }
}

fn log_ticks(low: f64, high: f64, n: usize) -> Vec<(f64, String)> {
    let (first, last) = (low.log10().floor(), high.log10().ceil());
    let decades = last - first;
    let is_on = |v: &f64| v.is_finite() && *v >= low * (1.0 - 1e-9) && *v <= high * (1.0 + 1e-9);
    let powers = |every: f64| {
        let n = (0..=40)
            .map(move |k| first + f64::from(k) * every)
            .take_while(move |e| *e <= last);
        n.map(|e| 10_f64.powf(e))
    };
    let fine: Vec<f64> = powers(1.0)
        .flat_map(|p| [p, 2.0 * p, 5.0 * p])
        .filter(is_on)
        .collect();
    let every = (decades / n.max(1) as f64).ceil();
    let ticks = if fine.len() <= 2 * n {
        fine
    } else {
        powers(every).filter(is_on).collect()
    };
    if ticks.len() < 2 {
        return vec![(low, digits(low, 2)), (high, digits(high, 2))];
    }
    ticks.into_iter().map(|v| (v, digits(v, 2))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn labels(scale: &Scale, n: usize) -> Vec<String> {
        scale.ticks(n).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_stand_at_round_numbers() {
        assert_eq!(
            labels(&Scale::linear(0.0, 1.0), 5),
            ["0", "0.2", "0.4", "0.6", "0.8", "1"]
        );
        assert_eq!(
            labels(&Scale::linear(-3.0, 17.0), 4),
            ["0", "5", "10", "15"]
        );
        assert_eq!(
            labels(&Scale::linear(1000.01, 1000.04), 3),
            ["1000.01", "1000.02", "1000.03", "1000.04"]
        );
        assert_eq!(
            labels(&Scale::linear(-1e300, 1e300), 2),
            ["-1e300", "0", "1e300"]
        );
        assert_eq!(
            labels(&Scale::linear(0.0, 1e-323), 2),
            ["0", "9.88131e-324"]
        );
        assert_eq!(
            labels(&Scale::log(1e-4, 1e-1), 4),
            ["0.0001", "0.001", "0.01", "0.1"]
        );
        assert_eq!(
            labels(&Scale::log(0.03, 2.0), 4),
            ["0.05", "0.1", "0.2", "0.5", "1", "2"]
        );
        assert_eq!(
            labels(&Scale::log(1.0, 1e300), 3),
            ["1", "1e100", "1e200", "1e300"]
        );
        assert_eq!(labels(&Scale::log(3.0, 4.0), 3), ["3", "4"]);
        assert_eq!(labels(&Scale::Whole(0), 10), ["0"]);
        assert_eq!(labels(&Scale::Whole(3), 10), ["0", "1", "2", "3"]);
        assert_eq!(labels(&Scale::Whole(20), 5), ["0", "5", "10", "15", "20"]);
    }

    #[test]
    fn a_single_value_lies_in_the_middle() {
        for x in [0.0, 5.0, -1e300, 1e-300, f64::MAX] {
            let place = Scale::linear(x, x).place(x);
            assert!((0.4..=1.0).contains(&place), "{x} {place}");
        }
        assert!((Scale::log(7.0, 7.0).place(7.0) - 0.5).abs() < 1e-12);
        assert_eq!(Scale::Bands(vec!["a".into()]).place(0.0), 0.5);
    }

    proptest! {
        #[test]
        fn ticks_are_few_and_on_the_scale(
            a in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL | proptest::num::f64::ZERO,
            b in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL | proptest::num::f64::ZERO,
            n in 1_usize..10,
        ) {
            let mut scales = vec![Scale::linear(a.min(b), a.max(b))];
            if a.abs() > 0.0 && b.abs() > 0.0 {
                scales.push(Scale::log(a.abs().min(b.abs()), a.abs().max(b.abs())));
            }
            for scale in scales {
                let ticks = scale.ticks(n);
                prop_assert!(!ticks.is_empty() && ticks.len() <= 21, "{scale:?} {ticks:?}");
                for pair in ticks.windows(2) {
                    prop_assert!(pair[0].place < pair[1].place, "{scale:?} {ticks:?}");
                }
                for tick in ticks {
                    prop_assert!((-1e-6..=1.0 + 1e-6).contains(&tick.place), "{scale:?} {tick:?}");
                }
            }
        }
    }
}
