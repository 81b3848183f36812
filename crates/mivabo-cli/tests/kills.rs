//! `mivabo run` with four workers, killed at any moment, a hundred times.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod program;

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::Child;
use std::thread::sleep;
use std::time::Duration;

use program::{Folder, stderr};

const KILLS: u64 = 100;

/// Trials and values that a run acknowledged: a line is printed after the value was stored.
fn acknowledged(child: &mut Child) -> Vec<(u64, f64)> {
    let lines = BufReader::new(child.stderr.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let told = lines.filter_map(|line| {
        let (id, rest) = line.strip_prefix("trial ")?.split_once(": ")?;
        Some((id.parse().ok()?, rest.split_once(" in ")?.0.parse().ok()?))
    });
    told.collect()
}

#[test]
fn nothing_told_is_lost_when_a_run_is_killed() {
    let script = "sleep 0.01; echo $((MIVABO_TRIAL * 3))";
    let folder = Folder::script(script, "", "trials = 1000000\nworkers = 4\nlease = '400ms'");
    let mut told: Vec<(u64, f64)> = Vec::new();
    for number in 0..KILLS {
        let mut child = folder.start(&["run", "study.toml"]);
        // Some are killed while they open the file, some while they claim, evaluate or tell.
        sleep(Duration::from_millis(number * 7919 % 211));
        child.kill().unwrap();
        child.wait().unwrap();
        told.extend(acknowledged(&mut child));
    }

    let n_trials = (folder.trials().len() + 20).to_string();
    let output = folder.run(&["run", "study.toml", "--trials", &n_trials]);

    assert!(output.status.success(), "{}", stderr(&output));
    check(&folder, &told);
    println!(
        "{KILLS} kills, {} tells acknowledged, {n_trials} trials",
        told.len()
    );
    assert!(told.len() > 100, "{}", told.len());
}

/// Everything acknowledged is there, once; every trial is told; the file is whole.
fn check(folder: &Folder, told: &[(u64, f64)]) {
    let connection = rusqlite::Connection::open(folder.path("study.db")).unwrap();
    let said: String = connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(said, "ok");
    let trials = folder.trials();
    let mut seen = BTreeMap::new();
    for (id, value) in told {
        assert_eq!(seen.insert(id, value), None, "trial {id} was told twice");
        assert_eq!(
            trials[usize::try_from(*id).unwrap()]["value"].as_f64(),
            Some(*value),
            "trial {id}"
        );
    }
    let mut n_given_up = 0;
    for (number, trial) in trials.iter().enumerate() {
        assert_eq!(trial["trial"], number);
        match trial["state"].as_str() {
            Some("complete") => assert_eq!(trial["value"], 3.0 * number as f64),
            Some("failed") => n_given_up += 1,
            other => panic!("trial {number}: {other:?}"),
        }
    }
    assert!(
        n_given_up < 10,
        "{n_given_up} trials lost five workers each"
    );
}
