//! Whoever waits for a turn gets it before those who had one and come back at once, but for a few brief turns.

#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

use mivabo::measure::Outcome;
use mivabo_store::{Changes, Claim, Lease, Object, Revision, Sqlite, Store, StudyId, Tell};

const ROUNDS: usize = 21;

fn store(path: &Path) -> (Store, StudyId) {
    let mut store = Store::new(Sqlite::open(path).unwrap());
    let study = store.create("a", "b").unwrap();
    (store, study)
}

/// Some milliseconds of writing.
fn add(store: &mut Store, study: StudyId) {
    let told = (0..100).map(|_| (Object::default().into(), Tell::new(Outcome::failed("x"))));
    store.add_all(study, told.collect()).unwrap();
}

/// A trial whose suggestion takes a while, in which nobody else gets to look at the line.
fn claim(store: &mut Store, study: StudyId) {
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
    let suggest = |changes: &Changes| {
        sleep(Duration::from_millis(10));
        Object::new(format!(r#"{{"x": {}}}"#, changes.trials.len())).map(Into::into)
    };
    store.claim(study, &claim, suggest).unwrap().unwrap();
}

/// How many turns somebody who comes back at once has while this one waits for one: the mean of several rounds, as nobody knows when a
/// thread runs.
fn turns_of_another(act: fn(&mut Store, StudyId)) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let (mut own, study) = store(&path);
    let (is_over, n_turns) = (AtomicBool::new(false), AtomicU64::new(0));
    let found = thread::scope(|threads| {
        threads.spawn(|| {
            let (mut other, study) = store(&path);
            while !is_over.load(Ordering::SeqCst) {
                act(&mut other, study);
                n_turns.fetch_add(1, Ordering::SeqCst);
            }
        });
        while n_turns.load(Ordering::SeqCst) == 0 {
            sleep(Duration::from_millis(1));
        }
        let mut wait = || {
            let before = n_turns.load(Ordering::SeqCst);
            act(&mut own, study);
            n_turns.load(Ordering::SeqCst) - before
        };
        let found: Vec<u64> = (0..ROUNDS).map(|_| wait()).collect();
        is_over.store(true, Ordering::SeqCst);
        found
    });
    found.iter().sum::<u64>() / ROUNDS as u64
}

#[test]
fn who_waits_to_write_goes_before_one_who_comes_back() {
    let n = turns_of_another(add);

    assert!(n <= 4, "{n}");
}

#[test]
fn who_waits_for_a_suggestion_goes_before_one_who_comes_back() {
    let n = turns_of_another(claim);

    assert!(n <= 4, "{n}");
}
