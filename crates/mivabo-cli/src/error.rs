//! Everything that a command can fail at, as data that reads as a sentence.

use std::io;
use std::path::PathBuf;

use mivabo_store::Location;
use mivabo_work::Mistake;

use crate::NO_VALUE;

/// What went wrong after the arguments were understood.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A study file that makes no sense.
    #[error("{}: {mistake}", path.display())]
    StudyFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        mistake: Mistake,
    },
    /// The space of a study file has a flaw that only a search finds.
    #[error("{}: {why}", path.display())]
    Space {
        /// The file.
        path: PathBuf,
        /// The flaw.
        why: Box<mivabo::Error>,
    },
    /// A study file whose program cannot be started.
    #[error("{}: [objective]: {why}", path.display())]
    Objective {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: ProgramError,
    },
    /// A study file that keeps its trials in memory.
    #[error(
        "{}: [run] storage: what is kept in memory is gone when the command ends; name a file",
        path.display()
    )]
    InMemory {
        /// The file.
        path: PathBuf,
    },
    /// A study that no run has begun.
    #[error("{place} does not exist yet; `mivabo run {}` makes it", file.display())]
    NotBegun {
        /// Where it would be.
        place: Location,
        /// Its study file.
        file: PathBuf,
    },
    /// There is nothing at this place.
    #[error("{place} does not exist")]
    NotThere {
        /// The place.
        place: Location,
    },
    /// A database without a study.
    #[error("{place}: there is no study in it")]
    NoStudy {
        /// The database.
        place: Location,
    },
    /// A database whose studies have to be told apart.
    #[error("{place}: there are several studies; choose one by --study: `{}`", names.join("`, `"))]
    SeveralStudies {
        /// The database.
        place: Location,
        /// The names of its studies.
        names: Vec<String>,
    },
    /// What the store refuses or fails at.
    #[error(transparent)]
    Store(Box<mivabo_store::Error>),
    /// The same for a study, which does not know where it is.
    #[error("{place}: {why}")]
    Study {
        /// Where the study is.
        place: Location,
        /// What was refused.
        why: Box<mivabo_store::Error>,
    },

    /// A file that cannot be read.
    #[error("{}: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// A database where a text is expected.
    #[error("{} is a database; a text is expected", path.display())]
    DatabaseNotText {
        /// The file.
        path: PathBuf,
    },
    /// Bytes that are not a text.
    #[error("{} is not a text in UTF-8", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// Standard input cannot be read.
    #[error("standard input: {0}")]
    StandardInput(io::Error),
    /// Something that was read is wrong, and where.
    #[error("{place}: {why}")]
    At {
        /// A file, a line, a row, or an argument.
        place: String,
        /// What is wrong.
        why: Box<Error>,
    },
    /// A text that cannot be read as what it should be.
    #[error(transparent)]
    Syntax(#[from] serde_json::Error),
    /// A problem of `solve` that makes no sense.
    #[error(transparent)]
    Instance(#[from] mivabo_bqp::ReadError),
    /// What is told of a trial is neither a value nor a reason, or both.
    #[error("expected a value, or why there is none")]
    NotOneOutcome,

    /// Signals cannot be listened to.
    #[error("signals: {0}")]
    Signals(io::Error),
    /// The logs of trials have no place.
    #[error(
        "{} is a link or not a folder, and the logs of trials belong there\n\
         hint: remove it, or choose another `storage`",
        path.display()
    )]
    LogFolder {
        /// What is in the way.
        path: PathBuf,
    },
    /// A run broke off.
    #[error("{}", reasons.join("\nerror: "))]
    BrokenOff {
        /// Every reason, each a sentence: several may hold values that could not be stored.
        reasons: Vec<String>,
    },
    /// The objective never had a value.
    #[error("{why}")]
    Hopeless {
        /// How often it failed, and how the last time.
        why: String,
    },
    /// The points that were asked for cannot be printed.
    #[error("writing the output: {why}; trial {trial} waits for the next ask")]
    Unprinted {
        /// The trial that nobody heard of.
        trial: u64,
        /// Why.
        why: io::Error,
    },

    /// `init` writes new files only.
    #[error("{} exists; it was left as it is", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// `init` writes TOML.
    #[error("{}: study files are written as TOML; choose a name that ends in .toml", path.display())]
    NotToml {
        /// The file.
        path: PathBuf,
    },
    /// An answer that is neither of the two directions.
    #[error("expected minimize or maximize, not `{answer}`; nothing was written")]
    Direction {
        /// The answer.
        answer: String,
    },
    /// An answer that is not a command.
    #[error("`{answer}` does not read as a shell command; nothing was written")]
    Command {
        /// The answer.
        answer: String,
    },
    /// A file that cannot be written.
    #[error(transparent)]
    Save(#[from] mivabo_report::SaveError),
    /// A manual page that cannot be made.
    #[error("the manual page: {0}")]
    Manual(io::Error),

    /// A sentence of a command that has no variant of its own.
    #[error("{0}")]
    Said(String),
}

impl Error {
    /// The same, met at a place.
    pub fn at(self, place: impl Into<String>) -> Error {
        Error::At {
            place: place.into(),
            why: Box::new(self),
        }
    }

    /// The exit code of a program that ends so.
    pub fn code(&self) -> u8 {
        match self {
            Error::Hopeless { .. } => NO_VALUE,
            _ => 1,
        }
    }
}

impl From<mivabo_store::Error> for Error {
    fn from(error: mivabo_store::Error) -> Error {
        Error::Store(Box::new(error))
    }
}

impl From<String> for Error {
    fn from(text: String) -> Error {
        Error::Said(text)
    }
}

impl From<Error> for String {
    fn from(error: Error) -> String {
        error.to_string()
    }
}

/// Why a program cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// No folder of the PATH has it.
    #[error("there is no program `{name}` on the PATH")]
    NotOnPath {
        /// Its name.
        name: String,
    },
    /// There is no such file.
    #[error("there is no program `{}`", path.display())]
    NotThere {
        /// The file.
        path: PathBuf,
    },
    /// The file is not for running.
    #[error("`{}` is not a program that may be run", path.display())]
    NotExecutable {
        /// The file.
        path: PathBuf,
    },
    /// The name makes no path.
    #[error("`{name}`: {why}")]
    BadPath {
        /// Its name.
        name: String,
        /// Why.
        why: io::Error,
    },
    /// Its input cannot be written as JSON.
    #[error("the values: {0}")]
    Input(Box<mivabo_store::Error>),
}
