//! What was measured beside the goal: a small chart by trial number for each measure, with its limit.

use mivabo::measure::Limit;

use crate::digest::{Digest, value_scale};
use crate::scale::Scale;
use crate::svg::{Plot, Svg, label_width};
use crate::text::{count, elided, escape};

const WIDTH: f64 = 310.0;
const HEIGHT: f64 = 190.0;

/// The most marks in one chart.
const MAX_SHOWN: usize = 1000;

/// Nothing where only the goal was measured.
pub(crate) fn section(digest: &Digest<'_>) -> String {
    let figures: String = digest
        .measures()
        .into_iter()
        .map(|measure| figure(digest, measure))
        .collect();
    if figures.is_empty() {
        return String::new();
    }
    format!(
        "<p>What evaluations gave beside the goal, by trial; the best trial has a ring. A dashed line is a limit.</p>\
         <div class=\"grid\">{figures}</div>"
    )
}

/// A row and what was measured in it.
struct Mark {
    at: usize,
    number: f64,
}

fn figure(digest: &Digest<'_>, measure: &str) -> String {
    let marks = marks(digest, measure);
    let limits = digest.report.aims.limits().iter();
    let limits: Vec<&Limit> = limits.filter(|limit| limit.measure == measure).collect();
    let description = format!("{} measured it", count(marks.len(), "trial"));
    let title = format!("{measure} by trial number");
    let mut svg = Svg::new(WIDTH, HEIGHT, &title, &description);
    let plot = frame(digest, &marks, &limits);
    plot.draw_y(&mut svg, 4);
    plot.draw_x(&mut svg, 4, 0.0);
    for limit in limits {
        let y = plot.at(0.0, plot.y.place(limit.bound).clamp(0.0, 1.0)).1;
        svg.path(
            "limit",
            None,
            &format!("M{:.1} {y:.1}H{:.1}", plot.left, plot.right),
        );
    }
    draw_marks(digest, &marks, &mut svg, &plot);
    format!(
        "<figure><figcaption title=\"{}\">{}</figcaption>{}</figure>",
        escape(measure),
        escape(&elided(measure, 40)),
        svg.finish()
    )
}

fn marks(digest: &Digest<'_>, measure: &str) -> Vec<Mark> {
    let rows = digest.rows.iter().enumerate();
    rows.filter_map(|(at, row)| {
        let number = row.trial.outcome()?.measured().get(measure)?;
        Some(Mark { at, number })
    })
    .collect()
}

fn frame(digest: &Digest<'_>, marks: &[Mark], limits: &[&Limit]) -> Plot {
    let numbers = marks.iter().map(|mark| mark.number);
    let mut shown: Vec<f64> = numbers
        .chain(limits.iter().map(|limit| limit.bound))
        .collect();
    shown.sort_by(|a, b| b.total_cmp(a));
    let y = value_scale(&shown);
    let last = digest.rows.last().map_or(0, |row| row.trial.id);
    Plot {
        x: Scale::Whole(last),
        left: label_width(&y, 4) + 4.0,
        y,
        right: WIDTH - 10.0,
        top: 8.0,
        bottom: HEIGHT - 26.0,
    }
}

fn draw_marks(digest: &Digest<'_>, marks: &[Mark], svg: &mut Svg, plot: &Plot) {
    svg.open("marks");
    for mark in marks.iter().step_by(marks.len().div_ceil(MAX_SHOWN).max(1)) {
        let row = digest.rows[mark.at];
        let x = plot.x.place(row.trial.id as f64);
        let place = plot.at(x, plot.y.place(mark.number).clamp(0.0, 1.0));
        let class = format!("o{}", digest.colour_of(row));
        svg.circle(&class, Some(row.trial.id), place, 2.5);
        if digest.best == Some(mark.at) {
            svg.circle("ring", None, place, 6.0);
        }
    }
    svg.close();
}
