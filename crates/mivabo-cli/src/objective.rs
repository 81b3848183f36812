//! What is evaluated: the keys of `[objective]` enter, a checked [`Objective`] leaves, and with the values of a point
//! the command that evaluates it.
//!
//! # Placeholders
//!
//! `{name}` inside an argument stands for the value of a parameter; `{{name}}` is the text `{name}`; braces around what
//! is neither a parameter's name nor a word mean nothing. Values become parts of arguments, never of a shell's program
//! text. Where a parameter is inactive, the argument that names it is left out, and so is the argument right before it if
//! that is an option by itself: it begins with `-` and has neither `=` nor a placeholder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use mivabo::Space;
use mivabo::space::Value;
use mivabo_store::object_of;

use crate::Failure;
use crate::builtin::Builtin;
use crate::study_file::{ObjectiveKeys, did_you_mean, duration};

/// Variables that every trial has, and what they hold.
const COMMON: [(&str, &str); 2] = [
    ("MIVABO_TRIAL", "the trial's number"),
    ("MIVABO_STUDY", "the study's name"),
];

/// How long after SIGTERM a program has before SIGKILL.
const GRACE: Duration = Duration::from_secs(5);

/// What is evaluated, and how often and how long that is tried.
#[derive(Debug)]
pub struct Objective {
    /// The function.
    pub kind: Kind,
    /// How long one evaluation may take.
    pub timeout: Option<Duration>,
    /// How long after SIGTERM comes SIGKILL.
    pub grace: Duration,
    /// How often a failed evaluation is tried again.
    pub retries: u32,
    env: BTreeMap<String, String>,
    /// Every variable that can hold a value, by parameter.
    variables: BTreeMap<String, String>,
}

/// The function.
#[derive(Debug)]
pub enum Kind {
    /// A program and its arguments.
    Command(Vec<Argument>),
    /// A line for `sh -c`.
    Shell(String),
    /// A function inside this program.
    Builtin(Builtin),
}

/// An argument with placeholders.
#[derive(Debug, PartialEq)]
pub struct Argument(Vec<Piece>);

#[derive(Debug, PartialEq)]
enum Piece {
    Text(String),
    Parameter(String),
}

impl Objective {
    /// Checks the keys against the space.
    pub fn new(keys: ObjectiveKeys, space: &Space) -> Result<Objective, Failure> {
        let kind = match (keys.command, keys.shell, keys.builtin) {
            (Some(command), None, None) => Kind::Command(template(&command, space)?),
            (None, Some(line), None) => Kind::Shell(shell_line(line, space)?),
            (None, None, Some(name)) => Kind::Builtin(Builtin::named(&name, space)?),
            _ => return Err("expected exactly one of `command`, `shell` and `builtin`".to_owned()),
        };
        let variables = variables(space)?;
        check_env(&keys.env, &variables)?;
        Ok(Objective {
            kind,
            timeout: keys
                .timeout
                .map(|time| duration("timeout", &time.to_string()))
                .transpose()?,
            grace: keys
                .grace
                .map_or(Ok(GRACE), |time| duration("grace", &time.to_string()))?,
            retries: keys.retries.unwrap_or(0),
            env: keys.env,
            variables,
        })
    }

    /// Whether the program is there.
    pub fn check_program(&self, folder: &Path) -> Result<(), Failure> {
        match &self.kind {
            Kind::Command(template) => match template[0].fixed() {
                Some(name) => program(name, folder)
                    .map(drop)
                    .map_err(|e| format!("[objective]: {e}")),
                // It depends on a parameter.
                None => Ok(()),
            },
            Kind::Shell(_) | Kind::Builtin(_) => Ok(()),
        }
    }

    /// The program that evaluates these values, and what it reads; none for a builtin function.
    pub fn command(
        &self,
        folder: &Path,
        values: &[(String, Value)],
    ) -> Result<Option<(Command, String)>, Failure> {
        let mut command = match &self.kind {
            Kind::Builtin(_) => return Ok(None),
            Kind::Shell(line) => {
                let mut command = Command::new("/bin/sh");
                command.arg("-c").arg(line);
                command
            }
            Kind::Command(template) => {
                let arguments = filled(template, values);
                let mut command = Command::new(program(&arguments[0], folder)?);
                command.args(&arguments[1..]);
                command
            }
        };
        command.current_dir(folder);
        for variable in self.variables.values() {
            command.env_remove(variable);
        }
        for (name, value) in values {
            command.env(&self.variables[name], shown(value));
        }
        command.envs(&self.env);
        let object = object_of(
            values
                .iter()
                .map(|(name, value)| (name.as_str(), value.clone())),
        );
        Ok(Some((
            command,
            format!("{}\n", object.map_err(|e| e.to_string())?),
        )))
    }
}

impl Argument {
    fn parse(text: &str, space: &Space) -> Result<Argument, Failure> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            let (before, after) = rest.split_at(at);
            push_text(&mut pieces, before);
            let is_escaped = after.starts_with("{{");
            let inner = &after[if is_escaped { 2 } else { 1 }..];
            let (name, tail) = inner.split_at(name_length(inner, space));
            let is_name = name.starts_with(|c: char| !c.is_numeric()) || is_visible(name, space);
            if is_escaped && is_name && tail.starts_with("}}") {
                push_text(&mut pieces, &format!("{{{name}}}"));
                rest = &tail[2..];
            } else if !is_escaped && is_name && tail.starts_with('}') {
                check_name(name, space)?;
                pieces.push(Piece::Parameter(name.to_owned()));
                rest = &tail[1..];
            } else {
                push_text(&mut pieces, "{");
                rest = &after[1..];
            }
        }
        push_text(&mut pieces, rest);
        Ok(Argument(pieces))
    }

    /// With values for the placeholders; none where one is inactive.
    fn filled(&self, values: &[(String, Value)]) -> Option<String> {
        let value = |name: &str| {
            values
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, value)| shown(value))
        };
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Text(text) => Some(text.clone()),
            Piece::Parameter(name) => value(name),
        });
        pieces.collect()
    }

    /// The text, where there are no placeholders.
    fn fixed(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    fn is_option(&self) -> bool {
        self.fixed()
            .is_some_and(|text| text.starts_with('-') && !text.contains('='))
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Parameter(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }
}

/// How long the name is that stands right behind a brace: up to the closing one if that is a parameter's name, which may
/// hold any character; otherwise that of a word, which is probably meant to be one.
fn name_length(inner: &str, space: &Space) -> usize {
    match inner.find('}') {
        Some(length) if is_visible(&inner[..length], space) => length,
        _ => inner
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(inner.len()),
    }
}

fn is_visible(name: &str, space: &Space) -> bool {
    space
        .parameters()
        .iter()
        .any(|p| !p.is_auxiliary() && p.name() == name)
}

/// Neighbouring texts are one piece.
fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    match pieces.last_mut() {
        _ if text.is_empty() => {}
        Some(Piece::Text(last)) => last.push_str(text),
        _ => pieces.push(Piece::Text(text.to_owned())),
    }
}

/// Program and arguments with values; what names something inactive is left out.
fn filled(template: &[Argument], values: &[(String, Value)]) -> Vec<String> {
    let mut arguments: Vec<String> = Vec::new();
    for (at, argument) in template.iter().enumerate() {
        match argument.filled(values) {
            Some(text) => arguments.push(text),
            None if at > 1 && template[at - 1].is_option() => drop(arguments.pop()),
            None => {}
        }
    }
    arguments
}

fn template(command: &[String], space: &Space) -> Result<Vec<Argument>, Failure> {
    let arguments: Vec<Argument> = command
        .iter()
        .map(|text| Argument::parse(text, space))
        .collect::<Result<_, _>>()?;
    let Some(program) = arguments.first() else {
        return Err("command: the list is empty".to_owned());
    };
    let conditional = program.names().find(|name| {
        space
            .parameters()
            .iter()
            .any(|p| p.name() == *name && p.condition().is_some())
    });
    match conditional {
        Some(name) => Err(format!(
            "command: the program depends on `{name}`, which may be inactive"
        )),
        None => Ok(arguments),
    }
}

/// A line for the shell must not hold placeholders: values could contain program text. `${name}` is the shell's own.
fn shell_line(line: String, space: &Space) -> Result<String, Failure> {
    let begins = line
        .match_indices('{')
        .filter(|(at, _)| !line[..*at].ends_with('$'));
    let mut words =
        begins.filter_map(|(at, _)| line[at + 1..].split_once('}').map(|(name, _)| name));
    match words.find(|name| is_visible(name, space)) {
        Some(name) => Err(format!(
            "shell: `{{{name}}}` is not replaced in a shell's line; write \"${}\" there, in quotes",
            variable(name)
        )),
        None => Ok(line),
    }
}

fn check_name(name: &str, space: &Space) -> Result<(), Failure> {
    let visible = || {
        space
            .parameters()
            .iter()
            .filter(|p| !p.is_auxiliary())
            .map(mivabo::space::Parameter::name)
    };
    if is_visible(name, space) {
        return Ok(());
    }
    let hint = did_you_mean(name, visible()).unwrap_or_default();
    Err(format!(
        "command: `{{{name}}}` is no parameter{hint}\nhint: write `{{{{{name}}}}}` for the text itself"
    ))
}

/// The environment variable of every visible parameter. Two must not share one.
fn variables(space: &Space) -> Result<BTreeMap<String, String>, Failure> {
    let mut owners: BTreeMap<String, &str> = BTreeMap::new();
    for (taken, what) in COMMON {
        owners.insert(taken.to_owned(), what);
    }
    let mut variables = BTreeMap::new();
    for parameter in space.parameters().iter().filter(|p| !p.is_auxiliary()) {
        let variable = variable(parameter.name());
        if let Some(other) = owners.insert(variable.clone(), parameter.name()) {
            let name = parameter.name();
            return Err(format!(
                "parameter `{name}` and {other} would share the variable {variable}; rename one"
            ));
        }
        variables.insert(parameter.name().to_owned(), variable);
    }
    Ok(variables)
}

/// What the file sets must not hide a value.
fn check_env(
    env: &BTreeMap<String, String>,
    variables: &BTreeMap<String, String>,
) -> Result<(), Failure> {
    let common = COMMON
        .into_iter()
        .map(|(variable, what)| (variable, what.to_owned()));
    let values = variables
        .iter()
        .map(|(name, variable)| (variable.as_str(), format!("the value of `{name}`")));
    match common
        .chain(values)
        .find(|(variable, _)| env.contains_key(*variable))
    {
        Some((variable, what)) => Err(format!(
            "env: {variable} holds {what}; give yours another name"
        )),
        None => Ok(()),
    }
}

/// The environment variable of a parameter.
fn variable(name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_uppercase()
        } else {
            '_'
        }
    };
    format!("MIVABO_{}", name.chars().map(plain).collect::<String>())
}

/// A value as a program reads it: texts as they are.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Where a program is: beside the study file where its name has a slash, on the PATH otherwise.
fn program(name: &str, folder: &Path) -> Result<PathBuf, Failure> {
    let is_program = |path: &PathBuf| {
        path.is_file() && nix::unistd::access(path, nix::unistd::AccessFlags::X_OK).is_ok()
    };
    if name.contains('/') {
        let path = std::path::absolute(folder.join(name)).map_err(|e| format!("`{name}`: {e}"))?;
        return match is_program(&path) {
            true => Ok(path),
            false if path.exists() => Err(format!(
                "`{}` is not a program that may be run",
                path.display()
            )),
            false => Err(format!("there is no program `{}`", path.display())),
        };
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    // The objective starts in another folder, so a relative one would be another.
    let absolute = |folder: PathBuf| std::path::absolute(folder.join(name)).ok();
    let found = std::env::split_paths(&folders)
        .filter_map(absolute)
        .find(is_program);
    found.ok_or_else(|| format!("there is no program `{name}` on the PATH"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space() -> Space {
        Space::from_toml(
            "[parameters]
            lr = { type = 'float', low = 0.0, high = 1.0 }
            opt = { type = 'choice', values = ['sgd', '$(rm x); \"{lr}\"'] }
            momentum = { type = 'float', low = 0.0, high = 1.0, when = \"opt == 'sgd'\" }",
        )
        .unwrap()
    }

    fn objective(command: &[&str]) -> Result<Objective, Failure> {
        let command = Some(command.iter().map(|&text| text.to_owned()).collect());
        Objective::new(
            ObjectiveKeys {
                command,
                ..ObjectiveKeys::default()
            },
            &space(),
        )
    }

    fn arguments(command: &[&str], values: &[(&str, Value)]) -> Vec<String> {
        let Kind::Command(template) = objective(command).unwrap().kind else {
            unreachable!()
        };
        let values: Vec<(String, Value)> = values
            .iter()
            .map(|(n, v)| ((*n).to_owned(), v.clone()))
            .collect();
        filled(&template, &values)
    }

    #[test]
    fn placeholders_are_replaced_inside_arguments_and_values_stay_data() {
        let odd = "$(rm x); \"{lr}\"";
        let given = [("lr", 1e-7.into()), ("opt", odd.into())];

        let arguments = arguments(
            &[
                "p",
                "a{lr}b{opt}",
                "{{lr}}",
                "{\"a\": {}, {0}}",
                "{",
                "é{lr}",
            ],
            &given,
        );

        assert_eq!(
            arguments,
            [
                "p",
                &format!("a1e-7b{odd}"),
                "{lr}",
                "{\"a\": {}, {0}}",
                "{",
                "é1e-7"
            ]
        );
    }

    #[test]
    fn names_may_hold_any_character_and_the_shell_has_braces_of_its_own() {
        let space = Space::from_toml(
            "[parameters]\n'learning rate' = { type = 'bool' }\nx = { type = 'bool' }",
        )
        .unwrap();
        let parsed = |text: &str| Argument::parse(text, &space).unwrap().0;

        assert_eq!(
            parsed("{learning rate}"),
            [Piece::Parameter("learning rate".to_owned())]
        );
        assert_eq!(
            parsed("{{learning rate}}"),
            [Piece::Text("{learning rate}".to_owned())]
        );
        assert_eq!(
            parsed("{learning-rate}"),
            [Piece::Text("{learning-rate}".to_owned())]
        );
        assert!(shell_line("x=$MIVABO_X; echo ${x}".to_owned(), &space).is_ok());
        assert!(shell_line("echo {learning rate}".to_owned(), &space).is_err());
    }

    #[test]
    fn what_names_an_inactive_parameter_goes_with_its_option() {
        let given = [("lr", 0.5.into()), ("opt", "x".into())];
        let filled = |command: &[&str]| arguments(command, &given).join(" ");

        assert_eq!(
            filled(&["p", "--momentum", "{momentum}", "--lr", "{lr}"]),
            "p --lr 0.5"
        );
        assert_eq!(filled(&["p", "--momentum={momentum}", "-v"]), "p -v");
        assert_eq!(filled(&["p", "--keep=1", "{momentum}"]), "p --keep=1");
        assert_eq!(filled(&["p", "--lr={lr}", "m{momentum}"]), "p --lr=0.5");
        assert_eq!(filled(&["-p", "{momentum}", "x"]), "-p x");
        assert_eq!(filled(&["p", "-m", "{momentum}", "{momentum}"]), "p");
    }

    #[test]
    fn mistakes_are_found_before_anything_runs() {
        let said = |command: &[&str]| objective(command).unwrap_err();
        assert_eq!(
            said(&["p", "{momentun}"]),
            "command: `{momentun}` is no parameter; did you mean `momentum`?\n\
             hint: write `{{momentun}}` for the text itself"
        );
        assert_eq!(said(&[]), "command: the list is empty");
        assert_eq!(
            said(&["{momentum}"]),
            "command: the program depends on `momentum`, which may be inactive"
        );
        let shell = Some("echo {lr}".to_owned());
        let keys = ObjectiveKeys {
            shell,
            ..ObjectiveKeys::default()
        };
        assert_eq!(
            Objective::new(keys, &space()).unwrap_err(),
            "shell: `{lr}` is not replaced in a shell's line; write \"$MIVABO_LR\" there, in quotes"
        );
        assert!(Objective::new(ObjectiveKeys::default(), &space()).is_err());
        let missing = objective(&["no-such-program"])
            .unwrap()
            .check_program(Path::new("."));
        assert_eq!(
            missing.unwrap_err(),
            "[objective]: there is no program `no-such-program` on the PATH"
        );
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
            let env = BTreeMap::from([(variable.to_owned(), "1".to_owned())]);
            let keys = ObjectiveKeys {
                shell: Some("true".to_owned()),
                env,
                ..ObjectiveKeys::default()
            };
            assert_eq!(Objective::new(keys, &space()).unwrap_err(), message);
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
            assert_eq!(variables(&space).unwrap_err(), message);
        }
    }
}
