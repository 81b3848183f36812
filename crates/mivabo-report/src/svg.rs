//! Drawings: marks at coordinates enter, an SVG element with a title and a description leaves.
//!
//! Colours and widths are classes of the style sheet, so that one drawing serves screen and paper, light and dark.

use std::fmt::{Arguments, Write as _};

use crate::scale::Scale;
use crate::text::{elided, escape};

/// About how wide a character of the small text in drawings is.
pub(crate) const CHARACTER: f64 = 6.1;

/// An SVG element in the making.
#[derive(Debug)]
pub(crate) struct Svg {
    head: String,
    body: String,
}

impl Svg {
    /// An empty drawing. Title and description are what a screen reader says.
    pub fn new(width: f64, height: f64, title: &str, description: &str) -> Svg {
        let (title, description) = (escape(title), escape(description));
        let head = format!(
            "<svg viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\">\
             <title>{title}</title><desc>{description}</desc>\n"
        );
        Svg {
            head,
            body: String::new(),
        }
    }

    pub fn finish(self) -> String {
        format!("{}{}</svg>\n", self.head, self.body)
    }

    fn push(&mut self, element: Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.body.write_fmt(element);
        self.body.push('\n');
    }

    /// Opens a group with a class.
    pub fn open(&mut self, class: &str) {
        self.push(format_args!("<g class=\"{class}\">"));
    }

    /// Closes the last group.
    pub fn close(&mut self) {
        self.push(format_args!("</g>"));
    }

    pub fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        self.path(class, None, &format!("M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}"));
    }

    /// A path, and the trial it stands for.
    pub fn path(&mut self, class: &str, trial: Option<u64>, d: &str) {
        self.push(format_args!(
            "<path class=\"{class}\"{} d=\"{d}\"/>",
            data(trial)
        ));
    }

    pub fn circle(&mut self, class: &str, trial: Option<u64>, (x, y): (f64, f64), r: f64) {
        self.push(format_args!(
            "<circle class=\"{class}\"{} cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r}\"/>",
            data(trial)
        ));
    }

    /// A bar from one corner to the opposite one.
    pub fn bar(
        &mut self,
        class: &str,
        trial: Option<u64>,
        (x1, y1): (f64, f64),
        (x2, y2): (f64, f64),
    ) {
        let (width, height) = ((x2 - x1).max(0.5), (y2 - y1).max(0.5));
        let data = data(trial);
        self.push(format_args!(
            "<rect class=\"{class}\"{data} x=\"{x1:.1}\" y=\"{y1:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
        ));
    }

    /// Text; the class says which end of it stands at the place.
    pub fn text(&mut self, class: &str, (x, y): (f64, f64), text: &str) {
        self.push(format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
            escape(text)
        ));
    }

    /// Text that rises towards its end, which stands at the place.
    pub fn slanted(&mut self, (x, y): (f64, f64), text: &str) {
        let text = escape(text);
        self.push(format_args!(
            "<text class=\"end\" transform=\"translate({x:.1} {y:.1}) rotate(-30)\">{text}</text>"
        ));
    }
}

fn data(trial: Option<u64>) -> String {
    trial.map_or(String::new(), |id| format!(" data-t=\"{id}\""))
}

/// A rectangle of a drawing with a scale on each side.
#[derive(Debug, Clone)]
pub(crate) struct Plot {
    pub x: Scale,
    pub y: Scale,
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

impl Plot {
    /// Where a pair of places lies.
    pub fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (
            self.left + x * (self.right - self.left),
            self.bottom - y * (self.bottom - self.top),
        )
    }

    /// Lines and labels for the ticks of the y-axis.
    pub fn draw_y(&self, svg: &mut Svg, n: usize) {
        svg.open("axis");
        for tick in self.y.ticks(n) {
            let y = self.at(0.0, tick.place).1;
            svg.line("grid", (self.left, y), (self.right, y));
            svg.text("end", (self.left - 6.0, y + 3.5), &tick.label);
        }
        svg.close();
    }

    /// Labels for the ticks of the x-axis, `below` under the plot; slanted where they are too long for their bands, and left
    /// out where they would overlap.
    pub fn draw_x(&self, svg: &mut Svg, n: usize, below: f64) {
        let ticks = self.x.ticks(n);
        let is_tight = is_tight(&self.x, self.right - self.left);
        svg.open("axis");
        svg.line(
            "rule",
            (self.left, self.bottom + below),
            (self.right, self.bottom + below),
        );
        let mut taken = f64::NEG_INFINITY;
        for tick in ticks {
            let (x, y) = (self.at(tick.place, 0.0).0, self.bottom + below);
            let half = if is_tight {
                10.0
            } else {
                0.5 * CHARACTER * tick.label.chars().count() as f64 + 2.0
            };
            if x - half < taken {
                continue;
            }
            taken = x + half;
            svg.line("rule", (x, y), (x, y + 4.0));
            if is_tight {
                svg.slanted((x + 3.0, y + 13.0), &elided(&tick.label, SLANTED));
            } else {
                svg.text("middle", (x, y + 15.0), &tick.label);
            }
        }
        svg.close();
    }
}

/// The most characters of a slanted label.
const SLANTED: usize = 12;

/// Whether the labels of a scale are too long to stand beside each other.
pub(crate) fn is_tight(scale: &Scale, width: f64) -> bool {
    let Scale::Bands(labels) = scale else {
        return false;
    };
    let widest = labels
        .iter()
        .map(|label| label.chars().count())
        .max()
        .unwrap_or(0);
    widest as f64 * CHARACTER > width / labels.len().max(1) as f64 - 4.0
}

/// How much room the labels of a y-axis need.
pub(crate) fn label_width(scale: &Scale, n: usize) -> f64 {
    let widest = scale
        .ticks(n)
        .iter()
        .map(|tick| tick.label.chars().count())
        .max()
        .unwrap_or(1);
    widest as f64 * CHARACTER + 10.0
}
