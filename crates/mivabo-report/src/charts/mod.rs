//! The charts of the page, one file for each section.

pub(crate) mod constraints;
pub(crate) mod convergence;
pub(crate) mod importance;
pub(crate) mod legend;
pub(crate) mod measures;
pub(crate) mod parallel;
pub(crate) mod parameters;
pub(crate) mod time;
mod track;

/// How wide a chart is that has the page's width.
const WIDTH: f64 = 1000.0;

/// What a section says instead of a chart. The text is HTML.
fn nothing(why: &str) -> String {
    format!("<p class=\"none\">{why}</p>")
}
