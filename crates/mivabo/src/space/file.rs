//! A space as TOML or JSON: the `[parameters]`, `[definitions]` and `[constraints]` of a study file.
//!
//! Order is kept, keys that mean nothing are refused, and what is written reads back as the same space. The
//! fingerprint is a hash of the written form, so it sees through spelling (spaces, quotes, a bound of 1 for 1.0) but
//! not through a change of meaning or order.

use std::fmt;
use std::fmt::Write as _;
use std::marker::PhantomData;

use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

use super::{Space, SpaceBuilder};
use crate::language::domain::{Coding, Domain, Set};
use crate::language::error::Error;
use crate::language::model::Parameter;
use crate::language::number::Number;
use crate::language::value::Value;

impl Space {
    /// Reads the space of a study file.
    ///
    /// # Errors
    /// The text is no TOML, a key is unknown, or the space is not valid; the message says where.
    pub fn from_toml(text: &str) -> Result<Space, super::Error> {
        let file: StudyFile = toml::from_str(text).map_err(|e| Error::File {
            message: e.to_string().trim_end().to_owned(),
        })?;
        SpaceFile::from(file).build()
    }

    /// Reads a space from JSON of the same shape.
    ///
    /// # Errors
    /// As [`from_toml`](Self::from_toml).
    pub fn from_json(text: &str) -> Result<Space, super::Error> {
        let file: StudyFile = serde_json::from_str(text).map_err(|e| Error::File {
            message: e.to_string().trim_end().to_owned(),
        })?;
        SpaceFile::from(file).build()
    }

    /// The space as TOML that [`from_toml`](Self::from_toml) reads back.
    #[expect(
        clippy::missing_panics_doc,
        reason = "maps of texts, numbers and lists can always be written"
    )]
    pub fn to_toml(&self) -> String {
        toml::to_string(&SpaceFile::of(self)).expect("always writable")
    }

    /// The space as JSON that [`from_json`](Self::from_json) reads back.
    #[expect(
        clippy::missing_panics_doc,
        reason = "maps of texts, numbers and lists can always be written"
    )]
    pub fn to_json(&self) -> String {
        serde_json::to_string(&SpaceFile::of(self)).expect("always writable")
    }

    /// A hash of parameters, definitions and constraints, the same wherever and whenever it is computed.
    pub fn fingerprint(&self) -> String {
        let hash = Sha256::digest(format!("mivabo space 1\n{}", self.to_json()));
        hash.iter().take(16).fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

/// `[parameters]`, as written.
#[derive(Deserialize, Default)]
#[serde(transparent)]
pub struct Parameters(Ordered<ParameterFile>);

/// `[definitions]`, as written.
#[derive(Deserialize, Default)]
#[serde(transparent)]
pub struct Definitions(Ordered<DefinitionFile>);

/// `[constraints]`, as written.
#[derive(Deserialize, Default)]
#[serde(transparent)]
pub struct Constraints(Ordered<String>);

/// The tables that say what a space is, read as part of a larger file.
#[derive(Default)]
pub struct Tables {
    /// Names, and what each may be.
    pub parameters: Parameters,
    /// Names for expressions.
    pub definitions: Definitions,
    /// Names, and statements that must hold.
    pub constraints: Constraints,
}

impl Tables {
    /// The space that they describe.
    ///
    /// # Errors
    /// The space is not valid; the message says where.
    pub fn build(self) -> Result<Space, super::Error> {
        let file = SpaceFile {
            parameters: self.parameters.0,
            definitions: self.definitions.0,
            constraints: self.constraints.0,
        };
        file.build()
    }
}

/// A whole study file, of which only the space is read here.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with `parameters`")]
struct StudyFile {
    #[serde(default)]
    parameters: Ordered<ParameterFile>,
    #[serde(default)]
    definitions: Ordered<DefinitionFile>,
    #[serde(default)]
    constraints: Ordered<String>,
    #[serde(rename = "name")]
    _name: Option<IgnoredAny>,
    #[serde(rename = "direction")]
    _direction: Option<IgnoredAny>,
    #[serde(rename = "goals")]
    _goals: Option<IgnoredAny>,
    #[serde(rename = "limits")]
    _limits: Option<IgnoredAny>,
    #[serde(rename = "model")]
    _model: Option<IgnoredAny>,
    #[serde(rename = "objective")]
    _objective: Option<IgnoredAny>,
    #[serde(rename = "run")]
    _run: Option<IgnoredAny>,
}

impl From<StudyFile> for SpaceFile {
    fn from(file: StudyFile) -> Self {
        SpaceFile {
            parameters: file.parameters,
            definitions: file.definitions,
            constraints: file.constraints,
        }
    }
}

#[derive(Serialize)]
struct SpaceFile {
    parameters: Ordered<ParameterFile>,
    #[serde(skip_serializing_if = "Ordered::is_empty")]
    definitions: Ordered<DefinitionFile>,
    #[serde(skip_serializing_if = "Ordered::is_empty")]
    constraints: Ordered<String>,
}

#[derive(Serialize, Deserialize, Default)]
#[serde(
    deny_unknown_fields,
    expecting = "a table with `type` and what belongs to it"
)]
struct ParameterFile {
    #[serde(rename = "type")]
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    low: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<Coding>,
    #[serde(skip_serializing_if = "Option::is_none")]
    when: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a definition is a text, or a table with `expr` and optionally `when`"
)]
enum DefinitionFile {
    Text(String),
    Conditional(ConditionalFile),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConditionalFile {
    expr: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    when: Option<String>,
}

impl SpaceFile {
    fn of(space: &Space) -> SpaceFile {
        let model = space.encoding().model();
        let text = |e: &Option<super::Expr>| e.as_ref().map(ToString::to_string);
        // All in one form: TOML writes texts before tables, and the order would change.
        let is_conditional = model.definitions.iter().any(|d| d.when.is_some());
        let definitions = model.definitions.iter().map(|d| {
            let expr = d.expr.to_string();
            let file = if is_conditional {
                DefinitionFile::Conditional(ConditionalFile {
                    expr,
                    when: text(&d.when),
                })
            } else {
                DefinitionFile::Text(expr)
            };
            (d.name.to_string(), file)
        });
        let said = model.constraints.iter().filter(|c| !c.implied);
        SpaceFile {
            parameters: Ordered(
                model
                    .parameters
                    .iter()
                    .map(|p| (p.name.to_string(), write_parameter(p)))
                    .collect(),
            ),
            definitions: Ordered(definitions.collect()),
            constraints: Ordered(
                said.map(|c| (c.name.to_string(), c.expr.to_string()))
                    .collect(),
            ),
        }
    }

    fn build(self) -> Result<Space, super::Error> {
        let mut space = Space::builder();
        for (name, file) in self.parameters.0 {
            read_parameter(&mut space, name, file)?;
        }
        for (name, file) in self.definitions.0 {
            let (expr, when) = match file {
                DefinitionFile::Text(expr) => (expr, None),
                DefinitionFile::Conditional(file) => (file.expr, file.when),
            };
            let definition = space.define(name, expr);
            if let Some(when) = when {
                space.only_when(definition, when);
            }
        }
        for (name, statement) in self.constraints.0 {
            space.subject_to(name, statement);
        }
        space.build()
    }
}

fn write_parameter(parameter: &Parameter) -> ParameterFile {
    let domain = &parameter.domain;
    let mut file = ParameterFile {
        log: domain.log.then_some(true),
        when: parameter.when.as_ref().map(ToString::to_string),
        ..ParameterFile::default()
    };
    let kind = match &domain.set {
        Set::Float { low, high } => {
            (file.low, file.high) = (Some(Value::Float(*low)), Some(Value::Float(*high)));
            "float"
        }
        Set::Int { low, high, step } => {
            (file.low, file.high) = (Some(Value::Int(*low)), Some(Value::Int(*high)));
            file.step = (*step != 1).then_some(Value::Int(*step));
            if parameter.auxiliary {
                "auxiliary"
            } else {
                "int"
            }
        }
        Set::Ordinal(values) => {
            file.values = Some(values.clone());
            "ordinal"
        }
        Set::Choice(values) => {
            file.values = Some(values.clone());
            "choice"
        }
        Set::Bool => "bool",
    };
    kind.clone_into(&mut file.kind);
    if matches!(domain.set, Set::Int { .. } | Set::Ordinal(_)) && domain.coding != Coding::Binary {
        file.encoding = Some(domain.coding);
    }
    file
}

fn read_parameter(
    space: &mut SpaceBuilder,
    name: String,
    file: ParameterFile,
) -> Result<(), Error> {
    let keys = Keys {
        name: &name,
        file: &file,
    };
    let mut domain = match file.kind.as_str() {
        "float" => {
            keys.allow(&["low", "high", "log"])?;
            Domain::float(
                keys.real("low", file.low.as_ref())?,
                keys.real("high", file.high.as_ref())?,
            )
        }
        "int" | "auxiliary" => {
            keys.allow(&["low", "high", "step", "log", "encoding"])?;
            let (low, high) = (
                keys.whole("low", file.low.as_ref())?,
                keys.whole("high", file.high.as_ref())?,
            );
            let step = file
                .step
                .as_ref()
                .map_or(Ok(1), |step| keys.whole("step", Some(step)))?;
            Domain::int(low, high).step(step)
        }
        "ordinal" => {
            keys.allow(&["values", "encoding"])?;
            Domain::ordinal(keys.values()?)
        }
        "choice" => {
            keys.allow(&["values"])?;
            Domain::choice(keys.values()?)
        }
        "bool" => {
            keys.allow(&[])?;
            Domain::bool()
        }
        other => {
            let known = "float, int, ordinal, choice, bool or auxiliary";
            return Err(keys.error(format!("unknown type `{other}`; expected {known}")));
        }
    };
    if file.log == Some(true) {
        domain = domain.log();
    }
    if let Some(coding) = file.encoding {
        domain = domain.coding(coding);
    }
    let var = space.declare(name, domain, file.kind == "auxiliary");
    if let Some(when) = file.when {
        space.only_when(var, when);
    }
    Ok(())
}

/// The keys of one parameter, and what to say when one is wrong.
struct Keys<'a> {
    name: &'a str,
    file: &'a ParameterFile,
}

impl Keys<'_> {
    fn error(&self, message: String) -> Error {
        Error::Declaration {
            name: self.name.to_owned(),
            message,
        }
    }

    fn allow(&self, allowed: &[&str]) -> Result<(), Error> {
        let file = self.file;
        let given = [
            ("low", file.low.is_some()),
            ("high", file.high.is_some()),
            ("step", file.step.is_some()),
            ("log", file.log.is_some()),
            ("values", file.values.is_some()),
            ("encoding", file.encoding.is_some()),
        ];
        match given
            .iter()
            .find(|(key, given)| *given && !allowed.contains(key))
        {
            Some((key, _)) => {
                Err(self.error(format!("`{key}` does not belong to type `{}`", file.kind)))
            }
            None => Ok(()),
        }
    }

    fn real(&self, key: &str, value: Option<&Value>) -> Result<f64, Error> {
        match value {
            Some(Value::Int(n)) => Ok(*n as f64),
            Some(Value::Float(x)) => Ok(*x),
            other => Err(self.expected(key, "a number", other)),
        }
    }

    fn whole(&self, key: &str, value: Option<&Value>) -> Result<i64, Error> {
        let whole = match value {
            Some(Value::Int(n)) => Some(*n),
            Some(Value::Float(x)) => Number::decimal(*x).to_integer(),
            _ => None,
        };
        whole.ok_or_else(|| self.expected(key, "an integer", value))
    }

    fn values(&self) -> Result<Vec<Value>, Error> {
        self.file
            .values
            .clone()
            .ok_or_else(|| self.expected("values", "a list", None))
    }

    fn expected(&self, key: &str, what: &str, found: Option<&Value>) -> Error {
        self.error(match found {
            Some(value) => format!("`{key}` must be {what}, not {value}"),
            None => format!("`{key}` is missing; expected {what}"),
        })
    }
}

/// A map that keeps its order and refuses a key that occurs twice.
struct Ordered<T>(Vec<(String, T)>);

impl<T> Ordered<T> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Ordered(Vec::new())
    }
}

impl<T: Serialize> Serialize for Ordered<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Ordered<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

struct Entries<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
    type Value = Ordered<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ordered<T>, A::Error> {
        let mut entries: Vec<(String, T)> = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if !seen.insert(key.clone()) {
                return Err(A::Error::custom(format!("the name `{key}` is used twice")));
            }
            entries.push((key, map.next_value()?));
        }
        Ok(Ordered(entries))
    }
}
