//! The mixed part as a sum of small factors: weights enter, factors over few bits leave, each with one landscape for
//! every pattern of its bits. MiVaBo, App. G.
//!
//! ```text
//! f_m(x_d, x_c) = Σₖ fₖ(x_d|k, x_c|k),   fₖ(p, x) = Σ_{i ∈ k} aᵢ(p) Σⱼ Wᵢⱼ φⱼ(x)
//! ```
//!
//! Products whose monomials have the same bits are one factor. A factor joins another when both together have few enough
//! bits: fewer factors with more bits need fewer multipliers and leave a smaller gap, for twice the work with each bit.

use std::collections::{BTreeMap, BTreeSet};

use mivabo_bqp::{Assignment, Bqp, Propagator};

use crate::acquire::Error;
use crate::acquire::global::Landscape;
use crate::features;
use crate::features::Weights;

/// The most bits of one factor: its patterns are enumerated.
const MOST_BITS: usize = 14;

/// Part of f over few bits.
pub(super) struct Factor<'a> {
    /// Rising positions among all bits.
    pub bits: Vec<usize>,
    /// For each coordinate and each wave whether it takes part.
    pub has_real: Vec<bool>,
    pub has_wave: Vec<bool>,
    /// The patterns that propagation does not exclude.
    pub patterns: Vec<Pattern<'a>>,
}

pub(super) struct Pattern<'a> {
    /// The values of the factor's bits.
    pub bits: Vec<bool>,
    /// fₖ at these bits.
    pub landscape: Landscape<'a>,
}

impl Pattern<'_> {
    /// λ·p
    pub fn dot(&self, multipliers: &[f64]) -> f64 {
        self.bits
            .iter()
            .zip(multipliers)
            .filter(|(bit, _)| **bit)
            .map(|(_, l)| l)
            .sum()
    }
}

/// The factors of `weights` under `problem`, joined up to `n_bits` bits.
///
/// # Errors
/// [`Error::NoProgram`] when a monomial has too many bits to enumerate.
pub(super) fn factors<'a>(
    weights: &'a Weights,
    problem: &Bqp,
    n_bits: usize,
) -> Result<Vec<Factor<'a>>, Error> {
    let propagator = Propagator::new(problem);
    let mut factors = Vec::new();
    for (bits, rows) in joined(by_bits(weights), n_bits.min(MOST_BITS)) {
        if bits.len() > MOST_BITS {
            let why = format!(
                "a monomial has {} bits; factors have at most {MOST_BITS}",
                bits.len()
            );
            return Err(features::Error::NoProgram { why }.into());
        }
        let bits: Vec<usize> = bits.into_iter().collect();
        factors.push(Factor::new(
            weights,
            &propagator,
            problem.n(),
            (bits, &rows),
        ));
    }
    Ok(factors)
}

type Bits = BTreeSet<usize>;

/// Rows of W with a product, by the bits of their monomials; the largest sets first.
fn by_bits(weights: &Weights) -> Vec<(Bits, Vec<usize>)> {
    let features = weights.features();
    let rows = weights
        .matrix()
        .chunks_exact(features.n_columns())
        .enumerate()
        .skip(1);
    let mut of: BTreeMap<Bits, Vec<usize>> = BTreeMap::new();
    for (i, _) in rows.filter(|(_, row)| row[1..].iter().any(|w| *w != 0.0)) {
        of.entry(features.monomials().bits_of(i).collect())
            .or_default()
            .push(i);
    }
    let mut sets: Vec<(Bits, Vec<usize>)> = of.into_iter().collect();
    sets.sort_by_key(|(bits, _)| std::cmp::Reverse(bits.len()));
    sets
}

/// Each set joins the factor with which it shares most, where both together have at most `n_bits` bits or no more than
/// the factor has.
fn joined(sets: Vec<(Bits, Vec<usize>)>, n_bits: usize) -> Vec<(Bits, Vec<usize>)> {
    let mut factors: Vec<(Bits, Vec<usize>)> = Vec::new();
    for (bits, rows) in sets {
        let new = |factor: &Bits| bits.difference(factor).count();
        let fits = |factor: &Bits| new(factor) == 0 || factor.len() + new(factor) <= n_bits;
        match factors
            .iter_mut()
            .filter(|(factor, _)| fits(factor))
            .min_by_key(|(factor, _)| new(factor))
        {
            Some((factor, old)) => {
                factor.extend(bits);
                old.extend(rows);
            }
            None => factors.push((bits, rows)),
        }
    }
    factors
}

impl<'a> Factor<'a> {
    fn new(
        weights: &'a Weights,
        propagator: &Propagator<'_>,
        n: usize,
        (bits, rows): (Vec<usize>, &[usize]),
    ) -> Factor<'a> {
        let features = weights.features();
        let columns = features.n_columns();
        let row = |i: usize| &weights.matrix()[i * columns + 1..(i + 1) * columns];
        let has_wave: Vec<bool> = (0..columns - 1)
            .map(|j| rows.iter().any(|i| row(*i)[j] != 0.0))
            .collect();
        let mut has_real = vec![false; features.waves().n_reals()];
        for j in (0..has_wave.len()).filter(|j| has_wave[*j]) {
            features
                .waves()
                .reals_of(j)
                .for_each(|k| has_real[k] = true);
        }
        let mut patterns = Vec::new();
        for code in 0_u32..1 << bits.len() {
            let pattern: Vec<bool> = (0..bits.len()).map(|at| code >> at & 1 == 1).collect();
            let mut assignment = Assignment::new(n);
            bits.iter()
                .zip(&pattern)
                .for_each(|(bit, value)| assignment.fix(*bit, *value));
            let point = assignment.to_point();
            if propagator.propagate_all(&mut assignment).is_err() {
                continue;
            }
            let a = features.monomials().values(&point);
            let mut sum = vec![0.0; columns - 1];
            for i in rows.iter().filter(|i| a[**i] != 0.0) {
                sum.iter_mut()
                    .zip(row(*i))
                    .for_each(|(sum, w)| *sum += a[*i] * w);
            }
            let landscape = Landscape::of_weights(features.waves(), 0.0, &sum);
            patterns.push(Pattern {
                bits: pattern,
                landscape,
            });
        }
        Factor {
            bits,
            has_real,
            has_wave,
            patterns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::features::{Basis, FeatureSettings, Features};
    use crate::math::random::{Purpose, stream};
    use mivabo_bqp::{Quadratic, Row, Sense};
    use proptest::prelude::*;

    fn drawn(n_bits: usize, settings: &FeatureSettings, seed: u64) -> Weights {
        let features = Features::new((0..n_bits).collect(), 2, settings, seed).unwrap();
        let mut draws = stream(seed, 0, Purpose::Weights);
        let flat: Vec<f64> = (0..features.n_weights()).map(|_| draws.normal()).collect();
        Weights::from_flat(Arc::new(features), &flat)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn the_factors_add_up_to_the_mixed_part(
            bits in prop::collection::vec(any::<bool>(), 1..7), unit in prop::collection::vec(0.0_f64..1.0, 2),
            order in 1_usize..4, most in 0_usize..7, fourier: bool, seed in 0_u64..100,
        ) {
            let basis = if fourier { Basis::Fourier } else { Basis::Binary };
            let weights = drawn(bits.len(), &FeatureSettings { order, basis, ..FeatureSettings::default() }, seed);
            let factors = factors(&weights, &Bqp::new(bits.len()), most).unwrap();

            let sum: f64 = factors.iter().map(|factor| {
                let here: Vec<bool> = factor.bits.iter().map(|bit| bits[*bit]).collect();
                factor.patterns.iter().find(|p| p.bits == here).unwrap().landscape.value(&unit)
            }).sum();

            let columns = weights.features().n_columns();
            let is_mixed = |at: usize| at >= columns && !at.is_multiple_of(columns);
            let matrix = weights.matrix().iter().enumerate().map(|(at, w)| if is_mixed(at) { *w } else { 0.0 });
            let mixed = Weights::new(weights.features().clone(), matrix.collect()).value(&bits, &unit);
            prop_assert!((sum - mixed).abs() < 1e-10, "{sum} {mixed}");
            prop_assert!(factors.iter().all(|f| f.bits.len() <= most.max(order).max(1)));
        }
    }

    #[test]
    fn patterns_that_a_row_excludes_are_left_out() {
        let mut problem = Bqp::new(3);
        let sum = Quadratic::new(0.0, (0..3).map(|i| (i, 1.0)), []);
        problem
            .add_row(Row::new("one of three", sum, Sense::Equal, 1.0))
            .unwrap();
        let weights = drawn(3, &FeatureSettings::default(), 0);

        let factors = factors(&weights, &problem, 2).unwrap();

        assert_eq!(factors.len(), 3);
        assert!(factors.iter().all(|f| f.patterns.len() == 3));
    }

    #[test]
    fn a_monomial_of_too_many_bits_is_refused() {
        let settings = FeatureSettings {
            order: 15,
            ..FeatureSettings::default()
        };
        let weights = drawn(15, &settings, 0);

        let refused = factors(&weights, &Bqp::new(15), 4);

        assert!(matches!(
            refused,
            Err(Error::Features(features::Error::NoProgram { .. }))
        ));
    }
}
