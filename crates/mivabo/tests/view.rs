//! The view of a study: what it says of each trial, and that it is read back as it was written.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::collections::BTreeSet;

use mivabo::measure::{Aims, Goal, Limit, Measured, Outcome, Sense};
use mivabo::space::{Margin, Point, Space, Value};
use mivabo::study::{Spec, State, Study, Trial};
use mivabo::view::{Given, MarginView, StudyView, Time};
use proptest::prelude::*;

fn space() -> Space {
    Space::from_toml(
        r#"
        [parameters]
        rate  = { type = "float", low = 1e-5, high = 1.0, log = true }
        n     = { type = "int", low = 1, high = 9, step = 2 }
        size  = { type = "ordinal", values = [0.1, 0.25, 3] }
        kind  = { type = "choice", values = ["</script>", "a\"{d}\\am", 7, true] }
        fast  = { type = "bool" }
        drop  = { type = "float", low = -1.0, high = 1.0, when = "fast" }
        half  = { type = "auxiliary", low = 0, high = 9 }
        [constraints]
        halves = "n == 2 * half + 1"
        small  = "n * rate <= 3"
        "few"  = "fast -> n <= 5"
        "#,
    )
    .unwrap()
}

fn aims() -> Aims {
    let goal = Goal {
        measure: "loss".to_owned(),
        sense: Sense::Maximize,
    };
    let limit = Limit::parse("latency", "<= 20").unwrap();
    Aims::new(vec![goal], vec![limit]).unwrap()
}

fn study() -> Study {
    let spec = Spec {
        aims: aims(),
        strategy: mivabo::strategy::Strategy::Random,
        seed: u64::MAX,
        n_initial: None,
    };
    Study::new(space(), spec).unwrap()
}

fn measured(loss: f64, latency: f64) -> Measured {
    let mut measured = Measured::of("loss", loss).unwrap();
    measured.insert("latency", latency).unwrap();
    measured
}

/// A point that breaks `small` and `few`.
fn infeasible(space: &Space) -> Point {
    let values: [(&str, Value); 6] = [
        ("rate", 0.5.into()),
        ("n", 9.into()),
        ("size", 3.into()),
        ("kind", 7.into()),
        ("fast", true.into()),
        ("drop", (-0.0).into()),
    ];
    let auxiliary = [("half", Value::Int(4))];
    space
        .point_of_all(values.into_iter().chain(auxiliary))
        .unwrap()
}

/// A trial of each fate: complete and feasible, complete and not, stopped, failed, running, waiting.
fn usual() -> Study {
    let mut study = study();
    let ids: Vec<u64> = (0..6).map(|_| study.ask().unwrap().id()).collect();
    let outcomes = [
        Outcome::Complete(measured(0.1 + 0.2, 30.0)),
        Outcome::Complete(measured(-0.0, 20.0)),
        Outcome::Stopped(measured(0.5, 1.0)),
        Outcome::Failed {
            reason: "out of memory\n<!-- </script>".to_owned(),
            measured: Measured::of("latency", 5e-324).unwrap(),
        },
    ];
    for (id, outcome) in ids.iter().zip(outcomes) {
        study.tell_outcome(*id, outcome).unwrap();
    }
    study.release(ids[5]).unwrap();
    let point = infeasible(study.space());
    let added = Trial {
        id: 6,
        at: mivabo::acquire::Placed::of(study.space(), &point).unwrap(),
        state: State::Ended(Outcome::Complete(measured(99.0, 1.0))),
        told: Some(4),
    };
    study.replay(&[added]).unwrap();
    study
}

#[test]
fn a_view_says_what_became_of_each_trial() {
    let study = usual();

    let view = StudyView::of("usual", &study);

    let states: Vec<&str> = view.trials.iter().map(|trial| trial.state.name()).collect();
    assert_eq!(
        states,
        [
            "complete", "complete", "stopped", "failed", "running", "waiting", "complete"
        ]
    );
    let kept: Vec<_> = view.trials.iter().map(|trial| trial.keeps_limits).collect();
    let expected = [false, true, true, true].map(Some);
    assert_eq!(kept[..4], expected);
    assert_eq!(kept[4..6], [None, None]);
    assert_eq!(view.trials[2].value, None);
    assert_eq!(view.trials[3].measured.get("latency"), Some(5e-324));
    assert!(!view.trials[6].feasible && view.trials[0].feasible);
}

#[test]
fn the_ranking_holds_all_complete_trials_and_the_best_is_its_first_feasible_one() {
    let study = usual();

    let view = StudyView::of("usual", &study);

    assert_eq!(view.ranking, [6, 1, 0]);
    assert_eq!(view.best, Some(1));
    assert_eq!(view.best, study.best().map(|trial| trial.id));
    assert!(view.trials[1].margins.is_some() && view.trials[0].margins.is_none());
}

#[test]
fn auxiliary_parameters_and_inactive_ones_have_no_values() {
    let view = StudyView::of("usual", &usual());

    assert!(view.parameters.iter().all(|one| one.name != "half"));
    for trial in &view.trials {
        assert!(!trial.params.contains_key("half"));
        let is_fast = trial.params["fast"] == Value::Bool(true);
        assert_eq!(trial.params.contains_key("drop"), is_fast);
    }
}

#[test]
fn margins_are_added_to_all_told_trials() {
    let study = usual();

    let view = StudyView::of("usual", &study).with_margins(&study);

    for trial in &view.trials {
        assert_eq!(trial.margins.is_some(), trial.state.is_told());
    }
    let broken = view.trials[6].margins.iter().flatten();
    let broken: BTreeSet<&str> = broken
        .filter(|margin| !margin.holds)
        .map(|margin| margin.constraint.as_str())
        .collect();
    assert_eq!(broken, BTreeSet::from(["few", "small"]));
}

#[test]
fn importance_is_a_part_of_the_view_that_is_read_back() {
    let study = usual();

    let view = StudyView::of("usual", &study).with_importance(&study);

    let importance = view.importance.as_ref().unwrap();
    assert_eq!((importance.effects.len(), importance.n_trials), (6, 3));
    assert_eq!(StudyView::from_json(&view.to_json()).unwrap(), view);
}

#[test]
fn a_document_of_another_version_is_refused() {
    let json = StudyView::of("usual", &usual()).to_json();

    let other = json.replacen("\"version\":1", "\"version\":2", 1);

    let refused = StudyView::from_json(&other).unwrap_err().to_string();
    assert!(
        refused.contains("it has version 2, and this mivabo reads version 1"),
        "{refused}"
    );
}

#[test]
fn what_cannot_be_the_domain_of_a_parameter_is_refused() {
    let json = StudyView::of("usual", &usual()).to_json();
    for (from, to) in [
        (r#""low":1,"high":9"#, r#""low":100,"high":9"#),
        (r#""step":2"#, r#""step":0"#),
        (r#""type":"bool""#, r#""type":"boolean""#),
        (r#""low":-1.0,"high":1.0"#, r#""low":5,"high":1.0"#),
        (r#""values":[0.1,0.25,3]"#, r#""values":[]"#),
    ] {
        assert!(json.contains(from), "{from} in {json}");
        let refused = StudyView::from_json(&json.replacen(from, to, 1));
        assert!(refused.is_err(), "{to}");
    }
}

#[test]
fn a_result_keeps_every_digit_and_stays_on_one_line() {
    let given =
        Given::new("{\"a\": [1,\n 100000000000000000000000001],\t\"b \\u003c\": \" \\\" \\\\\"}");

    let given = given.unwrap();

    let text = "{\"a\":[1,100000000000000000000000001],\"b <\":\" \\\" \\\\\"}";
    assert_eq!(given.as_str(), text);
    for text in ["", "[]", "1", "{", "{\"a\": NaN}", "{} {}"] {
        assert!(Given::new(text).is_none(), "{text}");
    }
}

#[test]
fn times_are_dates_within_the_calendar() {
    let shown = |millis| Time::of_millis(millis).to_string();

    assert_eq!(shown(1_795_092_419_250), "2026-11-19T12:46:59.250Z");
    assert_eq!(shown(i64::MIN), "1970-01-01T00:00:00.000Z");
    assert_eq!(shown(i64::MAX), "9999-12-31T23:59:59.999Z");
}

#[test]
fn sides_that_are_not_finite_are_left_out() {
    let margin = |side: f64| Margin {
        constraint: "huge".to_owned(),
        statement: "x * x >= 3".to_owned(),
        left: Some(side.into()),
        relation: ">=",
        right: Some(3.into()),
        holds: true,
        slack: Some(side - 3.0),
    };

    let infinite = MarginView::from(margin(f64::INFINITY));
    let finite = MarginView::from(margin(4.0));

    assert_eq!((infinite.left, infinite.slack), (None, None));
    assert_eq!((finite.left, finite.slack), (Some(4.0.into()), Some(1.0)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_view_is_read_back_to_the_bit(
        numbers in proptest::collection::vec(
            prop_oneof![
                proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL | proptest::num::f64::ZERO,
                (-3..3).prop_map(f64::from),
            ],
            1..12,
        ),
        fates in proptest::collection::vec(0..5_u8, 12),
        started in any::<i64>(),
        result in "\\PC{0,12}",
    ) {
        let mut study = study();
        for (number, fate) in numbers.iter().zip(&fates) {
            let id = study.ask().unwrap().id();
            let measured = measured(*number, 0.5 * number);
            match fate {
                0 => study.release(id).unwrap(),
                1 => {}
                2 => study.tell_outcome(id, Outcome::Stopped(measured)).unwrap(),
                3 => study.tell_failed(id, result.clone()).unwrap(),
                _ => study.tell_outcome(id, Outcome::Complete(measured)).unwrap(),
            }
        }
        let mut view = StudyView::of(result.clone(), &study).with_margins(&study);
        for trial in &mut view.trials {
            trial.set_times(Some(Time::of_millis(started)), Some(Time::of_millis(started / 2)));
            let text = serde_json::to_string(&BTreeSet::from([&result])).unwrap();
            trial.result = Given::new(&format!("{{\"all\": {text}}}"));
            trial.worker = Some(result.clone());
        }

        let read = StudyView::from_json(&view.to_json()).unwrap();

        prop_assert_eq!(&read, &view);
        prop_assert_eq!(read.to_json(), view.to_json());
        for (read, trial) in read.trials.iter().zip(&view.trials) {
            prop_assert_eq!(read.value.map(f64::to_bits), trial.value.map(f64::to_bits));
        }
        prop_assert_eq!(view.best, study.best().map(|trial| trial.id));
    }
}
