//! Which parameters matter: bars for total effects, a triangle of squares for interactions.

use std::collections::BTreeMap;

use mivabo::study::{Effect, Importance};

use crate::digest::Digest;
use crate::svg::{CHARACTER, Svg};
use crate::text::{count, elided, escape, percent};

/// The side of a square for a pair, and the room above the squares.
const SIDE: f64 = 38.0;
const TOP: f64 = 18.0;

/// The most bars, and parameters in the triangle.
const MAX_BARS: usize = 40;
const MAX_PAIRED: usize = 10;

/// The most characters of a name.
const NAME: usize = 22;

pub(crate) fn section(digest: &Digest<'_>) -> String {
    let Some(importance) = digest.report.importance else {
        return "<p class=\"none\">The importance of parameters was not computed.</p>".to_owned();
    };
    let mut effects: Vec<&Effect> = importance.effects.iter().collect();
    effects.sort_by(|a, b| b.total.total_cmp(&a.total));
    if effects.iter().all(|effect| effect.total <= 0.0) {
        return "<p class=\"none\">The model sees no difference between points, so no parameter matters.</p>"
            .to_owned();
    }
    let left_out = match effects.len().saturating_sub(MAX_BARS) {
        0 => String::new(),
        n => format!(" {} of smaller effect are left out.", count(n, "parameter")),
    };
    effects.truncate(MAX_BARS);
    let pairs = if importance.interactions.is_empty() {
        String::new()
    } else {
        triangle(importance, &effects)
    };
    format!(
        "<p>The share of the variance that each parameter takes part in, by a model of {}. The sum exceeds 100 % where \
         parameters act together.{left_out}</p><div class=\"wide\">{}{pairs}</div>",
        count(importance.n_trials, "trial"),
        bars(&effects)
    )
}

fn bars(effects: &[&Effect]) -> String {
    const ROW: f64 = 22.0;
    let widest = effects
        .iter()
        .map(|effect| effect.name.chars().count().min(NAME))
        .max()
        .unwrap_or(0);
    let (left, width) = (widest as f64 * CHARACTER + 16.0, 470.0);
    let most = effects.first().map_or(1.0, |effect| effect.total);
    let listed: Vec<String> = effects
        .iter()
        .take(5)
        .map(|e| format!("{} {}", e.name, percent(e.total)))
        .collect();
    let height = ROW * effects.len() as f64 + 6.0;
    let mut svg = Svg::new(
        width,
        height,
        "Total effects of parameters",
        &listed.join(", "),
    );
    svg.open("axis");
    for (k, effect) in effects.iter().enumerate() {
        let y = ROW * k as f64 + 4.0;
        let end = left + (width - left - 54.0) * effect.total / most;
        svg.text("end", (left - 8.0, y + 12.0), &elided(&effect.name, NAME));
        svg.bar("bar", None, (left, y), (end.max(left + 1.0), y + ROW - 6.0));
        svg.text("start", (end + 6.0, y + 12.0), &percent(effect.total));
    }
    svg.close();
    format!(
        "<figure>{}<figcaption>Total effects</figcaption></figure>",
        svg.finish()
    )
}

fn triangle(importance: &Importance, effects: &[&Effect]) -> String {
    let paired = effects.iter().take(MAX_PAIRED);
    let names: Vec<&str> = paired.map(|effect| effect.name.as_str()).collect();
    let lengths = names.iter().map(|name| name.chars().count().min(NAME));
    let widest = lengths.max().unwrap_or(0) as f64 * CHARACTER;
    let squares = SIDE * (names.len() as f64 - 1.0);
    let triangle = Triangle {
        importance,
        names,
        left: widest + 16.0,
    };
    let mut svg = Svg::new(
        triangle.left + squares + widest,
        TOP + squares + 4.0,
        "Interactions of parameters",
        &strongest(importance),
    );
    svg.open("axis");
    triangle.draw_squares(&mut svg);
    triangle.draw_columns(&mut svg);
    svg.close();
    format!(
        "<figure>{}<figcaption>Interactions, in percent of the variance. {}</figcaption></figure>",
        svg.finish(),
        escape(&strongest(importance))
    )
}

/// One square for each pair of parameters.
struct Triangle<'a> {
    importance: &'a Importance,
    names: Vec<&'a str>,
    /// Where the squares begin.
    left: f64,
}

impl Triangle<'_> {
    fn draw_squares(&self, svg: &mut Svg) {
        let shares = self.shares();
        let most = self.importance.interactions[0].share.max(1e-3);
        for (i, name) in self.names.iter().enumerate().skip(1) {
            let y = TOP + SIDE * (i as f64 - 1.0);
            let middle = y + 0.5 * SIDE + 4.0;
            svg.text("end", (self.left - 8.0, middle), &elided(name, NAME));
            for (j, other) in self.names.iter().enumerate().take(i) {
                let share = shares.get(&(name, other)).copied().unwrap_or(0.0);
                let x = self.left + SIDE * j as f64;
                let (from, to) = ((x + 1.0, y + 1.0), (x + SIDE - 1.0, y + SIDE - 1.0));
                svg.bar(heat(share / most), None, from, to);
                let is_dark = share / most > 0.55;
                let class = if is_dark { "middle inverse" } else { "middle" };
                let shown = percent(share);
                let number = shown.trim_end_matches(" %");
                svg.text(class, (x + 0.5 * SIDE, middle), number);
            }
        }
    }

    /// The name of a column stands above its first square, where the triangle leaves room.
    fn draw_columns(&self, svg: &mut Svg) {
        let n = self.names.len().saturating_sub(1);
        for (j, name) in self.names.iter().enumerate().take(n) {
            let along = SIDE * j as f64;
            let place = (self.left + along + 3.0, TOP + along - 5.0);
            svg.text("start", place, &elided(name, NAME));
        }
    }

    /// The share of each pair, in both orders.
    fn shares(&self) -> BTreeMap<(&str, &str), f64> {
        let mut shares = BTreeMap::new();
        for pair in &self.importance.interactions {
            let (a, b) = (pair.names[0].as_str(), pair.names[1].as_str());
            shares.extend([((a, b), pair.share), ((b, a), pair.share)]);
        }
        shares
    }
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

fn strongest(importance: &Importance) -> String {
    let pairs = importance
        .interactions
        .iter()
        .take(3)
        .filter(|pair| pair.share >= 0.005);
    let shown: Vec<String> = pairs
        .map(|pair| {
            format!(
                "{} with {} {}",
                pair.names[0],
                pair.names[1],
                percent(pair.share)
            )
        })
        .collect();
    if shown.is_empty() {
        "None is above half a percent.".to_owned()
    } else {
        format!("Strongest: {}.", shown.join(", "))
    }
}
