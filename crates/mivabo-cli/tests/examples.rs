//! The studies under `examples/` run as they are.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Runs an example in a copy of its folder, and what it says at the end. None where a program that it needs is missing.
fn run(name: &str, needs: &str) -> Option<Value> {
    if !std::env::split_paths(&std::env::var_os("PATH")?).any(|folder| folder.join(needs).exists())
    {
        eprintln!("skipped: there is no {needs}");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let entries = std::fs::read_dir(examples).unwrap().map(Result::unwrap);
    // Whoever tried an example has its database beside it.
    let is_source = |path: &Path| {
        path.is_file() && !path.file_name().unwrap().to_string_lossy().contains(".db")
    };
    for entry in entries.filter(|entry| is_source(&entry.path())) {
        std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_mivabo"));
    let file = folder.path().join(format!("{name}.toml"));

    let output = command.arg("run").arg(file).arg("--json").output().unwrap();

    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let margins = report["best"]["constraints"].as_array().unwrap();
    assert!(
        margins.iter().all(|margin| margin["holds"] == true),
        "{margins:?}"
    );
    Some(report)
}

#[test]
fn the_pressure_vessel_becomes_cheap() {
    let report = run("pressure-vessel", "sh").unwrap();

    assert_eq!(report["told"], 40);
    let value = report["best"]["value"].as_f64().unwrap();
    assert!((6059.7..6060.0).contains(&value), "{value}");
}

#[test]
fn the_shell_example_runs() {
    let Some(report) = run("shell", "gzip") else {
        return;
    };
    assert_eq!(
        (&report["told"], &report["failed"]),
        (&12.into(), &0.into())
    );
}

#[test]
fn the_python_example_runs() {
    let Some(report) = run("python", "python3") else {
        return;
    };
    assert_eq!(report["told"], 12);
    assert!(report["best"]["value"].as_f64().unwrap() < 1.0, "{report}");
}

#[test]
fn the_compiler_example_runs() {
    let Some(report) = run("compiler", "gcc") else {
        return;
    };
    assert_eq!(
        (&report["told"], &report["failed"]),
        (&20.into(), &0.into())
    );
}

/// Each `strategy = "…"` of docs/method.md, in the study that it is meant for.
#[test]
fn every_line_of_the_method_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let method = std::fs::read_to_string(root.join("docs/method.md")).unwrap();
    let example = std::fs::read_to_string(root.join("examples/paper.toml")).unwrap();
    let (example, model) = example.split_once("[model]").unwrap();
    let own = example
        .lines()
        .find(|line| line.starts_with("strategy"))
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let lines: Vec<&str> = method
        .lines()
        .filter(|line| line.starts_with("strategy = \""))
        .collect();
    assert!(lines.len() > 20, "{lines:?}");
    for (k, line) in lines.into_iter().enumerate() {
        let example = example
            .replace(own, line)
            .replace("trials = 20", "trials = 11");
        let model = if line.contains("linked") { model } else { "" };
        let file = folder.path().join(format!("{k}.toml"));
        std::fs::write(&file, format!("{example}n_initial = 4\n[model]{model}")).unwrap();

        let output = Command::new(env!("CARGO_BIN_EXE_mivabo"))
            .args(["run", "--json"])
            .arg(&file)
            .output()
            .unwrap();

        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {said}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["told"], 11, "{line}");
        let margins = report["best"]["constraints"].as_array().unwrap();
        assert!(
            margins.iter().all(|margin| margin["holds"] == true),
            "{line}"
        );
    }
}
