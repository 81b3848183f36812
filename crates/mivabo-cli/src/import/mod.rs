//! `mivabo import`: adds results from elsewhere to a study.
//!
//! All rows are read and checked before the first one is stored.

pub mod cell;
mod columns;
mod objects;
mod sheet;

use std::collections::BTreeMap;

use mivabo::space::{Parameter, Point, Unsaid, Value};
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
    /// Why it had no place in the study that it was exported from, which was revised.
    left_out: Option<String>,
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
        is_earlier: args.earlier,
    };
    let rows = rows(args, &text, expected).map_err(wrong)?;
    let n_rows = rows.len();
    let reading = Reading {
        space: session.space(),
        file: &named(&args.results),
        is_earlier: args.earlier,
    };
    let results = reading.results(rows).map_err(wrong)?;
    say_repeated(&session, &results.told);
    session.add_all(&results.told)?;
    Ok(format!(
        "imported {} of {}; {} infeasible{}\n",
        results.told.len(),
        counted(n_rows, "row"),
        results.n_infeasible,
        results.said_of_skipped()
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
    /// Whether they are of an earlier study.
    is_earlier: bool,
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
    /// How many rows of an earlier study have no place in this one, by reason.
    skipped: BTreeMap<String, usize>,
}

impl Results {
    fn skip(&mut self, why: &Unsaid) {
        *self.skipped.entry(why.kind()).or_default() += 1;
    }

    fn said_of_skipped(&self) -> String {
        let n: usize = self.skipped.values().sum();
        if n == 0 {
            return String::new();
        }
        let reasons = self.skipped.iter().map(|(why, n)| format!("{why} ({n})"));
        let reasons: Vec<String> = reasons.collect();
        format!(
            "; {} without a place in this space: {}",
            counted(n, "row"),
            reasons.join(", ")
        )
    }
}

/// How rows become results.
struct Reading<'a> {
    space: &'a Space,
    /// The file in messages.
    file: &'a str,
    /// Whether they may be of a study with another space.
    is_earlier: bool,
}

impl Reading<'_> {
    /// Says which rows are skipped, and which can never be the best. A point outside of the space is an error, unless the rows are of
    /// an earlier study.
    fn results(&self, rows: Vec<Row>) -> Result<Results, ImportError> {
        let (space, file) = (self.space, self.file);
        let mut results = Results::default();
        for row in rows {
            let place = row.place;
            if let (Some(why), false) = (&row.left_out, self.is_earlier) {
                say!(
                    "{file}: {place} had no place in its own study, which was revised: {why}; skipped"
                );
                continue;
            }
            let Some(point) = self.point(&row, &mut results)? else {
                continue;
            };
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

    /// The point of a row; none where it is counted as skipped.
    fn point(&self, row: &Row, results: &mut Results) -> Result<Option<Point>, ImportError> {
        if self.is_earlier {
            let said = self.space.say(row.values());
            return Ok(said.map_err(|why| results.skip(&why)).ok());
        }
        let point = self.space.point_where_active(row.values());
        point.map(Some).map_err(|why| ImportError::Point {
            place: row.place,
            why: Box::new(mivabo::Error::from(why)),
        })
    }
}

impl Row {
    fn values(&self) -> impl Iterator<Item = (&str, Value)> {
        let values = self.values.iter();
        values.map(|(name, value)| (name.as_str(), value.clone()))
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
