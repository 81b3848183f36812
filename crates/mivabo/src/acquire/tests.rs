//! The searches keep their promises: every end is feasible, and none is worse than its start.

use std::sync::Arc;

use proptest::prelude::*;

use super::alternating::{Settings, minimise};
use super::random::RandomPoints;
use super::*;
use crate::encoding::tests::random_valid_space;
use crate::error::Error;
use crate::features::{self, Features, Weights};
use crate::random::{Purpose, stream};

fn weights(space: &Space, seed: u64) -> Weights {
    let features = Features::for_encoding(space.encoding(), &features::Settings::default(), seed).unwrap();
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

        let end = minimise(&space, &weights, std::slice::from_ref(&start), Settings::default()).unwrap().unwrap();

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

        let found = minimise(&space, &weights, &[start], Settings::default()).unwrap().unwrap();

        prop_assert!((found.value - lowest).abs() <= 1e-8 * lowest.abs().max(1.0), "{} {lowest}", found.value);
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
        .map(|n| minimise(&space, &weights, &starts[..n], Settings::default()).unwrap().unwrap().value)
        .collect();

    assert!(ends.is_sorted_by(|a, b| a >= b), "{ends:?}");
}

#[test]
fn a_descent_that_leaves_the_feasible_set_comes_back() {
    let space = disc();
    for seed in 0..50 {
        let weights = weights(&space, seed);
        let start = RandomPoints::new(&space).draw(&mut stream(seed, 0, Purpose::Design)).unwrap();
        let bits = &start.code().bits;
        let objective = weights.given_bits(bits);

        let unit = improve_reals(&space, bits, &objective, &start.code().unit);

        assert!(Feasible::of_code(&space, bits, &unit).is_some());
        assert!(objective.value(&unit) <= objective.value(&start.code().unit));
    }
}

#[test]
fn thin_feasible_sets_are_found_by_repair() {
    let mut space = Space::builder();
    let _ = space.float("x", 0.0..=1.0);
    let _ = space.float("y", 0.0..=1.0);
    space.subject_to("a thin ring", "0.2500 <= (x - 0.5) ** 2 + (y - 0.5) ** 2 <= 0.2501");
    let space = space.build().unwrap();

    let found = RandomPoints::new(&space).draw(&mut stream(0, 0, Purpose::Design));

    assert!(found.is_ok(), "{found:?}");
}

#[test]
fn an_empty_set_that_the_build_does_not_see_is_said_with_what_was_tried() {
    let mut space = Space::builder();
    let _ = space.float("x", 0.0..=1.0);
    let _ = space.float("y", 0.0..=1.0);
    space.subject_to("inside", "x ** 2 + y ** 2 <= 0.5");
    space.subject_to("outside", "x + y >= 1.5");
    let space = space.build().unwrap();

    let refused = RandomPoints::new(&space).draw(&mut stream(0, 0, Purpose::Design)).unwrap_err();

    assert!(matches!(refused, Error::NoFeasiblePoint { .. }));
    assert_eq!(
        refused.to_string(),
        "no feasible point was found, though there may be one; tried: 128 random points, bits for 16 random settings \
         of the continuous parameters, and 16 walks of 600 steps towards the feasible set"
    );
}
