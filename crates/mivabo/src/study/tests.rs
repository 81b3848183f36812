//! The rules of a study, one by one, and its promise over random spaces.

use std::collections::BTreeSet;

use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};

use super::*;
use crate::acquire::random::RandomPoints;
use crate::acquire::{self, Feasible, Placed};
use crate::encoding::tests::random_valid_space;
use crate::features;
use crate::math::random::{Purpose, stream};
use crate::measure::{Aims, Goal, Limit, Measured, Outcome, Sense, VALUE};
use crate::space::Domain;
use crate::strategy::{Improvement, Strategy, Thompson};
use crate::surrogate::process::Kernel;

/// Eight bools of which four are on, and two reals.
fn mixed_space() -> Space {
    let mut space = Space::builder();
    for k in 0..8 {
        let _ = space.add(format!("b{k}"), Domain::bool());
    }
    let _ = space.float("x", 0.0..=1.0);
    let _ = space.float("y", 0.0..=1.0);
    space.subject_to("four", "b0 + b1 + b2 + b3 + b4 + b5 + b6 + b7 == 4");
    space.subject_to("corner", "x + y <= 1.5");
    space.build().unwrap()
}

/// Quadratic in the bits, smooth in the reals, with a product of both.
fn objective(space: &Space, point: &Point) -> f64 {
    let code = space.encoding().encode(point);
    let bit = |i: usize| f64::from(u8::from(code.bits[i]));
    let (x, y) = (code.unit[0], code.unit[1]);
    let linear: f64 = (0..8).map(|i| bit(i) * (i as f64 * 1.7).sin()).sum();
    let pairs: f64 = (0..8)
        .flat_map(|i| (0..i).map(move |j| (i, j)))
        .map(|(i, j)| bit(i) * bit(j) * ((i * 3 + j * 5) as f64).cos())
        .sum();
    linear + pairs + 2.0 * (x - 0.8).powi(2) + (3.0 * y).cos() * bit(2) + bit(5) * x
}

fn two_by_three() -> Space {
    let mut space = Space::builder();
    let _ = space.integer("a", 0..=1);
    let _ = space.integer("b", 0..=2);
    space.build().unwrap()
}

fn thompson(seed: u64) -> Spec {
    Spec {
        seed,
        strategy: Strategy::Thompson(Thompson::default()),
        ..Spec::default()
    }
}

fn improvement(seed: u64) -> Spec {
    Spec {
        seed,
        ..Spec::default()
    }
}

fn random(seed: u64) -> Spec {
    Spec {
        seed,
        strategy: Strategy::Random,
        ..Spec::default()
    }
}

/// The best value after `n` trials.
fn run(space: &Space, spec: Spec, n: usize) -> f64 {
    let mut study = Study::new(space.clone(), spec).unwrap();
    for _ in 0..n {
        let suggestion = study.ask().unwrap();
        study
            .tell(suggestion.id(), objective(space, suggestion.point()))
            .unwrap();
    }
    study.best().and_then(|trial| study.value(trial)).unwrap()
}

fn shown(space: &Space, point: &Point) -> String {
    format!("{:?}", space.values(point).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn every_suggestion_is_feasible_and_new(
        tape in proptest::collection::vec(0_u32..5040, 0..120),
        seed in 0_u64..1000,
        which in 0_usize..3,
    ) {
        let Some(space) = random_valid_space(&tape) else { return Ok(()) };
        let spec = [random, thompson, improvement][which](seed);
        let spec = Spec { n_initial: Some(3), ..spec };
        let mut study = Study::new(space.clone(), spec).unwrap();
        let mut seen = BTreeSet::new();
        for k in 0..10_u32 {
            let suggestion = match study.ask() {
                Ok(suggestion) => suggestion,
                Err(Error::Search(acquire::Error::Exhausted { n_tried })) => {
                    prop_assert_eq!(n_tried, seen.len());
                    prop_assert_eq!(n_tried, n_visible_points(&space));
                    return Ok(());
                }
                Err(error) => {
                    prop_assert!(space.encoding().n_reals() > 0, "{error}");
                    return Ok(());
                }
            };
            prop_assert!(space.check(suggestion.point()).is_feasible());
            prop_assert!(seen.insert(shown(&space, suggestion.point())), "twice: {}", shown(&space, suggestion.point()));
            if k % 4 == 3 {
                study.tell_failed(suggestion.id(), "crashed").unwrap();
            } else if k % 5 != 4 {
                study.tell(suggestion.id(), f64::from(k * 7 % 5)).unwrap();
            }
        }
    }
}

/// Feasible points that an objective can tell apart, where there are no reals.
fn n_visible_points(space: &Space) -> usize {
    let n_bits = space.encoding().n_bits();
    let codes = (0..1_u32 << n_bits).map(|code| (0..n_bits).map(|k| code >> k & 1 == 1).collect());
    let unit = vec![0.5; space.encoding().n_reals()];
    let points = codes.filter_map(|bits: Vec<bool>| Feasible::of_code(space, &bits, &unit));
    points
        .map(|point| shown(space, point.point()))
        .collect::<BTreeSet<_>>()
        .len()
}

#[test]
fn five_asks_before_any_tell_give_five_points() {
    for spec in [
        thompson(1),
        random(1),
        improvement(1),
        Spec {
            n_initial: Some(0),
            ..improvement(1)
        },
    ] {
        let space = mixed_space();
        let mut study = Study::new(space.clone(), spec).unwrap();

        let suggestions = study.ask_many(5).unwrap();

        let distinct: BTreeSet<String> = suggestions
            .iter()
            .map(|s| shown(&space, s.point()))
            .collect();
        assert_eq!(distinct.len(), 5);
        assert!(
            suggestions
                .iter()
                .all(|s| space.check(s.point()).is_feasible())
        );
        assert_eq!(
            suggestions.iter().map(Suggestion::id).collect::<Vec<_>>(),
            [0, 1, 2, 3, 4]
        );
    }
}

#[test]
fn strategies_with_a_model_beat_random_points() {
    let space = mixed_space();
    let mean = |name: &str| {
        let runs = (0..5).map(|seed| {
            let strategy = Strategy::named(name).unwrap();
            run(
                &space,
                Spec {
                    strategy,
                    ..thompson(seed)
                },
                30,
            )
        });
        runs.sum::<f64>() / 5.0
    };

    let names = ["random", "thompson", "thompson-learned", "improvement"];
    let means = names.map(mean);

    println!("{names:?} {means:.2?}");
    assert!(means[1..].iter().all(|mean| *mean < means[0]), "{means:?}");
}

#[test]
fn strategies_have_names() {
    for name in Strategy::NAMES {
        assert!(Strategy::named(name).is_ok(), "{name}");
    }

    let refused = Strategy::named("tompson").unwrap_err();

    assert_eq!(
        refused.to_string(),
        "there is no strategy `tompson`; did you mean `thompson`?"
    );
}

#[test]
fn a_resumed_study_goes_on_with_the_same_suggestion() {
    let space = mixed_space();
    let strategy = Strategy::Thompson(Thompson {
        learn: true,
        ..Thompson::default()
    });
    for spec in [
        thompson(3),
        random(3),
        improvement(3),
        Spec {
            strategy,
            ..thompson(4)
        },
    ] {
        let mut study = Study::new(space.clone(), spec.clone()).unwrap();
        let first = study.ask_many(14).unwrap();
        // Out of order, with a failure before and after the values, and two left pending.
        for at in [5, 0, 13, 3, 12, 7, 1, 2, 6, 11, 10, 8] {
            match at {
                0 | 7 => study.tell_failed(first[at].id(), "crashed").unwrap(),
                _ => study
                    .tell(first[at].id(), objective(&space, first[at].point()))
                    .unwrap(),
            }
            if at == 2 {
                let _ = study.ask().unwrap();
            }
        }

        let mut resumed = Study::resume(space.clone(), spec, study.trials()).unwrap();

        assert_eq!(resumed.trials(), study.trials());
        assert_eq!(resumed.recommend().unwrap(), study.recommend().unwrap());
        assert_eq!(resumed.ask_many(3).unwrap(), study.ask_many(3).unwrap());
    }
}

#[test]
fn an_exhausted_space_is_said_and_not_looped_on() {
    for spec in [thompson(0), random(0)] {
        let mut study = Study::new(two_by_three(), spec).unwrap();
        for _ in 0..6 {
            let suggestion = study.ask().unwrap();
            study.tell(suggestion.id(), 1.0).unwrap();
        }

        let refused = study.ask().unwrap_err();

        assert_eq!(refused, acquire::Error::Exhausted { n_tried: 6 }.into());
        assert_eq!(study.trials().len(), 6);
    }
}

#[test]
fn an_exhausted_space_of_many_bits_is_said_too() {
    let mut space = Space::builder();
    let _ = space.add("a", Domain::choice((0..8).collect::<Vec<i64>>()));
    let _ = space.add("b", Domain::choice((0..9).collect::<Vec<i64>>()));
    space.subject_to("few", "a + b <= 3");
    let space = space.build().unwrap();
    let mut study = Study::new(space, thompson(0)).unwrap();
    for k in 0..10 {
        let suggestion = study.ask().unwrap();
        study.tell(suggestion.id(), f64::from(k % 3)).unwrap();
    }

    assert_eq!(
        study.ask().unwrap_err(),
        acquire::Error::Exhausted { n_tried: 10 }.into()
    );
}

#[test]
fn many_asks_end_where_the_points_end() {
    let mut study = Study::new(two_by_three(), random(0)).unwrap();

    assert_eq!(study.ask_many(10).unwrap().len(), 6);
    assert!(study.ask_many(1).is_err());
}

#[test]
fn a_trial_is_told_once() {
    let mut study = Study::new(two_by_three(), random(0)).unwrap();
    let id = study.ask().unwrap().id();
    study.tell(id, 1.0).unwrap();

    assert_eq!(study.tell(id, 2.0), Err(Error::AlreadyTold { id }));
    assert_eq!(
        study.tell_failed(id, "late"),
        Err(Error::AlreadyTold { id })
    );
    assert_eq!(study.tell(9, 2.0), Err(Error::UnknownTrial { id: 9, n: 1 }));
    assert_eq!(study.value(study.best().unwrap()), Some(1.0));
}

#[test]
fn values_that_are_no_numbers_are_failures_with_a_reason() {
    let mut study = Study::new(two_by_three(), thompson(0)).unwrap();
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let id = study.ask().unwrap().id();
        study.tell(id, value).unwrap();
    }

    let states: Vec<State> = study
        .trials()
        .iter()
        .map(|trial| trial.state.clone())
        .collect();
    let failed = |reason: &str| State::Ended(Outcome::failed(reason));
    assert_eq!(
        states,
        ["NaN", "inf", "-inf"].map(|value| failed(&format!("the value is {value}")))
    );
    assert!(study.best().is_none());
    assert_eq!(study.recommend(), Err(Error::NothingFeasible));
    assert!(study.ask_many(3).is_ok());
}

#[test]
fn the_best_of_a_maximisation_is_the_highest() {
    let space = two_by_three();
    let spec = Spec {
        aims: Sense::Maximize.into(),
        ..thompson(2)
    };
    let mut study = Study::new(space.clone(), spec).unwrap();
    for _ in 0..6 {
        let suggestion = study.ask().unwrap();
        let b = space
            .value(suggestion.point(), "b")
            .and_then(|b| b.as_f64())
            .unwrap();
        study.tell(suggestion.id(), b).unwrap();
    }

    let best = study.best().unwrap().clone();
    let recommended = study.recommend().unwrap();

    assert_eq!(study.value(&best), Some(2.0));
    assert_eq!(space.value(recommended.point(), "b"), Some(2.into()));
    assert!(recommended.mean() > 1.0, "{}", recommended.mean());
}

#[test]
fn enqueued_points_come_first_and_must_be_feasible() {
    let space = mixed_space();
    let mut study = Study::new(space.clone(), random(0)).unwrap();
    let wish = RandomPoints::new(&space)
        .draw(&mut stream(9, 9, Purpose::Design))
        .unwrap();
    let code = wish.code().clone();
    let corner = space.encoding().decode(&code.bits, &[1.0, 1.0]).unwrap();

    let id = study.enqueue(wish.point()).unwrap();
    let refused = study.enqueue(&corner).unwrap_err();

    let first = study.ask().unwrap();
    assert_eq!(
        (first.id(), first.point(), first.origin()),
        (id, wish.point(), Origin::Queue)
    );
    assert_ne!(study.ask().unwrap().point(), wish.point());
    assert_eq!(
        refused.to_string(),
        "the point is not feasible: constraint `corner` is violated: x + y <= 1.5 does not hold (left side 2.0, right \
         side 1.5)"
    );
}

#[test]
fn a_trial_that_is_given_back_is_handed_out_again_and_may_be_told_late() {
    let space = mixed_space();
    let mut study = Study::new(space, random(0)).unwrap();
    let first = study.ask_many(3).unwrap();

    study.release(1).unwrap();
    study.release(0).unwrap();
    study.tell(0, 5.0).unwrap();

    let again = study.ask().unwrap();
    assert_eq!((again.id(), again.point()), (1, first[1].point()));
    assert_eq!(study.ask().unwrap().id(), 3);
    assert_eq!(study.release(0), Err(Error::AlreadyTold { id: 0 }));
    assert_eq!(study.release(9), Err(Error::UnknownTrial { id: 9, n: 4 }));
}

#[test]
fn a_replicate_is_the_same_point_in_another_trial() {
    let space = mixed_space();
    let mut study = Study::new(space, random(0)).unwrap();
    let first = study.ask().unwrap();
    study.tell(0, 1.0).unwrap();

    let id = study.replicate(0).unwrap();

    let again = study.ask().unwrap();
    assert_eq!((again.id(), again.point()), (id, first.point()));
    study.tell(id, 3.0).unwrap();
    assert_eq!(study.best().map(|trial| trial.id), Some(0));
}

#[test]
fn studies_that_follow_each_other_agree() {
    let space = mixed_space();
    let spec = Spec {
        n_initial: Some(3),
        ..thompson(5)
    };
    let mut one = Study::new(space.clone(), spec.clone()).unwrap();
    let mut other = Study::new(space.clone(), spec).unwrap();
    for k in 0..6_u32 {
        let (asking, telling) = if k % 2 == 0 {
            (&mut one, &mut other)
        } else {
            (&mut other, &mut one)
        };
        let suggestion = asking.ask().unwrap();
        telling.replay(asking.trials()).unwrap();
        telling
            .tell(suggestion.id(), objective(&space, suggestion.point()))
            .unwrap();
        asking.replay(telling.trials()).unwrap();
        assert_eq!(one.trials(), other.trials());
    }

    assert_eq!(one.ask().unwrap(), other.ask().unwrap());
}

fn complete(value: f64) -> State {
    State::Ended(Outcome::of(VALUE, value))
}

#[test]
fn histories_with_holes_or_second_thoughts_are_refused() {
    let space = mixed_space();
    let mut study = Study::new(space.clone(), random(0)).unwrap();
    study.ask_many(2).unwrap();
    study.tell(0, 1.0).unwrap();
    let trials = study.trials().to_vec();
    let refused = |trials: &[Trial]| {
        let mut known = Study::resume(space.clone(), random(0), study.trials()).unwrap();
        known.replay(trials).unwrap_err().to_string()
    };

    let told_again = Trial {
        state: complete(2.0),
        ..trials[0].clone()
    };
    let moved = Trial {
        at: trials[0].at.clone(),
        ..trials[1].clone()
    };
    let hole = Trial {
        id: 5,
        ..trials[1].clone()
    };
    let early = Trial {
        state: complete(0.0),
        told: Some(7),
        ..trials[1].clone()
    };

    let same_place = Trial {
        state: complete(0.0),
        told: Some(0),
        ..trials[1].clone()
    };
    let code = space.encoding().encode(trials[1].point());
    let corner = space.encoding().decode(&code.bits, &[1.0, 1.0]).unwrap();
    let infeasible = Trial {
        id: 2,
        at: Placed::of(&space, &corner).unwrap(),
        ..trials[1].clone()
    };

    let all = [told_again, moved, hole, early, same_place, infeasible];
    insta::assert_snapshot!(all.map(|trial| refused(&[trial])).join("\n"));
}

#[test]
fn results_from_elsewhere_are_learned_from_but_an_infeasible_one_is_never_best() {
    let space = mixed_space();
    let mut study = Study::new(
        space.clone(),
        Spec {
            n_initial: Some(2),
            ..thompson(0)
        },
    )
    .unwrap();
    let wish = RandomPoints::new(&space)
        .draw(&mut stream(9, 9, Purpose::Design))
        .unwrap();
    let corner = space
        .encoding()
        .decode(&wish.code().bits, &[1.0, 1.0])
        .unwrap();

    study.add(&corner, -100.0).unwrap();
    study.add(wish.point(), 5.0).unwrap();

    assert_eq!(study.best().unwrap().id, 1);
    assert!(!space.check(study.trials()[0].point()).is_feasible());
    let suggestion = study.ask().unwrap();
    assert!(space.check(suggestion.point()).is_feasible());
    let foreign = two_by_three();
    let foreign = RandomPoints::new(&foreign)
        .draw(&mut stream(0, 0, Purpose::Design))
        .unwrap();
    assert_eq!(study.add(foreign.point(), 1.0), Err(Error::ForeignPoint));
}

#[test]
fn wrong_settings_are_refused_when_the_study_is_made() {
    let strategy = Strategy::Thompson(Thompson {
        alpha: 0.0,
        ..Thompson::default()
    });

    let refused = Study::new(
        two_by_three(),
        Spec {
            strategy,
            ..Spec::default()
        },
    )
    .unwrap_err();

    assert_eq!(
        refused,
        features::Error::BadHyperparameter {
            name: "alpha",
            value: 0.0
        }
        .into()
    );
    for plateau in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        let strategy = Strategy::Improvement(Improvement {
            plateau,
            ..Improvement::default()
        });
        let refused = Study::new(
            two_by_three(),
            Spec {
                strategy,
                ..Spec::default()
            },
        )
        .unwrap_err();
        assert!(
            matches!(
                refused,
                Error::Features(features::Error::BadHyperparameter {
                    name: "plateau",
                    ..
                })
            ),
            "{refused}"
        );
    }
}

/// Whatever has the bits 0 and 1 set fails. The model learns to stay away, and the failed
/// points themselves are never tried again.
#[test]
fn what_is_near_failures_is_avoided() {
    let space = mixed_space();
    let fails = |point: &Point| {
        let code = space.encoding().encode(point);
        code.bits[0] && code.bits[1]
    };
    let share = |name: &str| {
        let (mut failed, mut n) = (0.0, 0.0);
        for seed in 0..4 {
            let strategy = Strategy::named(name).unwrap();
            let mut study = Study::new(
                space.clone(),
                Spec {
                    strategy,
                    ..thompson(seed)
                },
            )
            .unwrap();
            for k in 0..40 {
                let suggestion = study.ask().unwrap();
                let is_failure = fails(suggestion.point());
                if k >= 20 {
                    failed += f64::from(u8::from(is_failure));
                    n += 1.0;
                }
                if is_failure {
                    study.tell_failed(suggestion.id(), "crashed").unwrap();
                } else {
                    study
                        .tell(suggestion.id(), objective(&space, suggestion.point()))
                        .unwrap();
                }
            }
        }
        failed / n
    };

    let by_chance = share("random");
    for name in ["improvement", "thompson-learned"] {
        let with_model = share(name);
        println!("{name}: {with_model} {by_chance}");
        assert!(
            with_model < 0.5 * by_chance,
            "{name}: {with_model} {by_chance}"
        );
    }
}

/// The value falls towards a border beyond which all fails.
#[test]
fn what_is_recommended_is_likely_to_have_a_value() {
    let mut space = Space::builder();
    let _ = space.float("x", 0.0..=1.0);
    let space = space.build().unwrap();
    let at = |point: &Point| space.value(point, "x").and_then(|x| x.as_f64()).unwrap();
    for seed in 0..6 {
        let mut study = Study::new(
            space.clone(),
            Spec {
                seed,
                ..Spec::default()
            },
        )
        .unwrap();
        for _ in 0..20 {
            let suggestion = study.ask().unwrap();
            let x = at(suggestion.point());
            if x > 0.6 {
                study.tell_failed(suggestion.id(), "diverged").unwrap();
            } else {
                study.tell(suggestion.id(), -10.0 * x).unwrap();
            }
        }

        let found = at(study.recommend().unwrap().point());

        assert!((0.55..=0.61).contains(&found), "{seed}: {found}");
    }
}

/// Every third trial fails, wherever it is: what the others taught stands, and what is recommended has its true value.
#[test]
fn failures_by_chance_spoil_nothing() {
    let space = mixed_space();
    let mut ends = Vec::new();
    for seed in 0..4 {
        let mut study = Study::new(
            space.clone(),
            Spec {
                seed,
                ..Spec::default()
            },
        )
        .unwrap();
        let mut reference = Study::new(
            space.clone(),
            Spec {
                seed,
                ..random(seed)
            },
        )
        .unwrap();
        for k in 0..45 {
            for study in [&mut study, &mut reference] {
                let suggestion = study.ask().unwrap();
                if k % 3 == 1 {
                    study.tell_failed(suggestion.id(), "bad luck").unwrap();
                } else {
                    study
                        .tell(suggestion.id(), objective(&space, suggestion.point()))
                        .unwrap();
                }
            }
        }
        let best = |study: &Study| study.best().and_then(|trial| study.value(trial)).unwrap();
        let recommended = study.recommend().unwrap();
        let truth = objective(&space, recommended.feasible.point());
        println!(
            "{seed}: {} {} {truth} {}",
            best(&study),
            best(&reference),
            recommended.mean
        );
        assert!(
            (recommended.mean - truth).abs() < 0.1,
            "{seed}: {} {truth}",
            recommended.mean
        );
        ends.push((best(&study), best(&reference)));
    }
    let gain: f64 = ends.iter().map(|(ours, by_chance)| by_chance - ours).sum();
    assert!(gain > 0.4 * ends.len() as f64, "{ends:?}");
}

#[test]
fn a_trial_that_is_given_twice_is_taken_in_once() {
    let space = mixed_space();
    let mut study = Study::new(space.clone(), random(0)).unwrap();
    study.ask().unwrap();
    study.tell(0, 1.0).unwrap();
    let twice = [study.trials()[0].clone(), study.trials()[0].clone()];

    let resumed = Study::resume(space, random(0), &twice).unwrap();

    assert_eq!(resumed.trials(), study.trials());
}

#[test]
fn an_initial_design_without_end_is_refused() {
    let spec = Spec {
        n_initial: Some(usize::MAX),
        ..Spec::default()
    };

    let refused = Study::new(mixed_space(), spec).unwrap_err();

    assert!(matches!(refused, Error::TooManyInitial { .. }), "{refused}");
}

/// `5 * x == n` leaves one x for each n, which repair meets now a little above and now a little below.
#[test]
fn a_real_that_an_equation_fixes_is_not_tried_twice() {
    let mut space = Space::builder();
    let _ = space.float("x", 0.0..=1.0);
    let _ = space.integer("n", 0..=4);
    space.subject_to("fixed", "5 * x == n");
    let space = space.build().unwrap();
    for seed in 0..10 {
        let spec = Spec {
            n_initial: Some(3),
            ..improvement(seed)
        };
        let mut study = Study::new(space.clone(), spec).unwrap();
        let mut seen = BTreeSet::new();
        while let Ok(suggestion) = study.ask() {
            let n = space
                .value(suggestion.point(), "n")
                .and_then(|n| n.as_f64())
                .unwrap();
            assert!(seen.insert(n.to_bits()), "seed {seed}: {n} again");
            study.tell(suggestion.id(), (n - 2.0).abs()).unwrap();
        }
    }
}

#[test]
fn thompson_samples_are_candidates_of_the_default_strategy_which_says_so() {
    let space = mixed_space();
    let origins = |draws: bool| {
        let strategy = Strategy::Improvement(Improvement {
            draws,
            ..Improvement::default()
        });
        let mut study = Study::new(
            space.clone(),
            Spec {
                seed: 1,
                strategy,
                ..Spec::default()
            },
        )
        .unwrap();
        let next = |study: &mut Study| {
            let suggestion = study.ask().unwrap();
            study
                .tell(suggestion.id(), objective(&space, suggestion.point()))
                .unwrap();
            suggestion.origin()
        };
        (0..24).map(|_| next(&mut study)).collect::<Vec<_>>()
    };
    let is_drawn = |origin: &Origin| matches!(origin, Origin::Drawn(_));

    assert!(origins(true).iter().any(is_drawn));
    assert!(!origins(false).iter().any(is_drawn));
    assert_eq!(
        Origin::Drawn(Kernel::Additive).to_string(),
        "improvement, by a Thompson sample"
    );
}

/// A choice of three models with parameters of their own. The last one can reach 0.1, the others 0.3 and 0.35, but its ordinary points
/// look worse than theirs.
fn three_models() -> Space {
    let text = r#"
        [parameters]
        model = { type = "choice", values = ["svm", "rf", "mlp"] }
        c  = { type = "float", low = 1e-3, high = 1e3, log = true, when = "model == 'svm'" }
        g  = { type = "float", low = 1e-5, high = 10.0, log = true, when = "model == 'svm'" }
        d  = { type = "int", low = 1, high = 20, when = "model == 'rf'" }
        f  = { type = "float", low = 0.1, high = 1.0, when = "model == 'rf'" }
        lr = { type = "float", low = 1e-5, high = 0.1, log = true, when = "model == 'mlp'" }
        w  = { type = "int", low = 1, high = 40, when = "model == 'mlp'" }
        p  = { type = "float", low = 0.0, high = 0.9, when = "model == 'mlp'" }
    "#;
    Space::from_toml(text).unwrap()
}

fn error_of_model(space: &Space, point: &Point) -> f64 {
    let value = |name: &str| space.value(point, name).and_then(|value| value.as_f64());
    if let (Some(c), Some(g)) = (value("c"), value("g")) {
        return 0.35 + 0.1 * (c.log10() - 1.0).abs() + 0.05 * (g.log10() + 2.0).abs();
    }
    if let (Some(d), Some(f)) = (value("d"), value("f")) {
        return 0.3 + 0.02 * (d - 12.0).abs() + 0.1 * (f - 0.4).abs();
    }
    let (lr, w, p) = (
        value("lr").unwrap(),
        value("w").unwrap(),
        value("p").unwrap(),
    );
    0.1 + 0.2 * (lr.log10() + 3.0).abs() + 0.02 * (w - 27.0).abs() + 0.3 * (p - 0.3).abs()
}

/// Seeds on which the strategy settled on another branch before branches had turns.
#[test]
fn a_branch_whose_first_points_are_ordinary_is_not_left_for_good() {
    let space = three_models();
    for seed in [0, 3, 4, 5] {
        let mut study = Study::new(space.clone(), improvement(seed)).unwrap();
        for _ in 0..40 {
            let suggestion = study.ask().unwrap();
            study
                .tell(suggestion.id(), error_of_model(&space, suggestion.point()))
                .unwrap();
        }

        let best = study.best().and_then(|trial| study.value(trial)).unwrap();

        assert!(best < 0.25, "seed {seed}: {best}");
    }
}

#[test]
fn a_value_of_a_choice_that_no_trial_has_is_tried_at_every_second_ask() {
    let mut space = Space::builder();
    let _ = space.add("kind", Domain::choice((0..12).map(|k| format!("k{k}"))));
    let _ = space.float("x", 0.0..=1.0);
    let space = space.build().unwrap();
    let mut study = Study::new(space.clone(), improvement(1)).unwrap();
    let mut seen = BTreeSet::new();

    for _ in 0..6 + 2 * 12 {
        let suggestion = study.ask().unwrap();
        seen.insert(format!("{:?}", space.value(suggestion.point(), "kind")));
        // All kinds look alike, so a model has no reason to try a new one.
        let x = space
            .value(suggestion.point(), "x")
            .and_then(|x| x.as_f64())
            .unwrap();
        study.tell(suggestion.id(), (x - 0.3).powi(2)).unwrap();
    }

    assert_eq!(seen.len(), 12);
}

#[test]
fn turns_go_on_where_trials_are_pending_fail_or_use_a_branch_up() {
    let mut space = Space::builder();
    let _ = space.add("kind", Domain::choice(["few", "many"]));
    let few = space.integer("few", 0..=1);
    let many = space.float("many", 0.0..=1.0);
    space.only_when(few, "kind == 'few'");
    space.only_when(many, "kind == 'many'");
    let space = space.build().unwrap();
    let mut study = Study::new(space.clone(), improvement(3)).unwrap();
    let mut n_few = 0;

    for k in 0..24 {
        let suggestion = study.ask().unwrap();
        n_few += usize::from(space.value(suggestion.point(), "few").is_some());
        match k % 3 {
            0 => study.tell(suggestion.id(), f64::from(k)).unwrap(),
            1 => study.tell_failed(suggestion.id(), "crashed").unwrap(),
            _ => {}
        }
    }

    assert_eq!(n_few, 2);
}

fn two_measures(value: f64, size: f64) -> Measured {
    let mut measured = Measured::of("loss", value).unwrap();
    measured.insert("size", size).unwrap();
    measured
}

#[test]
fn the_best_trial_keeps_the_limits_where_one_does() {
    let goal = Goal {
        measure: "loss".to_owned(),
        sense: Sense::Minimize,
    };
    let limit = Limit::parse("size", "<= 10").unwrap();
    let spec = Spec {
        aims: Aims::new(vec![goal], vec![limit]).unwrap(),
        ..random(0)
    };
    let mut study = Study::new(two_by_three(), spec).unwrap();
    for measured in [
        two_measures(1.0, 12.0),
        two_measures(3.0, 10.0),
        two_measures(2.0, 11.0),
    ] {
        let id = study.ask().unwrap().id();
        study.tell_outcome(id, Outcome::Complete(measured)).unwrap();
    }

    let best = study.best().unwrap();

    assert_eq!((best.id, study.value(best)), (1, Some(3.0)));
    let id = study.ask().unwrap().id();
    study
        .tell_outcome(id, Outcome::Complete(Measured::of("size", 1.0).unwrap()))
        .unwrap();
    let told = study.trials()[3].outcome().unwrap();
    assert_eq!(told.to_string(), "failed: `loss` was not measured");
}

#[test]
fn a_stopped_trial_teaches_nothing_and_is_not_suggested_again() {
    let mut study = Study::new(two_by_three(), thompson(0)).unwrap();
    let stopped = study.ask().unwrap();
    let measured = Measured::of(VALUE, -100.0).unwrap();
    study
        .tell_outcome(stopped.id(), Outcome::Stopped(measured))
        .unwrap();

    let others = study.ask_many(9).unwrap();

    assert!(study.best().is_none());
    assert_eq!(others.len(), 5);
    assert!(others.iter().all(|other| other.point() != stopped.point()));
}
