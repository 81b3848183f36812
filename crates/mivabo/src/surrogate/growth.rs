//! Which products of bits and reals belong into the model: observations enter, a structure of greater evidence leaves.
//! MiVaBo, Sec. 3.1: "progressively discard not-promising ones", or "progressively add ... starting from the empty set".
//!
//! A candidate is a set of parameters with discrete values times a set of reals: all products of a monomial whose bits
//! belong to exactly these parameters with a wave of exactly these reals. Candidates are ranked by the slope of the log
//! evidence when their kernel K_c enters with a small variance ε,
//!
//! ```text
//! ∂/∂ε log p(y) = ½ (αᵀK_cα - tr(K⁻¹K_c))
//! ```
//!
//! and the most promising ones are tried; the structure with the greatest log evidence is kept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::evidence::{columns, spread_out};
use super::gaussian::Gaussian;
use super::records::Records;
use crate::encoding::Encoding;
use crate::features::{Features, Products};
use crate::math::linalg::{Triangle, dot, gram};
use crate::surrogate::Error;

/// How the mixed features change as data arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Growth {
    /// Not at all.
    #[default]
    Fixed,
    /// The least promising candidates are dropped while the evidence does not fall.
    Discard,
    /// The most promising candidates are added while the evidence rises.
    Add,
}

/// Candidates that are tried in full at each step.
const N_TRIED: usize = 8;

/// The most steps of one call, and the most observations that are looked at.
const MAX_STEPS: usize = 32;
const MAX_POINTS: usize = 200;

/// The parameter that each bit belongs to, from which candidates are made.
pub fn owners(encoding: &Encoding) -> Vec<usize> {
    let mut owners = vec![0; encoding.n_bits()];
    for parameter in 0..encoding.model().parameters.len() {
        encoding
            .bits_of(parameter)
            .for_each(|bit| owners[bit] = parameter);
    }
    owners
}

/// The same observations under the structure that `growth` finds; `owners` names a parameter for each bit.
///
/// Costs O(n² M_d + n³) for each step, with n at most 200.
///
/// # Errors
/// None in practice: the prior is that of `gaussian`.
pub fn grown(gaussian: &Gaussian, growth: Growth, owners: &[usize]) -> Result<Gaussian, Error> {
    if growth == Growth::Fixed || gaussian.n_observations() == 0 {
        return Ok(gaussian.clone());
    }
    let chosen = spread_out(gaussian.n_observations(), MAX_POINTS);
    let records = gaussian.records().subset(&chosen);
    let mut search = Search::new(gaussian, &records, owners);
    for _ in 0..MAX_STEPS {
        if !search.step(growth) {
            break;
        }
    }
    let features = gaussian
        .features()
        .with_products(&Products::Listed(search.pairs(gaussian.features())));
    gaussian.refitted(Arc::new(features), gaussian.prior())
}

struct Candidate {
    monomials: Vec<usize>,
    waves: Vec<usize>,
}

impl Candidate {
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.monomials
            .iter()
            .flat_map(|&i| self.waves.iter().map(move |&j| (i, j)))
    }
}

/// All candidates of a model, in the order of their first monomial.
fn candidates(features: &Features, owners: &[usize]) -> Vec<Candidate> {
    let owner = |bit: usize| owners.get(bit).copied().unwrap_or(bit);
    let mut monomials: BTreeMap<BTreeSet<usize>, Vec<usize>> = BTreeMap::new();
    for i in 1..features.monomials().len() {
        monomials
            .entry(features.monomials().bits_of(i).map(owner).collect())
            .or_default()
            .push(i);
    }
    let mut waves: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
    for j in 0..features.waves().len() {
        waves
            .entry(features.waves().reals_of(j).collect())
            .or_default()
            .push(j);
    }
    let pairs = monomials
        .values()
        .flat_map(|m| waves.values().map(move |w| (m.clone(), w.clone())));
    let mut all: Vec<Candidate> = pairs
        .map(|(monomials, waves)| Candidate { monomials, waves })
        .collect();
    all.sort_by_key(|c| (c.monomials[0], c.waves[0]));
    all
}

struct Search<'a> {
    records: &'a Records,
    variance: f64,
    candidates: Vec<Candidate>,
    is_in: Vec<bool>,
    /// All φ_d, n × M_d, row-major.
    a: Vec<f64>,
    /// The products of each set of waves over all records.
    wave_grams: BTreeMap<Vec<usize>, Vec<f64>>,
    /// K + β⁻¹I with the candidates that are in.
    kernel: Vec<f64>,
    evidence: f64,
}

impl<'a> Search<'a> {
    fn new(gaussian: &Gaussian, records: &'a Records, owners: &[usize]) -> Search<'a> {
        let (features, prior) = (gaussian.features(), gaussian.prior());
        let has = |(i, j): (usize, usize)| features.mixed().waves_of(i).binary_search(&j).is_ok();
        let mut candidates = candidates(features, owners);
        // Of which some products are in and others are not: neither to be added nor dropped as a whole.
        candidates.retain(|c| c.pairs().all(has) || !c.pairs().any(has));
        let is_in = candidates.iter().map(|c| c.pairs().all(has)).collect();
        let mut wave_grams = BTreeMap::new();
        for c in &candidates {
            wave_grams
                .entry(c.waves.clone())
                .or_insert_with(|| wave_gram(records, &c.waves));
        }
        let a = records.panel(0..records.n());
        let mut kernel = records.kernel_matrix(prior.variances);
        let noise = prior.effective_noise(features);
        (0..records.n()).for_each(|i| kernel[i * records.n() + i] += noise);
        let evidence = log_evidence(&kernel, records.y());
        Search {
            records,
            variance: prior.variances.mixed,
            candidates,
            is_in,
            a,
            wave_grams,
            kernel,
            evidence,
        }
    }

    /// Adds or drops one candidate; false when that does not help.
    fn step(&mut self, growth: Growth) -> bool {
        let sign = if growth == Growth::Add { 1.0 } else { -1.0 };
        let mut ranked = self.ranked(sign);
        ranked.truncate(N_TRIED);
        let mut best: Option<(usize, Vec<f64>, f64)> = None;
        for c in ranked {
            let change = self.kernel_of(&self.candidates[c]);
            let kernel: Vec<f64> = self
                .kernel
                .iter()
                .zip(change)
                .map(|(k, by)| k + sign * self.variance * by)
                .collect();
            let evidence = log_evidence(&kernel, self.records.y());
            if best.as_ref().is_none_or(|best| evidence > best.2) {
                best = Some((c, kernel, evidence));
            }
        }
        let helps = |evidence: f64| match growth {
            Growth::Add => evidence > self.evidence,
            _ => evidence >= self.evidence,
        };
        let Some((c, kernel, evidence)) = best.filter(|best| helps(best.2)) else {
            return false;
        };
        self.is_in[c] = growth == Growth::Add;
        self.kernel = kernel;
        self.evidence = evidence;
        true
    }

    /// The candidates that could be added (`sign` 1) or dropped (-1), the most promising first.
    fn ranked(&self, sign: f64) -> Vec<usize> {
        let factor = Triangle::factor(&self.kernel, self.records.n());
        let inverse = factor.inverse();
        let mut alpha = self.records.y().to_vec();
        factor.solve(&mut alpha);
        let n = alpha.len();
        let slope = |c: usize| {
            let k = self.kernel_of(&self.candidates[c]);
            let fit: f64 = (0..n)
                .map(|i| alpha[i] * dot(&k[i * n..][..n], &alpha))
                .sum();
            0.5 * sign * (fit - dot(&inverse, &k))
        };
        let possible = (0..self.candidates.len()).filter(|&c| self.is_in[c] == (sign < 0.0));
        let mut slopes: Vec<(usize, f64)> = possible.map(|c| (c, slope(c))).collect();
        slopes.sort_by(|a, b| b.1.total_cmp(&a.1));
        slopes.into_iter().map(|(c, _)| c).collect()
    }

    /// K_c: products of its monomials times products of its waves.
    fn kernel_of(&self, candidate: &Candidate) -> Vec<f64> {
        let a = columns(
            &self.a,
            self.records.features().monomials().len(),
            &candidate.monomials,
        );
        let mut kernel = gram(&a, candidate.monomials.len());
        kernel
            .iter_mut()
            .zip(&self.wave_grams[&candidate.waves])
            .for_each(|(k, c)| *k *= c);
        kernel
    }

    /// The products of the structure that was found; those that form no whole candidate stay as they were.
    fn pairs(&self, features: &Features) -> Vec<(usize, usize)> {
        let mut pairs: BTreeSet<(usize, usize)> = features.mixed().pairs().collect();
        for (candidate, is_in) in self.candidates.iter().zip(&self.is_in) {
            for pair in candidate.pairs() {
                if *is_in {
                    pairs.insert(pair);
                } else {
                    pairs.remove(&pair);
                }
            }
        }
        pairs.into_iter().collect()
    }
}

/// C_c: products of some waves over all records.
fn wave_gram(records: &Records, waves: &[usize]) -> Vec<f64> {
    // Column 0 of b̃ is the constant.
    let shifted: Vec<usize> = waves.iter().map(|j| j + 1).collect();
    gram(
        &columns(records.b(), records.features().n_columns(), &shifted),
        shifted.len(),
    )
}

/// -½ yᵀK⁻¹y - ½ log det K, up to a constant that is the same for all structures.
fn log_evidence(kernel: &[f64], y: &[f64]) -> f64 {
    let factor = Triangle::factor(kernel, y.len());
    let mut half = y.to_vec();
    factor.forward(&mut half);
    -0.5 * (dot(&half, &half) + factor.log_determinant())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::{Expansion, FeatureSettings, WaveKernel};
    use crate::math::random::{Purpose, stream};
    use crate::surrogate::{Prior, Scaling, Variances};

    /// Five bits, two reals, 120 observations of weights drawn from a model in which only bits 1 and 3 interact with
    /// reals, with real 0 and real 1; believed under `products`.
    fn observed(products: &Products, seed: u64) -> Gaussian {
        let expansion = Expansion::RandomAdditive {
            kernel: WaveKernel::SquaredExponential,
            n: 6,
        };
        let truth = Products::Linked(vec![(1, 0), (3, 1)]);
        let settings = FeatureSettings {
            order: 1,
            expansion,
            bandwidth: 0.3,
            products: truth,
            ..FeatureSettings::default()
        };
        let features = Features::new((0..5).collect(), 2, &settings, seed).unwrap();
        let prior = Prior {
            variances: Variances {
                discrete: 0.5,
                continuous: 1.0,
                mixed: 1.0,
            },
            noise: 0.01,
        };
        let believed = Arc::new(features.with_products(products));
        let mut stream = stream(seed, 0, Purpose::Design);
        let weights = Gaussian::new(Arc::new(features), prior)
            .unwrap()
            .sample(Scaling::None, &mut stream);
        let mut gaussian = Gaussian::new(believed, prior).unwrap();
        for _ in 0..120 {
            let bits: Vec<bool> = (0..5).map(|_| stream.unit() < 0.5).collect();
            let unit = [stream.unit(), stream.unit()];
            let y = weights.value(&bits, &unit) + 0.1 * stream.normal();
            gaussian.observe(&bits, &unit, y).unwrap();
        }
        gaussian
    }

    /// The candidates (bit, real) of the structure.
    fn structure(gaussian: &Gaussian) -> BTreeSet<(usize, usize)> {
        let features = gaussian.features();
        let pair = |(i, j)| {
            let bit = features.monomials().bits_of(i).next().unwrap();
            (bit, features.waves().reals_of(j).next().unwrap())
        };
        features.mixed().pairs().map(pair).collect()
    }

    #[test]
    fn adding_finds_the_few_products_of_the_truth() {
        for seed in 0..5 {
            let gaussian = observed(&Products::None, seed);

            let found = grown(&gaussian, Growth::Add, &[0, 1, 2, 3, 4]).unwrap();

            assert_eq!(
                structure(&found),
                BTreeSet::from([(1, 0), (3, 1)]),
                "seed {seed}"
            );
            assert!(found.log_evidence() > gaussian.log_evidence());
        }
    }

    #[test]
    fn discarding_leaves_the_few_products_of_the_truth() {
        for seed in 0..5 {
            let gaussian = observed(&Products::All, seed);

            let found = grown(&gaussian, Growth::Discard, &[0, 1, 2, 3, 4]).unwrap();

            assert_eq!(
                structure(&found),
                BTreeSet::from([(1, 0), (3, 1)]),
                "seed {seed}"
            );
            assert!(found.log_evidence() > gaussian.log_evidence());
        }
    }

    #[test]
    fn a_fixed_structure_and_a_belief_without_data_stay() {
        let gaussian = observed(&Products::All, 8);
        let empty = Gaussian::new(gaussian.features().clone(), Prior::default()).unwrap();

        assert_eq!(
            structure(&grown(&gaussian, Growth::Fixed, &[]).unwrap()).len(),
            10
        );
        assert_eq!(
            structure(&grown(&empty, Growth::Discard, &[]).unwrap()).len(),
            10
        );
    }

    #[test]
    fn products_that_form_no_whole_candidate_stay() {
        // One of the six waves of real 0 with bit 1 (monomial 2), and all six with bit 3 (monomial 4).
        let listed = (0..6).map(|j| (4, j)).chain([(2, 0)]).collect();
        let gaussian = observed(&Products::Listed(listed), 8);

        for growth in [Growth::Discard, Growth::Add] {
            let found = grown(&gaussian, growth, &[0, 1, 2, 3, 4]).unwrap();

            assert_eq!(
                found
                    .features()
                    .mixed()
                    .waves_of(2)
                    .iter()
                    .filter(|j| **j < 6)
                    .count(),
                1
            );
            assert!(
                found.log_evidence() >= gaussian.log_evidence(),
                "{growth:?}"
            );
        }
    }

    #[test]
    fn the_evidence_of_the_search_is_that_of_the_structure_it_leaves() {
        let gaussian = observed(&Products::None, 8);
        let records = gaussian.records().clone();
        let mut search = Search::new(&gaussian, &records, &[0, 0, 1, 1, 2]);
        let before = search.evidence;

        assert!(search.step(Growth::Add));

        let features = gaussian
            .features()
            .with_products(&Products::Listed(search.pairs(gaussian.features())));
        let refitted = gaussian
            .refitted(Arc::new(features), gaussian.prior())
            .unwrap();
        let rise = refitted.log_evidence() - gaussian.log_evidence();
        assert!(
            (search.evidence - before - rise).abs() < 1e-6 * rise,
            "{rise}"
        );
    }
}
