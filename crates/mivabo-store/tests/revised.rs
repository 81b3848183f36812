//! Studies that are revised and corrected: what was told stays, teaches as far as it can, and every session sees the same.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::path::Path;
use std::time::Duration;

use mivabo::measure::{Outcome, VALUE};
use mivabo::space::Value;
use mivabo::study::State;
use mivabo::view::Status;
use mivabo::{Error as StudyError, Space};
use mivabo_store::{Definition, Error, Memory, Object, RecordState, Session, Sqlite, Store, Told};
use proptest::prelude::*;

const LEASE: Duration = Duration::from_secs(60);

const PARAMETERS: &str = "
[parameters]
lr = { type = 'float', low = 0.0, high = 1.0 }
n = { type = 'int', low = 1, high = 9 }
opt = { type = 'choice', values = ['sgd', 'adam'], default = 'sgd' }
";

const NARROW: &str = "
[parameters]
lr = { type = 'float', low = 0.0, high = 0.1 }
n = { type = 'int', low = 1, high = 9 }
depth = { type = 'int', low = 1, high = 4, default = 2 }
[constraints]
small = 'n * depth <= 12'
";

fn definition(text: &str) -> Definition {
    Definition {
        n_initial: Some(2),
        ..Definition::new(Space::from_toml(text).unwrap())
    }
}

fn open(memory: &Memory, text: &str) -> Result<Session, Error> {
    Session::open(Store::new(memory.clone()), "a", &definition(text))
}

fn load(memory: &Memory) -> Session {
    Session::load(Store::new(memory.clone()), "a").unwrap()
}

fn at(lr: f64, n: i64) -> [(&'static str, Value); 3] {
    [("lr", lr.into()), ("n", n.into()), ("opt", "sgd".into())]
}

/// A session of a study with three results.
fn told(memory: &Memory) -> Session {
    let mut session = open(memory, PARAMETERS).unwrap();
    for (lr, n) in [(0.05, 2), (0.5, 3), (0.01, 9)] {
        session.add(at(lr, n), Told::value(lr)).unwrap();
    }
    session
}

fn lines(differences: &[impl ToString]) -> Vec<String> {
    differences.iter().map(ToString::to_string).collect()
}

#[test]
fn a_study_of_which_nothing_was_told_takes_another_definition() {
    let memory = Memory::default();
    let mut first = open(&memory, PARAMETERS).unwrap();
    first.ask(None, LEASE).unwrap().unwrap();
    let other = Definition {
        seed: 1,
        ..definition(NARROW)
    };

    let second = Session::open(Store::new(memory.clone()), "a", &other).unwrap();

    assert_eq!(
        lines(second.taken()),
        [
            "parameter `opt` was removed",
            "parameter `lr` changed: was a number from 0.0 to 1.0, is a number from 0.0 to 0.1",
            "parameter `depth` was added: an integer from 1 to 4, default 2",
            "constraint `small` was added: n * depth <= 12",
            "seed was 0, is 1",
        ]
    );
    assert_eq!(second.definition(), other.to_json());
    assert_eq!(first.taken(), []);
    let asked = first.ask(None, LEASE).unwrap().unwrap();
    assert!(asked.values.iter().any(|(name, _)| name == "depth"));
    assert_eq!(load(&memory).definition(), other.to_json());
}

#[test]
fn a_study_with_results_says_what_another_definition_has_otherwise() {
    let memory = Memory::default();
    told(&memory);

    let refused = open(&memory, &PARAMETERS.replace("high = 9", "high = 8")).map(drop);

    assert_eq!(
        refused.unwrap_err().to_string(),
        "study `a` exists with another definition:\n  parameter `n` changed: was an integer from 1 to 9, is an integer \
         from 1 to 8\nhint: revise the study, or give the changed one another name"
    );
}

#[test]
fn what_was_told_stays_and_teaches_as_far_as_it_can_be_said() {
    let memory = Memory::default();
    let mut session = told(&memory);
    let rows = session.records().unwrap();

    let planned = session.revision(&definition(NARROW)).unwrap();
    assert_eq!(session.records().unwrap(), rows);
    assert!(session.events().unwrap().is_empty());
    let revised = session.revise(&definition(NARROW)).unwrap();

    assert_eq!(planned, revised);
    assert_eq!(
        revised.teaching.to_string(),
        "2 of 3 trials teach in the revised space; 1 does not: `lr` = 0.5 is above its bound 0.1 (1); \
         1 breaks a constraint now, and is never the best"
    );
    assert_eq!(session.records().unwrap(), rows);
    let ids: Vec<u64> = session.trials().iter().map(|trial| trial.id).collect();
    assert_eq!(ids, [0, 2]);
    // The lowest value is of a trial that breaks the new constraint.
    assert_eq!(session.best().map(|trial| trial.id), Some(0));
    let first = session.trials()[0].point().clone();
    assert_eq!(session.space().value(&first, "depth"), Some(2.into()));
    assert_eq!(
        session.first_definition().unwrap(),
        definition(PARAMETERS).to_json()
    );
}

#[test]
fn what_is_shown_of_a_revised_study_names_what_was_evaluated() {
    let memory = Memory::default();
    let mut session = told(&memory);
    session.revise(&definition(NARROW)).unwrap();

    let view = session.view().unwrap();

    let [kept, left_out, infeasible] = view.trials.as_slice() else {
        panic!("{:?}", view.trials)
    };
    assert_eq!(kept.params.get("depth"), Some(&2.into()));
    let evaluated = kept.evaluated.as_ref().unwrap();
    assert_eq!(evaluated.get("opt"), Some(&"sgd".into()));
    assert_eq!(
        left_out.left_out.as_deref(),
        Some("`lr` = 0.5 is above its bound 0.1")
    );
    assert_eq!(left_out.evaluated.as_ref().unwrap().len(), 3);
    assert_eq!((left_out.value, left_out.feasible), (Some(0.5), false));
    assert!(left_out.params.is_empty());
    assert!(!infeasible.feasible);
    assert_eq!(view.ranking, [2, 0]);
    assert_eq!(view.best, Some(0));
    for id in 0..3 {
        let alone = session.trial_view(id).unwrap();
        let among = view.trial(id).unwrap();
        assert_eq!(alone.params, among.params);
        assert_eq!(alone.left_out, among.left_out);
    }
}

#[test]
fn a_parameter_that_comes_later_needs_a_default_and_keeps_its_first_one() {
    let memory = Memory::default();
    let mut session = told(&memory);

    let refused = session
        .revise(&definition(&NARROW.replace(", default = 2", "")))
        .unwrap_err();
    assert_eq!(
        refused,
        Error::NoDefault {
            name: "depth".into()
        }
    );
    assert!(
        refused
            .to_string()
            .starts_with("parameter `depth` is new and has no default")
    );
    session.revise(&definition(NARROW)).unwrap();
    session
        .revise(&definition(&NARROW.replace("default = 2", "default = 3")))
        .unwrap();

    // What was told without it stands for what was said first.
    let point = session.trials()[0].point().clone();
    assert_eq!(session.space().value(&point, "depth"), Some(2.into()));
}

#[test]
fn what_a_revision_takes_away_the_next_one_may_give_back() {
    let memory = Memory::default();
    let mut session = told(&memory);
    session.revise(&definition(NARROW)).unwrap();

    let back = session.revise(&definition(PARAMETERS)).unwrap();

    assert_eq!(
        back.teaching.to_string(),
        "3 of 3 trials teach in the revised space"
    );
    assert_eq!(session.trials().len(), 3);
    assert_eq!(session.trials(), load(&memory).trials());
}

#[test]
fn waiting_trials_that_are_forbidden_fail_and_running_ones_finish() {
    let memory = Memory::default();
    let mut worker = told(&memory);
    worker.enqueue(at(0.5, 1)).unwrap();
    let running = worker.ask(None, LEASE).unwrap().unwrap();
    worker.enqueue(at(0.05, 9)).unwrap();
    let barred = worker.ask(None, LEASE).unwrap().unwrap();
    worker.enqueue(at(0.07, 9)).unwrap();
    worker.enqueue(at(0.02, 1)).unwrap();

    let revised = load(&memory).revise(&definition(NARROW)).unwrap();

    assert_eq!((revised.failing, revised.running), (vec![5], 2));
    let failed = worker.record(5).unwrap().state;
    let reason = "the revised space forbids it: constraint `small` is violated";
    assert_eq!(failed, RecordState::Ended(Outcome::failed(reason)));
    worker.tell(running.id, 0.25).unwrap();
    worker.tell(barred.id, 0.125).unwrap();
    // The one cannot be said; the other breaks a constraint, and teaches.
    let ids: Vec<u64> = worker.trials().iter().map(|trial| trial.id).collect();
    assert_eq!(ids, [0, 2, 4, 5, 6]);
    assert_eq!(worker.study().absent().len(), 2);
    assert_eq!(worker.trials(), load(&memory).trials());
    // What still waits is handed out as it is in the revised space.
    let waiting = worker.ask(None, LEASE).unwrap().unwrap();
    assert_eq!(waiting.id, 6);
    assert_eq!(waiting.values[2], ("depth".to_owned(), 2.into()));
}

#[test]
fn a_trial_that_comes_back_after_a_revision_that_forbids_it_fails_when_it_is_asked_for() {
    let memory = Memory::default();
    let mut worker = told(&memory);
    worker.enqueue(at(0.5, 1)).unwrap();
    let running = worker.ask(None, LEASE).unwrap().unwrap();
    load(&memory).revise(&definition(NARROW)).unwrap();
    worker.release(running.id).unwrap();

    let asked = worker.ask(None, LEASE).unwrap().unwrap();

    assert_eq!(asked.id, 4);
    assert_eq!(
        worker.record(3).unwrap().outcome(),
        Some(&Outcome::failed(
            "the revised space forbids it: `lr` = 0.5 is above its bound 0.1"
        ))
    );
}

#[test]
fn points_are_enqueued_in_the_space_as_it_is() {
    let memory = Memory::default();
    let mut late = told(&memory);
    load(&memory).revise(&definition(NARROW)).unwrap();

    // It knows the earlier space, and finds out.
    let refused = late.enqueue(at(0.5, 1)).unwrap_err();
    let id = late
        .enqueue([("lr", 0.05.into()), ("n", 1.into())])
        .unwrap();

    assert_eq!(
        refused.to_string(),
        "parameter `lr`: 0.5 is not a number from 0.0 to 0.1"
    );
    assert_eq!(late.ask(None, LEASE).unwrap().unwrap().id, id);
    let replica = late.replicate(1).unwrap_err();
    assert_eq!(
        replica.to_string(),
        "trial 1 has no place in the revised space: `lr` = 0.5 is above its bound 0.1"
    );
}

#[test]
fn everything_but_the_goal_can_be_revised() {
    let memory = Memory::default();
    let mut session = told(&memory);
    let other = Definition {
        strategy: "random".to_owned(),
        seed: 7,
        n_initial: None,
        ..definition(PARAMETERS)
    };
    let maximize = Definition {
        aims: mivabo::measure::Sense::Maximize.into(),
        ..other.clone()
    };

    let refused = session.revise(&maximize).unwrap_err();
    let revised = session.revise(&other).unwrap();
    let again = session.revise(&other).unwrap();

    assert!(
        refused.to_string().starts_with(
            "the goal was minimize `value`, is maximize `value`; a goal cannot be revised"
        ),
        "{refused}"
    );
    assert_eq!(revised.differences.len(), 3);
    assert_eq!(
        (again.differences.len(), session.events().unwrap().len()),
        (0, 1)
    );
    assert_eq!(session.study().spec().seed, 7);
}

#[test]
fn a_correction_counts_for_everybody_and_what_was_told_is_its_history() {
    let memory = Memory::default();
    let mut session = told(&memory).with_worker("w");
    let mut other = load(&memory);
    session
        .add(
            at(0.2, 2),
            Told {
                result: Some(Object::new(r#"{"latency": 7, "log": "a"}"#).unwrap()),
                ..Told::value(5.0)
            },
        )
        .unwrap();
    other.sync().unwrap();

    session
        .correct(3, &Told::value(-1.0), Some("a typo"))
        .unwrap();
    session.correct(0, &Told::failed("diverged"), None).unwrap();
    let missing = session.correct(9, &Told::value(1.0), None);

    other.sync().unwrap();
    assert!(matches!(missing, Err(Error::UnknownTrial { id: 9, .. })));
    assert_eq!(session.trials(), other.trials());
    assert_eq!(other.best().map(|trial| trial.id), Some(3));
    let view = other.view().unwrap();
    let corrected = view.trial(3).unwrap();
    assert_eq!(
        (corrected.value, corrected.measured.get("latency")),
        (Some(-1.0), Some(7.0))
    );
    assert_eq!(
        corrected
            .result
            .as_ref()
            .map(|given| given.as_str().contains("log")),
        Some(true)
    );
    let [past] = corrected.history.as_slice() else {
        panic!("{:?}", corrected.history)
    };
    assert_eq!((past.state, past.value), (Status::Complete, Some(5.0)));
    assert_eq!(
        (past.worker.as_deref(), past.why.as_deref()),
        (Some("w"), Some("a typo"))
    );
    let failed = view.trial(0).unwrap();
    assert_eq!(
        (failed.state, failed.reason.as_deref()),
        (Status::Failed, Some("diverged"))
    );
    assert_eq!(other.trial_view(3).unwrap().history, corrected.history);
    // The row is as it was told.
    assert_eq!(
        other
            .record(3)
            .unwrap()
            .outcome()
            .unwrap()
            .measured()
            .get(VALUE),
        Some(5.0)
    );
}

#[test]
fn a_trial_that_runs_is_told_and_not_corrected() {
    let memory = Memory::default();
    let mut session = told(&memory);
    let running = session.ask(None, LEASE).unwrap().unwrap();

    let refused = session
        .correct(running.id, &Told::value(1.0), None)
        .unwrap_err();

    assert!(
        refused
            .to_string()
            .ends_with("so there is nothing to correct; tell it"),
        "{refused}"
    );
}

#[test]
fn whoever_works_on_a_removed_study_is_told_so() {
    let memory = Memory::default();
    let mut session = told(&memory);
    let mut store = Store::new(memory.clone());
    let study = store.studies().unwrap()[0].id;
    store.remove(study, 0).unwrap();
    open(&memory, NARROW).unwrap();

    let gone = Error::Removed { name: "a".into() };
    assert_eq!(session.ask(None, LEASE), Err(gone.clone()));
    assert_eq!(session.tell(0, 1.0), Err(gone.clone()));
    assert_eq!(session.sync(), Err(gone));
}

#[test]
fn a_file_of_the_first_version_can_be_revised_and_corrected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/old/version-1.sqlite");
    std::fs::copy(old, &path).unwrap();
    let load = || Session::load(Store::new(Sqlite::open(&path).unwrap()), "old net").unwrap();
    let mut session = load();
    let n = session.trials().len();
    let mut revised = Definition::from_json(session.definition()).unwrap();
    let text = revised.space.to_json().replacen(
        "\"parameters\":{",
        r#""parameters":{"later":{"type":"bool","default":true},"#,
        1,
    );
    revised.space = Space::from_json(&text).unwrap();

    let said = session.revise(&revised).unwrap();
    session.correct(0, &Told::value(7.0), None).unwrap();

    assert_eq!(said.teaching.silent, []);
    let again = load();
    assert_eq!(again.trials().len(), n);
    assert_eq!(again.trials(), session.trials());
    let first = &again.trials()[0];
    assert_eq!(
        again.space().value(first.point(), "later"),
        Some(true.into())
    );
    assert_eq!(first.state, State::Ended(Outcome::of(VALUE, 7.0)));
}

/// Spaces between which a study may go: bounds, parameters, conditions, constraints, auxiliary integers.
const SPACES: [&str; 5] = [
    PARAMETERS,
    NARROW,
    "
    [parameters]
    n = { type = 'int', low = 1, high = 5 }
    opt = { type = 'choice', values = ['adam', 'lion'], default = 'lion' }
    lr = { type = 'float', low = 0.001, high = 1.0, log = true, default = 0.01 }
    [constraints]
    pair = \"opt == 'lion' -> lr <= 0.5\"",
    "
    [parameters]
    lr = { type = 'float', low = 0.0, high = 1.0, default = 0.5 }
    n = { type = 'int', low = 1, high = 9, when = \"opt == 'sgd'\", default = 3 }
    opt = { type = 'choice', values = ['adam', 'sgd'], default = 'sgd' }
    half = { type = 'auxiliary', low = 0, high = 4 }
    [constraints]
    odd = 'n == 2 * half + 1'",
    "
    [parameters]
    lr = { type = 'float', low = -1.0, high = 2.0, default = 0.0 }
    n = { type = 'ordinal', values = [1, 2, 4, 8], default = 4 }
    depth = { type = 'int', low = 2, high = 3, default = 3 }
    opt = { type = 'choice', values = ['sgd', 'adam'], default = 'sgd' }",
];

#[derive(Debug, Clone)]
enum Step {
    /// One of two sessions asks, and tells or not.
    Ask {
        who: usize,
        value: Option<f64>,
    },
    Enqueue {
        who: usize,
        n: i64,
    },
    Revise {
        who: usize,
        space: usize,
        strategy: usize,
    },
    Correct {
        who: usize,
        id: u64,
        value: f64,
    },
    Release {
        who: usize,
        id: u64,
    },
    Late {
        who: usize,
        id: u64,
        value: f64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let who = || 0..2_usize;
    let value = || -1.0..1.0_f64;
    prop_oneof![
        6 => (who(), proptest::option::weighted(0.8, value())).prop_map(|(who, value)| Step::Ask { who, value }),
        1 => (who(), 1..9_i64).prop_map(|(who, n)| Step::Enqueue { who, n }),
        2 => (who(), 0..SPACES.len(), 0..2_usize)
            .prop_map(|(who, space, strategy)| Step::Revise { who, space, strategy }),
        1 => (who(), 0..9_u64, value()).prop_map(|(who, id, value)| Step::Correct { who, id, value }),
        1 => (who(), 0..9_u64).prop_map(|(who, id)| Step::Release { who, id }),
        2 => (who(), 0..9_u64, value()).prop_map(|(who, id, value)| Step::Late { who, id, value }),
    ]
}

/// What a step gives, written out: the point that is asked for, or why there is none.
fn take(step: &Step, session: &mut Session) -> String {
    match *step {
        Step::Ask { value, .. } => {
            let asked = session.ask(None, LEASE);
            if let (Ok(Some(asked)), Some(value)) = (&asked, value) {
                let report = session.space().check(&asked.point);
                assert!(report.is_feasible(), "{report:?}");
                session.tell(asked.id, value).unwrap();
            }
            format!(
                "{:?}",
                asked.map(|asked| asked.map(|asked| (asked.id, asked.values, asked.origin)))
            )
        }
        Step::Enqueue { n, .. } => {
            let values = [("lr", 0.05.into()), ("n", n.into())];
            format!("{:?}", session.enqueue(values))
        }
        Step::Revise {
            space, strategy, ..
        } => {
            let strategy = ["improvement", "random"][strategy].to_owned();
            let to = Definition {
                strategy,
                ..definition(SPACES[space])
            };
            format!("{:?}", session.revise(&to))
        }
        Step::Correct { id, value, .. } => {
            format!("{:?}", session.correct(id, &Told::value(value), None))
        }
        Step::Release { id, .. } => format!("{:?}", session.release(id)),
        Step::Late { id, value, .. } => format!("{:?}", session.tell(id, value)),
    }
}

fn who(step: &Step) -> usize {
    match step {
        Step::Ask { who, .. }
        | Step::Enqueue { who, .. }
        | Step::Revise { who, .. }
        | Step::Correct { who, .. }
        | Step::Release { who, .. }
        | Step::Late { who, .. } => *who,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Two sessions that take turns, against one that is loaded anew for each step.
    #[test]
    fn sessions_agree_whatever_is_revised_told_and_corrected_between_them(
        steps in proptest::collection::vec(step(), 1..24),
    ) {
        let (shared, fresh) = (Memory::default(), Memory::default());
        let named = |memory: &Memory| open(memory, PARAMETERS).unwrap().with_worker("w").with_clock(|| 0);
        let mut sessions = [named(&shared), named(&shared)];
        drop(named(&fresh));

        for step in &steps {
            let mut anew = load(&fresh).with_worker("w").with_clock(|| 0);
            prop_assert_eq!(take(step, &mut sessions[who(step)]), take(step, &mut anew));
        }

        let anew = load(&fresh);
        for session in &mut sessions {
            session.sync().unwrap();
            prop_assert_eq!(session.trials(), anew.trials());
            prop_assert_eq!(session.study().absent(), anew.study().absent());
            prop_assert_eq!(session.definition(), anew.definition());
            prop_assert_eq!(session.best(), anew.best());
            let recommended = |session: &mut Session| match session.recommend() {
                Ok(found) => format!("{found:?}"),
                Err(Error::Study(StudyError::NothingFeasible)) => String::new(),
                Err(error) => panic!("{error}"),
            };
            prop_assert_eq!(recommended(session), recommended(&mut load(&fresh)));
        }
        let records = |memory: &Memory| load(memory).records().unwrap();
        prop_assert_eq!(records(&shared), records(&fresh));
        // What is told is never told otherwise, whatever is said of it later.
        let events = load(&shared).events().unwrap();
        prop_assert_eq!(events, load(&fresh).events().unwrap());
    }
}
