//! Who worked when: a bar for each trial, in the lane of its worker.

use mivabo::counted;

use super::lanes::Lanes;
use super::{Span, Timed, every, thinned};
use crate::charts::WIDTH;
use crate::drawing::{CHARACTER, Element, Plot, Position, Scale, Size, Svg, text_width};
use crate::text::{Unit, elided, text_if, time_unit};
use crate::trials::Trials;

/// The most lanes that are drawn.
const MAX_LANES: usize = 64;

/// How high all lanes together should be, and the lowest and the highest lane.
const HEIGHT: f64 = 320.0;
const LOWEST: f64 = 6.0;
const HIGHEST: f64 = 22.0;

/// Lanes lower than this have no name beside them.
const NAMED_FROM: f64 = 9.0;

/// The most characters of a name, and how wide that is.
const NAME: usize = 18;
const WIDEST: f64 = NAME as f64 * CHARACTER;

/// The room above the lanes.
const TOP: f64 = 8.0;

/// How high each of so many lanes is.
fn lane_height(n: usize) -> f64 {
    (HEIGHT / n.max(1) as f64).clamp(LOWEST, HIGHEST)
}

pub(super) fn figure(trials: &Trials<'_>, timed: &[Timed<'_>], span: Span) -> String {
    let timeline = Timeline::new(timed, span);
    let n_trials = counted(timed.len(), "trial");
    let n_lanes = counted(timeline.lanes.names.len(), "lane");
    let description = format!("{n_trials} in {n_lanes}");
    let mut svg = Svg::new(timeline.size(), "Who worked when", &description);
    timeline.plot.draw_x(&mut svg, 10, 0.0);
    svg.group("axis", |svg| timeline.draw_names(svg));
    svg.group("marks", |svg| timeline.draw_bars(svg, trials));
    let thinned = thinned(timed.len());
    let left_out = timeline.left_out();
    svg.captioned(&format!("When each trial ran{thinned}{left_out}"))
}

struct Timeline<'a> {
    timed: &'a [Timed<'a>],
    span: Span,
    lanes: Lanes,
    /// How many lanes are drawn.
    n_drawn: usize,
    /// How high each of them is.
    height: f64,
    /// The unit of the axis.
    unit: Unit,
    plot: Plot,
}

impl<'a> Timeline<'a> {
    fn new(timed: &'a [Timed<'a>], span: Span) -> Timeline<'a> {
        let lanes = Lanes::of(timed);
        let n_drawn = lanes.names.len().min(MAX_LANES);
        let height = lane_height(n_drawn);
        let widest = text_width(lanes.names.iter().map(String::as_str));
        let unit = time_unit(span.millis());
        let length = span.millis() as f64 / unit.millis;
        let plot = Plot {
            x: Scale::linear(0.0, length.max(f64::MIN_POSITIVE)),
            y: Scale::linear(0.0, 1.0),
            left: widest.min(WIDEST) + 22.0,
            right: WIDTH - 12.0,
            top: TOP,
            bottom: height * n_drawn as f64 + TOP,
        };
        Timeline {
            timed,
            span,
            lanes,
            n_drawn,
            height,
            unit,
            plot,
        }
    }

    /// With room for the axis.
    fn size(&self) -> Size {
        Size::new(WIDTH, self.plot.bottom + 42.0)
    }

    /// The upper end of a lane.
    fn top_of(&self, lane: usize) -> f64 {
        self.plot.top + self.height * lane as f64
    }

    /// Where a moment is on the x-axis.
    fn across(&self, moment: u64) -> f64 {
        let since = moment.saturating_sub(self.span.first) as f64;
        let place = self.plot.x.place(since / self.unit.millis);
        self.plot.at(place, 0.0).x
    }

    fn draw_names(&self, svg: &mut Svg) {
        let title = format!("time since the first start, in {}", self.unit.name);
        self.plot.draw_title(svg, 36.0, &title);
        if self.height <= NAMED_FROM {
            return;
        }
        let drawn = self.lanes.names.iter().take(self.n_drawn);
        for (lane, name) in drawn.enumerate() {
            let middle = self.top_of(lane) + 0.5 * self.height;
            let beside = Position::new(self.plot.left - 6.0, middle + 4.0);
            svg.text("end", beside, &elided(name, NAME));
        }
    }

    fn draw_bars(&self, svg: &mut Svg, trials: &Trials<'_>) {
        let bars = self.timed.iter().zip(&self.lanes.of_trials);
        let drawn = bars.filter(|(_, lane)| **lane < self.n_drawn);
        for (timed, lane) in drawn.step_by(every(self.timed.len())) {
            let is_open = timed.finished.is_none();
            let open = text_if(is_open, " open");
            let class = format!("{}{open}", timed.class(trials));
            svg.add(self.bar(timed, *lane).class(class).trial(timed.trial.id));
        }
    }

    /// The bar of a trial; to the end of the chart where the trial still runs.
    fn bar(&self, timed: &Timed<'_>, lane: usize) -> Element {
        let end = timed.finished.unwrap_or(self.span.last);
        let top = self.top_of(lane);
        let from = Position::new(self.across(timed.started), top + 1.0);
        // A clock that was set back would end the trial before it began.
        let right = self.across(end.max(timed.started)) - 0.6;
        Element::bar(from, Position::new(right, top + self.height - 1.0))
    }

    fn left_out(&self) -> String {
        let n = self.lanes.names.len();
        if n > self.n_drawn {
            format!(" The first {} of {n} lanes are drawn.", self.n_drawn)
        } else {
            String::new()
        }
    }
}
