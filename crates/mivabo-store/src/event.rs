//! What happened to a study beside its trials: it was revised, or a tell was corrected. Appended, numbered like every other
//! change, and never changed itself.

use mivabo::measure::Outcome;

use crate::object::Object;
use crate::record::Revision;

/// Something that happened to a study as a whole, or to what was told of a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its number among the changes of the study.
    pub revision: Revision,
    /// What happened.
    pub what: What,
    /// When, in milliseconds since 1970.
    pub time: i64,
    /// Who did it, if it was a worker.
    pub worker: Option<String>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// The study has another definition from now on.
    Revised {
        /// All of the new definition.
        definition: String,
    },
    /// A trial counts with another outcome than the one that was told.
    Corrected(Correction),
}

/// Another outcome for a told trial, whose row stays as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Correction {
    /// The trial.
    pub trial: u64,
    /// What counts from now on.
    pub outcome: Outcome,
    /// What is noted of it, such as the result.
    pub note: Object,
    /// Why it was corrected, if somebody said so.
    pub why: Option<String>,
}

/// Who changes a study, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct By<'a> {
    /// The worker, if it is one.
    pub worker: Option<&'a str>,
    /// Now, in milliseconds since 1970.
    pub now: i64,
}

impl Event {
    /// One without a number, which is given when it is written.
    pub(crate) fn new(what: What, by: By<'_>) -> Event {
        Event {
            revision: Revision::default(),
            what,
            time: by.now,
            worker: by.worker.map(ToOwned::to_owned),
        }
    }

    /// The new definition, if this is a revision.
    pub fn definition(&self) -> Option<&str> {
        match &self.what {
            What::Revised { definition } => Some(definition),
            What::Corrected(_) => None,
        }
    }

    /// The correction, if this is one.
    pub fn correction(&self) -> Option<&Correction> {
        match &self.what {
            What::Corrected(correction) => Some(correction),
            What::Revised { .. } => None,
        }
    }
}
