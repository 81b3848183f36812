//! Reads and writes a space as TOML or JSON: the `[parameters]`, `[definitions]` and `[constraints]` of a study file.
//!
//! Order is kept, keys that mean nothing are refused, and what is written reads back as the same space. The
//! fingerprint is a hash of the written form, so it sees through spelling (spaces, quotes, a bound of 1 for 1.0) but
//! not through a change of meaning or order.

use std::collections::BTreeMap;
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
use crate::language::model::{Definition, Parameter};
use crate::language::nearest;
use crate::language::value::Value;

impl Space {
    /// Reads the space of a study file.
    ///
    /// # Errors
    /// The text is not TOML, a key is unknown, or the space is not valid; the message says where.
    pub fn from_toml(text: &str) -> Result<Space, super::Error> {
        let file: StudyFile = toml::from_str(text).map_err(|e| unreadable(&e))?;
        SpaceFile::from(file).build()
    }

    /// Reads a space from JSON of the same shape.
    ///
    /// # Errors
    /// As [`from_toml`](Self::from_toml).
    pub fn from_json(text: &str) -> Result<Space, super::Error> {
        let file: StudyFile = serde_json::from_str(text).map_err(|e| unreadable(&e))?;
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
#[serde(expecting = "a table with `type` and what belongs to it")]
struct ParameterFile {
    #[serde(rename = "type", default)]
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
    default: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    when: Option<String>,
    /// Refused later, with the key that was probably meant.
    #[serde(flatten, skip_serializing)]
    unknown: BTreeMap<String, serde_json::Value>,
}

#[derive(Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a definition must be a text, or a table with `expr` and optionally `when`"
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
        let parameters = model.parameters.iter();
        let constraints = model.constraints.iter().filter(|c| !c.implied);
        SpaceFile {
            parameters: parameters
                .map(|p| (p.name.to_string(), write_parameter(p)))
                .collect(),
            definitions: write_definitions(&model.definitions),
            constraints: constraints
                .map(|c| (c.name.to_string(), c.expr.to_string()))
                .collect(),
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

fn unreadable(error: &dyn fmt::Display) -> Error {
    Error::File {
        message: error.to_string().trim_end().to_owned(),
    }
}

fn write_definitions(definitions: &[Definition]) -> Ordered<DefinitionFile> {
    // All in one form: TOML writes texts before tables, and the order would change.
    let is_conditional = definitions.iter().any(|d| d.when.is_some());
    let written = definitions.iter().map(|d| {
        let expr = d.expr.to_string();
        let file = if is_conditional {
            let when = d.when.as_ref().map(ToString::to_string);
            DefinitionFile::Conditional(ConditionalFile { expr, when })
        } else {
            DefinitionFile::Text(expr)
        };
        (d.name.to_string(), file)
    });
    written.collect()
}

fn write_parameter(parameter: &Parameter) -> ParameterFile {
    let domain = &parameter.domain;
    let mut file = ParameterFile {
        kind: type_name(parameter).to_owned(),
        log: domain.log.then_some(true),
        default: domain.default.clone(),
        when: parameter.when.as_ref().map(ToString::to_string),
        ..ParameterFile::default()
    };
    match &domain.set {
        Set::Float { low, high } => {
            file.low = Some(Value::Float(*low));
            file.high = Some(Value::Float(*high));
        }
        Set::Int { low, high, step } => {
            file.low = Some(Value::Int(*low));
            file.high = Some(Value::Int(*high));
            file.step = (*step != 1).then_some(Value::Int(*step));
        }
        Set::Ordinal(values) | Set::Choice(values) => file.values = Some(values.clone()),
        Set::Bool => {}
    }
    let has_choice = matches!(domain.set, Set::Int { .. } | Set::Ordinal(_));
    if has_choice && domain.coding != Coding::Binary {
        file.encoding = Some(domain.coding);
    }
    file
}

fn type_name(parameter: &Parameter) -> &'static str {
    match parameter.domain.set {
        Set::Float { .. } => "float",
        Set::Int { .. } if parameter.auxiliary => "auxiliary",
        Set::Int { .. } => "int",
        Set::Ordinal(_) => "ordinal",
        Set::Choice(_) => "choice",
        Set::Bool => "bool",
    }
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
    let mut domain = keys.domain()?;
    if file.log == Some(true) {
        domain = domain.log();
    }
    if let Some(coding) = file.encoding {
        domain = domain.coding(coding);
    }
    if let Some(default) = file.default {
        domain = domain.default(default);
    }
    let var = space.declare(name, domain, file.kind == "auxiliary");
    if let Some(when) = file.when {
        space.only_when(var, when);
    }
    Ok(())
}

/// The types that a parameter may have.
const KINDS: &str = "float, int, ordinal, choice, bool or auxiliary";

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

    /// Every key means something.
    fn check_known(&self) -> Result<(), Error> {
        const KNOWN: [&str; 8] = [
            "type", "low", "high", "step", "log", "values", "encoding", "when",
        ];
        let Some(key) = self.file.unknown.keys().next() else {
            return Ok(());
        };
        let instead = match nearest(key, KNOWN.into_iter()) {
            Some(known) => format!("did you mean `{known}`?"),
            None => format!("expected one of {}", KNOWN.join(", ")),
        };
        Err(self.error(format!("unknown key `{key}`; {instead}")))
    }

    /// The domain without its scale and its encoding.
    fn domain(&self) -> Result<Domain, Error> {
        self.check_known()?;
        match self.file.kind.as_str() {
            "float" => {
                self.allow(&["low", "high", "log", "default"])?;
                let low = self.real("low", self.file.low.as_ref())?;
                let high = self.real("high", self.file.high.as_ref())?;
                Ok(Domain::float(low, high))
            }
            "int" => {
                self.allow(&["low", "high", "step", "log", "encoding", "default"])?;
                self.int()
            }
            // Its value follows from the others, so a default would say nothing.
            "auxiliary" => {
                self.allow(&["low", "high", "step", "log", "encoding"])?;
                self.int()
            }
            "ordinal" => {
                self.allow(&["values", "encoding", "default"])?;
                Ok(Domain::ordinal(self.values()?))
            }
            "choice" => {
                self.allow(&["values", "default"])?;
                Ok(Domain::choice(self.values()?))
            }
            "bool" => {
                self.allow(&["default"])?;
                Ok(Domain::bool())
            }
            "" => Err(self.error(format!("`type` is missing; expected {KINDS}"))),
            other => {
                let known = ["float", "int", "ordinal", "choice", "bool", "auxiliary"];
                let instead = match nearest(other, known.into_iter()) {
                    Some(kind) => format!("did you mean `{kind}`?"),
                    None => format!("expected {KINDS}"),
                };
                Err(self.error(format!("unknown type `{other}`; {instead}")))
            }
        }
    }

    fn int(&self) -> Result<Domain, Error> {
        let low = self.whole("low", self.file.low.as_ref())?;
        let high = self.whole("high", self.file.high.as_ref())?;
        let step = match &self.file.step {
            Some(step) => self.whole("step", Some(step))?,
            None => 1,
        };
        Ok(Domain::int(low, high).step(step))
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
            ("default", file.default.is_some()),
        ];
        let is_foreign = |(key, is_given): &&(&str, bool)| *is_given && !allowed.contains(key);
        match given.iter().find(is_foreign) {
            Some((key, _)) => {
                let kind = &file.kind;
                Err(self.error(format!("`{key}` does not apply to type `{kind}`")))
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
        let whole = value.and_then(Value::whole);
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

impl<T> FromIterator<(String, T)> for Ordered<T> {
    fn from_iter<I: IntoIterator<Item = (String, T)>>(entries: I) -> Self {
        Ordered(entries.into_iter().collect())
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
