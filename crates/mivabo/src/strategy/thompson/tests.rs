//! The searches keep their promises: every end is feasible, and none is worse than its start.

use std::sync::Arc;

use mivabo_bqp::Exhaustive;
use proptest::prelude::*;

use super::alternating::{AlternatingSettings, Reals, minimise, minimise_with};
use super::dual::{DualSettings, Master};
use super::*;
use crate::encoding::tests::random_valid_space;
use crate::features::{self, Features};
use crate::space::Domain;

fn weights(space: &Space, seed: u64) -> Weights {
    let features = Features::for_encoding(
        space.encoding(),
        &features::FeatureSettings::default(),
        seed,
    )
    .unwrap();
    let mut draws = stream(seed, 0, Purpose::Weights);
    let flat: Vec<f64> = (0..features.n_weights()).map(|_| draws.normal()).collect();
    Weights::from_flat(Arc::new(features), &flat)
}

fn value(weights: &Weights, feasible: &Feasible) -> f64 {
    weights.value(&feasible.code().bits, &feasible.code().unit)
}

/// A disc in the unit square, and an integer that makes it smaller.
fn disc() -> Space {
    let mut space = Space::builder();
    let _ = space.float("x", -1.0..=1.0);
    let _ = space.float("y", -1.0..=1.0);
    let _ = space.integer("n", 1..=3);
    space.subject_to("disc", "n * (x ** 2 + y ** 2) <= 1");
    space.build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn searches_end_feasible_and_no_higher_than_they_began(
        tape in proptest::collection::vec(0_u32..5040, 0..120),
        seed in 0_u64..1000,
    ) {
        let Some(space) = random_valid_space(&tape) else { return Ok(()) };
        let points = RandomPoints::new(&space);
        let mut draws = stream(seed, 0, Purpose::Acquisition);
        // A space whose continuous constraints contradict each other is not always seen by the build.
        let Ok(start) = points.draw(&mut draws) else { return Ok(()) };
        prop_assert!(space.check(start.point()).is_feasible());
        let weights = weights(&space, seed);

        let end = minimise(&space, &weights, std::slice::from_ref(&start), AlternatingSettings::default()).unwrap().unwrap();

        prop_assert!(space.check(end.feasible.point()).is_feasible());
        prop_assert!(end.value <= value(&weights, &start));
        prop_assert_eq!(end.value, value(&weights, &end.feasible));
    }

    #[test]
    fn discrete_searches_find_the_minimum(
        tape in proptest::collection::vec(0_u32..5040, 0..120),
        seed in 0_u64..1000,
    ) {
        let Some(space) = random_valid_space(&tape) else { return Ok(()) };
        let n_bits = space.encoding().n_bits();
        prop_assume!(space.encoding().n_reals() == 0 && n_bits <= 10);
        let weights = weights(&space, seed);
        let codes = (0..1_u32 << n_bits).map(|code| (0..n_bits).map(|k| code >> k & 1 == 1).collect());
        let feasible = codes.filter(|bits: &Vec<bool>| space.encoding().problem().is_feasible(bits));
        let lowest = feasible.map(|bits| weights.value(&bits, &[])).min_by(f64::total_cmp).unwrap();
        let start = RandomPoints::new(&space).draw(&mut stream(seed, 0, Purpose::Design)).unwrap();

        let found = minimise(&space, &weights, &[start], AlternatingSettings::default()).unwrap().unwrap();

        prop_assert!((found.value - lowest).abs() <= 1e-8 * lowest.abs().max(1.0), "{} {lowest}", found.value);
    }
}

#[test]
fn the_exhaustive_oracle_finds_the_same_minimum() {
    let space = disc();
    let points = RandomPoints::new(&space);
    for seed in 0..20 {
        let weights = weights(&space, seed);
        let start = points
            .draw(&mut stream(seed, 0, Purpose::Acquisition))
            .unwrap();
        let settings = AlternatingSettings::default();

        let fast = minimise(&space, &weights, std::slice::from_ref(&start), settings).unwrap();
        let slow = minimise_with(&mut Exhaustive, &space, &weights, &[start], settings).unwrap();

        assert_eq!(fast, slow, "seed {seed}");
    }
}

#[test]
fn more_starts_are_no_worse() {
    let space = disc();
    let weights = weights(&space, 3);
    let points = RandomPoints::new(&space);
    let mut draws = stream(0, 0, Purpose::Acquisition);
    let starts: Vec<Feasible> = (0..6).map(|_| points.draw(&mut draws).unwrap()).collect();

    let ends: Vec<f64> = (1..=6)
        .map(|n| {
            minimise(
                &space,
                &weights,
                &starts[..n],
                AlternatingSettings::default(),
            )
            .unwrap()
            .unwrap()
            .value
        })
        .collect();

    assert!(ends.is_sorted_by(|a, b| a >= b), "{ends:?}");
}
#[test]
fn equations_over_reals_are_met() {
    let mut space = Space::builder();
    for name in ["a", "b", "c", "d"] {
        let _ = space.float(name, 0.0..=1.0);
    }
    let _ = space.bool("salt");
    space.subject_to("all of it", "a + b + c + d == 1");
    space.subject_to("salted", "d == 0.1 * salt");
    let space = space.build().unwrap();
    let points = RandomPoints::new(&space);
    let mut draws = stream(0, 0, Purpose::Design);
    let starts: Vec<Feasible> = (0..20).map(|_| points.draw(&mut draws).unwrap()).collect();

    let end = minimise(
        &space,
        &weights(&space, 1),
        &starts,
        AlternatingSettings::default(),
    )
    .unwrap()
    .unwrap();

    assert!(space.check(end.feasible.point()).is_feasible());
    let salted = starts.iter().filter(|start| start.code().bits[0]).count();
    assert!((4..=16).contains(&salted), "{salted}");
}

type Rule = fn(&[f64]) -> bool;

/// The tests of the constraints here are a user's own, with no more tolerance than an equation needs.
#[test]
fn limits_of_nanometres_are_kept_as_those_of_metres_are() {
    let (nano, log) = (Domain::float(1e-9, 2e-8), Domain::float(1e-12, 1e-2).log());
    let close = |a: f64, b: f64| (a - b).abs() <= 2e-9 * a.abs().max(b.abs());
    let cases: [(&Domain, &str, Rule); 5] = [
        (&nano, "x + y + z <= 1e-8", |x| x[0] + x[1] + x[2] <= 1e-8),
        (&log, "x >= 10 * y", |x| x[0] >= 10.0 * x[1]),
        (&log, "x * y >= 1e-9", |x| x[0] * x[1] >= 1e-9),
        (&log, "min(x, y) >= 1e-3 * max(y, z)", |x| {
            x[0].min(x[1]) >= 1e-3 * x[1].max(x[2])
        }),
        (&log, "max(x, y) <= 1e-10", |x| x[0].max(x[1]) <= 1e-10),
    ];
    for (domain, text, holds) in cases {
        for is_equal in [false, true] {
            let mut space = Space::builder();
            for name in ["x", "y", "z"] {
                let _ = space.add(name, domain.clone());
            }
            space.subject_to("limit", text);
            if is_equal {
                space.subject_to("twice", "z == 2 * y");
            }
            let space = space.build().unwrap();
            let (points, mut draws) = (RandomPoints::new(&space), stream(0, 0, Purpose::Design));
            let starts: Vec<Feasible> = (0..20).map(|_| points.draw(&mut draws).unwrap()).collect();
            let end = minimise(
                &space,
                &weights(&space, 1),
                &starts,
                AlternatingSettings::default(),
            )
            .unwrap()
            .unwrap();

            for found in starts.iter().chain([&end.feasible]) {
                let values: Vec<f64> = space
                    .values(found.point())
                    .filter_map(|(_, value)| value.as_f64())
                    .collect();
                assert!(holds(&values), "{text}: {values:?}");
                assert!(
                    !is_equal || close(values[2], 2.0 * values[1]),
                    "{text}: {values:?}"
                );
            }
        }
    }
}

#[test]
fn the_gap_of_a_proposal_is_a_bound_by_which_no_feasible_point_is_lower() {
    let mut n = 0;
    for seed in 0..40 {
        let Some(space) = exact::tests::mixed_space(seed) else {
            continue;
        };
        let weights = weights(&space, seed);
        let points = RandomPoints::new(&space);
        let mut draws = stream(seed, 0, Purpose::Acquisition);
        let starts: Vec<Feasible> = (0..4)
            .filter_map(|_| points.draw(&mut draws).ok())
            .collect();
        let searched =
            |how, draws: &mut Stream| search(&space, &weights, &starts, how, draws).unwrap();
        let exact = ThompsonSearch::Exact(exact::ExactSettings::default());
        let Some(exact) = searched(exact, &mut draws) else {
            continue;
        };
        for master in [Master::Subgradient, Master::BlockCoordinate] {
            let dual = DualSettings {
                master,
                iterations: 5,
                ..DualSettings::default()
            };
            let Some(found) = searched(ThompsonSearch::Decomposition(dual), &mut draws) else {
                continue;
            };
            let drawn = Drawn {
                weights: weights.clone(),
                minimum: None,
                bound: found.bound,
                outputs: Outputs::default(),
            };
            for at in starts.iter().chain([&found.lowest.feasible]) {
                let Origin::Certified { gap } = drawn.origin(at) else {
                    panic!("seed {seed}: nothing was proved");
                };
                assert!(
                    gap >= value(&weights, at) - exact.lowest.value,
                    "seed {seed}"
                );
            }
            n += 1;
        }
    }
    assert!(n >= 20, "{n}");
}

#[test]
fn direct_finds_reals_that_no_step_from_the_start_leads_to() {
    let mut space = Space::builder();
    let _ = space.float("x", 0.0..=1.0);
    let space = space.build().unwrap();
    let rough = features::FeatureSettings {
        bandwidth: 0.1,
        ..features::FeatureSettings::default()
    };
    let (mut n_lower, mut n_higher) = (0, 0);
    for seed in 0..20 {
        let features = Features::for_encoding(space.encoding(), &rough, seed).unwrap();
        let mut draws = stream(seed, 0, Purpose::Weights);
        let flat: Vec<f64> = (0..features.n_weights()).map(|_| draws.normal()).collect();
        let weights = Weights::from_flat(Arc::new(features), &flat);
        let start = RandomPoints::new(&space).draw(&mut draws).unwrap();
        let [near, far] = [Reals::Lbfgs, Reals::Direct].map(|reals| {
            let settings = AlternatingSettings {
                reals,
                ..AlternatingSettings::default()
            };
            let end = minimise(&space, &weights, std::slice::from_ref(&start), settings);
            end.unwrap().unwrap().value
        });
        n_lower += usize::from(far < near - 1e-6);
        n_higher += usize::from(far > near + 1e-6);
    }
    assert!(n_lower >= 8 && n_higher <= 1, "{n_lower} {n_higher}");
}
