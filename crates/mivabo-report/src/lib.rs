//! A study as one HTML page that needs nothing else.
//!
//! The page is made from a [`StudyView`] alone, which it also holds as JSON. It has no external script, font or style, and is
//! readable without its script, which only sorts the table of trials and shows one trial in all charts at once. Equal
//! views give equal pages. [`save`] writes one whole or not at all, and never over a file that is not a page.
//!
//! ```
//! use mivabo::space::Space;
//! use mivabo::study::{Spec, Study};
//! use mivabo::view::StudyView;
//! use mivabo_report::html;
//!
//! let space = Space::from_toml("parameters.x = { type = 'float', low = 0.0, high = 1.0 }")?;
//! let mut study = Study::new(space, Spec::default())?;
//! let suggestion = study.ask()?;
//! study.tell(suggestion.id(), 0.25)?;
//!
//! let view = StudyView::of("first steps", &study).with_margins(&study);
//! let page = html(&view);
//!
//! assert!(page.starts_with("<!DOCTYPE html>"));
//! # Ok::<(), mivabo::Error>(())
//! ```

mod charts;
mod drawing;
mod file;
mod page;
mod text;
mod trials;

use mivabo::view::StudyView;

pub use crate::file::{Over, SaveError, save, write};

/// The page of a study. Sections whose part of the view was not computed say so: see [`StudyView::with_margins`] and
/// [`StudyView::with_importance`].
pub fn html(view: &StudyView) -> String {
    page::page(view)
}
