//! Each parameter against the value: small charts of equal size, inactive trials in a lane of their own.

use mivabo::view::TrialView;

use super::track::{Track, jitter};
use super::{legend, named, nothing};
use crate::drawing::{Element, Plot, Position, Scale, Size, Svg, is_tight, label_width};
use crate::text::text_if;
use crate::trials::{Trials, rank_class};

const SIZE: Size = Size::new(310.0, 226.0);

/// The width of the lane for inactive trials.
const LANE: f64 = 34.0;

/// The room between the plot and that lane.
const GAP: f64 = 6.0;

/// What the introduction says where importance is known, and where there are medians.
const ORDER: &str = " The most important parameter comes first.";
const MEDIANS: &str = " Short lines are medians.";

/// The most marks in all charts together, and the fewest and most trials in each.
const MAX_MARKS: usize = 16_000;
const SHOWN: std::ops::RangeInclusive<usize> = 300..=1000;

pub(crate) fn section(trials: &Trials<'_>) -> String {
    let tracks = by_importance(trials);
    if tracks.is_empty() || trials.ranked.is_empty() {
        return nothing("No trial has a value yet.");
    }
    let limit = MAX_MARKS / tracks.len();
    let shown = trials.thinned(limit.clamp(*SHOWN.start(), *SHOWN.end()));
    let figures: String = tracks
        .iter()
        .map(|track| Chart::new(trials, track, &shown).figure())
        .collect();
    let introduction = introduction(trials, &tracks, shown.len());
    let ranks = legend::ranks();
    format!(
        "<p>{introduction}</p><ul class=\"legend\"><li>early trials {ranks} late trials</li></ul>\
         <div class=\"grid\">{figures}</div>"
    )
}

/// The most important parameter first, where importance is known; otherwise in the order of the space.
fn by_importance<'a>(trials: &Trials<'a>) -> Vec<Track<'a>> {
    let importance = |track: &Track<'_>| importance_of(trials, track.name());
    let mut tracks = Track::all(trials.view);
    tracks.sort_by(|a, b| importance(b).total_cmp(&importance(a)));
    tracks
}

/// The total effect of a parameter, where it is known.
fn importance_of(trials: &Trials<'_>, name: &str) -> f64 {
    let importance = trials.view.importance.iter();
    let mut effects = importance.flat_map(|importance| &importance.effects);
    let own = effects.find(|effect| effect.name == name);
    own.map_or(0.0, |effect| effect.total)
}

fn introduction(trials: &Trials<'_>, tracks: &[Track<'_>], n_shown: usize) -> String {
    let better = trials.better();
    let has_order = trials.view.importance.is_some();
    let order = text_if(has_order, ORDER);
    let has_medians = tracks.iter().any(Track::has_bands);
    let medians = text_if(has_medians, MEDIANS);
    let thinned = thinned(n_shown, trials.ranked.len());
    format!(
        "The value of each trial against each parameter; {better} is better, \
         and the best trial has a ring.{order}{medians}{thinned}"
    )
}

/// How many of the trials with a value are drawn, where not all of them are.
pub(super) fn thinned(n_shown: usize, n: usize) -> String {
    if n_shown < n {
        format!(" {n_shown} of {n} trials are drawn.")
    } else {
        String::new()
    }
}

/// The chart of one parameter.
struct Chart<'a> {
    trials: &'a Trials<'a>,
    track: &'a Track<'a>,
    shown: &'a [&'a TrialView],
    n_inactive: usize,
    plot: Plot,
}

impl<'a> Chart<'a> {
    fn new(trials: &'a Trials<'a>, track: &'a Track<'a>, shown: &'a [&'a TrialView]) -> Chart<'a> {
        let inactive = shown.iter().filter(|trial| track.place(trial).is_none());
        let n_inactive = inactive.count();
        Chart {
            trials,
            track,
            shown,
            n_inactive,
            plot: frame(&trials.scale, &track.scale, n_inactive > 0),
        }
    }

    fn figure(&self) -> String {
        let name = self.track.name();
        let title = format!("The value against {name}");
        let mut svg = Svg::new(SIZE, &title, &self.description());
        self.plot.draw_y(&mut svg, 4);
        self.plot.draw_y_title(&mut svg, &self.trials.value_title());
        self.plot.draw_x(&mut svg, 4, 0.0);
        if self.n_inactive > 0 {
            draw_lane(&mut svg, &self.plot);
        }
        svg.group("marks", |svg| self.draw_trials(svg));
        self.draw_medians(&mut svg);
        let is_log = matches!(self.track.scale, Scale::Log(..));
        let log = text_if(is_log, " <small>log</small>");
        named(svg, name, log)
    }

    fn description(&self) -> String {
        let n_inactive = self.n_inactive;
        let n_active = self.shown.len() - n_inactive;
        format!("{n_active} trials where it is active, {n_inactive} where it is not")
    }

    fn draw_trials(&self, svg: &mut Svg) {
        for (k, trial) in self.shown.iter().enumerate() {
            let place = self.track.place(trial);
            let across = place.unwrap_or_else(|| self.aside(trial));
            let class = rank_class(k, self.shown.len());
            svg.extend(self.trials.dot(&self.plot, trial, across, &class));
            if self.trials.is_best(trial) {
                svg.extend(Trials::ring(&self.plot, trial, across));
            }
        }
    }

    /// Where a trial stands in the lane for inactive ones, beyond the end of the x-axis.
    fn aside(&self, trial: &TrialView) -> f64 {
        let middle = self.plot.width() + GAP + 0.5 * LANE;
        (middle + 0.6 * LANE * jitter(trial)) / self.plot.width()
    }

    /// The median of all trials with each value, where values have bands.
    fn draw_medians(&self, svg: &mut Svg) {
        let Scale::Bands(labels) = &self.track.scale else {
            return;
        };
        let half = 0.35 * self.plot.width() / labels.len().max(1) as f64;
        for (band, values) in self.values_by_band(labels.len()).iter().enumerate() {
            // Of one or two values the marks themselves say more.
            if values.len() < 3 {
                continue;
            }
            // Trials come by rank, so the middle one has the median.
            let middle = self.in_band(band, values[values.len() / 2]);
            let end = middle.moved(half, 0.0);
            svg.line("median", middle.moved(-half, 0.0), end);
        }
    }

    /// The middle of a band, at a value.
    fn in_band(&self, band: usize, value: f64) -> Position {
        let up = self.plot.y.place_or_edge(value);
        let across = self.track.scale.place(band as f64);
        self.plot.at(across, up)
    }

    /// The values of the trials in each band, the worst first.
    fn values_by_band(&self, n: usize) -> Vec<Vec<f64>> {
        let mut bands: Vec<Vec<f64>> = vec![Vec::new(); n];
        for trial in &self.trials.ranked {
            if let Some((band, value)) = self.track.band(trial).zip(trial.value) {
                bands[band].push(value);
            }
        }
        bands
    }
}

fn frame(values: &Scale, track: &Scale, has_lane: bool) -> Plot {
    let lane = if has_lane { LANE + GAP } else { 0.0 };
    let left = label_width(values, 4) + 4.0;
    let right = SIZE.width - 10.0 - lane;
    // Slanted labels reach down and to the left.
    let is_tight = is_tight(track, right - left);
    let below = if is_tight { 58.0 } else { 26.0 };
    let least = if is_tight { 66.0 } else { 0.0 };
    Plot {
        x: track.clone(),
        y: values.clone(),
        left: left.max(least),
        right,
        top: 24.0,
        bottom: SIZE.height - below,
    }
}

fn draw_lane(svg: &mut Svg, plot: &Plot) {
    svg.group("axis", |svg| {
        let corner = Position::new(plot.right + GAP, plot.top);
        let opposite = Position::new(corner.x + LANE, plot.bottom);
        svg.add(Element::bar(corner, opposite).class("lane"));
        // Not under it: there the last tick of the axis has its label.
        let above = Position::new(opposite.x, plot.top - 9.0);
        svg.text("end", above, "inactive");
    });
}
