//! A study that grows: defaults that are tried first, and trials of an earlier space in a later one.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use mivabo::measure::{Outcome, VALUE};
use mivabo::space::{Domain, NoDefaultPoint, Space, Value};
use mivabo::study::{Absent, Known, Origin, Spec, State, Study, Trial};

const SPACE: &str = "
[parameters]
x = { type = 'float', low = 0.0, high = 1.0, default = 0.25 }
n = { type = 'int', low = 1, high = 9, default = 6 }
m = { type = 'int', low = 1, high = 3, default = 2, when = 'n >= 5' }
opt = { type = 'choice', values = ['sgd', 'adam'], default = 'adam' }

[constraints]
small = 'n + 5 * x <= 11'
";

fn study(text: &str) -> Study {
    let spec = Spec {
        seed: 3,
        ..Spec::default()
    };
    Study::new(Space::from_toml(text).unwrap(), spec).unwrap()
}

fn values(study: &Study, at: usize) -> Vec<(String, Value)> {
    let values = study.space().values(study.trials()[at].point());
    values
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

#[test]
fn the_point_of_all_defaults_is_the_first_trial_and_one_of_the_initial_design() {
    let mut study = study(SPACE);

    let first = study.ask().unwrap();
    let second = study.ask().unwrap();

    assert_eq!((first.id(), first.origin()), (0, Origin::Defaults));
    let expected = [
        ("x", Value::Float(0.25)),
        ("n", 6.into()),
        ("m", 2.into()),
        ("opt", "adam".into()),
    ];
    assert_eq!(
        values(&study, 0),
        expected.map(|(name, value)| (name.to_owned(), value))
    );
    assert_eq!(second.origin(), Origin::Design);
    for id in 0..6 {
        while study.trials().len() <= id {
            study.ask().unwrap();
        }
        study.tell(id as u64, id as f64).unwrap();
    }
    // Six trials are the design, the defaults among them.
    assert!(!matches!(
        study.ask().unwrap().origin(),
        Origin::Design | Origin::Defaults
    ));
}

#[test]
fn defaults_that_make_no_trial_are_left_out_and_the_reason_is_said() {
    let why = |from: &str, to: &str| {
        let text = SPACE.replace(from, to);
        let first = study(&text).ask().unwrap();
        assert_ne!(first.origin(), Origin::Defaults, "{to}");
        let why = Space::from_toml(&text).unwrap().default_point();
        why.and_then(Result::err).unwrap()
    };

    let violated = why("<= 11", "<= 7");
    let missing = why(", default = 2, when", ", when");

    assert_eq!(
        violated.to_string(),
        "the defaults are not tried first: constraint `small` is violated: n + 5 * x <= 7 does not hold \
         (left side 7.25, right side 7)"
    );
    let name = "m".to_owned();
    assert_eq!(missing, NoDefaultPoint::Missing { name });
}

#[test]
fn a_parameter_that_is_inactive_at_the_defaults_needs_none() {
    let text = SPACE.replace("default = 6", "default = 2");
    let text = text.replace(", default = 2, when", ", when");

    assert_eq!(study(&text).ask().unwrap().origin(), Origin::Defaults);
}

#[test]
fn a_study_that_has_trials_does_not_begin_with_the_defaults() {
    let mut study = study(SPACE);
    let space = study.space().clone();
    let point = space.point_with_defaults([("opt", "sgd".into())]).unwrap();
    study.add(&point, 1.0).unwrap();

    assert_ne!(study.ask().unwrap().origin(), Origin::Defaults);
    assert_eq!(space.value(&point, "n"), Some(6.into()));
}

#[test]
fn a_default_that_the_parameter_cannot_have_is_refused_with_what_it_can() {
    for (from, to, message) in [
        (
            "default = 0.25",
            "default = 3",
            "parameter `x`: the default 3 is not a number from 0.0 to 1.0",
        ),
        (
            "default = 6",
            "default = 2.5",
            "parameter `n`: the default 2.5 is not an integer from 1 to 9",
        ),
        (
            "default = 'adam'",
            "default = 'adm'",
            "parameter `opt`: the default 'adm' is not one of 'sgd', 'adam'",
        ),
        (
            "default = 'adam'",
            "default = true",
            "parameter `opt`: the default true is not one of 'sgd', 'adam'",
        ),
    ] {
        let refused = Space::from_toml(&SPACE.replace(from, to)).unwrap_err();
        assert_eq!(refused.to_string(), message);
    }
    let auxiliary = "parameters.a = { type = 'auxiliary', low = 0, high = 3, default = 1 }";
    assert_eq!(
        Space::from_toml(auxiliary).unwrap_err().to_string(),
        "parameter `a`: `default` does not apply to type `auxiliary`"
    );
    let mut space = Space::builder();
    space.add("x", Domain::float(0.0, 1.0).default(f64::NAN));
    assert!(space.build().is_err());
}

#[test]
fn defaults_are_written_as_their_domains_write_them() {
    let space = Space::from_toml(&SPACE.replace("default = 0.25", "default = 1")).unwrap();
    let same = Space::from_toml(&SPACE.replace("default = 0.25", "default = 1.0")).unwrap();

    assert_eq!(space.fingerprint(), same.fingerprint());
    assert_eq!(
        Space::from_toml(&space.to_toml()).unwrap().to_json(),
        space.to_json()
    );
    assert!(
        space.to_json().contains(r#""default":1.0"#),
        "{}",
        space.to_json()
    );
}

/// The study before it was revised: `x` goes higher, `n` is a choice of two, and there is no `opt`.
fn earlier(values: &[(&str, Value)]) -> Vec<(String, Value)> {
    let values = values.iter().cloned();
    values
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// Trials of an earlier space, as a study takes them in.
fn folded(told: &[Vec<(String, Value)>]) -> Study {
    let mut study = study(SPACE);
    let space = study.space().clone();
    for (id, values) in (0..).zip(told) {
        let said = space.say(
            values
                .iter()
                .map(|(name, value)| (name.as_str(), value.clone())),
        );
        let state = State::Ended(Outcome::of(VALUE, id as f64));
        match said {
            Ok(point) => {
                let at = mivabo::acquire::Placed::of(&space, &point).unwrap();
                let trial = Trial {
                    id,
                    at,
                    state,
                    told: Some(id),
                };
                study.replay_known([Known::Here(&trial)]).unwrap();
            }
            Err(why) => {
                let trial = Absent {
                    id,
                    values: values.clone(),
                    why,
                    state,
                    told: Some(id),
                };
                study.replay_known([Known::Absent(&trial)]).unwrap();
            }
        }
    }
    study
}

#[test]
fn trials_of_an_earlier_space_teach_as_far_as_they_can_be_said() {
    let study = folded(&[
        // Without a value of what is new, and with one of what is gone.
        earlier(&[("x", 0.5.into()), ("n", 2.into()), ("gone", "a".into())]),
        earlier(&[("x", 1.5.into()), ("n", 2.into())]),
        // `m` is active now.
        earlier(&[("x", 0.5.into()), ("n", 6.into()), ("opt", "sgd".into())]),
        // Not feasible any more.
        earlier(&[("x", 1.0.into()), ("n", 9.into()), ("m", 1.into())]),
        earlier(&[("x", 1.0.into()), ("n", 1.into()), ("opt", "lion".into())]),
    ]);

    let ids: Vec<u64> = study.trials().iter().map(|trial| trial.id).collect();
    let absent: Vec<String> = study
        .absent()
        .iter()
        .map(|trial| format!("{}: {}", trial.id, trial.why))
        .collect();
    assert_eq!(ids, [0, 2, 3]);
    assert_eq!(
        absent,
        [
            "1: `x` = 1.5 is above its bound 1.0",
            "4: `opt` = 'lion' is not one of 'sgd', 'adam'"
        ]
    );
    assert_eq!(values(&study, 0)[2], ("opt".to_owned(), "adam".into()));
    assert_eq!(values(&study, 1)[2], ("m".to_owned(), 2.into()));
    assert!(study.trials()[2].at.feasible().is_none());
    assert_eq!(study.best().map(|trial| trial.id), Some(0));
}

#[test]
fn trials_without_a_place_keep_their_numbers_and_the_study_goes_on() {
    let told = [
        earlier(&[("x", 1.5.into()), ("n", 2.into())]),
        earlier(&[("x", 0.5.into()), ("n", 2.into())]),
        earlier(&[("x", (-1.0).into()), ("n", 2.into())]),
    ];
    let (mut one, mut other) = (folded(&told), folded(&told));

    for id in 3..12 {
        let (asked, again) = (one.ask().unwrap(), other.ask().unwrap());
        assert_eq!((asked.id(), asked.point()), (id, again.point()));
        assert!(one.space().check(asked.point()).is_feasible());
        for study in [&mut one, &mut other] {
            study.tell(id, id as f64).unwrap();
        }
    }
    assert_eq!((one.n_trials(), one.trials().len()), (12, 10));
    assert_eq!(one.trials().last().and_then(|trial| trial.told), Some(11));
}

#[test]
fn auxiliary_integers_are_found_anew_where_the_old_ones_do_not_fit() {
    let space = Space::from_toml(
        "[parameters]
         total = { type = 'int', low = 0, high = 100 }
         packs = { type = 'auxiliary', low = 0, high = 30 }
         [constraints]
         whole = 'total == 5 * packs'",
    )
    .unwrap();

    // There were packs of ten.
    let point = space
        .say([("total", 60.into()), ("packs", 6.into())])
        .unwrap();

    assert_eq!(space.value(&point, "packs"), Some(12.into()));
    assert!(space.check(&point).is_feasible());
}
