//! What a study predicts is what its proposer believes.

use super::*;
use crate::measure::Sense;
use crate::strategy::{self, Strategy};

const N_TOLD: usize = 12;

/// Small, because one of the strategies is for small spaces alone.
fn space() -> Space {
    let mut space = Space::builder();
    let n = space.integer("n", 0..=3);
    let flag = space.bool("flag");
    let _ = space.integer("tenths", 0..=10);
    space.subject_to("flagged", flag.implies(n.ge(1)));
    space.build().unwrap()
}

/// A quadratic and two steps, between 0 and 9.6.
fn objective(space: &Space, point: &Point) -> f64 {
    let number = |name| space.value(point, name).and_then(|v| v.as_f64()).unwrap();
    let is_on = space.value(point, "flag") == Some(true.into());
    10.0 * (0.1 * number("tenths") - 0.4).powi(2) + number("n") + if is_on { 3.0 } else { 0.0 }
}

fn at(space: &Space, n: i64, flag: bool, tenths: i64) -> Point {
    let values = [
        ("n", n.into()),
        ("flag", flag.into()),
        ("tenths", tenths.into()),
    ];
    space.point(values).unwrap()
}

fn spec(strategy: &str) -> Spec {
    Spec {
        strategy: Strategy::named(strategy).unwrap(),
        n_initial: Some(6),
        ..Spec::default()
    }
}

fn run(study: &mut Study, n: usize) {
    for _ in 0..n {
        let suggestion = study.ask().unwrap();
        let value = objective(study.space(), suggestion.point());
        study.tell(suggestion.id(), value).unwrap();
    }
}

fn studied(strategy: &str) -> Study {
    let mut study = Study::new(space(), spec(strategy)).unwrap();
    run(&mut study, N_TOLD);
    study
}

fn strategies_with_models() -> impl Iterator<Item = &'static str> {
    let names = Strategy::NAMES.iter().copied();
    names.filter(|name| *name != "random")
}

fn points(study: &Study) -> Vec<Point> {
    let trials = study.trials().iter();
    trials.map(|trial| trial.point().clone()).collect()
}

/// Sparse priors are left out: after so few trials they still believe that most weights are 0.
#[test]
fn what_was_told_is_predicted_closely_by_gaussian_models() {
    for strategy in [
        "improvement",
        "gp-annealing",
        "thompson",
        "thompson-learned",
    ] {
        let mut study = studied(strategy);
        let told = points(&study);

        let found = study.predict(&told).unwrap();

        for (estimate, point) in found.iter().zip(&told) {
            let error = (estimate.mean - objective(study.space(), point)).abs();
            assert!(error < 1.5, "{strategy}: {error} {estimate:?}");
            assert!(
                error <= 4.0 * estimate.deviation + 0.5,
                "{strategy}: {error} {estimate:?}"
            );
        }
    }
}

#[test]
fn a_known_function_is_predicted_where_it_was_never_evaluated() {
    let mut study = Study::new(space(), spec("improvement")).unwrap();
    let all = |space: &Space| -> Vec<Point> {
        let flags = [
            (0, false),
            (1, false),
            (2, false),
            (3, false),
            (1, true),
            (3, true),
        ];
        let tenths = |(n, flag)| (0..=10).map(move |tenths| (n, flag, tenths));
        let all = flags.into_iter().flat_map(tenths);
        all.map(|(n, flag, tenths)| at(space, n, flag, tenths))
            .collect()
    };
    let grid = all(study.space());
    for point in grid.iter().step_by(3) {
        let value = objective(study.space(), point);
        study.add(point, value).unwrap();
    }

    let found = study.predict(&grid).unwrap();

    let errors = found
        .iter()
        .zip(&grid)
        .map(|(estimate, point)| (estimate.mean - objective(study.space(), point)).abs());
    let worst = errors.fold(0.0, f64::max);
    assert!(worst < 0.5, "{worst}");
}

#[test]
fn what_is_predicted_at_the_recommended_point_is_what_the_proposer_expects_there() {
    for strategy in strategies_with_models() {
        let mut study = studied(strategy);
        let recommended = study.recommend().unwrap();

        let found = study.predict(&[recommended.point().clone()]).unwrap();

        let (found, expected) = (found[0].mean, recommended.mean());
        assert!(
            (found - expected).abs() < 1e-8,
            "{strategy}: {found} {expected}"
        );
    }
}

#[test]
fn predictions_change_no_suggestion_and_pending_trials_no_prediction() {
    for strategy in strategies_with_models() {
        let (mut study, mut other) = (studied(strategy), studied(strategy));
        let told = points(&study);

        let before = study.predict(&told).unwrap();
        let asked = study.ask().unwrap();
        let after = study.predict(&told).unwrap();

        assert_eq!(asked, other.ask().unwrap(), "{strategy}");
        assert_eq!(study.ask().unwrap(), other.ask().unwrap(), "{strategy}");
        assert_eq!(before, after, "{strategy}");
    }
}

#[test]
fn a_maximisation_is_predicted_in_its_own_units() {
    let turned = Spec {
        aims: Sense::Maximize.into(),
        ..spec("improvement")
    };
    let mut low = Study::new(space(), spec("improvement")).unwrap();
    let mut high = Study::new(space(), turned).unwrap();
    for k in 0..9 {
        let point = at(low.space(), k % 4, false, k);
        let value = objective(low.space(), &point);
        low.add(&point, value).unwrap();
        high.add(&point, -value).unwrap();
    }
    let wish = [at(low.space(), 2, true, 9)];

    let (low, high) = (
        low.predict(&wish).unwrap()[0],
        high.predict(&wish).unwrap()[0],
    );

    assert_eq!((high.mean, high.deviation), (-low.mean, low.deviation));
}

#[test]
fn points_that_violate_constraints_are_predicted_and_foreign_ones_refused() {
    let mut study = studied("improvement");
    let infeasible = at(study.space(), 0, true, 5);
    let mut other = Space::builder();
    let _ = other.integer("n", 0..=99);
    let foreign = other.build().unwrap().point([("n", 80.into())]).unwrap();

    assert!(study.predict(&[infeasible]).unwrap()[0].mean.is_finite());
    assert_eq!(study.predict(&[foreign]), Err(Error::ForeignPoint));
    assert_eq!(study.predict(&[]), Ok(vec![]));
}

#[test]
fn where_nothing_can_be_predicted_it_is_said_why() {
    let mut blind = Study::new(space(), spec("improvement")).unwrap();
    let wish = [at(blind.space(), 1, false, 1)];
    let asked = blind.ask().unwrap();
    blind.tell_failed(asked.id(), "diverged").unwrap();
    let mut random = Study::new(space(), spec("random")).unwrap();

    let refused = random.predict(&wish).unwrap_err();

    assert_eq!(blind.predict(&wish), Err(Error::NothingTold));
    assert_eq!(
        refused,
        Error::Strategy(strategy::Error::NoModel { strategy: "random" })
    );
    assert_eq!(
        refused.to_string(),
        "the strategy `random` has no model, so it predicts nothing"
    );
}
