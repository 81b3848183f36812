//! A JSON schema of study files, for editors: completion, descriptions, and mistakes marked while one types.
//!
//! It knows the shape of a file, not what expressions, names and numbers mean together: `mivabo check` does. Whatever that accepts
//! the schema accepts.

use mivabo::strategy::Strategy;
use serde_json::{Map, Value, json};

use crate::builtin::Builtin;
use crate::keys::{FILE, Key, MODEL, OBJECTIVE, RUN, Takes};

/// The schema, in the dialect that most editors know.
pub fn schema() -> Value {
    let mut schema = table(FILE);
    schema.insert("$schema".to_owned(), DIALECT.into());
    schema.insert("title".to_owned(), "A study of mivabo".into());
    schema.insert("required".to_owned(), json!(["parameters"]));
    // Both say what is wanted.
    schema.insert(
        "not".to_owned(),
        json!({ "required": ["direction", "goals"] }),
    );
    Value::Object(schema)
}

const DIALECT: &str = "http://json-schema.org/draft-07/schema#";

/// A table with these keys and no others.
fn table(keys: &[Key]) -> Map<String, Value> {
    let properties: Map<String, Value> = keys
        .iter()
        .map(|key| (key.name.to_owned(), property(key)))
        .collect();
    let table = json!({
        "type": "object", "properties": properties, "additionalProperties": false,
    });
    object(table)
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

fn property(key: &Key) -> Value {
    let mut property = object(taken(key.takes));
    property.insert("description".to_owned(), key.what.into());
    Value::Object(property)
}

fn taken(takes: Takes) -> Value {
    let text = json!({ "type": "string" });
    match takes {
        Takes::Text => text,
        Takes::Texts => json!({ "type": "array", "items": text, "minItems": 1 }),
        Takes::NamedTexts => json!({ "type": "object", "additionalProperties": text }),
        Takes::Pairs => {
            let pair = json!({ "type": "array", "items": text, "minItems": 2, "maxItems": 2 });
            json!({ "type": "array", "items": pair })
        }
        Takes::Whole(low, high) => json!({ "type": "integer", "minimum": low, "maximum": high }),
        // A capital `M` would be months.
        Takes::Duration => {
            json!({ "type": "string", "pattern": r"^\s*([0-9]+\s*[a-zµ]+\s*)+$" })
        }
        Takes::Sense => sense(),
        Takes::Goals => json!({
            "type": "object", "additionalProperties": sense(), "minProperties": 1, "maxProperties": 1,
        }),
        Takes::Limits => {
            let bound =
                json!({ "type": "string", "pattern": r"^\s*(<=|>=)\s*[-+.0-9][-+.0-9eE]*\s*$" });
            json!({ "type": "object", "additionalProperties": bound })
        }
        Takes::Strategy => {
            let names = Strategy::NAMES.join("|");
            json!({ "type": "string", "pattern": format!("^({names})(:.*)?$") })
        }
        Takes::Builtin => json!({ "enum": Builtin::names() }),
        Takes::Parameters => json!({
            "type": "object", "additionalProperties": parameter(), "minProperties": 1,
        }),
        Takes::Definitions => {
            json!({ "type": "object", "additionalProperties": definition() })
        }
        Takes::Objective => objective(),
        Takes::Run => Value::Object(table(RUN)),
        Takes::Model => Value::Object(table(MODEL)),
    }
}

fn sense() -> Value {
    json!({ "enum": ["minimize", "maximize"] })
}

/// Exactly one function.
fn objective() -> Value {
    let mut objective = table(OBJECTIVE);
    let functions = ["command", "shell", "builtin"].map(|key| json!({ "required": [key] }));
    objective.insert("oneOf".to_owned(), json!(functions));
    Value::Object(objective)
}

fn definition() -> Value {
    let text = json!({ "type": "string" });
    let table = json!({
        "type": "object", "properties": { "expr": text, "when": text },
        "required": ["expr"], "additionalProperties": false,
    });
    json!({ "anyOf": [text, table] })
}

/// One of the types, each with the keys that apply to it.
fn parameter() -> Value {
    let number = json!({ "type": "number", "description": "A bound, included." });
    let whole = json!({ "type": "integer", "description": "A bound, included." });
    let step = json!({ "type": "integer", "minimum": 1, "description": "The distance between two values. Default: 1." });
    let log =
        json!({ "type": "boolean", "description": "Whether to search on a logarithmic scale." });
    let values = json!({ "type": "array", "minItems": 1, "description": "The values." });
    let coding = json!({ "enum": ["binary", "unary", "one-hot"], "description": "How values are written in bits." });
    let int = json!({ "low": whole, "high": whole, "step": step, "log": log, "encoding": coding });
    let kinds = [
        (
            "float",
            json!({ "low": number, "high": number, "log": log }),
            json!(["type", "low", "high"]),
        ),
        ("int", int.clone(), json!(["type", "low", "high"])),
        (
            "ordinal",
            json!({ "values": values, "encoding": coding }),
            json!(["type", "values"]),
        ),
        (
            "choice",
            json!({ "values": values }),
            json!(["type", "values"]),
        ),
        ("bool", json!({}), json!(["type"])),
        ("auxiliary", int, json!(["type", "low", "high"])),
    ];
    let kinds = kinds.map(|(kind, keys, required)| {
        let mut properties = object(keys);
        properties.insert("type".to_owned(), json!({ "const": kind }));
        if kind != "auxiliary" {
            properties.insert("default".to_owned(), json!({
                "description": "The value that is tried first; what earlier trials stand for where the parameter is added later.",
            }));
        }
        properties.insert("when".to_owned(), json!({
            "type": "string", "description": "A condition on other parameters; without it this one is inactive.",
        }));
        json!({
            "title": kind, "type": "object", "properties": properties,
            "required": required, "additionalProperties": false,
        })
    });
    json!({ "oneOf": kinds })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::StudyFile;
    use crate::error::Problem;

    /// A value of the right kind; it need not make sense.
    fn example(takes: Takes) -> &'static str {
        match takes {
            Takes::Text | Takes::Builtin | Takes::Strategy => "'random'",
            Takes::Texts | Takes::Pairs => "[]",
            Takes::Whole(..) => "1",
            Takes::Duration => "'1s'",
            Takes::Sense => "'minimize'",
            _ => "{}",
        }
    }

    #[test]
    fn every_key_of_the_tables_is_read() {
        for (table, keys) in [("objective", OBJECTIVE), ("run", RUN), ("model", MODEL)] {
            for key in keys {
                let (name, value) = (key.name, example(key.takes));
                let text =
                    format!("[parameters]\nx = {{ type = 'bool' }}\n[{table}]\n{name} = {value}");
                let read = StudyFile::parse(Path::new("a.toml"), &text);
                let problem = read.map_err(|mistake| *mistake.problem).err();
                assert!(
                    !matches!(problem, Some(Problem::UnknownKey { .. })),
                    "{problem:?}"
                );
            }
        }
        for key in FILE {
            let text = format!("{} = {}", key.name, example(key.takes));
            let problem = StudyFile::parse(Path::new("a.toml"), &text).err();
            let said = problem.map_or(String::new(), |mistake| mistake.to_string());
            assert!(!said.contains("unknown key"), "{said}");
        }
    }

    #[test]
    fn every_key_is_in_the_schema_with_what_it_is_for() {
        let schema = schema();

        for (pointer, keys) in [
            ("", FILE),
            ("/properties/objective", OBJECTIVE),
            ("/properties/run", RUN),
            ("/properties/model", MODEL),
        ] {
            let table = schema.pointer(pointer).unwrap();
            for key in keys {
                assert_eq!(table["properties"][key.name]["description"], key.what);
            }
            assert_eq!(table["additionalProperties"], false);
        }
    }
}
