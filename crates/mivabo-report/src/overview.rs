//! The head of the page: how many trials there are, the best value and the best point.

use mivabo::study::{Direction, State};

use crate::Row;
use crate::digest::Digest;
use crate::text::{count, escape, exact, short, value};

pub(crate) fn header(digest: &Digest<'_>) -> String {
    let report = digest.report;
    let direction = match report.direction {
        Direction::Minimise => "minimised",
        Direction::Maximise => "maximised",
    };
    let visible = report
        .space
        .parameters()
        .iter()
        .filter(|parameter| !parameter.is_auxiliary())
        .count();
    let stated = report
        .space
        .constraints()
        .iter()
        .filter(|constraint| !constraint.is_implied())
        .count();
    let n = |test: fn(&State) -> bool| {
        digest
            .rows
            .iter()
            .filter(|row| test(&row.trial.state))
            .count()
    };
    let tiles = [
        (digest.rows.len(), "in all"),
        (n(|state| matches!(state, State::Complete(_))), "complete"),
        (n(|state| matches!(state, State::Failed { .. })), "failed"),
        (n(|state| matches!(state, State::Pending)), "pending"),
        (n(|state| matches!(state, State::Waiting)), "waiting"),
    ];
    let shown = tiles.iter().filter(|(n, name)| *n > 0 || *name == "in all");
    let tiles: Vec<String> = shown
        .map(|(n, name)| format!("<li><b>{n}</b> {name}</li>"))
        .collect();
    format!(
        "<header><h1>{}</h1><p>The value is {direction} over {} under {}.</p><ul class=\"counts\" aria-label=\"Trials\">\
         <li>Trials:</li>{}</ul>{}</header>",
        escape(report.name),
        count(visible, "parameter"),
        count(stated, "constraint"),
        tiles.concat(),
        best(digest)
    )
}

fn best(digest: &Digest<'_>) -> String {
    let Some(row) = digest.best.map(|at| digest.rows[at]) else {
        return "<p class=\"none\">No feasible trial has a value yet.</p>".to_owned();
    };
    let best = row.trial.value().unwrap_or(f64::NAN);
    let origin = row
        .origin
        .as_deref()
        .map_or(String::new(), |origin| format!(", {}", escape(origin)));
    format!(
        "<div class=\"hero\" data-t=\"{id}\"><p class=\"big\"><span>Best value</span><b>{}</b>\
         <span>exactly {}</span><span>trial {id}{origin}</span></p><dl>{}</dl></div>",
        short(best),
        exact(best),
        point(digest, row),
        id = row.trial.id,
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
            .value(&row.trial.point, parameter.name());
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
