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

use crate::drawing::Svg;
use crate::text::{elided, escape};

/// How wide a chart is that has the page's width.
const WIDTH: f64 = 1000.0;

/// A small chart with the name of what it shows above it, and a note in HTML after the name.
fn named(svg: Svg, name: &str, note: &str) -> String {
    let shown = escape(&elided(name, 40));
    let full = escape(name);
    let drawing = svg.finish();
    format!("<figure><figcaption title=\"{full}\">{shown}{note}</figcaption>{drawing}</figure>")
}

/// What a section says instead of a chart. The text is HTML.
fn nothing(why: &str) -> String {
    format!("<p class=\"none\">{why}</p>")
}
