//! Each parameter against the value: small charts of equal size, inactive trials in a lane of their own.

use crate::digest::{Digest, N_RANKS, rank_class};
use crate::scale::Scale;
use crate::svg::{Plot, Svg, is_tight, label_width};
use crate::text::{elided, escape};
use crate::track::{Track, jitter};

const WIDTH: f64 = 310.0;
const HEIGHT: f64 = 210.0;

/// The width of the lane for inactive trials.
const LANE: f64 = 34.0;

/// The most marks in all charts together, and the fewest and most trials in each.
const MAX_MARKS: usize = 16_000;
const SHOWN: std::ops::RangeInclusive<usize> = 300..=1000;

pub(crate) fn section(digest: &Digest<'_>) -> String {
    let mut tracks = Track::all(digest.report.space);
    if tracks.is_empty() || digest.ranked.is_empty() {
        return "<p class=\"none\">No trial has a value yet.</p>".to_owned();
    }
    let total = |track: &Track<'_>| {
        let effects = digest
            .report
            .importance
            .map_or(&[][..], |importance| &importance.effects);
        effects
            .iter()
            .find(|effect| effect.name == track.name())
            .map_or(0.0, |effect| effect.total)
    };
    tracks.sort_by(|a, b| total(b).total_cmp(&total(a)));
    let shown = digest.thinned((MAX_MARKS / tracks.len()).clamp(*SHOWN.start(), *SHOWN.end()));
    let figures: String = tracks
        .iter()
        .map(|track| figure(digest, track, &shown))
        .collect();
    let order = if digest.report.importance.is_some() {
        " The most important parameter comes first."
    } else {
        ""
    };
    let thinned = if shown.len() < digest.ranked.len() {
        format!(
            " {} of {} trials are drawn.",
            shown.len(),
            digest.ranked.len()
        )
    } else {
        String::new()
    };
    let bars = if tracks.iter().any(Track::has_bands) {
        " Short lines are medians."
    } else {
        ""
    };
    format!(
        "<p>The value of each trial against each parameter; {} is better, and the best trial has a ring.{order}{bars}\
         {thinned}</p><ul class=\"legend\"><li>early trials {} late trials</li></ul>\
         <div class=\"grid\">{figures}</div>",
        digest.better(),
        ramp()
    )
}

/// The colours of ranks, the first to the last.
pub(crate) fn ramp() -> String {
    std::array::from_fn::<_, N_RANKS, _>(|k| format!("<i class=\"key r{k}\"></i>")).concat()
}

fn figure(digest: &Digest<'_>, track: &Track<'_>, shown: &[usize]) -> String {
    let n_inactive = shown
        .iter()
        .filter(|at| track.place(digest.rows[**at]).is_none())
        .count();
    let description = format!(
        "{} trials where it is active, {n_inactive} where it is not",
        shown.len() - n_inactive
    );
    let mut svg = Svg::new(
        WIDTH,
        HEIGHT,
        &format!("The value against {}", track.name()),
        &description,
    );
    let plot = frame(digest, track, n_inactive > 0);
    plot.draw_y(&mut svg, 4);
    plot.draw_x(&mut svg, 4, 0.0);
    let middle = (plot.right + 6.0 + 0.5 * LANE - plot.left) / (plot.right - plot.left);
    if n_inactive > 0 {
        draw_lane(&mut svg, &plot);
    }
    svg.open("marks");
    for (k, at) in shown.iter().enumerate() {
        let row = digest.rows[*at];
        let aside = middle + 0.6 * LANE * jitter(row) / (plot.right - plot.left);
        let x = track.place(row).unwrap_or(aside);
        digest.mark(&mut svg, &plot, (*at, x), &rank_class(k, shown.len()));
        if digest.best == Some(*at) {
            digest.ring(&mut svg, &plot, x);
        }
    }
    svg.close();
    draw_medians(digest, track, &mut svg, &plot);
    let (name, title) = (escape(&elided(track.name(), 40)), escape(track.name()));
    let log = if matches!(track.scale, Scale::Log(..)) {
        " <small>log</small>"
    } else {
        ""
    };
    format!(
        "<figure><figcaption title=\"{title}\">{name}{log}</figcaption>{}</figure>",
        svg.finish()
    )
}

fn frame(digest: &Digest<'_>, track: &Track<'_>, has_lane: bool) -> Plot {
    let left = label_width(&digest.scale, 4) + 4.0;
    let right = WIDTH - 10.0 - if has_lane { LANE + 6.0 } else { 0.0 };
    let is_tight = is_tight(&track.scale, right - left);
    // Slanted labels reach down and to the left.
    let (left, below) = if is_tight {
        (left.max(66.0), 58.0)
    } else {
        (left, 26.0)
    };
    let bottom = HEIGHT - below;
    Plot {
        x: track.scale.clone(),
        y: digest.scale.clone(),
        left,
        right,
        top: 8.0,
        bottom,
    }
}

fn draw_lane(svg: &mut Svg, plot: &Plot) {
    svg.open("axis");
    let (left, right) = (plot.right + 6.0, plot.right + 6.0 + LANE);
    svg.bar("lane", None, (left, plot.top), (right, plot.bottom));
    svg.text(
        "middle",
        (0.5 * (left + right), plot.bottom + 15.0),
        "inactive",
    );
    svg.close();
}

/// The median of all trials with each value, where values have bands.
fn draw_medians(digest: &Digest<'_>, track: &Track<'_>, svg: &mut Svg, plot: &Plot) {
    let Scale::Bands(labels) = &track.scale else {
        return;
    };
    let mut bands: Vec<Vec<f64>> = vec![Vec::new(); labels.len()];
    for at in &digest.ranked {
        if let Some((band, value)) = track
            .band(digest.rows[*at])
            .zip(digest.value(digest.rows[*at]))
        {
            bands[band].push(value);
        }
    }
    let half = 0.35 * (plot.right - plot.left) / labels.len().max(1) as f64;
    for (k, values) in bands
        .iter()
        .enumerate()
        .filter(|(_, values)| values.len() > 2)
    {
        // Rows come by rank, so the middle one has the median.
        let place = plot.y.place(values[values.len() / 2]);
        let (x, y) = plot.at(track.scale.place(k as f64), place.clamp(0.0, 1.0));
        svg.line("median", (x - half, y), (x + half, y));
    }
}
