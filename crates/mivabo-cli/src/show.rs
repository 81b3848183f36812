//! `mivabo show`: a stored study in, a table of its trials out.

use std::collections::BTreeSet;

use mivabo::measure::Aims;
use mivabo::space::{Parameter, Value};

use crate::Failure;
use crate::args::Show;
use crate::objective::shown;
use crate::rows::{Row, measures, rows, visible};
use crate::text::{brief, table};

/// Lists trials.
pub fn run(args: &Show) -> Result<String, Failure> {
    let session = args.source.read()?;
    let mut rows = rows(&session)?;
    if !args.state.is_empty() {
        rows.retain(|row| args.state.contains(&row.state()));
    }
    if let Some(n) = args.best {
        rows = best(rows, n, session.aims());
    }
    if args.json {
        return Ok(rows
            .iter()
            .flat_map(|row| [row.json().to_string(), "\n".to_owned()])
            .collect());
    }
    let names: Vec<&str> = visible(session.space()).map(Parameter::name).collect();
    let goal = &session.aims().goal().measure;
    let measures = measures(&rows, goal);
    let facts = ["trial", "state", goal, "origin", "seconds"];
    let header = facts.iter().chain(&measures).chain(&names);
    let mut cells = vec![header.map(|&name| name.to_owned()).collect::<Vec<_>>()];
    cells.extend(rows.iter().map(|row| line(row, &measures, &names)));
    Ok(table(&cells))
}

/// The best feasible trials, the best first; of equal ones the first.
fn best(mut rows: Vec<Row>, n: usize, aims: &Aims) -> Vec<Row> {
    rows.retain(|row| row.is_feasible);
    let outcomes = rows.iter().enumerate();
    let order = aims.ranking(outcomes.filter_map(|(at, row)| Some((at, row.trial.outcome()?))));
    let mut rows: Vec<Option<Row>> = rows.into_iter().map(Some).collect();
    let best = order.into_iter().filter_map(|at| rows[at].take());
    best.take(n).collect()
}

fn line(row: &Row, measures: &BTreeSet<&str>, names: &[&str]) -> Vec<String> {
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
        row.value.map_or("-".to_owned(), brief),
        row.trial.origin(),
        row.seconds()
            .map_or("-".to_owned(), |seconds| format!("{seconds:.1}")),
    ];
    let number = |measure: &&str| row.measured(measure).map_or("-".to_owned(), brief);
    cells.extend(measures.iter().map(number));
    cells.extend(names.iter().map(value));
    cells.extend(row.reason().map(ToOwned::to_owned));
    cells
}
