//! What is evaluated: `[objective]` of a study file, checked against the space.

use std::collections::BTreeMap;
use std::time::Duration;

use mivabo::Space;
use serde::Deserialize;

use crate::builtin::Builtin;
use crate::template::{self, Template};
use crate::time::{self, TimeError, Typed};

/// Variables that every trial has, and what they hold.
const COMMON: [(&str, &str); 2] = [
    (TRIAL_VARIABLE, "the trial's number"),
    (STUDY_VARIABLE, "the study's name"),
];

/// The variable with the number of a trial.
pub const TRIAL_VARIABLE: &str = "MIVABO_TRIAL";

/// The variable with the name of a study.
pub const STUDY_VARIABLE: &str = "MIVABO_STUDY";

/// How long after SIGTERM a program has before SIGKILL.
const GRACE: Duration = Duration::from_secs(5);

/// `[objective]`, as typed.
#[derive(Debug, Deserialize)]
#[serde(expecting = "a table with `command`, `shell` or `builtin`")]
pub(crate) struct Keys {
    pub command: Option<Vec<String>>,
    pub shell: Option<String>,
    pub builtin: Option<String>,
    pub timeout: Option<Typed>,
    pub grace: Option<Typed>,
    pub retries: Option<u32>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    #[serde(flatten)]
    pub unknown: BTreeMap<String, serde_json::Value>,
}

impl Keys {
    pub(crate) const KNOWN: &[&str] = &[
        "command", "shell", "builtin", "timeout", "grace", "retries", "env",
    ];
}

/// What is evaluated, and how often and how long that is tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Objective {
    /// The function.
    pub kind: Kind,
    /// How long one evaluation may take.
    pub timeout: Option<Duration>,
    /// How long after SIGTERM comes SIGKILL.
    pub grace: Duration,
    /// How often a failed evaluation is tried again.
    pub retries: u32,
    /// Environment variables of the user.
    pub env: BTreeMap<String, String>,
    /// The variable that holds the value of each parameter while that is active.
    pub variables: BTreeMap<String, String>,
}

/// The function.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A program and its arguments.
    Command(Template),
    /// A line for `sh -c`.
    Shell(String),
    /// A function inside this crate.
    Builtin(Builtin),
}

impl Objective {
    /// Checks what was typed against the space. Unknown keys are somebody else's to refuse.
    pub(crate) fn new(keys: &Keys, space: &Space) -> Result<Objective, ObjectiveError> {
        let variables = variables(space)?;
        check_env(&keys.env, &variables)?;
        let duration = |key, typed: &Option<Typed>| {
            let duration = typed.as_ref().map(time::parse).transpose();
            duration.map_err(|why| ObjectiveError::Time { key, why })
        };
        Ok(Objective {
            kind: kind(keys, space)?,
            timeout: duration("timeout", &keys.timeout)?,
            grace: duration("grace", &keys.grace)?.unwrap_or(GRACE),
            retries: keys.retries.unwrap_or(0),
            env: keys.env.clone(),
            variables,
        })
    }
}

fn kind(keys: &Keys, space: &Space) -> Result<Kind, ObjectiveError> {
    match (&keys.command, &keys.shell, &keys.builtin) {
        (Some(command), None, None) => Template::parse(command, space).map(Kind::Command),
        (None, Some(line), None) => {
            template::check_shell_line(line, space)?;
            Ok(Kind::Shell(line.clone()))
        }
        (None, None, Some(name)) => Builtin::named(name, space).map(Kind::Builtin),
        _ => Err(ObjectiveError::NotOne),
    }
}

/// The environment variable of every visible parameter. Two must not share one.
fn variables(space: &Space) -> Result<BTreeMap<String, String>, ObjectiveError> {
    let common = COMMON.map(|(variable, what)| (variable.to_owned(), what));
    let mut owners = BTreeMap::from(common);
    let mut variables = BTreeMap::new();
    for name in template::visible(space) {
        let variable = variable(name);
        if let Some(other) = owners.insert(variable.clone(), name) {
            return Err(ObjectiveError::SharedVariable {
                name: name.to_owned(),
                other: other.to_owned(),
                variable,
            });
        }
        variables.insert(name.to_owned(), variable);
    }
    Ok(variables)
}

/// What the file sets must not hide a value.
fn check_env(
    env: &BTreeMap<String, String>,
    variables: &BTreeMap<String, String>,
) -> Result<(), ObjectiveError> {
    let common = COMMON.map(|(variable, what)| (variable, what.to_owned()));
    let values = variables
        .iter()
        .map(|(name, variable)| (variable.as_str(), format!("the value of `{name}`")));
    let mut ours = common.into_iter().chain(values);
    match ours.find(|(variable, _)| env.contains_key(*variable)) {
        Some((variable, what)) => Err(ObjectiveError::HiddenVariable {
            variable: variable.to_owned(),
            what,
        }),
        None => Ok(()),
    }
}

/// The environment variable of a parameter.
pub(crate) fn variable(name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_uppercase()
        } else {
            '_'
        }
    };
    let plain: String = name.chars().map(plain).collect();
    format!("MIVABO_{plain}")
}

/// What is wrong with `[objective]`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectiveError {
    /// None or several functions are given.
    #[error("expected exactly one of `command`, `shell` and `builtin`")]
    NotOne,
    /// There is no program.
    #[error("command: the list is empty")]
    EmptyCommand,
    /// Sometimes there would be no program.
    #[error("command: the program depends on `{name}`, which may be inactive")]
    ConditionalProgram {
        /// The parameter.
        name: String,
    },
    /// A placeholder for nothing.
    #[error(
        "command: `{{{name}}}` is not a parameter{}\nhint: write `{{{{{name}}}}}` for the text itself",
        did_you_mean(nearest.as_deref())
    )]
    UnknownPlaceholder {
        /// What stands between the braces.
        name: String,
        /// The parameter that was probably meant.
        nearest: Option<String>,
    },
    /// A placeholder where values could become program text.
    #[error(
        "shell: `{{{name}}}` is not replaced in a shell's line; write \"${variable}\" there, in quotes"
    )]
    ShellPlaceholder {
        /// The parameter.
        name: String,
        /// What holds its value.
        variable: String,
    },
    /// Two names have the same environment variable.
    #[error("parameter `{name}` and {other} would share the variable {variable}; rename one")]
    SharedVariable {
        /// A parameter.
        name: String,
        /// Another one, or what every trial has.
        other: String,
        /// The variable.
        variable: String,
    },
    /// `env` sets a variable that holds a value.
    #[error("env: {variable} holds {what}; give yours another name")]
    HiddenVariable {
        /// The variable.
        variable: String,
        /// What it holds.
        what: String,
    },
    /// There is no such function here.
    #[error(
        "builtin: there is no function `{name}`{}",
        or_known(nearest.as_deref(), known)
    )]
    UnknownBuiltin {
        /// The name.
        name: String,
        /// The one that was probably meant.
        nearest: Option<String>,
        /// Those that there are.
        known: String,
    },
    /// A function whose parameters the space lacks.
    #[error("builtin: `{name}` needs a parameter `{parameter}` that is a number")]
    BuiltinNeeds {
        /// The function.
        name: String,
        /// What it needs.
        parameter: &'static str,
    },
    /// A duration that cannot be used.
    #[error("{key}: {why}")]
    Time {
        /// The key.
        key: &'static str,
        /// What is wrong.
        why: TimeError,
    },
}

impl ObjectiveError {
    /// The key that is wrong, where it is one.
    pub(crate) fn key(&self) -> Option<&str> {
        match self {
            ObjectiveError::NotOne | ObjectiveError::SharedVariable { .. } => None,
            ObjectiveError::EmptyCommand
            | ObjectiveError::ConditionalProgram { .. }
            | ObjectiveError::UnknownPlaceholder { .. } => Some("command"),
            ObjectiveError::ShellPlaceholder { .. } => Some("shell"),
            ObjectiveError::HiddenVariable { .. } => Some("env"),
            ObjectiveError::UnknownBuiltin { .. } | ObjectiveError::BuiltinNeeds { .. } => {
                Some("builtin")
            }
            ObjectiveError::Time { key, .. } => Some(key),
        }
    }
}

/// `; did you mean …?`, where something like it is known.
fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or(String::new(), |name| format!("; did you mean `{name}`?"))
}

fn or_known(nearest: Option<&str>, known: &str) -> String {
    match nearest {
        Some(_) => did_you_mean(nearest),
        None => format!("; there is `{known}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space() -> Space {
        Space::from_toml("[parameters]\nlr = { type = 'float', low = 0.0, high = 1.0 }").unwrap()
    }

    fn refused(toml: &str, space: &Space) -> String {
        let keys: Keys = toml::from_str(toml).unwrap();
        Objective::new(&keys, space).unwrap_err().to_string()
    }

    #[test]
    fn there_is_exactly_one_function() {
        for keys in ["", "shell = 'true'\ncommand = ['true']"] {
            assert_eq!(
                refused(keys, &space()),
                "expected exactly one of `command`, `shell` and `builtin`"
            );
        }
    }

    #[test]
    fn a_variable_of_the_file_must_not_hide_a_value() {
        for (variable, message) in [
            (
                "MIVABO_LR",
                "env: MIVABO_LR holds the value of `lr`; give yours another name",
            ),
            (
                "MIVABO_TRIAL",
                "env: MIVABO_TRIAL holds the trial's number; give yours another name",
            ),
        ] {
            let keys = format!("shell = 'true'\nenv = {{ {variable} = '1' }}");
            assert_eq!(refused(&keys, &space()), message);
        }
    }

    #[test]
    fn two_parameters_must_not_share_a_variable() {
        for (names, message) in [
            (
                "lr, LR",
                "parameter `LR` and lr would share the variable MIVABO_LR; rename one",
            ),
            (
                "trial",
                "parameter `trial` and the trial's number would share the variable MIVABO_TRIAL; rename one",
            ),
        ] {
            let parameters: String = names
                .split(", ")
                .flat_map(|name| [name, " = { type = 'bool' }\n"])
                .collect();
            let space = Space::from_toml(&format!("[parameters]\n{parameters}")).unwrap();
            assert_eq!(refused("shell = 'true'", &space), message);
        }
    }
}
