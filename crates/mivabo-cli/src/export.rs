//! `mivabo export`: a stored study in, all its trials as CSV or JSON out.

use mivabo::space::Parameter;

use crate::Failure;
use crate::args::{Export, Format};
use crate::csv::line;
use crate::objective::shown;
use crate::rows::{Row, rows, time, visible};

/// Columns that are not parameters. A parameter of such a name is written as `params.NAME`.
pub const COLUMNS: [&str; 11] = [
    "trial", "state", "value", "feasible", "origin", "seconds", "attempts", "worker", "started", "finished",
    "reason",
];

/// Prints all trials.
pub fn run(args: &Export) -> Result<String, Failure> {
    let session = args.source.read()?;
    let rows = rows(&session)?;
    if args.format == Format::Json {
        let all = rows.iter().map(Row::json).collect::<serde_json::Value>();
        return Ok(format!("{all:#}\n"));
    }
    let names: Vec<&str> = visible(session.space()).map(Parameter::name).collect();
    let columns = names.iter().map(|name| column(name));
    let header: Vec<String> = COLUMNS.map(ToOwned::to_owned).into_iter().chain(columns).collect();
    let lines = rows.iter().map(|row| line(&cells(row, &names)));
    Ok(line(&header) + &lines.collect::<String>())
}

/// The column of a parameter.
pub fn column(name: &str) -> String {
    if COLUMNS.contains(&name.trim_start_matches("params.")) {
        format!("params.{name}")
    } else {
        name.to_owned()
    }
}

fn cells(row: &Row, names: &[&str]) -> Vec<String> {
    let trial = &row.trial;
    let number = |x: Option<f64>| x.map_or(String::new(), |x| format!("{x:?}"));
    let mut cells = vec![
        trial.id.to_string(),
        row.state().to_string(),
        number(trial.value()),
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
