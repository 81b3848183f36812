//! `mivabo export`: a stored study in, all its trials as CSV or JSON out.

use std::collections::BTreeSet;

use mivabo::space::Parameter;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::Failure;
use crate::args::{Export, Format};
use crate::csv::line;
use crate::objective::shown;
use crate::rows::{Row, measures, rows, time, visible};

/// Columns that are not parameters. A parameter of such a name is written as `params.NAME`.
pub const COLUMNS: [&str; 11] = [
    "trial", "state", "value", "feasible", "origin", "seconds", "attempts", "worker", "started",
    "finished", "reason",
];

/// Before the name of a number that was measured beside the goal's.
pub const MEASURED: &str = "measured.";

/// Before the name of what an evaluation gave that is not a number.
pub const RESULT: &str = "result.";

/// Prints all trials.
pub fn run(args: &Export) -> Result<String, Failure> {
    let session = args.source.read()?;
    let rows = rows(&session)?;
    if args.format == Format::Json {
        let all = rows.iter().map(Row::json).collect::<Value>();
        return Ok(format!("{all:#}\n"));
    }
    let names: Vec<&str> = visible(session.space()).map(Parameter::name).collect();
    let measures = measures(&rows, &session.aims().goal().measure);
    let results: Vec<Map<String, Value>> = rows.iter().map(beside).collect();
    let keys: BTreeSet<&String> = results.iter().flat_map(Map::keys).collect();
    let header = COLUMNS
        .map(ToOwned::to_owned)
        .into_iter()
        .chain(names.iter().map(|name| column(name)));
    let header = header
        .chain(measures.iter().map(|name| format!("{MEASURED}{name}")))
        .chain(keys.iter().map(|key| format!("{RESULT}{key}")))
        .collect::<Vec<_>>();
    let lines = rows.iter().zip(&results).map(|(row, result)| {
        let given = keys
            .iter()
            .map(|key| result.get(*key).map_or(String::new(), written));
        let numbers = measures.iter().map(|name| number(row.measured(name)));
        line(
            &cells(row, &names)
                .into_iter()
                .chain(numbers)
                .chain(given)
                .collect::<Vec<_>>(),
        )
    });
    Ok(line(&header) + &lines.collect::<String>())
}

/// What an evaluation gave beside the numbers that are measured.
fn beside(row: &Row) -> Map<String, Value> {
    let mut result = row.result().unwrap_or_default();
    result.retain(|key, value| !value.is_number() || row.measured(key).is_none());
    // The text of a value, as in {"value": "0.5"}.
    result.remove("value");
    result
}

fn number(x: Option<f64>) -> String {
    x.map_or(String::new(), |x| format!("{x:?}"))
}

/// A text as it is, anything else as JSON, and so a text that is empty or looks like JSON.
fn written(value: &Value) -> String {
    let is_plain =
        |text: &&str| !text.is_empty() && serde_json::from_str::<IgnoredAny>(text).is_err();
    value
        .as_str()
        .filter(is_plain)
        .map_or_else(|| value.to_string(), ToOwned::to_owned)
}

/// The column of a parameter.
pub fn column(name: &str) -> String {
    let bare = name.trim_start_matches("params.");
    if COLUMNS.contains(&bare) || bare.starts_with(RESULT) || bare.starts_with(MEASURED) {
        format!("params.{name}")
    } else {
        name.to_owned()
    }
}

fn cells(row: &Row, names: &[&str]) -> Vec<String> {
    let trial = &row.trial;
    let mut cells = vec![
        trial.id.to_string(),
        row.state().to_string(),
        number(row.value),
        row.is_feasible.to_string(),
        trial.origin(),
        number(row.seconds()),
        trial.attempts.to_string(),
        trial.worker.clone().unwrap_or_default(),
        trial.started.map(time).unwrap_or_default(),
        trial.finished.map(time).unwrap_or_default(),
        row.reason().unwrap_or_default().to_owned(),
    ];
    cells.extend(names.iter().map(|name| {
        let found = row.values.iter().find(|(known, _)| known == name);
        found.map_or(String::new(), |(_, value)| shown(value))
    }));
    cells
}
