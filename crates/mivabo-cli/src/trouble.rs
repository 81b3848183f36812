//! What breaks a run off, and what is said of a trial that failed.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::paste;

/// What makes a run break off.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// Leases could not be renewed.
    #[error("no thread for signs of life: {0}")]
    NoPulse(io::Error),
    /// Nobody would work.
    #[error("no thread for a worker: {0}")]
    NoWorker(io::Error),
    /// A mistake of ours.
    #[error("a worker of this program panicked; please report it")]
    Panicked,
    /// The store fails at what the work needs.
    #[error(transparent)]
    Store(Box<mivabo_store::Error>),
    /// A value that the store did not take.
    #[error(
        "trial {trial} has the value {value}, which could not be stored: {why}\n\
         hint: once the database can be written again, `{}` stores it",
        paste::tell(study_file, *trial, *value, result.as_deref())
    )]
    Unstored {
        /// The trial.
        trial: u64,
        /// Its value.
        value: f64,
        /// The JSON object that it came in, if it did.
        result: Option<String>,
        /// The study file, for the hint.
        study_file: PathBuf,
        /// Why not.
        why: Box<mivabo_store::Error>,
    },
    /// This machine has no process, thread or file left to give.
    #[error("{why}\nhint: try fewer workers; trial {trial} waits for the next run")]
    Unable {
        /// The trial that could not begin.
        trial: u64,
        /// What is short.
        why: String,
    },
}

/// A trial that failed, as it is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedTrial {
    /// Its number.
    pub id: u64,
    /// Why.
    pub reason: String,
    /// Where its log is, if there is one.
    pub log: Option<PathBuf>,
}

impl fmt::Display for FailedTrial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "trial {} failed: {}", self.id, self.reason)?;
        match &self.log {
            Some(log) => write!(f, " (log: {})", log.display()),
            None => Ok(()),
        }
    }
}
