//! The time of each trial, by trial number.

use mivabo::counted;

use super::{Timed, every, thinned};
use crate::charts::WIDTH;
use crate::drawing::{Element, Plot, Scale, Size, Svg, label_width};
use crate::text::{Unit, time, time_unit};
use crate::trials::Trials;

const HEIGHT: f64 = 210.0;

/// Room above the longest time.
const HEADROOM: f64 = 1.04;

/// A trial that ended.
struct Ended<'a> {
    timed: &'a Timed<'a>,
    millis: u64,
}

impl<'a> Ended<'a> {
    fn of(timed: &'a Timed<'a>) -> Option<Ended<'a>> {
        let millis = timed.trial.millis()?;
        Some(Ended { timed, millis })
    }

    fn dot(&self, trials: &Trials<'_>, plot: &Plot, unit: Unit) -> Element {
        let id = self.timed.trial.id;
        let up = plot.y.place(self.millis as f64 / unit.millis);
        let centre = plot.at(plot.x.place(id as f64), up);
        let class = self.timed.class(trials);
        Element::circle(centre, 3.0).class(class).trial(id)
    }
}

/// Nothing where no trial has ended.
pub(super) fn figure(trials: &Trials<'_>, timed: &[Timed<'_>]) -> String {
    let durations = Durations::of(trials, timed);
    durations.map_or(String::new(), |it| it.figure())
}

struct Durations<'a> {
    trials: &'a Trials<'a>,
    ended: Vec<Ended<'a>>,
    longest: u64,
    /// The unit of the y-axis.
    unit: Unit,
    plot: Plot,
}

impl<'a> Durations<'a> {
    fn of(trials: &'a Trials<'a>, timed: &'a [Timed<'a>]) -> Option<Durations<'a>> {
        let ended: Vec<Ended<'_>> = timed.iter().filter_map(Ended::of).collect();
        let longest = ended.iter().map(|one| one.millis).max()?;
        let unit = time_unit(longest);
        Some(Durations {
            trials,
            ended,
            longest,
            unit,
            plot: frame(trials, longest as f64 / unit.millis),
        })
    }

    fn figure(&self) -> String {
        let size = Size::new(WIDTH, HEIGHT);
        let mut svg = Svg::new(size, "Time of each trial", &self.description());
        self.draw_axes(&mut svg);
        svg.group("marks", |svg| self.draw_dots(svg));
        let unit = self.unit.name;
        let thinned = thinned(self.ended.len());
        svg.captioned(&format!("Time of each trial, in {unit}{thinned}"))
    }

    fn description(&self) -> String {
        let n = counted(self.ended.len(), "trial");
        let longest = time(self.longest);
        format!("{n}, the longest took {longest}")
    }

    fn draw_axes(&self, svg: &mut Svg) {
        self.plot.draw_y(svg, 4);
        self.plot
            .draw_y_title(svg, &format!("time, in {}", self.unit.name));
        self.plot.draw_x(svg, 10, 0.0);
        svg.group("axis", |svg| self.plot.draw_title(svg, 36.0, "trial"));
    }

    fn draw_dots(&self, svg: &mut Svg) {
        let every = every(self.ended.len());
        let drawn = self.ended.iter().step_by(every);
        svg.extend(drawn.map(|one| one.dot(self.trials, &self.plot, self.unit)));
    }
}

fn frame(trials: &Trials<'_>, longest: f64) -> Plot {
    // From 0, so that heights compare as times do; where all took none, the scale still needs a length.
    let y = Scale::linear(0.0, (longest * HEADROOM).max(f64::MIN_POSITIVE));
    Plot {
        x: trials.numbers(),
        left: label_width(&y, 4) + 14.0,
        y,
        right: WIDTH - 12.0,
        top: 24.0,
        bottom: HEIGHT - 42.0,
    }
}
