//! `mivabo import`: adds results from elsewhere to a study.
//!
//! All rows are read and checked before the first one is stored.

use std::collections::BTreeMap;

use mivabo::Space;
use mivabo::space::{Domain, Point, Value};
use mivabo_store::{Object, Session, Told};
use serde_json::Map;

use crate::Failure;
use crate::args::Import;
use crate::csv;
use crate::export::{COLUMNS, MEASURED, RESULT, column};
use crate::input::read;
use crate::objective::shown;
use crate::rows::visible;
use crate::source::Source;

/// A row: where it is, its parameters, and what is told of it.
struct Imported {
    place: String,
    values: Vec<(String, Value)>,
    told: Option<Told>,
}

/// Why a trial failed of which only that is known.
const UNKNOWN_REASON: &str = "failed elsewhere";

/// Adds the rows of a file.
pub fn run(args: &Import) -> Result<String, Failure> {
    let text = read(&args.results)?;
    let source = Source {
        file: args.file.clone(),
        study: args.study.clone(),
    };
    let mut session = source.write()?;
    let space = session.space().clone();
    let is_json = args
        .results
        .extension()
        .is_some_and(|extension| extension == "json");
    let results = if is_json {
        of_json(&text, &args.value, &space)
    } else {
        of_csv(&text, &args.value, &space)
    };
    let results = results.map_err(|e| format!("{}: {e}", args.results.display()))?;
    let n_rows = results.len();
    let mut told = Vec::new();
    let mut n_infeasible = 0;
    for result in results {
        let values = result
            .values
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone()));
        let place = format!("{}: {}", args.results.display(), result.place);
        let point = space
            .point_where_active(values)
            .map_err(|e| format!("{place}: {e}"))?;
        let Some(result) = result.told else {
            say!("{place} has no value: skipped");
            continue;
        };
        if let Some(violation) = space.check(&point).violations.first() {
            say!("{place} is not feasible, so it is learned from but never the best: {violation}");
            n_infeasible += 1;
        }
        told.push((point, result));
    }
    let n = told.len();
    let n_known = n_known(&session, &told);
    if n_known > 0 {
        say!("{n_known} rows repeat existing trials; added anyway");
    }
    session.add_all(&told).map_err(|e| e.to_string())?;
    Ok(format!(
        "imported {n} of {n_rows} rows, {n_infeasible} of them not feasible\n"
    ))
}

/// How many of these the study has already.
fn n_known(session: &Session, told: &[(Point, Told)]) -> usize {
    let mut known: BTreeMap<u64, Vec<&Point>> = BTreeMap::new();
    for trial in session.trials() {
        if let Some(value) = session.study().value(trial) {
            known
                .entry(value.to_bits())
                .or_default()
                .push(trial.point());
        }
    }
    let is_known = |(point, told): &&(Point, Told)| {
        let value = session.aims().value(&told.outcome(session.aims()));
        let same = value.and_then(|value| known.get(&value.to_bits()));
        same.is_some_and(|points| points.contains(&point))
    };
    told.iter().filter(is_known).count()
}

fn of_csv(text: &str, value_column: &str, space: &Space) -> Result<Vec<Imported>, Failure> {
    let mut rows = csv::read(text)?.into_iter();
    let (_, header) = rows.next().ok_or("it is empty")?;
    check_columns(header.iter().map(String::as_str), value_column, space)?;
    let columns = visible(space)
        .map(|p| column_of(p.name(), value_column, &header))
        .collect();
    let sheet = Sheet {
        space,
        value_column,
        header,
        columns,
    };
    rows.map(|(line, cells)| sheet.imported(line, &cells))
        .collect()
}

/// A CSV file whose header was checked.
struct Sheet<'a> {
    space: &'a Space,
    value_column: &'a str,
    header: Vec<String>,
    /// The column of each visible parameter.
    columns: Vec<String>,
}

impl Sheet<'_> {
    fn imported(&self, line: usize, cells: &[String]) -> Result<Imported, Failure> {
        if cells.len() != self.header.len() {
            return Err(format!(
                "line {line} has {} cells, the header has {}",
                cells.len(),
                self.header.len()
            ));
        }
        let names = self.header.iter().map(String::as_str);
        let cells: BTreeMap<&str, &str> = names.zip(cells.iter().map(String::as_str)).collect();
        Ok(Imported {
            place: format!("line {line}"),
            values: self.values(line, &cells)?,
            told: self.told(line, &cells)?,
        })
    }

    fn values(
        &self,
        line: usize,
        cells: &BTreeMap<&str, &str>,
    ) -> Result<Vec<(String, Value)>, Failure> {
        let mut values = Vec::new();
        for (parameter, column) in visible(self.space).zip(&self.columns) {
            // Where the parameter is inactive, an empty text is left out again.
            let empty = || parameter.domain().index_of(&"".into()).map(|_| "");
            let Some(text) = filled(cells, column).or_else(empty) else {
                continue;
            };
            let value = typed(parameter.domain(), text).map_err(|e| format!("line {line}: {e}"))?;
            values.push((parameter.name().to_owned(), value));
        }
        Ok(values)
    }

    fn told(&self, line: usize, cells: &BTreeMap<&str, &str>) -> Result<Option<Told>, Failure> {
        let result = self.result(cells)?;
        if self.fact(cells, "state") == Some("failed") {
            let reason = self.fact(cells, "reason").unwrap_or(UNKNOWN_REASON);
            return Ok(Some(Told {
                result,
                ..Told::failed(reason)
            }));
        }
        let Some(text) = filled(cells, self.value_column) else {
            return Ok(None);
        };
        let value = text
            .trim()
            .parse()
            .map_err(|_| format!("line {line}: the value `{text}` is not a number"))?;
        Ok(Some(Told {
            result,
            ..Told::value(value)
        }))
    }

    /// What else the evaluation gave.
    fn result(&self, cells: &BTreeMap<&str, &str>) -> Result<Option<Object>, Failure> {
        let mut given = Map::new();
        for name in cells.keys() {
            let key = name
                .strip_prefix(RESULT)
                .or_else(|| name.strip_prefix(MEASURED));
            if let (Some(key), Some(cell)) = (key, self.fact(cells, name)) {
                given.insert(key.to_owned(), loose(cell));
            }
        }
        object(Some(given).filter(|given| !given.is_empty()))
    }

    /// What a column says about the trial; nothing where it is the column of a parameter.
    fn fact<'c>(&self, cells: &BTreeMap<&str, &'c str>, name: &str) -> Option<&'c str> {
        filled(cells, name).filter(|_| !self.columns.iter().any(|column| column == name))
    }
}

/// A cell that is not empty.
fn filled<'c>(cells: &BTreeMap<&str, &'c str>, name: &str) -> Option<&'c str> {
    cells.get(name).copied().filter(|cell| !cell.is_empty())
}

fn of_json(text: &str, value_key: &str, space: &Space) -> Result<Vec<Imported>, Failure> {
    let objects: Vec<Map<String, serde_json::Value>> =
        serde_json::from_str(text).map_err(|e| e.to_string())?;
    let read = |(number, object): (usize, Map<String, serde_json::Value>)| {
        let place = format!("object {}", number + 1);
        let params = object
            .get("params")
            .and_then(serde_json::Value::as_object)
            .unwrap_or(&object);
        let is_flat = std::ptr::eq(params, &raw const object);
        if is_flat {
            let others = object.iter().filter(|(key, value)| {
                !["result", "measured"].contains(&key.as_str()) || !value.is_object()
            });
            check_columns(others.map(|(key, _)| key.as_str()), value_key, space)?;
        }
        let is_parameter =
            |name: &str| visible(space).any(|p| p.name() == name) && name != value_key;
        let given = params
            .iter()
            .filter(|(name, value)| !value.is_null() && (!is_flat || is_parameter(name)));
        let values = given.map(|(name, value)| {
            let value = serde_json::from_value(value.clone())
                .map_err(|e| format!("{place}: `{name}`: {e}"))?;
            Ok::<_, Failure>((name.clone(), value))
        });
        // What is a parameter says nothing about the trial.
        let fact = |key: &str| object.get(key).filter(|_| !is_flat || !is_parameter(key));
        let text = |key: &str| fact(key).and_then(serde_json::Value::as_str);
        let value = object.get(value_key).filter(|value| !value.is_null());
        if let Some(value) = value.filter(|value| !value.is_number()) {
            return Err(format!("{place}: the value {value} is not a number"));
        }
        let result = result_of(&fact)?;
        let told = match (value.and_then(serde_json::Value::as_f64), text("state")) {
            (_, Some("failed")) => Some(Told {
                result,
                ..Told::failed(text("reason").unwrap_or(UNKNOWN_REASON))
            }),
            (Some(value), _) => Some(Told {
                result,
                ..Told::value(value)
            }),
            (None, _) => None,
        };
        Ok(Imported {
            values: values.collect::<Result<_, _>>()?,
            place,
            told,
        })
    };
    objects.into_iter().enumerate().map(read).collect()
}

/// What an exported trial says its evaluation gave: its result, and the numbers that it lacks there.
fn result_of<'v>(
    fact: &dyn Fn(&str) -> Option<&'v serde_json::Value>,
) -> Result<Option<Object>, Failure> {
    let map = |key| fact(key).and_then(serde_json::Value::as_object).cloned();
    let (result, measured) = (map("result"), map("measured"));
    let merged = match (result, measured) {
        (Some(mut result), Some(measured)) => {
            for (name, value) in measured {
                result.entry(name).or_insert(value);
            }
            Some(result)
        }
        (result, measured) => result.or(measured),
    };
    object(merged)
}

/// The column of a parameter: its name, unless that means something else here. In an export it is then `params.NAME`.
fn column_of(name: &str, value_column: &str, header: &[String]) -> String {
    let exists = |name: &str| header.iter().any(|column| column == name);
    let is_export = COLUMNS.iter().all(|column| exists(column));
    let is_other = name == value_column || is_export && column(name) != name;
    if is_other || !exists(name) {
        format!("params.{name}")
    } else {
        name.to_owned()
    }
}

/// Every parameter that is always active has a column, and so has the value. Others are ignored, and that is said.
fn check_columns<'a>(
    columns: impl Iterator<Item = &'a str>,
    value_column: &str,
    space: &Space,
) -> Result<(), Failure> {
    let columns: Vec<&str> = columns.collect();
    if let Some(twice) = columns
        .iter()
        .enumerate()
        .find(|(k, name)| columns[..*k].contains(name))
    {
        return Err(format!("there are two columns `{}`", twice.1));
    }
    if !columns.contains(&value_column) {
        let hint = "choose the one with the value by --value";
        return Err(format!(
            "there is no column `{value_column}`; {hint}: {}",
            columns.join(", ")
        ));
    }
    let is_known = |name: &str| {
        let bare = name.strip_prefix("params.").unwrap_or(name);
        let is_fact =
            COLUMNS.contains(&name) || name.starts_with(RESULT) || name.starts_with(MEASURED);
        name == value_column || is_fact || space.parameters().iter().any(|p| p.name() == bare)
    };
    let ignored: Vec<&str> = columns.into_iter().filter(|name| !is_known(name)).collect();
    if !ignored.is_empty() {
        say!(
            "ignored, because no parameter has that name: {}",
            ignored.join(", ")
        );
    }
    Ok(())
}

/// A cell as JSON where it is that, else as a text.
fn loose(cell: &str) -> serde_json::Value {
    serde_json::from_str(cell).unwrap_or_else(|_| cell.into())
}

fn object(result: Option<Map<String, serde_json::Value>>) -> Result<Option<Object>, Failure> {
    let text = result.map(|result| serde_json::Value::Object(result).to_string());
    text.map(Object::new).transpose().map_err(|e| e.to_string())
}

/// A cell as a value of a domain, or as a text that it will refuse. A cell that two values look like is refused here.
fn typed(domain: &Domain, cell: &str) -> Result<Value, Failure> {
    let bare = cell.trim();
    if domain.range().is_some() {
        let whole = bare.parse().map(Value::Int);
        return Ok(whole
            .or_else(|_| bare.parse().map(Value::Float))
            .unwrap_or_else(|_| bare.into()));
    }
    let is_like_it = |value: &Value| match value {
        Value::Bool(_) => shown(value) == bare.to_lowercase(),
        Value::Text(text) => text == bare,
        number => number
            .as_f64()
            .is_some_and(|number| bare.parse() == Ok(number)),
    };
    let mut same = domain.values().filter(|value| shown(value) == cell);
    match (same.next(), same.next()) {
        (Some(_), Some(_)) => Err(format!(
            "`{cell}` may be a text or not, and both are allowed; import JSON instead"
        )),
        (Some(value), None) => Ok(value),
        (None, _) => Ok(domain
            .values()
            .find(is_like_it)
            .unwrap_or_else(|| cell.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_read_as_their_domain_says() {
        assert_eq!(typed(&Domain::int(1, 3), "2").unwrap(), Value::Int(2));
        assert_eq!(
            typed(&Domain::float(1.0, 3.0), "2.5e0").unwrap(),
            Value::Float(2.5)
        );
        assert_eq!(typed(&Domain::bool(), "True").unwrap(), Value::Bool(true));
        assert_eq!(
            typed(&Domain::choice(["a", " a"]), " a").unwrap(),
            Value::from(" a")
        );
        assert_eq!(
            typed(&Domain::choice(["a", "b"]), " a").unwrap(),
            Value::from("a")
        );
        assert_eq!(
            typed(&Domain::choice(["64", "x"]), "64").unwrap(),
            Value::from("64")
        );
        assert_eq!(
            typed(&Domain::ordinal([64, 128]), "64.0").unwrap(),
            Value::Int(64)
        );
        assert_eq!(
            typed(&Domain::ordinal([64, 128]), "65").unwrap(),
            Value::from("65")
        );
        assert!(typed(&Domain::choice([Value::from("1"), Value::Int(1)]), "1").is_err());
    }
}
