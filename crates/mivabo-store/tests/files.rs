//! Files that are not ours, damaged, or out of reach: a clear error, and not a byte changed.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use mivabo::measure::{Outcome, VALUE};
use mivabo_store::{Error, NewRecord, Object, Revision, Sqlite, Store, Tell};
use rusqlite::Connection;

/// All files of a folder.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

fn fill(store: &mut Store, n: u64) {
    let study = store.create("a", "b").unwrap();
    for x in 0..n {
        let params =
            Object::new(format!(r#"{{"x": {x}, "text": "{}"}}"#, "x".repeat(100))).unwrap();
        store
            .add(
                study,
                NewRecord::from(params),
                &Tell::new(Outcome::of(VALUE, x as f64)),
            )
            .unwrap();
    }
}

fn count(store: &Store) -> usize {
    let study = store.studies().unwrap()[0].id;
    store
        .changes(study, Revision::default())
        .unwrap()
        .trials
        .len()
}

/// Both ways to open the file are refused, and leave it and its log as they are.
fn refused(folder: &Path, path: &Path) -> Error {
    let before = contents(folder);
    let error = Sqlite::open(path).unwrap_err();
    assert!(
        contents(folder)
            .keys()
            .all(|name| before.contains_key(name)),
        "{error}"
    );
    assert_eq!(Sqlite::open_read_only(path).unwrap_err(), error);
    let after = contents(folder);
    for (name, bytes) in before {
        // An empty log and the memory of a log say nothing.
        let is_kept =
            bytes.is_empty() || name.to_string_lossy().ends_with("-shm") || after[&name] == bytes;
        assert!(is_kept, "{error}: {} changed", name.display());
    }
    assert!(
        error.to_string().contains(&path.display().to_string()),
        "{error}"
    );
    error
}

#[test]
fn a_text_is_not_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.toml");
    for text in [
        "x",
        "[parameters]\n",
        &"lorem ipsum ".repeat(1000),
        "SQLite format 3\0",
    ] {
        fs::write(&path, text).unwrap();
        assert_eq!(
            refused(folder.path(), &path),
            Error::NotADatabase { path: path.clone() }
        );
    }
}

#[test]
fn a_database_of_another_program_is_left_alone_even_with_a_log_that_its_writer_left() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    for (mode, id) in [("DELETE", 0), ("DELETE", 7), ("WAL", 0), ("WAL", 7)] {
        let written = elsewhere.path().join(format!("{mode}{id}.db"));
        let connection = Connection::open(&written).unwrap();
        connection
            .execute_batch(&format!(
                "PRAGMA journal_mode = {mode}; PRAGMA application_id = {id};
                 CREATE TABLE a (x); PRAGMA wal_checkpoint; INSERT INTO a VALUES (1);"
            ))
            .unwrap();
        // As the writer would leave it if it died here.
        for (from, bytes) in contents(elsewhere.path()) {
            fs::write(folder.path().join(from.file_name().unwrap()), bytes).unwrap();
        }
        let path = folder.path().join(written.file_name().unwrap());

        let error = refused(folder.path(), &path);

        assert_eq!(
            error,
            Error::Foreign {
                path,
                application_id: id
            }
        );
    }
}

#[test]
fn a_newer_version_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    fill(&mut Store::new(Sqlite::open(&path).unwrap()), 3);
    Connection::open(&path)
        .unwrap()
        .execute_batch("PRAGMA user_version = 99")
        .unwrap();

    assert_eq!(
        refused(folder.path(), &path),
        Error::Newer {
            path: path.clone(),
            found: 99,
            known: 4
        }
    );

    // The same while that version is only in the log of a writer that died.
    let elsewhere = tempfile::tempdir().unwrap();
    let written = elsewhere.path().join("b.db");
    fill(&mut Store::new(Sqlite::open(&written).unwrap()), 3);
    let connection = Connection::open(&written).unwrap();
    connection
        .execute_batch("PRAGMA user_version = 98")
        .unwrap();
    for ending in ["", "-wal"] {
        let from = written.with_file_name(format!("b.db{ending}"));
        fs::copy(from, folder.path().join(format!("b.db{ending}"))).unwrap();
    }
    let path = folder.path().join("b.db");
    let before = contents(folder.path());
    assert_eq!(
        Sqlite::open(&path).unwrap_err(),
        Error::Newer {
            path,
            found: 98,
            known: 4
        }
    );
    let after = contents(folder.path());
    assert!(before.iter().all(|(name, bytes)| after[name] == *bytes));
}

#[test]
fn damage_is_found_before_anything_is_written() {
    const PAGE: usize = 4096;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    fill(&mut Store::new(Sqlite::open(&path).unwrap()), 100);
    let whole = fs::read(&path).unwrap();
    let pages = whole.len() / PAGE;
    assert!(pages > 8);

    for page in 0..pages {
        let mut damaged = whole.clone();
        damaged[page * PAGE + 100 * usize::from(page == 0)..(page + 1) * PAGE].fill(0xa5);
        fs::write(&path, &damaged).unwrap();
        let error = refused(folder.path(), &path);
        assert!(
            matches!(error, Error::Corrupt { .. }),
            "page {page}: {error}"
        );

        fs::write(&path, &whole[..page * PAGE + 50]).unwrap();
        let error = refused(folder.path(), &path);
        let expected = matches!(error, Error::Corrupt { .. }) || page == 0;
        assert!(expected, "cut in page {page}: {error}");
    }

    fs::write(&path, &whole).unwrap();
    assert_eq!(count(&Store::new(Sqlite::open(&path).unwrap())), 100);
}

#[test]
fn what_a_row_may_not_hold_is_damage_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let mut store = Store::new(Sqlite::open(&path).unwrap());
    fill(&mut store, 1);
    let study = store.studies().unwrap()[0].id;
    store.enqueue(study, Object::default().into(), 0).unwrap();
    Connection::open(&path)
        .unwrap()
        .execute("UPDATE trial SET params = '[1]' WHERE id = 1", [])
        .unwrap();

    let error = store.trial(study, 1).unwrap_err();

    assert!(
        matches!(&error, Error::Corrupt { what, .. } if what.starts_with("trial 1 of study `a` was changed on disk")),
        "{error}"
    );
    assert!(store.trial(study, 0).is_ok());
}

#[test]
fn places_where_no_file_can_be_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no/such/a.db");
    let message = Sqlite::open(&missing).unwrap_err().to_string();
    assert!(message.ends_with(&format!(
        "there is no folder `{}`",
        folder.path().join("no/such").display()
    )));
    let message = Sqlite::open(folder.path()).unwrap_err().to_string();
    assert!(message.ends_with("it is a folder"), "{message}");
    let message = Sqlite::open_read_only(folder.path().join("a.db"))
        .unwrap_err()
        .to_string();
    assert!(message.ends_with("there is no such file"), "{message}");
    assert!(matches!(Sqlite::open(""), Err(Error::CannotOpen { .. })));
    let message = Sqlite::open("/dev/null").unwrap_err().to_string();
    assert!(message.ends_with("it is not a regular file"), "{message}");
    let long = folder
        .path()
        .join(["x".repeat(200), "y".repeat(200), "z".repeat(100)].join("/"));
    fs::create_dir_all(long.parent().unwrap()).unwrap();
    assert!(matches!(Sqlite::open(&long), Err(Error::CannotOpen { .. })));
    assert!(!long.exists());
    fs::remove_dir_all(folder.path().join("x".repeat(200))).unwrap();
    assert_eq!(contents(folder.path()).len(), 0);
    fs::write(folder.path().join("empty.db"), "").unwrap();
    let message = Sqlite::open_read_only(folder.path().join("empty.db"))
        .unwrap_err()
        .to_string();
    assert!(
        message.ends_with("it is empty: there is no study in it"),
        "{message}"
    );
}

#[test]
fn a_name_is_a_name_whatever_sqlite_thinks_of_it() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["file:a.db?mode=memory", "50% größer #1?.db", ":memory:"] {
        let path = folder.path().join(name);
        fill(&mut Store::new(Sqlite::open(&path).unwrap()), 2);
        fs::write(folder.path().join("bad"), fs::read(&path).unwrap()).unwrap();
        assert_eq!(
            count(&Store::new(Sqlite::open_read_only(&path).unwrap())),
            2,
            "{name}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_connection_whose_log_was_removed_is_refused_and_leaves_the_next_log_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    // Through a link: the log is beside the file that it leads to.
    fs::write(&path, "").unwrap();
    std::os::unix::fs::symlink(&path, folder.path().join("link.db")).unwrap();
    let mut lost = Store::new(Sqlite::open(folder.path().join("link.db")).unwrap());
    fill(&mut lost, 2);
    let study = lost.studies().unwrap()[0].id;
    // As a second SQLite library in this process does when it closes the file.
    Connection::open(&path)
        .unwrap()
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    for ending in ["a.db-wal", "a.db-shm"] {
        fs::remove_file(folder.path().join(ending)).unwrap();
    }

    let refused = lost
        .enqueue(study, Object::default().into(), 0)
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("its log was removed while it was open"),
        "{refused}"
    );
    assert!(
        lost.studies()
            .unwrap_err()
            .to_string()
            .contains("open it again")
    );
    // The locks of the lost connection do not count any more; those of another process would.
    let log = folder.path().join("a.db-wal");
    fs::write(&log, "of another process").unwrap();
    drop(lost);
    assert_eq!(fs::read(&log).unwrap(), b"of another process");
    fs::remove_file(&log).unwrap();
    assert_eq!(count(&Store::new(Sqlite::open(&path).unwrap())), 2);
}

#[cfg(target_os = "linux")]
#[test]
fn connections_that_come_and_go_leave_no_file_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let n_open = || {
        let links = fs::read_dir("/proc/self/fd")
            .unwrap()
            .filter_map(|fd| fs::read_link(fd.unwrap().path()).ok());
        links
            .filter(|target| target.starts_with(folder.path()))
            .count()
    };
    let stays = Sqlite::open(&path).unwrap();
    let come_and_go = || {
        drop((
            Sqlite::open(&path).unwrap(),
            Sqlite::open_read_only(&path).unwrap(),
        ));
    };
    come_and_go();
    let before = n_open();

    for _ in 0..20 {
        come_and_go();
    }

    assert_eq!(n_open(), before);
    drop(stays);
    // Nothing is closed while another test opens a file.
    let is_closed = (0..1_000).any(|_| {
        drop(Sqlite::open(folder.path().join("b.db")).unwrap());
        n_open() == 0
    });
    assert!(is_closed);
}

#[test]
fn a_connection_to_look_does_not_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let mut writer = Store::new(Sqlite::open(&path).unwrap());
    fill(&mut writer, 2);
    let mut reader = Store::new(Sqlite::open_read_only(&path).unwrap());
    let study = reader.create("a", "b").unwrap();

    assert_eq!(
        reader.create("c", "d").unwrap_err(),
        Error::ReadOnly {
            place: path.clone().into()
        }
    );
    assert_eq!(
        reader
            .enqueue(study, Object::default().into(), 0)
            .unwrap_err(),
        Error::ReadOnly { place: path.into() }
    );

    fill(&mut writer, 1);
    assert_eq!(count(&reader), 3);
}

/// A small disk in memory, which only a process in a namespace of its own sees.
#[cfg(target_os = "linux")]
mod full_disk {
    use std::process::Command;

    use super::*;

    /// Runs in a namespace where `folder` is a disk of one megabyte.
    fn with_disk(folder: &Path, command: &str) -> Command {
        let mut unshare = Command::new("unshare");
        let script = format!(r#"mount -t tmpfs -o size=1m none "$FOLDER" && {command}"#);
        unshare
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script])
            .env("FOLDER", folder);
        unshare
    }

    #[test]
    fn a_full_disk_loses_nothing_and_the_store_goes_on_after() {
        let folder = tempfile::tempdir().unwrap();
        if !with_disk(folder.path(), "true")
            .output()
            .is_ok_and(|done| done.status.success())
        {
            println!("skipped, no disk can be made here");
            return;
        }
        let program = std::env::current_exe().unwrap();
        let test = r#""$PROGRAM" --exact full_disk::filling_a_disk --ignored --nocapture"#;

        let done = with_disk(folder.path(), test)
            .env("PROGRAM", program)
            .output()
            .unwrap();

        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
    }

    #[test]
    #[ignore = "the other half of the test above"]
    fn filling_a_disk() {
        let folder = PathBuf::from(std::env::var_os("FOLDER").unwrap());
        let path = folder.join("a.db");
        fs::write(folder.join("ballast"), vec![0; 500_000]).unwrap();
        let mut store = Store::new(Sqlite::open(&path).unwrap());
        let study = store.create("a", "b").unwrap();
        let params = Object::new(format!(r#"{{"x": "{}"}}"#, "x".repeat(500))).unwrap();
        let tell = Tell::new(Outcome::of(VALUE, 1.0));
        let add = |store: &mut Store| store.add(study, params.clone().into(), &tell);

        let mut n_added = 0;
        let error = loop {
            match add(&mut store) {
                Ok(_) => n_added += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(
            error,
            Error::Full {
                place: path.clone().into()
            }
        );
        assert_eq!(count(&store), n_added);
        assert!(matches!(
            Sqlite::open(folder.join("b.db")),
            Err(Error::Full { .. })
        ));
        assert_eq!(
            count(&Store::new(Sqlite::open_read_only(&path).unwrap())),
            n_added
        );

        fs::remove_file(folder.join("ballast")).unwrap();
        add(&mut store).unwrap();
        drop(store);
        let mut store = Store::new(Sqlite::open(&path).unwrap());
        assert_eq!(count(&store), n_added + 1);
        assert!(n_added > 10 && add(&mut store).is_ok());
    }
}

/// What a user without any rights may do. As root, permissions mean nothing: then the test runs itself as nobody.
#[cfg(unix)]
mod permissions {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use super::*;

    const NOBODY: u32 = 65_534;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Runs the ignored test of this name where permissions count; false if that cannot be done here.
    fn run_bound(test: &str, folder: &Path) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", test, "--ignored", "--nocapture"])
            .env("FOLDER", folder)
            .current_dir("/");
        if fs::write(folder.join("probe"), "").is_ok() {
            fs::remove_file(folder.join("probe")).unwrap();
            command.uid(NOBODY).gid(NOBODY);
        }
        match command.output() {
            Ok(done) => assert!(
                done.status.success(),
                "{}",
                String::from_utf8_lossy(&done.stderr)
            ),
            Err(error) => println!("skipped, the test cannot run itself as nobody: {error}"),
        }
    }

    #[test]
    fn a_folder_without_the_right_to_write_can_be_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        fill(&mut Store::new(Sqlite::open(&path).unwrap()), 5);
        let mut live = Store::new(Sqlite::open(folder.path().join("live.db")).unwrap());
        fill(&mut live, 5);
        for path in contents(folder.path()).keys() {
            set_mode(path, 0o444);
        }
        set_mode(folder.path(), 0o555);

        run_bound("permissions::looking_without_rights", folder.path());

        set_mode(folder.path(), 0o755);
        assert_eq!(contents(folder.path()).len(), 4);
    }

    #[test]
    #[ignore = "the other half of the test above"]
    fn looking_without_rights() {
        let folder = PathBuf::from(std::env::var_os("FOLDER").unwrap());
        for name in ["a.db", "live.db"] {
            let path = folder.join(name);
            assert_eq!(
                count(&Store::new(Sqlite::open_read_only(&path).unwrap())),
                5,
                "{name}"
            );
            assert_eq!(
                Sqlite::open(&path).unwrap_err(),
                Error::ReadOnly { place: path.into() }
            );
        }
        assert!(matches!(
            Sqlite::open(folder.join("new.db")),
            Err(Error::CannotOpen { .. })
        ));
    }

    #[test]
    fn after_another_user_has_looked_the_owner_can_write() {
        let folder = tempfile::tempdir().unwrap();
        set_mode(folder.path(), 0o777);
        run_bound("permissions::filling_as_owner", folder.path());

        let path = folder.path().join("a.db");
        let n_found = count(&Store::new(Sqlite::open_read_only(&path).unwrap()));
        // The same where the owner was killed, and its log is still there.
        Sqlite::open_read_only(folder.path().join("killed.db")).unwrap();

        assert_eq!(n_found, 1);
        run_bound("permissions::filling_as_owner", folder.path());
        assert_eq!(
            count(&Store::new(Sqlite::open_read_only(&path).unwrap())),
            2
        );
    }

    #[test]
    #[ignore = "the other half of the test above"]
    fn filling_as_owner() {
        let folder = PathBuf::from(std::env::var_os("FOLDER").unwrap());
        fill(
            &mut Store::new(Sqlite::open(folder.join("a.db")).unwrap()),
            1,
        );
        let mut killed = Store::new(Sqlite::open(folder.join("killed.db")).unwrap());
        fill(&mut killed, 1);
        std::process::exit(0);
    }

    #[test]
    fn a_file_without_the_right_to_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        fill(&mut Store::new(Sqlite::open(&path).unwrap()), 5);
        set_mode(&path, 0o000);
        set_mode(folder.path(), 0o555);

        run_bound("permissions::opening_without_rights", folder.path());

        set_mode(folder.path(), 0o755);
    }

    #[test]
    #[ignore = "the other half of the test above"]
    fn opening_without_rights() {
        let path = PathBuf::from(std::env::var_os("FOLDER").unwrap()).join("a.db");
        assert!(matches!(Sqlite::open(&path), Err(Error::CannotOpen { .. })));
        assert!(matches!(
            Sqlite::open_read_only(&path),
            Err(Error::CannotOpen { .. })
        ));
    }
}

#[test]
fn a_new_file_may_be_opened_by_many_at_the_same_moment() {
    let folder = tempfile::tempdir().unwrap();
    for k in 0..40 {
        let path = folder.path().join(format!("{k}.db"));
        let opened = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..6)
                .map(|_| scope.spawn(|| Sqlite::open(&path).map(drop)))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect::<Vec<_>>()
        });
        assert!(opened.iter().all(Result::is_ok), "{opened:?}");
    }
}
