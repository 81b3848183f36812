//! The program and a folder to run it in.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test file needs some of it; a failure is a failed test"
)]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use nix::pty::openpty;

/// Two parameters and a conditional one.
pub const SPACE: &str = r#"
[parameters]
x = { type = "float", low = 0.0, high = 1.0 }
n = { type = "int", low = 1, high = 9 }
m = { type = "int", low = 1, high = 3, when = "n >= 5" }

[constraints]
"small" = "n + 5 * x <= 11"
"#;

/// A folder that is gone after the test.
pub struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    /// With a `study.toml` of [`SPACE`], this `[objective]` and this `[run]`.
    pub fn new(objective: &str, run: &str) -> Folder {
        let folder = Folder {
            folder: tempfile::tempdir().unwrap(),
        };
        folder.write(
            "study.toml",
            &format!("{SPACE}\n[objective]\n{objective}\n[run]\nstrategy = \"random\"\n{run}\n"),
        );
        folder
    }

    /// With a `study.toml` whose objective is a script for `sh`.
    pub fn script(script: &str, objective: &str, run: &str) -> Folder {
        let folder = Folder::new(
            &format!("command = [\"sh\", \"objective.sh\"]\n{objective}"),
            run,
        );
        folder.write("objective.sh", script);
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        String::from_utf8_lossy(&std::fs::read(self.path(name)).unwrap()).into_owned()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mivabo"));
        command.args(arguments).current_dir(self.folder.path());
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).spawn().unwrap()
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.run_with(arguments, "")
    }

    pub fn run_with(&self, arguments: &[&str], input: &str) -> Output {
        let mut child = self.start(arguments);
        // A program that stops at its arguments does not read its input.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// What a terminal shows while this is typed, and the exit code.
    pub fn on_terminal(&self, arguments: &[&str], typed: &str) -> (String, i32) {
        let terminal = openpty(None, None).unwrap();
        let end = || Stdio::from(terminal.slave.try_clone().unwrap());
        let mut command = self.command(arguments);
        command.stdin(end()).stdout(end()).stderr(end());
        let mut child = command.spawn().unwrap();
        // As long as this process holds the other end, reading would not come to an end.
        drop(command);
        drop(terminal.slave);
        let mut terminal = File::from(terminal.master);
        terminal.write_all(typed.as_bytes()).unwrap();
        let mut shown = Vec::new();
        // The end of a terminal is an error.
        let _ = terminal.read_to_end(&mut shown);
        let exit = child.wait().unwrap().code().unwrap();
        (String::from_utf8_lossy(&shown).into_owned(), exit)
    }

    /// Exit code, standard output and standard error in one text.
    pub fn transcript(&self, arguments: &[&str], input: &str) -> String {
        let output = self.run_with(arguments, input);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        format!(
            "$ mivabo {}\n{}\n-- stderr\n{}\n-- exit code {}\n\n",
            arguments.join(" "),
            text(&output.stdout),
            text(&output.stderr),
            code(&output)
        )
        .replace(&self.folder.path().display().to_string(), "FOLDER")
    }

    /// All trials, as `show --json` prints them.
    pub fn trials(&self) -> Vec<serde_json::Value> {
        let output = self.run(&["show", "study.toml", "--json"]);
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

pub fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn snapshot(name: &str, text: &str) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots");
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false, snapshot_path => path }, {
        insta::assert_snapshot!(name, text);
    });
}
