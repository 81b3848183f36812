//! Pseudo-random numbers, the same on every machine.

/// SplitMix64 (Steele, Lea & Flood 2014): 64 bits of state, every seed is as good as any other.
#[derive(Debug, Clone)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, and 0 when `n` is 0. The bias of the multiplication method is n / 2⁶⁴.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the high half of the product is below n, a usize"
    )]
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// A fair coin.
    pub(crate) fn coin(&mut self) -> bool {
        self.bits() >> 63 == 1
    }

    pub(crate) fn coins(&mut self, n: usize) -> Vec<bool> {
        (0..n).map(|_| self.coin()).collect()
    }

    /// Uniform in [0, 1), a multiple of 2⁻⁵³.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// One of the items with equal probability (up to 2⁻⁶⁴ times their number), or none of nothing.
    pub(crate) fn choose<T>(&mut self, items: impl ExactSizeIterator<Item = T>) -> Option<T> {
        let mut items = items;
        items.nth(self.below(items.len()))
    }

    /// One of the positions, with a probability proportional to its weight; none when all weights are 0.
    pub(crate) fn weighted(&mut self, weights: &Weights) -> Option<usize> {
        let mut left = self.unit() * weights.sum;
        let mut last_possible = None;
        for &(position, weight) in &weights.positive {
            // Rounding may leave something of the sum at the end: the last one takes it.
            last_possible = Some(position);
            left -= weight;
            if left < 0.0 {
                break;
            }
        }
        last_possible
    }
}

/// The weights of positions, to draw from again and again.
#[derive(Debug, Clone)]
pub(crate) struct Weights {
    /// Positions with a weight above 0, in order.
    positive: Vec<(usize, f64)>,
    sum: f64,
}

impl Weights {
    /// The exponentials of `log_weights`, up to a common factor.
    pub(crate) fn of_logs(log_weights: impl Iterator<Item = f64>) -> Self {
        let possible = log_weights
            .enumerate()
            .filter(|&(_, log_weight)| log_weight > f64::NEG_INFINITY);
        let mut positive: Vec<_> = possible.collect();
        let largest = positive
            .iter()
            .map(|&(_, log_weight)| log_weight)
            .fold(f64::NEG_INFINITY, f64::max);
        // Relative to the largest, so that none overflows and one is 1.
        for (_, weight) in &mut positive {
            *weight = (*weight - largest).exp();
        }
        positive.retain(|&(_, weight)| weight > 0.0);
        positive.shrink_to_fit();
        let sum = positive.iter().map(|&(_, weight)| weight).sum();
        Self { positive, sum }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_that_of_the_reference_implementation() {
        let mut random = Random::new(1_234_567);

        let first = [random.bits(), random.bits(), random.bits()];

        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn weights_are_met_within_five_standard_errors() {
        let n_draws = 100_000;
        let log_weights = [f64::NEG_INFINITY, 0.0, 3.0_f64.ln()];
        let mut random = Random::new(7);

        let weights = Weights::of_logs(log_weights.into_iter());
        let draws = (0..n_draws).filter_map(|_| random.weighted(&weights));
        let counts = draws.fold([0_u32; 3], |mut counts, k| {
            counts[k] += 1;
            counts
        });

        let standard_error = (0.75 * 0.25 / f64::from(n_draws)).sqrt();
        assert_eq!(counts[0], 0);
        assert!(
            (f64::from(counts[2]) / f64::from(n_draws) - 0.75).abs() < 5.0 * standard_error,
            "{counts:?}"
        );
    }

    #[test]
    fn nothing_is_chosen_from_nothing() {
        let mut random = Random::new(0);

        assert_eq!(random.choose([0_u8; 0].into_iter()), None);
        assert_eq!(random.weighted(&Weights::of_logs(std::iter::empty())), None);
        assert_eq!(
            random.weighted(&Weights::of_logs([f64::NEG_INFINITY; 2].into_iter())),
            None
        );
    }
}
