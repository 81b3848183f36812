//! What is evaluated next, what becomes of it, and when nothing is left to do.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::thread::sleep;
use std::time::{Duration, Instant};

use mivabo::Space;
use mivabo::space::{Point, Value};
use mivabo_store::{
    Asked, Changes, Claim, Definition, Error, Lease, Location, NewRecord, RecordState, Revision,
    Session, Store, Told,
};
use mivabo_work::{Done, Ended, Ending, Next, Terms, Work};

fn session_at(place: &Location) -> Session {
    session_over(3, place)
}

/// A study of so many points.
fn session_over(n: u8, place: &Location) -> Session {
    let space = format!("[parameters]\nx = {{ type = 'int', low = 1, high = {n} }}");
    let definition = Definition {
        strategy: "random".to_owned(),
        ..Definition::new(Space::from_toml(&space).unwrap())
    };
    Session::open(Store::open(place).unwrap(), "a study", &definition).unwrap()
}

fn session() -> Session {
    session_at(&Location::Memory)
}

fn work(trials: u64) -> Work {
    Work::new(Terms {
        trials: Some(trials),
        ..Terms::default()
    })
}

fn asked(next: Result<Next, Error>) -> Asked {
    match next.unwrap() {
        Next::Evaluate(asked) => asked,
        other => panic!("expected a trial, not {other:?}"),
    }
}

fn done(next: Result<Next, Error>) -> Done {
    match next.unwrap() {
        Next::Done(why) => why,
        other => panic!("expected an end, not {other:?}"),
    }
}

fn value(value: f64) -> Ending {
    Ending::Told(Told::value(value))
}

fn failed() -> Ending {
    Ending::Told(Told::failed("no license"))
}

fn stumbled() -> Ending {
    Ending::Stumbled(Told::failed("exit code 1"))
}

#[test]
fn the_work_is_done_when_there_are_enough_trials() {
    let (mut session, mut work) = (session(), work(2));
    for expected in 0..2 {
        let trial = asked(work.next(&mut session));
        assert_eq!((trial.id, work.n_held()), (expected, 1));
        let ended = work.ended(&mut session, trial.id, value(0.5)).unwrap();
        assert_eq!((ended, work.n_held()), (Ended::Told, 0));
    }

    assert_eq!(done(work.next(&mut session)), Done::Enough);
}

#[test]
fn the_work_is_done_when_no_point_is_left() {
    let (mut session, mut work) = (session(), work(9));
    for _ in 0..3 {
        let trial = asked(work.next(&mut session));
        work.ended(&mut session, trial.id, value(0.5)).unwrap();
    }

    assert!(matches!(done(work.next(&mut session)), Done::Exhausted(_)));
}

#[test]
fn nothing_begins_after_a_stop_or_a_good_value_or_when_time_is_up() {
    let mut session = session();
    let mut stopped = work(9);
    stopped.stop();
    assert_eq!(done(stopped.next(&mut session)), Done::Stopped);
    let mut late = Work::new(Terms {
        time: Some(Duration::ZERO),
        ..Terms::default()
    });
    assert_eq!(done(late.next(&mut session)), Done::OutOfTime);
    let mut modest = Work::new(Terms {
        target: Some(1.0),
        ..Terms::default()
    });
    let trial = asked(modest.next(&mut session));
    modest.ended(&mut session, trial.id, value(1.0)).unwrap();

    assert_eq!(done(modest.next(&mut session)), Done::TargetMet);
}

/// What `work` does while another process computes a suggestion for half a second.
fn next_after_a_long_wait(work: &mut Work) -> (Done, Session) {
    let folder = tempfile::tempdir().unwrap();
    let place = Location::from(folder.path().join("a.db"));
    let mut session = session_at(&place);
    let (say, taken) = std::sync::mpsc::channel();
    let why = std::thread::scope(|threads| {
        threads.spawn(|| {
            let mut store = Store::open(&place).unwrap();
            let study = store.studies().unwrap()[0].id;
            let lease = Lease {
                worker: "w",
                now: 0,
                millis: 1_000,
            };
            let claim = Claim {
                lease,
                since: Revision::default(),
                max_trials: None,
            };
            let slow = |_: &Changes| {
                say.send(()).unwrap();
                sleep(Duration::from_millis(500));
                Err::<NewRecord, _>(Error::BadName {
                    name: String::new(),
                })
            };
            store.claim(study, &claim, slow).unwrap_err();
        });
        taken.recv().unwrap();
        done(work.next(&mut session))
    });
    (why, session)
}

#[test]
fn nothing_begins_that_was_asked_for_in_time_and_came_too_late() {
    let mut late = Work::new(Terms {
        time: Some(Duration::from_millis(200)),
        ..Terms::default()
    });

    let (why, session) = next_after_a_long_wait(&mut late);

    assert_eq!((why, late.n_held()), (Done::OutOfTime, 0));
    assert_eq!(session.running().unwrap(), []);
}

#[test]
fn nothing_begins_after_a_stop_that_came_during_a_long_wait() {
    let began = Instant::now();
    let wish = move || began.elapsed() > Duration::from_millis(200);
    let mut stopped = work(9).stopping_when(wish);

    let (why, session) = next_after_a_long_wait(&mut stopped);

    assert_eq!((why, stopped.n_held()), (Done::Stopped, 0));
    assert_eq!(session.running().unwrap(), []);
}

#[test]
fn nothing_begins_after_as_many_trials_without_a_better_one_as_the_patience_allows() {
    let mut session = session_over(9, &Location::Memory);
    let mut work = Work::new(Terms {
        patience: Some(2),
        ..Terms::default()
    });
    for cost in [3.0, 2.0, 5.0, 1.0, 1.0] {
        let trial = asked(work.next(&mut session));
        work.ended(&mut session, trial.id, value(cost)).unwrap();
    }
    // A failure is an evaluation, too.
    let trial = asked(work.next(&mut session));
    work.ended(&mut session, trial.id, failed()).unwrap();

    assert_eq!(done(work.next(&mut session)), Done::NoProgress { best: 3 });
}

#[test]
fn what_was_imported_uses_up_no_patience() {
    let mut session = session_over(9, &Location::Memory);
    let point = |x: i64| session.space().point([("x", Value::Int(x))]).unwrap();
    let results: Vec<(Point, Told)> = (1..=4)
        .map(|x| (point(x), Told::value(f64::from(u8::try_from(x).unwrap()))))
        .collect();
    session.add_all(&results).unwrap();
    let mut work = Work::new(Terms {
        patience: Some(1),
        ..Terms::default()
    });

    let trial = asked(work.next(&mut session));
    work.ended(&mut session, trial.id, value(7.0)).unwrap();

    assert_eq!(done(work.next(&mut session)), Done::NoProgress { best: 0 });
}

#[test]
fn what_stumbles_when_the_time_is_up_waits_for_another_run() {
    let mut session = session();
    let mut work = Work::new(Terms {
        retries: 2,
        time: Some(Duration::from_millis(500)),
        ..Terms::default()
    });
    let trial = asked(work.next(&mut session));
    sleep(Duration::from_millis(600));

    let ended = work.ended(&mut session, trial.id, stumbled()).unwrap();

    assert_eq!(ended, Ended::GivenBack);
}

#[test]
fn what_stumbles_is_tried_again_and_fails_after_the_last_time() {
    let mut session = session();
    let mut work = Work::new(Terms {
        retries: 2,
        ..Terms::default()
    });
    let trial = asked(work.next(&mut session));

    let ends: Vec<Ended> = (0..3)
        .map(|_| work.ended(&mut session, trial.id, stumbled()).unwrap())
        .collect();

    assert_eq!(ends, [Ended::Again, Ended::Again, Ended::Told]);
    let outcome = session.trials()[0].outcome().unwrap().to_string();
    assert_eq!(outcome, "failed: exit code 1");
}

#[test]
fn what_stumbles_after_a_stop_waits_for_another_worker() {
    let mut session = session();
    let mut work = Work::new(Terms {
        retries: 2,
        ..Terms::default()
    });
    let trial = asked(work.next(&mut session));
    work.stop();

    let ended = work.ended(&mut session, trial.id, stumbled()).unwrap();

    assert_eq!(ended, Ended::GivenBack);
    assert_eq!(session.record(0).unwrap().state, RecordState::Waiting);
}

#[test]
fn work_without_any_value_is_given_up() {
    let mut session = session();
    let mut work = Work::new(Terms {
        max_failures: Some(2),
        ..Terms::default()
    });
    for _ in 0..2 {
        let trial = asked(work.next(&mut session));
        work.ended(&mut session, trial.id, failed()).unwrap();
    }

    assert_eq!(done(work.next(&mut session)), Done::Hopeless);
}

#[test]
fn one_value_is_hope_enough() {
    let mut session = session();
    let mut work = Work::new(Terms {
        max_failures: Some(1),
        ..Terms::default()
    });
    for ending in [value(1.0), failed()] {
        let trial = asked(work.next(&mut session));
        work.ended(&mut session, trial.id, ending).unwrap();
    }

    assert_eq!(asked(work.next(&mut session)).id, 2);
}

#[test]
fn who_tells_first_is_heard_and_the_other_one_is_told_so() {
    let (mut session, mut work) = (session(), work(9));
    let trial = asked(work.next(&mut session));
    session.tell(trial.id, 7.0).unwrap();

    let ended = work.ended(&mut session, trial.id, value(1.0)).unwrap();

    assert_eq!(ended, Ended::TakenOver);
    assert_eq!(work.unstored(None), Vec::<String>::new());
}

#[test]
fn a_release_gives_back_all_that_is_held() {
    let (mut session, mut work) = (session(), work(9));
    for _ in 0..2 {
        asked(work.next(&mut session));
    }

    work.release(&mut session);

    assert_eq!(work.n_held(), 0);
    assert!(session.running().unwrap().is_empty());
}

#[test]
fn trials_of_others_are_waited_for_and_taken_over_when_their_leases_end() {
    let folder = tempfile::tempdir().unwrap();
    let place = Location::from(folder.path().join("a.db"));
    let (mut other, mut session) = (session_at(&place), session_at(&place));
    other.ask(None, Duration::from_millis(300)).unwrap();
    let mut work = work(1);

    let Next::Wait { until, news } = work.next(&mut session).unwrap() else {
        panic!("expected to wait")
    };
    sleep(until.saturating_duration_since(Instant::now()));
    assert_eq!(news, None);
    sleep(Duration::from_millis(300));

    let trial = asked(work.next(&mut session));
    assert_eq!((trial.id, trial.attempts), (0, 2));
}

#[test]
fn trials_that_others_keep_for_long_are_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let place = Location::from(folder.path().join("a.db"));
    let (mut other, mut session) = (session_at(&place), session_at(&place));
    other.ask(None, Duration::from_secs(24 * 3600)).unwrap();

    assert_eq!(done(work(1).next(&mut session)), Done::Enough);
}

#[test]
fn what_could_not_be_stored_is_named_and_what_was_stored_is_missed_when_it_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let place = Location::from(path.clone());
    let (mut session, mut work) = (session_at(&place), work(9));
    for number in [0.25, 0.5] {
        let trial = asked(work.next(&mut session));
        work.ended(&mut session, trial.id, value(number)).unwrap();
    }
    assert_eq!(work.missing_in(&place, "a study"), Vec::<String>::new());
    let trial = asked(work.next(&mut session));
    std::fs::write(&path, "").unwrap();

    let refused = work.ended(&mut session, trial.id, value(0.75));

    assert!(refused.is_err());
    assert_eq!(work.unstored(Some(&session)), ["trial 2: value 0.75"]);
    std::fs::remove_file(folder.path().join("a.db-wal")).ok();
    assert_eq!(
        work.missing_in(&place, "a study"),
        ["trial 0: value 0.25", "trial 1: value 0.5"]
    );
}

#[test]
fn a_trial_whose_tell_is_interrupted_stays_held_and_its_outcome_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let place = Location::from(folder.path().join("a.db"));
    let (mut session, mut work) = (session_at(&place), work(9));
    let trial = asked(work.next(&mut session));
    let interrupt = mivabo::interrupt::Interrupt::default();
    interrupt.request();

    let ended = interrupt.run(|| work.ended(&mut session, trial.id, value(0.5)));

    assert!(ended.is_none());
    assert_eq!(work.n_held(), 1);
    assert_eq!(work.unstored(Some(&session)), ["trial 0: value 0.5"]);
    work.release(&mut session);
    assert_eq!(session.record(0).unwrap().state, RecordState::Waiting);
}

#[test]
fn nothing_begins_once_the_study_is_not_the_one_that_is_evaluated() {
    let folder = tempfile::tempdir().unwrap();
    let place = Location::from(folder.path().join("a.db"));
    let (mut session, mut other) = (session_at(&place), session_at(&place));
    let known = session.definition().to_owned();
    let mut work = Work::new(Terms {
        trials: Some(9),
        definition: Some(known.clone()),
        ..Terms::default()
    });
    let running = asked(work.next(&mut session));
    let mut revised = Definition::from_json(&known).unwrap();
    revised.seed = 1;
    other.revise(&revised).unwrap();

    assert_eq!(done(work.next(&mut session)), Done::Revised);
    let ended = work.ended(&mut session, running.id, value(0.5)).unwrap();

    assert_eq!(ended, Ended::Told);
    // The trial that was claimed to find that out waits for those who know better.
    let waiting = session.record(1).unwrap();
    assert_eq!((waiting.state, waiting.attempts), (RecordState::Waiting, 0));
}
