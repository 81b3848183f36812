//! The objective of a plan as something that can be evaluated at a point.

use std::path::Path;
use std::process::Command;

use mivabo::space::Value;
use mivabo_store::{Asked, object_of};
use mivabo_work::{Builtin, Kind, Objective, Plan, STUDY_VARIABLE, TRIAL_VARIABLE, Template};

use crate::error::ProgramError;
use crate::programs::path_of;

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

/// An evaluation: what is evaluated, where, and at which point.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// What is evaluated.
    pub objective: &'a Objective,
    /// The folder that it runs in.
    pub folder: &'a Path,
    /// The name of the study.
    pub study: &'a str,
    /// The number of the trial.
    pub trial: u64,
    /// The values of the active parameters.
    pub values: &'a [(String, Value)],
}

impl<'a> Call<'a> {
    /// The evaluation of a trial of a run.
    pub fn of(plan: &'a Plan, asked: &'a Asked) -> Call<'a> {
        Call {
            objective: &plan.objective,
            folder: &plan.folder,
            study: &plan.name,
            trial: asked.id,
            values: &asked.values,
        }
    }
}

/// What evaluates a trial.
pub fn evaluator(call: &Call<'_>) -> Result<Evaluator, ProgramError> {
    let mut command = match &call.objective.kind {
        Kind::Builtin(builtin) => return Ok(Evaluator::Function(*builtin)),
        Kind::Shell(line) => shell(line),
        Kind::Command(template) => filled(template, call)?,
    };
    set_environment(&mut command, call);
    command.current_dir(call.folder);
    let input = input(call.values)?;
    Ok(Evaluator::Program(Box::new(Program { command, input })))
}

fn shell(line: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line);
    command
}

fn filled(template: &Template, call: &Call<'_>) -> Result<Command, ProgramError> {
    let arguments = template.filled(call.values);
    let mut command = Command::new(path_of(&arguments[0], call.folder)?);
    command.args(&arguments[1..]);
    Ok(command)
}

fn set_environment(command: &mut Command, call: &Call<'_>) {
    let objective = call.objective;
    // A variable that this program was started with must not be taken for the value of an inactive parameter.
    for variable in objective.variables.values() {
        command.env_remove(variable);
    }
    for (name, value) in call.values {
        command.env(&objective.variables[name], shown(value));
    }
    command
        .envs(&objective.env)
        .env(TRIAL_VARIABLE, call.trial.to_string())
        .env(STUDY_VARIABLE, call.study);
}

/// What an objective reads: the values as one line of JSON.
pub fn input(values: &[(String, Value)]) -> Result<String, ProgramError> {
    let values = values.iter();
    let object = object_of(values.map(|(name, value)| (name.as_str(), value.clone())));
    let object = object.map_err(|why| ProgramError::Input(Box::new(why)))?;
    Ok(format!("{object}\n"))
}
