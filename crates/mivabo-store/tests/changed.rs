//! Bytes that change on disk without a word: each answer is the one that was written, or an error that names the place.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::fs;
use std::path::{Path, PathBuf};

use mivabo::measure::{Outcome, VALUE};
use mivabo_store::{
    Changes, Claim, Error, Lease, NewRecord, Object, Record, Revision, Sqlite, Store, StudyEntry,
    Tell,
};
use tempfile::TempDir;

const PAGE: usize = 4096;
const FLIPS: u64 = 200;

fn object(text: String) -> Object {
    Object::new(text).unwrap()
}

/// Two studies with trials in every state, on some twenty pages.
fn filled() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let mut store = Store::new(Sqlite::open(&path).unwrap());
    for name in ["cnn", "other"] {
        let study = store
            .create(name, &format!("the definition of {name}"))
            .unwrap();
        for x in 0..60 {
            let tell = match x % 3 {
                0 => Tell::new(Outcome::failed(format!("reason {x}"))),
                _ => Tell::new(Outcome::of(VALUE, f64::from(x) / 7.0)),
            };
            let new = NewRecord {
                params: object(format!(r#"{{"x": {x}, "text": "{}"}}"#, "ab".repeat(60))),
                note: object(format!(r#"{{"origin": "{name}{x}"}}"#)),
            };
            store.add(study, new, &tell).unwrap();
        }
        for x in 60..64 {
            let new = object(format!(r#"{{"x": {x}}}"#)).into();
            store.enqueue(study, new, i64::from(x)).unwrap();
        }
        let lease = Lease {
            worker: "w",
            now: 5,
            millis: 7,
        };
        let claim = Claim {
            lease,
            since: Revision::default(),
            max_trials: None,
        };
        store
            .claim(study, &claim, |_| -> Result<_, Error> {
                unreachable!("some wait")
            })
            .unwrap();
    }
    (folder, path)
}

/// Everything that can be asked of a study, and the trial that would be made next.
#[derive(Debug, PartialEq)]
struct Answers {
    study: StudyEntry,
    definition: String,
    changes: Changes,
    one_by_one: Vec<Record>,
    running: Vec<Record>,
    next: Record,
}

fn answers(path: &Path) -> Result<Vec<Answers>, Error> {
    let mut store = Store::new(Sqlite::open(path)?);
    let studies = store.studies()?;
    studies
        .into_iter()
        .map(|study| answers_of(&mut store, study))
        .collect()
}

fn answers_of(store: &mut Store, study: StudyEntry) -> Result<Answers, Error> {
    let one_by_one: Result<_, Error> = (0..64).map(|trial| store.trial(study.id, trial)).collect();
    Ok(Answers {
        definition: store.definition(study.id)?,
        changes: store.changes(study.id, Revision::default())?,
        one_by_one: one_by_one?,
        running: store.running(study.id)?,
        next: store.enqueue(study.id, Object::default().into(), 9)?,
        study,
    })
}

/// A number below `n`, other at each call.
fn below(n: usize, state: &mut u64) -> usize {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*state >> 33).unwrap() % n
}

#[test]
fn a_byte_that_changes_on_disk_changes_no_answer_in_silence() {
    let (folder, path) = filled();
    let whole = fs::read(&path).unwrap();
    let expected = answers(&path).unwrap();
    let changed = folder.path().join("changed.db");
    let mut state = 1;
    let mut n_told = 0;
    for _ in 0..FLIPS {
        // The first page holds the schema, and no row.
        let at = PAGE + below(whole.len() - PAGE, &mut state);
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << below(8, &mut state);
        fs::remove_file(&changed).ok();
        fs::write(&changed, bytes).unwrap();

        match answers(&changed) {
            Ok(answers) => assert_eq!(answers, expected, "byte {at}"),
            Err(error) => {
                n_told += 1;
                let error = error.to_string();
                assert!(error.contains("changed.db"), "byte {at}: {error}");
            }
        }
    }
    assert!(n_told > FLIPS / 4, "{n_told}");
}

#[test]
fn a_trial_that_was_changed_is_named_and_the_others_are_read() {
    let (_folder, path) = filled();
    let mut bytes = fs::read(&path).unwrap();
    // In every place: a page that was split still has its former contents behind those that count.
    for at in 0..bytes.len() - 7 {
        if bytes[at..].starts_with(br#""cnn17""#) {
            bytes[at + 5] = b'8';
        }
    }
    fs::write(&path, bytes).unwrap();

    let store = Store::new(Sqlite::open(&path).unwrap());
    let study = store.studies().unwrap()[0].id;

    let error = store.trial(study, 17).unwrap_err().to_string();
    let expected = format!(
        "`{}` is damaged: trial 17 of study `cnn` was changed on disk after it was written",
        path.display()
    );
    assert_eq!(error.lines().next(), Some(expected.as_str()));
    assert_eq!(
        store
            .changes(study, Revision::default())
            .unwrap_err()
            .to_string(),
        error
    );
    assert!(store.trial(study, 16).is_ok());
}
