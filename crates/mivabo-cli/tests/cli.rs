//! Whole runs of the program, as a user sees them.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

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
    let _ = child.stdin.take().expect("piped").write_all(input.as_bytes());
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

fn snapshot(name: &str, text: &str) {
    insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(name, text) });
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
        (vec!["check", "-"], format!("{rules}small = 'kernal <= 3'\n")),
        (vec!["check", "-"], format!("{rules}small = 'kernel <= 3'\nlarge = 'kernel >= 4'\n")),
        (vec!["check", "-"], "kernel =\n".to_owned()),
        (vec!["check"], String::new()),
        (vec!["chek"], String::new()),
    ] {
        text.push_str(&transcript(&arguments, &input));
        text.push('\n');
    }
    snapshot("wrong_files", &text);
}

#[test]
fn help() {
    snapshot("help", &(transcript(&["--help"], "") + &transcript(&["check", "--help"], "")));
}
