//! Points as JSON objects, from which the very same points are read back.
//!
//! An object holds the values of all active parameters, auxiliary ones too: another assignment of those would be
//! another point, and to search for one again takes time.

use std::collections::BTreeMap;

use mivabo::Space;
use mivabo::acquire::Placed;
use mivabo::space::{Point, Value};
use serde::Serializer;
use serde::ser::SerializeMap;

use crate::error::Error;
use crate::object::Object;
use crate::record::Record;

/// Names and values as the text of a JSON object, in this order.
///
/// # Errors
/// [`Error::NotAnObject`], which does not happen: names are texts, and values have a JSON form.
pub fn object_of<'a>(values: impl Iterator<Item = (&'a str, Value)>) -> Result<Object, Error> {
    let mut bytes = Vec::new();
    let written = (|| {
        let mut serializer = serde_json::Serializer::new(&mut bytes);
        // Not by way of a `serde_json::Map`, which may sort the names.
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in values {
            map.serialize_entry(name, &value)?;
        }
        map.end()
    })();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    written.map_err(|error: serde_json::Error| Error::NotAnObject {
        text: text.clone(),
        why: error.to_string(),
    })?;
    Object::new(text)
}

/// What is stored of a point.
pub(crate) fn written(space: &Space, point: &Point) -> Result<Object, Error> {
    object_of(space.all_values(point))
}

/// The values that were stored, by name.
pub(crate) fn values(trial: &Record) -> Result<BTreeMap<String, Value>, Error> {
    serde_json::from_str(trial.params.as_str()).map_err(|error| Error::BadTrial {
        id: trial.id,
        why: error.to_string(),
    })
}

/// The point that was stored.
pub(crate) fn read(space: &Space, trial: &Record) -> Result<Point, Error> {
    let values = values(trial)?;
    let values = values
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()));
    space.point_of_all(values).map_err(|error| Error::BadTrial {
        id: trial.id,
        why: error.to_string(),
    })
}

/// The stored point with what is known of its feasibility.
pub(crate) fn placed(space: &Space, record: &Record) -> Result<Placed, Error> {
    let point = read(space, record)?;
    Placed::of(space, &point).ok_or_else(|| mivabo::Error::ForeignPoint.into())
}

impl Record {
    /// Who proposed it, as its note says; empty where that says nothing.
    pub fn origin(&self) -> String {
        /// What else is in a note is not looked at: a number there may be one that no program can hold.
        #[derive(serde::Deserialize)]
        struct Note {
            #[serde(default)]
            origin: String,
        }
        serde_json::from_str(self.note.as_str()).map_or(String::new(), |note: Note| note.origin)
    }

    /// What its evaluation gave beside or around its value. What not every program can read in it is a text.
    pub fn result(&self) -> Option<Object> {
        self.note.result()
    }

    /// Where it is.
    ///
    /// # Errors
    /// [`Error::BadTrial`] when its parameters make no point of this space.
    pub fn point(&self, space: &Space) -> Result<Point, Error> {
        read(space, self)
    }
}
