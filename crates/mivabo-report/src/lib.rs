//! A study as one HTML page: its trials enter, a page that needs nothing else leaves.
//!
//! The page has no external script, font or style, and is readable without its script, which only sorts the table of
//! trials and shows one trial in all charts at once. Equal reports give equal pages. [`save`] writes one whole or not at
//! all, and never over a file that is not a page.
//!
//! ```
//! use mivabo::space::Space;
//! use mivabo::study::{Spec, Study};
//! use mivabo_report::{Report, Row, html};
//!
//! let space = Space::from_toml("parameters.x = { type = 'float', low = 0.0, high = 1.0 }")?;
//! let mut study = Study::new(space, Spec::default())?;
//! let suggestion = study.ask()?;
//! study.tell(suggestion.id(), 0.25)?;
//!
//! let rows: Vec<Row> = study.trials().iter().cloned().map(Row::from).collect();
//! let page = html(&Report {
//!     name: "first steps",
//!     space: study.space(),
//!     aims: &study.spec().aims,
//!     trials: &rows,
//!     importance: study.importance().ok().as_ref(),
//! });
//!
//! assert!(page.starts_with("<!DOCTYPE html>"));
//! # Ok::<(), mivabo::Error>(())
//! ```

mod constraints;
mod convergence;
mod digest;
mod file;
mod importance;
mod measures;
mod overview;
mod page;
mod parallel;
mod scale;
mod slices;
mod svg;
mod table;
mod text;
mod timing;
mod track;

use mivabo::measure::Aims;
use mivabo::space::Space;
use mivabo::study::{Importance, Trial};

pub use crate::file::{Over, SaveError, save, write};

/// What a page is made of.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// The name of the study.
    pub name: &'a str,
    /// Its space, to which the points of all trials belong.
    pub space: &'a Space,
    /// What is wanted of its trials.
    pub aims: &'a Aims,
    /// Its trials, by number.
    pub trials: &'a [Row],
    /// Which parameters matter, where that is known.
    pub importance: Option<&'a Importance>,
}

/// A trial, and what else is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The trial.
    pub trial: Trial,
    /// Who proposed it.
    pub origin: Option<String>,
    /// Who evaluated it.
    pub worker: Option<String>,
    /// When its evaluation began, in milliseconds since any fixed time.
    pub started: Option<u64>,
    /// When its evaluation ended.
    pub finished: Option<u64>,
}

impl From<Trial> for Row {
    fn from(trial: Trial) -> Row {
        Row {
            trial,
            origin: None,
            worker: None,
            started: None,
            finished: None,
        }
    }
}

impl Row {
    /// How long the evaluation took, in milliseconds.
    fn duration(&self) -> Option<u64> {
        Some(self.finished?.saturating_sub(self.started?))
    }
}

/// The page.
///
/// # Panics
/// When the point of a trial belongs to another space.
pub fn html(report: &Report<'_>) -> String {
    page::page(&digest::Digest::new(report))
}
