//! Many processes on one file, some of which are killed at any moment.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio, id};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mivabo::measure::{Outcome, VALUE};
use mivabo_store::{
    Changes, Claim, Error, Lease, NewRecord, Object, Revision, Sqlite, Store, StudyId, Tell,
};

const KILLS: u64 = 100;
const WORKERS: usize = 4;

/// A process that works until it is killed or `limit` trials exist, and a thread that hears of its tells.
struct Worker {
    child: Child,
    heard: JoinHandle<Vec<(u64, f64)>>,
}

impl Worker {
    fn start(path: &Path, limit: Option<u64>) -> Worker {
        Worker::of(again("work"), path, limit)
    }

    /// One in whose process the file is opened and closed all the time, by others and by itself.
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    fn with_another_library(path: &Path, limit: u64) -> Worker {
        let mut command = again("work");
        command.env("ANOTHER_LIBRARY", "1");
        Worker::of(command, path, Some(limit))
    }

    fn of(mut command: Command, path: &Path, limit: Option<u64>) -> Worker {
        let mut child = command
            .env("STORE", path)
            .env(
                "LIMIT",
                limit.map_or(String::new(), |limit| limit.to_string()),
            )
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let heard = thread::spawn(move || lines.filter_map(|line| told(&line.unwrap())).collect());
        Worker { child, heard }
    }

    /// What it told, after it has finished.
    fn end(mut self) -> Vec<(u64, f64)> {
        assert!(
            self.child.wait().unwrap().success(),
            "a worker failed; see above"
        );
        self.heard.join().unwrap()
    }

    /// What it was told that it told, until it is killed.
    fn kill(mut self) -> Vec<(u64, f64)> {
        assert!(
            self.child.try_wait().unwrap().is_none(),
            "a worker failed; see above"
        );
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.heard.join().unwrap()
    }
}

/// This program once more, to run one of its ignored tests.
fn again(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture"]);
    command
}

/// A whole line says which trial was told which value, by its bits.
fn told(line: &str) -> Option<(u64, f64)> {
    let (id, bits) = line
        .strip_prefix("told ")?
        .strip_suffix('.')?
        .split_once(' ')?;
    Some((id.parse().unwrap(), f64::from_bits(bits.parse().unwrap())))
}

fn now() -> i64 {
    i64::try_from(
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_millis(),
    )
    .unwrap()
}

/// The number of the next trial, if it is computed from all changes: each one must see every other.
fn next(known: &mut BTreeMap<u64, Object>, changes: &Changes) -> NewRecord {
    known.extend(
        changes
            .trials
            .iter()
            .map(|trial| (trial.id, trial.params.clone())),
    );
    point(known.len() as u64)
}

#[test]
#[ignore = "the other half of the tests below"]
fn work() {
    let open = || Store::new(Sqlite::open(std::env::var_os("STORE").unwrap()).unwrap());
    let is_disturbed = std::env::var_os("ANOTHER_LIBRARY").is_some();
    if is_disturbed {
        thread::spawn(open_and_close);
    }
    let mut store = open();
    let max_trials = std::env::var("LIMIT").unwrap().parse().ok();
    let study = store.create("a", "b").unwrap();
    let worker = id().to_string();
    let mut known = BTreeMap::new();
    let mut since = Revision::default();
    println!();
    for count in 1.. {
        store.release_expired(study, now(), u32::MAX).unwrap();
        let lease = Lease {
            worker: &worker,
            now: now(),
            millis: 200,
        };
        let claimed = store
            .claim(
                study,
                &Claim {
                    lease,
                    since,
                    max_trials,
                },
                |changes| {
                    since = changes.revision;
                    Ok::<_, Error>(next(&mut known, changes))
                },
            )
            .unwrap();
        let Some(trial) = claimed else {
            if all_told(&store, study) {
                break;
            }
            sleep(Duration::from_millis(20));
            continue;
        };
        let value = f64::from(id()) + f64::from(count) / 65_536.0;
        let tell = Tell {
            worker: Some(&worker),
            now: now(),
            ..Tell::new(Outcome::of(VALUE, value))
        };
        match store.tell(study, trial.id, &tell) {
            Ok(_) => println!("told {} {}.", trial.id, value.to_bits()),
            // On a busy machine the lease may have ended, and another was first.
            Err(Error::AlreadyTold { .. }) => {}
            Err(error) => panic!("{error}"),
        }
        std::io::stdout().flush().unwrap();
        if is_disturbed && count % 4 == 0 {
            drop(store);
            store = open();
        }
    }
}

/// What a second SQLite library in this process does to the locks of the first: to close a file ends all of them.
fn open_and_close() {
    let path = std::env::var("STORE").unwrap();
    loop {
        for file in [format!("{path}-shm"), path.clone()] {
            drop(File::open(file));
        }
        sleep(Duration::from_micros(300));
    }
}

fn all_told(store: &Store, study: StudyId) -> bool {
    store
        .changes(study, Revision::default())
        .unwrap()
        .trials
        .iter()
        .all(|trial| trial.told.is_some())
}

/// Everything that was acknowledged is there, once, and the numbers have no gaps.
fn check(path: &Path, acknowledged: &[(u64, f64)]) {
    let connection = rusqlite::Connection::open(path).unwrap();
    let said: String = connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(said, "ok");
    let store = Store::new(Sqlite::open(path).unwrap());
    let study = store.studies().unwrap()[0].id;
    let mut trials = store.changes(study, Revision::default()).unwrap().trials;
    trials.sort_by_key(|trial| trial.id);
    for (number, trial) in trials.iter().enumerate() {
        assert_eq!(trial.id, number as u64);
        assert_eq!(
            trial.params.as_str(),
            format!(r#"{{"x": {number}}}"#),
            "a claim missed another"
        );
    }
    let mut places: Vec<u64> = trials.iter().filter_map(|trial| trial.told).collect();
    places.sort_unstable();
    assert_eq!(places, (0..places.len() as u64).collect::<Vec<_>>());
    let mut seen = BTreeMap::new();
    for (id, value) in acknowledged {
        assert_eq!(seen.insert(id, value), None, "trial {id} was told twice");
        assert_eq!(
            trials[usize::try_from(*id).unwrap()]
                .outcome()
                .and_then(|outcome| outcome.measured().get(VALUE)),
            Some(*value),
            "trial {id}"
        );
    }
}

#[test]
fn no_told_result_is_lost_when_workers_are_killed() {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("a.db");
    let mut acknowledged = Vec::new();
    let mut workers: Vec<Worker> = (0..WORKERS).map(|_| Worker::start(&path, None)).collect();

    for kill in 0..KILLS {
        // Some are killed while they open the file, some while they claim or tell.
        sleep(Duration::from_millis(kill * 7919 % 61));
        let victim = workers.remove(usize::try_from(kill * 31 % 4).unwrap());
        acknowledged.extend(victim.kill());
        workers.push(Worker::start(&path, None));
    }
    for worker in workers {
        acknowledged.extend(worker.kill());
    }
    check(&path, &acknowledged);

    let n_trials = acknowledged.len() as u64 + 100;
    let workers: Vec<Worker> = (0..WORKERS)
        .map(|_| Worker::start(&path, Some(n_trials)))
        .collect();
    for worker in workers {
        acknowledged.extend(worker.end());
    }
    check(&path, &acknowledged);
    let store = Store::new(Sqlite::open(&path).unwrap());
    assert!(all_told(&store, store.studies().unwrap()[0].id));
    assert!(acknowledged.len() > 200, "{} tells", acknowledged.len());
}

#[test]
fn processes_that_make_one_file_together_share_it() {
    for _ in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let workers: Vec<Worker> = (0..8).map(|_| Worker::start(&path, Some(20))).collect();

        let acknowledged: Vec<(u64, f64)> = workers.into_iter().flat_map(Worker::end).collect();

        assert_eq!(acknowledged.len(), 20);
        check(&path, &acknowledged);
    }
}

#[test]
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn writers_take_turns_where_another_library_ends_the_locks_of_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let workers: Vec<Worker> = (0..3)
        .map(|_| Worker::with_another_library(&path, 400))
        .collect();

    let acknowledged: Vec<(u64, f64)> = workers.into_iter().flat_map(Worker::end).collect();

    assert_eq!(acknowledged.len(), 400);
    check(&path, &acknowledged);
}

/// A process that computes a suggestion for ever, once it says so.
#[test]
#[ignore = "the other half of the test below"]
fn suggest_for_ever() {
    let mut store = Store::new(Sqlite::open(std::env::var_os("STORE").unwrap()).unwrap());
    let study = store.create("a", "b").unwrap();
    let claim = claim_of("for ever");
    store
        .claim(study, &claim, |_| -> Result<NewRecord, Error> {
            println!("\ncomputing");
            std::io::stdout().flush().unwrap();
            loop {
                sleep(Duration::from_secs(1));
            }
        })
        .unwrap();
}

fn claim_of(worker: &str) -> Claim<'_> {
    Claim {
        lease: Lease {
            worker,
            now: now(),
            millis: 60_000,
        },
        since: Revision::default(),
        max_trials: None,
    }
}

#[test]
fn others_go_on_while_a_process_computes_and_one_that_dies_loses_its_turn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let mut store = Store::new(Sqlite::open(&path).unwrap());
    let study = store.create("a", "b").unwrap();
    for x in 0..2 {
        let suggest = |_: &Changes| Ok::<_, Error>(point(x));
        store.claim(study, &claim_of("w"), suggest).unwrap();
    }
    let mut child = again("suggest_for_ever")
        .env("STORE", &path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "computing"));

    let tell = Tell::new(Outcome::of(VALUE, 1.0));
    store.tell(study, 0, &tell).unwrap();
    store.heartbeat(study, 1, &claim_of("w").lease).unwrap();
    store.enqueue(study, point(2), now()).unwrap();
    let suggest = |_: &Changes| -> Result<NewRecord, Error> { unreachable!("a trial waits") };
    let waiting = store.claim(study, &claim_of("w"), suggest).unwrap();
    assert_eq!(waiting.map(|trial| trial.id), Some(2));

    child.kill().unwrap();
    child.wait().unwrap();
    let began = Instant::now();
    let next = store.claim(study, &claim_of("w"), |_| Ok::<_, Error>(point(3)));
    assert_eq!(next.unwrap().map(|trial| trial.id), Some(3));
    assert!(began.elapsed() < Duration::from_secs(30));
}

fn point(x: u64) -> NewRecord {
    Object::new(format!(r#"{{"x": {x}}}"#)).unwrap().into()
}
