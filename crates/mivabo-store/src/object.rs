//! JSON objects, kept as the text that was written: digits of numbers and order of keys stay as they are.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::value::{RawValue, Value};

use crate::error::{Error, short};

/// The text of a JSON object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object(String);

impl Object {
    /// The text, if it is a JSON object.
    ///
    /// # Errors
    /// [`Error::NotAnObject`] with what the reader found.
    pub fn new(text: impl Into<String>) -> Result<Object, Error> {
        let text = text.into();
        // Raw values are checked and not converted: a number with more digits than a program can hold stays what it is.
        match serde_json::from_str::<BTreeMap<String, &RawValue>>(&text) {
            Ok(_) => Ok(Object(text)),
            Err(error) => Err(Error::NotAnObject {
                text: short(&text),
                why: error.to_string(),
            }),
        }
    }

    /// The note of a trial whose evaluation gave this object, beside or around its value.
    ///
    /// # Errors
    /// [`Error::NotAnObject`].
    pub fn note_of(result: Option<&str>) -> Result<Object, Error> {
        let Some(result) = result else {
            return Ok(Object::default());
        };
        Ok(Object(format!(r#"{{"result":{}}}"#, Object::new(result)?)))
    }

    /// The object under `result`, if there is one. What not every program can read in it, such as 1e400, is a text.
    pub(crate) fn result(&self) -> Option<Object> {
        let values: BTreeMap<String, &RawValue> = serde_json::from_str(&self.0).ok()?;
        let result: BTreeMap<String, &RawValue> =
            serde_json::from_str(values.get("result")?.get()).ok()?;
        let readable = |raw: &RawValue| match serde_json::from_str::<Value>(raw.get()) {
            Ok(_) => Some(raw.to_owned()),
            Err(_) => serde_json::value::to_raw_value(raw.get()).ok(),
        };
        let result: BTreeMap<_, _> = result
            .into_iter()
            .map(|(key, raw)| (key, readable(raw)))
            .collect();
        serde_json::to_string(&result).ok().map(Object)
    }

    /// Its numbers that a program can hold, by key.
    pub(crate) fn numbers(&self) -> Vec<(String, f64)> {
        let values: BTreeMap<String, &RawValue> = serde_json::from_str(&self.0).unwrap_or_default();
        let number = |raw: &RawValue| serde_json::from_str::<f64>(raw.get()).ok();
        values
            .into_iter()
            .filter_map(|(key, raw)| Some((key, number(raw)?)))
            .collect()
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// This object with the keys of `other`, whose values replace those that are here.
    pub(crate) fn merged(&self, other: &Object) -> Object {
        let read = |text| {
            serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(text).unwrap_or_default()
        };
        if other.is_empty() {
            return self.clone();
        }
        let mut values = read(&self.0);
        values.extend(read(&other.0));
        serde_json::to_string(&values).map_or_else(|_| other.clone(), Object)
    }

    fn is_empty(&self) -> bool {
        self.0
            .trim_matches(['{', '}', ' ', '\n', '\r', '\t'])
            .is_empty()
    }
}

impl Default for Object {
    fn default() -> Object {
        Object("{}".to_owned())
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_objects_are_objects() {
        for text in [
            "",
            "[]",
            "1",
            "null",
            "{",
            "{\"a\": NaN}",
            "{} {}",
            "{a: 1}",
        ] {
            assert!(
                matches!(Object::new(text), Err(Error::NotAnObject { .. })),
                "{text}"
            );
        }
        let deep = "{\"a\":".repeat(10_000);
        assert!(Object::new(deep).is_err());
    }

    #[test]
    fn the_text_stays_as_it_was_written() {
        let text = r#"{"lr": 0.10000000000000000555, "b" : 1e400, "a": [1,  2]}"#;
        assert_eq!(Object::new(text).unwrap().as_str(), text);
    }

    #[test]
    fn merging_replaces_keys_and_keeps_digits() {
        let old = Object::new(r#"{"a": 0.10000000000000000555, "b": 1}"#).unwrap();
        let new = Object::new(r#"{"b": [1, 2], "c": "}"}"#).unwrap();

        assert_eq!(
            old.merged(&new).as_str(),
            r#"{"a":0.10000000000000000555,"b":[1, 2],"c":"}"}"#
        );
        assert_eq!(old.merged(&Object::new(" { } ").unwrap()), old);
    }
}
