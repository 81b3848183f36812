//! Results as CSV.

use std::collections::BTreeMap;

use mivabo::space::{Domain, Parameter, Value};
use mivabo_store::{Object, Told};
use serde_json::Map;

use super::cell::{loose, typed};
use super::columns::{self, column_of};

use super::{Expected, Row, UNKNOWN_REASON, object, visible};
use crate::csv;
use crate::error::{ImportError, RowPlace};
use crate::export::{EVALUATED, LEFT_OUT, MEASURED, RESULT};

/// The rows of a CSV file.
pub fn rows(text: &str, expected: Expected<'_>) -> Result<Vec<Row>, ImportError> {
    let mut rows = csv::read(text)?.into_iter();
    let (_, header) = rows.next().ok_or(ImportError::Empty)?;
    check_separator(&header)?;
    let sheet = Sheet::new(header, expected)?;
    rows.map(|(line, cells)| sheet.row(line, &cells)).collect()
}

/// Refuses a header that is one cell because something else than commas separates the names in it.
fn check_separator(header: &[String]) -> Result<(), ImportError> {
    let [only] = header else { return Ok(()) };
    let others = [(';', "semicolons"), ('\t', "tabs")];
    match others.iter().find(|(sign, _)| only.contains(*sign)) {
        Some((_, separator)) => Err(ImportError::Separator { separator }),
        None => Ok(()),
    }
}

/// A CSV file whose header was checked.
struct Sheet<'a> {
    expected: Expected<'a>,
    header: Vec<String>,
    /// The column of each visible parameter.
    columns: Vec<String>,
}

impl<'a> Sheet<'a> {
    fn new(header: Vec<String>, expected: Expected<'a>) -> Result<Sheet<'a>, ImportError> {
        let Expected { space, value, .. } = expected;
        columns::check(header.iter().map(String::as_str), value, space)?;
        let names = visible(space).map(Parameter::name);
        let columns = names.map(|name| column_of(name, value, &header)).collect();
        Ok(Sheet {
            expected,
            header,
            columns,
        })
    }

    fn row(&self, line: usize, cells: &[String]) -> Result<Row, ImportError> {
        if cells.len() != self.header.len() {
            return Err(ImportError::CellCount {
                line,
                found: cells.len(),
                expected: self.header.len(),
            });
        }
        let names = self.header.iter().map(String::as_str);
        let line = Line {
            sheet: self,
            place: RowPlace::Line(line),
            cells: names.zip(cells.iter().map(String::as_str)).collect(),
        };
        Ok(Row {
            place: line.place,
            values: line.values()?,
            told: line.told()?,
            left_out: line.fact(LEFT_OUT).map(ToOwned::to_owned),
        })
    }

    fn is_parameters(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column == name)
    }
}

/// A row, with its cells by column.
struct Line<'a> {
    sheet: &'a Sheet<'a>,
    place: RowPlace,
    cells: BTreeMap<&'a str, &'a str>,
}

impl<'a> Line<'a> {
    fn values(&self) -> Result<Vec<(String, Value)>, ImportError> {
        let mut values = Vec::new();
        for (parameter, column) in visible(self.sheet.expected.space).zip(&self.sheet.columns) {
            let evaluated = format!("{EVALUATED}{}", parameter.name());
            let column = match self.fact(&evaluated) {
                // What was evaluated before the study was revised.
                Some(_) if self.fact(LEFT_OUT).is_some() => &evaluated,
                _ => column,
            };
            if let Some(value) = self.value(column, parameter.domain())? {
                values.push((parameter.name().to_owned(), value));
            }
        }
        Ok(values)
    }

    fn value(&self, column: &str, domain: &Domain) -> Result<Option<Value>, ImportError> {
        // An empty cell may be the empty text. Where the parameter is inactive, that is left out again later.
        let empty = || domain.index_of(&"".into()).map(|_| "");
        let Some(cell) = self.filled(column).or_else(empty) else {
            return Ok(None);
        };
        match typed(domain, cell) {
            Ok(value) => Ok(Some(value)),
            Err(_) => Err(ImportError::Ambiguous {
                place: self.place,
                column: column.to_owned(),
                cell: cell.to_owned(),
            }),
        }
    }

    fn told(&self) -> Result<Option<Told>, ImportError> {
        let result = self.result()?;
        let told = if self.fact("state") == Some("failed") {
            // What it measured of the goal does not count, and is kept.
            let goal = format!("{MEASURED}{}", self.sheet.expected.goal);
            let value = self.fact(&goal).map(|cell| self.number(cell));
            Told {
                value: value.transpose()?,
                ..Told::failed(self.fact("reason").unwrap_or(UNKNOWN_REASON))
            }
        } else if let Some(cell) = self.filled(self.sheet.expected.value) {
            Told::value(self.number(cell)?)
        } else {
            return Ok(None);
        };
        Ok(Some(Told { result, ..told }))
    }

    fn number(&self, cell: &str) -> Result<f64, ImportError> {
        cell.trim().parse().map_err(|_| ImportError::NotANumber {
            place: self.place,
            found: cell.to_owned(),
        })
    }

    /// What else the evaluation gave.
    fn result(&self) -> Result<Option<Object>, ImportError> {
        let mut given = Map::new();
        for name in self.cells.keys() {
            let result = name.strip_prefix(RESULT);
            // The goal's number is told beside the result, not in it.
            let measured = name.strip_prefix(MEASURED);
            let measured = measured.filter(|measure| *measure != self.sheet.expected.goal);
            let key = result.or(measured);
            if let (Some(key), Some(cell)) = (key, self.fact(name)) {
                given.insert(key.to_owned(), loose(cell));
            }
        }
        let given = Some(given).filter(|given| !given.is_empty());
        object(given, self.place)
    }

    /// What a column says about the trial; nothing where it is the column of a parameter.
    fn fact(&self, name: &str) -> Option<&'a str> {
        self.filled(name)
            .filter(|_| !self.sheet.is_parameters(name))
    }

    /// A cell that is not empty.
    fn filled(&self, name: &str) -> Option<&'a str> {
        let cell = self.cells.get(name).copied();
        cell.filter(|cell| !cell.is_empty())
    }
}
