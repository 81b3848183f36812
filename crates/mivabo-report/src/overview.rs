//! The head of the page: how many trials there are, the best value and the best point.

use mivabo::measure::{Outcome, Sense, VALUE};
use mivabo::study::State;

use crate::Row;
use crate::digest::Digest;
use crate::text::{count, escape, exact, short, value};

pub(crate) fn header(digest: &Digest<'_>) -> String {
    format!(
        "<header><h1>{}</h1><p>{}</p><ul class=\"counts\" aria-label=\"Trials\"><li>Trials:</li>{}</ul>{}</header>",
        escape(digest.report.name),
        aims(digest),
        counts(digest),
        best(digest)
    )
}

/// What is wanted, over how many parameters, under how many constraints.
fn aims(digest: &Digest<'_>) -> String {
    let report = digest.report;
    let goal = report.aims.goal();
    let what = if goal.measure == VALUE {
        "The value".to_owned()
    } else {
        format!("<b>{}</b>", escape(&goal.measure))
    };
    let done = match goal.sense {
        Sense::Minimize => "minimised",
        Sense::Maximize => "maximised",
    };
    let parameters = report.space.parameters().iter();
    let n_visible = parameters.filter(|one| !one.is_auxiliary()).count();
    let constraints = report.space.constraints().iter();
    let n_stated = constraints.filter(|one| !one.is_implied()).count();
    let limits = report.aims.limits().iter();
    let limits: Vec<String> = limits.map(|limit| escape(&limit.to_string())).collect();
    let limits = if limits.is_empty() {
        String::new()
    } else {
        format!(", with limits {}", limits.join(", "))
    };
    format!(
        "{what} is {done} over {} under {}{limits}.",
        count(n_visible, "parameter"),
        count(n_stated, "constraint")
    )
}

/// How many trials there are of each state.
fn counts(digest: &Digest<'_>) -> String {
    let n = |test: fn(&State) -> bool| {
        let rows = digest.rows.iter();
        rows.filter(|row| test(&row.trial.state)).count()
    };
    let n_with = |test: fn(&Outcome) -> bool| {
        let outcomes = digest.rows.iter().filter_map(|row| row.trial.outcome());
        outcomes.filter(|outcome| test(outcome)).count()
    };
    let tiles = [
        (digest.rows.len(), "in all"),
        (
            n_with(|end| matches!(end, Outcome::Complete(_))),
            "complete",
        ),
        (n_with(|end| matches!(end, Outcome::Stopped(_))), "stopped"),
        (
            n_with(|end| matches!(end, Outcome::Failed { .. })),
            "failed",
        ),
        (n(|state| matches!(state, State::Running)), "running"),
        (n(|state| matches!(state, State::Waiting)), "waiting"),
    ];
    let shown = tiles.iter().filter(|(n, name)| *n > 0 || *name == "in all");
    let tiles: Vec<String> = shown
        .map(|(n, name)| format!("<li><b>{n}</b> {name}</li>"))
        .collect();
    tiles.concat()
}

fn best(digest: &Digest<'_>) -> String {
    let Some(row) = digest.best.map(|at| digest.rows[at]) else {
        return "<p class=\"none\">No feasible trial has a value yet.</p>".to_owned();
    };
    let best = digest.value(row).unwrap_or(f64::NAN);
    let origin = row
        .origin
        .as_deref()
        .map_or(String::new(), |origin| format!(", {}", escape(origin)));
    format!(
        "<div class=\"hero\" data-t=\"{id}\"><p class=\"big\"><span>Best value</span><b>{}</b>\
         <span>exactly {}</span><span>trial {id}{origin}</span></p>{}<dl>{}</dl></div>",
        short(best),
        exact(best),
        beside(digest, row),
        point(digest, row),
        id = row.trial.id,
    )
}

/// What else the best trial measured, and the limits that it breaks.
fn beside(digest: &Digest<'_>, row: &Row) -> String {
    let Some(outcome) = row.trial.outcome() else {
        return String::new();
    };
    let items: Vec<String> = digest
        .measures()
        .into_iter()
        .filter_map(|name| Some((name, outcome.measured().get(name)?)))
        .map(|(name, number)| format!("<span>{} <b>{}</b></span>", escape(name), short(number)))
        .collect();
    let broken = digest.report.aims.limits().iter();
    let broken: Vec<String> = broken
        .filter(|limit| !limit.is_kept(outcome.measured()))
        .map(|limit| {
            format!(
                "<span class=\"failed\">breaks {}</span>",
                escape(&limit.to_string())
            )
        })
        .collect();
    if items.is_empty() && broken.is_empty() {
        return String::new();
    }
    format!(
        "<p class=\"beside\">{}</p>",
        [items, broken].concat().join(" ")
    )
}

fn point(digest: &Digest<'_>, row: &Row) -> String {
    let visible = digest
        .report
        .space
        .parameters()
        .iter()
        .filter(|parameter| !parameter.is_auxiliary());
    let items = visible.map(|parameter| {
        let found = digest
            .report
            .space
            .value(row.trial.point(), parameter.name());
        let shown = found.map_or("<i>inactive</i>".to_owned(), |found| {
            escape(&value(&found, exact))
        });
        let (name, domain) = (
            escape(parameter.name()),
            escape(&parameter.domain().to_string()),
        );
        format!("<div title=\"{domain}\"><dt>{name}</dt><dd>{shown}</dd></div>")
    });
    items.collect()
}
