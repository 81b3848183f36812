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
        | E::TooManyPatterns { .. }
        | E::NothingTold
        | E::BadHistory { .. }
        | E::TooManyFeatures { .. }
        | E::BadHyperparameter { .. }
        | E::BadOutput { .. } => StudyError::new_err(text),
        _ => SpaceError::new_err(text),
    }
}

/// What a store refuses or fails at.
pub fn of_store(error: &StoreError) -> PyErr {
    let text = error.to_string();
    match error {
        StoreError::Study(error) => of_method(error),
        StoreError::UnknownTrial { .. } | StoreError::AlreadyTold { .. } | StoreError::NotHeld { .. } => {
            TrialError::new_err(text)
        }
        StoreError::BadName { .. }
        | StoreError::DefinitionDiffers { .. }
        | StoreError::UnknownStudy { .. }
        | StoreError::NoStudy { .. } => StudyError::new_err(text),
        _ => StorageError::new_err(text),
    }
}

/// A Python object of the wrong type: what it is, what was expected, what was found.
pub fn wrong_type(what: &str, expected: &str, found: &str) -> PyErr {
    PyTypeError::new_err(format!("{what}: expected {expected}, not {found}"))
}
