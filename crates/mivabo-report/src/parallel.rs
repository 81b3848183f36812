//! Parallel coordinates: a line for each trial through its values, coloured by rank, the best on top.
//!
//! Spaces of many parameters are cut into panels, each of which ends with the value.

use crate::digest::{Digest, rank_class};
use crate::scale::Scale;
use crate::slices::ramp;
use crate::svg::{Plot, Svg};
use crate::text::elided;
use crate::track::Track;

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 300.0;

/// Parameters of a panel.
const PANEL: usize = 9;

/// The most lines of a panel, and of all panels together.
const MAX_SHOWN: usize = 300;
const MAX_LINES: usize = 1200;

/// Lines are fainter where there are more of them than this.
const FAINT_FROM: usize = 120;

/// How far below the axes inactive parameters are.
const LANE: f64 = 20.0;

pub(crate) fn section(digest: &Digest<'_>) -> String {
    let tracks = Track::all(digest.report.space);
    if tracks.is_empty() || digest.ranked.is_empty() {
        return "<p class=\"none\">No trial has a value yet.</p>".to_owned();
    }
    let n_panels = tracks.len().div_ceil(PANEL);
    let shown = digest.thinned((MAX_LINES / n_panels).clamp(100, MAX_SHOWN));
    let size = tracks.len().div_ceil(n_panels);
    let panels: String = tracks
        .chunks(size)
        .map(|tracks| panel(digest, tracks, &shown))
        .collect();
    let thinned = if shown.len() < digest.ranked.len() {
        format!(
            " {} of {} trials are drawn.",
            shown.len(),
            digest.ranked.len()
        )
    } else {
        String::new()
    };
    let inactive = if tracks
        .iter()
        .any(|track| track.parameter.condition().is_some())
    {
        " Below an axis run the trials in which its parameter is inactive."
    } else {
        ""
    };
    format!(
        "<p>Each line is a trial; the last axis is the value.{inactive}{thinned}</p>\
         <ul class=\"legend\"><li>worst {} best</li></ul><div class=\"panels\">{panels}</div>",
        ramp()
    )
}

fn panel(digest: &Digest<'_>, tracks: &[Track<'_>], shown: &[usize]) -> String {
    let names: Vec<&str> = tracks.iter().map(Track::name).collect();
    let description = format!("{} trials over {}", shown.len(), names.join(", "));
    let mut svg = Svg::new(WIDTH, HEIGHT, "Parallel coordinates", &description);
    svg.open(if shown.len() > FAINT_FROM {
        "lines faint"
    } else {
        "lines"
    });
    for (rank, at) in digest
        .ranked
        .iter()
        .enumerate()
        .filter(|(_, at)| shown.binary_search(at).is_ok())
    {
        let best = if digest.best == Some(*at) { " top" } else { "" };
        let class = format!("{}{best}", rank_class(rank, digest.ranked.len()));
        svg.path(
            &class,
            Some(digest.rows[*at].trial.id),
            &line(digest, tracks, *at),
        );
    }
    svg.close();
    for (k, track) in tracks.iter().enumerate() {
        draw_axis(&mut svg, &axis(&track.scale, k, tracks.len()), track.name());
    }
    draw_axis(
        &mut svg,
        &axis(&digest.scale, tracks.len(), tracks.len()),
        "value",
    );
    format!("<figure>{}</figure>", svg.finish())
}

/// The axis number `k` of a panel of `n` parameters: a plot without width.
fn axis(scale: &Scale, k: usize, n: usize) -> Plot {
    let x = 62.0 + (WIDTH - 124.0) * k as f64 / n.max(1) as f64;
    Plot {
        x: Scale::linear(0.0, 1.0),
        y: scale.clone(),
        left: x,
        right: x,
        top: 34.0,
        bottom: HEIGHT - 34.0,
    }
}

fn line(digest: &Digest<'_>, tracks: &[Track<'_>], at: usize) -> String {
    let row = digest.rows[at];
    let places = tracks.iter().map(|track| (&track.scale, track.place(row)));
    let last = digest
        .value(row)
        .map(|value| digest.scale.place(value).clamp(0.0, 1.0));
    let corners = places
        .chain([(&digest.scale, last)])
        .enumerate()
        .map(|(k, (scale, place))| {
            let axis = axis(scale, k, tracks.len());
            let (x, y) = axis.at(0.0, place.unwrap_or(0.0));
            let y = if place.is_some() {
                y
            } else {
                axis.bottom + LANE
            };
            format!("{x:.0} {y:.1}")
        });
    format!("M{}", corners.collect::<Vec<_>>().join("L"))
}

/// The axis with its name above it and its ticks to the left.
fn draw_axis(svg: &mut Svg, axis: &Plot, name: &str) {
    svg.open("axis");
    svg.line("rule", (axis.left, axis.top), (axis.left, axis.bottom));
    svg.text("middle label halo", (axis.left, 16.0), &elided(name, 15));
    let ticks = axis.y.ticks(4);
    let every = ticks.len().div_ceil(14).max(1);
    for tick in ticks.iter().step_by(every) {
        let (x, y) = axis.at(0.0, tick.place);
        svg.line("rule", (x - 3.0, y), (x, y));
        svg.text("end halo", (x - 5.0, y + 3.5), &elided(&tick.label, 9));
    }
    svg.close();
}
