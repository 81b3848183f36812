//! Chooses which products of bits and reals belong in the model, by evidence.
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

use super::conditioned::Conditioned;
use super::evidence::spread_out;
use super::gaussian::Gaussian;
use super::records::Records;
use crate::encoding::Encoding;
use crate::features::{Features, Mixed, Monomials, Products, Waves};
use crate::math::cholesky::GrowingFactor;
use crate::math::matrix::{chosen_columns, gram};
use crate::math::vector::{add_scaled, dot_in_lanes};
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
pub(crate) fn owners(encoding: &Encoding) -> Vec<usize> {
    let mut owners = vec![0; encoding.n_bits()];
    for parameter in 0..encoding.model().parameters.len() {
        for bit in encoding.bits_of(parameter) {
            owners[bit] = parameter;
        }
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
    // Without observations every structure explains them alike, and all products would be discarded.
    let has_data = gaussian.n_observations() > 0;
    let Some(direction) = Direction::of(growth).filter(|_| has_data) else {
        return Ok(gaussian.clone());
    };
    let chosen = spread_out(gaussian.n_observations(), MAX_POINTS);
    let records = gaussian.records().subset(&chosen);
    let mut search = Search::new(gaussian, &records, owners);
    for _ in 0..MAX_STEPS {
        if !search.step(direction) {
            break;
        }
    }
    let features = gaussian.features();
    let pairs = search.pairs(features.mixed());
    let features = features.with_products(&Products::Listed(pairs));
    gaussian.refitted(Arc::new(features), gaussian.prior())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Discard,
    Add,
}

impl Direction {
    fn of(growth: Growth) -> Option<Direction> {
        match growth {
            Growth::Fixed => None,
            Growth::Discard => Some(Direction::Discard),
            Growth::Add => Some(Direction::Add),
        }
    }

    fn sign(self) -> f64 {
        match self {
            Direction::Discard => -1.0,
            Direction::Add => 1.0,
        }
    }

    /// Whether a step is worth its change of the evidence: of two structures that explain data alike, the smaller is better.
    fn is_better(self, evidence: f64, before: f64) -> bool {
        match self {
            Direction::Discard => evidence >= before,
            Direction::Add => evidence > before,
        }
    }
}

/// Products that are added or dropped together.
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

    /// How many of its products are in the model: all, none, or some.
    fn presence(&self, mixed: &Mixed) -> Presence {
        let has = |(i, j): (usize, usize)| mixed.waves_of(i).binary_search(&j).is_ok();
        if self.pairs().all(has) {
            Presence::All
        } else if self.pairs().any(has) {
            Presence::Some
        } else {
            Presence::None
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    All,
    Some,
    None,
}

/// All candidates of a model, in the order of their first monomial.
fn candidates(features: &Features, owners: &[usize]) -> Vec<Candidate> {
    let of_reals = by_reals(features.waves());
    let mut all = Vec::new();
    for monomials in &by_parameters(features.monomials(), owners) {
        all.extend(of_reals.iter().map(|waves| Candidate {
            monomials: monomials.clone(),
            waves: waves.clone(),
        }));
    }
    all.sort_by_key(|c| (c.monomials[0], c.waves[0]));
    all
}

/// Monomials whose bits belong to the same parameters together, without the empty one.
fn by_parameters(monomials: &Monomials, owners: &[usize]) -> Vec<Vec<usize>> {
    let owner = |bit: usize| owners.get(bit).copied().unwrap_or(bit);
    grouped(1..monomials.len(), |i| {
        monomials.bits_of(i).map(owner).collect::<BTreeSet<usize>>()
    })
}

/// Waves of the same coordinates together.
fn by_reals(waves: &Waves) -> Vec<Vec<usize>> {
    grouped(0..waves.len(), |j| {
        waves.reals_of(j).collect::<Vec<usize>>()
    })
}

/// Numbers with equal keys together.
fn grouped<K: Ord>(
    numbers: impl Iterator<Item = usize>,
    key: impl Fn(usize) -> K,
) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<K, Vec<usize>> = BTreeMap::new();
    for number in numbers {
        groups.entry(key(number)).or_default().push(number);
    }
    groups.into_values().collect()
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
    now: Structure,
}

/// A structure as the data see it.
struct Structure {
    /// K + β⁻¹I with the candidates that are in.
    covariance: Vec<f64>,
    evidence: f64,
}

impl Structure {
    fn new(covariance: Vec<f64>, y: &[f64]) -> Structure {
        let evidence = log_evidence(&covariance, y);
        Structure {
            covariance,
            evidence,
        }
    }
}

impl<'a> Search<'a> {
    fn new(gaussian: &Gaussian, records: &'a Records, owners: &[usize]) -> Search<'a> {
        let (features, prior) = (gaussian.features(), gaussian.prior());
        let mut candidates = candidates(features, owners);
        // Of which some products are in and others are not: neither to be added nor dropped as a whole.
        candidates.retain(|c| c.presence(features.mixed()) != Presence::Some);
        let is_in = |c: &Candidate| c.presence(features.mixed()) == Presence::All;
        let noise = prior.effective_noise(features);
        let covariance = records.covariance(prior.variances, noise);
        let wave_grams = wave_grams(&candidates, records);
        Search {
            records,
            variance: prior.variances.mixed,
            is_in: candidates.iter().map(is_in).collect(),
            candidates,
            a: records.all_monomials(),
            wave_grams,
            now: Structure::new(covariance, records.y()),
        }
    }

    /// Adds or drops one candidate; false when that does not help.
    fn step(&mut self, direction: Direction) -> bool {
        let before = self.now.evidence;
        let better = self
            .best_change(direction)
            .filter(|(_, changed)| direction.is_better(changed.evidence, before));
        let Some((c, changed)) = better else {
            return false;
        };
        self.is_in[c] = direction == Direction::Add;
        self.now = changed;
        true
    }

    /// The candidate whose change gives the greatest evidence among the most promising ones, and what comes of it.
    fn best_change(&self, direction: Direction) -> Option<(usize, Structure)> {
        let mut best: Option<(usize, Structure)> = None;
        // The slope at ε = 0 only ranks: how far the evidence rises shows in full.
        for c in self.ranked(direction).into_iter().take(N_TRIED) {
            let changed = self.changed(c, direction);
            let least = best.as_ref().map(|(_, best)| best.evidence);
            if least.is_none_or(|least| changed.evidence > least) {
                best = Some((c, changed));
            }
        }
        best
    }

    /// The structure with a candidate added or dropped.
    fn changed(&self, candidate: usize, direction: Direction) -> Structure {
        let change = self.kernel_of(&self.candidates[candidate]);
        let mut covariance = self.now.covariance.clone();
        add_scaled(&mut covariance, direction.sign() * self.variance, &change);
        Structure::new(covariance, self.records.y())
    }

    /// The candidates that could be added or dropped, the most promising first.
    fn ranked(&self, direction: Direction) -> Vec<usize> {
        // One inverse ranks all candidates; to try one in full costs a factorisation each.
        let conditioned = Conditioned::new(&self.now.covariance, self.records.y());
        let inverse = conditioned.factor().inverse();
        let alpha = conditioned.alpha();
        let slope = |c: usize| {
            let k = self.kernel_of(&self.candidates[c]);
            0.5 * direction.sign() * (square_form(&k, alpha) - dot_in_lanes(&inverse, &k))
        };
        let possible = self.possible(direction);
        let mut slopes: Vec<(usize, f64)> = possible.map(|c| (c, slope(c))).collect();
        slopes.sort_by(|a, b| b.1.total_cmp(&a.1));
        slopes.into_iter().map(|(c, _)| c).collect()
    }

    /// Those that are in can be dropped, the others added.
    fn possible(&self, direction: Direction) -> impl Iterator<Item = usize> {
        let is_in = direction == Direction::Discard;
        (0..self.candidates.len()).filter(move |&c| self.is_in[c] == is_in)
    }

    /// K_c: products of its monomials times products of its waves.
    fn kernel_of(&self, candidate: &Candidate) -> Vec<f64> {
        let n_monomials = self.records.features().monomials().len();
        let a = chosen_columns(&self.a, n_monomials, &candidate.monomials);
        let mut kernel = gram(&a, candidate.monomials.len());
        let waves = &self.wave_grams[&candidate.waves];
        kernel.iter_mut().zip(waves).for_each(|(k, c)| *k *= c);
        kernel
    }

    /// The products of the structure that was found; those that form no whole candidate stay as they were.
    fn pairs(&self, mixed: &Mixed) -> Vec<(usize, usize)> {
        let mut pairs: BTreeSet<(usize, usize)> = mixed.pairs().collect();
        for (candidate, is_in) in self.candidates.iter().zip(&self.is_in) {
            if *is_in {
                pairs.extend(candidate.pairs());
            } else {
                candidate.pairs().for_each(|pair| {
                    pairs.remove(&pair);
                });
            }
        }
        pairs.into_iter().collect()
    }
}

/// C_c of each set of waves, which several candidates share.
fn wave_grams(candidates: &[Candidate], records: &Records) -> BTreeMap<Vec<usize>, Vec<f64>> {
    let mut grams = BTreeMap::new();
    for Candidate { waves, .. } in candidates {
        grams
            .entry(waves.clone())
            .or_insert_with(|| records.wave_gram(waves));
    }
    grams
}

/// xᵀKx
fn square_form(k: &[f64], x: &[f64]) -> f64 {
    let rows = k.chunks_exact(x.len().max(1));
    rows.zip(x).map(|(row, xi)| xi * dot_in_lanes(row, x)).sum()
}

/// -½ yᵀK⁻¹y - ½ log det K, up to a constant that is the same for all structures.
fn log_evidence(covariance: &[f64], y: &[f64]) -> f64 {
    let factor = GrowingFactor::factor(covariance, y.len());
    // |L⁻¹y|² = yᵀK⁻¹y, by one triangular solve instead of two.
    let mut half = y.to_vec();
    factor.forward(&mut half);
    -0.5 * (dot_in_lanes(&half, &half) + factor.log_determinant())
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
        let before = search.now.evidence;

        assert!(search.step(Direction::Add));

        let features = gaussian
            .features()
            .with_products(&Products::Listed(search.pairs(gaussian.features().mixed())));
        let refitted = gaussian
            .refitted(Arc::new(features), gaussian.prior())
            .unwrap();
        let rise = refitted.log_evidence() - gaussian.log_evidence();
        assert!(
            (search.now.evidence - before - rise).abs() < 1e-6 * rise,
            "{rise}"
        );
    }
}
