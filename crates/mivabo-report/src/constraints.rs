//! How close the trials came to each constraint: slacks of all told trials enter, a bar for each constraint leaves.
//!
//! A trial is *on the bound* of a constraint where its slack is at most a millionth of its larger side, or both sides are
//! 0 up to rounding, and *near* it where the slack is at most a twentieth of the largest one among the trials. An equation
//! has no side to be far from, so it only holds.

use mivabo::space::{Constraint, Margin};

use crate::digest::Digest;
use crate::svg::Svg;
use crate::text::{count, escape, percent, short, value};

const NEAR: f64 = 0.05;
const ROUNDING: f64 = 1e-6;
/// A side is 0 up to rounding where it is this small beside the largest slack.
const ZERO: f64 = 1e-12;

/// How a trial stands to a constraint, with the class of its colour and what the legend says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stand {
    Violated,
    OnBound,
    Near,
    Holds,
    NotAsked,
}

const STANDS: [(Stand, &str, &str); 5] = [
    (Stand::Violated, "c-violated", "violated"),
    (Stand::OnBound, "c-bound", "on the bound"),
    (Stand::Near, "c-near", "near it"),
    (Stand::Holds, "c-holds", "holds"),
    (Stand::NotAsked, "c-unasked", "asks nothing there"),
];

pub(crate) fn section(digest: &Digest<'_>) -> String {
    let space = digest.report.space;
    let stated: Vec<&Constraint> = space
        .constraints()
        .iter()
        .filter(|c| !c.is_implied())
        .collect();
    if stated.is_empty() {
        return "<p class=\"none\">There are no constraints.</p>".to_owned();
    }
    let told = digest.rows.iter().filter(|row| row.trial.is_told());
    let margins: Vec<Vec<Margin>> = told.map(|row| space.margins(row.trial.point())).collect();
    let best = digest
        .best
        .map(|at| space.margins(&digest.rows[at].trial.point()));
    let lines = stated
        .iter()
        .map(|constraint| line(constraint, &margins, best.as_deref()));
    let lines: String = lines.collect();
    let implied = match space.constraints().len() - stated.len() {
        0 => String::new(),
        1 => " One that follows from a definition is not listed.".to_owned(),
        n => format!(" {n} that follow from definitions are not listed."),
    };
    let legend = STANDS
        .map(|(_, class, text)| format!("<li><i class=\"key {class}\"></i>{text}</li>"))
        .concat();
    format!(
        "<p>Where {} stand to each constraint, and the slack at the best point.{implied}</p>\
         <ul class=\"legend\">{legend}</ul><div class=\"scroll\"><table class=\"constraints\"><thead><tr>\
         <th scope=\"col\">constraint</th><th scope=\"col\">trials</th><th scope=\"col\" class=\"n\">on the bound</th>\
         <th scope=\"col\" class=\"n\">near it</th><th scope=\"col\">at the best point</th><th scope=\"col\" class=\"n\">slack there</th></tr></thead>\
         <tbody>{lines}</tbody></table></div>",
        count(margins.len(), "told trial")
    )
}

fn line(constraint: &Constraint, margins: &[Vec<Margin>], best: Option<&[Margin]>) -> String {
    let stands = stands(constraint.name(), margins);
    let counts = STANDS.map(|(stand, ..)| stands.iter().filter(|s| **s == stand).count());
    let asked = stands.len() - counts[4];
    let is_measured = margins
        .iter()
        .filter_map(|margins| tightest(constraint.name(), margins))
        .any(has_slack);
    let share = |n: usize| {
        if is_measured {
            percent(n as f64 / asked as f64)
        } else {
            "–".to_owned()
        }
    };
    let tightest = best.map(|margins| tightest(constraint.name(), margins));
    let (sides, slack) = match tightest {
        None => ("–".to_owned(), "–".to_owned()),
        Some(None) => ("asks nothing".to_owned(), "–".to_owned()),
        Some(Some(margin)) => (
            sides(margin),
            margin
                .slack
                .filter(|_| has_slack(margin))
                .map_or("–".to_owned(), short),
        ),
    };
    format!(
        "<tr><th scope=\"row\">{}<code>{}</code></th><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
         <td><code>{}</code></td><td class=\"n\">{slack}</td></tr>\n",
        escape(constraint.name()),
        escape(&constraint.expression().to_string()),
        bar(constraint.name(), &counts),
        share(counts[1]),
        share(counts[2]),
        escape(&sides)
    )
}

/// How each trial stands to a constraint.
fn stands(name: &str, margins: &[Vec<Margin>]) -> Vec<Stand> {
    let tightest: Vec<Option<&Margin>> = margins
        .iter()
        .map(|margins| tightest(name, margins))
        .collect();
    let slacks = tightest
        .iter()
        .flatten()
        .filter_map(|margin| margin.slack)
        .filter(|slack| slack.is_finite());
    let largest = slacks.fold(0.0, f64::max);
    let stand = |margin: Option<&Margin>| match margin {
        None => Stand::NotAsked,
        Some(margin) if !margin.holds => Stand::Violated,
        Some(
            margin @ Margin {
                slack: Some(slack),
                left,
                right,
                ..
            },
        ) if has_slack(margin) => {
            let side = |side: &Option<_>| {
                side.as_ref()
                    .and_then(mivabo::space::Value::as_f64)
                    .map_or(0.0, f64::abs)
            };
            let size = side(left).max(side(right));
            match *slack {
                slack if slack <= ROUNDING * size => Stand::OnBound,
                _ if size <= ZERO * largest.min(1.0) => Stand::OnBound,
                slack if slack <= NEAR * largest => Stand::Near,
                _ => Stand::Holds,
            }
        }
        Some(_) => Stand::Holds,
    };
    tightest.into_iter().map(stand).collect()
}

/// The statement of a constraint that is nearest to failing, or fails; none where nothing is asked.
fn tightest<'a>(name: &str, margins: &'a [Margin]) -> Option<&'a Margin> {
    let slack = |margin: &Margin| margin.slack.unwrap_or(f64::INFINITY);
    let own = margins.iter().filter(|margin| margin.constraint == name);
    own.min_by(|a, b| a.holds.cmp(&b.holds).then(slack(a).total_cmp(&slack(b))))
}

fn has_slack(margin: &Margin) -> bool {
    margin.slack.is_some() && margin.relation != "=="
}

fn sides(margin: &Margin) -> String {
    let side = |side: &Option<_>| side.as_ref().map(|side| value(side, short));
    match (side(&margin.left), side(&margin.right)) {
        (Some(left), Some(right)) => format!("{left} {} {right}", margin.relation),
        _ => margin.statement.clone(),
    }
}

fn bar(name: &str, counts: &[usize; 5]) -> String {
    const WIDTH: f64 = 220.0;
    let n: usize = counts.iter().sum();
    if n == 0 {
        return String::new();
    }
    let shown: Vec<String> = STANDS
        .iter()
        .zip(counts)
        .filter(|(_, n)| **n > 0)
        .map(|((.., text), n)| format!("{n} {text}"))
        .collect();
    let mut svg = Svg::new(
        WIDTH,
        16.0,
        &format!("Trials and {name}"),
        &shown.join(", "),
    );
    let mut from = 0.0;
    for ((_, class, _), count) in STANDS.iter().zip(counts).filter(|(_, n)| **n > 0) {
        let to = from + WIDTH * *count as f64 / n as f64;
        svg.bar(class, None, (from, 2.0), (to, 14.0));
        from = to;
    }
    svg.finish()
}
