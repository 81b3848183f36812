//! What users read: calls that can be pasted, nothing that a terminal obeys, and a sentence for each mistake.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod program;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Output};

use nix::pty::openpty;
use program::{Folder, SPACE, code, stderr, stdout};
use serde_json::{Value, json};

/// What a shell makes of a line in which `mivabo` is the program.
fn shell(folder: &Folder, shell: &str, line: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_mivabo"));
    let path = format!(
        "{}:{}",
        program.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    Command::new(shell)
        .args(["-c", line])
        .env("PATH", path)
        .current_dir(folder.path(""))
        .output()
        .unwrap()
}

/// The calls of this program that a message suggests.
fn suggested(message: &str) -> Vec<&str> {
    let calls = message.split("`mivabo ").skip(1);
    calls.map(|rest| rest.split('`').next().unwrap()).collect()
}

const ODD_NAME: &str = "it's \"my\" $(study); x.toml";

#[test]
fn a_call_that_a_message_suggests_can_be_pasted_into_a_shell() {
    let folder = Folder::script(
        "echo '{\"value\": -1e-7, \"note\": \"it'\\''s\", \"size\": 3}'",
        "",
        "trials = 1",
    );
    folder.write(ODD_NAME, &folder.read("study.toml"));
    let said = [
        folder.run(&["best", ODD_NAME]),
        folder.run(&["run", ODD_NAME]),
        folder.run(&["init", "new $(study).toml"]),
    ];
    folder.write("train.py", "");

    for said in said.iter().map(stderr) {
        let calls = suggested(&said);
        assert!(!calls.is_empty(), "{said}");
        for call in calls {
            let pasted = shell(&folder, "sh", &format!("mivabo {call}"));
            assert_eq!(code(&pasted), 0, "{call}: {}", stderr(&pasted));
        }
    }
}

#[test]
fn the_call_that_tells_a_value_keeps_all_that_was_measured() {
    // The database is away while the value comes.
    let script = "mv *.db away; echo '{\"value\": -1e-7, \"note\": \"it'\\''s\", \"size\": 3}'";
    let folder = Folder::script(script, "", "trials = 1");
    folder.write(ODD_NAME, &folder.read("study.toml"));

    let broken_off = folder.run(&["run", ODD_NAME]);

    let said = stderr(&broken_off);
    let call = suggested(&said)
        .into_iter()
        .find(|call| call.starts_with("tell"));
    let call = call.unwrap_or_else(|| panic!("{said}"));
    let database = ODD_NAME.replace(".toml", ".db");
    std::fs::rename(folder.path("away"), folder.path(&database)).unwrap();
    let pasted = shell(&folder, "sh", &format!("mivabo {call}"));
    assert_eq!(code(&pasted), 0, "{call}: {}", stderr(&pasted));
    let shown = stdout(&folder.run(&["show", ODD_NAME, "--json"]));
    let trial: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(trial["value"], -1e-7);
    assert_eq!(trial["measured"]["size"], 3.0);
    assert_eq!(trial["result"]["note"], "it's");
}

/// Names and values that a terminal would obey, or that turn the direction of writing around.
const OBEYED: &str = "[constraints]\n\"few\u{202e}\" = \"`n\u{2066}` <= 8\"\n[parameters]\n\
    \"n\u{2066}\" = { type = \"int\", low = 1, high = 9 }\n\
    t = { type = \"choice\", values = [\"a\\u001b[2J\\u0007\", \"b\\u009b31m\\n\\u007f\"] }\n\
    [objective]\ncommand = [\"sh\", \"objective.sh\"]\n[run]\ntrials = 4\nstrategy = \"random\"\n";

fn is_obeyed(c: char) -> bool {
    let turns = ['\u{61c}', '\u{200e}', '\u{200f}'].contains(&c)
        || ('\u{202a}'..='\u{202e}').contains(&c)
        || ('\u{2066}'..='\u{2069}').contains(&c);
    turns || c.is_control() && c != '\n' && c != '\t'
}

#[test]
fn what_a_terminal_would_obey_is_shown_and_not_sent() {
    let folder = Folder::new("", "");
    let odd = "s\u{1b}[2J\u{9b}31m\u{202e}";
    let study = format!("{odd}.toml");
    folder.write(&study, &format!("name = 'a\u{202e}b'\n{OBEYED}"));
    folder.write(
        "objective.sh",
        "printf 'bad \\033[2J\\302\\233 reason\\n' >&2; [ $MIVABO_TRIAL != 1 ] && echo 1",
    );
    folder.write(
        "rows.csv",
        &format!("t,n\u{2066},value,{odd}\na\u{1b}[2J\u{7},9,1,x\n"),
    );
    folder.write(
        "rows.json",
        &format!("[{{\"t\": \"{odd}\", \"value\": 1}}]").replace('\u{1b}', "\\u001b"),
    );
    folder.write(
        "instance",
        &format!("{{\"name\": \"\u{9b}\", \"{odd}\": 1}}"),
    );
    folder.write(
        "wrong.toml",
        &format!("{OBEYED}storage = '{odd}'\n[{odd}]\n"),
    );
    let database = study.replace(".toml", ".db");
    let calls: [&[&str]; 22] = [
        &["check", &study],
        &["check", &study, "--json"],
        &["check", odd],
        &["check", "wrong.toml"],
        &["ask", &study],
        &["run", &study, "--dry-run"],
        &["run", &study],
        &["list", &database],
        &["best", &study],
        &["best", &study, "--json"],
        &["best", &study, "--recommend"],
        &["show", &study],
        &["show", &study, "--json"],
        &["show", &study, "--study", odd],
        &["import", &study, "rows.csv"],
        &["import", &study, "rows.json"],
        &["tell", &study, "0", "--failed", odd],
        &["tell", &study, "1", "--failed", odd],
        &["tell", &study, "0", "1", "--result", odd],
        &["tell", &study, odd],
        &["solve", "instance"],
        &["report", &study, "--out", "/dev/null/\u{1b}[2J"],
    ];

    for call in calls {
        let output = folder.run(call);
        let said = stdout(&output) + &stderr(&output);
        assert!(!said.contains(is_obeyed), "{call:?}: {said:?}");
    }
    let log = folder.read(&format!("{odd}.db.logs/a%E2%80%AEb/000002.log"));
    let ours: String = log.lines().filter(|line| line.starts_with("---")).collect();
    assert!(!ours.contains(is_obeyed), "{ours:?}");
}

#[test]
fn data_is_whole_in_a_file_and_safe_on_a_terminal() {
    let folder = Folder::new("", "");
    folder.write("study.toml", OBEYED);
    folder.write("objective.sh", "");
    folder.run(&["ask", "study.toml", "--count", "4"]);

    let in_a_file = stdout(&folder.run(&["export", "study.toml"]));
    let terminal = openpty(None, None).unwrap();
    let mut command = folder.command(&["export", "study.toml"]);
    let mut child = command.stdout(terminal.slave).spawn().unwrap();
    drop(command);
    assert!(child.wait().unwrap().success());
    let mut on_a_terminal = vec![0; 1 << 16];
    let n = File::from(terminal.master)
        .read(&mut on_a_terminal)
        .unwrap();
    // A terminal has its own line ends.
    let on_a_terminal = String::from_utf8_lossy(&on_a_terminal[..n]).replace("\r\n", "\n");

    assert!(in_a_file.contains("a\u{1b}[2J\u{7}"), "{in_a_file:?}");
    assert!(!on_a_terminal.contains(is_obeyed), "{on_a_terminal:?}");
    assert!(
        on_a_terminal.contains("a\\u001b[2J\\u0007"),
        "{on_a_terminal:?}"
    );
}

#[test]
fn a_limit_on_the_size_of_files_is_said_and_nothing_is_lost() {
    let folder = Folder::script("echo 1", "", "trials = 3");
    folder.run(&["ask", "study.toml"]);
    folder.run(&["tell", "study.toml", "0", "1"]);
    folder.write(
        "rows.csv",
        &format!("n,x,m,value\n{}", "1,0.5,,1\n".repeat(3_000)),
    );
    let before = folder.trials();

    for (call, limits) in [
        ("import study.toml rows.csv", [0, 8, 64]),
        ("ask study.toml", [0, 1, 8]),
        ("run study.toml", [0, 1, 8]),
    ] {
        for blocks in limits {
            let limited =
                format!("ulimit -f {blocks}; mivabo {call} 2>&1 | cat; exit ${{PIPESTATUS[0]}}");
            let output = shell(&folder, "bash", &limited);
            let said = stdout(&output);
            assert_eq!(code(&output), 1, "{call} {blocks}: {said}");
            assert!(
                said.contains("the limit on the size of files (`ulimit -f`); nothing was changed"),
                "{call} {blocks}: {said}"
            );
        }
    }

    assert_eq!(folder.trials(), before);
    let imported = folder.run(&["import", "study.toml", "rows.csv"]);
    assert!(imported.status.success(), "{}", stderr(&imported));
}

#[test]
fn an_empty_file_stays_empty_where_a_study_was_expected() {
    let folder = Folder::new("command = [\"true\"]", "");
    folder.write("empty.db", "");

    for call in [
        &["ask", "empty.db"] as &[&str],
        &["tell", "empty.db", "0", "1"],
        &["show", "empty.db"],
        &["import", "empty.db", "study.toml"],
    ] {
        let refused = folder.run(call);
        assert_eq!(code(&refused), 1);
        assert!(
            stderr(&refused).contains("it is empty: there is no study in it"),
            "{}",
            stderr(&refused)
        );
        assert_eq!(folder.read("empty.db"), "", "{call:?}");
    }
    assert!(!folder.path("empty.db-wal").exists());
}

#[test]
fn a_placeholder_in_the_program_text_of_a_shell_is_refused() {
    let folder = Folder::new("command = ['sh', '-c', 'echo {n}']", "trials = 1");

    let refused = folder.run(&["run", "study.toml"]);

    assert_eq!(code(&refused), 1);
    let said = stderr(&refused);
    assert!(
        said.contains("`{n}` stands in a text that `sh` runs"),
        "{said}"
    );
    assert!(
        said.contains("\nhint: write \"$1\" there, in quotes"),
        "{said}"
    );
    assert!(!folder.path("study.db").exists());
}

#[test]
fn an_objective_is_heard_even_where_the_ends_of_children_are_ignored() {
    let folder = Folder::script("(exit 3); [ $? = 3 ] && echo 0.5", "", "trials = 2");

    let output = shell(&folder, "bash", "trap '' CHLD; exec mivabo run study.toml");

    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(folder.trials()[1]["value"], 0.5);
}

#[test]
fn the_same_told_again_is_no_mistake_and_another_value_is() {
    let folder = Folder::new("command = [\"true\"]", "");
    folder.run(&["ask", "study.toml", "--count", "4"]);
    let line = "{\"trial\": 1, \"value\": 2.5, \"result\": {\"a\": 1, \"note\": \"x\"}}\n";
    let alone = ["tell", "study.toml", "0", "1.5"];
    assert!(folder.run(&alone).status.success());
    assert!(
        folder
            .run_with(&["tell", "study.toml"], line)
            .status
            .success()
    );
    let before = folder.trials();

    let again = [
        folder.run(&alone),
        folder.run_with(&["tell", "study.toml"], line),
        folder.run_with(&["tell", "study.toml"], &line.repeat(2)),
    ];
    let others = [
        folder.run(&["tell", "study.toml", "0", "1.25"]),
        folder.run(&["tell", "study.toml", "0", "--failed", "no"]),
        folder.run(&["tell", "study.toml", "0", "1.5", "--result", "{\"a\": 1}"]),
        folder.run_with(&["tell", "study.toml"], &line.replace("\"x\"", "\"y\"")),
    ];

    for again in again {
        assert_eq!(code(&again), 0, "{}", stderr(&again));
        let said = stderr(&again);
        assert!(
            said.starts_with("told the same before, and left as it was: trial"),
            "{said}"
        );
    }
    for other in others {
        assert_eq!(code(&other), 1);
        assert!(
            stderr(&other).contains("was already told"),
            "{}",
            stderr(&other)
        );
    }
    assert_eq!(folder.trials(), before);
}

#[test]
fn a_batch_of_tells_is_stored_as_a_whole_or_not_at_all() {
    let folder = Folder::new("command = [\"true\"]", "");
    folder.run(&["ask", "study.toml", "--count", "3"]);
    let good = "{\"trial\": 0, \"value\": 1}\n{\"trial\": 1, \"failed\": \"no\"}\n";

    for (bad, said) in [
        (
            "{\"trial\": 7, \"value\": 1}",
            "line 3: there is no trial 7",
        ),
        (
            "{\"trial\": 0, \"value\": 2}",
            "line 3: trial 0 was already told",
        ),
        ("{\"trial\": 2}", "line 3: expected either a `value`"),
        ("{\"trial\": 2, \"value\": }", "line 3: "),
    ] {
        let refused = folder.run_with(&["tell", "study.toml"], &format!("{good}{bad}\n"));
        assert_eq!(code(&refused), 1);
        assert!(stderr(&refused).contains(said), "{}", stderr(&refused));
        assert!(
            stderr(&refused).contains("nothing was stored"),
            "{}",
            stderr(&refused)
        );
        assert!(
            folder
                .trials()
                .iter()
                .all(|trial| trial["state"] == "running")
        );
    }
    let told = folder.run_with(&["tell", "study.toml"], good);
    assert_eq!(stderr(&told), "");
    assert_eq!(folder.trials()[1]["state"], "failed");
}

#[test]
fn numbers_that_mean_nothing_are_said() {
    let folder = Folder::new("command = [\"true\"]", "");
    let said = |arguments: &[&str]| {
        let output = folder.run(arguments);
        assert_eq!(code(&output), 2, "{arguments:?}");
        stderr(&output)
    };

    assert!(said(&["ask", "study.toml", "--lease", "0s"]).contains("`0s` is less than 100 ms"));
    assert!(said(&["ask", "study.toml", "--lease", "1ms"]).contains("`1ms` is less than 100 ms"));
    assert!(
        said(&["ask", "study.toml", "--lease", "soon"])
            .contains("`soon` is not a duration; write it like")
    );
    for arguments in [
        ["ask", "study.toml", "--count", "0"],
        ["show", "study.toml", "--best", "0"],
    ] {
        assert!(said(&arguments).contains("expected a whole number, 1 or more"));
    }
    for arguments in [
        ["run", "study.toml", "--trials", "-3"],
        ["run", "study.toml", "--seed", "x"],
    ] {
        assert!(said(&arguments).contains("expected a whole number, 0 or more"));
    }
    folder.run(&["ask", "study.toml"]);
    let told = folder.run(&["tell", "study.toml", "0", "nan"]);
    assert_eq!(code(&told), 0);
    assert_eq!(
        stderr(&told),
        "trial 0 counts as failed: the value is NaN\n"
    );
}

#[test]
fn what_was_evaluated_is_counted_and_reasons_have_a_heading() {
    let folder = Folder::new("command = [\"true\"]", "");
    folder.run(&["ask", "study.toml", "--count", "10"]);
    folder.run(&["tell", "study.toml", "0", "1.5"]);
    let header = || {
        let shown = stdout(&folder.run(&["show", "study.toml"]));
        shown.lines().next().unwrap().to_owned()
    };
    assert!(!header().contains("reason"));
    folder.run(&["tell", "study.toml", "1", "--failed", "out of memory"]);

    let best = stdout(&folder.run(&["best", "study.toml"]));

    assert!(
        best.starts_with("best of 2 trials: 1.5 (trial 0)\n"),
        "{best}"
    );
    assert!(header().ends_with("  reason"), "{}", header());
}

#[test]
fn a_finished_study_that_is_run_again_says_how_to_go_on() {
    let folder = Folder::script("echo 1", "", "trials = 2");
    let first = stderr(&folder.run(&["run", "study.toml"]));

    let again = folder.run(&["run", "study.toml"]);

    assert!(!first.contains("nothing was left to do"), "{first}");
    assert_eq!(code(&again), 0);
    assert_eq!(
        stderr(&again),
        "nothing was left to do: the study has 2 trials, and 2 were asked for\n\
         hint: for more, raise `trials` in [run] or pass --trials N\n\
         `mivabo report study.toml` shows more\n"
    );
}

#[test]
fn a_sheet_with_other_separators_is_called_one() {
    let folder = Folder::new("command = [\"true\"]", "");
    for (separator, name) in [(";", "semicolons"), ("\t", "tabs")] {
        folder.write("a.csv", &"n,x,value\n1,0.5,2\n".replace(',', separator));

        let refused = folder.run(&["import", "study.toml", "a.csv"]);

        let expected = format!(
            "error: a.csv: line 1: the cells are separated by {name}; expected commas, and points in decimal numbers\n"
        );
        assert_eq!(stderr(&refused), expected);
    }
    folder.write("b.csv", "n,x,value\n1\n");
    let refused = folder.run(&["import", "study.toml", "b.csv"]);
    assert!(stderr(&refused).contains("line 2 has 1 cell, but the header has 3"));
}

/// What somebody sees of each trial, but for when and by whom it was told.
fn outcomes(folder: &Folder, file: &str) -> Vec<Value> {
    let shown = stdout(&folder.run(&["show", file, "--json"]));
    let trials = shown
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let kept = trials.map(|trial: Value| {
        let part = |key: &str| trial[key].clone();
        json!([
            part("params"),
            part("state"),
            part("value"),
            part("measured"),
            part("reason"),
            part("result")
        ])
    });
    kept.collect()
}

#[test]
fn what_failed_trials_measured_goes_out_and_comes_back() {
    for (goal, tells) in [
        (
            "loss",
            r#"{"trial": 0, "value": 0.5, "result": {"value": "0.25", "size": 3.5}}
               {"trial": 1, "failed": "late", "result": {"size": 4.5, "note": "a"}}
               {"trial": 2, "value": 0.75}
               {"trial": 3, "failed": "later", "result": {"size": 1.5, "value": "x"}}"#,
        ),
        (
            "value",
            r#"{"trial": 0, "value": 0.5, "result": {"value": "much", "size": 3.5}}
               {"trial": 1, "failed": "late", "result": {"value": "none", "size": 4.5}}
               {"trial": 2, "value": 0.75}
               {"trial": 3, "failed": "later"}"#,
        ),
    ] {
        let folder = Folder::new("", "");
        for name in ["study", "csv", "json"] {
            let aims = format!("name = 'a'\ngoals = {{ {goal} = 'minimize' }}\n");
            folder.write(
                &format!("{name}.toml"),
                &format!("{aims}{SPACE}[run]\nstrategy = 'random'\n"),
            );
        }
        folder.run(&["ask", "study.toml", "--count", "4"]);
        let told = folder.run_with(&["tell", "study.toml"], tells);
        assert!(told.status.success(), "{}", stderr(&told));

        for format in ["csv", "json"] {
            let exported = stdout(&folder.run(&["export", "study.toml", "--format", format]));
            let (file, copy) = (format!("trials.{format}"), format!("{format}.toml"));
            folder.write(&file, &exported);
            let imported = folder.run(&["import", &copy, &file]);
            assert!(imported.status.success(), "{}", stderr(&imported));

            assert_eq!(
                outcomes(&folder, &copy),
                outcomes(&folder, "study.toml"),
                "{exported}"
            );
        }
    }
}

#[test]
fn the_number_of_the_goal_that_a_failed_trial_measured_comes_back() {
    let script = "echo '{\"loss\": 0.5, \"size\": 7}'; exit 3";
    let folder = Folder::script(script, "", "trials = 1");
    let text = folder.read("study.toml");
    for name in ["study", "csv", "json"] {
        let aims = "name = 'a'\ngoals = { loss = 'minimize' }";
        folder.write(&format!("{name}.toml"), &format!("{aims}\n{text}"));
    }
    folder.run(&["run", "study.toml"]);
    assert_eq!(
        folder.trials()[0]["measured"],
        json!({ "loss": 0.5, "size": 7.0 })
    );

    for format in ["csv", "json"] {
        let exported = stdout(&folder.run(&["export", "study.toml", "--format", format]));
        let (file, copy) = (format!("trials.{format}"), format!("{format}.toml"));
        folder.write(&file, &exported);
        folder.run(&["import", &copy, &file]);

        let shown = stdout(&folder.run(&["show", &copy, "--json"]));
        let trial: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(
            trial["measured"],
            json!({ "loss": 0.5, "size": 7.0 }),
            "{exported}"
        );
        assert_eq!(
            (&trial["state"], &trial["reason"]),
            (&json!("failed"), &json!("exit code 3"))
        );
    }
}
