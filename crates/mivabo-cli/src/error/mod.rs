//! Everything that a command can fail at, as data that reads as a sentence.

mod enqueue;
mod import;
mod tell;

use std::io;
use std::path::{Path, PathBuf};

use mivabo::counted;
use mivabo_store::{DefinitionDifference, Location, NO_STUDY, Setting};
use mivabo_work::Mistake;

pub use self::enqueue::EnqueueError;
pub use self::import::{ImportError, RowPlace};
pub use self::tell::TellError;
use crate::exit::Exit;
use crate::paste;
use crate::text::{is_standard_input, named, trials};
use crate::trouble::{FailedTrial, Trouble};

/// What went wrong after the arguments were understood.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A study file that makes no sense.
    #[error("{}: {mistake}", named(path))]
    StudyFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        mistake: Mistake,
    },
    /// The space of a study file has a flaw that only a search finds.
    #[error("{}: {why}", named(path))]
    Space {
        /// The file.
        path: PathBuf,
        /// The flaw.
        why: Box<mivabo::Error>,
    },
    /// A study file whose program cannot be started.
    #[error("{}: [objective]: {why}", named(path))]
    Objective {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: ProgramError,
    },
    /// A study file that keeps its trials in memory.
    #[error(
        "{}: [run] storage: a study in memory would be gone when the command ends; name a file",
        named(path)
    )]
    InMemory {
        /// The file.
        path: PathBuf,
    },
    /// A study that no run has begun.
    #[error("{place} does not exist yet; `{}` creates it", paste::call("run", file, &[]))]
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
    #[error("{place} holds no study\n{NO_STUDY}")]
    NoStudy {
        /// The database.
        place: Location,
    },
    /// A database whose studies have to be told apart.
    #[error("{place} holds several studies; choose one with --study: `{}`", names.join("`, `"))]
    SeveralStudies {
        /// The database.
        place: Location,
        /// The names of its studies.
        names: Vec<String>,
    },
    /// What the store refuses or fails at.
    #[error(transparent)]
    Store(Box<mivabo_store::Error>),
    /// A study file that describes a study otherwise than it is, and the study has results.
    #[error(
        "{}: study `{study}` in {place} has results, and is defined otherwise:{}\nhint: {}",
        named(path),
        listed(differences),
        remedy(path, differences)
    )]
    Differs {
        /// The file.
        path: PathBuf,
        /// The name of the study.
        study: String,
        /// Where it is.
        place: Location,
        /// What the file says otherwise.
        differences: Vec<DefinitionDifference>,
    },
    /// A seed that was typed, and is not that of a study with results.
    #[error(
        "study `{study}` in {place} has results of another seed: {difference}\n\
         hint: leave out --seed, or give the study another `name`"
    )]
    OtherSeed {
        /// The name of the study.
        study: String,
        /// Where it is.
        place: Location,
        /// Both seeds.
        difference: Box<DefinitionDifference>,
    },
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
    #[error("{} is a database; expected a text file", path.display())]
    DatabaseNotText {
        /// The file.
        path: PathBuf,
    },
    /// Bytes that are not a text.
    #[error("{} is not UTF-8 text", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// Standard input cannot be read.
    #[error("standard input: {0}")]
    StandardInput(io::Error),
    /// Results from elsewhere that cannot be added.
    #[error("{}: {why}", named(path))]
    Import {
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        why: ImportError,
    },
    /// What was typed of a trial cannot be told.
    #[error(transparent)]
    Tell(#[from] TellError),
    /// A point that cannot be enqueued.
    #[error(transparent)]
    Enqueue(#[from] EnqueueError),
    /// A line of results cannot be told.
    #[error(
        "line {line}: {why}\nhint: nothing was stored; mend the line and tell all of them again"
    )]
    TellLine {
        /// Counted from 1.
        line: usize,
        /// What is wrong in it.
        why: TellError,
    },
    /// A problem of `solve` that makes no sense.
    #[error("{}: line {line}: {why}", named(path))]
    Instance {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        why: mivabo_bqp::ReadError,
    },

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
    #[error("{}{}", sentences(troubles), lost.as_deref().unwrap_or_default())]
    BrokenOff {
        /// All of them: several may hold values that could not be stored.
        troubles: Vec<Trouble>,
        /// Results that were stored and are gone, in a form that can be imported.
        lost: Option<String>,
    },
    /// The objective never had a value.
    #[error("{} failed and none has a value; the last one: {last}", counted(*n, "trial"))]
    Hopeless {
        /// How many.
        n: u64,
        /// The last of them.
        last: FailedTrial,
    },
    /// The points that were asked for cannot be printed.
    #[error("writing the output: {why}; trial {trial} waits for the next ask")]
    Unprinted {
        /// The trial that nobody heard of.
        trial: u64,
        /// Why.
        why: io::Error,
    },

    /// A study that somebody works on.
    #[error(
        "study `{name}` is in use: somebody runs {}\n\
         hint: --force removes it all the same",
        trials(running)
    )]
    StillRuns {
        /// Its name.
        name: String,
        /// The trials that run.
        running: Vec<u64>,
    },
    /// Nobody can confirm that a study is to be removed.
    #[error(
        "nobody can be asked here whether to remove study `{name}`; --yes removes it without asking"
    )]
    NobodyToAsk {
        /// Its name.
        name: String,
    },
    /// Somebody did not confirm it.
    #[error("study `{name}` was not removed")]
    NotRemoved {
        /// Its name.
        name: String,
    },
    /// `init` writes new files only.
    #[error("{} already exists; it was left as it is", path.display())]
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
    /// Nobody answers any more.
    #[error("the answers ended too early; nothing was written")]
    NoAnswer,
    /// A study that has no first point.
    #[error("no point can be suggested")]
    NoPoint,
    /// A file that cannot be written.
    #[error(transparent)]
    Save(#[from] mivabo_report::SaveError),
    /// Something else has the name that the page should have.
    #[error("{why}\nhint: --force replaces it, --out FILE writes elsewhere")]
    PageTaken {
        /// What has it.
        why: mivabo_report::SaveError,
    },
    /// A page over its own study.
    #[error("{} is the study itself; choose another file by --out", path.display())]
    StudyItself {
        /// The file.
        path: PathBuf,
    },
    /// A manual page that cannot be made.
    #[error("the manual page: {0}")]
    Manual(io::Error),
    /// Something that is to be printed has no form as JSON.
    #[error("writing JSON: {0}")]
    Json(serde_json::Error),
}

impl Error {
    /// The same, where the seed that was typed may be all that differs: the study file has nothing to do with that.
    pub fn with_typed_seed(self, is_typed: bool) -> Error {
        match self {
            Error::Differs {
                study,
                place,
                mut differences,
                ..
            } if is_typed
                && differences.len() == 1
                && differences[0].setting() == Some(Setting::Seed) =>
            {
                let difference = Box::new(differences.remove(0));
                Error::OtherSeed {
                    study,
                    place,
                    difference,
                }
            }
            other => other,
        }
    }

    /// How a program ends that fails so.
    pub fn exit(&self) -> Exit {
        match self {
            Error::Hopeless { .. } => Exit::NoValue,
            _ => Exit::Failed,
        }
    }
}

impl From<mivabo_store::Error> for Error {
    fn from(error: mivabo_store::Error) -> Error {
        Error::Store(Box::new(error))
    }
}

/// Each on a line of its own.
fn listed(differences: &[DefinitionDifference]) -> String {
    let lines = differences.iter().map(|one| format!("\n  {one}"));
    lines.collect()
}

/// What to do about a study file that describes a study otherwise.
fn remedy(path: &Path, differences: &[DefinitionDifference]) -> String {
    let is_goal = |one: &DefinitionDifference| one.setting() == Some(Setting::Goal);
    if differences.iter().any(is_goal) {
        return "a goal cannot be revised; give the changed study another `name`".to_owned();
    }
    if is_standard_input(path) {
        return "`mivabo revise FILE` revises the study and keeps its results; or give the changed study another `name`".to_owned();
    }
    let revise = paste::call("revise", path, &[]);
    format!(
        "`{revise}` revises the study and keeps its results; or give the changed study another `name`"
    )
}

/// Each on a line that begins as the first one will.
fn sentences(troubles: &[Trouble]) -> String {
    let sentences: Vec<String> = troubles.iter().map(Trouble::to_string).collect();
    sentences.join("\nerror: ")
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
    /// The file must not be run.
    #[error("`{}` is not executable", path.display())]
    NotExecutable {
        /// The file.
        path: PathBuf,
    },
    /// An interpreter is there, and what it should run is not.
    #[error("there is no `{}`, which `{program}` should run", path.display())]
    NoScript {
        /// The interpreter.
        program: String,
        /// The file.
        path: PathBuf,
    },
    /// A line that a shell cannot read.
    #[error("shell: the line cannot be read: {why}")]
    BadLine {
        /// What the shell says.
        why: String,
    },
    /// A shell does not find what a line begins with.
    #[error("shell: there is no program `{name}`")]
    NoCommand {
        /// The first word of the line.
        name: String,
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
