//! What may be wrong with a study file, as data that reads as a sentence.

use std::fmt;

use mivabo::strategy;
use mivabo_store::AimsError;

use crate::MAX_WORKERS;
use crate::interpreter::SHELL_ARGUMENT;
use crate::keys::Key;
use crate::time::TimeError;

/// What is wrong with a study file, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct Mistake {
    /// The line, counted from 1, where it is known.
    pub line: Option<usize>,
    /// What is wrong.
    pub problem: Box<Problem>,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        self.problem.fmt(f)
    }
}

impl std::error::Error for Mistake {}

impl From<Problem> for Mistake {
    fn from(problem: Problem) -> Mistake {
        Mistake {
            line: None,
            problem: Box::new(problem),
        }
    }
}

/// What may be wrong with a study file.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// It does not read as TOML or JSON, or a value has the wrong type.
    #[error("{message}")]
    Unreadable {
        /// What the reader says, with the place.
        message: String,
    },
    /// A key that means nothing.
    #[error("unknown key `{key}`{}; {}", in_table(table), hint(nearest.as_deref(), known))]
    UnknownKey {
        /// The key.
        key: String,
        /// Its table; empty at the top of the file.
        table: &'static str,
        /// The key that was probably meant.
        nearest: Option<String>,
        /// The keys that the table may have.
        known: &'static [Key],
    },
    /// There is nothing to choose.
    #[error("[parameters] is empty or missing")]
    NoParameters,
    /// What the space or the study refuses.
    #[error(transparent)]
    Study(#[from] mivabo::Error),
    /// A name that no study can have.
    #[error(transparent)]
    Name(#[from] mivabo_store::Error),
    /// Goals or limits that make no sense.
    #[error("{why}")]
    Aims {
        /// The key, and what was expected.
        why: AimsError,
    },
    /// `[objective]` makes no sense.
    #[error("[objective]: {0}")]
    Objective(#[from] ObjectiveError),
    /// The strategy or its settings are unknown, or do not fit the rest of the file.
    #[error("[run] strategy: {why}")]
    Strategy {
        /// What was expected.
        why: strategy::Error,
    },
    /// A pair of parameters that cannot be linked.
    #[error("[model] linked: {why}")]
    Links {
        /// Which one, and why.
        why: strategy::Error,
    },
    /// No workers, or more than a process should have.
    #[error("[run] workers: expected 1 to {MAX_WORKERS}, not {n}")]
    Workers {
        /// How many were asked for.
        n: usize,
    },
    /// A lease that cannot be kept.
    #[error("[run] lease: {why}")]
    Lease {
        /// What is wrong with it.
        why: TimeError,
    },
    /// A time that a run cannot have.
    #[error("[run] for: {why}")]
    Time {
        /// What is wrong with it.
        why: TimeError,
    },
    /// A run that would stop before it began.
    #[error("[run] patience: expected at least 1, not 0")]
    NoPatience,
    /// A run needs something to evaluate.
    #[error(
        "no [objective] to evaluate\n\
         hint: add one, or use `mivabo ask` and `mivabo tell`"
    )]
    NoObjective,
    /// A run needs an end.
    #[error(
        "nothing says when to stop: set `trials`, `for` or `patience` in [run], \
         or pass --trials, --for or --patience"
    )]
    NoEnd,
}

fn in_table(table: &str) -> String {
    match table {
        "" => String::new(),
        table => format!(" in [{table}]"),
    }
}

fn hint(nearest: Option<&str>, known: &[Key]) -> String {
    let names: Vec<&str> = known.iter().map(|key| key.name).collect();
    match (nearest, names.as_slice()) {
        (Some(nearest), _) => format!("did you mean `{nearest}`?"),
        (None, [only]) => format!("expected `{only}`"),
        (None, names) => format!("expected one of {}", names.join(", ")),
    }
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
    /// The same in a text that an interpreter runs.
    #[error(
        "command: `{{{name}}}` stands in a text that `{program}` runs, and its value would be run too\nhint: {}",
        instead(name, program, first, variable)
    )]
    ProgramText {
        /// The parameter.
        name: String,
        /// What runs the text.
        program: String,
        /// How the text names the first argument behind it; empty where it has no name.
        first: &'static str,
        /// What holds the value.
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
        "builtin: unknown function `{name}`{}",
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
            | ObjectiveError::UnknownPlaceholder { .. }
            | ObjectiveError::ProgramText { .. } => Some("command"),
            ObjectiveError::ShellPlaceholder { .. } => Some("shell"),
            ObjectiveError::HiddenVariable { .. } => Some("env"),
            ObjectiveError::UnknownBuiltin { .. } | ObjectiveError::BuiltinNeeds { .. } => {
                Some("builtin")
            }
            ObjectiveError::Time { key, .. } => Some(key),
        }
    }
}

/// How a value comes into a text that is run, and stays a value.
fn instead(name: &str, program: &str, first: &str, variable: &str) -> String {
    let environment = format!("read it there from the environment variable {variable}");
    match first {
        "" => environment,
        // The first argument behind the text of a shell is its name.
        SHELL_ARGUMENT => format!(
            "write \"$1\" there, in quotes, and \"{program}\", \"{{{name}}}\" behind it; or \"${variable}\""
        ),
        first => format!("write {first} there and \"{{{name}}}\" behind it; or {environment}"),
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
