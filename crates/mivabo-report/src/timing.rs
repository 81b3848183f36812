//! How long trials took, and who worked when: starts and ends enter, a scatter and a timeline leave.

use mivabo::measure::Outcome;

use crate::Row;
use crate::convergence::legend;
use crate::digest::Digest;
use crate::scale::Scale;
use crate::svg::{CHARACTER, Plot, Svg, label_width};
use crate::text::{count, elided, time, time_unit};

const WIDTH: f64 = 1000.0;

/// The most trials that are drawn.
const MAX_SHOWN: usize = 2000;

/// The most lanes of the timeline that are drawn.
const MAX_LANES: usize = 64;

/// From the first start to the last end, in milliseconds since 1970.
#[derive(Clone, Copy)]
struct Span {
    first: u64,
    last: u64,
}

pub(crate) fn section(digest: &Digest<'_>) -> String {
    let timed: Vec<&Row> = digest
        .rows
        .iter()
        .copied()
        .filter(|row| row.started.is_some())
        .collect();
    let Some(first) = timed.iter().filter_map(|row| row.started).min() else {
        return "<p class=\"none\">No times were recorded.</p>".to_owned();
    };
    let last = timed
        .iter()
        .flat_map(|row| [row.started, row.finished])
        .flatten()
        .max()
        .unwrap_or(first);
    let mut durations: Vec<u64> = timed.iter().filter_map(|row| row.duration()).collect();
    durations.sort_unstable();
    let total = durations
        .iter()
        .fold(0_u64, |sum, duration| sum.saturating_add(*duration));
    let summary = match durations.get(durations.len() / 2) {
        None => "No trial has ended yet.".to_owned(),
        Some(median) => format!(
            "{} from the first start to the last end; {} of evaluation in all; {} in the median trial.",
            time(last - first),
            time(total),
            time(*median)
        ),
    };
    let scatter = if durations.is_empty() {
        String::new()
    } else {
        scatter(digest, &timed)
    };
    let timeline = timeline(digest, &timed, Span { first, last });
    format!("<p>{summary}</p>{}{scatter}{timeline}", legend(digest, ""))
}

fn scatter(digest: &Digest<'_>, timed: &[&Row]) -> String {
    const HEIGHT: f64 = 210.0;
    let done: Vec<(&Row, u64)> = timed
        .iter()
        .filter_map(|row| Some((*row, row.duration()?)))
        .collect();
    let longest = done
        .iter()
        .map(|(_, duration)| *duration)
        .max()
        .unwrap_or(0);
    let (unit, size) = time_unit(longest);
    let y = Scale::linear(0.0, (longest as f64 / size * 1.04).max(f64::MIN_POSITIVE));
    let description = format!(
        "{}, the longest took {}",
        count(done.len(), "trial"),
        time(longest)
    );
    let mut svg = Svg::new(WIDTH, HEIGHT, "Time of each trial", &description);
    let last = digest.rows.last().map_or(0, |row| row.trial.id);
    let plot = Plot {
        x: Scale::Whole(last),
        left: label_width(&y, 4) + 14.0,
        y,
        right: WIDTH - 12.0,
        top: 12.0,
        bottom: HEIGHT - 42.0,
    };
    plot.draw_y(&mut svg, 4);
    plot.draw_x(&mut svg, 10, 0.0);
    svg.open("axis");
    svg.text(
        "middle label",
        (0.5 * (plot.left + plot.right), HEIGHT - 6.0),
        "trial",
    );
    svg.close();
    svg.open("marks");
    for (row, duration) in done.iter().step_by(done.len().div_ceil(MAX_SHOWN).max(1)) {
        let at = plot.at(
            plot.x.place(row.trial.id as f64),
            plot.y.place(*duration as f64 / size),
        );
        svg.circle(&class(digest, row), Some(row.trial.id), at, 3.0);
    }
    svg.close();
    let caption = format!("Time of each trial, in {unit}{}", thinned(done.len()));
    format!(
        "<figure>{}<figcaption>{caption}</figcaption></figure>",
        svg.finish()
    )
}

/// The colour of the origin, or that of failure.
fn class(digest: &Digest<'_>, row: &Row) -> String {
    let is_failed = matches!(row.trial.outcome(), Some(Outcome::Failed { .. }));
    if is_failed {
        "fail".to_owned()
    } else {
        format!("o{}", digest.colour_of(row))
    }
}

fn thinned(n: usize) -> String {
    let every = n.div_ceil(MAX_SHOWN);
    if every > 1 {
        format!(". {} of {n} are drawn.", n.div_ceil(every))
    } else {
        String::new()
    }
}

fn timeline(digest: &Digest<'_>, timed: &[&Row], span: Span) -> String {
    let (lanes, names) = lanes(timed);
    let n = names.len().min(MAX_LANES);
    let lane = (320.0 / n.max(1) as f64).clamp(6.0, 22.0);
    let height = lane * n as f64 + 50.0;
    let (unit, size) = time_unit(span.last - span.first);
    let n_timed = count(timed.len(), "trial");
    let n_lanes = count(names.len(), "lane");
    let description = format!("{n_timed} in {n_lanes}");
    let mut svg = Svg::new(WIDTH, height, "Who worked when", &description);
    let lengths = names.iter().map(|name| name.chars().count().min(18));
    let widest = lengths.max().unwrap_or(0) as f64;
    let length = (span.last - span.first) as f64 / size;
    let plot = Plot {
        x: Scale::linear(0.0, length.max(f64::MIN_POSITIVE)),
        y: Scale::linear(0.0, 1.0),
        left: widest * CHARACTER + 22.0,
        right: WIDTH - 12.0,
        top: 8.0,
        bottom: lane * n as f64 + 8.0,
    };
    plot.draw_x(&mut svg, 10, 0.0);
    svg.open("axis");
    let under = (0.5 * (plot.left + plot.right), height - 6.0);
    let label = format!("time since the first start, in {unit}");
    svg.text("middle label", under, &label);
    for (k, name) in names.iter().enumerate().take(n).filter(|_| lane > 9.0) {
        let place = (plot.left - 6.0, plot.top + lane * (k as f64 + 0.5) + 4.0);
        svg.text("end", place, &elided(name, 18));
    }
    svg.close();
    svg.open("marks");
    let across = |time: u64| {
        plot.at(
            plot.x.place(time.saturating_sub(span.first) as f64 / size),
            0.0,
        )
        .0
    };
    let bars = timed.iter().zip(&lanes).filter(|(_, lane)| **lane < n);
    for (row, k) in bars.step_by(timed.len().div_ceil(MAX_SHOWN).max(1)) {
        let from = row.started.unwrap_or(span.first);
        let to = row.finished.unwrap_or(span.last).max(from);
        let y = plot.top + lane * *k as f64;
        let open = if row.finished.is_none() { " open" } else { "" };
        let class = format!("{}{open}", class(digest, row));
        let (begin, end) = ((across(from), y + 1.0), (across(to) - 0.6, y + lane - 1.0));
        svg.bar(&class, Some(row.trial.id), begin, end);
    }
    svg.close();
    let caption = format!(
        "When each trial ran{}{}",
        thinned(timed.len()),
        left_out(n, names.len())
    );
    format!(
        "<figure>{}<figcaption>{caption}</figcaption></figure>",
        svg.finish()
    )
}

fn left_out(n_drawn: usize, n: usize) -> String {
    if n > n_drawn {
        format!(" The first {n_drawn} of {n} lanes are drawn.")
    } else {
        String::new()
    }
}

/// A lane for each row, and the names of the lanes: those of workers where they are known, as few for each as it had
/// trials at once, since all threads of a process share its name.
fn lanes(timed: &[&Row]) -> (Vec<usize>, Vec<String>) {
    let mut order: Vec<usize> = (0..timed.len()).collect();
    order.sort_by_key(|at| (timed[*at].started, timed[*at].trial.id));
    let mut lanes = vec![0; timed.len()];
    let mut names: Vec<String> = Vec::new();
    let mut ends: Vec<u64> = Vec::new();
    let has_workers = timed.iter().all(|row| row.worker.is_some());
    for at in order {
        let row = timed[at];
        let (start, end) = (row.started.unwrap_or(0), row.finished.unwrap_or(u64::MAX));
        let is_own = |name: &String| !has_workers || Some(name) == row.worker.as_ref();
        let free = names
            .iter()
            .zip(&ends)
            .position(|(name, end)| is_own(name) && *end <= start);
        lanes[at] = free.unwrap_or(names.len());
        if free.is_none() {
            let name = row.worker.clone().filter(|_| has_workers);
            names.push(name.unwrap_or_else(|| (names.len() + 1).to_string()));
            ends.push(0);
        }
        ends[lanes[at]] = end.max(start);
    }
    (lanes, names)
}
