//! All trials as a table, which the script of the page sorts.

use mivabo::space::Value;
use mivabo::view::{ParameterView, Status, TrialView};

use crate::text::{elided, escape, exact, short, text_if, time, value};
use crate::trials::Trials;

/// The cell of a value that there is none of.
const NOTHING: &str = "<td>–</td>";

/// Rows beyond this many are not printed.
const PRINTED: usize = 200;

/// The most characters of a name, a text and a reason.
const NAME: usize = 24;
const TEXT: usize = 60;
const REASON: usize = 32;
const FULL_REASON: usize = 400;

pub(crate) fn section(trials: &Trials<'_>) -> String {
    if trials.all().is_empty() {
        return "<p class=\"none\">There are no trials yet.</p>".to_owned();
    }
    let columns = columns(trials);
    let head: String = columns.iter().map(Column::head).collect();
    let body = body(trials, &columns);
    let printed = printed(trials.all().len());
    let first = head_cell("trial", false);
    format!(
        "{printed}<div class=\"scroll tall\"><table id=\"all\">\
         <thead><tr>{first}{head}</tr></thead>\n\
         <tbody>{body}</tbody></table></div>"
    )
}

fn body(trials: &Trials<'_>, columns: &[Column<'_>]) -> String {
    let rows = trials.all().iter();
    rows.map(|trial| row(trial, columns, trials.is_best(trial)))
        .collect()
}

fn printed(n: usize) -> String {
    if n <= PRINTED {
        return String::new();
    }
    format!("<p class=\"paper\">The first {PRINTED} trials are printed.</p>")
}

/// A column after that of the trials' numbers.
struct Column<'a> {
    name: &'a str,
    /// Whether its cells are numbers unless they say otherwise.
    is_number: bool,
    cell: Box<dyn Fn(&TrialView) -> String + 'a>,
}

impl<'a> Column<'a> {
    fn label(name: &'a str, cell: impl Fn(&TrialView) -> String + 'a) -> Column<'a> {
        Column {
            name,
            is_number: false,
            cell: Box::new(cell),
        }
    }

    fn number(name: &'a str, cell: impl Fn(&TrialView) -> String + 'a) -> Column<'a> {
        Column {
            is_number: true,
            ..Column::label(name, cell)
        }
    }

    fn measure(name: &'a str) -> Column<'a> {
        Column::number(name, move |trial| number(trial.measured.get(name)))
    }

    fn parameter(view: &'a ParameterView) -> Column<'a> {
        let cell = |trial: &TrialView| parameter(trial.params.get(&view.name));
        Column {
            is_number: view.domain.range().is_some(),
            ..Column::label(&view.name, cell)
        }
    }

    fn head(&self) -> String {
        head_cell(self.name, self.is_number)
    }
}

fn columns<'a>(trials: &Trials<'a>) -> Vec<Column<'a>> {
    let view = trials.view;
    let mut columns = vec![
        Column::label("state", state),
        Column::number(view.goal_name(), |trial| number(trial.value)),
    ];
    columns.extend(view.measures().into_iter().map(Column::measure));
    if !trials.origins.is_empty() {
        columns.push(Column::label("origin", origin));
    }
    // Without a database nobody takes times.
    if trials.all().iter().any(|trial| trial.started.is_some()) {
        columns.push(Column::number("time", duration));
    }
    columns.extend(view.parameters.iter().map(Column::parameter));
    columns
}

fn row(trial: &TrialView, columns: &[Column<'_>], is_best: bool) -> String {
    let id = trial.id;
    let class = text_if(is_best, " class=\"best\"");
    let cells: String = columns.iter().map(|column| (column.cell)(trial)).collect();
    format!("<tr data-t=\"{id}\"{class}><th>{id}</th>{cells}</tr>\n")
}

fn head_cell(name: &str, is_number: bool) -> String {
    let class = text_if(is_number, " class=\"n\"");
    let full = escape(name);
    let shown = escape(&elided(name, NAME));
    format!("<th scope=\"col\"{class} title=\"{full}\">{shown}</th>")
}

fn text(text: &str) -> String {
    format!("<td class=\"t\">{}</td>", escape(text))
}

fn origin(trial: &TrialView) -> String {
    text(trial.origin.as_deref().unwrap_or("–"))
}

/// The script sorts by the title of a number.
fn number(number: Option<f64>) -> String {
    number.map_or(NOTHING.to_owned(), |number| {
        format!("<td title=\"{}\">{}</td>", exact(number), short(number))
    })
}

/// The script sorts by milliseconds.
fn duration(trial: &TrialView) -> String {
    trial.millis().map_or(NOTHING.to_owned(), |millis| {
        format!("<td data-v=\"{millis}\">{}</td>", time(millis))
    })
}

fn parameter(found: Option<&Value>) -> String {
    match found {
        None => NOTHING.to_owned(),
        Some(number) if number.as_f64().is_some() => {
            format!("<td>{}</td>", value(number, short))
        }
        Some(label) => text(&elided(&value(label, short), TEXT)),
    }
}

fn state(trial: &TrialView) -> String {
    let infeasible = if trial.feasible { "" } else { ", infeasible" };
    let state = trial.state.name();
    match &trial.reason {
        Some(reason) if trial.state == Status::Failed => failure(state, reason, infeasible),
        _ => text(&format!("{state}{infeasible}")),
    }
}

fn failure(state: &str, reason: &str, infeasible: &str) -> String {
    let shown = escape(&elided(reason, REASON));
    // A reason may be a whole traceback, and every trial may have one.
    let full = escape(&elided(reason, FULL_REASON));
    format!("<td class=\"t failed\" title=\"{full}\">{state}: {shown}{infeasible}</td>")
}
