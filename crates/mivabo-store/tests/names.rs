//! One file under two names, and logs and files that are removed or cut off while they are in use: nothing that was
//! acknowledged is lost without a sentence that says so.

#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use mivabo::measure::{Outcome, VALUE};
use mivabo_store::{Error, NewRecord, Object, Revision, Sqlite, Store, StudyId, Tell};
use tempfile::TempDir;

const ROUNDS: usize = 50;

/// A process that tells trial after trial until it is stopped, and what it says.
struct Teller {
    child: Child,
    lines: Receiver<String>,
    /// The numbers of trials that were acknowledged to it, as far as was asked.
    told: Vec<f64>,
    /// What stopped it.
    stopped: Option<String>,
}

impl Teller {
    fn start(path: &Path) -> Teller {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tell", "--ignored", "--nocapture"])
            .env("STORE", path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (say, lines) = channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            out.lines()
                .map_while(Result::ok)
                .try_for_each(|line| say.send(line))
        });
        Teller {
            child,
            lines,
            told: Vec::new(),
            stopped: None,
        }
    }

    /// Hears of one more tell, or why there is none; false when it is over.
    fn hear(&mut self) -> bool {
        for line in &self.lines {
            if let Some(bits) = line
                .strip_prefix("told ")
                .and_then(|rest| rest.strip_suffix('.'))
            {
                self.told.push(f64::from_bits(bits.parse().unwrap()));
                return true;
            }
            if let Some(why) = line.strip_prefix("stopped ") {
                self.stopped = Some(why.replace("\\n", "\n"));
            }
        }
        false
    }

    fn after(mut self, n: usize) -> Teller {
        while self.told.len() < n && self.hear() {}
        self
    }

    /// What stopped it, within some hundred tells.
    fn end(mut self) -> Teller {
        let n_told = self.told.len();
        while self.hear() {
            if self.told.len() > n_told + 300 {
                self.child.kill().unwrap();
                panic!("nothing stops it");
            }
        }
        assert!(
            self.child.wait().unwrap().success(),
            "a worker failed; see above"
        );
        self
    }

    fn kill(mut self) -> Teller {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        while self.hear() {}
        self
    }

    fn stopped(&self) -> &str {
        self.stopped.as_deref().unwrap_or_default()
    }
}

#[test]
#[ignore = "the other half of the tests below"]
fn tell() {
    let mut store = match Sqlite::open(std::env::var_os("STORE").unwrap()) {
        Ok(file) => Store::new(file),
        Err(error) => return println!("\nstopped {}", error.to_string().replace('\n', "\\n")),
    };
    println!();
    let error = (0..)
        .find_map(|count| one_more(&mut store, count).err())
        .unwrap();
    println!("stopped {}", error.to_string().replace('\n', "\\n"));
}

fn one_more(store: &mut Store, count: u32) -> Result<(), Error> {
    let study = store.create("a", "b")?;
    one_more_of(store, study, count)
}

fn one_more_of(store: &mut Store, study: StudyId, count: u32) -> Result<(), Error> {
    let value = f64::from(std::process::id()) + f64::from(count) / 65_536.0;
    let params = Object::new(format!(r#"{{"text": "{}"}}"#, "x".repeat(200)))?;
    store.add(
        study,
        NewRecord::from(params),
        &Tell::new(Outcome::of(VALUE, value)),
    )?;
    println!("told {}.", value.to_bits());
    std::io::stdout().flush().unwrap();
    Ok(())
}

/// The values in a file, or why it is not opened.
fn values(path: &Path) -> Result<Vec<f64>, Error> {
    of_store(&Store::new(Sqlite::open(path)?))
}

fn of_store(store: &Store) -> Result<Vec<f64>, Error> {
    let Some(study) = store.studies()?.first().map(|study| study.id) else {
        return Ok(Vec::new());
    };
    let trials = store.changes(study, Revision::default())?.trials;
    Ok(trials
        .iter()
        .filter_map(|trial| trial.outcome()?.measured().get(VALUE))
        .collect())
}

/// Those of the told values that a file does not have.
fn missing(path: &Path, told: &[f64]) -> Vec<f64> {
    let found = values(path).unwrap();
    told.iter()
        .copied()
        .filter(|value| !found.contains(value))
        .collect()
}

/// Everything that was told is there, or the file is refused by a sentence that says that something is missing.
fn is_all_there_or_said(path: &Path, told: &[f64]) {
    match values(path) {
        Ok(_) => assert_eq!(missing(path, told), [0.0; 0], "{}", path.display()),
        Err(error) => assert!(error.to_string().contains("results are missing"), "{error}"),
    }
}

fn folder_with_names() -> (TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a.db", "b.db"].map(|name| folder.path().join(name));
    (folder, a, b)
}

fn log(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

/// What a process told that was killed after so many tells.
fn killed(path: &Path, n: usize) -> Vec<f64> {
    Teller::start(path).after(n).kill().told
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn two_names_at_once_lose_nothing_because_one_of_them_is_refused() {
    for round in 0..ROUNDS {
        let (_folder, a, b) = folder_with_names();
        values(&a).unwrap();
        fs::hard_link(&a, &b).unwrap();

        let workers = [&a, &b].map(|path| Teller::start(path));
        let workers = workers.map(|worker| worker.after(1 + round % 5));
        let workers = workers.map(Teller::kill);

        let [of_a, of_b] = &workers;
        assert!(
            of_a.told.is_empty() || of_b.told.is_empty(),
            "both names were written"
        );
        let (path, told, refused) = if of_b.told.is_empty() {
            (&a, &of_a.told, of_b)
        } else {
            (&b, &of_b.told, of_a)
        };
        assert!(
            refused.stopped().contains("is open under another name"),
            "{:?}",
            refused.stopped
        );
        assert_eq!(missing(path, told), [0.0; 0]);
    }
}

#[test]
fn a_log_that_is_removed_during_a_run_is_saved_and_stops_the_run() {
    for round in 0..ROUNDS {
        let (_folder, a, _) = folder_with_names();
        let worker = Teller::start(&a).after(1 + round % 7);

        fs::remove_file(log(&a)).unwrap();

        let worker = worker.end();
        assert!(
            worker
                .stopped()
                .contains("its log was removed while it was open"),
            "{:?}",
            worker.stopped
        );
        assert_eq!(missing(&a, &worker.told), [0.0; 0], "round {round}");
    }
}

#[test]
fn a_log_that_is_removed_just_before_a_kill_is_missed() {
    for round in 0..ROUNDS {
        let (_folder, a, _) = folder_with_names();
        let worker = Teller::start(&a).after(1 + round % 7);

        fs::remove_file(log(&a)).unwrap();

        is_all_there_or_said(&a, &worker.kill().told);
    }
}

#[test]
fn a_file_or_log_that_is_cut_off_stops_the_run() {
    for round in 0..ROUNDS {
        let (_folder, a, _) = folder_with_names();
        let worker = Teller::start(&a).after(3 + round % 7);
        let (path, what) = if round % 2 == 0 {
            (a.clone(), "it was")
        } else {
            (log(&a), "its log was")
        };

        let left = if round % 4 < 2 { 0 } else { 8192 };
        File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_len(left)
            .unwrap();

        let stopped = worker.end().stopped.unwrap();
        assert!(
            stopped.contains(&format!("{what} cut off while it was open")),
            "{stopped}"
        );
        if left == 0 {
            let error = values(&a).unwrap_err().to_string();
            assert!(error.contains("results are missing"), "{error}");
        }
    }
}

/// As when it is cut off in the middle of a commit, which then writes behind the hole.
#[test]
fn a_log_with_a_hole_stops_every_connection_and_nothing_of_it_reaches_the_file() {
    let (_folder, a, _) = folder_with_names();
    let [mut here, mut there] = [(); 2].map(|()| Store::new(Sqlite::open(&a).unwrap()));
    for count in 0..3 {
        one_more(&mut here, count).unwrap();
    }
    let study = there.studies().unwrap()[0].id;
    let file = fs::read(&a).unwrap();
    let cut = File::options().write(true).open(log(&a)).unwrap();
    let length = cut.metadata().unwrap().len();
    cut.set_len(0).unwrap();
    cut.set_len(length).unwrap();

    let refused = [
        one_more_of(&mut here, study, 3),
        one_more_of(&mut here, study, 4),
        one_more_of(&mut there, study, 5),
    ];

    for error in refused.map(|done| done.unwrap_err().to_string()) {
        assert!(error.contains("its log was cut off"), "{error}");
    }

    drop((here, there));
    assert_eq!(fs::read(&a).unwrap(), file);
    let error = values(&a).unwrap_err().to_string();
    assert!(error.contains("results are missing"), "{error}");
}

#[test]
fn what_was_told_before_a_kill_is_found_by_the_name_that_was_used_and_by_no_other_before() {
    for round in 0..ROUNDS {
        let (_folder, a, b) = folder_with_names();
        let told = killed(&a, 1 + round % 7);
        fs::hard_link(&a, &b).unwrap();

        let write = Sqlite::open(&b).unwrap_err().to_string();
        let look = Sqlite::open_read_only(&b).unwrap_err().to_string();

        assert!(
            write.contains(&format!("it was last open as `{}`", a.display())),
            "{write}"
        );
        assert_eq!(look, write);
        assert_eq!(missing(&a, &told), [0.0; 0]);
        // Its log is in the file now.
        assert_eq!(missing(&b, &told), [0.0; 0]);
    }
}

#[test]
fn a_hard_link_that_is_made_during_a_run_is_refused_until_the_run_is_over() {
    let (folder, a, b) = folder_with_names();
    let worker = Teller::start(&a).after(3);
    fs::hard_link(&a, &b).unwrap();

    let refused = [
        Sqlite::open(&b).unwrap_err(),
        Sqlite::open_read_only(&b).unwrap_err(),
    ];

    for error in refused {
        assert!(
            error
                .to_string()
                .contains(&format!("under another name, `{}`", a.display())),
            "{error}"
        );
    }
    assert_eq!(
        names(folder.path()),
        ["a.db", "a.db-shm", "a.db-wal", "b.db"]
    );
    let told = worker.kill().told;
    assert_eq!(missing(&a, &told), [0.0; 0]);
    assert_eq!(missing(&b, &told), [0.0; 0]);
}

#[test]
fn a_log_that_is_removed_after_a_kill_is_missed_and_a_copy_goes_on_with_what_is_left() {
    let (_folder, a, b) = folder_with_names();
    killed(&a, 3);
    fs::remove_file(log(&a)).unwrap();

    let error = values(&a).unwrap_err();

    assert!(error.to_string().contains("results are missing"), "{error}");
    assert_eq!(Sqlite::open_read_only(&a).unwrap_err(), error);
    fs::copy(&a, &b).unwrap();
    assert!(values(&b).is_ok());
}

#[test]
fn a_file_that_was_moved_or_copied_with_its_log_after_a_kill_has_everything() {
    let (folder, a, b) = folder_with_names();
    let told = killed(&a, 3);
    for (from, to) in [(a.clone(), b.clone()), (log(&a), log(&b))] {
        fs::rename(from, to).unwrap();
    }
    // With its attributes: they do not speak of the copy.
    let copy = folder.path().join("copy.db");
    for (from, to) in [(&b, &copy), (&log(&b), &log(&copy))] {
        let done = Command::new("cp")
            .arg("-a")
            .args([from, to])
            .status()
            .unwrap();
        assert!(done.success());
    }

    assert_eq!(missing(&copy, &told), [0.0; 0]);
    assert_eq!(missing(&b, &told), [0.0; 0]);
}

#[test]
fn a_file_whose_log_another_program_wrote_into_it_after_a_kill_opens_by_any_name_in_the_folder() {
    let (_folder, a, b) = folder_with_names();
    let told = killed(&a, 3);
    rusqlite::Connection::open(&a)
        .unwrap()
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    fs::rename(&a, &b).unwrap();

    assert_eq!(missing(&b, &told), [0.0; 0]);
}

#[test]
fn a_closed_file_may_be_replaced_by_an_older_copy() {
    let (_folder, a, b) = folder_with_names();
    let told = killed(&a, 2);
    assert_eq!(missing(&a, &told), [0.0; 0]);
    fs::copy(&a, &b).unwrap();
    let later = killed(&a, 2);
    assert_eq!(missing(&a, &later), [0.0; 0]);

    // Into the same file.
    fs::write(&a, fs::read(&b).unwrap()).unwrap();

    assert_eq!(missing(&a, &told), [0.0; 0]);
}

/// What `cp -al` makes of a folder in which a run goes on.
#[test]
fn a_log_that_has_a_second_name_too_never_takes_the_file_back_to_an_older_state() {
    for round in 0..ROUNDS {
        let (_folder, a, b) = folder_with_names();
        let worker = Teller::start(&a).after(1 + round % 3);
        fs::hard_link(&a, &b).unwrap();
        fs::hard_link(log(&a), log(&b)).unwrap();
        let mut told = worker.kill().told;
        assert_eq!(missing(&a, &told), [0.0; 0]);
        told.extend(killed(&a, 2));
        assert_eq!(missing(&a, &told), [0.0; 0]);

        for refused in [values(&b), Sqlite::open_read_only(&b).map(|_| Vec::new())] {
            let error = refused.unwrap_err().to_string();
            assert!(error.contains("beside it is of an older state"), "{error}");
        }

        fs::remove_file(log(&b)).unwrap();
        assert_eq!(missing(&b, &told), [0.0; 0]);
    }
}

#[test]
fn a_look_waits_for_no_fifo() {
    let (_folder, a, _) = folder_with_names();
    killed(&a, 1);
    values(&a).unwrap();
    let made = Command::new("mkfifo").arg(log(&a)).status().unwrap();
    assert!(made.success());

    let error = Sqlite::open_read_only(&a).unwrap_err();

    assert!(error.to_string().contains("is not a file"), "{error}");
}

#[test]
fn looking_leaves_no_file_behind() {
    let (folder, a, _) = folder_with_names();
    let told = Teller::start(&a).after(3).kill().told;
    let killed = names(folder.path());
    let look = || of_store(&Store::new(Sqlite::open_read_only(&a).unwrap())).unwrap();

    assert!(told.iter().all(|value| look().contains(value)));
    assert_eq!(names(folder.path()), killed);

    values(&a).unwrap();
    assert_eq!(names(folder.path()), ["a.db"]);
    assert!(told.iter().all(|value| look().contains(value)));
    assert_eq!(names(folder.path()), ["a.db"]);
}

#[test]
fn looking_beside_a_writer_sees_all_that_was_acknowledged_before() {
    let (folder, a, _) = folder_with_names();
    let mut worker = Teller::start(&a).after(1);
    for round in 0..ROUNDS {
        worker = worker.after(2 + round);

        let found = of_store(&Store::new(Sqlite::open_read_only(&a).unwrap())).unwrap();

        assert!(worker.told.iter().all(|value| found.contains(value)));
    }
    assert_eq!(names(folder.path()), ["a.db", "a.db-shm", "a.db-wal"]);
    let told = worker.kill().told;
    assert_eq!(missing(&a, &told), [0.0; 0]);
}

/// A file that is mounted under a second name, which only a process in a namespace of its own sees.
mod mounted {
    use super::*;

    fn in_namespace(folder: &Path, command: &str) -> Command {
        let mut unshare = Command::new("unshare");
        let mount = r#"touch "$FOLDER/b/b.db" && mount --bind "$FOLDER/a.db" "$FOLDER/b/b.db""#;
        let script = format!("{mount} && {command}");
        unshare
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script])
            .env("FOLDER", folder);
        unshare
    }

    #[test]
    fn a_file_that_is_mounted_under_a_second_name_loses_nothing() {
        let (folder, a, _) = folder_with_names();
        values(&a).unwrap();
        fs::create_dir(folder.path().join("b")).unwrap();
        if !in_namespace(folder.path(), "true")
            .output()
            .is_ok_and(|done| done.status.success())
        {
            println!("skipped, nothing can be mounted here");
            return;
        }
        let program = std::env::current_exe().unwrap();
        let test = r#""$PROGRAM" --exact mounted::using_two_names --ignored --nocapture"#;

        let done = in_namespace(folder.path(), test)
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
    fn using_two_names() {
        let folder = PathBuf::from(std::env::var_os("FOLDER").unwrap());
        let (a, b) = (folder.join("a.db"), folder.join("b/b.db"));
        for round in 0..ROUNDS {
            let worker = Teller::start(&a).after(1 + round % 5);
            let during = values(&b).unwrap_err().to_string();
            let told = worker.kill().told;
            let after = values(&b).unwrap_err().to_string();

            assert!(
                during.contains(&format!("under another name, `{}`", a.display())),
                "{during}"
            );
            assert!(
                after.contains(&format!("it was last open as `{}`", a.display())),
                "{after}"
            );
            assert_eq!(missing(&a, &told), [0.0; 0]);
            assert_eq!(missing(&b, &told), [0.0; 0]);
        }
    }
}
