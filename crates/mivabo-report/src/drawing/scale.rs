//! Scales give each value its place in [0, 1].
//!
//! ```text
//! linear   (v - low) / (high - low)
//! log      the same of logarithms
//! bands    (k + ½) / n of the k-th value
//! ```

use super::ticks::{Mark, Tick, linear_ticks, log_ticks};

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

impl Scale {
    /// A linear scale that holds both numbers, which may be equal.
    pub fn linear(low: f64, high: f64) -> Scale {
        if low < high {
            return Scale::Linear(low, high);
        }
        // A single value stands in the middle, with room around it in proportion to its size.
        let room = if low == 0.0 { 1.0 } else { 0.1 * low.abs() };
        let below = (low.min(high) - room).max(-f64::MAX);
        let above = (low.max(high) + room).min(f64::MAX);
        Scale::Linear(below, above)
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

    /// The same for a value that may lie beyond the scale: then it stands at the edge.
    pub fn place_or_edge(&self, value: f64) -> f64 {
        self.place(value).clamp(0.0, 1.0)
    }

    /// About `n` ticks; for bands one for each.
    pub fn ticks(&self, n: usize) -> Vec<Tick> {
        let ticks = match self {
            Scale::Linear(low, high) => linear_ticks(*low, *high, n, 0.0),
            Scale::Whole(last) => linear_ticks(0.0, *last as f64, n, 1.0),
            Scale::Log(low, high) => log_ticks(*low, *high, n),
            Scale::Bands(labels) => bands(labels),
        };
        let placed = ticks.into_iter().map(|mark| Tick {
            place: self.place(mark.value),
            label: mark.label,
        });
        placed.collect()
    }
}

/// A tick for each band, at its number.
fn bands(labels: &[String]) -> Vec<Mark> {
    let bands = labels.iter().enumerate().map(|(band, label)| Mark {
        value: band as f64,
        label: label.clone(),
    });
    bands.collect()
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
