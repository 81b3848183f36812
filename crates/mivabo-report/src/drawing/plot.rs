//! The rectangle of a chart with a scale on each side, and how its axes are drawn.

use super::scale::Scale;
use super::ticks::Tick;
use super::{Element, Position, Svg, text_width};
use crate::text::elided;

/// The most characters of the title of a y-axis, and how far above the plot it stands.
const Y_TITLE: usize = 28;
const Y_TITLE_ABOVE: f64 = 9.0;

/// The most characters of a slanted label.
const SLANTED: usize = 12;

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
    pub fn width(&self) -> f64 {
        self.right - self.left
    }

    /// Where a place of each scale lies in the drawing.
    pub fn at(&self, across: f64, up: f64) -> Position {
        Position {
            x: self.left + across * self.width(),
            y: self.bottom - up * (self.bottom - self.top),
        }
    }

    /// What the x-axis shows, `below` under the plot.
    pub fn draw_title(&self, svg: &mut Svg, below: f64, title: &str) {
        let middle = 0.5 * (self.left + self.right);
        let under = Position::new(middle, self.bottom + below);
        svg.text("middle label", under, title);
    }

    /// What the y-axis shows, above its upper end.
    pub fn draw_y_title(&self, svg: &mut Svg, title: &str) {
        let above = Position::new(0.0, self.top - Y_TITLE_ABOVE);
        svg.text("label", above, &elided(title, Y_TITLE));
    }

    /// Lines and labels for the ticks of the y-axis.
    pub fn draw_y(&self, svg: &mut Svg, n: usize) {
        svg.group("axis", |svg| {
            for tick in self.y.ticks(n) {
                let y = self.at(0.0, tick.place).y;
                let start = Position::new(self.left, y);
                let end = Position::new(self.right, y);
                svg.line("grid", start, end);
                svg.text("end", start.moved(-6.0, 3.5), &tick.label);
            }
        });
    }

    /// Labels for the ticks of the x-axis, `below` under the plot; slanted where they are too long for their bands, and left
    /// out where they would overlap.
    pub fn draw_x(&self, svg: &mut Svg, n: usize, below: f64) {
        let y = self.bottom + below;
        let is_tight = is_tight(&self.x, self.width());
        svg.group("axis", |svg| {
            let start = Position::new(self.left, y);
            let end = Position::new(self.right, y);
            svg.line("rule", start, end);
            for tick in self.without_overlap(self.x.ticks(n), is_tight) {
                let x = self.at(tick.place, 0.0).x;
                draw_tick(svg, Position::new(x, y), &tick, is_tight);
            }
        });
    }

    /// The ticks of the x-axis whose labels do not overlap that of the tick before them.
    fn without_overlap(&self, mut ticks: Vec<Tick>, is_slanted: bool) -> Vec<Tick> {
        let mut taken = f64::NEG_INFINITY;
        ticks.retain(|tick| {
            let x = self.at(tick.place, 0.0).x;
            // Slanted labels stand beside each other, a line's height apart.
            let half = if is_slanted { 10.0 } else { half_width(tick) };
            let has_room = x - half >= taken;
            if has_room {
                taken = x + half;
            }
            has_room
        });
        ticks
    }
}

/// Half of the room that a label needs on its axis.
fn half_width(tick: &Tick) -> f64 {
    0.5 * text_width([tick.label.as_str()]) + 2.0
}

fn draw_tick(svg: &mut Svg, at: Position, tick: &Tick, is_slanted: bool) {
    svg.line("rule", at, at.moved(0.0, 4.0));
    if is_slanted {
        let label = elided(&tick.label, SLANTED);
        svg.add(Element::slanted(at.moved(3.0, 13.0), &label));
    } else {
        svg.text("middle", at.moved(0.0, 15.0), &tick.label);
    }
}

/// Whether the labels of a scale are too long to stand beside each other.
pub(crate) fn is_tight(scale: &Scale, width: f64) -> bool {
    let Scale::Bands(labels) = scale else {
        return false;
    };
    let band = width / labels.len().max(1) as f64;
    text_width(labels.iter().map(String::as_str)) > band - 4.0
}

/// How much room the labels of a y-axis need.
pub(crate) fn label_width(scale: &Scale, n: usize) -> f64 {
    let ticks = scale.ticks(n);
    text_width(ticks.iter().map(|tick| tick.label.as_str())) + 10.0
}
