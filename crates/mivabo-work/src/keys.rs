//! The keys of a study file: what each takes, and what it is for. Messages about unknown keys and the schema are made from these
//! tables.

/// A key of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Key {
    /// How it is written.
    pub name: &'static str,
    /// What may stand behind it.
    pub takes: Takes,
    /// What it is for.
    pub what: &'static str,
}

/// What may stand behind a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Takes {
    /// Any text.
    Text,
    /// A list of texts, with at least one.
    Texts,
    /// Names, each with a text.
    NamedTexts,
    /// A list of pairs of names.
    Pairs,
    /// A whole number in this range.
    Whole(u64, u64),
    /// A duration such as `2h 30m`.
    Duration,
    /// `minimize` or `maximize`.
    Sense,
    /// One name, with `minimize` or `maximize`.
    Goals,
    /// Names, each with a bound such as `<= 20`.
    Limits,
    /// A strategy and its settings.
    Strategy,
    /// A function of this crate.
    Builtin,
    /// Names of parameters, and what each may be.
    Parameters,
    /// Names, each with an expression.
    Definitions,
    /// The keys of `[objective]`.
    Objective,
    /// The keys of `[run]`.
    Run,
    /// The keys of `[model]`.
    Model,
}

impl Key {
    const fn new(name: &'static str, takes: Takes, what: &'static str) -> Key {
        Key { name, takes, what }
    }
}

/// The largest number that every reader of JSON keeps, and far more than anybody asks for.
const MANY: u64 = 1 << 53;

/// The top of a study file.
pub(crate) const FILE: &[Key] = &[
    Key::new(
        "name",
        Takes::Text,
        "The study's name in its database. Default: the name of the file.",
    ),
    Key::new(
        "direction",
        Takes::Sense,
        "Whether `value`, the number that the objective prints, should be small or large. Default: \"minimize\".",
    ),
    Key::new(
        "goals",
        Takes::Goals,
        "The same for a number with a name of its own, instead of `direction`.",
    ),
    Key::new(
        "limits",
        Takes::Limits,
        "Bounds on what is measured, such as latency = \"<= 20\".",
    ),
    Key::new(
        "parameters",
        Takes::Parameters,
        "What may be set: names, and which values each may have.",
    ),
    Key::new(
        "definitions",
        Takes::Definitions,
        "Names for expressions over parameters.",
    ),
    Key::new(
        "constraints",
        Takes::NamedTexts,
        "Names, and statements that every suggestion satisfies.",
    ),
    Key::new("objective", Takes::Objective, "What is evaluated."),
    Key::new(
        "run",
        Takes::Run,
        "How often, by whom, and where results are kept.",
    ),
    Key::new("model", Takes::Model, "What is known about the function."),
];

/// `[objective]`
pub(crate) const OBJECTIVE: &[Key] = &[
    Key::new(
        "command",
        Takes::Texts,
        "A program and its arguments; {lr} inside an argument stands for the value of the parameter `lr`.",
    ),
    Key::new(
        "shell",
        Takes::Text,
        "A line for /bin/sh -c; values are in environment variables such as MIVABO_LR.",
    ),
    Key::new("builtin", Takes::Builtin, "A function inside mivabo."),
    Key::new(
        "timeout",
        Takes::Duration,
        "How long one evaluation may take. Default: as long as it wants.",
    ),
    Key::new(
        "grace",
        Takes::Duration,
        "Time between SIGTERM and SIGKILL. Default: \"5s\".",
    ),
    Key::new(
        "retries",
        Takes::Whole(0, MANY),
        "How often to retry an evaluation that failed. Default: 0.",
    ),
    Key::new("env", Takes::NamedTexts, "Environment variables."),
];

/// `[run]`
pub(crate) const RUN: &[Key] = &[
    Key::new(
        "trials",
        Takes::Whole(0, MANY),
        "Total number of trials, failed ones and those already there included.",
    ),
    Key::new(
        "for",
        Takes::Duration,
        "How long a run starts new trials; those that run then finish.",
    ),
    Key::new(
        "patience",
        Takes::Whole(1, MANY),
        "Start no new trials once so many were evaluated in a row without a better one.",
    ),
    Key::new(
        "workers",
        Takes::Whole(1, crate::MAX_WORKERS as u64),
        "Evaluations at the same time. Default: 1.",
    ),
    Key::new(
        "seed",
        Takes::Whole(0, u64::MAX),
        "Random seed. Default: 0.",
    ),
    Key::new(
        "strategy",
        Takes::Strategy,
        "How points are chosen; `mivabo strategies` lists all. Default: \"improvement\".",
    ),
    Key::new(
        "n_initial",
        Takes::Whole(0, mivabo::study::MAX_INITIAL as u64),
        "Trials before the model is used.",
    ),
    Key::new(
        "storage",
        Takes::Text,
        "Where trials are kept: a path, or sqlite:///PATH. Default: the name of the file with .db.",
    ),
    Key::new(
        "lease",
        Takes::Duration,
        "How long a worker may be silent before its trials go to others. Default: \"60s\".",
    ),
];

/// `[model]`
pub(crate) const MODEL: &[Key] = &[Key::new(
    "linked",
    Takes::Pairs,
    "Pairs of parameters that interact, one discrete and one continuous each.",
)];
