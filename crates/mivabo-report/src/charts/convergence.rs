//! All values by trial number, the best so far, and failed trials in a lane of their own.

use mivabo::view::{Status, TrialView};

use super::{WIDTH, legend, nothing};
use crate::drawing::{Element, Plot, Position, Size, Svg, label_width};
use crate::text::{count, exact, text_if};
use crate::trials::Trials;

const HEIGHT: f64 = 340.0;

/// How high the lane for failed trials is, and how wide its name.
const LANE: f64 = 22.0;
const LANE_NAME: f64 = 46.0;

/// What the caption says where a trial from elsewhere breaks a constraint.
const HOLLOW: &str = " Hollow marks are infeasible results from elsewhere.";

/// The most trials that are drawn.
const MAX_SHOWN: usize = 2000;

pub(crate) fn section(trials: &Trials<'_>) -> String {
    if trials.view.n_told() == 0 {
        return nothing("No trial has ended yet.");
    }
    let shown = trials.thinned(MAX_SHOWN);
    let size = Size::new(WIDTH, HEIGHT);
    let mut svg = Svg::new(size, "Values by trial number", &description(trials));
    let plot = frame(trials);
    draw_axes(trials, &mut svg, &plot);
    draw_best(trials, &mut svg, &plot);
    svg.group("marks", |svg| {
        draw_values(trials, &shown, svg, &plot);
        draw_failed(trials, svg, &plot);
    });
    svg.extend(ring(trials, &plot));
    let figure = svg.captioned(&caption(trials, shown.len()));
    let best_key = "<li><i class=\"key line\"></i>best so far</li>";
    figure + &legend::origins(trials, best_key)
}

fn description(trials: &Trials<'_>) -> String {
    let best = trials.best.and_then(|best| Some((best.id, best.value?)));
    let best = match best {
        Some((id, value)) => format!("the best value is {} in trial {id}", exact(value)),
        None => "no feasible trial has a value".to_owned(),
    };
    let n = count(trials.ranked.len(), "trial");
    let n_failed = trials.view.count(Status::Failed);
    format!("{n} with a value, {n_failed} failed; {best}")
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

fn frame(trials: &Trials<'_>) -> Plot {
    let least = if has_failed(trials) { LANE_NAME } else { 0.0 };
    Plot {
        x: trials.numbers(),
        y: trials.scale.clone(),
        left: label_width(&trials.scale, 5).max(least) + 14.0,
        right: WIDTH - 12.0,
        top: 12.0,
        bottom: HEIGHT - 42.0 - lane(trials),
    }
}

fn draw_axes(trials: &Trials<'_>, svg: &mut Svg, plot: &Plot) {
    let lane = lane(trials);
    plot.draw_y(svg, 5);
    plot.draw_x(svg, 10, lane);
    svg.group("axis", |svg| {
        if has_failed(trials) {
            let beside = Position::new(plot.left - 6.0, plot.bottom + 0.5 * lane + 3.5);
            svg.text("end", beside, "failed");
        }
        plot.draw_title(svg, lane + 36.0, "trial");
    });
}

/// The best value so far, as a staircase.
fn draw_best(trials: &Trials<'_>, svg: &mut Svg, plot: &Plot) {
    let improvements = trials.improvements().into_iter();
    let corners = improvements.filter_map(|trial| {
        let up = plot.y.place(trial.value?).clamp(0.0, 1.0);
        Some(plot.at(across(plot, trial), up))
    });
    // Across to the next trial that improved, and then up or down to its value.
    let steps = corners.enumerate().map(|(k, Position { x, y })| match k {
        0 => format!("M{x:.1} {y:.1}"),
        _ => format!("H{x:.1}V{y:.1}"),
    });
    let stairs: String = steps.collect();
    if !stairs.is_empty() {
        let stairs = format!("{stairs}H{:.1}", plot.right);
        svg.add(Element::path(&stairs).class("best"));
    }
}

fn draw_values(trials: &Trials<'_>, shown: &[&TrialView], svg: &mut Svg, plot: &Plot) {
    for trial in shown {
        svg.extend(trials.dot(plot, trial, across(plot, trial), &trials.colour(trial)));
    }
}

/// A cross below the plot for each failed trial.
fn draw_failed(trials: &Trials<'_>, svg: &mut Svg, plot: &Plot) {
    let failed = trials.failed();
    let every = failed.len().div_ceil(MAX_SHOWN).max(1);
    for trial in failed.into_iter().step_by(every) {
        let x = plot.at(across(plot, trial), 0.0).x - 3.0;
        let y = plot.bottom + 0.5 * LANE - 3.0;
        let cross = Element::path(&format!("M{x:.1} {y:.1}l6 6m0 -6l-6 6"));
        svg.add(cross.class("failed").trial(trial.id));
    }
}

fn caption(trials: &Trials<'_>, n_shown: usize) -> String {
    let better = trials.better();
    let thinned = match trials.ranked.len() {
        n if n_shown < n => format!(" {n_shown} of {n} values are drawn."),
        _ => String::new(),
    };
    let beyond = beyond(trials.n_beyond());
    let is_hollow = trials.ranked.iter().any(|trial| !trial.feasible);
    let hollow = text_if(is_hollow, HOLLOW);
    format!("Each dot is a trial; {better} is better.{thinned}{beyond}{hollow}")
}

fn beyond(n: usize) -> String {
    match n {
        0 => String::new(),
        1 => " One worse value lies beyond the axis and stands at its edge.".to_owned(),
        n => format!(" {n} worse values lie beyond the axis and stand at its edge."),
    }
}
