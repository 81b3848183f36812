//! What every backend must do: the rules of the crate, each as a test that runs on all backends.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use mivabo::interrupt::Interrupt;
use mivabo::measure::{Measured, Outcome, VALUE};
use mivabo_store::{
    By, Changes, Claim, Correction, Error, Lease, Memory, NewRecord, Object, Record, RecordState,
    Revising, Revision, Sqlite, Store, StudyId, Tell, What,
};

/// After this long a test that waits for another thread has failed.
const LONG: Duration = Duration::from_secs(60);

/// Opens the same store once more.
type Open<'a> = &'a (dyn Fn() -> Store + Sync);

macro_rules! contract {
    ($($rule:ident)*) => {
        mod memory {
            use super::*;
            $(
                #[test]
                fn $rule() {
                    let memory = Memory::default();
                    super::$rule(&|| Store::new(memory.clone()));
                }
            )*
        }

        mod sqlite {
            use super::*;
            $(
                #[test]
                fn $rule() {
                    let folder = tempfile::tempdir().unwrap();
                    super::$rule(&|| Store::new(Sqlite::open(folder.path().join("a.db")).unwrap()));
                }
            )*
        }
    };
}

contract! {
    a_study_is_made_once_and_found_again
    another_definition_is_refused_with_both
    names_must_be_readable
    what_does_not_exist_is_named
    trials_are_numbered_within_their_study
    waiting_trials_are_claimed_before_new_ones_are_made
    the_number_of_trials_is_limited_for_all_together
    a_claim_sees_everything_since_the_revision_it_knows
    an_error_or_a_panic_of_suggest_changes_nothing
    tells_have_places_in_their_order
    a_trial_is_told_once
    only_finite_values_are_stored_and_those_exactly
    all_that_was_measured_is_kept_however_the_evaluation_ended
    a_heartbeat_prolongs_the_lease_and_is_no_change
    only_the_holder_renews_and_gives_back
    a_trial_given_back_waits_and_the_attempt_does_not_count
    an_ended_lease_lets_the_trial_wait_again_and_at_last_fail
    a_late_result_counts_while_the_trial_waits
    a_late_result_counts_while_the_trial_runs_for_another
    a_result_after_the_trial_was_given_up_is_refused
    notes_are_kept_and_added_to
    a_result_from_elsewhere_is_a_told_trial
    many_results_from_elsewhere_are_added_all_or_none
    changes_hold_each_trial_once_in_the_order_of_change
    readers_do_not_wait_for_a_claim_and_see_the_state_before
    writers_do_not_wait_for_a_suggestion_which_knows_what_was_before_them
    a_suggestion_that_somebody_else_made_a_trial_meanwhile_is_computed_again
    a_point_that_is_enqueued_while_it_is_suggested_is_handed_out
    a_claim_ends_even_if_every_suggestion_is_anticipated
    the_limit_holds_for_trials_that_are_made_while_a_suggestion_is_computed
    a_waiting_trial_is_handed_out_while_a_suggestion_is_computed
    one_suggestion_is_computed_at_a_time_within_a_study_but_not_across_studies
    who_waits_for_a_suggestion_can_be_interrupted
    an_error_a_panic_or_an_interrupt_of_suggest_ends_its_turn
    eight_threads_claim_and_tell_without_gaps_or_doubles
    events_and_trials_share_their_revisions
    a_revised_definition_counts_and_the_first_one_stays
    a_revision_of_what_is_not_there_any_more_changes_nothing
    a_revision_fails_the_waiting_trials_that_it_forbids
    a_correction_leaves_the_row_as_it_was_told
    what_was_not_told_is_not_corrected
    a_suggestion_during_which_the_study_is_revised_is_computed_again
    points_for_an_earlier_definition_are_not_enqueued
    a_removed_study_is_gone_and_whoever_works_on_it_is_told
    a_study_that_is_removed_while_a_suggestion_is_computed_gets_no_trial
}

fn revising<'a>(from: &'a str, to: &'a str) -> Revising<'a> {
    let by = By {
        worker: Some("r"),
        now: 7,
    };
    Revising {
        from,
        to,
        is_untold: false,
        by,
    }
}

fn corrected(trial: u64, value: f64) -> Correction {
    Correction {
        trial,
        outcome: Outcome::of(VALUE, value),
        note: Object::new(r#"{"result": {"b": 1e400}}"#).unwrap(),
        why: Some("a \"typo\"".to_owned()),
    }
}

fn by(worker: &str) -> By<'_> {
    By {
        worker: Some(worker),
        now: 9,
    }
}

fn params(x: u64) -> NewRecord {
    Object::new(format!(r#"{{"x": {x}}}"#)).unwrap().into()
}

fn claim_of(worker: &str, now: i64) -> Claim<'_> {
    Claim {
        lease: Lease {
            worker,
            now,
            millis: 100,
        },
        since: Revision::default(),
        max_trials: None,
    }
}

/// Takes a trial, which is at `x` if it is a new one.
fn take(store: &mut Store, study: StudyId, worker: &str, x: u64) -> Record {
    store
        .claim(study, &claim_of(worker, 0), |_| Ok::<_, Error>(params(x)))
        .unwrap()
        .unwrap()
}

fn value(value: f64) -> Tell<'static> {
    Tell::new(Outcome::of(VALUE, value))
}

fn failure(reason: &str) -> Tell<'static> {
    Tell::new(Outcome::failed(reason))
}

fn value_of(trial: &Record) -> Option<f64> {
    trial.outcome()?.measured().get(VALUE)
}

fn all(store: &Store, study: StudyId) -> Vec<Record> {
    store.changes(study, Revision::default()).unwrap().trials
}

fn a_study_is_made_once_and_found_again(open: Open<'_>) {
    let a = open().create("a", "text\n\u{0}'\"é").unwrap();
    let b = open().create("b", "text\n\u{0}'\"é").unwrap();

    assert_ne!(a, b);
    assert_eq!(open().create("a", "text\n\u{0}'\"é"), Ok(a));
    assert_eq!(open().definition(a).unwrap(), "text\n\u{0}'\"é");
    let names: Vec<String> = open()
        .studies()
        .unwrap()
        .into_iter()
        .map(|study| study.name)
        .collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!([a.index(), b.index()], [0, 1]);
}

fn another_definition_is_refused_with_both(open: Open<'_>) {
    open().create("a", "x = 1").unwrap();

    let refused = open().create("a", "x = 2").unwrap_err();

    let expected = Error::DefinitionDiffers {
        name: "a".into(),
        stored: "x = 1".into(),
        given: "x = 2".into(),
    };
    assert_eq!(refused, expected);
}

fn names_must_be_readable(open: Open<'_>) {
    for name in ["", "a\nb", "\u{0}"] {
        assert_eq!(
            open().create(name, ""),
            Err(Error::BadName { name: name.into() })
        );
    }
    assert!(
        open()
            .create("Größe 3 / `x` 'y'; DROP TABLE trial", "")
            .is_ok()
    );
}

fn what_does_not_exist_is_named(open: Open<'_>) {
    // A number of a study that exists elsewhere only.
    let mut elsewhere = Store::new(Memory::default());
    elsewhere.create("a", "").unwrap();
    let strange = elsewhere.create("b", "").unwrap();
    let mut store = open();
    let study = store.create("a", "").unwrap();
    take(&mut store, study, "w", 0);

    let no_study = Error::UnknownStudy { id: 1, n: 1 };
    assert_eq!(store.definition(strange).unwrap_err(), no_study);
    assert_eq!(
        store.changes(strange, Revision::default()).unwrap_err(),
        no_study
    );
    assert_eq!(store.enqueue(strange, params(0), 0).unwrap_err(), no_study);
    assert_eq!(
        store.add(strange, params(0), &value(1.0)).unwrap_err(),
        no_study
    );
    assert_eq!(store.release_expired(strange, 0, 1).unwrap_err(), no_study);
    assert_eq!(store.tell(strange, 0, &value(1.0)).unwrap_err(), no_study);
    let claimed = store.claim(strange, &claim_of("w", 0), |_| Ok::<_, Error>(params(0)));
    assert_eq!(claimed.unwrap_err(), no_study);
    for id in [1, u64::MAX] {
        let no_trial = Error::UnknownTrial { id, n: 1 };
        assert_eq!(store.trial(study, id).unwrap_err(), no_trial);
        assert_eq!(store.tell(study, id, &value(1.0)).unwrap_err(), no_trial);
        assert_eq!(store.release(study, id, "w").unwrap_err(), no_trial);
        assert_eq!(
            store
                .heartbeat(study, id, &claim_of("w", 0).lease)
                .unwrap_err(),
            no_trial
        );
    }
}

fn trials_are_numbered_within_their_study(open: Open<'_>) {
    let mut store = open();
    let a = store.create("a", "").unwrap();
    let b = store.create("b", "").unwrap();

    let ids = [
        take(&mut store, a, "w", 0).id,
        store.add(b, params(1), &value(1.0)).unwrap().id,
        store.add(a, params(2), &value(1.0)).unwrap().id,
        take(&mut store, b, "w", 3).id,
        store.enqueue(a, params(4), 0).unwrap().id,
    ];

    assert_eq!(ids, [0, 0, 1, 1, 2]);
    assert_eq!(store.trial(a, 2).unwrap().params.as_str(), r#"{"x": 4}"#);
    assert_eq!(store.trial(b, 1).unwrap().params.as_str(), r#"{"x": 3}"#);
}

fn waiting_trials_are_claimed_before_new_ones_are_made(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "").unwrap();
    let first = take(&mut store, study, "w", 0);
    store.enqueue(study, params(1), 7).unwrap();
    store.enqueue(study, params(2), 8).unwrap();
    store.release(study, first.id, "w").unwrap();

    let claimed: Vec<u64> = (0..4).map(|_| take(&mut store, study, "v", 9).id).collect();

    assert_eq!(claimed, [0, 1, 2, 3]);
    let second = store.trial(study, 1).unwrap();
    assert_eq!(
        (second.created, second.started, second.attempts),
        (7, Some(0), 1)
    );
    assert_eq!(
        second.state,
        RecordState::Running {
            worker: "v".into(),
            lease: 100
        }
    );
}

fn the_number_of_trials_is_limited_for_all_together(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "").unwrap();
    store.add(study, params(0), &failure("bad")).unwrap();
    let mut other = open();
    let limited = Claim {
        max_trials: Some(2),
        ..claim_of("w", 0)
    };
    let claim = |store: &mut Store| {
        store
            .claim(study, &limited, |_| Ok::<_, Error>(params(1)))
            .unwrap()
    };

    assert!(claim(&mut store).is_some());
    assert!(claim(&mut other).is_none());

    // What exists already may be claimed again.
    store.release(study, 1, "w").unwrap();
    assert_eq!(claim(&mut other).map(|trial| trial.id), Some(1));
}

fn a_claim_sees_everything_since_the_revision_it_knows(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "").unwrap();
    take(&mut store, study, "w", 0);
    let known = store.changes(study, Revision::default()).unwrap();
    open().tell(study, 0, &value(2.0)).unwrap();
    open().add(study, params(1), &value(3.0)).unwrap();

    let mut seen = None;
    let claim = Claim {
        since: known.revision,
        ..claim_of("w", 0)
    };
    store
        .claim(study, &claim, |changes| {
            seen = Some(changes.clone());
            Ok::<_, Error>(params(2))
        })
        .unwrap();

    let seen = seen.unwrap();
    assert_eq!(
        seen.trials.iter().map(value_of).collect::<Vec<_>>(),
        [Some(2.0), Some(3.0)]
    );
    let since = store.changes(study, seen.revision).unwrap();
    assert_eq!(since.trials, [store.trial(study, 2).unwrap()]);
    assert!(
        store
            .changes(study, since.revision)
            .unwrap()
            .trials
            .is_empty()
    );
    assert_eq!(store.changes(study, Revision(u64::MAX)).unwrap().trials, []);
}

fn an_error_or_a_panic_of_suggest_changes_nothing(open: Open<'_>) {
    #[derive(Debug, PartialEq)]
    enum Mine {
        Store(Error),
        Stuck,
    }
    impl From<Error> for Mine {
        fn from(error: Error) -> Mine {
            Mine::Store(error)
        }
    }
    let mut store = open();
    let study = store.create("a", "").unwrap();

    assert_eq!(
        store.claim(study, &claim_of("w", 0), |_| Err(Mine::Stuck)),
        Err(Mine::Stuck)
    );
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        store.claim(study, &claim_of("w", 0), |_| -> Result<_, Error> {
            panic!("a bug in suggest")
        })
    }));

    assert!(panicked.is_err());
    assert_eq!(all(&store, study), []);
    assert_eq!(take(&mut open(), study, "v", 0).id, 0);
    assert_eq!(take(&mut store, study, "w", 0).id, 1);
}

fn tells_have_places_in_their_order(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "").unwrap();
    (0..3).for_each(|x| drop(take(&mut store, study, "w", x)));

    store.tell(study, 2, &value(1.0)).unwrap();
    store.tell(study, 0, &failure("bad")).unwrap();
    store.add(study, params(3), &value(0.5)).unwrap();
    let last = store
        .tell(
            study,
            1,
            &Tell {
                worker: Some("w"),
                now: 77,
                ..value(2.0)
            },
        )
        .unwrap();

    let places: Vec<Option<u64>> = (0..4)
        .map(|id| store.trial(study, id).unwrap().told)
        .collect();
    assert_eq!(places, [Some(1), Some(3), Some(0), Some(2)]);
    assert_eq!(last, store.trial(study, 1).unwrap());
    assert_eq!(
        (last.finished, last.worker.as_deref()),
        (Some(77), Some("w"))
    );
}

fn a_trial_is_told_once(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "").unwrap();
    take(&mut store, study, "w", 0);
    let told = store.tell(study, 0, &value(1.5)).unwrap();
    let failed = store.add(study, params(0), &failure("bad")).unwrap();

    for again in [value(1.5), value(2.0), failure("late")] {
        let outcome = Outcome::of(VALUE, 1.5);
        assert_eq!(
            open().tell(study, 0, &again).unwrap_err(),
            Error::AlreadyTold { id: 0, outcome }
        );
        let outcome = Outcome::failed("bad");
        assert_eq!(
            open().tell(study, 1, &again).unwrap_err(),
            Error::AlreadyTold { id: 1, outcome }
        );
    }
    assert!(matches!(
        store.release(study, 0, "w"),
        Err(Error::NotHeld { .. })
    ));
    assert_eq!(store.release_expired(study, i64::MAX, 0).unwrap(), []);
    assert_eq!(all(&store, study), [told, failed]);
}

fn only_finite_values_are_stored_and_those_exactly(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "").unwrap();
    take(&mut store, study, "w", 0);
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(Measured::of(VALUE, bad).is_err());
        let added = store.add(study, params(0), &value(bad)).unwrap();
        let reason = format!("the value is {bad}");
        assert_eq!(added.outcome(), Some(&Outcome::failed(reason)));
    }
    let third = 1.0 / 3.0;
    let values = [
        0.0,
        -0.0,
        5e-324,
        -5e-324,
        f64::MIN_POSITIVE,
        f64::MAX,
        f64::MIN,
        third,
        1e15,
        2f64.powi(60),
    ];
    let ids: Vec<u64> = values
        .iter()
        .map(|v| store.add(study, params(0), &value(*v)).unwrap().id)
        .collect();

    for (id, expected) in ids.into_iter().zip(values) {
        let found = value_of(&open().trial(study, id).unwrap()).unwrap();
        assert_eq!(found.to_bits(), expected.to_bits(), "{expected:e}");
    }
    assert_eq!(store.trial(study, 0).unwrap().told, None);
}

fn all_that_was_measured_is_kept_however_the_evaluation_ended(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "").unwrap();
    let numbers = [
        ("loss", 0.1 + 0.2),
        ("\u{3bb} 'a\" {", -0.0),
        ("size", 1e308),
    ];
    let mut measured = Measured::default();
    for (name, number) in numbers {
        measured.insert(name, number).unwrap();
    }
    let outcomes = [
        Outcome::Complete(measured.clone()),
        Outcome::Stopped(measured.clone()),
        Outcome::Stopped(Measured::default()),
        Outcome::Failed {
            reason: "out of memory".into(),
            measured,
        },
    ];

    for outcome in &outcomes {
        let tell = Tell::new(outcome.clone());
        store.add(study, params(0), &tell).unwrap();
    }

    let found = all(&open(), study);
    let found: Vec<&Outcome> = found.iter().filter_map(Record::outcome).collect();
    assert_eq!(found, outcomes.iter().collect::<Vec<_>>());
    assert!(
        found[0]
            .measured()
            .get(numbers[1].0)
            .is_some_and(f64::is_sign_negative)
    );
}

fn a_heartbeat_prolongs_the_lease_and_is_no_change(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "").unwrap();
    let taken = take(&mut store, study, "w", 0);

    store
        .heartbeat(
            study,
            0,
            &Lease {
                worker: "w",
                now: 90,
                millis: 100,
            },
        )
        .unwrap();

    let state = RecordState::Running {
        worker: "w".into(),
        lease: 190,
    };
    assert_eq!(
        store.trial(study, 0).unwrap(),
        Record {
            state,
            ..taken.clone()
        }
    );
    assert_eq!(store.changes(study, taken.revision).unwrap().trials, []);
    assert_eq!(open().release_expired(study, 189, 9).unwrap(), []);
    assert_eq!(open().release_expired(study, 190, 9).unwrap().len(), 1);
    store
        .heartbeat(
            study,
            0,
            &Lease {
                worker: "w",
                now: 200,
                millis: 100,
            },
        )
        .unwrap_err();

    let other = take(&mut store, study, "v", 200);
    store
        .heartbeat_all(
            study,
            &[0, other.id],
            &Lease {
                worker: "v",
                now: 290,
                millis: 100,
            },
        )
        .unwrap();
    assert!(matches!(
        store.trial(study, other.id).unwrap().state,
        RecordState::Running { lease: 390, .. }
    ));
}

fn only_the_holder_renews_and_gives_back(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "").unwrap();
    take(&mut store, study, "w", 0);
    store.enqueue(study, params(1), 0).unwrap();
    store.add(study, params(2), &value(1.0)).unwrap();
    let states = [
        RecordState::Running {
            worker: "w".into(),
            lease: 100,
        },
        RecordState::Waiting,
        RecordState::Ended(Outcome::of(VALUE, 1.0)),
    ];

    for (id, state) in (0..).zip(states) {
        let lost = Error::NotHeld {
            id,
            worker: "v".into(),
            state,
        };
        assert_eq!(
            store
                .heartbeat(study, id, &claim_of("v", 5).lease)
                .unwrap_err(),
            lost
        );
        assert_eq!(store.release(study, id, "v").unwrap_err(), lost);
    }
}

fn a_trial_given_back_waits_and_the_attempt_does_not_count(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "").unwrap();
    take(&mut store, study, "w", 0);

    let back = store.release(study, 0, "w").unwrap();

    assert_eq!((&back.state, back.attempts), (&RecordState::Waiting, 0));
    assert_eq!(take(&mut store, study, "v", 9).attempts, 1);
}

fn an_ended_lease_lets_the_trial_wait_again_and_at_last_fail(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "").unwrap();
    take(&mut store, study, "w", 0);
    take(&mut store, study, "v", 1);
    store.tell(study, 1, &value(1.0)).unwrap();

    assert_eq!(store.release_expired(study, 99, 2).unwrap(), []);
    let released = store.release_expired(study, 100, 2).unwrap();
    assert_eq!(released, [store.trial(study, 0).unwrap()]);
    assert_eq!(
        (&released[0].state, released[0].attempts),
        (&RecordState::Waiting, 1)
    );

    assert_eq!(take(&mut store, study, "u", 9).attempts, 2);
    let given_up = store.release_expired(study, 300, 2).unwrap();
    assert_eq!(
        given_up[0].state,
        RecordState::Ended(Outcome::failed("worker u stopped answering"))
    );
    assert_eq!(
        (given_up[0].told, given_up[0].finished),
        (Some(1), Some(300))
    );
    assert_eq!(store.release_expired(study, 300, 2).unwrap(), []);
}

fn a_late_result_counts_while_the_trial_waits(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "").unwrap();
    take(&mut store, study, "w", 0);
    store.release_expired(study, 100, 9).unwrap();

    let told = store
        .tell(
            study,
            0,
            &Tell {
                worker: Some("w"),
                ..value(1.0)
            },
        )
        .unwrap();

    assert_eq!(told.state, RecordState::Ended(Outcome::of(VALUE, 1.0)));
    assert_eq!(take(&mut store, study, "v", 1).id, 1);
}

fn a_late_result_counts_while_the_trial_runs_for_another(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "").unwrap();
    take(&mut store, study, "w", 0);
    store.release_expired(study, 100, 9).unwrap();
    assert_eq!(take(&mut store, study, "v", 9).id, 0);

    let told = store
        .tell(
            study,
            0,
            &Tell {
                worker: Some("w"),
                ..value(1.0)
            },
        )
        .unwrap();

    assert_eq!(
        (told.state.clone(), told.worker.as_deref()),
        (RecordState::Ended(Outcome::of(VALUE, 1.0)), Some("w"))
    );
    let lost = Error::NotHeld {
        id: 0,
        worker: "v".into(),
        state: RecordState::Ended(Outcome::of(VALUE, 1.0)),
    };
    assert_eq!(
        store
            .heartbeat(study, 0, &claim_of("v", 0).lease)
            .unwrap_err(),
        lost
    );
    let second = store.tell(
        study,
        0,
        &Tell {
            worker: Some("v"),
            ..value(1.1)
        },
    );
    assert_eq!(
        second.unwrap_err(),
        Error::AlreadyTold {
            id: 0,
            outcome: Outcome::of(VALUE, 1.0)
        }
    );
}

fn a_result_after_the_trial_was_given_up_is_refused(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "").unwrap();
    take(&mut store, study, "w", 0);
    store.release_expired(study, 100, 1).unwrap();

    let outcome = Outcome::failed("worker w stopped answering");
    assert_eq!(
        store.tell(study, 0, &value(1.0)).unwrap_err(),
        Error::AlreadyTold { id: 0, outcome }
    );

    // It is not lost: it can be added as a trial of its own.
    assert_eq!(store.add(study, params(0), &value(1.0)).unwrap().id, 1);
}

fn notes_are_kept_and_added_to(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "").unwrap();
    let note = |text: &str| Object::new(text).unwrap();
    let proposal = NewRecord {
        note: note(r#"{"by": "thompson", "n": 1}"#),
        ..params(0)
    };
    store
        .claim(study, &claim_of("w", 0), |_| {
            Ok::<_, Error>(proposal.clone())
        })
        .unwrap();
    assert_eq!(store.trial(study, 0).unwrap().note, proposal.note);

    store
        .tell(
            study,
            0,
            &Tell {
                note: note(r#"{"log": "a\u0000b", "n": 2.50}"#),
                ..value(1.0)
            },
        )
        .unwrap();

    let expected = r#"{"by":"thompson","log":"a\u0000b","n":2.50}"#;
    assert_eq!(open().trial(study, 0).unwrap().note.as_str(), expected);
}

fn a_result_from_elsewhere_is_a_told_trial(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "").unwrap();

    let added = store
        .add(
            study,
            params(0),
            &Tell {
                now: 5,
                ..value(1.0)
            },
        )
        .unwrap();

    assert_eq!(
        (added.told, added.attempts, added.worker.clone()),
        (Some(0), 0, None)
    );
    assert_eq!(
        (added.created, added.started, added.finished),
        (5, None, Some(5))
    );
    assert_eq!(open().trial(study, 0).unwrap(), added);
}

fn many_results_from_elsewhere_are_added_all_or_none(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "").unwrap();

    let two = || vec![(params(0), value(1.0)), (params(1), failure("bad"))];
    let interrupt = Interrupt::default();
    assert!(interrupt.request());
    assert!(interrupt.run(|| store.add_all(study, two())).is_none());
    assert_eq!(
        open().changes(study, Revision::default()).unwrap().trials,
        []
    );

    let added = store.add_all(study, two()).unwrap();
    assert_eq!(
        open().changes(study, Revision::default()).unwrap().trials,
        added
    );
    assert_eq!(
        added
            .iter()
            .map(|trial| (trial.id, trial.told))
            .collect::<Vec<_>>(),
        [(0, Some(0)), (1, Some(1))]
    );
}

fn changes_hold_each_trial_once_in_the_order_of_change(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "").unwrap();
    (0..3).for_each(|x| drop(take(&mut store, study, "w", x)));
    let known = store.changes(study, Revision::default()).unwrap();
    assert_eq!(known.revision, Revision(3));

    store.tell(study, 2, &value(1.0)).unwrap();
    store.release(study, 0, "w").unwrap();
    take(&mut store, study, "v", 0);

    let ids = |since| {
        store
            .changes(study, since)
            .unwrap()
            .trials
            .iter()
            .map(|t| t.id)
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(known.revision), [2, 0]);
    assert_eq!(ids(Revision::default()), [1, 2, 0]);
    assert_eq!(
        store.changes(study, Revision::default()).unwrap().revision,
        Revision(6)
    );
}

fn readers_do_not_wait_for_a_claim_and_see_the_state_before(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "").unwrap();
    take(&mut store, study, "w", 0);

    store
        .claim(study, &claim_of("w", 0), |_| {
            let reader = open();
            assert_eq!(all(&reader, study).len(), 1);
            assert!(reader.definition(study).is_ok());
            Ok::<_, Error>(params(1))
        })
        .unwrap();

    assert_eq!(all(&store, study).len(), 2);
}

fn writers_do_not_wait_for_a_suggestion_which_knows_what_was_before_them(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "").unwrap();
    take(&mut store, study, "w", 0);
    take(&mut store, study, "w", 1);
    let before = store.changes(study, Revision::default()).unwrap().revision;

    let trial = store
        .claim(study, &claim_of("v", 0), |changes| {
            assert_eq!(changes.revision, before);
            let mut other = open();
            other.tell(study, 0, &value(1.0)).unwrap();
            let lease = Lease {
                worker: "w",
                now: 7,
                millis: 100,
            };
            other.heartbeat(study, 1, &lease).unwrap();
            other.release(study, 1, "w").unwrap();
            other.add(study, params(2), &value(2.0)).unwrap();
            other.enqueue(study, params(3), 0).unwrap();
            assert_eq!(all(&other, study).len(), 4);
            Ok::<_, Error>(params(4))
        })
        .unwrap()
        .unwrap();

    assert_eq!((trial.id, trial.based_on), (4, Some(before)));
    assert_eq!(store.trial(study, 0).unwrap().told, Some(0));
    // What waits by now is for the next one.
    assert_eq!(take(&mut store, study, "v", 9).id, 1);
    assert_eq!(take(&mut store, study, "v", 9).id, 3);
}

fn a_suggestion_that_somebody_else_made_a_trial_meanwhile_is_computed_again(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "").unwrap();
    take(&mut store, study, "w", 7);
    let mut heard = Vec::new();

    let trial = store
        .claim(study, &claim_of("w", 0), |changes| {
            heard.push(changes.clone());
            // That trial 0 is at 7 was known, and is no reason to compute again.
            if heard.len() == 1 {
                open().add(study, params(7), &value(1.0)).unwrap();
            }
            Ok::<_, Error>(params(6 + heard.len() as u64))
        })
        .unwrap()
        .unwrap();

    let ids = |changes: &Changes| changes.trials.iter().map(|t| t.id).collect::<Vec<_>>();
    assert_eq!(
        heard.iter().map(ids).collect::<Vec<_>>(),
        [vec![0], vec![1]]
    );
    assert_eq!((trial.id, trial.params.clone()), (2, params(8).params));
    assert_eq!(trial.based_on, Some(heard[1].revision));

    // Elsewhere nothing is repeated: a trial that was there before may be.
    let again = take(&mut store, study, "w", 8);
    assert_eq!((again.id, again.params), (3, params(8).params));
}

fn a_point_that_is_enqueued_while_it_is_suggested_is_handed_out(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "").unwrap();
    let mut n_calls = 0;

    let trial = store
        .claim(study, &claim_of("w", 0), |_| {
            n_calls += 1;
            open().enqueue(study, params(7), 0).unwrap();
            Ok::<_, Error>(params(7))
        })
        .unwrap()
        .unwrap();

    assert_eq!((n_calls, trial.id, trial.based_on), (1, 0, None));
    assert_eq!(all(&store, study), [trial]);
}

fn a_claim_ends_even_if_every_suggestion_is_anticipated(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "").unwrap();
    let mut n_calls = 0;

    let trial = store
        .claim(study, &claim_of("w", 0), |_| {
            n_calls += 1;
            // The fourth is computed in the turn to write.
            if n_calls <= 3 {
                open().add(study, params(n_calls), &value(1.0)).unwrap();
            }
            Ok::<_, Error>(params(n_calls))
        })
        .unwrap()
        .unwrap();

    assert_eq!((n_calls, trial.id), (4, 3));
    assert_eq!(trial.params, params(4).params);
    assert_eq!(trial.based_on, Some(Revision(3)));
}

fn the_limit_holds_for_trials_that_are_made_while_a_suggestion_is_computed(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "").unwrap();
    let limited = Claim {
        max_trials: Some(1),
        ..claim_of("w", 0)
    };

    let claimed = store.claim(study, &limited, |_| {
        open().add(study, params(0), &value(1.0)).unwrap();
        Ok::<_, Error>(params(1))
    });

    assert_eq!(claimed, Ok(None));
    assert_eq!(all(&store, study).len(), 1);
}

fn a_waiting_trial_is_handed_out_while_a_suggestion_is_computed(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "").unwrap();

    let trial = store
        .claim(study, &claim_of("w", 0), |_| {
            let mut other = open();
            other.enqueue(study, params(0), 0).unwrap();
            assert_eq!(take(&mut other, study, "v", 9).id, 0);
            Ok::<_, Error>(params(1))
        })
        .unwrap()
        .unwrap();

    assert_eq!(trial.id, 1);
}

fn one_suggestion_is_computed_at_a_time_within_a_study_but_not_across_studies(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "").unwrap();
    let neighbour = store.create("b", "").unwrap();
    let (begin, has_begun) = channel();
    let (finish, may_finish) = channel::<()>();

    let (first, second) = thread::scope(|scope| {
        let first = scope.spawn(move || {
            let suggest = |_: &Changes| {
                begin.send(()).unwrap();
                may_finish.recv_timeout(LONG).unwrap();
                Ok::<_, Error>(params(0))
            };
            open().claim(study, &claim_of("w", 0), suggest).unwrap()
        });
        has_begun.recv_timeout(LONG).unwrap();
        assert_eq!(take(&mut open(), neighbour, "w", 0).id, 0);
        let second = scope.spawn(move || {
            let suggest = |changes: &Changes| {
                // The first one's trial is there by the time this is computed.
                assert_eq!(changes.trials.len(), 1);
                Ok::<_, Error>(params(1))
            };
            open().claim(study, &claim_of("v", 0), suggest).unwrap()
        });
        // Long enough for the second to be waiting, most of the time.
        thread::sleep(Duration::from_millis(30));
        finish.send(()).unwrap();
        (first.join().unwrap(), second.join().unwrap())
    });

    assert_eq!(first.map(|trial| trial.id), Some(0));
    assert_eq!(second.map(|trial| trial.id), Some(1));
}

fn who_waits_for_a_suggestion_can_be_interrupted(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "").unwrap();

    let trial = store
        .claim(study, &claim_of("w", 0), |_| {
            let interrupt = Interrupt::default();
            let wish = interrupt.clone();
            thread::scope(|scope| {
                let waits = scope
                    .spawn(move || interrupt.run(|| take(&mut open(), study, "v", 9)).is_none());
                thread::sleep(Duration::from_millis(20));
                assert!(wish.request());
                assert!(waits.join().unwrap());
            });
            Ok::<_, Error>(params(0))
        })
        .unwrap()
        .unwrap();

    assert_eq!(all(&store, study), [trial]);
}

fn an_error_a_panic_or_an_interrupt_of_suggest_ends_its_turn(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "").unwrap();
    let lost = Error::BadName {
        name: "lost".into(),
    };
    let interrupt = Interrupt::default();

    let failed = store.claim(study, &claim_of("w", 0), |_| Err(lost.clone()));
    assert_eq!(failed, Err(lost));
    assert_eq!(take(&mut open(), study, "v", 0).id, 0);

    let panicked = catch_unwind(AssertUnwindSafe(|| {
        store.claim(study, &claim_of("w", 0), |_| -> Result<_, Error> {
            panic!("a bug in suggest")
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(take(&mut open(), study, "v", 1).id, 1);

    let interrupted = interrupt.run(|| {
        store.claim(study, &claim_of("w", 0), |_| {
            interrupt.request();
            Ok::<_, Error>(params(2))
        })
    });
    assert_eq!(interrupted, None);
    assert_eq!(take(&mut open(), study, "v", 2).id, 2);
    assert_eq!(all(&store, study).len(), 3);
}

fn eight_threads_claim_and_tell_without_gaps_or_doubles(open: Open<'_>) {
    const N: u64 = 500;
    let (said, heard) = channel();
    thread::scope(|scope| {
        for thread in 0..8 {
            let said = said.clone();
            scope.spawn(move || {
                let mut store = open();
                let study = store.create("a", "b").unwrap();
                let worker = thread.to_string();
                let mut since = Revision::default();
                let mut known = BTreeSet::new();
                while let Some(trial) = store
                    .claim(
                        study,
                        &Claim {
                            since,
                            max_trials: Some(N),
                            ..claim_of(&worker, 0)
                        },
                        |changes| {
                            known.extend(changes.trials.iter().map(|trial| trial.id));
                            since = changes.revision;
                            Ok::<_, Error>(params(known.len() as u64))
                        },
                    )
                    .unwrap()
                {
                    let told = store
                        .tell(study, trial.id, &value(trial.id as f64))
                        .unwrap();
                    said.send((trial.id, told.told.unwrap())).unwrap();
                }
            });
        }
    });
    drop(said);

    let (mut ids, mut places): (Vec<u64>, Vec<u64>) = heard.iter().unzip();
    ids.sort_unstable();
    places.sort_unstable();
    let expected: Vec<u64> = (0..N).collect();
    assert_eq!(ids, expected);
    assert_eq!(places, expected);
    let store = open();
    let study = store.studies().unwrap()[0].id;
    let changes = store.changes(study, Revision::default()).unwrap();
    assert_eq!(changes.revision, Revision(2 * N));
    // Each claimer suggests the number of trials that it knows: it knew all of them.
    assert!(
        changes
            .trials
            .iter()
            .all(|trial| trial.params == params(trial.id).params)
    );
    assert!(
        changes
            .trials
            .iter()
            .all(|trial| value_of(trial) == Some(trial.id as f64))
    );
}

fn events_and_trials_share_their_revisions(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "one").unwrap();
    let trial = take(&mut store, study, "w", 0);
    store
        .tell(study, 0, &Tell::new(Outcome::of(VALUE, 1.0)))
        .unwrap();
    store
        .revise(study, &revising("one", "two"), |_| None)
        .unwrap()
        .unwrap();
    store.correct(study, corrected(0, -0.0), by("c")).unwrap();
    take(&mut store, study, "w", 1);

    let all = open().changes(study, Revision::default()).unwrap();
    let later = open().changes(study, Revision(3)).unwrap();

    let numbers = |changes: &Changes| {
        let trials: Vec<u64> = changes
            .trials
            .iter()
            .map(|trial| trial.revision.0)
            .collect();
        let events: Vec<u64> = changes
            .events
            .iter()
            .map(|event| event.revision.0)
            .collect();
        (trials, events, changes.revision.0)
    };
    assert_eq!(trial.revision, Revision(1));
    assert_eq!(numbers(&all), (vec![2, 5], vec![3, 4], 5));
    assert_eq!(numbers(&later), (vec![5], vec![4], 5));
    let [revision, correction] = all.events.as_slice() else {
        panic!("{:?}", all.events)
    };
    let definition = "two".to_owned();
    assert_eq!(revision.what, What::Revised { definition });
    assert_eq!((revision.time, revision.worker.as_deref()), (7, Some("r")));
    assert_eq!(correction.what, What::Corrected(corrected(0, -0.0)));
    let exact = correction
        .correction()
        .unwrap()
        .outcome
        .measured()
        .get(VALUE);
    assert_eq!(exact.map(f64::to_bits), Some((-0.0_f64).to_bits()));
}

fn a_revised_definition_counts_and_the_first_one_stays(open: Open<'_>) {
    let study = open().create("a", "one").unwrap();

    assert_eq!(
        open().revise(study, &revising("one", "two\u{0}'"), |_| None),
        Ok(Some(vec![]))
    );
    assert_eq!(
        open().revise(study, &revising("two\u{0}'", "three"), |_| None),
        Ok(Some(vec![]))
    );

    assert_eq!(open().definition(study).unwrap(), "three");
    assert_eq!(open().first_definition(study).unwrap(), "one");
    assert_eq!(open().create("a", "three"), Ok(study));
    assert!(matches!(
        open().create("a", "one"),
        Err(Error::DefinitionDiffers { .. })
    ));
}

fn a_revision_of_what_is_not_there_any_more_changes_nothing(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "one").unwrap();
    store
        .add(study, params(0), &Tell::new(Outcome::of(VALUE, 1.0)))
        .unwrap();
    let untold = Revising {
        is_untold: true,
        ..revising("one", "two")
    };

    assert_eq!(
        store.revise(study, &revising("zero", "two"), |_| None),
        Ok(None)
    );
    assert_eq!(store.revise(study, &untold, |_| None), Ok(None));

    assert_eq!(
        open().changes(study, Revision::default()).unwrap().events,
        []
    );
}

fn a_revision_fails_the_waiting_trials_that_it_forbids(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "one").unwrap();
    for x in 0..3 {
        store.enqueue(study, params(x), 0).unwrap();
    }
    take(&mut store, study, "w", 9);
    let forbidden = |trial: &Record| (trial.id != 2).then(|| format!("no {}", trial.id));

    let failed = store
        .revise(study, &revising("one", "two"), forbidden)
        .unwrap();

    // The first one runs by now, and may finish.
    assert_eq!(failed, Some(vec![1]));
    let state = |id| open().trial(study, id).unwrap().state;
    assert!(matches!(state(0), RecordState::Running { .. }));
    assert_eq!(state(1), RecordState::Ended(Outcome::failed("no 1")));
    assert_eq!(state(2), RecordState::Waiting);
    assert_eq!(open().trial(study, 1).unwrap().told, Some(0));
}

fn a_correction_leaves_the_row_as_it_was_told(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "one").unwrap();
    let told = store
        .add(study, params(0), &Tell::new(Outcome::failed("why")))
        .unwrap();

    let first = store.correct(study, corrected(0, 1.0), by("c")).unwrap();
    let second = store.correct(study, corrected(0, 2.0), by("d")).unwrap();

    assert_eq!(open().trial(study, 0).unwrap(), told);
    let events = open().changes(study, told.revision).unwrap().events;
    assert_eq!(events, [first, second]);
}

fn what_was_not_told_is_not_corrected(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "one").unwrap();
    let trial = take(&mut store, study, "w", 0);

    let refused = store.correct(study, corrected(0, 1.0), by("c"));
    let missing = store.correct(study, corrected(1, 1.0), by("c"));

    let state = trial.state;
    assert_eq!(refused, Err(Error::NotTold { id: 0, state }));
    assert_eq!(missing, Err(Error::UnknownTrial { id: 1, n: 1 }));
}

fn a_suggestion_during_which_the_study_is_revised_is_computed_again(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "one").unwrap();
    let mut seen = Vec::new();

    let trial = store.claim(study, &claim_of("w", 0), |changes| {
        let n_events = changes.events.len();
        seen.push(n_events);
        if seen.len() == 1 {
            let revised = open().revise(study, &revising("one", "two"), |_| None);
            assert_eq!(revised, Ok(Some(vec![])));
        }
        Ok::<_, Error>(params(n_events as u64))
    });

    let trial = trial.unwrap().unwrap();
    assert_eq!(seen, [0, 1]);
    assert_eq!((trial.id, trial.based_on), (0, Some(Revision(1))));
    assert_eq!(trial.params, params(1).params);
}

fn points_for_an_earlier_definition_are_not_enqueued(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "one").unwrap();
    store.enqueue(study, params(0), 0).unwrap();
    let two = || vec![params(1), params(2)];
    store
        .revise(study, &revising("one", "two"), |_| None)
        .unwrap()
        .unwrap();

    assert_eq!(store.enqueue_all(study, two(), 0, Revision(1)), Ok(None));
    let made = store
        .enqueue_all(study, two(), 0, Revision(2))
        .unwrap()
        .unwrap();

    let ids: Vec<u64> = made.iter().map(|trial| trial.id).collect();
    assert_eq!(ids, [1, 2]);
    assert_eq!(
        open()
            .changes(study, Revision::default())
            .unwrap()
            .trials
            .len(),
        3
    );
}

fn a_removed_study_is_gone_and_whoever_works_on_it_is_told(open: Open<'_>) {
    let mut store = open();
    let kept = store.create("kept", "x").unwrap();
    let study = store.create("a", "one").unwrap();
    store.enqueue(kept, params(0), 0).unwrap();
    take(&mut store, study, "w", 0);
    store
        .add(study, params(1), &Tell::new(Outcome::of(VALUE, 1.0)))
        .unwrap();
    store.correct(study, corrected(1, 2.0), by("c")).unwrap();
    let mut other = open();

    store.remove(study, 5).unwrap();

    let gone = || Error::Removed { name: "a".into() };
    let lease = Lease {
        worker: "w",
        now: 0,
        millis: 100,
    };
    assert_eq!(
        other.tell(study, 0, &Tell::new(Outcome::of(VALUE, 1.0))),
        Err(gone())
    );
    assert_eq!(other.heartbeat(study, 0, &lease), Err(gone()));
    assert_eq!(other.enqueue(study, params(0), 0), Err(gone()));
    assert_eq!(other.changes(study, Revision::default()), Err(gone()));
    assert_eq!(other.release_expired(study, 0, 1), Err(gone()));
    assert_eq!(other.remove(study, 5), Err(gone()));
    let claimed = other.claim(study, &claim_of("w", 0), |_| Ok::<_, Error>(params(0)));
    assert_eq!(claimed, Err(gone()));
    let names = |store: &Store| -> Vec<String> {
        let studies = store.studies().unwrap().into_iter();
        studies.map(|study| study.name).collect()
    };
    assert_eq!(names(&other), ["kept"]);
    // The name is free again; the number is not.
    let again = other.create("a", "two").unwrap();
    assert!(again > study);
    assert_eq!(
        open().changes(again, Revision::default()).unwrap().trials,
        []
    );
    assert_eq!(open().trial(study, 0), Err(gone()));
    assert_eq!(
        open()
            .changes(kept, Revision::default())
            .unwrap()
            .trials
            .len(),
        1
    );
}

fn a_study_that_is_removed_while_a_suggestion_is_computed_gets_no_trial(open: Open<'_>) {
    let mut store = open();
    let study = store.create("a", "one").unwrap();

    let claimed = store.claim(study, &claim_of("w", 0), |_| {
        open().remove(study, 0).unwrap();
        Ok::<_, Error>(params(0))
    });

    assert_eq!(claimed, Err(Error::Removed { name: "a".into() }));
    assert_eq!(open().studies().unwrap(), []);
}
