//! Errors of the crates as exceptions: one of the classes of `mivabo/_errors.py` for each type.
//!
//! The message is that of the Rust error. Wrong Python types are plain `TypeError`s, made where they are met.

use mivabo::{Error, acquire, encoding};
use mivabo_store::Error as StoreError;
use mivabo_work::{Mistake, Problem};
use pyo3::exceptions::PyTypeError;
use pyo3::{PyErr, import_exception};

import_exception!(mivabo._errors, SpaceError);
import_exception!(mivabo._errors, InfeasibleError);
import_exception!(mivabo._errors, PointError);
import_exception!(mivabo._errors, TrialError);
import_exception!(mivabo._errors, ExhaustedError);
import_exception!(mivabo._errors, StudyError);
import_exception!(mivabo._errors, StorageError);

/// What a space or a study refuses.
pub fn of_method(error: &Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Encoding(error) => of_encoding(error),
        Error::Search(error) => of_search(error),
        Error::Space(_) => SpaceError::new_err(text),
        Error::Point(_) | Error::Violated { .. } | Error::ForeignPoint => PointError::new_err(text),
        Error::UnknownTrial { .. } | Error::AlreadyTold { .. } => TrialError::new_err(text),
        Error::Strategy(_)
        | Error::NothingTold
        | Error::NothingFeasible
        | Error::BadHistory { .. }
        | Error::TooManyInitial { .. }
        | Error::Measure(_)
        | Error::Features(_)
        | Error::Surrogate(_) => StudyError::new_err(text),
    }
}

fn of_encoding(error: &encoding::Error) -> PyErr {
    let text = error.to_string();
    match error {
        encoding::Error::Infeasible { .. } => InfeasibleError::new_err(text),
        encoding::Error::DivisionByZero { .. }
        | encoding::Error::Undefined { .. }
        | encoding::Error::ScopeTooLarge { .. }
        | encoding::Error::TooManyBits { .. }
        | encoding::Error::Unsupported { .. }
        | encoding::Error::BadCode(_) => SpaceError::new_err(text),
    }
}

fn of_search(error: &acquire::Error) -> PyErr {
    let text = error.to_string();
    match error {
        acquire::Error::NoFeasiblePoint { .. } => InfeasibleError::new_err(text),
        acquire::Error::Exhausted { .. } | acquire::Error::NoUntriedPoint { .. } => {
            ExhaustedError::new_err(text)
        }
        acquire::Error::Encoding(error) => of_encoding(error),
        acquire::Error::TooManyPatterns { .. }
        | acquire::Error::Features(_)
        | acquire::Error::Surrogate(_) => StudyError::new_err(text),
    }
}

/// What the store says to do about a study that is defined otherwise, and how that is done in Python.
const REVISE: &str = "hint: revise the study";
const REVISE_HERE: &str = "hint: `mivabo.Study.load(storage, name).revise(space)` revises the study and keeps its results";

/// What a store refuses or fails at.
pub fn of_store(error: &StoreError) -> PyErr {
    let text = error.to_string();
    match error {
        StoreError::Study(error) => of_method(error),
        StoreError::UnknownTrial { .. }
        | StoreError::AlreadyTold { .. }
        | StoreError::NotHeld { .. }
        | StoreError::NotTold { .. }
        | StoreError::NoPlace { .. } => TrialError::new_err(text),
        StoreError::Differs { .. } => StudyError::new_err(text.replace(REVISE, REVISE_HERE)),
        StoreError::BadName { .. }
        | StoreError::DefinitionDiffers { .. }
        | StoreError::GoalRevised { .. }
        | StoreError::NoDefault { .. }
        | StoreError::Removed { .. }
        | StoreError::UnknownStudy { .. }
        | StoreError::NoStudy { .. } => StudyError::new_err(text),
        _ => StorageError::new_err(text),
    }
}

/// What is wrong with a study file, and in which line.
pub fn of_mistake(mistake: &Mistake) -> PyErr {
    let text = mistake.to_string();
    match &*mistake.problem {
        Problem::Study(error) => of_method(error),
        Problem::Unreadable { .. }
        | Problem::UnknownKey { .. }
        | Problem::NoParameters
        | Problem::Aims { .. } => SpaceError::new_err(text),
        _ => StudyError::new_err(text),
    }
}

/// A Python object that is not what was expected. Where it was met says which exception that is.
pub enum Refusal {
    /// Of the wrong type.
    Type(String),
    /// Of the right type, but beyond what is possible.
    Value(String),
}

impl Refusal {
    /// What it is, what was expected, what was found.
    pub fn wrong_type(what: &str, expected: &str, found: &str) -> Refusal {
        Refusal::Type(format!("{what}: expected {expected}, not {found}"))
    }

    /// In a space.
    pub fn of_a_space(self) -> PyErr {
        self.exception(SpaceError::new_err)
    }

    /// In a point.
    pub fn of_a_point(self) -> PyErr {
        self.exception(PointError::new_err)
    }

    fn exception(self, refuse: fn(String) -> PyErr) -> PyErr {
        match self {
            Refusal::Type(text) => PyTypeError::new_err(text),
            Refusal::Value(text) => refuse(text),
        }
    }
}

/// In a call of a study, unless it says otherwise.
impl From<Refusal> for PyErr {
    fn from(refusal: Refusal) -> PyErr {
        refusal.exception(StudyError::new_err)
    }
}
