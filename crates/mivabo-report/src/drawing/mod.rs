//! Drawings as SVG elements, each with a title and a description for screen readers.
//!
//! Colours and widths are classes of the style sheet, so that one drawing serves screen and paper, light and dark.

mod plot;
mod scale;
mod ticks;

use std::fmt::{Arguments, Write as _};

pub(crate) use self::plot::{Plot, is_tight, label_width};
pub(crate) use self::scale::Scale;
use crate::text::escape;

/// About how wide a character of the small text in drawings is.
pub(crate) const CHARACTER: f64 = 6.1;

/// About how wide the longest of these texts is.
pub(crate) fn text_width<'a>(texts: impl IntoIterator<Item = &'a str>) -> f64 {
    let lengths = texts.into_iter().map(|text| text.chars().count());
    lengths.max().unwrap_or(0) as f64 * CHARACTER
}

/// The shortest side that a bar is drawn with.
const THINNEST: f64 = 0.5;

/// A position in a drawing, from its upper left corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Position {
    pub x: f64,
    pub y: f64,
}

impl Position {
    pub fn new(x: f64, y: f64) -> Position {
        Position { x, y }
    }

    /// This position, moved to the right and down.
    pub fn moved(self, right: f64, down: f64) -> Position {
        Position::new(self.x + right, self.y + down)
    }
}

/// How wide and how high a drawing is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub width: f64,
    pub height: f64,
}

impl Size {
    pub const fn new(width: f64, height: f64) -> Size {
        Size { width, height }
    }
}

/// A drawing in the making.
#[derive(Debug)]
pub(crate) struct Svg {
    head: String,
    body: String,
}

impl Svg {
    /// An empty drawing. Title and description are what a screen reader says.
    pub fn new(size: Size, title: &str, description: &str) -> Svg {
        let Size { width, height } = size;
        let title = escape(title);
        let description = escape(description);
        let head = format!(
            "<svg viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
             height=\"{height:.0}\" role=\"img\">\
             <title>{title}</title><desc>{description}</desc>\n"
        );
        Svg {
            head,
            body: String::new(),
        }
    }

    /// The element as text.
    pub fn finish(self) -> String {
        format!("{}{}</svg>\n", self.head, self.body)
    }

    /// The drawing with a caption under it; the caption is HTML.
    pub fn captioned(self, caption: &str) -> String {
        let drawing = self.finish();
        format!("<figure>{drawing}<figcaption>{caption}</figcaption></figure>")
    }

    /// A line of a class.
    pub fn line(&mut self, class: &str, from: Position, to: Position) {
        self.add(Element::line(from, to).class(class));
    }

    /// Text; the class says which end of it stands at the position.
    pub fn text(&mut self, class: &str, at: Position, text: &str) {
        self.add(Element::text(at, text).class(class));
    }

    pub fn extend(&mut self, elements: impl IntoIterator<Item = Element>) {
        for element in elements {
            self.add(element);
        }
    }

    pub fn add(&mut self, element: Element) {
        let Element {
            tag,
            class,
            trial,
            shape,
            content,
        } = element;
        let trial = trial.map_or(String::new(), |id| format!(" data-t=\"{id}\""));
        match content {
            None => self.push(format_args!("<{tag} class=\"{class}\"{trial}{shape}/>")),
            Some(text) => self.push(format_args!(
                "<{tag} class=\"{class}\"{trial}{shape}>{text}</{tag}>"
            )),
        }
    }

    /// Draws what `fill` draws as a group with a class.
    pub fn group(&mut self, class: &str, fill: impl FnOnce(&mut Svg)) {
        self.push(format_args!("<g class=\"{class}\">"));
        fill(self);
        self.push(format_args!("</g>"));
    }

    fn push(&mut self, element: Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.body.write_fmt(element);
        self.body.push('\n');
    }
}

/// One shape or text of a drawing, made by its shape first, and then its class and the trial that it stands for.
#[derive(Debug, Clone)]
pub(crate) struct Element {
    tag: &'static str,
    class: String,
    trial: Option<u64>,
    /// The attributes that say where it is.
    shape: String,
    /// What stands inside it, escaped.
    content: Option<String>,
}

impl Element {
    fn new(tag: &'static str, shape: String) -> Element {
        Element {
            tag,
            class: String::new(),
            trial: None,
            shape,
            content: None,
        }
    }

    fn line(from: Position, to: Position) -> Element {
        Element::path(&format!(
            "M{:.1} {:.1}L{:.1} {:.1}",
            from.x, from.y, to.x, to.y
        ))
    }

    /// A path by its commands.
    pub fn path(commands: &str) -> Element {
        Element::new("path", format!(" d=\"{commands}\""))
    }

    pub fn circle(centre: Position, radius: f64) -> Element {
        let Position { x, y } = centre;
        Element::new(
            "circle",
            format!(" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\""),
        )
    }

    /// A bar between two opposite corners, the upper left one first.
    pub fn bar(from: Position, to: Position) -> Element {
        let Position { x, y } = from;
        let width = (to.x - x).max(THINNEST);
        let height = (to.y - y).max(THINNEST);
        Element::new(
            "rect",
            format!(" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\""),
        )
    }

    fn text(at: Position, text: &str) -> Element {
        let Position { x, y } = at;
        let place = format!(" x=\"{x:.1}\" y=\"{y:.1}\"");
        Element::new("text", place).containing(text)
    }

    /// Text that rises towards its end, which stands at the position.
    pub fn slanted(end: Position, text: &str) -> Element {
        let Position { x, y } = end;
        let place = format!(" transform=\"translate({x:.1} {y:.1}) rotate(-30)\"");
        Element::new("text", place).containing(text).class("end")
    }

    fn containing(self, text: &str) -> Element {
        Element {
            content: Some(escape(text)),
            ..self
        }
    }

    #[must_use]
    pub fn class(self, class: impl Into<String>) -> Element {
        Element {
            class: class.into(),
            ..self
        }
    }

    /// The trial that lights up with it.
    #[must_use]
    pub fn trial(self, id: u64) -> Element {
        Element {
            trial: Some(id),
            ..self
        }
    }
}
