//! Which parameters matter: bars for total effects, a triangle of squares for interactions.

use std::collections::BTreeMap;

use mivabo::study::{Effect, Importance};

use crate::digest::Digest;
use crate::svg::{CHARACTER, Svg};
use crate::text::{count, elided, escape, percent};

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
    let pairs =
        if importance.interactions.is_empty() { String::new() } else { triangle(importance, &effects) };
    format!(
        "<p>The share of the variance that each parameter takes part in, by a model of {}. The sum exceeds 100 % where \
         parameters act together.{left_out}</p><div class=\"wide\">{}{pairs}</div>",
        count(importance.n_trials, "trial"),
        bars(&effects)
    )
}

fn bars(effects: &[&Effect]) -> String {
    const ROW: f64 = 22.0;
    let widest = effects.iter().map(|effect| effect.name.chars().count().min(NAME)).max().unwrap_or(0);
    let (left, width) = (widest as f64 * CHARACTER + 16.0, 470.0);
    let most = effects.first().map_or(1.0, |effect| effect.total);
    let listed: Vec<String> =
        effects.iter().take(5).map(|e| format!("{} {}", e.name, percent(e.total))).collect();
    let height = ROW * effects.len() as f64 + 6.0;
    let mut svg = Svg::new(width, height, "Total effects of parameters", &listed.join(", "));
    svg.open("axis");
    for (k, effect) in effects.iter().enumerate() {
        let y = ROW * k as f64 + 4.0;
        let end = left + (width - left - 54.0) * effect.total / most;
        svg.text("end", (left - 8.0, y + 12.0), &elided(&effect.name, NAME));
        svg.bar("bar", None, (left, y), (end.max(left + 1.0), y + ROW - 6.0));
        svg.text("start", (end + 6.0, y + 12.0), &percent(effect.total));
    }
    svg.close();
    format!("<figure>{}<figcaption>Total effects</figcaption></figure>", svg.finish())
}

fn triangle(importance: &Importance, effects: &[&Effect]) -> String {
    const SIDE: f64 = 38.0;
    const TOP: f64 = 18.0;
    let names: Vec<&str> = effects.iter().take(MAX_PAIRED).map(|effect| effect.name.as_str()).collect();
    let pairs = importance.interactions.iter();
    let shares: BTreeMap<(&str, &str), f64> = pairs
        .flat_map(|pair| {
            let (a, b) = (pair.names[0].as_str(), pair.names[1].as_str());
            [((a, b), pair.share), ((b, a), pair.share)]
        })
        .collect();
    let widest = names.iter().map(|name| name.chars().count().min(NAME)).max().unwrap_or(0);
    let left = widest as f64 * CHARACTER + 16.0;
    let most = importance.interactions[0].share.max(1e-3);
    let squares = SIDE * (names.len() as f64 - 1.0);
    let (width, height) = (left + squares + widest as f64 * CHARACTER, TOP + squares + 4.0);
    let mut svg = Svg::new(width, height, "Interactions of parameters", &strongest(importance));
    svg.open("axis");
    for (i, name) in names.iter().enumerate().skip(1) {
        let y = TOP + SIDE * (i as f64 - 1.0);
        svg.text("end", (left - 8.0, y + 0.5 * SIDE + 4.0), &elided(name, NAME));
        for (j, other) in names.iter().enumerate().take(i) {
            let share = shares.get(&(name, other)).copied().unwrap_or(0.0);
            let x = left + SIDE * j as f64;
            svg.bar(heat(share / most), None, (x + 1.0, y + 1.0), (x + SIDE - 1.0, y + SIDE - 1.0));
            let class = if share / most > 0.55 { "middle inverse" } else { "middle" };
            svg.text(class, (x + 0.5 * SIDE, y + 0.5 * SIDE + 4.0), percent(share).trim_end_matches(" %"));
        }
    }
    // The name of a column stands above its first square, where the triangle leaves room.
    for (j, name) in names.iter().enumerate().take(names.len().saturating_sub(1)) {
        svg.text("start", (left + SIDE * j as f64 + 3.0, TOP + SIDE * j as f64 - 5.0), &elided(name, NAME));
    }
    svg.close();
    format!(
        "<figure>{}<figcaption>Interactions, in percent of the variance. {}</figcaption></figure>",
        svg.finish(),
        escape(&strongest(importance))
    )
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
    let pairs = importance.interactions.iter().take(3).filter(|pair| pair.share >= 0.005);
    let shown: Vec<String> = pairs
        .map(|pair| format!("{} with {} {}", pair.names[0], pair.names[1], percent(pair.share)))
        .collect();
    if shown.is_empty() {
        "None is above half a percent.".to_owned()
    } else {
        format!("Strongest: {}.", shown.join(", "))
    }
}
