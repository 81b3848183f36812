//! The objective of a plan as a program that can be started at a point.

use std::path::{Path, PathBuf};
use std::process::Command;

use mivabo_store::{Asked, object_of};
use mivabo_work::{Kind, Objective, Plan, STUDY_VARIABLE, TRIAL_VARIABLE};
use nix::unistd::{AccessFlags, access};

use crate::error::ProgramError;

pub use mivabo_work::shown;

/// Whether the program of an objective is there.
pub fn check_program(objective: &Objective, folder: &Path) -> Result<(), ProgramError> {
    let program_name = match &objective.kind {
        Kind::Command(template) => template.program(),
        Kind::Shell(_) | Kind::Builtin(_) => None,
    };
    // One that depends on a parameter is looked for at each point.
    program_name.map_or(Ok(()), |name| program(name, folder).map(drop))
}

/// The program that evaluates a trial; none for a function inside this one.
pub fn command(plan: &Plan, asked: &Asked) -> Result<Option<Command>, ProgramError> {
    let objective = &plan.objective;
    let mut command = match &objective.kind {
        Kind::Builtin(_) => return Ok(None),
        Kind::Shell(line) => {
            let mut command = Command::new("/bin/sh");
            command.arg("-c").arg(line);
            command
        }
        Kind::Command(template) => {
            let arguments = template.filled(&asked.values);
            let mut command = Command::new(program(&arguments[0], &plan.folder)?);
            command.args(&arguments[1..]);
            command
        }
    };
    // What is inactive must not be found in the environment of this program either.
    for variable in objective.variables.values() {
        command.env_remove(variable);
    }
    for (name, value) in &asked.values {
        command.env(&objective.variables[name], shown(value));
    }
    command
        .current_dir(&plan.folder)
        .envs(&objective.env)
        .env(TRIAL_VARIABLE, asked.id.to_string())
        .env(STUDY_VARIABLE, &plan.name);
    Ok(Some(command))
}

/// What the program of an objective reads: the values of a trial as one line of JSON.
pub fn input(asked: &Asked) -> Result<String, ProgramError> {
    let values = asked.values.iter();
    let object = object_of(values.map(|(name, value)| (name.as_str(), value.clone())));
    let object = object.map_err(|why| ProgramError::Input(Box::new(why)))?;
    Ok(format!("{object}\n"))
}

/// Where a program is: beside the study file where its name has a slash, on the PATH otherwise.
fn program(name: &str, folder: &Path) -> Result<PathBuf, ProgramError> {
    if name.contains('/') {
        return beside(name, folder);
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    // The objective starts in another folder, so a relative one would be another.
    let absolute = |folder: PathBuf| std::path::absolute(folder.join(name)).ok();
    let mut found = std::env::split_paths(&folders).filter_map(absolute);
    found
        .find(|path| is_program(path))
        .ok_or_else(|| ProgramError::NotOnPath {
            name: name.to_owned(),
        })
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
