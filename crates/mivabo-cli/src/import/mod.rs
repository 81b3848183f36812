//! `mivabo import`: adds results from elsewhere to a study.
//!
//! All rows are read and checked before the first one is stored.

mod cell;
mod columns;
mod objects;
mod sheet;

use std::collections::BTreeMap;

use mivabo::space::{Parameter, Point, Value};
use mivabo::{Space, counted};
use mivabo_store::{Object, Session, Told};
use serde_json::Map;

use crate::args::ImportArgs;
use crate::error::{Error, ImportError, RowPlace};
use crate::input::read;
use crate::source::Source;
use crate::text::named;

/// Why a trial failed of which only that is known.
const UNKNOWN_REASON: &str = "failed elsewhere";

/// A row of a file: where it is, its parameters, and what is told of it, if it says that.
struct Row {
    place: RowPlace,
    values: Vec<(String, Value)>,
    told: Option<Told>,
}

/// Adds the rows of a file.
pub fn run(args: &ImportArgs) -> Result<String, Error> {
    let text = read(&args.results)?;
    let source = Source {
        file: args.file.clone(),
        study: args.study.clone(),
    };
    let mut session = source.write()?;
    let wrong = |why| Error::Import {
        path: args.results.clone(),
        why,
    };
    let expected = Expected {
        space: session.space(),
        goal: &session.aims().goal().measure,
        value: &args.value,
    };
    let rows = rows(args, &text, expected).map_err(wrong)?;
    let n_rows = rows.len();
    let results = Results::of(rows, &named(&args.results), session.space()).map_err(wrong)?;
    say_repeated(&session, &results.told);
    session.add_all(&results.told)?;
    Ok(format!(
        "imported {} of {}; {} infeasible\n",
        results.told.len(),
        counted(n_rows, "row"),
        results.n_infeasible
    ))
}

/// What the rows should hold.
#[derive(Clone, Copy)]
struct Expected<'a> {
    space: &'a Space,
    /// The measure of the goal.
    goal: &'a str,
    /// The column or key that holds the goal's number.
    value: &'a str,
}

fn rows(args: &ImportArgs, text: &str, expected: Expected<'_>) -> Result<Vec<Row>, ImportError> {
    let ending = args.results.extension();
    if ending.is_some_and(|ending| ending == "json") {
        objects::rows(text, expected)
    } else {
        sheet::rows(text, expected)
    }
}

/// What can be added.
#[derive(Default)]
struct Results {
    told: Vec<(Point, Told)>,
    n_infeasible: usize,
}

impl Results {
    /// Says which rows are skipped, and which can never be the best. A point outside of the space is an error.
    fn of(rows: Vec<Row>, file: &str, space: &Space) -> Result<Results, ImportError> {
        let mut results = Results::default();
        for row in rows {
            let point = row.point(space)?;
            let place = row.place;
            let Some(told) = row.told else {
                say!("{file}: {place} has no value; skipped");
                continue;
            };
            if let Some(violation) = space.check(&point).violations.first() {
                say!(
                    "{file}: {place} is infeasible, so the model learns from it but it is never the best: {violation}"
                );
                results.n_infeasible += 1;
            }
            results.told.push((point, told));
        }
        Ok(results)
    }
}

impl Row {
    fn point(&self, space: &Space) -> Result<Point, ImportError> {
        let values = self.values.iter();
        let values = values.map(|(name, value)| (name.as_str(), value.clone()));
        let point = space.point_where_active(values);
        point.map_err(|why| ImportError::Point {
            place: self.place,
            why: Box::new(mivabo::Error::from(why)),
        })
    }
}

/// Says how many of these the study has already. Two equal results may both be true, so they are added all the same.
fn say_repeated(session: &Session, told: &[(Point, Told)]) {
    let n = n_repeated(session, told);
    if n > 0 {
        let verb = if n == 1 { "repeats" } else { "repeat" };
        say!("{} {verb} existing trials; added anyway", counted(n, "row"));
    }
}

fn n_repeated(session: &Session, told: &[(Point, Told)]) -> usize {
    let known = points_by_value(session);
    let is_known = |(point, told): &&(Point, Told)| {
        let value = session.aims().value(&told.outcome(session.aims()));
        let same = value.and_then(|value| known.get(&value.to_bits()));
        same.is_some_and(|points| points.contains(&point))
    };
    told.iter().filter(is_known).count()
}

/// By value first: to compare each row with each trial would take minutes where there are a hundred thousand of both.
fn points_by_value(session: &Session) -> BTreeMap<u64, Vec<&Point>> {
    let mut points: BTreeMap<u64, Vec<&Point>> = BTreeMap::new();
    for trial in session.trials() {
        if let Some(value) = session.study().value(trial) {
            let equal = points.entry(value.to_bits()).or_default();
            equal.push(trial.point());
        }
    }
    points
}

/// The parameters that an objective sees.
fn visible(space: &Space) -> impl Iterator<Item = &Parameter> {
    space.parameters().iter().filter(|one| !one.is_auxiliary())
}

/// What else an evaluation gave, as it is told.
fn object(
    result: Option<Map<String, serde_json::Value>>,
    place: RowPlace,
) -> Result<Option<Object>, ImportError> {
    let text = result.map(|result| serde_json::Value::Object(result).to_string());
    let object = text.map(Object::new).transpose();
    object.map_err(|why| ImportError::Result {
        place,
        why: Box::new(why),
    })
}
