//! Arguments with placeholders.
//!
//! `{name}` inside an argument stands for the value of a parameter; `{{name}}` is the text `{name}`; braces around anything
//! that is neither a parameter's name nor a word mean nothing. Values become parts of arguments, never of a shell's
//! program text. Where a parameter is inactive, the argument that names it is left out, and so is the argument right before
//! it if that is an option by itself: it begins with `-` and has neither `=` nor a placeholder.

use mivabo::Space;
use mivabo::space::{Domain, Parameter, Value};

use crate::error::ObjectiveError;
use crate::interpreter::{Interpreter, Role, is_starter};
use crate::variables::{self, visible};

/// A program and its arguments, with placeholders.
#[derive(Debug, Clone, PartialEq)]
pub struct Template(Vec<Argument>);

#[derive(Debug, Clone, PartialEq)]
struct Argument(Vec<Piece>);

#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Text(String),
    Parameter(String),
}

impl Template {
    /// Checks every placeholder against the space. The program itself must not depend on what may be inactive.
    pub(crate) fn parse(command: &[String], space: &Space) -> Result<Template, ObjectiveError> {
        let arguments = command.iter().map(|text| Argument::parse(text, space));
        let arguments: Vec<Argument> = arguments.collect::<Result<_, _>>()?;
        let program = arguments.first().ok_or(ObjectiveError::EmptyCommand)?;
        if let Some(name) = program.names().find(|name| is_conditional(name, space)) {
            let name = name.to_owned();
            return Err(ObjectiveError::ConditionalProgram { name });
        }
        let template = Template(arguments);
        template.check_program_texts(space)?;
        Ok(template)
    }

    /// Refuses a placeholder inside a text that an interpreter runs: the value would be part of the program.
    fn check_program_texts(&self, space: &Space) -> Result<(), ObjectiveError> {
        let program = self.0.first().map(|program| program.candidates(space));
        let is_starter = program.iter().flatten().any(|name| is_starter(name));
        let n_programs = if is_starter { self.0.len() } else { 1 };
        for (at, argument) in self.0.iter().enumerate().take(n_programs) {
            for program in argument.candidates(space) {
                let Some(interpreter) = Interpreter::named(&program) else {
                    continue;
                };
                if let Some(name) = run_by(interpreter, &self.0[at + 1..]) {
                    return Err(ObjectiveError::ProgramText {
                        name: name.to_owned(),
                        program,
                        first: interpreter.first,
                        variable: variables::of_parameter(name),
                    });
                }
            }
        }
        Ok(())
    }

    /// The program, where it does not depend on a parameter.
    pub fn program(&self) -> Option<&str> {
        self.0.first().and_then(Argument::fixed)
    }

    /// What the program is at any point; none where there are more than `many`, or where it depends on a real number.
    pub fn programs(&self, space: &Space, many: usize) -> Option<Vec<String>> {
        let mut programs = vec![String::new()];
        for piece in self.0.first().map_or(&[][..], |program| &program.0) {
            let texts = match piece {
                Piece::Text(text) => vec![text.clone()],
                Piece::Parameter(name) => values_of(name, space, many)?,
            };
            let longer = programs
                .iter()
                .flat_map(|program| texts.iter().map(move |text| format!("{program}{text}")));
            programs = longer.collect();
            if programs.len() > many {
                return None;
            }
        }
        Some(programs)
    }

    /// The file that the program should run, where that is an interpreter and neither depends on a parameter.
    pub fn script(&self) -> Option<&str> {
        let interpreter = Interpreter::named(self.program()?)?;
        let script = self.0.get(1)?.fixed()?;
        // Without either it may as well be a word that means something to this interpreter.
        let is_file = script.contains(['.', '/']);
        (is_file && interpreter.role(script).is_none()).then_some(script)
    }

    /// Whether it has a placeholder for each of these parameters.
    pub fn says_all<'a>(&self, mut names: impl Iterator<Item = &'a str>) -> bool {
        let said = |name: &str| self.0.iter().any(|a| a.names().any(|known| known == name));
        names.all(said)
    }

    /// Program and arguments as they are written, with placeholders.
    pub fn words(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(Argument::written)
    }

    /// Program and arguments at a point. What names something inactive is left out.
    pub fn filled(&self, values: &[(String, Value)]) -> Vec<String> {
        let mut arguments: Vec<String> = Vec::new();
        for (at, argument) in self.0.iter().enumerate() {
            match argument.filled(values) {
                Some(text) => arguments.push(text),
                // The program, at 0, is never an option of the argument behind it.
                None if at > 1 && self.0[at - 1].is_option() => drop(arguments.pop()),
                None => {}
            }
        }
        arguments
    }
}

impl Argument {
    fn parse(text: &str, space: &Space) -> Result<Argument, ObjectiveError> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            let (before, after) = rest.split_at(at);
            push_text(&mut pieces, before);
            let brace = Brace::at_start_of(after, space);
            match brace.meaning(space) {
                Meaning::Escaped => push_text(&mut pieces, &format!("{{{}}}", brace.name)),
                Meaning::Placeholder => {
                    check_name(brace.name, space)?;
                    pieces.push(Piece::Parameter(brace.name.to_owned()));
                }
                Meaning::Nothing => {
                    push_text(&mut pieces, "{");
                    rest = &after[1..];
                    continue;
                }
            }
            rest = brace.rest;
        }
        push_text(&mut pieces, rest);
        Ok(Argument(pieces))
    }

    /// With values for the placeholders; none where one is inactive.
    fn filled(&self, values: &[(String, Value)]) -> Option<String> {
        let value = |name: &str| {
            let found = values.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| shown(value))
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

    fn written(&self) -> String {
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Parameter(name) => format!("{{{name}}}"),
        });
        pieces.collect()
    }

    /// The text before the first placeholder.
    fn beginning(&self) -> &str {
        match self.0.first() {
            Some(Piece::Text(text)) => text,
            _ => "",
        }
    }

    /// What it may be, as far as that can be listed: itself, or the values of the one parameter that it consists of.
    fn candidates(&self, space: &Space) -> Vec<String> {
        match (self.fixed(), self.0.as_slice()) {
            (Some(text), _) => vec![text.to_owned()],
            (None, [Piece::Parameter(name)]) => {
                let mut parameters = space.parameters().iter();
                let found = parameters.find(|one| one.name() == name);
                let domain = found.map(Parameter::domain);
                let listed = domain.filter(|domain| domain.range().is_none());
                let values = listed.into_iter().flat_map(Domain::values);
                values.map(|value| shown(&value)).collect()
            }
            _ => Vec::new(),
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

/// The placeholder among these arguments of an interpreter that stands in a text which is run.
fn run_by<'a>(interpreter: &Interpreter, arguments: &'a [Argument]) -> Option<&'a str> {
    let (mut is_text, mut is_value) = (false, false);
    for argument in arguments {
        let name = argument.names().next();
        let role = interpreter.role(argument.beginning());
        match role {
            _ if std::mem::take(&mut is_value) => {}
            Some(Role::Text | Role::TextNext) if name.is_some() => return name,
            Some(Role::Text) if interpreter.goes_on() => {}
            Some(Role::TextNext) => is_text = true,
            Some(Role::Value) => is_value = true,
            Some(Role::Flag) => {}
            None if is_text && name.is_some() => return name,
            None if is_text && interpreter.goes_on() => is_text = false,
            Some(Role::Text) | None => return None,
        }
    }
    None
}

/// What stands at an opening brace.
struct Brace<'a> {
    is_double: bool,
    is_closed: bool,
    name: &'a str,
    /// What follows the closing brace or braces.
    rest: &'a str,
}

enum Meaning {
    Placeholder,
    Escaped,
    Nothing,
}

impl<'a> Brace<'a> {
    fn at_start_of(text: &'a str, space: &Space) -> Brace<'a> {
        let is_double = text.starts_with("{{");
        let width = if is_double { 2 } else { 1 };
        let inner = &text[width..];
        let (name, tail) = inner.split_at(name_length(inner, space));
        let closing = if is_double { "}}" } else { "}" };
        let rest = tail.strip_prefix(closing);
        Brace {
            is_double,
            is_closed: rest.is_some(),
            name,
            rest: rest.unwrap_or(tail),
        }
    }

    fn meaning(&self, space: &Space) -> Meaning {
        // `{}` and `{0}` are formats of other languages, unless a parameter has that name.
        let begins_like_a_name = self.name.starts_with(|c: char| !c.is_numeric());
        let is_name = begins_like_a_name || is_visible(self.name, space);
        match (is_name && self.is_closed, self.is_double) {
            (true, true) => Meaning::Escaped,
            (true, false) => Meaning::Placeholder,
            (false, _) => Meaning::Nothing,
        }
    }
}

/// How long the name is that stands right behind a brace: up to the closing one if that is a parameter's name, which may
/// hold any character; otherwise that of a word, which is probably meant to be one.
fn name_length(inner: &str, space: &Space) -> usize {
    let is_in_word = |c: char| c.is_alphanumeric() || c == '_';
    match inner.find('}') {
        Some(length) if is_visible(&inner[..length], space) => length,
        _ => inner.find(|c| !is_in_word(c)).unwrap_or(inner.len()),
    }
}

/// The values of a parameter as a program reads them; none where they are many, or real numbers.
fn values_of(name: &str, space: &Space, many: usize) -> Option<Vec<String>> {
    let mut parameters = space.parameters().iter();
    let domain = parameters.find(|p| p.name() == name)?.domain();
    let n = domain.size()?;
    let is_few = usize::try_from(n).is_ok_and(|n| n <= many);
    is_few.then(|| domain.values().map(|value| shown(&value)).collect())
}

fn is_conditional(name: &str, space: &Space) -> bool {
    let mut parameters = space.parameters().iter();
    parameters.any(|p| p.name() == name && p.condition().is_some())
}

fn is_visible(name: &str, space: &Space) -> bool {
    visible(space).any(|known| known == name)
}

/// Neighbouring texts are one piece.
fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    match pieces.last_mut() {
        _ if text.is_empty() => {}
        Some(Piece::Text(last)) => last.push_str(text),
        _ => pieces.push(Piece::Text(text.to_owned())),
    }
}

fn check_name(name: &str, space: &Space) -> Result<(), ObjectiveError> {
    if is_visible(name, space) {
        return Ok(());
    }
    Err(ObjectiveError::UnknownPlaceholder {
        name: name.to_owned(),
        nearest: mivabo::nearest(name, visible(space)),
    })
}

/// A line for the shell must not hold placeholders: values could contain program text. `${name}` is the shell's own.
pub(crate) fn check_shell_line(line: &str, space: &Space) -> Result<(), ObjectiveError> {
    let braces = line.match_indices('{').map(|(at, _)| line.split_at(at));
    let words = braces
        .filter(|(before, _)| !before.ends_with('$'))
        .filter_map(|(_, after)| after[1..].split_once('}'));
    let mut names = words.map(|(name, _)| name);
    match names.find(|name| is_visible(name, space)) {
        Some(name) => Err(ObjectiveError::ShellPlaceholder {
            name: name.to_owned(),
            variable: variables::of_parameter(name),
        }),
        None => Ok(()),
    }
}

/// A value as a program reads it: texts as they are.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        other => other.to_string(),
    }
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

    fn template(command: &[&str]) -> Result<Template, ObjectiveError> {
        let command: Vec<String> = command.iter().map(|&text| text.to_owned()).collect();
        Template::parse(&command, &space())
    }

    fn arguments(command: &[&str], values: &[(&str, Value)]) -> Vec<String> {
        let values: Vec<(String, Value)> = values
            .iter()
            .map(|(n, v)| ((*n).to_owned(), v.clone()))
            .collect();
        template(command).unwrap().filled(&values)
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
        assert!(check_shell_line("x=$MIVABO_X; echo ${x}", &space).is_ok());
        assert!(check_shell_line("echo {learning rate}", &space).is_err());
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
    fn the_programs_of_all_points_are_known_where_they_are_few() {
        let programs = |program: &str| template(&[program]).unwrap().programs(&space(), 2);

        let odd = "./$(rm x); \"{lr}\".sh".to_owned();
        assert_eq!(
            programs("./{opt}.sh"),
            Some(vec!["./sgd.sh".to_owned(), odd])
        );
        assert_eq!(programs("p"), Some(vec!["p".to_owned()]));
        assert_eq!((programs("{opt}{opt}"), programs("{lr}")), (None, None));
    }

    #[test]
    fn a_value_is_never_part_of_a_text_that_is_run() {
        let space = Space::from_toml(
            "[parameters]\nx = { type = 'int', low = 1, high = 3 }\nshell = { type = 'choice', values = ['bash', 'zsh'] }",
        )
        .unwrap();
        let parsed = |command: &[&str]| {
            let command: Vec<String> = command.iter().map(|&text| text.to_owned()).collect();
            Template::parse(&command, &space)
        };

        for command in [
            &["sh", "-c", "echo {x}"] as &[&str],
            &["/usr/bin/bash", "-o", "pipefail", "-ec", "echo '{x}'"],
            &["{shell}", "-c", "echo {x}"],
            &["env", "A=b", "sh", "-c", "echo {x}"],
            &["python3.12", "-u", "-c", "print({x})"],
            &["python3", "-cprint({x})"],
            &["python3", "-c{x}"],
            &["perl", "-e", "print 1;", "-e", "print {x}"],
        ] {
            let said = parsed(command).unwrap_err().to_string();
            assert!(
                said.starts_with("command: `{x}` stands in a text that `"),
                "{said}"
            );
        }
        for command in [
            &["sh", "-c", "echo \"$1\"", "sh", "{x}"] as &[&str],
            &["sh", "objective.sh", "-c", "{x}"],
            &["python3", "-u", "train.py", "-c", "{x}"],
            &["python3", "-c", "import sys; print(sys.argv[1])", "{x}"],
            &["train", "--language", "python", "-c", "{x}"],
        ] {
            assert!(parsed(command).is_ok(), "{command:?}");
        }
        let said = |command: &[&str]| parsed(command).unwrap_err().to_string();
        assert_eq!(
            said(&["sh", "-c", "echo {x}"]),
            "command: `{x}` stands in a text that `sh` runs, and its value would be run too\n\
             hint: write \"$1\" there, in quotes, and \"sh\", \"{x}\" behind it; or \"$MIVABO_X\""
        );
        assert_eq!(
            said(&["python3", "-c", "print({x})"]),
            "command: `{x}` stands in a text that `python3` runs, and its value would be run too\n\
             hint: write sys.argv[1] there and \"{x}\" behind it; or read it there from the environment variable MIVABO_X"
        );
    }

    #[test]
    fn mistakes_are_found_before_anything_runs() {
        let said = |command: &[&str]| template(command).unwrap_err().to_string();

        assert_eq!(
            said(&["p", "{momentun}"]),
            "command: `{momentun}` is not a parameter; did you mean `momentum`?\n\
             hint: write `{{momentun}}` for the text itself"
        );
        assert_eq!(said(&[]), "command: the list is empty");
        assert_eq!(
            said(&["{momentum}"]),
            "command: the program depends on `momentum`, which may be inactive"
        );
        assert_eq!(
            check_shell_line("echo {lr}", &space())
                .unwrap_err()
                .to_string(),
            "shell: `{lr}` is not replaced in a shell's line; write \"$MIVABO_LR\" there, in quotes"
        );
    }
}
