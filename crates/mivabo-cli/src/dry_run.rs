//! `mivabo run --dry-run`: how the objective would be started at the first point. Nothing is run, and nothing is stored.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;

use mivabo_store::{Asked, Location};
use mivabo_work::Plan;
use serde_json::json;

use crate::best::pretty;
use crate::error::Error;
use crate::objective::{Call, Evaluator, Program, evaluator, shown};
use crate::paste::quoted;
use crate::plain::in_line;
use crate::source::{Described, open};

/// What a run would do first, in a study that has no trials yet.
pub fn run(plan: &Plan, is_json: bool) -> Result<String, Error> {
    let asked = first(plan)?;
    let evaluator = evaluator(&Call::of(plan, &asked)).map_err(|why| Error::Objective {
        path: plan.path.clone(),
        why,
    })?;
    let program = match evaluator {
        Evaluator::Program(program) => Some(Resolved::of(&program)),
        Evaluator::Function(_) => None,
    };
    if is_json {
        return as_json(plan, &asked, program.as_ref());
    }
    Ok(as_text(plan, &asked, program.as_ref()))
}

/// The first trial of such a study, which is kept in memory only.
fn first(plan: &Plan) -> Result<Asked, Error> {
    let mut session = open(&Described {
        location: &Location::Memory,
        ..Described::by(plan)
    })?;
    let asked = session.ask(Some(1), plan.lease)?;
    asked.ok_or(Error::NoPoint)
}

/// A program as it would be started.
struct Resolved {
    command: Vec<String>,
    folder: String,
    environment: BTreeMap<String, String>,
    input: String,
}

impl Resolved {
    fn of(program: &Program) -> Resolved {
        let command = &program.command;
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        // Variables without a value are those that are taken away, of inactive parameters.
        let set = command
            .get_envs()
            .filter_map(|(name, value)| Some((text(name), text(value?))));
        let folder = command.get_current_dir().map(std::path::absolute);
        Resolved {
            command: words.map(text).collect(),
            folder: folder
                .and_then(Result::ok)
                .map_or(String::new(), |folder| text(folder.as_os_str())),
            environment: set.collect(),
            input: program.input.trim_end().to_owned(),
        }
    }
}

fn text(text: &OsStr) -> String {
    text.to_string_lossy().into_owned()
}

fn as_text(plan: &Plan, asked: &Asked, program: Option<&Resolved>) -> String {
    let mut out = format!(
        "trial {} of a new study `{}`: nothing is run or stored\n",
        asked.id, plan.name
    );
    for (name, value) in &asked.values {
        let _ = writeln!(out, "  {name} = {}", in_line(&shown(value)));
    }
    let Some(program) = program else {
        out += "builtin\n  a function inside mivabo: no program is started\n";
        return out;
    };
    let words = program.command.iter();
    let words: Vec<String> = words
        .map(|word| quoted(word).unwrap_or_else(|| word.clone()))
        .collect();
    let _ = writeln!(out, "command\n  {}", in_line(&words.join(" ")));
    let _ = writeln!(out, "folder\n  {}", in_line(&program.folder));
    out += "environment\n";
    for (name, value) in &program.environment {
        let _ = writeln!(out, "  {name}={}", in_line(value));
    }
    let _ = writeln!(out, "standard input\n  {}", in_line(&program.input));
    out
}

fn as_json(plan: &Plan, asked: &Asked, program: Option<&Resolved>) -> Result<String, Error> {
    let params: BTreeMap<_, _> = asked.values.iter().cloned().collect();
    let mut report = json!({ "study": plan.name, "trial": asked.id, "params": params });
    if let Some(program) = program {
        report["command"] = json!(program.command);
        report["folder"] = json!(program.folder);
        report["environment"] = json!(program.environment);
        report["input"] = json!(program.input);
    }
    pretty(&report)
}
