//! Commands for loops of one's own and for looking at results.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod program;

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::process::Child;
use std::time::Duration;

use mivabo_store::{Session, Sqlite, Store};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use program::{Folder, code, snapshot, stderr, stdout};
use serde_json::{Value, json};

fn folder() -> Folder {
    Folder::new("command = [\"true\"]", "trials = 4\nseed = 3")
}

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_loop_of_ones_own_asks_and_tells() {
    let folder = folder();
    let asked = lines(&stdout(&folder.run(&["ask", "study.toml", "--count", "3"])));

    let numbers: Vec<&Value> = asked.iter().map(|line| &line["trial"]).collect();
    assert_eq!(numbers, [0, 1, 2]);
    assert!(
        asked
            .iter()
            .all(|line| line["params"]["x"].is_number() && line["origin"] == "random")
    );
    assert!(
        folder
            .run(&["tell", "study.toml", "0", "-1.5"])
            .status
            .success()
    );
    assert!(
        folder
            .run(&["tell", "study.toml", "1", "--failed", "out of memory"])
            .status
            .success()
    );
    assert!(
        folder
            .run_with(
                &["tell", "study.toml"],
                "{\"trial\": 2, \"value\": 0.1}\n\n"
            )
            .status
            .success()
    );

    let trials = folder.trials();
    assert_eq!(
        (&trials[0]["value"], &trials[0]["state"]),
        (&json!(-1.5), &json!("complete"))
    );
    assert_eq!(
        (&trials[1]["reason"], &trials[1]["state"]),
        (&json!("out of memory"), &json!("failed"))
    );
    assert_eq!(trials[2]["value"], 0.1);
    assert_eq!(trials[2]["params"], asked[2]["params"]);
    let best: Value =
        serde_json::from_slice(&folder.run(&["best", "study.toml", "--json"]).stdout).unwrap();
    assert_eq!(
        (&best["best"]["trial"], &best["trials"], &best["failed"]),
        (&json!(0), &json!(3), &json!(1))
    );
}

#[test]
fn mistakes_are_one_clear_message() {
    let folder = folder();
    let mut text = folder.transcript(&["best", "study.toml"], "");
    text += &folder.transcript(&["show", "none.db"], "");
    folder.run(&["ask", "study.toml"]);
    for (arguments, input) in [
        (vec!["best", "study.toml"], ""),
        (vec!["best", "study.toml", "--recommend"], ""),
        (vec!["tell", "study.toml", "7", "1"], ""),
        (vec!["tell", "study.toml", "0"], ""),
        (vec!["tell", "study.toml", "0", "much"], ""),
        (
            vec!["tell", "study.toml"],
            "{\"trial\": 0, \"value\": 2}\n{\"trial\": 0, \"value\": 3}",
        ),
        (vec!["tell", "study.toml"], "{\"trail\": 0}"),
        (vec!["show", "study.db", "--study", "other"], ""),
        (vec!["show", "objective.sh"], ""),
        (vec!["show", "study.toml", "--state", "done"], ""),
        (vec!["init", "study.toml"], ""),
        (vec!["init", "new.json"], ""),
        (vec!["ask", "study.toml", "--lease", "soon"], ""),
    ] {
        text += &folder.transcript(&arguments, input);
    }
    snapshot("wrong_calls", &text);
}

#[test]
fn trials_are_shown_as_a_table() {
    let folder = folder();
    folder.write(
        "old.csv",
        "n,x,m,value\n9,0.25,2,3\n3,0.5,,1.25\n9,0.75,3,-7\n1,0.0,,2\n",
    );
    folder.run(&["import", "study.toml", "old.csv"]);

    let mut text = folder.transcript(&["show", "study.toml"], "");
    text += &folder.transcript(&["show", "study.toml", "--best", "2"], "");
    text += &folder.transcript(
        &[
            "show",
            "study.toml",
            "--state",
            "failed",
            "--state",
            "running",
        ],
        "",
    );
    text += &folder.transcript(&["best", "study.db"], "");
    text += &folder.transcript(&["best", "study.db", "--recommend", "--json"], "");

    snapshot("show", &text);
}

#[expect(clippy::too_many_lines, reason = "one study goes out and comes back")]
#[test]
fn what_is_exported_can_be_imported() {
    let folder = Folder::new("", "");
    let space = "[parameters]\nvalue = { type = \"choice\", values = [\"a,b\", \"\", 2, \"q\\\"\", \"\\n\"] }\n\
        flag = { type = \"bool\" }\ny = { type = \"float\", low = -1.0, high = 1.0, when = \"flag\" }\n\
        state = { type = \"int\", low = 1, high = 9 }\n\"params.state\" = { type = \"int\", low = 1, high = 9 }\n\
        \"result.text\" = { type = \"int\", low = 1, high = 9 }\n";
    for name in ["study", "csv", "json"] {
        folder.write(
            &format!("{name}.toml"),
            &format!("name = 'a'\n{space}[run]\nstrategy = 'random'"),
        );
    }
    folder.run(&["ask", "study.toml", "--count", "9"]);
    for id in 0..8 {
        let value = (0.1 + f64::from(id)).to_string();
        let result = r#"{"value": "x", "text": "a,b", "epochs": [1, 2.5], "late": true, "no": "", "id": "1e5", "big": 1e400}"#;
        let value = if id == 3 { "nan" } else { &value };
        let told = folder.run(&[
            "tell",
            "study.toml",
            &id.to_string(),
            value,
            "--result",
            result,
        ]);
        assert!(told.status.success(), "{}", stderr(&told));
    }
    for format in ["csv", "json"] {
        let exported = folder.run(&["export", "study.toml", "--format", format]);
        folder.write(&format!("trials.{format}"), &stdout(&exported));

        let imported = folder.run(&[
            "import",
            &format!("{format}.toml"),
            &format!("trials.{format}"),
        ]);

        assert_eq!(
            stdout(&imported),
            "imported 8 of 9 rows; 0 infeasible\n",
            "{}",
            stderr(&imported)
        );
        assert!(
            stderr(&imported).contains("has no value; skipped"),
            "{}",
            stderr(&imported)
        );
        let all = |file: &str| {
            let shown = lines(&stdout(
                &folder.run(&["show", file, "--json", "--state", "complete"]),
            ));
            let kept = |trial: Value| {
                let mut result = trial["result"].clone();
                // CSV has it in the column of the value.
                result.as_object_mut().unwrap().remove("value");
                (trial["params"].clone(), trial["value"].clone(), result)
            };
            shown.into_iter().map(kept).collect::<Vec<_>>()
        };
        assert_eq!(all(&format!("{format}.toml")), all("study.toml"));
        let result = json!({ "text": "a,b", "epochs": [1, 2.5], "late": true, "no": "", "id": "1e5", "big": "1e400" });
        assert_eq!(all("study.toml")[0].2, result);

        let again = folder.run(&[
            "import",
            &format!("{format}.toml"),
            &format!("trials.{format}"),
        ]);
        assert!(
            stderr(&again).contains("7 rows repeat existing trials"),
            "{}",
            stderr(&again)
        );
    }
}

#[test]
fn rows_that_break_a_rule_are_kept_and_said_and_wrong_ones_refused() {
    let folder = folder();
    let mut text = String::new();
    for (name, rows) in [
        (
            "a.csv",
            "n,x,m,loss,note\n1,0.5,,1,good\n9,1.0,2,-5,\"too, much\"\n",
        ),
        ("b.csv", "n,x,value\n1,0.5,1\n99,0.5,1\n"),
        ("c.csv", "n,x,value\n1,0.5\n"),
        ("d.csv", "n,x,value\n1,0.5,much\n"),
        ("e.csv", "n,value\n1,1\n"),
        ("f.csv", ""),
        (
            "g.json",
            "[{\"params\": {\"n\": 1, \"x\": 0.5, \"z\": 1}, \"value\": 1}]",
        ),
        (
            "h.json",
            "[{\"n\": 1, \"x\": 0.5, \"value\": 4, \"extra\": null}]",
        ),
    ] {
        folder.write(name, rows);
        let column = if name == "a.csv" { "loss" } else { "value" };
        text += &folder.transcript(&["import", "study.toml", name, "--value", column], "");
    }

    snapshot("import", &text);
    assert_eq!(folder.trials().len(), 3);
    assert!(
        stdout(&folder.run(&["best", "study.toml"])).starts_with("best of 3 trials: 1 (trial 0)")
    );
}

#[test]
fn a_new_study_file_is_valid() {
    let folder = folder();

    let output = folder.run(&["init", "tuning.toml"]);

    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(folder.read("tuning.toml").contains("name = \"tuning\""));
    let checked = folder.run(&["check", "tuning.toml"]);
    assert!(checked.status.success(), "{}", stderr(&checked));
}

#[test]
fn lines_are_told_again_after_one_of_them_was_wrong() {
    let folder = folder();
    folder.run(&["ask", "study.toml", "--count", "3"]);
    let first = "{\"trial\": 0, \"value\": 1.5}\n{\"trial\": 1, \"failed\": \"no\"}\n";

    let wrong = folder.run_with(
        &["tell", "study.toml"],
        &format!("{first}{{\"trial\": 2, \"value\": }}\n"),
    );
    let again = folder.run_with(
        &["tell", "study.toml"],
        &format!("{first}{{\"trial\": 2, \"value\": 3}}\n"),
    );
    let other = folder.run_with(&["tell", "study.toml"], "{\"trial\": 0, \"value\": 2}\n");

    assert!(stderr(&wrong).contains("line 3: "), "{}", stderr(&wrong));
    assert!(again.status.success(), "{}", stderr(&again));
    assert!(
        stderr(&other).contains("line 1: trial 0 was already told"),
        "{}",
        stderr(&other)
    );
    assert_eq!(
        folder
            .trials()
            .iter()
            .map(|trial| trial["value"].clone())
            .collect::<Vec<_>>(),
        [json!(1.5), Value::Null, json!(3.0)]
    );
}

#[test]
fn a_report_is_never_written_over_its_study() {
    let folder = folder();
    folder.run(&["ask", "study.toml"]);
    std::fs::hard_link(folder.path("study.db"), folder.path("hard.db")).unwrap();
    let study = folder.read("study.toml");

    for out in ["study.db", "hard.db"] {
        let refused = folder.run(&["report", "study.toml", "--out", out]);
        assert!(
            stderr(&refused).contains("is the study itself"),
            "{}",
            stderr(&refused)
        );
        let refused = folder.run_with(&["report", "-", "--out", out], &study);
        assert!(
            stderr(&refused).contains("is the study itself"),
            "{}",
            stderr(&refused)
        );
    }

    assert_eq!(folder.trials().len(), 1);
}

#[test]
fn a_point_that_could_not_be_printed_waits_for_the_next_ask() {
    let folder = folder();
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();

    let output = folder
        .command(&["ask", "study.toml", "--count", "3"])
        .stdout(full)
        .output()
        .unwrap();

    assert!(
        stderr(&output).contains("trial 0 waits for the next ask"),
        "{}",
        stderr(&output)
    );
    assert_eq!(folder.trials()[0]["state"], "waiting");
}

fn interrupt(child: &Child) {
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
}

#[test]
fn an_interrupted_ask_leaves_no_trial_that_nobody_heard_of() {
    let folder = folder();
    assert!(folder.run(&["ask", "study.toml"]).status.success());
    let mut printed = 1;
    for _ in 0..20 {
        let mut ask = folder.start(&["ask", "study.toml"]);
        // Its claim is the first that enters the log, and then it has not been printed.
        let log = || std::fs::metadata(folder.path("study.db-wal")).map_or(0, |log| log.len());
        let mut is_over = || ask.try_wait().unwrap().is_some();
        while log() == 0 && !is_over() {}
        if !is_over() {
            interrupt(&ask);
        }

        let output = ask.wait_with_output().unwrap();
        let is_whole = output.status.success();
        let ended_by = output.status.signal();
        assert!(is_whole || ended_by == Some(Signal::SIGINT as i32));
        printed += lines(&stdout(&output)).len();
        let trials = folder.trials();
        let running = trials.iter().filter(|trial| trial["state"] == "running");
        assert_eq!(running.count(), printed, "{}", stderr(&output));
    }
}

#[test]
fn a_long_ask_ends_at_ctrl_c_while_it_waits() {
    let folder = folder();
    assert!(folder.run(&["ask", "study.toml"]).status.success());
    let other = rusqlite::Connection::open(folder.path("study.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut ask = folder.start(&["ask", "study.toml"]);
    let mut said = String::new();
    let mut errors = BufReader::new(ask.stderr.take().unwrap());
    errors.read_line(&mut said).unwrap();
    assert!(said.starts_with("waiting for "), "{said}");

    interrupt(&ask);

    let end = ask.wait().unwrap();
    assert_eq!(end.signal(), Some(Signal::SIGINT as i32));
    drop(other);
    assert_eq!(folder.trials().len(), 1);
}

#[test]
fn parameters_may_be_named_like_columns_of_an_export() {
    let folder = folder();
    folder.write(
        "odd.toml",
        "[parameters]\nstate = { type = 'choice', values = ['failed', 'ok'] }\n\
         worker = { type = 'int', low = 1, high = 9 }\n",
    );
    folder.write("a.csv", "state,worker,value\nfailed,3,0.5\n");
    folder.write(
        "b.json",
        r#"[{"state": "failed", "worker": 4, "value": 0.25}]"#,
    );
    for file in ["a.csv", "b.json"] {
        let imported = folder.run(&["import", "odd.toml", file]);
        assert!(imported.status.success(), "{}", stderr(&imported));
    }

    let shown = lines(&stdout(&folder.run(&["show", "odd.toml", "--json"])));

    let found: Vec<_> = shown
        .iter()
        .map(|trial| (&trial["params"]["worker"], &trial["value"]))
        .collect();
    assert_eq!(found, [(&json!(3), &json!(0.5)), (&json!(4), &json!(0.25))]);
}

#[test]
fn a_column_may_be_named_result() {
    let folder = folder();
    folder.write(
        "odd.toml",
        "[parameters]\nx = { type = 'float', low = 0.0, high = 1.0 }\n",
    );
    for (file, text, value) in [
        ("a.json", r#"[{"x": 0.5, "result": 0.25}]"#, "result"),
        (
            "b.json",
            r#"[{"x": 0.5, "value": 0.5, "result": "ok"}]"#,
            "value",
        ),
        (
            "c.json",
            r#"[{"x": 0.5, "value": 0.75, "result": {"a": 1}}]"#,
            "value",
        ),
        ("d.csv", "x,value,result,result.b\n0.5,1,ok,2\n", "value"),
    ] {
        folder.write(file, text);
        let imported = folder.run(&["import", "odd.toml", file, "--value", value]);
        assert!(imported.status.success(), "{}", stderr(&imported));
        let is_ignored = stderr(&imported).contains("no parameter has that name: result");
        assert_eq!(is_ignored, text.contains("ok"), "{}", stderr(&imported));
    }

    let shown = lines(&stdout(&folder.run(&["show", "odd.toml", "--json"])));

    let found: Vec<_> = shown
        .iter()
        .map(|trial| (&trial["value"], &trial["result"]))
        .collect();
    let (a, b) = (json!({"a": 1}), json!({"b": 2}));
    let none = Value::Null;
    assert_eq!(
        found,
        [
            (&json!(0.25), &none),
            (&json!(0.5), &none),
            (&json!(0.75), &a),
            (&json!(1.0), &b)
        ]
    );
}

#[test]
fn times_beyond_the_calendar_are_shown() {
    let folder = folder();
    folder.run(&["ask", "study.toml"]);
    let at = |clock: fn() -> i64| {
        let store = Store::new(Sqlite::open(folder.path("study.db")).unwrap());
        let name = store.studies().unwrap()[0].name.clone();
        Session::load(store, &name).unwrap().with_clock(clock)
    };
    at(|| 253_402_300_800_000).replicate(0).unwrap();
    let lease = Duration::from_secs(60);
    at(|| i64::MIN).ask(None, lease).unwrap().unwrap();
    assert!(
        folder
            .run(&["tell", "study.toml", "1", "1"])
            .status
            .success()
    );

    let shown = folder.run(&["show", "study.toml", "--json"]);

    assert_eq!(code(&shown), 0, "{}", stderr(&shown));
    assert!(
        stdout(&shown).contains("9999-12-31T23:59:59.999Z"),
        "{}",
        stdout(&shown)
    );
}
