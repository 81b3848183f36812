//! Streams of pseudo-random numbers, one for each seed, trial and purpose.
//!
//! The only module that touches `rand`. Streams are keyed, not split: what one part of the program draws never
//! shifts what another one sees, and trial 17 draws the same numbers after a restart as it would have without.
//! The bits of a stream are the same on every machine, and so are [`unit`](Stream::unit) and
//! [`below`](Stream::below); distributions that go through `ln` or `exp` (a normal does so once in a hundred
//! draws) agree up to the last digit of the platform's mathematical library.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rand_distr::{Distribution, Exp1, Gamma, InverseGaussian, StandardNormal};

/// What a stream is for: equal seeds and trials with different purposes give independent numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Purpose {
    /// Frequencies and phases of the continuous features.
    Features,
    /// Weights drawn from the posterior (Thompson sampling).
    Weights,
    /// Starting points of the fit of hyper-parameters.
    Hyperparameters,
    /// Inference by sampling (Gibbs).
    Inference,
    /// The initial design.
    Design,
    /// The search for the next point.
    Acquisition,
    /// The search for the point to recommend.
    Recommendation,
    /// Which parameters matter.
    Importance,
    /// Random feasible points for a user.
    Sample,
}

/// The stream of `seed` for one trial and one purpose.
///
/// ```
/// use mivabo::math::random::{Purpose, stream};
///
/// let mut one = stream(1, 0, Purpose::Weights);
/// let mut same = stream(1, 0, Purpose::Weights);
/// let mut other = stream(1, 0, Purpose::Features);
///
/// let first = one.unit();
/// assert_eq!(first, same.unit());
/// assert_ne!(first, other.unit());
/// ```
pub fn stream(seed: u64, trial: u64, purpose: Purpose) -> Stream {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&trial.to_le_bytes());
    key[16] = purpose as u8;
    Stream {
        source: ChaCha8Rng::from_seed(key),
    }
}

/// A stream of random numbers: ChaCha with 8 rounds (Bernstein 2008), keyed by seed, trial and purpose.
#[derive(Debug, Clone)]
pub struct Stream {
    source: ChaCha8Rng,
}

impl Stream {
    /// Uniform in [0, 1), a multiple of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        (self.source.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number below `n`, and 0 when `n` is 0. The bias of the multiplication method is n / 2⁶⁴.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the high half of the product is below n, a usize"
    )]
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.source.next_u64()) * n as u128) >> 64) as usize
    }

    /// Standard normal, by the ziggurat method.
    pub fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.source)
    }

    /// As many of these.
    pub(crate) fn normals(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.normal()).collect()
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        Exp1.sample(&mut self.source)
    }

    /// Gamma with density ∝ x^(shape - 1) e^(-x / scale). Both must be positive and finite; otherwise 0. At most the
    /// largest number.
    pub fn gamma(&mut self, shape: f64, scale: f64) -> f64 {
        if !(shape.is_finite() && scale.is_finite()) {
            return 0.0;
        }
        Gamma::new(shape, scale).map_or(0.0, |gamma| gamma.sample(&mut self.source).min(f64::MAX))
    }

    /// χ² with `degrees` degrees of freedom: the sum of as many squared normals. 0 unless `degrees` is positive.
    pub fn chi_square(&mut self, degrees: f64) -> f64 {
        self.gamma(0.5 * degrees, 2.0)
    }

    /// Inverse Gaussian (Wald) with the given mean and shape. Both must be positive and finite, and so far from overflow
    /// that a draw is a number; otherwise the mean.
    pub fn inverse_gaussian(&mut self, mean: f64, shape: f64) -> f64 {
        let draw =
            InverseGaussian::new(mean, shape).map_or(mean, |wald| wald.sample(&mut self.source));
        if draw.is_finite() { draw } else { mean }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that the mean of `draw` is `mean` within five standard errors, given its variance.
    fn assert_mean(mut draw: impl FnMut(&mut Stream) -> f64, mean: f64, variance: f64) {
        let n = 100_000;
        let mut stream = stream(3, 1, Purpose::Weights);

        let average = (0..n).map(|_| draw(&mut stream)).sum::<f64>() / f64::from(n);

        let standard_error = (variance / f64::from(n)).sqrt();
        assert!(
            (average - mean).abs() < 5.0 * standard_error,
            "{average} is not {mean}"
        );
    }

    #[test]
    fn means_are_met_within_five_standard_errors() {
        assert_mean(Stream::unit, 0.5, 1.0 / 12.0);
        assert_mean(Stream::normal, 0.0, 1.0);
        assert_mean(|s| s.normal().powi(2), 1.0, 2.0);
        assert_mean(|s| s.normal().powi(4), 3.0, 96.0);
        assert_mean(Stream::exponential, 1.0, 1.0);
        assert_mean(|s| s.gamma(2.5, 3.0), 7.5, 22.5);
        assert_mean(|s| s.chi_square(5.0), 5.0, 10.0);
        assert_mean(|s| s.inverse_gaussian(2.0, 3.0), 2.0, 8.0 / 3.0);
        assert_mean(|s| s.below(10) as f64, 4.5, 8.25);
    }

    #[test]
    fn streams_of_different_trials_and_purposes_differ() {
        let first = |seed, trial, purpose| stream(seed, trial, purpose).unit();
        let all = [
            first(0, 0, Purpose::Features),
            first(1, 0, Purpose::Features),
            first(0, 1, Purpose::Features),
            first(0, 0, Purpose::Weights),
        ];

        let distinct: std::collections::BTreeSet<u64> = all.iter().map(|x| x.to_bits()).collect();

        assert_eq!(distinct.len(), all.len());
    }

    #[test]
    fn the_numbers_of_a_seed_never_change() {
        let mut stream = stream(20_261_115, 7, Purpose::Design);

        let first = [stream.below(1000), stream.below(1000), stream.below(1000)];

        assert_eq!(first, [667, 264, 616]);
    }

    #[test]
    fn wrong_parameters_give_a_number_and_no_panic() {
        let mut stream = stream(0, 0, Purpose::Weights);

        let draws = [
            stream.gamma(-1.0, 1.0),
            stream.chi_square(f64::NAN),
            stream.inverse_gaussian(2.0, 0.0),
        ];

        assert_eq!(draws, [0.0, 0.0, 2.0]);
        let endless = [
            stream.gamma(f64::INFINITY, 1.0),
            stream.gamma(1.0, f64::INFINITY),
        ];
        assert_eq!(endless, [0.0, 0.0]);
        assert_eq!(stream.gamma(1e300, 1e300), f64::MAX);
        assert_eq!(stream.inverse_gaussian(1.0, f64::INFINITY), 1.0);
        assert_eq!(stream.inverse_gaussian(1e200, 1e-200), 1e200);
        assert_eq!(stream.below(0), 0);
    }
}
