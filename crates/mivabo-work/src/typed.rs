//! A study file as typed, read once, with the line of each key kept for messages.

use std::collections::BTreeMap;
use std::path::Path;

use mivabo::language::Subject;
use mivabo::space::{Constraints, Definitions, Parameters};
use mivabo_store::Location;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue};

use crate::error::{Mistake, Problem};
use crate::keys::{FILE, MODEL, OBJECTIVE, RUN};
use crate::value::Count;
use crate::{objective, time};

/// What was typed. Nothing in it has been checked against anything else.
#[derive(Deserialize)]
#[serde(expecting = "a table with `parameters`")]
pub(crate) struct Typed {
    pub name: Option<String>,
    pub direction: Option<String>,
    pub goals: Option<BTreeMap<String, String>>,
    pub limits: Option<BTreeMap<String, String>>,
    #[serde(default)]
    pub parameters: Parameters,
    #[serde(default)]
    pub definitions: Definitions,
    #[serde(default)]
    pub constraints: Constraints,
    pub objective: Option<objective::Keys>,
    #[serde(default)]
    pub run: Run,
    #[serde(default)]
    pub model: Model,
    #[serde(flatten)]
    pub unknown: BTreeMap<String, serde_json::Value>,
}

/// `[run]`: how often, by whom, where results are kept.
#[derive(Deserialize, Default)]
pub(crate) struct Run {
    pub trials: Option<Count>,
    #[serde(rename = "for")]
    pub time: Option<time::Typed>,
    pub patience: Option<Count>,
    pub workers: Option<Count>,
    pub seed: Option<Count>,
    pub strategy: Option<String>,
    pub n_initial: Option<Count>,
    pub storage: Option<Location>,
    pub lease: Option<time::Typed>,
    #[serde(flatten)]
    pub unknown: BTreeMap<String, serde_json::Value>,
}

/// `[model]`: what is known of the function before it is evaluated.
#[derive(Deserialize, Default)]
pub(crate) struct Model {
    #[serde(default)]
    pub linked: Vec<(String, String)>,
    #[serde(flatten)]
    pub unknown: BTreeMap<String, serde_json::Value>,
}

impl Typed {
    /// The first key that means nothing, table by table.
    pub(crate) fn unknown_key(&self) -> Option<Problem> {
        let objective = self.objective.as_ref();
        let tables = [
            Some(("", FILE, &self.unknown)),
            objective.map(|keys| ("objective", OBJECTIVE, &keys.unknown)),
            Some(("run", RUN, &self.run.unknown)),
            Some(("model", MODEL, &self.model.unknown)),
        ];
        let mut tables = tables.into_iter().flatten();
        tables.find_map(|(table, known, unknown)| {
            let key = unknown.keys().next()?;
            Some(Problem::UnknownKey {
                key: key.clone(),
                table,
                nearest: mivabo::nearest(key, known.iter().map(|known| known.name)),
                known,
            })
        })
    }
}

/// In which line each key of a file stands, by its path (`run.lease`). Empty for JSON, whose reader does not tell.
#[derive(Debug, Default)]
pub(crate) struct Lines(BTreeMap<String, usize>);

impl Lines {
    pub(crate) fn of(&self, path: &str) -> Option<usize> {
        self.0.get(path).copied()
    }

    /// The line of a limit.
    pub(crate) fn of_limit(&self, measure: &str) -> Option<usize> {
        self.of(&format!("limits.{measure}"))
    }

    /// The line of a parameter, a definition or a constraint.
    pub(crate) fn of_subject(&self, subject: Subject<'_>) -> Option<usize> {
        match subject {
            Subject::Constraint(name) => self.of(&format!("constraints.{name}")),
            Subject::Symbol(name) => {
                let parameter = self.of(&format!("parameters.{name}"));
                parameter.or_else(|| self.of(&format!("definitions.{name}")))
            }
        }
    }

    fn add(&mut self, table: &DeTable<'_>, prefix: &str, text: &str) {
        for (key, value) in table {
            let name = key.get_ref();
            let path = match prefix {
                "" => name.to_string(),
                prefix => format!("{prefix}.{name}"),
            };
            self.0.insert(path.clone(), line_at(text, key.span().start));
            // Parameters and constraints are named in messages, so two levels are enough.
            if let (DeValue::Table(inner), "") = (value.get_ref(), prefix) {
                self.add(inner, &path, text);
            }
        }
    }
}

/// The line of a byte, counted from 1.
fn line_at(text: &str, byte: usize) -> usize {
    let before = &text[..byte.min(text.len())];
    1 + before.matches('\n').count()
}

/// Reads TOML, or JSON where the name of the file ends in `.json`.
pub(crate) fn read<T: DeserializeOwned>(path: &Path, text: &str) -> Result<(T, Lines), Mistake> {
    if path.extension().is_some_and(|end| end == "json") {
        let typed = serde_json::from_str(text).map_err(|e| unreadable(&e.to_string()))?;
        return Ok((typed, Lines::default()));
    }
    let document = DeTable::parse(text).map_err(|e| unreadable(&e.to_string()))?;
    let mut lines = Lines::default();
    lines.add(document.get_ref(), "", text);
    let typed = T::deserialize(toml::de::Deserializer::from(document)).map_err(|mut error| {
        // With its text an error shows the line that it means.
        error.set_input(Some(text));
        unreadable(&error.to_string())
    })?;
    Ok((typed, lines))
}

fn unreadable(message: &str) -> Mistake {
    Mistake::from(Problem::Unreadable {
        message: message.trim_end().to_owned(),
    })
}
