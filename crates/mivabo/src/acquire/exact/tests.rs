//! The enumeration against grids and samples, and the alternating search against the enumeration.

use std::sync::Arc;

use mivabo_bqp::Exhaustive;
use proptest::prelude::*;

use super::*;
use crate::acquire::alternating;
use crate::acquire::random::RandomPoints;
use crate::encoding::tests::random_valid_space;
use crate::features::{self, Features};
use crate::math::random::{Purpose, Stream, stream};
use crate::space::{Class, Domain};

/// Weights from the standard normal distribution.
pub(in crate::acquire) fn drawn(
    space: &Space,
    settings: &features::FeatureSettings,
    seed: u64,
) -> Weights {
    let features = Features::for_encoding(space.encoding(), settings, seed).unwrap();
    let mut draws = stream(seed, 0, Purpose::Weights);
    let flat: Vec<f64> = (0..features.n_weights()).map(|_| draws.normal()).collect();
    Weights::from_flat(Arc::new(features), &flat)
}

/// A space of 4 to 8 bits and 1 to 3 reals under up to three constraints; none where they contradict each other.
pub(in crate::acquire) fn mixed_space(seed: u64) -> Option<Space> {
    let draws = &mut stream(seed, 1, Purpose::Design);
    let mut space = Space::builder();
    let n_reals = 1 + draws.below(3);
    for k in 0..n_reals {
        let _ = space.float(format!("x{k}"), 0.0..=1.0);
    }
    let (mut n_bits, mut numbers) = (0, Vec::new());
    while n_bits < 4 + draws.below(3) {
        let (width, domain) = [
            (1, Domain::bool()),
            (2, Domain::int(0, 3)),
            (3, Domain::int(0, 5)),
            (3, Domain::choice(["red", "green", "blue"])),
        ][draws.below(4)]
        .clone();
        let name = format!("n{n_bits}");
        if width != 3 || domain.size() != Some(3) {
            numbers.push(name.clone());
        }
        let _ = space.add(&name, domain);
        n_bits += width;
    }
    for k in 0..draws.below(4) {
        if let Some(text) = constraint(&numbers, n_reals, draws) {
            space.subject_to(format!("c{k}"), text.as_str());
        }
    }
    space
        .build()
        .ok()
        .filter(|space| (4..=8).contains(&space.encoding().n_bits()))
}

fn constraint(numbers: &[String], n_reals: usize, draws: &mut Stream) -> Option<String> {
    let [a, b] = [(); 2].map(|()| numbers.get(draws.below(numbers.len())));
    let (a, b) = (a?, b?);
    let [x, y] = [(); 2].map(|()| draws.below(n_reals));
    let level = (draws.unit() * 100.0).round() / 100.0;
    Some(match draws.below(7) {
        0 => format!("{a} + {b} <= 2"),
        1 => format!("{a} >= 1 -> {b} <= 1"),
        2 => format!("x{x} <= {level} + 0.3 * {a}"),
        3 => format!("x{x} + 0.5 * x{y} + 0.1 * {a} <= {level} + 0.5"),
        4 => format!("x{x} + x{y} >= 0.2 * {a}"),
        5 => format!("{a} == 0 -> x{x} + x{y} <= 0.5 + {level}"),
        _ => format!("x{x} >= x{y} - 0.1 * {b}"),
    })
}

pub(in crate::acquire) fn has_constrained_reals(space: &Space) -> bool {
    space
        .constraints()
        .iter()
        .any(|constraint| constraint.class() >= Class::LinearContinuous)
}

fn found(space: &Space, weights: &Weights, settings: Settings) -> Option<Exact> {
    match minimise(space, weights, settings).unwrap() {
        Outcome::Found(exact) => Some(exact),
        Outcome::NoPoint { .. } | Outcome::TooManyPatterns => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn no_random_point_is_below_the_bound_and_the_point_is_feasible(
        tape in prop::collection::vec(0_u32..5040, 0..120), seed in 0_u64..1000,
    ) {
        let Some(space) = random_valid_space(&tape) else { return Ok(()) };
        prop_assume!(space.encoding().n_bits() <= 10);
        let weights = drawn(&space, &features::FeatureSettings::default(), seed);
        let settings = Settings { boxes: 300, ..Settings::default() };

        let outcome = minimise(&space, &weights, settings).unwrap();

        let bound = match &outcome {
            Outcome::Found(exact) => {
                prop_assert!(space.check(exact.feasible.point()).is_feasible() && exact.bound <= exact.value);
                let code = exact.feasible.code();
                prop_assert_eq!(exact.value, weights.value(&code.bits, &code.unit));
                exact.bound
            }
            Outcome::NoPoint { bound } => *bound,
            Outcome::TooManyPatterns => return Err(TestCaseError::fail("too many patterns")),
        };
        let points = RandomPoints::new(&space);
        let mut draws = stream(seed, 0, Purpose::Acquisition);
        for _ in 0..20 {
            let Ok(point) = points.draw(&mut draws) else { break };
            prop_assert!(bound <= weights.value(&point.code().bits, &point.code().unit), "{outcome:?}");
        }
    }

    #[test]
    fn patterns_are_the_feasible_points(tape in prop::collection::vec(0_u32..5040, 0..120), most in 0_usize..40) {
        let Some(space) = random_valid_space(&tape) else { return Ok(()) };
        prop_assume!(space.encoding().n_bits() <= 10);
        let problem = space.encoding().problem();
        let mut slow: Vec<Vec<bool>> = Exhaustive::feasible_points(problem).collect();
        slow.sort();

        let fast = patterns(problem, most);

        prop_assert_eq!(fast, Some(slow).filter(|slow| slow.len() <= most));
    }
}

#[test]
fn small_problems_are_closed_and_agree_with_a_grid() {
    let mut n = 0;
    for seed in 0..40 {
        let Some(space) = mixed_space(seed).filter(|space| space.encoding().n_reals() == 1) else {
            continue;
        };
        let weights = drawn(&space, &features::FeatureSettings::default(), seed);

        let exact = found(&space, &weights, Settings::default());

        let all = Exhaustive::feasible_points(space.encoding().problem());
        let codes =
            all.flat_map(|bits| (0..=200).map(move |k| (bits.clone(), [f64::from(k) / 200.0])));
        let points = codes.filter_map(|(bits, unit)| Feasible::of_code(&space, &bits, &unit));
        let values = points.map(|point| weights.value(&point.code().bits, &point.code().unit));
        let lowest = values.fold(f64::INFINITY, f64::min);
        match exact {
            Some(exact) => {
                assert!(
                    exact.value - exact.bound <= 1e-6 * exact.value.abs().max(1.0),
                    "seed {seed}: {exact:?}"
                );
                assert!(
                    exact.bound <= lowest && exact.value <= lowest + 1e-6,
                    "seed {seed}: {exact:?} {lowest}"
                );
                n += 1;
            }
            None => assert!(lowest.is_infinite(), "seed {seed}"),
        }
    }
    assert!(n >= 8, "{n}");
}

#[test]
fn more_patterns_than_allowed_are_said() {
    let mut space = Space::builder();
    for name in ["a", "b", "c"] {
        let _ = space.bool(name);
    }
    let space = space.build().unwrap();
    let weights = drawn(&space, &features::FeatureSettings::default(), 0);

    let refused = minimise(
        &space,
        &weights,
        Settings {
            patterns: 7,
            ..Settings::default()
        },
    )
    .unwrap();

    assert_eq!(refused, Outcome::TooManyPatterns);
}

/// By how much the alternating search from `n_starts` random starts misses the exact minimum, as a share of the range of f
/// over the feasible set, and whether constraints speak of reals; for each seed whose space has feasible points.
fn misses(seeds: std::ops::Range<u64>, bandwidth: f64, n_starts: usize) -> Vec<(bool, f64)> {
    let settings = features::FeatureSettings {
        bandwidth,
        ..features::FeatureSettings::default()
    };
    let mut misses = Vec::new();
    for seed in seeds {
        let Some(space) = mixed_space(seed) else {
            continue;
        };
        let weights = drawn(&space, &settings, seed);
        let Some(lowest) = found(&space, &weights, Settings::default()) else {
            continue;
        };
        let negated: Vec<f64> = weights.to_flat().iter().map(|w| -w).collect();
        let negated = Weights::from_flat(weights.features().clone(), &negated);
        let rough = Settings {
            gap: 1e-2,
            ..Settings::default()
        };
        let Some(highest) = found(&space, &negated, rough) else {
            continue;
        };
        let points = RandomPoints::new(&space);
        let mut draws = stream(seed, 0, Purpose::Acquisition);
        let starts: Vec<Feasible> = (0..n_starts)
            .filter_map(|_| points.draw(&mut draws).ok())
            .collect();

        let end =
            alternating::minimise(&space, &weights, &starts, alternating::Settings::default())
                .unwrap();

        let value = end.map_or(f64::INFINITY, |end| end.value);
        assert!(value >= lowest.bound, "seed {seed}: {value} {lowest:?}");
        assert!(
            lowest.value - lowest.bound <= 1e-5 * lowest.value.abs().max(1.0),
            "seed {seed}: {lowest:?}"
        );
        misses.push((
            has_constrained_reals(&space),
            (value - lowest.value) / (-highest.value - lowest.value).max(1e-9),
        ));
    }
    misses
}

/// Of 500 problems, from five random starts: all 204 where constraints leave the reals alone, and 98.6 % of the 296 others.
#[test]
fn alternating_is_within_a_hundredth_of_the_range_in_nearly_all_small_problems() {
    let misses = misses(0..170, 1.0, 5);

    let share = |of: &dyn Fn(bool) -> bool| {
        let chosen: Vec<f64> = misses
            .iter()
            .filter(|miss| of(miss.0))
            .map(|miss| miss.1)
            .collect();
        assert!(chosen.len() >= 50, "{}", chosen.len());
        chosen.iter().filter(|miss| **miss <= 0.01).count() as f64 / chosen.len() as f64
    };
    let (all, free) = (share(&|_| true), share(&|is_constrained| !is_constrained));
    assert!(
        misses.len() >= 100 && free >= 0.95 && all >= 0.95,
        "{} problems: {all} {free}",
        misses.len()
    );
}

#[test]
#[ignore = "a measurement: how often and by how much the alternating search misses"]
fn misses_by_bandwidth_and_starts() {
    for (bandwidth, n_starts) in [(0.3, 5), (1.0, 1), (1.0, 5), (1.0, 20)] {
        let all = misses(0..500, bandwidth, n_starts);
        for is_constrained in [false, true] {
            let misses: Vec<f64> = all
                .iter()
                .filter(|m| m.0 == is_constrained)
                .map(|m| m.1)
                .collect();
            let share = |most: f64| {
                misses.iter().filter(|m| **m <= most).count() as f64 / misses.len() as f64
            };
            println!(
                "σ = {bandwidth}, {n_starts} starts, reals constrained: {is_constrained}, {} problems: within 1e-6 {:.3}, \
                 1 % {:.3}, 5 % {:.3}; worst {:.3}",
                misses.len(),
                share(1e-6),
                share(0.01),
                share(0.05),
                misses.iter().copied().fold(0.0, f64::max),
            );
        }
    }
}
