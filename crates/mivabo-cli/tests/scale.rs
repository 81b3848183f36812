//! Figures for docs/cli.md: many processes on one file, and a study of many trials.
//!
//! ```sh
//! cargo test --release -p mivabo-cli --test scale -- --ignored --nocapture --test-threads 1
//! ```

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod program;

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use mivabo_store::{Definition, Session, Store};
use program::{Folder, stderr, stdout};

const VESSEL: &str = include_str!("../../../examples/pressure-vessel.toml");

fn vessel() -> Folder {
    let folder = Folder::new("", "");
    folder.write(
        "study.toml",
        &VESSEL.replace("seed = 1", "seed = 1\nstrategy = \"random\""),
    );
    folder
}

#[test]
#[ignore = "takes long; prints figures"]
fn eight_processes_on_one_file() {
    for n in [1, 8] {
        let folder = vessel();
        let began = Instant::now();
        let start = |_| folder.start(&["run", "study.toml", "--trials", "2000", "--quiet"]);
        let children: Vec<Child> = (0..n).map(start).collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", stderr(&output));
        }
        let time = began.elapsed().as_secs_f64();
        let trials = folder.trials();
        assert_eq!(trials.len(), 2_000);
        assert!(trials.iter().all(|trial| trial["state"] == "complete"));
        println!(
            "{n} processes: 2000 trials in {time:.1} s, {:.0} / s",
            2000.0 / time
        );
    }
}

#[test]
#[ignore = "takes long; prints figures"]
fn one_trial_beside_what_it_is_made_of() {
    const N: u32 = 200;
    let folder = Folder::new("command = [\"/bin/echo\", \"1\"]", "");
    let per_trial = |began: Instant| began.elapsed().as_secs_f64() * 1e3 / f64::from(N);

    let began = Instant::now();
    for _ in 0..N {
        assert!(
            Command::new("/bin/echo")
                .arg("1")
                .output()
                .unwrap()
                .status
                .success()
        );
    }
    let start = per_trial(began);
    let space = mivabo::Space::from_toml(program::SPACE).unwrap();
    let definition = Definition {
        strategy: "random".to_owned(),
        ..Definition::new(space)
    };
    let store = Store::open(&folder.path("other.db").into()).unwrap();
    let mut session = Session::open(store, "other", &definition).unwrap();
    let began = Instant::now();
    while let Some(asked) = session
        .ask(Some(u64::from(N)), Duration::from_secs(60))
        .unwrap()
    {
        session.tell(asked.id, 1.0).unwrap();
    }
    let commits = per_trial(began);
    // The first trial pays for the start of the program itself.
    assert!(
        folder
            .run(&["run", "study.toml", "--trials", "1"])
            .status
            .success()
    );
    let trials = (N + 1).to_string();
    let began = Instant::now();
    let output = folder.run(&["run", "study.toml", "--quiet", "--trials", &trials]);
    let trial = per_trial(began);

    assert!(output.status.success(), "{}", stderr(&output));
    println!(
        "a trial: {trial:.2} ms; the bare program: {start:.2} ms; ask and tell: {commits:.2} ms"
    );
    println!("above both: {:.2} ms", trial - start - commits);
}

#[test]
#[ignore = "takes long; prints figures"]
fn a_study_of_a_hundred_thousand_trials() {
    const N: u32 = 100_000;
    let folder = vessel();
    folder.run(&["run", "study.toml", "--trials", "1"]);
    let connection = rusqlite::Connection::open(folder.path("study.db")).unwrap();
    let fill = format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {N})
         INSERT INTO trial (study, id, revision, params, state, value, told, attempts, worker, created, started, finished, note)
         SELECT 0, i, 2 * i + 2,
                printf('{{\"shell\":%d,\"head\":%d,\"radius\":%.9f,\"length\":%.9f}}', 60 + i % 39, 60 + i % 31, 60 + (i * 7919 % 100003) / 1e4, 100 + (i * 104729 % 1000003) / 1e4),
                'complete', i * 0.1, i, 1, 'host:1', 1.7e12 + i, 1.7e12 + i, 1.7e12 + i, '{{\"origin\":\"random\"}}' FROM n"
    );
    connection.execute_batch(&fill).unwrap();
    drop(connection);
    let more = (N + 10).to_string();
    for arguments in [
        vec!["best", "study.toml"],
        vec!["show", "study.toml"],
        vec!["show", "study.toml", "--best", "5"],
        vec!["export", "study.toml"],
        vec!["ask", "study.toml"],
        vec!["run", "study.toml", "--trials", &more],
    ] {
        let began = Instant::now();
        let output = folder.run(&arguments);
        assert!(output.status.success(), "{}", stderr(&output));
        println!(
            "mivabo {}: {:.2} s, {} bytes",
            arguments.join(" "),
            began.elapsed().as_secs_f64(),
            stdout(&output).len()
        );
    }
}
