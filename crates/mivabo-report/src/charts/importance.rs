//! Which parameters matter: bars for total effects, a triangle of squares for interactions.

use std::collections::BTreeMap;

use mivabo::counted;
use mivabo::study::{Effect, Importance, Interaction};

use super::nothing;
use crate::drawing::{CHARACTER, Element, Position, Size, Svg, text_width};
use crate::text::{elided, escape, listed, percent};
use crate::trials::Trials;

/// The height of a bar, and the room under it.
const BAR: f64 = 16.0;
const ROW: f64 = 22.0;

/// How wide the bars are with their names and numbers, and the room for the numbers.
const WIDTH: f64 = 470.0;
const NUMBER: f64 = 54.0;

/// The side of a square for a pair, and the room above the squares.
const SIDE: f64 = 38.0;
const TOP: f64 = 18.0;

/// The least that an interaction counts as the largest: rounding is not drawn as dark squares.
const LEAST: f64 = 1e-3;

/// The most bars, and parameters in the triangle.
const MAX_BARS: usize = 40;
const MAX_PAIRED: usize = 10;

/// The most characters of a name, and how wide that is.
const NAME: usize = 22;
const WIDEST: f64 = NAME as f64 * CHARACTER;

pub(crate) fn section(trials: &Trials<'_>) -> String {
    let Some(importance) = &trials.view.importance else {
        return nothing("The importance of parameters was not computed.");
    };
    let mut effects = sorted(importance);
    if effects.iter().all(|effect| effect.total <= 0.0) {
        return nothing("The model sees no difference between points, so no parameter matters.");
    }
    let left_out = left_out(effects.len().saturating_sub(MAX_BARS));
    effects.truncate(MAX_BARS);
    let bars = bars(&effects);
    let pairs = Triangle::of(importance, &effects).map_or(String::new(), |it| it.figure());
    let n_trials = counted(importance.n_trials, "trial");
    format!(
        "<p>The share of the variance that each parameter contributes to, \
         according to a model of {n_trials}. The sum exceeds 100 % where \
         parameters act together.{left_out}</p>\
         <div class=\"wide\">{bars}{pairs}</div>"
    )
}

/// The greatest effects first.
fn sorted(importance: &Importance) -> Vec<&Effect> {
    let mut effects: Vec<&Effect> = importance.effects.iter().collect();
    effects.sort_by(|a, b| b.total.total_cmp(&a.total));
    effects
}

fn left_out(n: usize) -> String {
    match n {
        0 => String::new(),
        n => format!(
            " {} of smaller effect are left out.",
            counted(n, "parameter")
        ),
    }
}

/// How wide the longest of these names is.
fn widest<'a>(names: impl Iterator<Item = &'a str>) -> f64 {
    text_width(names).min(WIDEST)
}

fn bars(effects: &[&Effect]) -> String {
    let left = widest(effects.iter().map(|effect| effect.name.as_str())) + 16.0;
    let most = effects.first().map_or(1.0, |effect| effect.total);
    let size = Size::new(WIDTH, ROW * effects.len() as f64 + 6.0);
    let title = "Total effects of parameters";
    let mut svg = Svg::new(size, title, &greatest(effects));
    svg.group("axis", |svg| {
        for (k, effect) in effects.iter().enumerate() {
            let corner = Position::new(left, ROW * k as f64 + 4.0);
            let length = (WIDTH - left - NUMBER) * effect.total / most;
            draw_bar(svg, corner, length, effect);
        }
    });
    svg.captioned("Total effects")
}

/// The first five.
fn greatest(effects: &[&Effect]) -> String {
    let first = effects.iter().take(5);
    listed(first.map(|effect| format!("{} {}", effect.name, percent(effect.total))))
}

fn draw_bar(svg: &mut Svg, corner: Position, length: f64, effect: &Effect) {
    let name = elided(&effect.name, NAME);
    let before = corner.moved(-8.0, 12.0);
    let after = corner.moved(length + 6.0, 12.0);
    let bar = Element::bar(corner, corner.moved(length.max(1.0), BAR));
    svg.text("end", before, &name);
    svg.add(bar.class("bar"));
    svg.text("start", after, &percent(effect.total));
}

/// One square for each pair of the parameters of the greatest effects.
struct Triangle<'a> {
    importance: &'a Importance,
    names: Vec<&'a str>,
    /// The share of each pair, in both orders.
    shares: BTreeMap<(&'a str, &'a str), f64>,
    /// The largest share of a pair.
    most: f64,
    /// How wide the names are.
    widest: f64,
}

impl<'a> Triangle<'a> {
    /// None where there are no pairs.
    fn of(importance: &'a Importance, effects: &[&'a Effect]) -> Option<Triangle<'a>> {
        let most = importance.interactions.first()?.share.max(LEAST);
        let paired = effects.iter().take(MAX_PAIRED);
        let names: Vec<&str> = paired.map(|effect| effect.name.as_str()).collect();
        Some(Triangle {
            importance,
            widest: widest(names.iter().copied()),
            names,
            shares: shares(importance),
            most,
        })
    }

    fn figure(&self) -> String {
        let strongest = strongest(self.importance);
        let squares = SIDE * (self.names.len() as f64 - 1.0);
        let width = self.left() + squares + self.widest;
        let size = Size::new(width, TOP + squares + 4.0);
        let mut svg = Svg::new(size, "Interactions of parameters", &strongest);
        svg.group("axis", |svg| {
            for row in 1..self.names.len() {
                self.draw_row(svg, row);
            }
            self.draw_columns(svg);
        });
        svg.captioned(&format!(
            "Interactions, in percent of the variance. {}",
            escape(&strongest)
        ))
    }

    /// Where the squares begin.
    fn left(&self) -> f64 {
        self.widest + 16.0
    }

    fn draw_row(&self, svg: &mut Svg, row: usize) {
        let name = self.names[row];
        let start = Position::new(self.left(), TOP + SIDE * (row as f64 - 1.0));
        let label = start.moved(-8.0, 0.5 * SIDE + 4.0);
        svg.text("end", label, &elided(name, NAME));
        for (column, other) in self.names[..row].iter().enumerate() {
            let share = self.shares.get(&(name, *other)).copied();
            let corner = start.moved(SIDE * column as f64, 0.0);
            self.draw_square(svg, corner, share.unwrap_or(0.0));
        }
    }

    fn draw_square(&self, svg: &mut Svg, corner: Position, share: f64) {
        let depth = share / self.most;
        let inner = corner.moved(1.0, 1.0);
        let opposite = corner.moved(SIDE - 1.0, SIDE - 1.0);
        let heat = heat(depth);
        svg.add(Element::bar(inner, opposite).class(heat));
        let middle = corner.moved(0.5 * SIDE, 0.5 * SIDE + 4.0);
        // The caption says once that numbers are in percent.
        let shown = percent(share);
        let number = shown.trim_end_matches("\u{a0}%");
        // In a colour that is read on that of the square.
        svg.text(&format!("middle on-{heat}"), middle, number);
    }

    /// The name of a column stands above its first square, where the triangle leaves room.
    fn draw_columns(&self, svg: &mut Svg) {
        let n = self.names.len().saturating_sub(1);
        for (column, name) in self.names.iter().enumerate().take(n) {
            let along = SIDE * column as f64;
            let above = Position::new(self.left() + along + 3.0, TOP + along - 5.0);
            svg.text("start", above, &elided(name, NAME));
        }
    }
}

fn shares(importance: &Importance) -> BTreeMap<(&str, &str), f64> {
    let pairs = importance.interactions.iter();
    // In both orders: squares are asked for in the order of effects.
    let both = pairs.flat_map(|pair| {
        let [one, other] = pair.names.each_ref().map(String::as_str);
        [((one, other), pair.share), ((other, one), pair.share)]
    });
    both.collect()
}

/// The class of a square from its share of the largest one.
fn heat(share: f64) -> &'static str {
    match share {
        s if s < 0.02 => "h0",
        s if s < 0.15 => "h1",
        s if s < 0.35 => "h2",
        s if s < 0.55 => "h3",
        s if s < 0.8 => "h4",
        _ => "h5",
    }
}

fn described(pair: &Interaction) -> String {
    let [one, other] = &pair.names;
    format!("{one} with {other} {}", percent(pair.share))
}

/// At most three, none of them below half a percent.
fn strongest(importance: &Importance) -> String {
    let first = importance.interactions.iter().take(3);
    let strong = first.filter(|pair| pair.share >= 0.005);
    let shown = listed(strong.map(described));
    if shown.is_empty() {
        "None is above half a percent.".to_owned()
    } else {
        format!("Strongest: {shown}.")
    }
}
