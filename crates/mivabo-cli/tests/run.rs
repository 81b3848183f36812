//! Whole runs: what objectives may do, what users may do meanwhile, and what is left afterwards.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod program;

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use program::{Folder, code, snapshot, stderr, stdout};

/// Waits until something is so, at most for some seconds.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..1_000 {
        if is_so() {
            return;
        }
        sleep(Duration::from_millis(20));
    }
    panic!("never: {what}");
}

fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
}

#[test]
fn a_run_ends_with_the_best_point_and_how_it_meets_the_constraints() {
    let folder = Folder::new("builtin = \"pressure-vessel\"", "trials = 12\nseed = 1");
    let example = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/pressure-vessel.toml"
    ));
    folder.write(
        "study.toml",
        &example
            .unwrap()
            .replace("trials = 40", "trials = 8\nstrategy = \"random\""),
    );

    let text = folder.transcript(&["run", "study.toml", "--quiet"], "")
        + &folder.transcript(
            &["run", "study.toml", "--quiet", "--json", "--trials", "9"],
            "",
        );

    snapshot("run", &always_the_same(&text));
}

/// Without the times and the worker of a trial, which differ from run to run.
fn always_the_same(text: &str) -> String {
    let differs = ["worker", "created", "started", "finished", "seconds"];
    let is_same = |line: &&str| {
        let key = line.trim_start().trim_start_matches('"');
        !differs
            .iter()
            .any(|name| key.starts_with(&format!("{name}\":")))
    };
    let lines: Vec<&str> = text.split('\n').filter(is_same).collect();
    lines.join("\n")
}

#[test]
fn a_report_is_one_page_beside_the_study_file() {
    let folder = Folder::script("echo 0.5", "", "trials = 5");
    assert!(
        folder
            .run(&["run", "study.toml", "--quiet"])
            .status
            .success()
    );

    let written = folder.run(&["report", "study.toml"]);
    let printed = folder.run(&["report", "study.db", "--out", "-"]);

    assert_eq!(String::from_utf8_lossy(&written.stdout), "study.html\n");
    let page = folder.read("study.html");
    assert!(
        page.starts_with("<!DOCTYPE html>") && page.contains("small") && page.contains("<svg"),
        "{page}"
    );
    // The study file says what evaluates the trials, which a database does not know.
    let command = "<li>command <code>sh objective.sh</code></li>";
    assert!(page.contains(command));
    let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
    assert!(printed.starts_with("<!DOCTYPE html>") && !printed.contains(command));
}

#[test]
fn objectives_that_do_not_answer_fail_with_a_reason() {
    let mut reasons = String::new();
    for script in [
        "",
        "echo; echo ' '",
        "echo 1; echo garbage",
        "echo nan",
        "echo -inf",
        "echo 0.5 >&2",
        "echo '{\"loss\": 1}'",
        "echo '{\"value\": \"much\"}'",
        "printf '\\377\\376'",
        "echo 1; echo 'ValueError: no' >&2; exit 1",
        "exit 7",
        "kill -9 $$",
        "printf 'x%.0s' $(seq 1 3000)",
        "exec >&- 2>&-; exit 3",
    ] {
        let folder = Folder::script(script, "", "trials = 1");

        let output = folder.run(&["run", "study.toml"]);

        assert_eq!(code(&output), 3, "{script}: {}", stderr(&output));
        let trial = folder.trials().remove(0);
        writeln!(
            reasons,
            "{script:45}  {}",
            trial["reason"].as_str().unwrap()
        )
        .unwrap();
    }
    snapshot("reasons", &reasons);
}

#[test]
fn values_are_found_in_what_is_printed() {
    for (script, value) in [
        ("echo 9; echo 0.25; echo", 0.25),
        ("printf -- -3", -3.0),
        (
            "echo 'epoch 1'; echo '{\"value\": 1e-3, \"accuracy\": 0.9}'",
            1e-3,
        ),
        ("head -c 300000 /dev/zero >&2; echo 2", 2.0),
        ("exec 2>&-; echo 5", 5.0),
        ("cat > /dev/null; echo 4", 4.0),
    ] {
        let folder = Folder::script(script, "", "trials = 1");

        let output = folder.run(&["run", "study.toml"]);

        assert_eq!(code(&output), 0, "{script}: {}", stderr(&output));
        assert_eq!(folder.trials()[0]["value"], value, "{script}");
    }
}

#[test]
fn a_goal_and_a_limit_are_found_in_what_is_printed() {
    let folder = Folder::script(
        "echo \"{\\\"loss\\\": 0.$MIVABO_TRIAL, \\\"latency\\\": $MIVABO_TRIAL}\"",
        "",
        "trials = 4",
    );
    let text = folder.read("study.toml");
    let aims = "[goals]\nloss = 'maximize'\n[limits]\nlatency = '<= 2'\n";
    folder.write("study.toml", &format!("{aims}{text}"));

    let output = folder.run(&["run", "study.toml", "--quiet", "--json"]);

    assert!(output.status.success(), "{}", stderr(&output));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["best"]["measured"]["loss"], 0.2);
}

#[test]
fn what_a_failed_evaluation_measured_is_kept() {
    for (script, reason) in [
        ("echo '{\"value\": NaN, \"size\": 7}'", "the value is NaN"),
        ("echo '{\"loss\": 1, \"size\": 7}'", "has no number `value`"),
        ("echo '{\"size\": 7}'; exit 3", "exit code 3"),
    ] {
        let folder = Folder::script(script, "", "trials = 1");

        folder.run(&["run", "study.toml"]);

        let trial = &folder.trials()[0];
        assert_eq!(trial["measured"]["size"], 7.0, "{trial}");
        let said = trial["reason"].as_str().unwrap();
        assert!(said.contains(reason), "{said}");
    }
}

#[test]
fn an_objective_hears_its_values_in_three_ways() {
    let script =
        "printf '%s|' \"$@\" > args; cat > input; env | grep ^MIVABO_ | sort > env; echo 1";
    let folder = Folder::script(
        script,
        "env = { EXTRA = 'é $HOME' }",
        "trials = 1\nseed = 2",
    );
    let command = "command = [\"sh\", \"objective.sh\"";
    let placeholders = ", \"a{n}b\", \"{{n}}\", \"--m\", \"{m}\", \"--x={x}\"";
    let text = folder
        .read("study.toml")
        .replace(command, &format!("name = 1\n{command}{placeholders}"));
    folder.write(
        "study.toml",
        &format!("name = \"a study\"\n{}", text.replace("name = 1\n", "")),
    );

    let output = folder
        .command(&["run", "study.toml"])
        .env("MIVABO_M", "old")
        .output()
        .unwrap();

    assert!(output.status.success(), "{}", stderr(&output));
    let params = folder.trials().remove(0)["params"].take();
    let input: serde_json::Value = serde_json::from_str(&folder.read("input")).unwrap();
    assert_eq!(input, params);
    let (x, n, m) = (&params["x"], &params["n"], params.get("m"));
    let option = m.map_or(String::new(), |m| format!("--m|{m}|"));
    assert_eq!(folder.read("args"), format!("a{n}b|{{n}}|{option}--x={x}|"));
    let variable = m.map_or(String::new(), |m| format!("MIVABO_M={m}\n"));
    let others = format!("MIVABO_N={n}\nMIVABO_STUDY=a study\nMIVABO_TRIAL=0\nMIVABO_X={x}\n");
    assert_eq!(folder.read("env"), variable + &others);
}

#[test]
fn what_a_shell_would_obey_stays_data() {
    let odd = [
        "$(touch pwned)",
        "`touch pwned`",
        "; touch pwned #",
        "a' b\" \\ *",
        "-n",
        "line\nbreak",
        "{n}",
    ];
    let folder = Folder::new("", "");
    let values = serde_json::to_string(&odd).unwrap();
    let run = "[run]\nstrategy = \"random\"\ntrials = 7";
    for objective in [
        "command = [\"sh\", \"objective.sh\", \"{v}\"]",
        "shell = 'touch \"trial$MIVABO_TRIAL\"; printf %s \"$MIVABO_V\" > \"arg$MIVABO_TRIAL\"; echo 1'",
    ] {
        let space = format!("[parameters]\nv = {{ type = \"choice\", values = {values} }}");
        folder.write(
            "study.toml",
            &format!("{space}\n[objective]\n{objective}\n{run}"),
        );
        folder.write(
            "objective.sh",
            "printf %s \"$1\" > \"arg$MIVABO_TRIAL\"\necho 1\n",
        );
        let _ = std::fs::remove_file(folder.path("study.db"));

        let output = folder.run(&["run", "study.toml", "--quiet"]);

        assert!(output.status.success(), "{}", stderr(&output));
        for trial in folder.trials() {
            assert_eq!(
                folder.read(&format!("arg{}", trial["trial"])),
                trial["params"]["v"].as_str().unwrap()
            );
        }
        assert!(!folder.path("pwned").exists());
    }
}

#[test]
fn an_objective_that_hangs_is_stopped_with_all_its_children() {
    for (script, grace) in [
        ("sleep 100", "5s"),
        ("trap '' TERM; echo 1; while :; do sleep 0.1; done", "200ms"),
        ("sleep 100 & echo $! > pid; wait", "5s"),
        (
            "trap 'exit 0' TERM; (trap '' TERM; sleep 100) & echo $! > pid; wait",
            "5s",
        ),
    ] {
        let folder = Folder::script(
            script,
            &format!("timeout = '300ms'\nretries = 5\ngrace = '{grace}'"),
            "trials = 1",
        );
        let began = Instant::now();

        let output = folder.run(&["run", "study.toml"]);

        assert!(began.elapsed() < Duration::from_secs(4), "{script}");
        assert_eq!(code(&output), 3);
        assert_eq!(
            folder.trials()[0]["reason"],
            "timeout: it took longer than 300 ms"
        );
        if folder.path("pid").exists() {
            let pid: i32 = folder.read("pid").trim().parse().unwrap();
            until("its child is dead", || !is_alive(pid));
        }
    }
}

/// How often the threads of a process fell asleep so far.
#[cfg(target_os = "linux")]
fn sleeps(pid: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let statuses = tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("status")));
    let count = |status: std::io::Result<String>| -> u64 {
        let status = status.unwrap_or_default();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.map_or(0, |n| n.trim().parse().unwrap())
    };
    statuses.map(count).sum()
}

#[test]
#[cfg(target_os = "linux")]
fn a_run_that_waits_for_evaluations_sleeps_until_something_happens() {
    let script = "touch started.$MIVABO_TRIAL; while [ ! -e go ]; do sleep 0.05; done; echo 1";
    let folder = Folder::script(script, "timeout = '1h'", "trials = 2\nworkers = 2");
    let child = folder.start(&["run", "study.toml"]);
    until("both trials run", || {
        (0..2).all(|id| folder.path(&format!("started.{id}")).exists())
    });
    // Threads that have just begun come to rest.
    let mut before = 0;
    until("nothing moves", || {
        sleep(Duration::from_millis(200));
        std::mem::replace(&mut before, sleeps(child.id())) == before
    });

    sleep(Duration::from_secs(1));
    let after = sleeps(child.id());
    folder.write("go", "");
    let output = child.wait_with_output().unwrap();

    assert_eq!(after, before);
    assert!(output.status.success(), "{}", stderr(&output));
}

/// Whether a process runs; one that is dead and not yet waited for does not.
fn is_alive(pid: i32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state
        .rsplit(')')
        .next()
        .is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
}

#[test]
fn children_that_stay_behind_hold_nobody_up() {
    for script in [
        "sleep 100 & echo $! > pid; echo 3",
        "setsid sleep 8 & echo 3",
    ] {
        let folder = Folder::script(script, "", "trials = 1");
        let began = Instant::now();

        let output = folder.run(&["run", "study.toml"]);

        assert!(began.elapsed() < Duration::from_secs(4), "{script}");
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(folder.trials()[0]["value"], 3.0);
        if folder.path("pid").exists() {
            let pid: i32 = folder.read("pid").trim().parse().unwrap();
            until("what it left behind is dead", || !is_alive(pid));
        }
    }
}

#[test]
fn a_hundred_megabytes_of_output_fill_neither_memory_nor_disk() {
    let script = "head -c 100000000 /dev/zero | tr '\\0' 'x'; echo; echo 0.75";
    let folder = Folder::script(script, "", "trials = 1");
    let mut limited = Command::new("sh");
    let program = env!("CARGO_BIN_EXE_mivabo");
    // Half of what the output would need, for code and data together.
    limited.args([
        "-c",
        &format!("ulimit -v 150000 && exec {program} run study.toml"),
    ]);
    limited
        .env("MALLOC_ARENA_MAX", "1")
        .current_dir(folder.path(""));

    let output = limited.output().unwrap();

    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(folder.trials()[0]["value"], 0.75);
    let log = std::fs::metadata(folder.path("study.db.logs/study/000000.log")).unwrap();
    assert!((8 << 20..9 << 20).contains(&log.len()), "{}", log.len());
}

#[test]
fn what_fails_is_tried_again_as_often_as_said() {
    let script = "echo x >> tries; [ $(wc -l < tries) -ge 3 ] && echo 1";
    let folder = Folder::script(script, "retries = 2", "trials = 1");

    let output = folder.run(&["run", "study.toml"]);

    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(folder.trials()[0]["value"], 1.0);
    let log = folder.read("study.db.logs/study/000000.log");
    assert_eq!(log.matches("--- trial 0, attempt ").count(), 3);
    assert_eq!(log.matches("--- failed: exit code 1").count(), 2);
}

#[test]
fn an_objective_that_never_answers_is_given_up() {
    let folder = Folder::script("echo 'no license' >&2; exit 4", "", "trials = 100");

    let output = folder.run(&["run", "study.toml"]);

    assert_eq!(code(&output), 3);
    let last = stderr(&output).lines().last().unwrap().to_owned();
    assert!(
        last.contains("10 trials failed and none has a value")
            && last.contains("exit code 4: no license"),
        "{last}"
    );
    assert_eq!(folder.trials().len(), 10);
    let json: serde_json::Value =
        serde_json::from_slice(&folder.run(&["run", "study.toml", "--json"]).stdout).unwrap();
    assert_eq!(
        (&json["best"], &json["failed"]),
        (&serde_json::Value::Null, &20.into())
    );
}

#[test]
fn a_run_that_is_called_again_goes_on_as_if_it_had_never_stopped() {
    let (whole, parts) = (
        Folder::new("builtin = \"pressure-vessel\"", ""),
        Folder::new("builtin = \"pressure-vessel\"", ""),
    );
    let example = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/pressure-vessel.toml"
    ));
    for folder in [&whole, &parts] {
        folder.write("study.toml", example.as_ref().unwrap());
    }

    assert!(
        whole
            .run(&["run", "study.toml", "--trials", "9"])
            .status
            .success()
    );
    for trials in ["2", "6", "6", "9"] {
        assert!(
            parts
                .run(&["run", "study.toml", "--trials", trials])
                .status
                .success()
        );
    }

    let points = |folder: &Folder| {
        folder
            .trials()
            .iter()
            .map(|t| t["params"].to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(points(&whole), points(&parts));
    let other = stderr(&parts.run(&["run", "study.toml", "--seed", "7"]));
    assert!(
        other.contains("has results of another seed: seed was 1, is 7"),
        "{other}"
    );
}

#[test]
fn a_space_that_is_used_up_ends_the_run() {
    let folder = Folder::new("", "");
    folder.write(
        "study.toml",
        "[parameters]\na = { type = \"int\", low = 1, high = 3 }\n[objective]\nshell = 'echo $MIVABO_A'\n[run]\ntrials = 9\nworkers = 2",
    );

    let output = folder.run(&["run", "study.toml"]);

    assert!(output.status.success());
    assert!(
        stderr(&output).contains("every feasible point has been tried"),
        "{}",
        stderr(&output)
    );
    assert!(
        stdout(&output).starts_with("best of 3 trials: 1 "),
        "{}",
        stdout(&output)
    );
}

#[test]
fn processes_share_the_work() {
    let folder = Folder::script(
        "sleep 0.02; echo 1",
        "",
        "trials = 40\nworkers = 2\nlease = '5s'",
    );

    let children: Vec<Child> = (0..3)
        .map(|_| folder.start(&["run", "study.toml"]))
        .collect();
    let outputs: Vec<Output> = children
        .into_iter()
        .map(|child| child.wait_with_output().unwrap())
        .collect();

    for output in &outputs {
        assert!(output.status.success(), "{}", stderr(output));
    }
    let trials = folder.trials();
    assert!(trials.len() == 40 && trials.iter().all(|trial| trial["attempts"] == 1));
    let told: usize = outputs
        .iter()
        .map(|output| stderr(output).matches(": 1 in ").count())
        .sum();
    assert_eq!(told, 40);
    let working = outputs
        .iter()
        .filter(|output| stderr(output).contains(": 1 in "))
        .count();
    assert!(working >= 2, "{working}");
}

#[test]
fn one_interrupt_lets_running_trials_finish() {
    let folder = Folder::script(
        "touch started; sleep 1; echo 1",
        "",
        "trials = 9\nworkers = 2",
    );
    let child = folder.start(&["run", "study.toml"]);
    until("a trial runs", || folder.path("started").exists());

    send(&child, Signal::SIGINT);
    let output = child.wait_with_output().unwrap();

    assert_eq!(code(&output), 130);
    assert!(
        stderr(&output).contains("stopping: running trials finish first"),
        "{}",
        stderr(&output)
    );
    let trials = folder.trials();
    assert!(!trials.is_empty() && trials.len() <= 2);
    assert!(trials.iter().all(|trial| trial["state"] == "complete"));
}

#[test]
fn two_interrupts_kill_running_trials_and_give_them_back() {
    for signals in [vec![Signal::SIGINT, Signal::SIGINT], vec![Signal::SIGTERM]] {
        let folder = Folder::script("echo $$ > pid; sleep 100; echo 1", "", "trials = 9");
        let child = folder.start(&["run", "study.toml"]);
        until("a trial runs", || {
            folder.path("pid").exists() && !folder.read("pid").is_empty()
        });

        for signal in &signals {
            send(&child, *signal);
            sleep(Duration::from_millis(200));
        }
        let output = child.wait_with_output().unwrap();

        assert_eq!(code(&output), 128 + *signals.last().unwrap() as i32);
        assert_eq!(output.status.signal(), None);
        let pid: i32 = folder.read("pid").trim().parse().unwrap();
        until("the objective is dead", || !is_alive(pid));
        let trial = folder.trials().remove(0);
        assert_eq!(
            (&trial["state"], &trial["attempts"]),
            (&"waiting".into(), &0.into())
        );
    }
}

#[test]
fn a_second_sigterm_leaves_no_objective_behind_and_a_third_interrupt_does_not_wait() {
    for (signal, n, grace) in [(Signal::SIGTERM, 2, "2s"), (Signal::SIGINT, 3, "1h")] {
        let script = "trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done";
        let folder = Folder::script(script, &format!("grace = '{grace}'"), "trials = 9");
        let mut child = folder.start(&["run", "study.toml"]);
        until("a trial runs", || {
            folder.path("pid").exists() && !folder.read("pid").is_empty()
        });

        // Signals that come close together may be heard as one.
        for _ in 0..n {
            send(&child, signal);
            sleep(Duration::from_millis(500));
        }
        until("the program ends", || child.try_wait().unwrap().is_some());
        let output = child.wait_with_output().unwrap();

        assert_eq!(code(&output), 128 + signal as i32);
        assert!(!is_alive(folder.read("pid").trim().parse().unwrap()));
        assert_eq!(folder.trials()[0]["state"], "waiting");
    }
}

#[test]
fn every_value_that_cannot_be_stored_is_said() {
    let script = "touch started.$MIVABO_TRIAL; while [ ! -e moved ]; do sleep 0.05; done; echo $MIVABO_TRIAL.5";
    let folder = Folder::script(script, "", "trials = 9\nworkers = 3");
    let child = folder.start(&["run", "study.toml"]);
    until("three trials run", || {
        (0..3).all(|id| folder.path(&format!("started.{id}")).exists())
    });

    std::fs::rename(folder.path("study.db"), folder.path("elsewhere.db")).unwrap();
    folder.write("moved", "");
    let output = child.wait_with_output().unwrap();

    assert_eq!(code(&output), 1);
    for id in 0..3 {
        let hint = format!("`mivabo tell study.toml {id} {id}.5` stores it");
        assert!(stderr(&output).contains(&hint), "{}", stderr(&output));
    }
}

#[test]
fn what_is_wrong_is_said_before_anything_runs() {
    let folder = Folder::new("command = [\"sh\", \"{y}\"]", "");
    let mut text = String::new();
    for (objective, run) in [
        ("command = [\"sh\", \"{nn}\"]", "trials = 3"),
        ("command = [\"no-such-program\"]", "trials = 3"),
        ("command = [\"./study.toml\"]", "trials = 3"),
        ("command = [\"./none\"]", "trials = 3"),
        ("command = [\"true\"]\nbuiltin = \"x\"", "trials = 3"),
        ("builtin = \"pressure-vesel\"", "trials = 3"),
        ("builtin = \"pressure-vessel\"", "trials = 3"),
        ("comand = [\"true\"]", "trials = 3"),
        ("command = [\"true\"]\ntimeout = \"soon\"", "trials = 3"),
        ("command = \"true\"", "trials = 3"),
        ("command = [\"true\"]", ""),
        (
            "command = [\"true\"]",
            "trials = 3\nstorage = \"none/a.db\"",
        ),
        (
            "command = [\"true\"]",
            "trials = 3\nstorage = \"study.toml\"",
        ),
        ("command = [\"true\"]", "trials = 3\nstorage = \".\""),
    ] {
        let study = format!(
            "{}\n[objective]\n{objective}\n[run]\n{run}\n",
            program::SPACE.trim()
        );
        folder.write("study.toml", &study);
        writeln!(
            text,
            "{objective}; {run}\n{}",
            folder.transcript(&["run", "study.toml"], "").trim_end()
        )
        .unwrap();
        text.push('\n');
    }
    folder.write("study.toml", program::SPACE);
    text.push_str(&folder.transcript(&["run", "study.toml", "--trials", "1"], ""));
    for workers in ["0", "1025"] {
        text.push_str(&folder.transcript(&["run", "study.toml", "--workers", workers], ""));
    }
    snapshot("wrong_studies", &text);
}

/// What a run says whose sixth trial harms the database: every value that was told, in a form that can be imported.
fn said_after(harm: &str) -> String {
    let script = format!(r#"if [ "$MIVABO_TRIAL" = 5 ]; then {harm}; fi; echo 0.5$MIVABO_TRIAL"#);
    let folder = Folder::script(&script, "", "trials = 9");

    let output = folder.run(&["run", "study.toml"]);

    assert_eq!(code(&output), 1);
    let said = stderr(&output);
    assert!(
        said.contains("trial 5 has the value 0.55, which could not be stored"),
        "{said}"
    );
    assert!(said.contains("and that study.db lacks now: 5\n"), "{said}");
    let lost = &said[said.find("\n[{").unwrap()..=said.rfind("]\n").unwrap()];
    folder.write("lost.json", lost);
    // What the harm left of it.
    for part in ["study.db", "study.db-wal"] {
        std::fs::remove_file(folder.path(part)).ok();
    }
    let output = folder.run(&["import", "study.toml", "lost.json"]);
    assert!(
        stdout(&output).starts_with("imported 5 of 5 rows"),
        "{}",
        stderr(&output)
    );
    said
}

#[test]
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn a_database_that_is_cut_off_stops_the_run_which_names_all_that_was_told() {
    let said = said_after("truncate -s 0 study.db");

    assert!(
        said.contains("it was cut off while it was open: 0 of"),
        "{said}"
    );
}

#[test]
fn a_database_that_is_removed_stops_the_run_which_names_all_that_was_told() {
    said_after("rm study.db study.db-*");
}

#[test]
fn a_full_disk_or_a_read_only_one_is_one_clear_message() {
    let program = env!("CARGO_BIN_EXE_mivabo");
    let copy = "keep=$(cat study.toml); script=$(cat objective.sh); mount -t tmpfs -o size=1m none . && cd \"$PWD\"";
    let back = "printf '%s' \"$keep\" > study.toml; printf '%s' \"$script\" > objective.sh";
    for (script, message) in [
        (
            "head -c 2000000 /dev/zero > filler || true; PROGRAM run study.toml",
            "the disk is full",
        ),
        (
            "PROGRAM run study.toml --trials 1; mount -o remount,ro . ; PROGRAM run study.toml",
            "its disk or folder may be read-only",
        ),
    ] {
        let folder = Folder::script("echo 1", "", "trials = 9");
        let script = script.replace("PROGRAM", program);
        let mut unshare = Command::new("unshare");
        unshare.args([
            "--user",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            &format!("{copy}; {back}; {script}"),
        ]);
        let Ok(output) = unshare.current_dir(folder.path("")).output() else {
            continue;
        };
        if stderr(&output).contains("unshare:") {
            eprintln!("not possible here: {}", stderr(&output));
            continue;
        }

        assert_eq!(code(&output), 1, "{}", stderr(&output));
        assert!(
            stderr(&output).lines().last().unwrap().contains(message),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn a_study_that_is_named_is_the_one_that_is_told() {
    let folder = Folder::script("echo 1", "", "storage = \"s.db\"");
    let text = folder.read("study.toml");
    folder.write("a.toml", &format!("name = \"a\"\n{text}"));
    folder.write("b.toml", &format!("name = \"b\"\n{text}"));
    for file in ["a.toml", "b.toml"] {
        assert!(folder.run(&["ask", file]).status.success());
    }

    let told = folder.run(&["tell", "a.toml", "0", "-1e-5", "--study", "b"]);

    assert!(told.status.success(), "{}", stderr(&told));
    assert!(stdout(&folder.run(&["best", "b.toml"])).starts_with("best of 1 trial: -0.00001"));
    assert_eq!(code(&folder.run(&["best", "a.toml"])), 3);
}

#[test]
fn a_report_is_never_written_over_the_study() {
    let folder = Folder::script("echo 1", "", "trials = 2");
    folder.run(&["run", "study.toml", "--quiet"]);

    for out in ["study.db", "study.toml", "./study.db"] {
        let refused = folder.run(&["report", "study.toml", "--out", out]);
        assert_eq!(code(&refused), 1);
        assert!(
            stderr(&refused).contains("is the study itself"),
            "{}",
            stderr(&refused)
        );
    }
    assert_eq!(folder.trials().len(), 2);
}

#[test]
fn an_ask_hands_out_what_a_dead_worker_left() {
    let folder = Folder::new("builtin = \"pressure-vessel\"", "");
    folder.write(
        "study.toml",
        "[parameters]\nx = { type = \"int\", low = 1, high = 2 }\n",
    );
    assert!(
        folder
            .run(&["ask", "study.toml", "--lease", "1s", "--count", "2"])
            .status
            .success()
    );
    sleep(Duration::from_millis(1500));

    let again = folder.run(&["ask", "study.toml"]);

    assert!(
        stdout(&again).contains("\"trial\":0"),
        "{} {}",
        stdout(&again),
        stderr(&again)
    );
}

#[test]
fn a_standard_error_that_is_full_stops_no_run() {
    let folder = Folder::script("echo 1", "", "trials = 5");
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();

    let status = folder
        .command(&["run", "study.toml"])
        .stderr(full)
        .status()
        .unwrap();

    assert!(status.success());
    assert_eq!(folder.trials().len(), 5);
}

#[test]
fn studies_in_one_database_have_logs_of_their_own() {
    let folder = Folder::script(
        "echo \"$MIVABO_TRIAL of a study\"; echo 1",
        "",
        "storage = \"s.db\"\ntrials = 1",
    );
    let text = folder.read("study.toml");
    for name in ["a", "../a"] {
        folder.write("study.toml", &format!("name = \"{name}\"\n{text}"));
        assert!(
            folder
                .run(&["run", "study.toml", "--quiet"])
                .status
                .success()
        );
    }

    for log in ["s.db.logs/a/000000.log", "s.db.logs/%2E%2E%2Fa/000000.log"] {
        assert_eq!(
            folder.read(log).matches("--- trial 0, attempt 1").count(),
            1
        );
    }
}

#[test]
fn a_program_is_found_in_a_relative_folder_of_the_path() {
    let folder = Folder::new("command = [\"answer\"]", "trials = 1");
    folder.write("answer", "#!/bin/sh\necho 42\n");
    std::fs::set_permissions(
        folder.path("answer"),
        std::fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    std::fs::create_dir(folder.path("studies")).unwrap();
    std::fs::rename(folder.path("study.toml"), folder.path("studies/study.toml")).unwrap();

    let output = folder
        .command(&["run", "studies/study.toml", "--quiet"])
        .env("PATH", ".")
        .output()
        .unwrap();

    assert!(
        stdout(&output).contains("42"),
        "{} {}",
        stdout(&output),
        stderr(&output)
    );
}

#[test]
fn a_run_starts_nothing_new_when_its_time_is_up_and_lets_running_trials_finish() {
    let folder = Folder::script("sleep 0.7; echo 1", "", "for = \"400ms\"");

    let output = folder.run(&["run", "study.toml"]);

    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(
        stderr(&output).contains("the time of 400 ms is up; `mivabo run study.toml` goes on"),
        "{}",
        stderr(&output)
    );
    let states: Vec<_> = folder
        .trials()
        .iter()
        .map(|trial| trial["state"].clone())
        .collect();
    assert_eq!(states, ["complete"]);
}

#[test]
fn a_run_ends_after_as_many_trials_without_a_better_one_as_its_patience_allows() {
    let folder = Folder::script("echo $MIVABO_TRIAL", "", "patience = 3");

    let output = folder.run(&["run", "study.toml"]);
    let again = folder.run(&["run", "study.toml"]);
    let longer = folder.run(&["run", "study.toml", "--patience", "5"]);

    for end in [&output, &again, &longer] {
        assert_eq!(code(end), 0, "{}", stderr(end));
    }
    assert!(
        stderr(&again).contains("no better value in 3 trials after trial 0"),
        "{}",
        stderr(&again)
    );
    assert_eq!(folder.trials().len(), 6);
}
