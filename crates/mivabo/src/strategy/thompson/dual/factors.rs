//! The mixed part of a drawn function as a sum of factors over few bits, each with one landscape for every pattern of its bits.
//! MiVaBo, App. G.
//!
//! ```text
//! f_m(x_d, x_c) = Σₖ fₖ(x_d|k, x_c|k),   fₖ(p, x) = Σ_{i ∈ k} aᵢ(p) Σⱼ Wᵢⱼ φⱼ(x)
//! ```
//!
//! Products whose monomials have the same bits are one factor. A factor joins another when both together have few enough
//! bits: fewer factors with more bits need fewer multipliers and leave a smaller gap, for twice the work with each bit.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use mivabo_bqp::{Assignment, Bqp, Propagator};

use crate::acquire::{Error, all_bits};
use crate::features;
use crate::features::Weights;
use crate::math::vector::add_scaled;
use crate::strategy::thompson::global::Landscape;

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

impl Factor<'_> {
    /// Each bit with its multiplier.
    pub fn terms(&self, multipliers: &[f64]) -> impl Iterator<Item = (usize, f64)> {
        let bits = self.bits.iter().copied();
        bits.zip(multipliers.iter().copied())
    }
}

impl Pattern<'_> {
    /// λ·p
    pub fn dot(&self, multipliers: &[f64]) -> f64 {
        let set = self.bits.iter().zip(multipliers).filter(|(bit, _)| **bit);
        set.map(|(_, multiplier)| multiplier).sum()
    }
}

/// Rows of W with a product, and the bits of their monomials.
struct Group {
    bits: BTreeSet<usize>,
    rows: Vec<usize>,
}

/// The factors of `weights` under `problem`, joined up to `n_bits` bits.
///
/// # Errors
/// [`Error::Features`] when a monomial has too many bits to enumerate.
pub(super) fn factors<'a>(
    weights: &'a Weights,
    problem: &Bqp,
    n_bits: usize,
) -> Result<Vec<Factor<'a>>, Error> {
    let parts = Parts {
        weights,
        n_bits: problem.n(),
        propagator: Propagator::new(problem),
    };
    let mut factors = Vec::new();
    for group in joined(by_bits(weights), n_bits.min(MOST_BITS)) {
        check_size(group.bits.len())?;
        factors.push(parts.factor(group));
    }
    Ok(factors)
}

fn check_size(n: usize) -> Result<(), features::Error> {
    if n <= MOST_BITS {
        return Ok(());
    }
    let why = format!("a monomial has {n} bits; factors have at most {MOST_BITS}");
    Err(features::Error::NoProgram { why })
}

/// One group for each set of bits; the largest sets first.
fn by_bits(weights: &Weights) -> Vec<Group> {
    let features = weights.features();
    let rows = weights.matrix().chunks_exact(features.n_columns());
    // The first row has no bits, and the first column no wave: both are other parts of f.
    let products = rows
        .enumerate()
        .skip(1)
        .filter(|(_, row)| row[1..].iter().any(|w| *w != 0.0));
    let mut rows_of: BTreeMap<BTreeSet<usize>, Vec<usize>> = BTreeMap::new();
    for (i, _) in products {
        let bits = features.monomials().bits_of(i).collect();
        rows_of.entry(bits).or_default().push(i);
    }
    let groups = rows_of.into_iter().map(|(bits, rows)| Group { bits, rows });
    let mut groups: Vec<Group> = groups.collect();
    groups.sort_by_key(|group| Reverse(group.bits.len()));
    groups
}

/// Each group joins the factor with which it shares most, where both together have at most `n_bits` bits or no more than
/// the factor has.
fn joined(groups: Vec<Group>, n_bits: usize) -> Vec<Group> {
    let mut factors: Vec<Group> = Vec::new();
    for group in groups {
        let n_new = |factor: &Group| group.bits.difference(&factor.bits).count();
        let fits = |factor: &Group| {
            let n_new = n_new(factor);
            n_new == 0 || factor.bits.len() + n_new <= n_bits
        };
        // With which a group shares most bits is with which it has the fewest new ones.
        let candidates = factors.iter_mut().filter(|factor| fits(factor));
        match candidates.min_by_key(|factor| n_new(factor)) {
            Some(factor) => {
                factor.bits.extend(group.bits);
                factor.rows.extend(group.rows);
            }
            None => factors.push(group),
        }
    }
    factors
}

/// What factors are made of.
struct Parts<'a, 'p> {
    weights: &'a Weights,
    /// All bits of the problem.
    n_bits: usize,
    propagator: Propagator<'p>,
}

impl<'a> Parts<'a, '_> {
    fn factor(&self, group: Group) -> Factor<'a> {
        let has_wave = self.has_wave(&group.rows);
        let bits: Vec<usize> = group.bits.into_iter().collect();
        Factor {
            patterns: self.patterns(&bits, &group.rows),
            has_real: self.has_real(&has_wave),
            bits,
            has_wave,
        }
    }

    fn patterns(&self, bits: &[usize], rows: &[usize]) -> Vec<Pattern<'a>> {
        let all = all_bits(bits.len());
        let possible = all.filter_map(|values| self.pattern(bits, values, rows));
        possible.collect()
    }

    /// Wᵢⱼ of one monomial, for each wave.
    fn row(&self, i: usize) -> &'a [f64] {
        let columns = self.weights.features().n_columns();
        &self.weights.matrix()[i * columns + 1..(i + 1) * columns]
    }

    fn has_wave(&self, rows: &[usize]) -> Vec<bool> {
        let n_waves = self.weights.features().n_columns() - 1;
        (0..n_waves)
            .map(|j| rows.iter().any(|i| self.row(*i)[j] != 0.0))
            .collect()
    }

    fn has_real(&self, has_wave: &[bool]) -> Vec<bool> {
        let waves = self.weights.features().waves();
        let mut has_real = vec![false; waves.n_reals()];
        for (j, _) in has_wave.iter().enumerate().filter(|(_, has)| **has) {
            for k in waves.reals_of(j) {
                has_real[k] = true;
            }
        }
        has_real
    }

    /// fₖ where the bits have these values; none where propagation refutes them.
    fn pattern(&self, bits: &[usize], values: Vec<bool>, rows: &[usize]) -> Option<Pattern<'a>> {
        let mut assignment = Assignment::new(self.n_bits);
        for (bit, value) in bits.iter().zip(&values) {
            assignment.fix(*bit, *value);
        }
        // Taken before propagation, which may fix other bits: the factor's monomials have none of those.
        let point = assignment.to_point();
        self.propagator.propagate_all(&mut assignment).ok()?;
        let features = self.weights.features();
        let a = features.monomials().values(&point);
        let mut sum = vec![0.0; features.n_columns() - 1];
        for &i in rows.iter().filter(|i| a[**i] != 0.0) {
            add_scaled(&mut sum, a[i], self.row(i));
        }
        Some(Pattern {
            bits: values,
            landscape: Landscape::of_weights(features.waves(), 0.0, &sum),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::features::{Basis, FeatureSettings, Features};
    use crate::math::random::{Purpose, stream};
    use mivabo_bqp::{Quadratic, Row, RowRelation};
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
            .add_row(Row::new("one of three", sum, RowRelation::Equal, 1.0))
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
