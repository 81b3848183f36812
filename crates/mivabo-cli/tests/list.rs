//! `mivabo list`: which studies there are.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod program;

use program::{Folder, code, stderr, stdout};
use serde_json::Value;

/// A folder with two studies in one database and one in another, and a file that only has the name of one.
fn folder() -> Folder {
    let folder = Folder::script("echo $MIVABO_X", "", "trials = 3\nstorage = \"both.db\"");
    let other = folder.read("study.toml").replace("echo", "false; echo");
    folder.write("second.toml", &other);
    folder.write("third.toml", &other.replace("both.db", "third.db"));
    folder.write("foreign.db", "not a database");
    assert!(folder.run(&["run", "study.toml"]).status.success());
    for (study, trial) in [("second.toml", "0"), ("third.toml", "0")] {
        folder.run(&["ask", study, "--count", "2"]);
        folder.run(&["tell", study, trial, "--failed", "no"]);
    }
    folder
}

fn listed(folder: &Folder, arguments: &[&str]) -> Vec<Value> {
    let output = folder.run(&[&["list", "--json"], arguments].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_studies_of_a_database_are_listed_with_what_became_of_their_trials() {
    let folder = folder();

    let of_file = listed(&folder, &["both.db"]);
    let of_study = listed(&folder, &["second.toml"]);

    assert_eq!(of_file, of_study);
    let [first, second] = of_file.as_slice() else {
        panic!("{of_file:?}");
    };
    assert_eq!(
        (&first["study"], &first["trials"], &first["complete"]),
        (&"study".into(), &3.into(), &3.into())
    );
    assert_eq!(
        (&second["study"], &second["failed"], &second["running"]),
        (&"second".into(), &1.into(), &1.into())
    );
    let best: Value =
        serde_json::from_slice(&folder.run(&["best", "study.toml", "--json"]).stdout).unwrap();
    assert_eq!(first["best"], best["best"]["value"]);
    assert_eq!(second.get("best"), None);
    let trials = folder.trials();
    assert_eq!(first["changed"], trials[2]["finished"]);
}

#[test]
fn the_studies_of_a_folder_are_those_of_all_its_databases() {
    let folder = folder();

    let here = listed(&folder, &[]);
    let text = stdout(&folder.run(&["list"]));

    let names: Vec<&str> = here
        .iter()
        .map(|row| row["study"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["study", "second", "third"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("study   trials  complete  failed  running  best "),
        "{text}"
    );
    assert!(
        lines[0].ends_with("last change           database"),
        "{text}"
    );
    assert!(
        lines[3].starts_with("third   2       0         1       1        -  "),
        "{text}"
    );
    assert!(lines[3].ends_with("Z  third.db"), "{text}");
}

#[test]
fn a_place_without_studies_is_said_to_have_none() {
    let folder = folder();
    std::fs::create_dir(folder.path("empty")).unwrap();

    assert_eq!(stdout(&folder.run(&["list", "empty"])), "no studies here\n");
    for (place, expected) in [
        ("none.db", "none.db does not exist"),
        ("foreign.db", "foreign.db"),
    ] {
        let refused = folder.run(&["list", place]);
        assert_eq!(code(&refused), 1);
        assert!(stderr(&refused).contains(expected), "{}", stderr(&refused));
    }
}

/// The names of the studies that there are.
fn names(folder: &Folder) -> Vec<String> {
    let rows = listed(folder, &[]).into_iter();
    rows.map(|row| row["study"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_study_is_removed_only_by_somebody_who_confirms_it() {
    let folder = folder();

    let unasked = folder.run(&["rm", "study.toml"]);
    let (declined, no) = folder.on_terminal(&["rm", "study.toml"], "n\n");
    let before = names(&folder);
    let (asked, yes) = folder.on_terminal(&["rm", "study.toml"], "y\n");

    assert_eq!((code(&unasked), no, yes), (1, 1, 0), "{declined}{asked}");
    assert!(
        stderr(&unasked).contains("--yes removes it without asking"),
        "{}",
        stderr(&unasked)
    );
    assert!(
        asked.contains("remove study `study` with 3 trials from both.db, for ever? [y/N]"),
        "{asked}"
    );
    assert_eq!(before, ["study", "second", "third"]);
    assert_eq!(names(&folder), ["second", "third"]);
    // It can begin anew.
    assert!(folder.run(&["run", "study.toml"]).status.success());
    assert_eq!(folder.trials().len(), 3);
}

#[test]
fn a_study_with_running_trials_is_removed_only_by_force() {
    let folder = folder();

    let refused = folder.run(&["rm", "both.db", "--study", "second", "--yes"]);
    let unnamed = folder.run(&["rm", "both.db", "--yes"]);
    let unknown = folder.run(&["rm", "both.db", "--study", "third", "--yes"]);
    let before = names(&folder);
    let forced = folder.run(&["rm", "both.db", "--study", "second", "--yes", "--force"]);
    let told = folder.run(&["tell", "both.db", "1", "0.5", "--study", "second"]);

    assert_eq!([&refused, &unnamed, &unknown, &told].map(code), [1; 4]);
    assert!(
        stderr(&refused).contains("study `second` is in use: somebody runs trial 1\n"),
        "{}",
        stderr(&refused)
    );
    assert!(
        stderr(&unnamed).contains("holds several studies"),
        "{}",
        stderr(&unnamed)
    );
    assert_eq!(before.len(), 3);
    assert_eq!(
        stdout(&forced),
        "removed study `second` from both.db\n",
        "{}",
        stderr(&forced)
    );
    assert_eq!(names(&folder), ["study", "third"]);
}

#[test]
fn a_lease_that_ended_keeps_no_study() {
    let folder = Folder::new("command = [\"true\"]", "");
    folder.run(&["ask", "study.toml", "--lease", "100ms"]);
    std::thread::sleep(std::time::Duration::from_millis(200));

    let removed = folder.run(&["rm", "study.toml", "--yes"]);

    assert!(removed.status.success(), "{}", stderr(&removed));
    assert!(names(&folder).is_empty());
}
