//! How fast a SQLite file is: trials per second, alone and together; opening and reading a large one.
//!
//! ```sh
//! cargo bench -p mivabo-store
//! ```
//!
//! Processes that share a file cannot be timed by calls in a loop, so this prints its own table.

#![allow(clippy::unwrap_used, reason = "a benchmark that fails may stop")]

use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use mivabo::measure::{Outcome, VALUE};
use mivabo_store::{
    Claim, Error, Lease, NewRecord, Object, Revision, Sqlite, Store, StudyId, Tell,
};
use rusqlite::Connection;

const LARGE: u32 = 100_000;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, mode, path, limit, think] = arguments.as_slice()
        && mode == "work"
    {
        work(
            Path::new(path),
            limit.parse().unwrap(),
            think.parse().unwrap(),
        );
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for mode in ["FULL", "NORMAL"] {
        println!(
            "commits of one row, synchronous = {mode}: {:.0} / s",
            commits(folder.path(), mode)
        );
    }
    println!(
        "trials claimed and told, 1 process: {:.0} / s",
        together(&folder.path().join("1"), 1, 2_000, 0)
    );
    println!(
        "trials claimed and told, 8 processes: {:.0} / s",
        together(&folder.path().join("8"), 8, 4_000, 0)
    );
    println!("8 processes that think 50 ms while they claim:");
    together(&folder.path().join("think"), 8, 200, 50);
    large(&folder.path().join("large"));
}

fn params(x: u64) -> NewRecord {
    let text = format!(
        r#"{{"lr":0.00{x},"kernel":{x},"stride":2,"optimizer":"adam","hidden":128,"momentum":0.9}}"#
    );
    Object::new(text).unwrap().into()
}

/// What SQLite can do at best.
fn commits(folder: &Path, mode: &str) -> f64 {
    const N: u32 = 2_000;
    let connection = Connection::open(folder.join(mode)).unwrap();
    let setup =
        format!("PRAGMA journal_mode = WAL; PRAGMA synchronous = {mode}; CREATE TABLE a (x);");
    connection.execute_batch(&setup).unwrap();
    let start = Instant::now();
    for _ in 0..N {
        connection
            .execute("INSERT INTO a VALUES ('what a trial might hold')", [])
            .unwrap();
    }
    f64::from(N) / start.elapsed().as_secs_f64()
}

/// Trials per second of some processes together.
fn together(path: &Path, n_processes: usize, n_trials: u32, think: u64) -> f64 {
    Sqlite::open(path).unwrap();
    let program = std::env::current_exe().unwrap();
    let start = Instant::now();
    let spawn = |_| {
        let mut command = Command::new(&program);
        command
            .arg("work")
            .arg(path)
            .args([n_trials.to_string(), think.to_string()])
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = (0..n_processes).map(spawn).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    f64::from(n_trials) / start.elapsed().as_secs_f64()
}

/// Claims and tells until there are enough trials.
fn work(path: &Path, limit: u64, think: u64) {
    let mut store = Store::new(Sqlite::open(path).unwrap());
    let study = store.create("a", "b").unwrap();
    let (mut n_told, mut claim_wait, mut tell_wait) = (0, Duration::ZERO, Duration::ZERO);
    let mut since = Revision::default();
    loop {
        let start = Instant::now();
        let Some(id) = step(&mut store, study, (&mut since, limit), think) else {
            break;
        };
        claim_wait = claim_wait.max(start.elapsed());
        let start = Instant::now();
        store
            .tell(study, id, &Tell::new(Outcome::of(VALUE, 1.0)))
            .unwrap();
        tell_wait = tell_wait.max(start.elapsed());
        n_told += 1;
    }
    if think > 0 {
        println!("  {n_told} trials, longest claim {claim_wait:.0?}, longest tell {tell_wait:.0?}");
    }
}

fn step(
    store: &mut Store,
    study: StudyId,
    (since, limit): (&mut Revision, u64),
    think: u64,
) -> Option<u64> {
    let lease = Lease {
        worker: "w",
        now: 0,
        millis: 1_000,
    };
    let claim = Claim {
        lease,
        since: *since,
        max_trials: Some(limit),
    };
    let suggest = |changes: &mivabo_store::Changes| {
        *since = changes.revision;
        sleep(Duration::from_millis(think));
        Ok::<_, Error>(params(changes.trials.len() as u64))
    };
    Some(store.claim(study, &claim, suggest).unwrap()?.id)
}

/// A file with many told trials.
fn large(path: &Path) {
    let mut store = Store::new(Sqlite::open(path).unwrap());
    let study = store.create("a", "b").unwrap();
    let told = (0..LARGE).map(|i| {
        let note = Object::new(r#"{"seconds":1.5}"#).unwrap();
        let tell = Tell {
            worker: Some("host:12345"),
            now: 1_700_000_000_000,
            note,
            ..Tell::new(Outcome::of(VALUE, f64::from(i) * 0.1))
        };
        (params(5), tell)
    });
    store.add_all(study, told.collect()).unwrap();
    drop(store);

    println!(
        "a file of {LARGE} told trials: {:.1} MB",
        std::fs::metadata(path).unwrap().len() as f64 / 1e6
    );
    let start = Instant::now();
    store = Store::new(Sqlite::open(path).unwrap());
    println!("  opened and checked in {:.0?}", start.elapsed());
    let start = Instant::now();
    Sqlite::open_read_only(path).unwrap();
    println!(
        "  copied, opened and checked to look at in {:.0?}",
        start.elapsed()
    );
    let start = Instant::now();
    let changes = store.changes(study, Revision::default()).unwrap();
    println!(
        "  {} trials read in {:.0?}",
        changes.trials.len(),
        start.elapsed()
    );
    let start = Instant::now();
    assert!(
        store
            .changes(study, changes.revision)
            .unwrap()
            .trials
            .is_empty()
    );
    println!("  no changes found in {:.0?}", start.elapsed());
    let start = Instant::now();
    let mut since = changes.revision;
    for _ in 0..1_000 {
        let id = step(&mut store, study, (&mut since, u64::MAX), 0).unwrap();
        store
            .tell(study, id, &Tell::new(Outcome::of(VALUE, 1.0)))
            .unwrap();
    }
    println!(
        "  trials claimed and told: {:.0} / s",
        1_000.0 / start.elapsed().as_secs_f64()
    );
}
