//! All values by trial number, the best so far, and failed trials in a lane of their own.

use mivabo::counted;
use mivabo::view::{Status, TrialView};

use super::{WIDTH, legend, nothing};
use crate::drawing::{Element, Plot, Position, Size, Svg, label_width};
use crate::text::{exact, text_if};
use crate::trials::Trials;

/// On a wide page.
const BROAD: Size = Size::new(WIDTH, 350.0);

/// On a phone, where the other one would have to be scrolled to the best trial.
const NARROW: Size = Size::new(360.0, 300.0);

/// How high the lane for failed trials is, and how wide its name.
const LANE: f64 = 22.0;
const LANE_NAME: f64 = 46.0;

/// What the caption says where a trial from elsewhere breaks a constraint.
const HOLLOW: &str = " Hollow marks are infeasible results from elsewhere.";

/// The most trials that are drawn on each.
const MAX_BROAD: usize = 2000;
const MAX_NARROW: usize = 400;

pub(crate) fn section(trials: &Trials<'_>) -> String {
    if trials.view.n_told() == 0 {
        return nothing("No trial has ended yet.");
    }
    let broad = figure(trials, BROAD, MAX_BROAD);
    let narrow = figure(trials, NARROW, MAX_NARROW);
    let best_key = "<li><i class=\"key line\"></i>best so far</li>";
    let legend = legend::origins(trials, best_key);
    format!("<div class=\"broad\">{broad}</div><div class=\"narrow\">{narrow}</div>{legend}")
}

fn figure(trials: &Trials<'_>, size: Size, max_shown: usize) -> String {
    let shown = trials.thinned(max_shown);
    let mut svg = Svg::new(size, "Values by trial number", &description(trials));
    let plot = frame(trials, size);
    draw_axes(trials, &mut svg, &plot);
    draw_best(trials, &mut svg, &plot);
    svg.group("marks", |svg| {
        draw_values(trials, &shown, svg, &plot);
        draw_failed(trials, svg, &plot, max_shown);
    });
    // Last, so that no dot hides it.
    svg.extend(ring(trials, &plot));
    svg.captioned(&caption(trials, shown.len()))
}

fn description(trials: &Trials<'_>) -> String {
    let best = best(trials);
    let n = counted(trials.ranked.len(), "trial");
    let n_failed = trials.view.count(Status::Failed);
    format!("{n} with a value, {n_failed} failed; {best}")
}

fn best(trials: &Trials<'_>) -> String {
    let best = trials.best.and_then(|best| Some((best.id, best.value?)));
    match best {
        Some((id, value)) => format!("the best value is {} in trial {id}", exact(value)),
        None => "no feasible trial has a value".to_owned(),
    }
}

/// Where a trial stands on the axis of numbers.
fn across(plot: &Plot, trial: &TrialView) -> f64 {
    plot.x.place(trial.id as f64)
}

fn ring(trials: &Trials<'_>, plot: &Plot) -> Option<Element> {
    let best = trials.best?;
    Trials::ring(plot, best, across(plot, best))
}

fn has_failed(trials: &Trials<'_>) -> bool {
    trials.view.count(Status::Failed) > 0
}

/// How high the lane for failed trials is.
fn lane(trials: &Trials<'_>) -> f64 {
    if has_failed(trials) { LANE } else { 0.0 }
}

fn frame(trials: &Trials<'_>, size: Size) -> Plot {
    let least = if has_failed(trials) { LANE_NAME } else { 0.0 };
    Plot {
        x: trials.numbers(),
        y: trials.scale.clone(),
        left: label_width(&trials.scale, 5).max(least) + 14.0,
        right: size.width - 12.0,
        top: 24.0,
        bottom: size.height - 42.0 - lane(trials),
    }
}

fn draw_axes(trials: &Trials<'_>, svg: &mut Svg, plot: &Plot) {
    let lane = lane(trials);
    plot.draw_y(svg, 5);
    plot.draw_y_title(svg, &trials.value_title());
    plot.draw_x(svg, ticks(plot), lane);
    svg.group("axis", |svg| {
        if has_failed(trials) {
            let beside = Position::new(plot.left - 6.0, plot.bottom + 0.5 * lane + 3.5);
            svg.text("end", beside, "failed");
        }
        plot.draw_title(svg, lane + 36.0, "trial");
    });
}

/// How many ticks the axis of trials has room for.
fn ticks(plot: &Plot) -> usize {
    if plot.width() > 0.5 * WIDTH { 10 } else { 5 }
}

/// The best value so far, as a staircase.
fn draw_best(trials: &Trials<'_>, svg: &mut Svg, plot: &Plot) {
    let improvements = trials.improvements().into_iter();
    let corners = improvements.filter_map(|trial| {
        let up = plot.y.place_or_edge(trial.value?);
        Some(plot.at(across(plot, trial), up))
    });
    let stairs = staircase(corners);
    if !stairs.is_empty() {
        // To the end of the chart: the last one is still the best.
        let stairs = format!("{stairs}H{:.1}", plot.right);
        svg.add(Element::path(&stairs).class("best"));
    }
}

/// A path across to the next corner, and then up or down to it.
fn staircase(corners: impl Iterator<Item = Position>) -> String {
    let steps = corners.enumerate().map(|(k, Position { x, y })| match k {
        0 => format!("M{x:.1} {y:.1}"),
        _ => format!("H{x:.1}V{y:.1}"),
    });
    steps.collect()
}

fn draw_values(trials: &Trials<'_>, shown: &[&TrialView], svg: &mut Svg, plot: &Plot) {
    for trial in shown {
        svg.extend(trials.dot(plot, trial, across(plot, trial), &trials.colour(trial)));
    }
}

/// A cross below the plot for each failed trial.
fn draw_failed(trials: &Trials<'_>, svg: &mut Svg, plot: &Plot, max_shown: usize) {
    let failed = trials.failed();
    let every = failed.len().div_ceil(max_shown).max(1);
    for trial in failed.into_iter().step_by(every) {
        let x = plot.at(across(plot, trial), 0.0).x;
        let middle = Position::new(x, plot.bottom + 0.5 * LANE);
        svg.add(cross(middle).class("failed").trial(trial.id));
    }
}

fn cross(middle: Position) -> Element {
    let Position { x, y } = middle.moved(-3.0, -3.0);
    Element::path(&format!("M{x:.1} {y:.1}l6 6m0 -6l-6 6"))
}

fn caption(trials: &Trials<'_>, n_shown: usize) -> String {
    let better = trials.better();
    let thinned = thinned(n_shown, trials.ranked.len());
    let beyond = beyond(trials.n_beyond());
    let is_hollow = trials.ranked.iter().any(|trial| !trial.feasible);
    let hollow = text_if(is_hollow, HOLLOW);
    format!("Each dot is a trial; {better} is better.{thinned}{beyond}{hollow}")
}

fn thinned(n_shown: usize, n: usize) -> String {
    if n_shown == n {
        return String::new();
    }
    format!(" {n_shown} of {n} values are drawn.")
}

fn beyond(n: usize) -> String {
    match n {
        0 => String::new(),
        1 => " One worse value lies beyond the axis and stands at its edge.".to_owned(),
        n => format!(" {n} worse values lie beyond the axis and stand at its edge."),
    }
}
