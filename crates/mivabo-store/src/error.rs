//! Everything that a store can refuse or fail at, as data that reads as a sentence.

use std::path::{Path, PathBuf};

use mivabo::measure::Outcome;
use mivabo::space::Unsaid;

use crate::difference::DefinitionDifference;
use crate::location::{Location, LocationError};
use crate::state::RecordState;

/// What was wrong, where, and what was expected.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A study has an empty name, or one with control characters.
    #[error("the study's name {name:?} is empty or holds a control character")]
    BadName {
        /// The name.
        name: String,
    },
    /// A study of this name exists, with another definition.
    #[error("study `{name}` exists with another definition")]
    DefinitionDiffers {
        /// The study.
        name: String,
        /// The definition that it has.
        stored: String,
        /// The one that was given.
        given: String,
    },
    /// A study has trials that were told under another definition; which says what the two have otherwise.
    #[error(
        "study `{name}` exists with another definition:{}\n\
         hint: revise the study, or give the changed one another name",
        lines(differences)
    )]
    Differs {
        /// The study.
        name: String,
        /// What the one that was given has otherwise than the one that it has.
        differences: Vec<DefinitionDifference>,
    },
    /// What was told of a study may not say what another goal needs.
    #[error(
        "{goal}; a goal cannot be revised, because results may not say what another one needs\n\
         hint: give the changed study another name"
    )]
    GoalRevised {
        /// What it was, and what it would be.
        goal: DefinitionDifference,
    },
    /// A parameter that is new in a study whose trials were told without it.
    #[error(
        "parameter `{name}` is new and has no default: trials were told without it, and nothing says what they had\n\
         hint: give it a default, the value that these trials stand for"
    )]
    NoDefault {
        /// The parameter.
        name: String,
    },
    /// A study that somebody removed.
    #[error("study `{name}` was removed")]
    Removed {
        /// The name that it had.
        name: String,
    },
    /// A correction of what was not told.
    #[error("trial {id} {state}, so there is nothing to correct; tell it")]
    NotTold {
        /// The trial.
        id: u64,
        /// What became of it so far.
        state: RecordState,
    },
    /// A correction without a value of the goal, where no failure was meant.
    #[error(
        "trial {id} is not corrected: {why}\nhint: if it is to count as failed, say that it failed, and why"
    )]
    CorrectionFails {
        /// The trial.
        id: u64,
        /// Why it would have failed.
        why: String,
    },
    /// There is no study with this number.
    #[error("there is no study {id}; there {}", counted(*n as u64, "study", "studies"))]
    UnknownStudy {
        /// The number.
        id: u64,
        /// How many studies there are.
        n: usize,
    },
    /// There is no trial with this number.
    #[error("there is no trial {id}; there {}", counted(*n, "trial", "trials"))]
    UnknownTrial {
        /// The number.
        id: u64,
        /// How many trials the study has.
        n: u64,
    },
    /// A trial was told a second time.
    #[error("trial {id} was already told: it {outcome}")]
    AlreadyTold {
        /// The trial.
        id: u64,
        /// What it has.
        outcome: Outcome,
    },
    /// A worker renews or gives back a trial that it no longer holds.
    #[error("worker `{worker}` does not hold trial {id}: it {state}")]
    NotHeld {
        /// The trial.
        id: u64,
        /// The worker.
        worker: String,
        /// What became of the trial.
        state: RecordState,
    },
    /// Parameters or a note that are not a JSON object.
    #[error("expected a JSON object, found `{text}`: {why}")]
    NotAnObject {
        /// How it begins.
        text: String,
        /// What the reader says.
        why: String,
    },

    /// There is no study of this name.
    #[error("there is no study `{name}`{}", listed(known))]
    NoStudy {
        /// The name.
        name: String,
        /// The studies that exist.
        known: Vec<String>,
    },
    /// A stored definition that cannot be read.
    #[error("the stored definition cannot be read: {why}")]
    BadDefinition {
        /// Why.
        why: String,
    },
    /// A stored trial that is not a point of its space.
    #[error("the stored trial {id} is not a point of its space: {why}")]
    BadTrial {
        /// The trial.
        id: u64,
        /// Why.
        why: String,
    },
    /// The point of a trial cannot be said in a space that was revised since.
    #[error("trial {id} has no place in the revised space: {why}")]
    NoPlace {
        /// The trial.
        id: u64,
        /// Why not.
        why: Unsaid,
    },
    /// What the study itself refuses.
    #[error(transparent)]
    Study(#[from] mivabo::Error),

    /// A file that is not a SQLite database.
    #[error("`{}` is not a SQLite database; it was left as it is", path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// A SQLite database of another program.
    #[error(
        "`{}` is a SQLite database of another program (application id {application_id}); it was left as it is",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The number that the other program wrote into it.
        application_id: i32,
    },
    /// A database that a newer version wrote.
    #[error(
        "`{}` has schema version {found}, and this program knows versions up to {known}; it was left as it is\n\
         hint: use the newer version of mivabo that wrote it", path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest that is known here.
        known: usize,
    },
    /// A damaged database.
    #[error("`{}` is damaged: {what}\nhint: work on a copy; `sqlite3 FILE .recover` saves what can be read", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// A file that lacks what was acknowledged last.
    #[error(
        "`{path}`: results are missing: the last acknowledged change of study {study} has number {last}, but the file \
         ends at number {found}; its log `{path}-wal` was removed, or the file was cut off or overwritten\n\
         hint: put back what was there; to go on with what is left, use a copy of the file, made with `cp`",
        path = path.display()
    )]
    Missing {
        /// The file.
        path: PathBuf,
        /// The study of the change.
        study: u64,
        /// Its revision.
        last: u64,
        /// The last one that the file has of this study.
        found: u64,
    },
    /// A file or folder that may not be written to.
    #[error("`{place}` cannot be written: the file, its folder or this connection is read-only")]
    ReadOnly {
        /// Where.
        place: Location,
    },
    /// No space is left. Nothing was changed; the call can be made again once there is.
    #[error("`{place}` cannot grow: the disk is full; nothing was changed")]
    Full {
        /// Where.
        place: Location,
    },
    /// The system takes no more bytes for a file. Nothing was changed; the call can be made again once it does.
    #[error(
        "`{place}` cannot grow ({message}): a quota is used up, the disk fails, or the file would exceed the limit \
         on the size of files (`ulimit -f`); nothing was changed"
    )]
    CannotGrow {
        /// Where.
        place: Location,
        /// What the database says.
        message: String,
    },
    /// Others held the turn to write, or the turn to suggest, for too long. Nothing was changed; the call can be made again.
    #[error("`{place}` was locked by others for ten minutes; nothing was changed")]
    Busy {
        /// Where.
        place: Location,
    },
    /// A text that does not say where studies are kept.
    #[error(transparent)]
    Location(#[from] LocationError),
    /// Nothing is at the place of a study that must exist.
    #[error("{}", not_there(place))]
    NotThere {
        /// Where it was expected.
        place: Location,
    },
    /// A file that cannot be opened.
    #[error("`{place}` cannot be opened: {why}")]
    CannotOpen {
        /// Where.
        place: Location,
        /// Why.
        why: String,
    },
    /// A file that would have to be replaced.
    #[error(
        "`{}` is there already; it was left as it is\n\
         hint: choose another name, or have it replaced with `--force` (in Python `force=True`)",
        path.display()
    )]
    Taken {
        /// The file.
        path: PathBuf,
    },
    /// Anything else that reading or writing met.
    #[error("`{place}`: {message}")]
    Database {
        /// Where.
        place: Location,
        /// What the database says.
        message: String,
    },
}

/// One of several that is refused, and all of them with it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{why}")]
pub struct Refused {
    /// Which one, counted from 0; none where it is not for one of them.
    pub at: Option<usize>,
    /// Why.
    pub why: Box<Error>,
}

impl From<Error> for Refused {
    fn from(why: Error) -> Refused {
        let why = Box::new(why);
        Refused { at: None, why }
    }
}

impl From<mivabo::space::Error> for Error {
    fn from(error: mivabo::space::Error) -> Error {
        Error::Study(error.into())
    }
}

impl From<mivabo::strategy::Error> for Error {
    fn from(error: mivabo::strategy::Error) -> Error {
        Error::Study(error.into())
    }
}

impl From<mivabo::language::PointError> for Error {
    fn from(error: mivabo::language::PointError) -> Error {
        Error::Study(error.into())
    }
}

impl Error {
    /// A file that was open, and is now another one or none.
    pub fn no_longer_there(path: &Path) -> Error {
        let why = "the file that was opened is no longer there: it was moved, removed or replaced"
            .to_owned();
        Error::CannotOpen {
            place: path.into(),
            why,
        }
    }
}

/// Each on a line of its own.
fn lines(differences: &[DefinitionDifference]) -> String {
    let lines = differences.iter().map(|one| format!("\n  {one}"));
    lines.collect()
}

fn counted(n: u64, one: &str, several: &str) -> String {
    match n {
        0 => format!("are no {several} yet"),
        1 => format!("is 1 {one}"),
        n => format!("are {n} {several}"),
    }
}

fn not_there(place: &Location) -> String {
    match place {
        Location::Memory => {
            "a study in `memory` cannot be opened again: it ends with the process that made it"
                .to_owned()
        }
        Location::File(_) => format!("`{place}` does not exist"),
    }
}

/// Why a database may be without studies.
pub const NO_STUDY: &str = "hint: if this is a copy that was made during a run, what it lacks is in the log of the database (`-wal`); \
                            `mivabo backup` makes a copy that is whole";

fn listed(known: &[String]) -> String {
    match known {
        [] => format!("; there is none in it\n{NO_STUDY}"),
        names => format!("; there is `{}`", names.join("`, `")),
    }
}

/// The beginning of a text.
pub(crate) fn short(text: &str) -> String {
    const LIMIT: usize = 60;
    let mut shown: String = text.chars().take(LIMIT).collect();
    if text.chars().nth(LIMIT).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use mivabo::measure::VALUE;

    #[test]
    fn what_a_trial_already_has_is_said() {
        let told = |outcome| Error::AlreadyTold { id: 3, outcome }.to_string();
        assert_eq!(
            told(Outcome::of(VALUE, 0.5)),
            "trial 3 was already told: it has the value 0.5"
        );
        let failed = Outcome::failed("out of memory");
        assert_eq!(
            told(failed),
            "trial 3 was already told: it failed: out of memory"
        );
        let held = RecordState::Running {
            worker: "b".into(),
            lease: 7,
        };
        let lost = Error::NotHeld {
            id: 3,
            worker: "a".into(),
            state: held,
        };
        assert_eq!(
            lost.to_string(),
            "worker `a` does not hold trial 3: it runs for `b`"
        );
    }
}
