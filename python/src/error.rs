//! Errors as exceptions: what the crates refuse enters, one of the classes of `mivabo/_errors.py` leaves.
//!
//! The message is that of the Rust error. Wrong Python types are plain `TypeError`s, made where they are met.

use mivabo_store::Error as StoreError;
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
pub fn of_method(error: &mivabo::Error) -> PyErr {
    use mivabo::Error as E;
    let text = error.to_string();
    match error {
        E::Infeasible { .. } | E::NoFeasiblePoint { .. } => InfeasibleError::new_err(text),
        E::UnknownParameter { .. }
        | E::GivenTwice { .. }
        | E::OutOfDomain { .. }
        | E::Missing { .. }
        | E::Inactive { .. }
        | E::AuxiliarySearch { .. }
        | E::Violated { .. }
        | E::ForeignPoint => PointError::new_err(text),
        E::UnknownTrial { .. } | E::AlreadyTold { .. } => TrialError::new_err(text),
        E::Exhausted { .. } | E::NoUntriedPoint { .. } => ExhaustedError::new_err(text),
        E::UnknownStrategy { .. }
        | E::BadSetting { .. }
        | E::TooManyPatterns { .. }
        | E::NothingTold
        | E::NothingFeasible
        | E::BadHistory { .. }
        | E::TooManyFeatures { .. }
        | E::BadHyperparameter { .. }
        | E::TooManyInitial { .. }
        | E::BadOutput { .. } => StudyError::new_err(text),
        _ => SpaceError::new_err(text),
    }
}

/// What a store refuses or fails at.
pub fn of_store(error: &StoreError) -> PyErr {
    let text = error.to_string();
    match error {
        StoreError::Study(error) => of_method(error),
        StoreError::UnknownTrial { .. }
        | StoreError::AlreadyTold { .. }
        | StoreError::NotHeld { .. } => TrialError::new_err(text),
        StoreError::BadName { .. }
        | StoreError::DefinitionDiffers { .. }
        | StoreError::UnknownStudy { .. }
        | StoreError::NoStudy { .. } => StudyError::new_err(text),
        _ => StorageError::new_err(text),
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
