//! JSON objects, kept as the text that was written: digits of numbers and order of keys stay as they are.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::value::RawValue;

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
        match serde_json::from_str::<BTreeMap<String, &RawValue>>(&text) {
            Ok(_) => Ok(Object(text)),
            Err(error) => Err(Error::NotAnObject { text: short(&text), why: error.to_string() }),
        }
    }

    /// The note of a trial whose evaluation gave this object, beside or around its value.
    pub fn with_result(result: &Object) -> Object {
        Object(format!(r#"{{"result":{result}}}"#))
    }

    /// The object under a key, if there is one.
    pub(crate) fn get(&self, key: &str) -> Option<Object> {
        let values: BTreeMap<String, &RawValue> = serde_json::from_str(&self.0).ok()?;
        values.get(key).and_then(|value| Object::new(value.get()).ok())
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// This object with the keys of `other`, whose values replace those that are here.
    pub(crate) fn merged(&self, other: &Object) -> Object {
        let read = |text| serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(text).unwrap_or_default();
        if other.is_empty() {
            return self.clone();
        }
        let mut values = read(&self.0);
        values.extend(read(&other.0));
        serde_json::to_string(&values).map_or_else(|_| other.clone(), Object)
    }

    fn is_empty(&self) -> bool {
        self.0.trim_matches(['{', '}', ' ', '\n', '\r', '\t']).is_empty()
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
        for text in ["", "[]", "1", "null", "{", "{\"a\": NaN}", "{} {}", "{a: 1}"] {
            assert!(matches!(Object::new(text), Err(Error::NotAnObject { .. })), "{text}");
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

        assert_eq!(old.merged(&new).as_str(), r#"{"a":0.10000000000000000555,"b":[1, 2],"c":"}"}"#);
        assert_eq!(old.merged(&Object::new(" { } ").unwrap()), old);
    }
}
