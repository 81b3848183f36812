//! Workers of one process while another process has the turn to suggest.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod program;

use std::thread::{scope, sleep};
use std::time::Duration;

use mivabo_store::{
    Changes, Claim, Error, Lease, NewRecord, Revision, Session, Sqlite, Store, StudyId,
};
use program::Folder;

const LONG: Duration = Duration::from_secs(3);

/// Trial 0 takes longer than the turn of somebody else, and trial 1 ends once somebody has that.
const OBJECTIVE: &str = "if [ $MIVABO_TRIAL = 0 ]; then sleep 6; fi\n\
                         while [ ! -e taken ]; do sleep 0.05; done; echo 1";

fn store(folder: &Folder) -> (Store, StudyId) {
    let store = Store::new(Sqlite::open(folder.path("study.db")).unwrap());
    let study = store.studies().unwrap()[0].id;
    (store, study)
}

/// How many trials run, once there is a study.
fn n_running(folder: &Folder) -> Option<usize> {
    let store = Store::new(Sqlite::open_read_only(folder.path("study.db")).ok()?);
    let study = store.studies().ok()?.first()?.id;
    Some(store.running(study).ok()?.len())
}

/// Has the turn for long, and makes nothing of it.
fn take_turn(folder: &Folder) {
    let (mut store, study) = store(folder);
    let lease = Lease {
        worker: "another",
        now: 0,
        millis: 1_000,
    };
    let claim = Claim {
        lease,
        since: Revision::default(),
        max_trials: None,
    };
    let slow = |_: &Changes| {
        folder.write("taken", "");
        sleep(LONG);
        let name = String::new();
        Err::<NewRecord, _>(Error::BadName { name })
    };
    store.claim(study, &claim, slow).unwrap_err();
}

#[test]
fn a_worker_that_waits_for_its_turn_keeps_no_other_from_giving_signs_of_life() {
    let folder = Folder::script(OBJECTIVE, "", "trials = 3\nworkers = 2\nlease = '1s'");
    let mut run = folder.start(&["run", "study.toml"]);
    while n_running(&folder) != Some(2) {
        sleep(Duration::from_millis(20));
    }
    let (other, _) = store(&folder);
    let name = other.studies().unwrap()[0].name.clone();
    let mut other = Session::load(other, &name).unwrap();

    let n_lost = scope(|threads| {
        threads.spawn(|| take_turn(&folder));
        sleep(LONG * 5 / 6);
        other.release_expired(9).unwrap()
    });

    assert_eq!(n_lost, 0);
    assert!(run.wait().unwrap().success());
}
