//! Whole runs of the program, as a user sees them.

mod program;

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use program::snapshot;

fn mivabo(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mivabo"))
        .args(arguments)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // A program that stops at its arguments does not read its input.
    let _ = child
        .stdin
        .take()
        .expect("piped")
        .write_all(input.as_bytes());
    child.wait_with_output().expect("the program ends")
}

/// Exit code, standard output and standard error in one text.
fn transcript(arguments: &[&str], input: &str) -> String {
    let output = mivabo(arguments, input);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    format!(
        "$ mivabo {}\n{}\n-- stderr\n{}\n-- exit code {}\n",
        arguments.join(" "),
        text(&output.stdout),
        text(&output.stderr),
        output.status.code().unwrap_or(-1)
    )
}

#[test]
fn check_describes_the_example() {
    snapshot("check", &transcript(&["check", "examples/vae.toml"], ""));
}

#[test]
fn check_prints_json_for_programs() {
    let output = mivabo(&["check", "--json", "examples/vae.toml"], "");

    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("valid JSON");

    assert_eq!(report["bits"], 50);
    assert_eq!(report["parameters"].as_array().map(Vec::len), Some(28));
    assert_eq!(report["example"]["learning_rate"], 0.001);
}

#[test]
fn check_finds_a_point_away_from_the_middle_or_proves_that_there_is_none() {
    let square = "[parameters]\nx = { type = 'float', low = 0, high = 1 }\ny = { type = 'float', low = 0, high = 1 }\n";

    let corner = transcript(
        &["check", "-"],
        &format!("{square}[constraints]\nsum = 'x + y <= 0.8'\n"),
    );
    let nothing =
        format!("{square}[constraints]\ndisc = 'x*x + y*y <= 0.5'\nabove = 'x*y >= 0.26'\n");
    let nothing = transcript(&["check", "-"], &nothing);

    assert!(
        corner.contains("for example: x = ") && corner.contains("-- exit code 0"),
        "{corner}"
    );
    let conflict = "error: standard input: no point satisfies constraints `disc`, `above` together";
    assert!(
        nothing.contains(conflict) && nothing.contains("-- exit code 1"),
        "{nothing}"
    );
}

#[test]
fn check_reads_standard_input() {
    let output = mivabo(&["check", "-"], "[parameters]\nx = { type = 'bool' }\n");

    assert!(output.status.success());
}

#[test]
fn a_wrong_file_is_one_clear_message() {
    let rules = "[parameters]\nkernel = { type = 'int', low = 1, high = 7 }\n\n[constraints]\n";
    let mut text = String::new();
    for (arguments, input) in [
        (vec!["check", "no/such/file.toml"], String::new()),
        (
            vec!["check", "-"],
            format!("{rules}small = 'kernal <= 3'\n"),
        ),
        (
            vec!["check", "-"],
            format!("{rules}small = 'kernel <= 3'\nlarge = 'kernel >= 4'\n"),
        ),
        (vec!["check", "-"], "kernel =\n".to_owned()),
        (vec!["check"], String::new()),
        (vec!["chek"], String::new()),
    ] {
        text.push_str(&transcript(&arguments, &input));
        text.push('\n');
    }
    snapshot("wrong_files", &text);
}

const SMALL: &str = r#"{"name": "small", "n": 3, "linear": [1, -2, 0.5], "quadratic": [[0, 1, 1.5], [1, 2, -1]], "rows": [{"idx": [0, 1, 2], "coef": [1, 1, 1], "sense": "<=", "rhs": 2}], "groups": [], "tables": []}"#;

#[test]
fn solve_prints_a_line_for_each_instance() {
    let none = SMALL
        .replace("\"rhs\": 2", "\"rhs\": -1")
        .replace("small", "none");

    let output = mivabo(&["solve", "-"], &format!("{SMALL}\n\n{none}\n"));

    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("valid JSON"))
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(
        (&lines[0]["status"], &lines[0]["value"]),
        (&"optimal".into(), &(-2.5).into())
    );
    assert_eq!(
        (&lines[0]["bound"], &lines[0]["x"]),
        (&(-2.5).into(), &"011".into())
    );
    assert_eq!(lines[1]["status"], "infeasible");
}

#[test]
fn solve_can_stop_at_the_heuristic_or_at_a_limit() {
    for arguments in [
        vec!["solve", "--heuristic", "-"],
        vec!["solve", "--nodes", "0", "--limit", "5", "-"],
    ] {
        let output = mivabo(&arguments, &SMALL.replace("[1, 1, 1]", "[1, 2, 1]"));
        let line: serde_json::Value = serde_json::from_slice(&output.stdout).expect("valid JSON");
        assert!(output.status.success());
        assert!(
            ["heuristic", "limit"].contains(&line["status"].as_str().unwrap_or_default()),
            "{line}"
        );
    }
}

#[test]
fn a_wrong_instance_is_one_clear_message() {
    let mut text = String::new();
    for (from, to) in [
        ("0.5", "1e999"),
        ("[0, 1, 1.5]", "[0, 7, 1.5]"),
        ("\"n\": 3", "\"n\": 4"),
        ("rows", "row"),
    ] {
        text.push_str(&transcript(&["solve", "-"], &SMALL.replace(from, to)));
        text.push('\n');
    }
    text.push_str(&transcript(&["solve", "--limit", "soon", "-"], SMALL));
    snapshot("wrong_instances", &text);
}

#[test]
fn help() {
    let mut text = transcript(&["--help"], "");
    for command in [
        "init",
        "check",
        "run",
        "ask",
        "tell",
        "best",
        "show",
        "report",
        "export",
        "import",
        "backup",
        "list",
        "rm",
        "solve",
        "schema",
        "completions",
        "man",
    ] {
        text.push_str(&transcript(&[command, "--help"], ""));
    }
    snapshot("help", &text);
}

#[test]
fn shells_and_manuals_know_every_command() {
    for arguments in [
        vec!["completions", "bash"],
        vec!["completions", "zsh"],
        vec!["completions", "fish"],
        vec!["man"],
    ] {
        let text = transcript(&arguments, "");
        for command in [
            "init", "check", "run", "ask", "tell", "best", "show", "export", "import", "backup",
            "list", "solve", "schema",
        ] {
            assert!(text.contains(command), "{arguments:?}: {command}");
        }
    }
    assert!(transcript(&["man", "run"], "").contains(".SH"));
    assert!(
        transcript(&["man", "rnu"], "").contains("there is no such command; did you mean `run`?")
    );
}

#[test]
fn strategies_are_listed_with_their_settings() {
    let listed = mivabo(&["strategies"], "");
    let text = String::from_utf8_lossy(&listed.stdout);
    assert!(text.contains("\n  search=alternating|dual|exact|annealing  [default: alternating;"));

    let output = mivabo(&["strategies", "--json"], "");
    let families: serde_json::Value = serde_json::from_slice(&output.stdout).expect("valid JSON");

    let families = families.as_array().expect("a list");
    let strategies = families
        .iter()
        .filter_map(|family| family["strategies"].as_array());
    let mut names: Vec<&str> = strategies
        .flatten()
        .filter_map(|strategy| strategy["name"].as_str())
        .collect();
    let mut known = mivabo::strategy::Strategy::NAMES.to_vec();
    names.sort_unstable();
    known.sort_unstable();
    assert_eq!(names, known);
    assert_eq!(
        families[1]["settings"][0]["except"]["thompson-theory"],
        "exact"
    );
}
