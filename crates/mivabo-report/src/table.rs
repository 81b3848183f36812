//! All trials as a table, which the script of the page sorts.

use std::collections::BTreeSet;

use mivabo::measure::Outcome;
use mivabo::space::Parameter;
use mivabo::study::State;

use crate::Row;
use crate::digest::Digest;
use crate::text::{elided, escape, exact, short, time, value};

/// The class of columns of numbers; cells are numbers unless they say otherwise.
const NUMBER: &str = " class=\"n\"";

/// The cell of a value that there is none of.
const NOTHING: &str = "<td>–</td>";

/// Rows beyond this many are not printed.
const PRINTED: usize = 200;

pub(crate) fn section(digest: &Digest<'_>) -> String {
    if digest.rows.is_empty() {
        return "<p class=\"none\">There are no trials yet.</p>".to_owned();
    }
    let visible = || {
        digest
            .report
            .space
            .parameters()
            .iter()
            .filter(|parameter| !parameter.is_auxiliary())
    };
    let names: Vec<&str> = visible().map(Parameter::name).collect();
    let has_times = digest.rows.iter().any(|row| row.started.is_some());
    let goal = digest.report.aims.goal().measure.as_str();
    let measures = digest.measures();
    let mut columns = vec![("trial", ""), ("state", ""), (goal, NUMBER)];
    columns.extend(measures.iter().map(|measure| (*measure, NUMBER)));
    columns.extend((!digest.origins.is_empty()).then_some(("origin", "")));
    columns.extend(has_times.then_some(("time", NUMBER)));
    columns.extend(visible().map(|p| {
        (
            p.name(),
            if p.domain().range().is_some() {
                NUMBER
            } else {
                ""
            },
        )
    }));
    let head = columns.iter().map(|(name, class)| {
        format!(
            "<th scope=\"col\"{class} title=\"{}\">{}</th>",
            escape(name),
            escape(&elided(name, 24))
        )
    });
    let head = head.collect::<Vec<_>>().concat();
    let body: String = (0..digest.rows.len())
        .map(|at| {
            line(
                digest,
                at,
                &Columns {
                    measures: &measures,
                    names: &names,
                    has_times,
                },
            )
        })
        .collect();
    let printed = if digest.rows.len() > PRINTED {
        format!("<p class=\"paper\">The first {PRINTED} trials are printed.</p>")
    } else {
        String::new()
    };
    format!(
        "{printed}<div class=\"scroll tall\"><table id=\"all\"><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>"
    )
}

/// Columns that not every table has.
struct Columns<'a> {
    measures: &'a BTreeSet<&'a str>,
    names: &'a [&'a str],
    has_times: bool,
}

fn line(digest: &Digest<'_>, at: usize, columns: &Columns<'_>) -> String {
    let row = digest.rows[at];
    let outcome = row.trial.outcome();
    let class = if digest.best == Some(at) {
        " class=\"best\""
    } else {
        ""
    };
    let mut cells = vec![
        format!(
            "<tr data-t=\"{id}\"{class}><th>{id}</th>",
            id = row.trial.id
        ),
        state(row, digest.is_feasible[at]),
        number(digest.value(row)),
    ];
    let measured = |measure: &&str| outcome.and_then(|outcome| outcome.measured().get(measure));
    cells.extend(
        columns
            .measures
            .iter()
            .map(|measure| number(measured(measure))),
    );
    if !digest.origins.is_empty() {
        cells.push(format!(
            "<td class=\"t\">{}</td>",
            escape(row.origin.as_deref().unwrap_or("–"))
        ));
    }
    if columns.has_times {
        cells.push(row.duration().map_or(NOTHING.to_owned(), |millis| {
            format!("<td data-v=\"{millis}\">{}</td>", time(millis))
        }));
    }
    cells.extend(columns.names.iter().map(|name| {
        match digest.report.space.value(row.trial.point(), name) {
            None => NOTHING.to_owned(),
            Some(found) if found.as_f64().is_some() => format!("<td>{}</td>", value(&found, short)),
            Some(found) => format!(
                "<td class=\"t\">{}</td>",
                escape(&elided(&value(&found, short), 60))
            ),
        }
    }));
    cells.push("</tr>\n".to_owned());
    cells.concat()
}

/// The script sorts by the title of a number.
fn number(number: Option<f64>) -> String {
    number.map_or(NOTHING.to_owned(), |number| {
        format!("<td title=\"{}\">{}</td>", exact(number), short(number))
    })
}

fn state(row: &Row, is_feasible: bool) -> String {
    let infeasible = if is_feasible { "" } else { ", infeasible" };
    let plain = |name: &str| format!("<td class=\"t\">{name}{infeasible}</td>");
    match &row.trial.state {
        State::Waiting => plain("waiting"),
        State::Running => plain("running"),
        State::Ended(Outcome::Complete(_)) => plain("complete"),
        State::Ended(Outcome::Stopped(_)) => plain("stopped"),
        State::Ended(Outcome::Failed { reason, .. }) => {
            let (shown, full) = (escape(&elided(reason, 32)), escape(&elided(reason, 400)));
            format!("<td class=\"t failed\" title=\"{full}\">failed: {shown}{infeasible}</td>")
        }
    }
}
