//! Parallel coordinates: a line for each trial through its values, coloured by rank, the best on top.
//!
//! Spaces of many parameters are cut into panels, each of which ends with the value.

use mivabo::view::TrialView;

use super::parameters::thinned;
use super::track::Track;
use super::{WIDTH, legend, nothing};
use crate::drawing::{Element, Plot, Position, Scale, Size, Svg};
use crate::text::{elided, text_if};
use crate::trials::{Trials, rank_class};

const HEIGHT: f64 = 300.0;

/// The room between the first and the last axis and the ends of the drawing.
const MARGIN: f64 = 62.0;

/// What the introduction says where parameters have conditions.
const INACTIVE: &str = " Trials in which a parameter is inactive pass below its axis.";

/// Parameters of a panel.
const PANEL: usize = 9;

/// The fewest and the most lines of a panel, and the most of all panels together.
const SHOWN: std::ops::RangeInclusive<usize> = 100..=300;
const MAX_LINES: usize = 1200;

/// Lines are fainter where there are more of them than this.
const FAINT_FROM: usize = 120;

/// The most ticks of an axis.
const MAX_TICKS: usize = 14;

/// How far below the axes inactive parameters are.
const LANE: f64 = 20.0;

pub(crate) fn section(trials: &Trials<'_>) -> String {
    let tracks = Track::all(trials.view);
    if tracks.is_empty() || trials.ranked.is_empty() {
        return nothing("No trial has a value yet.");
    }
    let n_panels = tracks.len().div_ceil(PANEL);
    let limit = MAX_LINES / n_panels;
    let shown = trials.thinned(limit.clamp(*SHOWN.start(), *SHOWN.end()));
    // Evenly: ten parameters make two panels of five, not one of nine and one of one.
    let panels: String = tracks
        .chunks(tracks.len().div_ceil(n_panels))
        .map(|tracks| Panel { trials, tracks }.figure(&shown))
        .collect();
    let introduction = introduction(trials, &tracks, shown.len());
    let ranks = legend::ranks();
    format!(
        "<p>{introduction}</p>\
         <ul class=\"legend\"><li>worst {ranks} best</li></ul>\
         <div class=\"panels\">{panels}</div>"
    )
}

fn introduction(trials: &Trials<'_>, tracks: &[Track<'_>], n_shown: usize) -> String {
    let has_conditions = tracks.iter().any(|track| track.parameter.when.is_some());
    let inactive = text_if(has_conditions, INACTIVE);
    let thinned = thinned(n_shown, trials.ranked.len());
    format!("Each line is a trial; the last axis is the value.{inactive}{thinned}")
}

/// Some of the parameters, and the value.
struct Panel<'a> {
    trials: &'a Trials<'a>,
    tracks: &'a [Track<'a>],
}

impl Panel<'_> {
    fn figure(&self, shown: &[&TrialView]) -> String {
        let names: Vec<&str> = self.tracks.iter().map(Track::name).collect();
        let description = format!("{} trials over {}", shown.len(), names.join(", "));
        let size = Size::new(WIDTH, HEIGHT);
        let mut svg = Svg::new(size, "Parallel coordinates", &description);
        let is_faint = shown.len() > FAINT_FROM;
        let class = if is_faint { "lines faint" } else { "lines" };
        svg.group(class, |svg| self.draw_lines(svg, shown));
        self.draw_axes(&mut svg);
        format!("<figure>{}</figure>", svg.finish())
    }

    fn draw_axes(&self, svg: &mut Svg) {
        for (k, track) in self.tracks.iter().enumerate() {
            draw_axis(svg, &self.axis(&track.scale, k), track.name());
        }
        let last = self.axis(&self.trials.scale, self.tracks.len());
        draw_axis(svg, &last, self.trials.view.goal_name());
    }

    /// The best trials come last, and so lie on top.
    fn draw_lines(&self, svg: &mut Svg, shown: &[&TrialView]) {
        let n = self.trials.ranked.len();
        // Those that are shown stand by number, those that are ranked by rank.
        let is_shown = |id: u64| shown.binary_search_by_key(&id, |trial| trial.id).is_ok();
        for (rank, trial) in self.trials.ranked.iter().enumerate() {
            if !is_shown(trial.id) {
                continue;
            }
            let is_best = self.trials.is_best(trial);
            let top = text_if(is_best, " top");
            let class = format!("{}{top}", rank_class(rank, n));
            let line = Element::path(&self.line(trial));
            svg.add(line.class(class).trial(trial.id));
        }
    }

    /// The axis number `k`, after which the value's one comes: a plot without width.
    fn axis(&self, scale: &Scale, k: usize) -> Plot {
        let share = k as f64 / self.tracks.len().max(1) as f64;
        let x = MARGIN + (WIDTH - 2.0 * MARGIN) * share;
        Plot {
            x: Scale::linear(0.0, 1.0),
            y: scale.clone(),
            left: x,
            right: x,
            top: 34.0,
            bottom: HEIGHT - 34.0,
        }
    }

    fn line(&self, trial: &TrialView) -> String {
        let places = self.tracks.iter().map(|track| track.place(trial));
        let scale = &self.trials.scale;
        let last = trial.value.map(|value| scale.place_or_edge(value));
        let places = places.chain([last]).enumerate();
        let corners: Vec<String> = places.map(|(k, place)| self.corner(k, place)).collect();
        format!("M{}", corners.join("L"))
    }

    /// Where a line crosses the axis number `k`; below it where the parameter is inactive.
    fn corner(&self, k: usize, place: Option<f64>) -> String {
        let axis = self.axis(&self.trials.scale, k);
        let Position { x, y } = match place {
            Some(up) => axis.at(0.0, up),
            None => axis.at(0.0, 0.0).moved(0.0, LANE),
        };
        format!("{x:.0} {y:.1}")
    }
}

/// The axis with its name above it and its ticks to the left.
fn draw_axis(svg: &mut Svg, axis: &Plot, name: &str) {
    svg.group("axis", |svg| {
        svg.line("rule", axis.at(0.0, 1.0), axis.at(0.0, 0.0));
        let above = Position::new(axis.left, 16.0);
        svg.text("middle label halo", above, &elided(name, 15));
        let ticks = axis.y.ticks(4);
        let every = ticks.len().div_ceil(MAX_TICKS).max(1);
        for tick in ticks.iter().step_by(every) {
            draw_tick(svg, axis.at(0.0, tick.place), &tick.label);
        }
    });
}

fn draw_tick(svg: &mut Svg, at: Position, label: &str) {
    svg.line("rule", at.moved(-3.0, 0.0), at);
    // Lines of trials pass behind the labels, which have a halo.
    svg.text("end halo", at.moved(-5.0, 3.5), &elided(label, 9));
}
