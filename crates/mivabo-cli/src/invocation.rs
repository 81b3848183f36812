//! How an objective is started at a point, as a line that can be pasted into a shell.

use std::path::Path;

use mivabo_work::{Kind, Objective, STUDY_VARIABLE, TRIAL_VARIABLE, shown};

use crate::objective::{Call, input};
use crate::paste::quoted;
use crate::plain::plain;

/// The line; none for a function inside this program, and none where no single line can be shown and pasted.
///
/// What the arguments do not say of the point is said as a run says it: in variables and on standard input.
pub fn line(call: &Call<'_>) -> Option<String> {
    let (words, says_all) = match &call.objective.kind {
        Kind::Builtin(_) => return None,
        Kind::Shell(line) => {
            let words = ["sh", "-c", line].map(str::to_owned).to_vec();
            (words, false)
        }
        Kind::Command(template) => {
            let names = call.values.iter().map(|(name, _)| name.as_str());
            let says_all = template.says_all(names);
            (template.filled(call.values), says_all)
        }
    };
    let mut pieces = Vec::new();
    if call.folder != Path::new(".") {
        pieces.push(format!("cd {} &&", quoted(call.folder.to_str()?)?));
    }
    if !says_all {
        let input = input(call.values).ok()?;
        pieces.push(format!("echo {} |", quoted(input.trim_end())?));
    }
    for (name, value) in variables(call, says_all)? {
        pieces.push(format!("{name}={}", quoted(&value)?));
    }
    for word in &words {
        pieces.push(quoted(word)?);
    }
    let line = pieces.join(" ");
    // What is shown escaped means something else when it is pasted.
    let is_shown = plain(&line) == line;
    is_shown.then_some(line)
}

/// What is evaluated, as a study file says it, with names of parameters in braces.
pub fn written(objective: &Objective) -> String {
    match &objective.kind {
        Kind::Builtin(builtin) => format!("builtin {}", builtin.name()),
        Kind::Shell(line) => line.trim().to_owned(),
        Kind::Command(template) => {
            let words: Vec<String> = template.words().map(|word| readable(&word)).collect();
            words.join(" ")
        }
    }
}

/// A word in quotes where it needs them for more than its braces.
fn readable(word: &str) -> String {
    let plain = word.replace(['{', '}'], "");
    match quoted(word) {
        Some(quoted_word) if quoted(&plain).as_ref() != Some(&plain) => quoted_word,
        _ => word.to_owned(),
    }
}

/// The variables that are set for it.
fn variables(call: &Call<'_>, says_all: bool) -> Option<Vec<(String, String)>> {
    let mut variables = Vec::new();
    if !says_all {
        for (name, value) in call.values {
            let variable = call.objective.variables.get(name)?;
            variables.push((variable.clone(), shown(value)));
        }
        variables.push((TRIAL_VARIABLE.to_owned(), call.trial.to_string()));
        variables.push((STUDY_VARIABLE.to_owned(), call.study.to_owned()));
    }
    let own = call.objective.env.iter();
    variables.extend(own.map(|(name, value)| (name.clone(), value.clone())));
    Some(variables)
}
