//! How close the trials came to each constraint: a bar for each constraint, and its slack at the best point.
//!
//! A trial is *on the bound* of a constraint where its slack is at most a millionth of its larger side, or both sides are
//! 0 up to rounding, and *near* it where the slack is at most a twentieth of the largest one among the trials. An equation
//! has no side to be far from, so it only holds.

use mivabo::counted;
use mivabo::space::Value;
use mivabo::view::{ConstraintView, MarginView, StudyView, TrialView};

use super::nothing;
use crate::drawing::{Element, Position, Size, Svg};
use crate::text::{escape, listed, percent, short, value};
use crate::trials::Trials;

const NEAR: f64 = 0.05;
const ROUNDING: f64 = 1e-6;
/// A side is 0 up to rounding where it is this small beside the largest slack.
const ZERO: f64 = 1e-12;

/// The head of the table, whose columns are those of [`Met::line`].
const HEAD: &str = "<thead><tr><th scope=\"col\">constraint</th><th scope=\"col\">trials</th>\
    <th scope=\"col\" class=\"n\">on the bound</th><th scope=\"col\" class=\"n\">near the bound</th>\
    <th scope=\"col\">at the best point</th><th scope=\"col\" class=\"n\">slack</th></tr></thead>";

/// How wide the bar of all trials is.
const BAR: f64 = 220.0;

/// The cell of what there is none of.
const NONE: &str = "–";

/// How a trial stands to a constraint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stand {
    Violated,
    OnBound,
    Near,
    Holds,
    NotApplied,
}

impl Stand {
    const ALL: [Stand; 5] = [
        Stand::Violated,
        Stand::OnBound,
        Stand::Near,
        Stand::Holds,
        Stand::NotApplied,
    ];

    /// The class of its colour.
    fn class(self) -> &'static str {
        match self {
            Stand::Violated => "c-violated",
            Stand::OnBound => "c-bound",
            Stand::Near => "c-near",
            Stand::Holds => "c-holds",
            Stand::NotApplied => "c-unasked",
        }
    }

    /// What the legend says.
    fn text(self) -> &'static str {
        match self {
            Stand::Violated => "violated",
            Stand::OnBound => "on the bound",
            Stand::Near => "near the bound",
            Stand::Holds => "satisfied",
            Stand::NotApplied => "does not apply",
        }
    }
}

pub(crate) fn section(trials: &Trials<'_>) -> String {
    let view = trials.view;
    if view.stated_constraints().next().is_none() {
        return nothing("There are no constraints.");
    }
    let Some(margins) = told_margins(view) else {
        return nothing("How close the trials came to the constraints was not computed.");
    };
    let lines = lines(trials, &margins);
    let n = counted(margins.len(), "evaluated trial");
    let implied = implied(view.constraints.len() - view.stated_constraints().count());
    let legend = legend();
    format!(
        "<p>How close {n} came to each constraint, and its slack at the best point.{implied}</p>\
         <ul class=\"legend\">{legend}</ul><div class=\"scroll\"><table class=\"constraints\">{HEAD}\
         <tbody>{lines}</tbody></table></div>"
    )
}

/// The margins of all trials that ended; none where those of one are missing, for then no share of them is true.
fn told_margins(view: &StudyView) -> Option<Vec<&[MarginView]>> {
    // What has no place in a revised space is not held against its constraints.
    let told = view
        .trials
        .iter()
        .filter(|trial| trial.state.is_told() && trial.left_out.is_none());
    told.map(|trial| trial.margins.as_deref()).collect()
}

fn lines(trials: &Trials<'_>, margins: &[&[MarginView]]) -> String {
    let stated = trials.view.stated_constraints();
    stated
        .map(|constraint| Met::of(constraint, margins).line(constraint, trials.best))
        .collect()
}

fn implied(n: usize) -> String {
    match n {
        0 => String::new(),
        1 => " One more follows from a definition and is not listed.".to_owned(),
        n => format!(" {n} more follow from definitions and are not listed."),
    }
}

fn legend() -> String {
    let keys = Stand::ALL.map(|stand| {
        let (class, text) = (stand.class(), stand.text());
        format!("<li><i class=\"key {class}\"></i>{text}</li>")
    });
    keys.concat()
}

/// How all evaluated trials met one constraint.
struct Met {
    stands: Vec<Stand>,
    /// Whether slack says how far any of them was from failing.
    is_measured: bool,
}

impl Met {
    fn of(constraint: &ConstraintView, margins: &[&[MarginView]]) -> Met {
        let all = margins.iter();
        let tightest: Vec<Option<&MarginView>> = all
            .map(|margins| tightest(&constraint.name, margins))
            .collect();
        let slacks = tightest.iter().flatten().filter_map(|margin| margin.slack);
        let largest = slacks.fold(0.0, f64::max);
        Met {
            is_measured: tightest.iter().flatten().any(|margin| has_slack(margin)),
            stands: tightest.iter().map(|one| stand(*one, largest)).collect(),
        }
    }

    fn line(&self, constraint: &ConstraintView, best: Option<&TrialView>) -> String {
        let there = AtBest::of(&constraint.name, best);
        let name = escape(&constraint.name);
        let text = escape(&constraint.text);
        let bar = self.bar(&constraint.name);
        let on_bound = self.share(Stand::OnBound);
        let near = self.share(Stand::Near);
        let sides = escape(&there.sides);
        let slack = there.slack;
        format!(
            "<tr><th scope=\"row\">{name}<code>{text}</code></th><td>{bar}</td>\
             <td class=\"n\">{on_bound}</td><td class=\"n\">{near}</td>\
             <td><code>{sides}</code></td><td class=\"n\">{slack}</td></tr>\n"
        )
    }

    fn count(&self, stand: Stand) -> usize {
        self.stands.iter().filter(|one| **one == stand).count()
    }

    /// The share of a stand among the trials to which the constraint applies.
    fn share(&self, stand: Stand) -> String {
        if !self.is_measured {
            return NONE.to_owned();
        }
        let applied = self.stands.len() - self.count(Stand::NotApplied);
        percent(self.count(stand) as f64 / applied as f64)
    }

    /// How many trials have each stand, without those that none has.
    fn counts(&self) -> Vec<(Stand, usize)> {
        let counts = Stand::ALL.map(|stand| (stand, self.count(stand)));
        counts.into_iter().filter(|(_, n)| *n > 0).collect()
    }

    fn description(&self) -> String {
        let counts = self.counts().into_iter();
        listed(counts.map(|(stand, n)| format!("{n} {}", stand.text())))
    }

    fn bar(&self, name: &str) -> String {
        if self.stands.is_empty() {
            return String::new();
        }
        let title = format!("Trials and {name}");
        let mut svg = Svg::new(Size::new(BAR, 16.0), &title, &self.description());
        // In the order of the legend, each where the one before it ends.
        let mut from = Position::new(0.0, 2.0);
        for (stand, n) in self.counts() {
            let width = BAR * n as f64 / self.stands.len() as f64;
            let bar = Element::bar(from, from.moved(width, 12.0));
            svg.add(bar.class(stand.class()));
            from = from.moved(width, 0.0);
        }
        svg.finish()
    }
}

/// What the table says about the best point.
struct AtBest {
    sides: String,
    slack: String,
}

impl AtBest {
    fn of(constraint: &str, best: Option<&TrialView>) -> AtBest {
        let Some(margins) = best.and_then(|best| best.margins.as_deref()) else {
            return AtBest::without_slack(NONE);
        };
        let Some(margin) = tightest(constraint, margins) else {
            return AtBest::without_slack("does not apply");
        };
        let slack = margin.slack.filter(|_| has_slack(margin));
        AtBest {
            sides: sides(margin),
            slack: slack.map_or(NONE.to_owned(), short),
        }
    }

    fn without_slack(sides: &str) -> AtBest {
        AtBest {
            sides: sides.to_owned(),
            slack: NONE.to_owned(),
        }
    }
}

/// The statement of a constraint that is nearest to failing, or fails; none where it does not apply.
fn tightest<'a>(name: &str, margins: &'a [MarginView]) -> Option<&'a MarginView> {
    let slack = |margin: &MarginView| margin.slack.unwrap_or(f64::INFINITY);
    let own = margins.iter().filter(|margin| margin.constraint == name);
    own.min_by(|a, b| {
        // One that fails comes first, whatever its slack: `false` is less than `true`.
        let by_slack = slack(a).total_cmp(&slack(b));
        a.holds.cmp(&b.holds).then(by_slack)
    })
}

fn has_slack(margin: &MarginView) -> bool {
    margin.slack.is_some() && margin.relation != "=="
}

/// How a trial stands to a constraint whose tightest statement this is, among trials with at most the `largest` slack.
fn stand(tightest: Option<&MarginView>, largest: f64) -> Stand {
    let Some(margin) = tightest else {
        return Stand::NotApplied;
    };
    if !margin.holds {
        return Stand::Violated;
    }
    let Some(slack) = margin.slack.filter(|_| has_slack(margin)) else {
        return Stand::Holds;
    };
    let size = larger_side(margin);
    // Of sides that are both 0 a millionth is 0 too, and rounding may leave more than that.
    let is_zero = size <= ZERO * largest.min(1.0);
    if slack <= ROUNDING * size || is_zero {
        Stand::OnBound
    } else if slack <= NEAR * largest {
        Stand::Near
    } else {
        Stand::Holds
    }
}

fn larger_side(margin: &MarginView) -> f64 {
    size(margin.left.as_ref()).max(size(margin.right.as_ref()))
}

fn size(side: Option<&Value>) -> f64 {
    side.and_then(Value::as_f64).map_or(0.0, f64::abs)
}

fn sides(margin: &MarginView) -> String {
    let side = |side: &Option<Value>| side.as_ref().map(|side| value(side, short));
    match (side(&margin.left), side(&margin.right)) {
        (Some(left), Some(right)) => format!("{left} {} {right}", margin.relation),
        _ => margin.statement.clone(),
    }
}
