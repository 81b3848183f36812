//! What can be wrong with parameters, definitions, constraints and points: data that reads as a sentence.

use std::fmt;

use super::domain::Domain;
use super::snippet::Snippet;
use super::value::Value;

/// What was wrong with what was said, where, and what was expected.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// A parameter, definition or constraint has an empty name.
    #[error("a {what} needs a name; this one is empty")]
    EmptyName {
        /// parameter, definition or constraint
        what: &'static str,
    },
    /// A name contains a backtick, a line break or another control character.
    #[error("the name {name:?} contains a backtick or a control character")]
    BadName {
        /// The name.
        name: String,
    },
    /// A name is used twice.
    #[error("the name `{name}` is used twice")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A low bound lies above its high bound.
    #[error("parameter `{name}`: low bound {low} is above high bound {high}")]
    EmptyDomain {
        /// The parameter.
        name: String,
        /// Its low bound.
        low: f64,
        /// Its high bound.
        high: f64,
    },
    /// A list of values is empty.
    #[error("parameter `{name}`: the list of values is empty")]
    NoValues {
        /// The parameter.
        name: String,
    },
    /// A value occurs twice in a list.
    #[error("parameter `{name}`: the value {value} is listed twice")]
    DuplicateValue {
        /// The parameter.
        name: String,
        /// The value.
        value: Value,
    },
    /// An ordinal holds both texts and numbers, or truth values.
    #[error(
        "parameter `{name}`: an ordinal takes only numbers or only texts; use a choice for anything else"
    )]
    MixedOrdinal {
        /// The parameter.
        name: String,
    },
    /// A list, or a unary or one-hot code, is too long.
    #[error(
        "parameter `{name}` has {n} values; a list and a unary or one-hot encoding hold at most {limit}"
    )]
    TooManyValues {
        /// The parameter.
        name: String,
        /// How many it has.
        n: u64,
        /// How many it may have.
        limit: u64,
    },
    /// An integer bound is so large that sums with it would not be exact.
    #[error(
        "parameter `{name}`: {value} is beyond ±2^40, the range that keeps sums of integers exact"
    )]
    IntegerTooLarge {
        /// The parameter.
        name: String,
        /// The bound.
        value: i64,
    },
    /// A step is not positive or does not divide the range.
    #[error("parameter `{name}`: step {step} is not a positive divisor of high - low = {}", high - low)]
    Step {
        /// The parameter.
        name: String,
        /// Its low bound.
        low: i64,
        /// Its high bound.
        high: i64,
        /// The step.
        step: i64,
    },
    /// A logarithmic scale needs positive values.
    #[error("parameter `{name}`: a log scale needs a positive low bound, not {low}")]
    LogNeedsPositive {
        /// The parameter.
        name: String,
        /// Its low bound.
        low: f64,
    },
    /// A logarithmic scale on a list of values.
    #[error("parameter `{name}`: a log scale applies only to floats and ints")]
    LogOnList {
        /// The parameter.
        name: String,
    },
    /// A bound or value is NaN or infinite.
    #[error("parameter `{name}`: {bound} is {value}; it must be finite")]
    NonFinite {
        /// The parameter.
        name: String,
        /// Which bound.
        bound: &'static str,
        /// Its value.
        value: f64,
    },
    /// A text that the expression language does not contain.
    #[error("{place}: {message}\n{snippet}")]
    Syntax {
        /// Where the text stands.
        place: Place,
        /// What is wrong and what was expected.
        message: String,
        /// The line, with a caret.
        snippet: Box<Snippet>,
    },
    /// An expression names something that does not exist.
    #[error("{place}: unknown name `{name}`{}{}", hint(nearest.as_ref()), below(snippet.as_deref()))]
    UnknownName {
        /// Where it is named.
        place: Place,
        /// The name.
        name: String,
        /// The most similar known name.
        nearest: Option<String>,
        /// The line, with a caret.
        snippet: Option<Box<Snippet>>,
    },
    /// A parameter is compared with a value that it never takes.
    #[error("{place}: `{name}` is never {value}; it is {domain}{}", below(snippet.as_deref()))]
    UnknownValue {
        /// Where it is compared.
        place: Place,
        /// The parameter.
        name: String,
        /// The value.
        value: Value,
        /// What it may be.
        domain: Box<Domain>,
        /// The line, with a caret.
        snippet: Option<Box<Snippet>>,
    },
    /// An operator was given something of the wrong type.
    #[error("{place}: {message}{}", below(snippet.as_deref()))]
    TypeClash {
        /// Where.
        place: Place,
        /// What was found and what was expected.
        message: String,
        /// The line, with a caret.
        snippet: Option<Box<Snippet>>,
    },
    /// A literal number is NaN or infinite.
    #[error("{place}: the number {value} is not finite")]
    NonFiniteLiteral {
        /// Where.
        place: Place,
        /// The number.
        value: f64,
    },
    /// A text is too long to be an expression.
    #[error("{place}: {length} characters long; at most {limit} are allowed")]
    TooLong {
        /// Where.
        place: Place,
        /// How long it is.
        length: usize,
        /// How long it may be.
        limit: usize,
    },
    /// An expression is nested too deeply.
    #[error("{place}: nested more than {limit} levels deep")]
    TooDeep {
        /// Where.
        place: Place,
        /// How deep it may be.
        limit: usize,
    },
    /// Too many conditions rest on each other.
    #[error(
        "{place}: rests on more than {limit} other conditions, each on the next; at most {limit} may be nested"
    )]
    NestedConditions {
        /// The first condition that is too deep.
        place: Place,
        /// How many it may rest on.
        limit: usize,
    },
    /// A handle of another builder was used.
    #[error("{place}: uses a handle of another space")]
    ForeignHandle {
        /// Where.
        place: Place,
    },
    /// Conditions or definitions that need each other.
    #[error("`{}` depends on itself: {}", .names[0], .names.join(" → "))]
    Recursion {
        /// The circle; the first name is repeated at the end.
        names: Vec<String>,
    },
    /// A condition (`when`) over a continuous parameter.
    #[error(
        "{place}: a condition may name only discrete parameters, but `{parameter}` is continuous"
    )]
    ContinuousCondition {
        /// Where.
        place: Place,
        /// The continuous parameter.
        parameter: String,
    },
    /// A divisor can be zero.
    #[error("{place}: division by zero at {at}")]
    DivisionByZero {
        /// Where.
        place: Place,
        /// At which values.
        at: String,
    },
    /// A study file that is not TOML or JSON, or has the wrong keys.
    #[error("{message}")]
    File {
        /// What the reader says.
        message: String,
    },
    /// A default that the parameter cannot have.
    #[error("parameter `{name}`: the default {default} is not {domain}")]
    Default {
        /// The parameter.
        name: String,
        /// Its default.
        default: Value,
        /// What was expected.
        domain: Box<Domain>,
    },
    /// A key that a parameter of this type does not have, or lacks.
    #[error("parameter `{name}`: {message}")]
    Declaration {
        /// The parameter.
        name: String,
        /// What is wrong.
        message: String,
    },
}

/// What a mistake is about, by the name that the user gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject<'a> {
    /// A parameter or a definition.
    Symbol(&'a str),
    /// A constraint.
    Constraint(&'a str),
}

impl Error {
    /// What it is about, where that has a name: who reads a file finds its line by it.
    pub fn subject(&self) -> Option<Subject<'_>> {
        match self {
            Error::EmptyName { .. } | Error::BadName { .. } | Error::File { .. } => None,
            Error::Recursion { names } => names.first().map(|name| Subject::Symbol(name)),
            Error::DuplicateName { name }
            | Error::EmptyDomain { name, .. }
            | Error::NoValues { name }
            | Error::DuplicateValue { name, .. }
            | Error::MixedOrdinal { name }
            | Error::TooManyValues { name, .. }
            | Error::IntegerTooLarge { name, .. }
            | Error::Step { name, .. }
            | Error::LogNeedsPositive { name, .. }
            | Error::LogOnList { name }
            | Error::NonFinite { name, .. }
            | Error::Default { name, .. }
            | Error::Declaration { name, .. } => Some(Subject::Symbol(name)),
            Error::Syntax { place, .. }
            | Error::UnknownName { place, .. }
            | Error::UnknownValue { place, .. }
            | Error::TypeClash { place, .. }
            | Error::NonFiniteLiteral { place, .. }
            | Error::TooLong { place, .. }
            | Error::TooDeep { place, .. }
            | Error::NestedConditions { place, .. }
            | Error::ForeignHandle { place }
            | Error::ContinuousCondition { place, .. }
            | Error::DivisionByZero { place, .. } => place.subject(),
        }
    }
}

/// Why values do not make a point.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PointError {
    /// A point names a parameter that does not exist.
    #[error("unknown parameter `{name}`{}", hint(nearest.as_ref()))]
    UnknownParameter {
        /// The name.
        name: String,
        /// The most similar known name.
        nearest: Option<String>,
    },
    /// A point gives one parameter twice.
    #[error("parameter `{name}` is given twice")]
    GivenTwice {
        /// The parameter.
        name: String,
    },
    /// A value outside its domain.
    #[error("parameter `{name}`: {value} is not {domain}")]
    OutOfDomain {
        /// The parameter.
        name: String,
        /// The value.
        value: Value,
        /// What was expected.
        domain: Box<Domain>,
    },
    /// A point lacks an active parameter.
    #[error("parameter `{name}` is missing; expected {domain}")]
    Missing {
        /// The parameter.
        name: String,
        /// What was expected.
        domain: Box<Domain>,
    },
    /// A point gives a value to a parameter that is inactive there.
    #[error("parameter `{name}` is inactive here; it is active only when {when}")]
    Inactive {
        /// The parameter.
        name: String,
        /// Its condition.
        when: String,
    },
    /// Auxiliary integers that are not given and could not be found.
    #[error("the auxiliary integers {} have {combinations} combinations, too many to search; give their values", listed(.names))]
    AuxiliarySearch {
        /// The auxiliary parameters.
        names: Vec<String>,
        /// How many combinations they have.
        combinations: String,
    },
}

/// Where an expression stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In a constraint.
    Constraint(String),
    /// In a definition.
    Definition(String),
    /// In the condition of a parameter or a definition.
    Condition(String),
    /// On its own.
    Text,
}

impl Place {
    /// What the expression belongs to.
    pub fn subject(&self) -> Option<Subject<'_>> {
        match self {
            Place::Constraint(name) => Some(Subject::Constraint(name)),
            Place::Definition(name) | Place::Condition(name) => Some(Subject::Symbol(name)),
            Place::Text => None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Constraint(name) => write!(f, "constraint `{name}`"),
            Place::Definition(name) => write!(f, "definition `{name}`"),
            Place::Condition(name) => write!(f, "condition of `{name}`"),
            Place::Text => f.write_str("expression"),
        }
    }
}

pub(crate) fn hint(nearest: Option<&String>) -> String {
    nearest
        .map(|name| format!("; did you mean `{name}`?"))
        .unwrap_or_default()
}

fn below(snippet: Option<&Snippet>) -> String {
    snippet.map(|s| format!("\n{s}")).unwrap_or_default()
}

/// Names in backticks; of many, the first few.
pub(crate) fn listed(names: &[String]) -> String {
    const FEW: usize = 8;
    let shown: Vec<String> = names.iter().take(FEW).map(|n| format!("`{n}`")).collect();
    match names.len().saturating_sub(FEW) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
