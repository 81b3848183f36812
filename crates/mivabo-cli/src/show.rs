//! `mivabo show`: a stored study in, a table of its trials out.

use mivabo::space::{Parameter, Value};
use mivabo::study::Direction;

use crate::Failure;
use crate::args::Show;
use crate::objective::shown;
use crate::rows::{Row, rows, visible};
use crate::text::{brief, table};

/// Lists trials.
pub fn run(args: &Show) -> Result<String, Failure> {
    let session = args.source.read()?;
    let mut rows = rows(&session)?;
    if !args.state.is_empty() {
        rows.retain(|row| args.state.contains(&row.state()));
    }
    if let Some(n) = args.best {
        rows = best(rows, n, session.study().spec().direction);
    }
    if args.json {
        return Ok(rows
            .iter()
            .flat_map(|row| [row.json().to_string(), "\n".to_owned()])
            .collect());
    }
    let names: Vec<&str> = visible(session.space()).map(Parameter::name).collect();
    let header = ["trial", "state", "value", "origin", "seconds"]
        .iter()
        .chain(&names);
    let mut cells = vec![header.map(|&name| name.to_owned()).collect::<Vec<_>>()];
    cells.extend(rows.iter().map(|row| line(row, &names)));
    Ok(table(&cells))
}

/// The best feasible trials, the best first; of equal ones the first.
fn best(mut rows: Vec<Row>, n: usize, direction: Direction) -> Vec<Row> {
    rows.retain(|row| row.is_feasible && row.trial.value().is_some());
    let key = |row: &Row| row.trial.value().unwrap_or(f64::NAN);
    match direction {
        Direction::Minimise => rows.sort_by(|a, b| key(a).total_cmp(&key(b))),
        Direction::Maximise => rows.sort_by(|a, b| key(b).total_cmp(&key(a))),
    }
    rows.truncate(n);
    rows
}

fn line(row: &Row, names: &[&str]) -> Vec<String> {
    let value = |name: &&str| {
        let found = row
            .values
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value);
        match found {
            Some(Value::Float(x)) => brief(*x),
            Some(value) => shown(value),
            None => "-".to_owned(),
        }
    };
    let mut state = row.state().to_string();
    if !row.is_feasible {
        state.push_str(", infeasible");
    }
    let mut cells = vec![
        row.trial.id.to_string(),
        state,
        row.trial.value().map_or("-".to_owned(), brief),
        row.trial.origin(),
        row.seconds()
            .map_or("-".to_owned(), |seconds| format!("{seconds:.1}")),
    ];
    cells.extend(names.iter().map(value));
    cells.extend(row.reason().map(ToOwned::to_owned));
    cells
}
