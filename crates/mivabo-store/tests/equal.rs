//! Memory and SQLite give the same answers to the same calls, and keep the rules under all of them.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::collections::BTreeMap;

use mivabo::measure::{Measured, Outcome, VALUE};
use mivabo_store::{
    By, Claim, Correction, Error, Event, Lease, Memory, NewRecord, Object, Record, Revising,
    Revision, Sqlite, Store, StudyId, Tell,
};
use proptest::prelude::*;
use proptest::test_runner::Config;

#[derive(Debug, Clone)]
enum Call {
    Claim {
        worker: String,
        millis: i64,
        since: u64,
        max_trials: Option<u64>,
        suggestion: Option<NewRecord>,
    },
    Enqueue(NewRecord),
    Add(NewRecord, Outcome),
    Heartbeat {
        id: u64,
        worker: String,
        millis: i64,
    },
    Tell {
        id: u64,
        worker: Option<String>,
        outcome: Outcome,
        note: Object,
    },
    Release {
        id: u64,
        worker: String,
    },
    ReleaseExpired {
        max_attempts: u32,
    },
    Revise {
        from: String,
        to: String,
        is_untold: bool,
        forbidden: u64,
    },
    EnqueueAll(Vec<NewRecord>, u64),
    Correct(Correction, Option<String>),
}

fn definition() -> impl Strategy<Value = String> {
    prop_oneof![Just("b".to_owned()), Just("c\n'".to_owned())]
}

fn object() -> impl Strategy<Value = Object> {
    proptest::collection::btree_map(any::<String>(), any::<(f32, String)>(), 0..3)
        .prop_map(|map| Object::new(serde_json::to_string(&map).unwrap()).unwrap())
}

fn proposal() -> impl Strategy<Value = NewRecord> {
    (object(), object()).prop_map(|(params, note)| NewRecord { params, note })
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let measured = || {
        proptest::collection::btree_map("[a-z ]{0,3}|value", any::<f64>(), 0..3).prop_map(|all| {
            let mut measured = Measured::default();
            for (name, number) in all {
                // What is not a measure is left out.
                measured.insert(name, number).ok();
            }
            measured
        })
    };
    prop_oneof![
        any::<f64>().prop_map(|value| Outcome::of(VALUE, value)),
        measured().prop_map(Outcome::Complete),
        measured().prop_map(Outcome::Stopped),
        (any::<String>(), measured())
            .prop_map(|(reason, measured)| Outcome::Failed { reason, measured }),
    ]
}

fn worker() -> impl Strategy<Value = String> {
    prop_oneof![Just("a".to_owned()), Just("b".to_owned()), any::<String>()]
}

fn call() -> impl Strategy<Value = Call> {
    let id = || 0..8_u64;
    let millis = || prop_oneof![0..30_i64, any::<i64>()];
    prop_oneof![
        4 => (worker(), millis(), 0..20_u64, proptest::option::of(0..10_u64), proptest::option::weighted(0.9, proposal()))
            .prop_map(|(worker, millis, since, max_trials, suggestion)| {
                Call::Claim { worker, millis, since, max_trials, suggestion }
            }),
        1 => proposal().prop_map(Call::Enqueue),
        1 => (proposal(), outcome()).prop_map(|(proposal, outcome)| Call::Add(proposal, outcome)),
        2 => (id(), worker(), millis())
            .prop_map(|(id, worker, millis)| Call::Heartbeat { id, worker, millis }),
        3 => (id(), proptest::option::of(worker()), outcome(), object())
            .prop_map(|(id, worker, outcome, note)| Call::Tell { id, worker, outcome, note }),
        1 => (id(), worker()).prop_map(|(id, worker)| Call::Release { id, worker }),
        1 => (0..4_u32).prop_map(|max_attempts| Call::ReleaseExpired { max_attempts }),
        2 => (definition(), definition(), any::<bool>(), id()).prop_map(|(from, to, is_untold, forbidden)| {
            Call::Revise { from, to, is_untold, forbidden }
        }),
        1 => (proptest::collection::vec(proposal(), 0..3), 0..20_u64).prop_map(|(new, known)| Call::EnqueueAll(new, known)),
        2 => (id(), outcome(), object(), proptest::option::of(any::<String>()), proptest::option::of(worker()))
            .prop_map(|(trial, outcome, note, why, worker)| {
                Call::Correct(Correction { trial, outcome, note, why }, worker)
            }),
    ]
}

/// Makes the call; the answer, written out. Debug output of numbers is exact.
#[expect(clippy::too_many_lines, reason = "one arm for each call")]
fn make(call: &Call, store: &mut Store, study: StudyId, now: i64) -> String {
    match call.clone() {
        Call::Claim {
            worker,
            millis,
            since,
            max_trials,
            suggestion,
        } => {
            let lease = Lease {
                worker: &worker,
                now,
                millis,
            };
            let mut seen = None;
            let answer = store.claim(
                study,
                &Claim {
                    lease,
                    since: Revision(since),
                    max_trials,
                },
                |changes| {
                    seen = Some(changes.clone());
                    suggestion.clone().ok_or(Error::BadName {
                        name: "nothing to suggest".into(),
                    })
                },
            );
            format!("{answer:?} {seen:?}")
        }
        Call::Enqueue(proposal) => format!("{:?}", store.enqueue(study, proposal, now)),
        Call::Add(proposal, outcome) => {
            format!(
                "{:?}",
                store.add(
                    study,
                    proposal,
                    &Tell {
                        now,
                        ..Tell::new(outcome)
                    }
                )
            )
        }
        Call::Heartbeat { id, worker, millis } => {
            format!(
                "{:?}",
                store.heartbeat(
                    study,
                    id,
                    &Lease {
                        worker: &worker,
                        now,
                        millis
                    }
                )
            )
        }
        Call::Tell {
            id,
            worker,
            outcome,
            note,
        } => {
            let tell = Tell {
                worker: worker.as_deref(),
                outcome,
                now,
                note,
            };
            format!("{:?}", store.tell(study, id, &tell))
        }
        Call::Release { id, worker } => format!("{:?}", store.release(study, id, &worker)),
        Call::ReleaseExpired { max_attempts } => {
            format!("{:?}", store.release_expired(study, now, max_attempts))
        }
        Call::Revise {
            from,
            to,
            is_untold,
            forbidden,
        } => {
            let revising = Revising {
                from: &from,
                to: &to,
                is_untold,
                by: By { worker: None, now },
            };
            let why = |trial: &Record| (trial.id == forbidden).then(|| "no".to_owned());
            format!("{:?}", store.revise(study, &revising, why))
        }
        Call::EnqueueAll(new, known) => {
            format!("{:?}", store.enqueue_all(study, new, now, Revision(known)))
        }
        Call::Correct(correction, worker) => {
            let worker = worker.as_deref();
            format!("{:?}", store.correct(study, correction, By { worker, now }))
        }
    }
}

fn all(store: &Store, study: StudyId) -> Vec<Record> {
    store.changes(study, Revision::default()).unwrap().trials
}

fn events(store: &Store, study: StudyId) -> Vec<Event> {
    store.changes(study, Revision::default()).unwrap().events
}

/// Events are only added, under revisions that no trial has.
fn are_appended(events: &[Event], before: &mut Vec<Event>, trials: &[Record]) {
    assert!(events.starts_with(before));
    *before = events.to_vec();
    assert!(
        events
            .windows(2)
            .all(|pair| pair[0].revision < pair[1].revision)
    );
    let is_shared = |event: &&Event| trials.iter().any(|trial| trial.revision == event.revision);
    assert_eq!(events.iter().find(is_shared), None);
}

/// Numbers and places without gaps, revisions in order, told trials as they were when they were told.
fn keep_the_rules(trials: &[Record], told: &mut BTreeMap<u64, Record>) {
    let sorted = |mut numbers: Vec<u64>| {
        numbers.sort_unstable();
        numbers
    };
    let ids = sorted(trials.iter().map(|trial| trial.id).collect());
    assert_eq!(ids, (0..trials.len() as u64).collect::<Vec<_>>());
    let places = sorted(trials.iter().filter_map(|trial| trial.told).collect());
    assert_eq!(places, (0..places.len() as u64).collect::<Vec<_>>());
    assert!(
        trials
            .windows(2)
            .all(|pair| pair[0].revision < pair[1].revision)
    );
    for trial in trials {
        assert_eq!(trial.told.is_some(), trial.outcome().is_some());
        let numbers = trial.outcome().into_iter().flat_map(Outcome::measured);
        assert!(numbers.into_iter().all(|(_, number)| number.is_finite()));
        if trial.told.is_some() {
            assert_eq!(told.entry(trial.id).or_insert_with(|| trial.clone()), trial);
        }
    }
    assert_eq!(told.len(), places.len());
}

proptest! {
    #![proptest_config(Config { cases: 40, ..Config::default() })]

    #[test]
    fn the_fast_and_the_slow_backend_give_the_same_answers(calls in proptest::collection::vec(call(), 1..40)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let mut fast = Store::new(Sqlite::open(&path).unwrap());
        let mut slow = Store::new(Memory::default());
        let study = fast.create("a", "b").unwrap();
        prop_assert_eq!(slow.create("a", "b"), Ok(study));
        let (mut told, mut happened) = (BTreeMap::new(), Vec::new());

        for (now, call) in (0..).map(|step| 10 * step).zip(&calls) {
            prop_assert_eq!(make(call, &mut fast, study, now), make(call, &mut slow, study, now));
            keep_the_rules(&all(&slow, study), &mut told);
            are_appended(&events(&slow, study), &mut happened, &all(&slow, study));
        }

        drop(fast);
        let fast = Store::new(Sqlite::open_read_only(&path).unwrap());
        prop_assert_eq!(format!("{:?}", all(&fast, study)), format!("{:?}", all(&slow, study)));
        prop_assert_eq!(format!("{:?}", events(&fast, study)), format!("{:?}", events(&slow, study)));
        let mut fast = Store::new(Sqlite::open(&path).unwrap());
        prop_assert_eq!(fast.remove(study, 0), Ok(()));
        prop_assert_eq!(slow.remove(study, 0), Ok(()));
        for call in &calls {
            prop_assert_eq!(make(call, &mut fast, study, 0), make(call, &mut slow, study, 0));
        }
    }
}
