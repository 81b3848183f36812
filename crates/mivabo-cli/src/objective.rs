//! The objective of a plan as something that can be evaluated at a point.

use std::path::{Path, PathBuf};
use std::process::Command;

use mivabo_store::{Asked, object_of};
use mivabo_work::{Builtin, Kind, Objective, Plan, STUDY_VARIABLE, TRIAL_VARIABLE, Template};
use nix::unistd::{AccessFlags, access};

use crate::error::ProgramError;

pub use mivabo_work::shown;

/// What evaluates a trial.
pub enum Evaluator {
    /// A function inside this program.
    Function(Builtin),
    /// Another program.
    Program(Box<Program>),
}

/// A program that is ready to start, and what it reads.
pub struct Program {
    /// With its arguments, environment and folder.
    pub command: Command,
    /// The values of the trial as one line of JSON.
    pub input: String,
}

/// Whether the program of an objective is there.
pub fn check_program(objective: &Objective, folder: &Path) -> Result<(), ProgramError> {
    let name = match &objective.kind {
        Kind::Command(template) => template.program(),
        Kind::Shell(_) | Kind::Builtin(_) => None,
    };
    // One that depends on a parameter is looked for at each point.
    name.map_or(Ok(()), |name| path_of(name, folder).map(drop))
}

/// What evaluates this trial.
pub fn evaluator(plan: &Plan, asked: &Asked) -> Result<Evaluator, ProgramError> {
    let mut command = match &plan.objective.kind {
        Kind::Builtin(builtin) => return Ok(Evaluator::Function(*builtin)),
        Kind::Shell(line) => shell(line),
        Kind::Command(template) => filled(template, plan, asked)?,
    };
    set_environment(&mut command, plan, asked);
    command.current_dir(&plan.folder);
    let input = input(asked)?;
    Ok(Evaluator::Program(Box::new(Program { command, input })))
}

fn shell(line: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line);
    command
}

fn filled(template: &Template, plan: &Plan, asked: &Asked) -> Result<Command, ProgramError> {
    let arguments = template.filled(&asked.values);
    let mut command = Command::new(path_of(&arguments[0], &plan.folder)?);
    command.args(&arguments[1..]);
    Ok(command)
}

fn set_environment(command: &mut Command, plan: &Plan, asked: &Asked) {
    let objective = &plan.objective;
    // A variable that this program was started with must not be taken for the value of an inactive parameter.
    for variable in objective.variables.values() {
        command.env_remove(variable);
    }
    for (name, value) in &asked.values {
        command.env(&objective.variables[name], shown(value));
    }
    command
        .envs(&objective.env)
        .env(TRIAL_VARIABLE, asked.id.to_string())
        .env(STUDY_VARIABLE, &plan.name);
}

fn input(asked: &Asked) -> Result<String, ProgramError> {
    let values = asked.values.iter();
    let object = object_of(values.map(|(name, value)| (name.as_str(), value.clone())));
    let object = object.map_err(|why| ProgramError::Input(Box::new(why)))?;
    Ok(format!("{object}\n"))
}

/// Where a program is: beside the study file where its name has a slash, on the PATH otherwise.
fn path_of(name: &str, folder: &Path) -> Result<PathBuf, ProgramError> {
    if name.contains('/') {
        return beside(name, folder);
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    // The objective starts in another folder, where a relative path would mean something else.
    let absolute = |folder: PathBuf| std::path::absolute(folder.join(name)).ok();
    let mut paths = std::env::split_paths(&folders).filter_map(absolute);
    let found = paths.find(|path| is_program(path));
    found.ok_or_else(|| ProgramError::NotOnPath {
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
