//! The first steps: a file to begin with, what is checked before anything runs, and how a trial would be started.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod program;

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use program::{Folder, code, stderr, stdout};
use serde_json::Value;

fn empty() -> Folder {
    let folder = Folder::new("", "");
    std::fs::remove_file(folder.path("study.toml")).unwrap();
    folder
}

#[test]
fn what_init_writes_gives_a_result_at_once() {
    let folder = empty();

    let written = folder.run(&["init"]);
    let checked = folder.run(&["check", "study.toml"]);
    let run = folder.run(&["run", "study.toml", "--quiet", "--json"]);

    assert!(written.status.success(), "{}", stderr(&written));
    assert!(checked.status.success(), "{}", stderr(&checked));
    assert!(run.status.success(), "{}", stderr(&run));
    let report: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(
        (&report["told"], &report["failed"]),
        (&30.into(), &0.into())
    );
    assert!(report["best"]["value"].as_f64().unwrap() < 0.12, "{report}");
    assert!(
        folder
            .read("study.toml")
            .starts_with("#:schema ./mivabo.schema.json\n")
    );
    let schema = stdout(&folder.run(&["schema"]));
    assert_eq!(folder.read("mivabo.schema.json"), schema);
}

#[test]
fn init_asks_again_after_a_typo_and_keeps_the_other_answers() {
    let folder = empty();

    let (shown, exit) = folder.on_terminal(&["init"], "net\nup\nMaximize\npython3 \"a\n\n");

    assert_eq!(exit, 0, "{shown}");
    assert!(
        shown.contains("expected minimize or maximize, not `up`"),
        "{shown}"
    );
    assert!(shown.contains("a quote may be missing"), "{shown}");
    assert_eq!(shown.matches("name of the study").count(), 1, "{shown}");
    let file = folder.read("study.toml");
    assert!(
        file.contains("name = \"net\"") && file.contains("direction = \"maximize\""),
        "{file}"
    );
    assert!(file.contains("1 - loss"), "{file}");
    assert!(folder.run(&["check", "study.toml"]).status.success());
}

#[test]
fn init_writes_nothing_where_the_answers_end_early() {
    let folder = empty();

    let (shown, exit) = folder.on_terminal(&["init"], "net\n\u{4}");

    assert_eq!(exit, 1, "{shown}");
    assert!(shown.contains("nothing was written"), "{shown}");
    assert!(!folder.path("study.toml").exists() && !folder.path("mivabo.schema.json").exists());
}

#[test]
fn init_adds_no_option_that_the_command_has() {
    let folder = empty();
    let command = "sh train.sh --lr {lr} --units=64 {augment}";

    let (shown, _) = folder.on_terminal(&["init"], &format!("\n\n{command}\n"));

    let expected = r#"command = ["sh", "train.sh", "--lr", "{lr}", "--units=64", "{augment}", "--layers", "{layers}", "--optimizer", "{optimizer}", "--momentum", "{momentum}"]"#;
    let file = folder.read("study.toml");
    assert!(file.contains(expected), "{shown}{file}");
}

#[test]
fn a_line_with_words_of_the_shell_is_given_to_one() {
    let folder = empty();

    folder.on_terminal(&["init"], "\n\ncd src && ./train | tail -1\n");

    let file = folder.read("study.toml");
    assert!(
        file.contains(r#"shell = "cd src && ./train | tail -1""#),
        "{file}"
    );
}

/// What `check` and `run` say of an objective.
fn said(folder: &Folder, objective: &str) -> [String; 2] {
    let space = "[parameters]\nmode = { type = 'choice', values = ['a', 'b'] }\n";
    folder.write(
        "study.toml",
        &format!("{space}[objective]\n{objective}\n[run]\ntrials = 1\nstrategy = 'random'\n"),
    );
    ["check", "run"].map(|command| stderr(&folder.run(&[command, "study.toml"])))
}

#[test]
fn check_finds_programs_that_do_not_exist_or_are_not_executable() {
    let folder = empty();
    folder.write("plain.sh", "echo 1");
    folder.write("run_a", "#!/bin/sh\necho 1\n");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path("run_a"), executable).unwrap();
    for (objective, expected) in [
        (
            "command = ['no-such-program']",
            "there is no program `no-such-program` on the PATH",
        ),
        ("command = ['./nothing.sh']", "nothing.sh`"),
        ("command = ['./plain.sh']", "plain.sh` is not executable"),
        (
            "command = ['python3', 'train.py']",
            "train.py`, which `python3` should run",
        ),
        (
            "command = ['sh', 'train.sh']",
            "train.sh`, which `sh` should run",
        ),
    ] {
        for said in said(&folder, objective) {
            assert!(said.contains(expected), "{objective}: {said}");
        }
    }
    // A run would meet these at some point only, or leave them to the shell.
    for (objective, expected) in [
        ("command = ['./run_{mode}']", "run_b`"),
        (
            "shell = 'no-such-program $MIVABO_MODE'",
            "there is no program `no-such-program`",
        ),
        ("shell = 'if true'", "shell: the line cannot be read"),
    ] {
        let [checked, _] = said(&folder, objective);
        assert!(checked.contains(expected), "{objective}: {checked}");
    }
}

#[test]
fn check_takes_what_runs() {
    let folder = empty();
    folder.write("plain.sh", "echo 1");
    for objective in [
        "command = ['sh', 'plain.sh']",
        "command = ['sh', '-c', 'echo 1']",
        "command = ['env', 'sh', 'plain.sh']",
        "shell = 'if true; then echo 1; fi'",
        "shell = 'X=1 no-such-program; echo 1'",
        "shell = 'no-such-program || echo 1'",
        "shell = 'echo 1'",
        "shell = './plain.sh; echo 1'",
    ] {
        if objective.contains("./plain.sh") {
            let executable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(folder.path("plain.sh"), executable).unwrap();
        }
        let [checked, run] = said(&folder, objective);
        assert_eq!(checked, "", "{objective}");
        assert!(!run.contains("error"), "{objective}: {run}");
    }
}

#[test]
fn a_dry_run_shows_the_first_trial_and_leaves_nothing_behind() {
    let folder = Folder::new(
        "command = [\"sh\", \"objective.sh\", \"--x={x}\", \"{m}\"]\nenv = { OMP_NUM_THREADS = \"1\" }",
        "trials = 2\nseed = 3",
    );
    folder.write("objective.sh", "echo ran > ran; echo 1");

    let text = folder.run(&["run", "study.toml", "--dry-run"]);
    let json = folder.run(&["run", "study.toml", "--dry-run", "--json"]);

    assert!(text.status.success(), "{}", stderr(&text));
    let report: Value = serde_json::from_slice(&json.stdout).unwrap();
    let x = report["params"]["x"].to_string();
    let text = stdout(&text);
    for expected in [
        format!("\n  x = {x}\n"),
        format!(" objective.sh '--x={x}'\n"),
        format!("  MIVABO_X={x}\n"),
        "  MIVABO_TRIAL=0\n  MIVABO_X".to_owned(),
        "  OMP_NUM_THREADS=1\n".to_owned(),
        format!("{{\"x\":{x},"),
    ] {
        assert!(text.contains(&expected), "{expected}: {text}");
    }
    assert!(report["command"][0].as_str().unwrap().starts_with('/'));
    let left: Vec<_> = std::fs::read_dir(folder.path("")).unwrap().collect();
    assert_eq!(left.len(), 2, "{left:?}");
    // A run begins with the very same point.
    folder.run(&["run", "study.toml"]);
    assert_eq!(folder.trials()[0]["params"], report["params"]);
    assert_eq!(folder.read("ran"), "ran\n");
}

#[test]
fn the_command_of_the_best_trial_can_be_pasted_and_gives_its_value_again() {
    for objective in [
        // All that it needs is in its arguments.
        "command = [\"sh\", \"objective.sh\", \"{x}\", \"{n}\", \"{m}\"]",
        "command = [\"sh\", \"objective.sh\"]\nenv = { A = \"two words\" }",
        "shell = '''sh objective.sh\n'''",
    ] {
        let folder = Folder::new(objective, "trials = 6");
        // Its input is read where there are no arguments.
        let script = "if [ $# = 0 ]; then x=$(sed 's/.*\"x\":\\([^,]*\\).*/\\1/'); test \"$x\" = \"$MIVABO_X\" || exit 1; else x=$1; fi; echo \"$x\"";
        folder.write("objective.sh", script);
        let run = folder.run(&["run", "study.toml", "--quiet"]);
        assert!(run.status.success(), "{}", stderr(&run));

        let text = stdout(&folder.run(&["best", "study.toml"]));
        let json = folder.run(&["best", "study.toml", "--json"]);

        let report: Value = serde_json::from_slice(&json.stdout).unwrap();
        let line = report["command"].as_str().unwrap();
        assert!(text.contains(&format!("command\n  {line}\n")), "{text}");
        let mut shell = Command::new("sh");
        let output = shell
            .args(["-c", line])
            .current_dir(folder.path(""))
            .output();
        let value: f64 = stdout(&output.unwrap()).trim().parse().unwrap();
        assert_eq!(Some(value), report["best"]["value"].as_f64(), "{line}");
        assert_eq!(line.contains("MIVABO_X="), !objective.contains("{x}"));
    }
}

#[test]
fn the_command_of_the_best_trial_works_from_another_folder() {
    let folder = Folder::new("command = [\"./o.sh\", \"{x}\"]", "trials = 1");
    folder.write("o.sh", "#!/bin/sh\necho $1\n");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path("o.sh"), executable).unwrap();
    assert!(folder.run(&["run", "study.toml"]).status.success());
    let study = folder.path("study.toml");

    let best = Command::new(env!("CARGO_BIN_EXE_mivabo"))
        .args(["best", study.to_str().unwrap(), "--json"])
        .current_dir("/")
        .output();
    let database = folder.run(&["best", "study.db", "--json"]);

    let report: Value = serde_json::from_slice(&best.unwrap().stdout).unwrap();
    let line = report["command"].as_str().unwrap();
    let output = Command::new("sh")
        .args(["-c", line])
        .current_dir("/")
        .output();
    let value: f64 = stdout(&output.unwrap()).trim().parse().unwrap();
    assert_eq!(Some(value), report["best"]["value"].as_f64(), "{line}");
    // A database does not know what evaluates its trials.
    assert!(!stdout(&database).contains("\"command\""));
}

#[test]
fn bash_completes_files_where_a_study_belongs() {
    let folder = empty();
    folder.write(
        "complete.bash",
        &stdout(&folder.run(&["completions", "bash"])),
    );
    let script = r#"
source ./complete.bash
try() {
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
    _mivabo mivabo "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
    echo "${COMPREPLY[*]}"
}
try mivabo che
try mivabo check ""
try mivabo check st
try mivabo tell study.toml ""
try mivabo check --j
try mivabo completions z
try mivabo export a.db --format ""
complete -p mivabo
"#;
    let Ok(output) = Command::new("bash")
        .args(["-c", script])
        .current_dir(folder.path(""))
        .output()
    else {
        eprintln!("skipped: there is no bash");
        return;
    };

    let text = stdout(&output);
    let lines: Vec<&str> = text.lines().collect();
    // Where nothing is offered, bash offers files itself: that is what `-o default` means.
    assert_eq!(
        lines[..7],
        ["check", "", "", "", "--json", "zsh", "csv json"],
        "{}",
        stderr(&output)
    );
    assert!(lines[7].contains("-o default"), "{text}");
}

#[test]
fn usage_lines_are_in_the_order_in_which_people_type() {
    let folder = empty();
    let usage = |command: &str| {
        let help = stdout(&folder.run(&[command, "--help"]));
        let line = help.lines().find(|line| line.starts_with("Usage: "));
        line.unwrap().to_owned()
    };

    assert_eq!(
        usage("tell"),
        "Usage: mivabo tell <STUDY> [TRIAL] [VALUE] [OPTIONS]"
    );
    assert_eq!(
        usage("import"),
        "Usage: mivabo import <STUDY> <RESULTS> [OPTIONS]"
    );
    assert_eq!(usage("init"), "Usage: mivabo init [STUDY]");
    let wrong = folder.run(&["tell", "--result"]);
    assert_eq!(code(&wrong), 2);
}
