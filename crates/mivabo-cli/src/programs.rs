//! The programs of an objective: where they are, and whether they are there at all.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mivabo::Space;
use mivabo_work::{Kind, Objective, Template};
use nix::unistd::{AccessFlags, access};

use crate::error::ProgramError;

/// More programs than this are not looked for one by one.
const MANY: usize = 100;

/// What every trial of an objective needs: its program, and the script that this runs.
pub fn check_program(objective: &Objective, folder: &Path) -> Result<(), ProgramError> {
    let Kind::Command(template) = &objective.kind else {
        return Ok(());
    };
    // One that depends on a parameter is looked for at each point.
    if let Some(name) = template.program() {
        path_of(name, folder)?;
        check_script(name, template, folder)?;
    }
    Ok(())
}

/// The same and more: the programs of all points, and the first one of a shell's line.
pub fn check_programs(
    objective: &Objective,
    space: &Space,
    folder: &Path,
) -> Result<(), ProgramError> {
    check_program(objective, folder)?;
    match &objective.kind {
        Kind::Command(template) => {
            let names = template.programs(space, MANY).unwrap_or_default();
            let mut paths = names.iter().map(|name| path_of(name, folder));
            paths.try_for_each(|path| path.map(drop))
        }
        Kind::Shell(line) => check_line(line, folder),
        Kind::Builtin(_) => Ok(()),
    }
}

/// Where a program is: beside the study file where its name has a slash, on the PATH otherwise.
pub fn path_of(name: &str, folder: &Path) -> Result<PathBuf, ProgramError> {
    if name.contains('/') {
        return beside(name, folder);
    }
    on_path(name).ok_or_else(|| ProgramError::NotOnPath {
        name: name.to_owned(),
    })
}

fn on_path(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    // The objective starts in another folder, where a relative path would mean something else.
    let absolute = |folder: PathBuf| std::path::absolute(folder.join(name)).ok();
    let mut paths = std::env::split_paths(&folders).filter_map(absolute);
    paths.find(|path| is_program(path))
}

fn beside(name: &str, folder: &Path) -> Result<PathBuf, ProgramError> {
    let path = std::path::absolute(folder.join(name)).map_err(|why| ProgramError::BadPath {
        name: name.to_owned(),
        why,
    })?;
    match is_program(&path) {
        true => Ok(path),
        false if path.exists() => Err(ProgramError::NotExecutable { path }),
        false => Err(ProgramError::NotThere { path }),
    }
}

fn is_program(path: &Path) -> bool {
    path.is_file() && access(path, AccessFlags::X_OK).is_ok()
}

/// `python3 train.py` needs `train.py`, too.
fn check_script(program: &str, template: &Template, folder: &Path) -> Result<(), ProgramError> {
    let Some(script) = template.script() else {
        return Ok(());
    };
    let path = folder.join(script);
    // Shells look for it on the PATH, too.
    if path.exists() || on_path(script).is_some() {
        return Ok(());
    }
    Err(ProgramError::NoScript {
        program: program.to_owned(),
        path,
    })
}

/// Whether a shell can read a line, and finds the program at its beginning. Nothing of the line is run.
fn check_line(line: &str, folder: &Path) -> Result<(), ProgramError> {
    let Some(said) = said_by_shell(&["-n", "-c", line], folder) else {
        return Ok(());
    };
    if let Err(why) = said {
        return Err(ProgramError::BadLine { why });
    }
    let name = line.split_whitespace().next().unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "./_-+".contains(c);
    // Whoever writes `||` knows what to do without it. Anything but a plain word is the shell's to understand.
    if line.contains("||") || name.is_empty() || !name.chars().all(is_plain) {
        return Ok(());
    }
    // The shell knows its own words, too: `if`, `cd`, `export`.
    match said_by_shell(&["-c", "command -v \"$1\"", "sh", name], folder) {
        Some(Err(_)) => Err(ProgramError::NoCommand {
            name: name.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// What a shell says where it fails; none where there is no shell to ask.
fn said_by_shell(arguments: &[&str], folder: &Path) -> Option<Result<(), String>> {
    let output = Command::new("/bin/sh")
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().next().unwrap_or_default().to_owned();
    Some(output.status.success().then_some(()).ok_or(said))
}
