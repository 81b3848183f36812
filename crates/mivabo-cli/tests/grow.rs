//! Studies that grow: defaults first, points that are enqueued, revisions, corrections, results of earlier studies.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod program;

use program::{Folder, code, snapshot, stderr, stdout};
use serde_json::{Value, json};

const EARLIER: &str = r#"
[parameters]
lr = { type = "float", low = 0.0, high = 1.0 }
n = { type = "int", low = 1, high = 9 }
extra = { type = "bool", default = false }
[constraints]
small = "n + 5 * lr <= 11"
[run]
strategy = "random"
"#;

const REVISED: &str = r#"
[parameters]
lr = { type = "float", low = 0.0, high = 0.1 }
n = { type = "int", low = 1, high = 9 }
depth = { type = "int", low = 1, high = 4, default = 2 }
[constraints]
small = "n * depth <= 12"
[run]
strategy = "random"
"#;

fn folder() -> Folder {
    let folder = Folder::new("", "");
    folder.write("study.toml", EARLIER);
    folder
}

/// With three results.
fn told() -> Folder {
    let folder = folder();
    folder.write(
        "old.csv",
        "lr,n,extra,value\n0.05,2,true,3\n0.5,3,true,2\n0.01,9,false,1\n",
    );
    assert_eq!(code(&folder.run(&["import", "study.toml", "old.csv"])), 0);
    folder
}

#[test]
fn a_study_is_revised_and_every_step_says_what_it_does() {
    let folder = told();
    folder.run(&["enqueue", "study.toml", "lr=0.7", "n=1"]);
    folder.write("study.toml", REVISED);

    let mut text = folder.transcript(&["ask", "study.toml"], "");
    text += &folder.transcript(&["revise", "study.toml", "--dry-run"], "");
    text += &folder.transcript(&["revise", "study.toml"], "");
    text += &folder.transcript(&["revise", "study.toml"], "");
    text += &folder.transcript(&["show", "study.toml"], "");
    text += &folder.transcript(&["best", "study.toml"], "");
    text += &folder.transcript(&["export", "study.toml"], "");
    snapshot("revise", &masked(&text));

    let asked = folder.run(&["ask", "study.toml"]);
    let asked: Value = serde_json::from_slice(&asked.stdout).unwrap();
    assert!(asked["params"]["depth"].is_number());
}

/// Without what is another one in each run.
fn masked(text: &str) -> String {
    let is_time = |cell: &str| cell.starts_with("20") && cell.contains('T');
    let lines = text.lines().map(|line| {
        let cells = line.split(',');
        let cells: Vec<&str> = cells
            .map(|cell| if is_time(cell) { "TIME" } else { cell })
            .collect();
        cells.join(",")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_study_without_results_takes_what_its_file_says_now() {
    let folder = folder();
    assert_eq!(code(&folder.run(&["ask", "study.toml"])), 0);
    folder.write(
        "study.toml",
        &EARLIER.replace("strategy = \"random\"", "seed = 1"),
    );

    let taken = folder.run(&["ask", "study.toml"]);
    let again = folder.run(&["ask", "study.toml"]);

    assert_eq!(
        stderr(&taken),
        "study `study` had no results yet, and is now as the file says:\n  strategy was `random`, is `improvement`\n  \
         seed was 0, is 1\n"
    );
    assert_eq!((code(&again), stderr(&again).as_str()), (0, ""));
}

#[test]
fn a_file_that_says_something_else_is_refused_with_what_differs_and_what_helps() {
    let folder = told();
    let mut text = String::new();
    for changed in [
        EARLIER.replace("extra = { type = \"bool\", default = false }\n", ""),
        EARLIER.replace("n + 5 * lr <= 11", "n + 5 * lr <= 10"),
        EARLIER.replace("[run]", "[run]\nseed = 1"),
        format!("direction = \"maximize\"\n{EARLIER}"),
    ] {
        folder.write("study.toml", &changed);
        text += &folder.transcript(&["ask", "study.toml"], "");
    }
    text += &folder.transcript(&["revise", "study.toml"], "");
    folder.write("study.toml", &REVISED.replace(", default = 2", ""));
    text += &folder.transcript(&["revise", "study.toml"], "");
    folder.write("new.toml", REVISED);
    text += &folder.transcript(&["revise", "new.toml"], "");
    let with_objective = format!("{EARLIER}trials = 9\n[objective]\nshell = \"true\"\n");
    folder.write("study.toml", &with_objective);
    text += &folder.transcript(&["run", "study.toml", "--seed", "7"], "");
    snapshot("changed_studies", &text);
}

#[test]
fn points_are_enqueued_and_evaluated_first() {
    let folder = Folder::new("", "");
    folder.write(
        "study.toml",
        "[parameters]
         x = { type = 'float', low = 0.0, high = 1.0, default = 0.25 }
         n = { type = 'int', low = 1, high = 9, default = 3 }
         opt = { type = 'choice', values = ['sgd', 'a=b'], default = 'sgd' }
         [constraints]
         small = 'n <= 8'",
    );
    let mut text = String::new();
    for (arguments, input) in [
        (vec!["enqueue", "study.toml", "x=0.5", "opt=a=b"], ""),
        (vec!["enqueue", "study.toml", "--json", r#"{"n": 2}"#], ""),
        (
            vec!["enqueue", "study.toml", "--json", r#"[{"n": 4}, {"n": 5}]"#],
            "",
        ),
        (
            vec!["enqueue", "study.toml", "--json", "-"],
            "{\"n\": 6}\n\n{\"n\": 7, \"x\": 1}\n",
        ),
        (vec!["enqueue", "study.toml"], ""),
        (vec!["enqueue", "study.toml", "n"], ""),
        (vec!["enqueue", "study.toml", "m=3"], ""),
        (vec!["enqueue", "study.toml", "n=9"], ""),
        (vec!["enqueue", "study.toml", "n=many"], ""),
        (vec!["enqueue", "study.toml", "--json", "[3"], ""),
        (vec!["enqueue", "study.toml", "--json", "3"], ""),
        (
            vec!["enqueue", "study.toml", "--json", r#"[{"n": 4}, {"n": 9}]"#],
            "",
        ),
        (
            vec!["enqueue", "study.toml", "--json", "-"],
            "{\"n\": 6}\n{\"n\": [1]}\n",
        ),
    ] {
        text += &folder.transcript(&arguments, input);
    }
    snapshot("enqueue", &text);

    let points: Vec<Value> = folder
        .trials()
        .into_iter()
        .map(|trial| trial["params"].clone())
        .collect();
    assert_eq!(points[0], json!({"x": 0.5, "n": 3, "opt": "a=b"}));
    assert_eq!(points[5], json!({"x": 1.0, "n": 7, "opt": "sgd"}));
    let asked = folder.run(&["ask", "study.toml"]);
    let asked: Value = serde_json::from_slice(&asked.stdout).unwrap();
    assert_eq!(
        (&asked["trial"], &asked["origin"]),
        (&json!(0), &json!("queue"))
    );
}

#[test]
fn the_defaults_are_tried_first_or_it_is_said_why_not() {
    let text = EARLIER
        .replace("high = 1.0 }", "high = 1.0, default = 1 }")
        .replace("high = 9 }", "high = 9, default = 6 }");
    let folder = folder();
    folder.write("study.toml", &text);
    let mut shown = folder.transcript(&["check", "study.toml"], "");
    let asked = folder.run(&["ask", "study.toml"]);
    let first: Value = serde_json::from_slice(&asked.stdout).unwrap();
    assert_eq!(first["params"], json!({"lr": 1.0, "n": 6, "extra": false}));
    assert_eq!(first["origin"], "defaults");

    folder.write("other.toml", &text.replace("<= 11", "<= 10"));
    shown += &folder.transcript(&["check", "other.toml"], "");
    snapshot("defaults", &shown);
    let said = "the defaults are not tried first: constraint `small` is violated: n + 5 * lr <= 10 does not hold (left side \
                11.0, right side 10)\n";
    assert_eq!(stderr(&folder.run(&["ask", "other.toml"])), said);
    assert_eq!(stderr(&folder.run(&["ask", "other.toml"])), "");
}

#[test]
fn a_wrong_result_is_corrected_and_its_history_is_kept() {
    let folder = told();
    let mut text = String::new();
    for arguments in [
        vec!["correct", "study.toml", "0", "-1.5", "--why", "a typo"],
        vec!["correct", "study.toml", "1", "--failed", "diverged"],
        vec![
            "correct",
            "study.toml",
            "2",
            "--json",
            r#"{"value": 7, "latency": 3}"#,
        ],
        vec!["correct", "study.toml", "9", "1"],
        vec!["correct", "study.toml", "0"],
        vec!["show", "study.toml"],
    ] {
        text += &folder.transcript(&arguments, "");
    }
    snapshot("correct", &text);

    let trials = folder.trials();
    assert_eq!(
        (&trials[0]["value"], &trials[0]["history"][0]["value"]),
        (&json!(-1.5), &json!(3.0))
    );
    assert_eq!(trials[0]["history"][0]["why"], "a typo");
    assert_eq!(trials[2]["measured"]["latency"], 3.0);
    let best: Value =
        serde_json::from_slice(&folder.run(&["best", "study.toml", "--json"]).stdout).unwrap();
    assert_eq!(best["best"]["trial"], 0);
}

#[test]
fn results_of_an_earlier_study_are_imported_as_far_as_they_have_a_place() {
    let folder = told();
    for (format, name) in [("csv", "trials.csv"), ("json", "trials.json")] {
        let exported = folder.run(&["export", "study.toml", "--format", format]);
        folder.write(name, &stdout(&exported));
    }
    let mut text = String::new();
    for name in ["trials.csv", "trials.json"] {
        folder.write("new.toml", &format!("name = '{name}'\n{REVISED}"));
        text += &folder.transcript(&["import", "new.toml", name], "");
        text += &folder.transcript(&["import", "new.toml", name, "--earlier"], "");
        text += &folder.transcript(&["show", "new.toml"], "");
    }
    snapshot("import_earlier", &text);
}

#[test]
fn what_a_revised_study_exports_is_imported_again() {
    let folder = told();
    folder.write("study.toml", REVISED);
    assert_eq!(code(&folder.run(&["revise", "study.toml"])), 0);
    for (format, name) in [("csv", "trials.csv"), ("json", "trials.json")] {
        let exported = folder.run(&["export", "study.toml", "--format", format]);
        folder.write(name, &stdout(&exported));
        folder.write("again.toml", &format!("name = 'again {format}'\n{REVISED}"));
        folder.write("back.toml", &format!("name = 'back {format}'\n{EARLIER}"));

        let again = folder.run(&["import", "again.toml", name]);
        let back = folder.run(&["import", "back.toml", name, "--earlier"]);

        assert_eq!(
            stdout(&again),
            "imported 2 of 3 rows; 1 infeasible\n",
            "{}",
            stderr(&again)
        );
        assert!(
            stderr(&again).contains("had no place in its own study, which was revised: `lr` = 0.5 is above its bound 0.1"),
            "{}",
            stderr(&again)
        );
        assert_eq!(
            stdout(&back),
            "imported 3 of 3 rows; 0 infeasible\n",
            "{}",
            stderr(&back)
        );
    }
}

#[test]
fn a_run_whose_study_is_revised_meanwhile_begins_no_new_trial() {
    let folder = Folder::script(
        "while ! test -e go; do sleep 0.02; done; echo $MIVABO_LR",
        "",
        "",
    );
    let objective = "[objective]\ncommand = [\"sh\", \"objective.sh\"]\n";
    folder.write("study.toml", &format!("{EARLIER}trials = 6\n{objective}"));
    folder.write("old.csv", "lr,n,extra,value\n0.05,2,true,3\n");
    assert_eq!(code(&folder.run(&["import", "study.toml", "old.csv"])), 0);
    let run = folder.start(&["run", "study.toml"]);
    while folder.trials().len() < 2 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    folder.write("study.toml", &format!("{REVISED}trials = 6\n{objective}"));
    assert_eq!(code(&folder.run(&["revise", "study.toml"])), 0);
    folder.write("go", "");

    let ended = run.wait_with_output().unwrap();

    let said = stderr(&ended);
    assert!(said.contains("the study was revised meanwhile"), "{said}");
    let states: Vec<String> = folder
        .trials()
        .iter()
        .map(|trial| trial["state"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(states, ["complete", "complete", "waiting"]);
    // Run again, it knows the revised study.
    assert_eq!(code(&folder.run(&["run", "study.toml"])), 0);
    assert_eq!(folder.trials().len(), 6);
}
