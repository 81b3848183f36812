//! What an evaluation gave beside its numbers, kept as the text that was written.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

/// A JSON object as it was written, but for spaces between its parts and escapes in its texts: no digit of a number is lost,
/// whatever its size.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Box<RawValue>")]
pub struct Given(Box<RawValue>);

impl Given {
    /// The object of a text; none where the text is not a JSON object.
    pub fn new(text: &str) -> Option<Given> {
        serde_json::from_str::<BTreeMap<String, &RawValue>>(text).ok()?;
        RawValue::from_string(compact(text)).ok().map(Given)
    }

    /// Its text, which has no line breaks.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

impl TryFrom<Box<RawValue>> for Given {
    type Error = &'static str;

    fn try_from(raw: Box<RawValue>) -> Result<Given, Self::Error> {
        Given::new(raw.get()).ok_or("a result is a JSON object")
    }
}

impl PartialEq for Given {
    fn eq(&self, other: &Given) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Serialize for Given {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// JSON without the spaces and line breaks between its parts, so that a trial stays on one line, and with as few escapes
/// as can be, so that a text is the same whoever wrote it.
fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('"') {
        let (before, from) = rest.split_at(at);
        let (literal, after) = from.split_at(literal_length(from));
        out.extend(before.split_ascii_whitespace());
        out += &plain(literal);
        rest = after;
    }
    out.extend(rest.split_ascii_whitespace());
    out
}

/// How long the text in quotes is with which this begins.
fn literal_length(json: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in json.char_indices().skip(1) {
        if c == '"' && !is_escaped {
            return at + 1;
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    json.len()
}

/// A text in quotes with only the escapes that it needs. One that is not Unicode (half of a pair of surrogates) stays as it is.
fn plain(literal: &str) -> String {
    let text = serde_json::from_str::<String>(literal);
    let plain = text.and_then(|text| serde_json::to_string(&text));
    plain.unwrap_or_else(|_| literal.to_owned())
}
