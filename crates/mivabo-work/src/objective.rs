//! What is evaluated: `[objective]` of a study file, checked against the space.

use std::collections::BTreeMap;
use std::time::Duration;

use mivabo::Space;
use serde::Deserialize;

use crate::builtin::Builtin;
use crate::error::ObjectiveError;
use crate::template::{self, Template};
use crate::time::{self, Typed};
use crate::value::{Count, Words};
use crate::variables;

/// How long after SIGTERM a program has before SIGKILL.
const GRACE: Duration = Duration::from_secs(5);

/// `[objective]`, as typed.
#[derive(Debug, Deserialize)]
#[serde(expecting = "a table with `command`, `shell` or `builtin`")]
pub(crate) struct Keys {
    pub command: Option<Words>,
    pub shell: Option<String>,
    pub builtin: Option<String>,
    pub timeout: Option<Typed>,
    pub grace: Option<Typed>,
    pub retries: Option<Count>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    #[serde(flatten)]
    pub unknown: BTreeMap<String, serde_json::Value>,
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
        let variables = variables::of_space(space)?;
        variables::check_env(&keys.env, &variables)?;
        let duration = |key, typed: &Option<Typed>| {
            let duration = typed.as_ref().map(time::parse).transpose();
            duration.map_err(|why| ObjectiveError::Time { key, why })
        };
        Ok(Objective {
            kind: kind(keys, space)?,
            timeout: duration("timeout", &keys.timeout)?,
            grace: duration("grace", &keys.grace)?.unwrap_or(GRACE),
            retries: keys.retries.map_or(0, Count::small),
            env: keys.env.clone(),
            variables,
        })
    }
}

fn kind(keys: &Keys, space: &Space) -> Result<Kind, ObjectiveError> {
    match (&keys.command, &keys.shell, &keys.builtin) {
        (Some(command), None, None) => Template::parse(&command.0, space).map(Kind::Command),
        (None, Some(line), None) => {
            template::check_shell_line(line, space)?;
            Ok(Kind::Shell(line.clone()))
        }
        (None, None, Some(name)) => Builtin::named(name, space).map(Kind::Builtin),
        _ => Err(ObjectiveError::NotOne),
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
