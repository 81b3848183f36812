//! The time of each trial, by trial number.

use super::{Timed, every, thinned};
use crate::charts::WIDTH;
use crate::drawing::{Element, Plot, Scale, Size, Svg, label_width};
use crate::text::{Unit, count, time, time_unit};
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
    let ended: Vec<Ended<'_>> = timed.iter().filter_map(Ended::of).collect();
    let Some(longest) = ended.iter().map(|one| one.millis).max() else {
        return String::new();
    };
    let unit = time_unit(longest);
    let plot = frame(trials, longest as f64 / unit.millis);
    let description = description(ended.len(), longest);
    let size = Size::new(WIDTH, HEIGHT);
    let mut svg = Svg::new(size, "Time of each trial", &description);
    plot.draw_y(&mut svg, 4);
    plot.draw_x(&mut svg, 10, 0.0);
    svg.group("axis", |svg| plot.draw_title(svg, 36.0, "trial"));
    svg.group("marks", |svg| {
        let drawn = ended.iter().step_by(every(ended.len()));
        svg.extend(drawn.map(|one| one.dot(trials, &plot, unit)));
    });
    let thinned = thinned(ended.len());
    svg.captioned(&format!("Time of each trial, in {}{thinned}", unit.name))
}

fn description(n: usize, longest: u64) -> String {
    let n = count(n, "trial");
    format!("{n}, the longest took {}", time(longest))
}

fn frame(trials: &Trials<'_>, longest: f64) -> Plot {
    let y = Scale::linear(0.0, (longest * HEADROOM).max(f64::MIN_POSITIVE));
    Plot {
        x: trials.numbers(),
        left: label_width(&y, 4) + 14.0,
        y,
        right: WIDTH - 12.0,
        top: 12.0,
        bottom: HEIGHT - 42.0,
    }
}
