//! Results as JSON: a list of objects, or an exported study.

use mivabo::space::Value;
use mivabo_store::{Object, Told};
use serde_json::{Map, Value as Json};

use super::{Expected, Row, UNKNOWN_REASON, columns, object, visible};
use crate::error::{ImportError, RowPlace};

/// The rows of a JSON file.
pub fn rows(text: &str, expected: Expected<'_>) -> Result<Vec<Row>, ImportError> {
    let objects = objects(text)?;
    let rows = (1..).zip(&objects).map(|(number, object)| {
        let entry = Entry {
            place: RowPlace::Object(number),
            object,
            params: params(object, expected.is_earlier),
            expected,
        };
        entry.row()
    });
    rows.collect()
}

/// The parameters of an object, where they are apart; of an earlier study those that were evaluated before it was revised.
fn params(object: &Map<String, Json>, is_earlier: bool) -> Option<&Map<String, Json>> {
    let map = |key: &str| object.get(key).and_then(Json::as_object);
    let evaluated = map("evaluated").filter(|_| is_earlier);
    let params = map("params");
    params.and(evaluated).or(params)
}

/// A list of objects, or the trials of an exported study.
fn objects(text: &str) -> Result<Vec<Map<String, Json>>, ImportError> {
    #[derive(serde::Deserialize)]
    struct Exported {
        trials: Vec<Map<String, Json>>,
    }
    match serde_json::from_str::<Exported>(text) {
        Ok(exported) => Ok(exported.trials),
        // What is wrong with a list is more likely to help: few write a study by hand.
        Err(_) => serde_json::from_str(text).map_err(ImportError::NotObjects),
    }
}

/// An object of a JSON file.
struct Entry<'a> {
    place: RowPlace,
    object: &'a Map<String, Json>,
    /// Its parameters, where they are apart as in an export. Otherwise they stand beside the facts.
    params: Option<&'a Map<String, Json>>,
    expected: Expected<'a>,
}

impl<'a> Entry<'a> {
    fn row(&self) -> Result<Row, ImportError> {
        if self.params.is_none() {
            self.check_keys()?;
        }
        Ok(Row {
            place: self.place,
            values: self.values()?,
            told: self.told()?,
            left_out: self.text("left_out").map(ToOwned::to_owned),
        })
    }

    fn check_keys(&self) -> Result<(), ImportError> {
        let is_fact =
            |key: &str, value: &Json| ["result", "measured"].contains(&key) && value.is_object();
        let keys = self.object.iter();
        let columns = keys.filter(|(key, value)| !is_fact(key, value));
        let columns = columns.map(|(key, _)| key.as_str());
        columns::check(columns, self.expected.value, self.expected.space)
    }

    fn values(&self) -> Result<Vec<(String, Value)>, ImportError> {
        let is_flat = self.params.is_none();
        let params = self.params.unwrap_or(self.object).iter();
        let given = params
            .filter(|(name, value)| !value.is_null() && (!is_flat || self.is_parameter(name)));
        let values = given.map(|(name, value)| self.value(name, value));
        values.collect()
    }

    fn value(&self, name: &str, value: &Json) -> Result<(String, Value), ImportError> {
        let name = name.to_owned();
        match serde_json::from_value(value.clone()) {
            Ok(value) => Ok((name, value)),
            Err(why) => Err(ImportError::NotAValue {
                place: self.place,
                name,
                why,
            }),
        }
    }

    fn told(&self) -> Result<Option<Told>, ImportError> {
        let number = self.number()?;
        let result = self.result()?;
        let told = if self.text("state") == Some("failed") {
            // What it measured of the goal does not count, and is kept.
            Told {
                value: self
                    .measured()
                    .and_then(|all| all.get(self.expected.goal)?.as_f64()),
                ..Told::failed(self.text("reason").unwrap_or(UNKNOWN_REASON))
            }
        } else if let Some(number) = number {
            Told::value(number)
        } else {
            return Ok(None);
        };
        Ok(Some(Told { result, ..told }))
    }

    fn number(&self) -> Result<Option<f64>, ImportError> {
        let value = self.object.get(self.expected.value);
        match value.filter(|value| !value.is_null()) {
            Some(value) if !value.is_number() => Err(ImportError::NotANumber {
                place: self.place,
                found: value.to_string(),
            }),
            number => Ok(number.and_then(Json::as_f64)),
        }
    }

    /// What its evaluation gave: its result, and the numbers that were measured and are not in it.
    fn result(&self) -> Result<Option<Object>, ImportError> {
        let result = self.fact("result").and_then(Json::as_object).cloned();
        let measured = self.measured().cloned().map(|mut measured| {
            // The goal's number is told beside the result, not in it.
            measured.remove(self.expected.goal);
            measured
        });
        let merged = match (result, measured.filter(|measured| !measured.is_empty())) {
            (Some(mut result), Some(measured)) => {
                for (name, value) in measured {
                    result.entry(name).or_insert(value);
                }
                Some(result)
            }
            (result, measured) => result.or(measured),
        };
        object(merged, self.place)
    }

    fn measured(&self) -> Option<&'a Map<String, Json>> {
        self.fact("measured").and_then(Json::as_object)
    }

    fn is_parameter(&self, name: &str) -> bool {
        visible(self.expected.space).any(|p| p.name() == name) && name != self.expected.value
    }

    /// What a key says about the trial; nothing where it is a parameter.
    fn fact(&self, key: &str) -> Option<&'a Json> {
        let is_parameter = self.params.is_none() && self.is_parameter(key);
        self.object.get(key).filter(|_| !is_parameter)
    }

    fn text(&self, key: &str) -> Option<&'a str> {
        self.fact(key).and_then(Json::as_str)
    }
}
