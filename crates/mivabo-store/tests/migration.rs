//! A database made by a program of version 1 of the tables keeps everything, and its study goes on.
//!
//! `old/version-1.sqlite` was written by such a program: asks, tells of every kind, an import, a trial in the queue.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use mivabo::measure::{Outcome, VALUE};
use mivabo::study::State;
use mivabo_store::{Session, Sqlite, Store};
use tempfile::TempDir;

const NAME: &str = "old net";

fn old_file() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/old/version-1.sqlite");
    std::fs::copy(old, &path).unwrap();
    (folder, path)
}

/// What the tells of the old program were, by trial; none where there was none.
fn told() -> Vec<Option<(Option<f64>, Option<&'static str>)>> {
    let value = |x| Some((Some(x), None));
    let failed = |why| Some((None, Some(why)));
    vec![
        value(0.1),
        value(-0.0),
        failed("out of memory"),
        value(0.300_000_000_000_000_04),
        value(5e-324),
        value(f64::MAX),
        failed("diverged"),
        None,
        None,
        value(0.5),
        value(0.25),
        None,
        None,
        None,
    ]
}

fn assert_kept(session: &Session) {
    assert_eq!(session.trials().len(), told().len());
    for (trial, told) in session.trials().iter().zip(told()) {
        let found = trial.outcome().map(|outcome| {
            let reason = match outcome {
                Outcome::Failed { reason, .. } => Some(reason.as_str()),
                _ => None,
            };
            (outcome.measured().get(VALUE).map(f64::to_bits), reason)
        });
        let told = told.map(|(value, reason)| (value.map(f64::to_bits), reason));
        assert_eq!(found, told, "trial {}", trial.id);
    }
}

#[test]
fn every_value_is_kept_to_the_bit_and_the_study_goes_on() {
    let (_folder, path) = old_file();

    let mut session = Session::load(Store::new(Sqlite::open(&path).unwrap()), NAME).unwrap();

    assert_kept(&session);
    let queued = session.ask(None, Duration::from_mins(1)).unwrap().unwrap();
    assert_eq!((queued.id, queued.origin.as_str()), (13, "queue"));
    let asked = session.ask(None, Duration::from_mins(1)).unwrap().unwrap();
    session.tell(asked.id, 0.75).unwrap();
    drop(session);
    let again = Session::load(Store::new(Sqlite::open(&path).unwrap()), NAME).unwrap();
    assert_eq!(
        again.trials()[14].outcome(),
        Some(&Outcome::of(VALUE, 0.75))
    );
}

#[test]
fn numbers_of_a_result_are_measured_and_the_result_stays_as_it_was_written() {
    let (_folder, path) = old_file();

    let session = Session::load(Store::new(Sqlite::open(&path).unwrap()), NAME).unwrap();

    let records = session.records().unwrap();
    let measured = |id: usize, name: &str| records[id].outcome().unwrap().measured().get(name);
    assert_eq!(measured(3, "accuracy"), Some(0.1));
    assert_eq!(measured(3, "epochs"), Some(12.0));
    assert_eq!(measured(3, "huge"), None);
    assert_eq!(
        measured(4, "size").map(f64::to_bits),
        Some((-0.0_f64).to_bits())
    );
    assert_eq!(measured(6, "epochs"), Some(3.0));
    assert_eq!(measured(9, "accuracy"), Some(0.75));
    let note = records[3].note.as_str();
    assert!(
        note.contains(r#""huge": 1e400"#) && note.contains("gpu:0"),
        "{note}"
    );
}

#[test]
fn states_workers_and_times_are_kept() {
    let (_folder, path) = old_file();

    let session = Session::load(Store::new(Sqlite::open(&path).unwrap()), NAME).unwrap();

    let records = session.records().unwrap();
    assert_eq!(session.trials()[7].state, State::Running);
    assert_eq!(session.trials()[13].state, State::Waiting);
    assert_eq!(records[0].worker.as_deref(), Some("vm:32632"));
    assert_eq!(records[7].worker.as_deref(), Some("vm:32631"));
    assert_eq!(records[0].created, 1_795_067_992_066);
    assert_eq!(records[2].finished, Some(1_795_067_992_085));
    assert_eq!(records[13].attempts, 0);
    let places: Vec<Option<u64>> = records.iter().map(|record| record.told).collect();
    let expected = [0, 1, 2, 3, 4, 5, 6].map(Some);
    assert_eq!(&places[..7], expected);
}

#[test]
fn looking_at_an_old_file_leaves_it_as_it_was() {
    let (_folder, path) = old_file();
    let before = std::fs::read(&path).unwrap();

    let store = Store::new(Sqlite::open_read_only(&path).unwrap());
    assert_kept(&Session::load(store, NAME).unwrap());

    assert_eq!(std::fs::read(&path).unwrap(), before);
}
