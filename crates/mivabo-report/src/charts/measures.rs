//! What was measured beside the goal: a small chart by trial number for each measure, with its limit.

use mivabo::counted;
use mivabo::measure::Limit;
use mivabo::view::TrialView;

use super::named;
use crate::drawing::{Element, Plot, Position, Size, Svg, label_width};

use crate::trials::{Trials, value_scale};

const SIZE: Size = Size::new(310.0, 190.0);

/// The most marks in one chart.
const MAX_SHOWN: usize = 1000;

/// Nothing where only the goal was measured.
pub(crate) fn section(trials: &Trials<'_>) -> String {
    let measures = trials.view.measures().into_iter();
    let figures: String = measures
        .map(|measure| Measure::of(trials, measure).figure())
        .collect();
    if figures.is_empty() {
        return String::new();
    }
    format!(
        "<p>The other measures, by trial; the best trial has a ring, \
         and dashed lines are limits.</p>\
         <div class=\"grid\">{figures}</div>"
    )
}

/// One measure, the trials that have it, and its limits.
struct Measure<'a> {
    trials: &'a Trials<'a>,
    name: &'a str,
    marks: Vec<Mark<'a>>,
    limits: Vec<&'a Limit>,
}

struct Mark<'a> {
    trial: &'a TrialView,
    number: f64,
}

impl<'a> Measure<'a> {
    fn of(trials: &'a Trials<'a>, name: &'a str) -> Measure<'a> {
        let mark = |trial: &'a TrialView| {
            let number = trial.measured.get(name)?;
            Some(Mark { trial, number })
        };
        let limits = trials.view.limits.iter();
        Measure {
            trials,
            name,
            marks: trials.all().iter().filter_map(mark).collect(),
            limits: limits.filter(|limit| limit.measure == name).collect(),
        }
    }

    fn figure(&self) -> String {
        let description = format!("{} measured it", counted(self.marks.len(), "trial"));
        let title = format!("{} by trial number", self.name);
        let mut svg = Svg::new(SIZE, &title, &description);
        let plot = self.frame();
        plot.draw_y(&mut svg, 4);
        plot.draw_x(&mut svg, 4, 0.0);
        self.draw_limits(&mut svg, &plot);
        svg.group("marks", |svg| self.draw_marks(svg, &plot));
        named(svg, self.name, "")
    }

    fn frame(&self) -> Plot {
        let numbers = self.marks.iter().map(|mark| mark.number);
        let bounds = self.limits.iter().map(|limit| limit.bound);
        // Limits too: one that no trial comes near would else be drawn at the edge.
        let mut shown: Vec<f64> = numbers.chain(bounds).collect();
        shown.sort_by(|a, b| b.total_cmp(a));
        let y = value_scale(&shown);
        Plot {
            x: self.trials.numbers(),
            left: label_width(&y, 4) + 4.0,
            y,
            right: SIZE.width - 10.0,
            top: 8.0,
            bottom: SIZE.height - 26.0,
        }
    }

    fn draw_limits(&self, svg: &mut Svg, plot: &Plot) {
        for limit in &self.limits {
            let up = plot.y.place_or_edge(limit.bound);
            let Position { x, y } = plot.at(0.0, up);
            let line = Element::path(&format!("M{x:.1} {y:.1}H{:.1}", plot.right));
            svg.add(line.class("limit"));
        }
    }

    fn draw_marks(&self, svg: &mut Svg, plot: &Plot) {
        let every = self.marks.len().div_ceil(MAX_SHOWN).max(1);
        for Mark { trial, number } in self.marks.iter().step_by(every) {
            let up = plot.y.place_or_edge(*number);
            let centre = plot.at(plot.x.place(trial.id as f64), up);
            self.draw_mark(svg, centre, trial);
        }
    }

    fn draw_mark(&self, svg: &mut Svg, centre: Position, trial: &TrialView) {
        let colour = self.trials.colour(trial);
        let dot = Element::circle(centre, 2.5);
        svg.add(dot.class(colour).trial(trial.id));
        if self.trials.is_best(trial) {
            svg.add(Element::circle(centre, 6.0).class("ring"));
        }
    }
}
