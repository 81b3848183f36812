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
