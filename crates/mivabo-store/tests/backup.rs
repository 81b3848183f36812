//! Backups: whole databases, made at any moment of a run.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mivabo::measure::{Outcome, VALUE};
use mivabo_store::{Error, Location, Object, Revision, Sqlite, Store, Tell};
use tempfile::TempDir;

const BACKUPS: usize = 20;

fn folder_with_names() -> (TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a.db", "b.db"].map(|name| folder.path().join(name));
    (folder, a, b)
}

fn add(store: &mut Store, value: f64) {
    let study = store.create("a", "b").unwrap();
    let tell = Tell::new(Outcome::of(VALUE, value));
    store.add(study, Object::default().into(), &tell).unwrap();
}

fn n_trials(path: &Path) -> usize {
    let store = Store::new(Sqlite::open_existing(path).unwrap());
    let study = store.studies().unwrap()[0].id;
    let changes = store.changes(study, Revision::default()).unwrap();
    changes.trials.len()
}

fn back_up(from: &Path, to: &Path, is_replaced: bool) -> Result<(), Error> {
    Store::back_up(&Location::from(from), to, is_replaced)
}

#[test]
fn a_backup_during_a_run_has_all_that_was_told_before_and_goes_on() {
    let (folder, a, b) = folder_with_names();
    let mut store = Store::new(Sqlite::open(&a).unwrap());
    add(&mut store, 0.5);
    let (is_over, n_told) = (AtomicBool::new(false), AtomicUsize::new(1));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                add(&mut store, 1.5);
                n_told.fetch_add(1, Ordering::SeqCst);
            }
        });
        for _ in 0..BACKUPS {
            let before = n_told.load(Ordering::SeqCst);
            back_up(&a, &b, true).unwrap();

            let found = n_trials(&b);
            assert!(found >= before, "{found} of {before}");
            add(&mut Store::new(Sqlite::open(&b).unwrap()), 2.5);
            assert_eq!(n_trials(&b), found + 1);
        }
        is_over.store(true, Ordering::SeqCst);
    });

    drop(store);
    let names: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn what_is_there_already_is_replaced_only_where_that_is_wanted() {
    let (_folder, a, b) = folder_with_names();
    add(&mut Store::new(Sqlite::open(&a).unwrap()), 0.5);
    fs::write(&b, "precious").unwrap();

    let refused = back_up(&a, &b, false).unwrap_err();

    assert_eq!(refused, Error::Taken { path: b.clone() });
    assert_eq!(fs::read(&b).unwrap(), b"precious");
    back_up(&a, &b, true).unwrap();
    assert_eq!(n_trials(&b), 1);
}

#[test]
fn a_database_is_never_replaced_by_itself_nor_one_that_is_in_use() {
    let (_folder, a, b) = folder_with_names();
    add(&mut Store::new(Sqlite::open(&a).unwrap()), 0.5);
    let mut used = Store::new(Sqlite::open(&b).unwrap());
    add(&mut used, 1.5);

    for (to, expected) in [
        (&a, "it is the database itself"),
        (&b, "b.db-wal` is beside it"),
    ] {
        let refused = back_up(&a, to, true).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    }

    add(&mut used, 2.5);
    drop(used);
    assert_eq!((n_trials(&a), n_trials(&b)), (1, 2));
}
