//! Study files: a path and the text behind it enter; name, database and definition of the study leave.
//!
//! A file is TOML, or JSON where its name ends in `.json`. Keys that mean nothing are refused, also among those that
//! only the command line reads.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mivabo::Space;
use mivabo::study::MAX_INITIAL;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::definition::{Definition, Said, default_strategy};
use crate::error::Error;
use crate::store::check_name;

const TOP: &[&str] = &[
    "name",
    "direction",
    "goals",
    "limits",
    "parameters",
    "definitions",
    "constraints",
    "objective",
    "run",
    "model",
];
const OBJECTIVE: &[&str] = &[
    "command", "shell", "builtin", "timeout", "grace", "retries", "env",
];
const RUN: &[&str] = &[
    "trials",
    "workers",
    "seed",
    "strategy",
    "n_initial",
    "storage",
    "lease",
];

const MODEL: &[&str] = &["linked"];

/// What a study file says about its study.
#[derive(Debug)]
pub struct StudyFile {
    /// The name of the study; that of the file where it says none.
    pub name: String,
    /// The database.
    pub storage: PathBuf,
    /// Space, aims, strategy, seed.
    pub definition: Definition,
}

#[derive(Deserialize)]
struct File {
    name: Option<String>,
    direction: Option<String>,
    goals: Option<BTreeMap<String, String>>,
    limits: Option<BTreeMap<String, String>>,
    #[serde(default)]
    run: Run,
    #[serde(default)]
    model: Model,
}

/// What is known of the function before it is evaluated.
#[derive(Deserialize, Default)]
struct Model {
    #[serde(default)]
    linked: Vec<(String, String)>,
}

#[derive(Deserialize, Default)]
struct Run {
    seed: Option<u64>,
    strategy: Option<String>,
    n_initial: Option<usize>,
    storage: Option<PathBuf>,
}

impl StudyFile {
    /// The study of the file at `path`, whose text was read; `-` is standard input.
    ///
    /// # Errors
    /// [`Error::Study`] with what is wrong with the file or the space, [`Error::BadName`]. The strategy is not looked at.
    pub fn parse(path: &Path, text: &str) -> Result<StudyFile, Error> {
        let all: Keys = StudyFile::keys(path, text)?;
        check_keys(&all)?;
        let space = if is_json(path) {
            Space::from_json(text)
        } else {
            Space::from_toml(text)
        }?;
        let file: File = StudyFile::keys(path, text)?;
        let stem = path
            .file_stem()
            .map_or("study".into(), |stem| stem.to_string_lossy().into_owned());
        let stem = if stem == "-" {
            "study".to_owned()
        } else {
            stem
        };
        let name = file.name.unwrap_or_else(|| stem.clone());
        check_name(&name)?;
        let said = Said {
            direction: file.direction.as_deref(),
            goals: file.goals.as_ref(),
            limits: file.limits.as_ref(),
        };
        let aims = said.aims().map_err(bad)?;
        let n_initial = file.run.n_initial;
        if let Some(n) = n_initial.filter(|n| *n > MAX_INITIAL) {
            return Err(mivabo::Error::TooManyInitial {
                n,
                limit: MAX_INITIAL,
            }
            .into());
        }
        let storage = file
            .run
            .storage
            .unwrap_or_else(|| PathBuf::from(format!("{stem}.db")));
        let strategy = file
            .run
            .strategy
            .unwrap_or_else(|| default_strategy().to_owned());
        let seed = file.run.seed.unwrap_or(0);
        Ok(StudyFile {
            name,
            storage: path.parent().unwrap_or(Path::new("")).join(storage),
            definition: Definition {
                space,
                aims,
                strategy,
                seed,
                n_initial,
                linked: file.model.linked,
            },
        })
    }

    /// The same text as what a caller makes of its keys.
    ///
    /// # Errors
    /// [`Error::Study`] with the place and what was expected there.
    pub fn keys<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, Error> {
        if is_json(path) {
            serde_json::from_str(text).map_err(|e| bad(e.to_string()))
        } else {
            toml::from_str(text).map_err(|e| bad(e.to_string().trim_end().to_owned()))
        }
    }
}

type Keys = BTreeMap<String, serde_json::Value>;

fn is_json(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "json")
}

fn bad(message: String) -> Error {
    mivabo::Error::from(mivabo::language::Error::File { message }).into()
}

/// Keys that mean nothing are refused, with the one that was probably meant.
fn check_keys(file: &Keys) -> Result<(), Error> {
    unknown(file.keys(), TOP, "")?;
    for (table, known, place) in [
        ("objective", OBJECTIVE, " in [objective]"),
        ("run", RUN, " in [run]"),
        ("model", MODEL, " in [model]"),
    ] {
        if let Some(keys) = file.get(table).and_then(serde_json::Value::as_object) {
            unknown(keys.keys(), known, place)?;
        }
    }
    Ok(())
}

fn unknown<'a>(
    mut keys: impl Iterator<Item = &'a String>,
    known: &[&str],
    place: &str,
) -> Result<(), Error> {
    let Some(key) = keys.find(|key| !known.contains(&key.as_str())) else {
        return Ok(());
    };
    let hint = match mivabo::nearest(key, known.iter().copied()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("known are {}", known.join(", ")),
    };
    Err(bad(format!("unknown key `{key}`{place}; {hint}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACE: &str = "[parameters]\nx = { type = 'int', low = 1, high = 3 }\n";

    #[test]
    fn what_is_not_said_has_a_default() {
        let file = StudyFile::parse(Path::new("some/folder/a.b.toml"), SPACE).unwrap();

        assert_eq!(file.name, "a.b");
        assert_eq!(file.storage, Path::new("some/folder/a.b.db"));
        assert_eq!(
            StudyFile::parse(Path::new("-"), SPACE).unwrap().storage,
            Path::new("study.db")
        );
    }

    #[test]
    fn json_says_the_same_as_toml() {
        let toml = format!("direction = 'maximize'\n{SPACE}[run]\nseed = 7");
        let json = r#"{"direction": "maximize", "parameters": {"x": {"type": "int", "low": 1, "high": 3}},
            "run": {"seed": 7}}"#;

        let json = StudyFile::parse(Path::new("a.json"), json).unwrap();

        let toml = StudyFile::parse(Path::new("a.toml"), &toml).unwrap();
        assert_eq!(json.definition.to_json(), toml.definition.to_json());
    }

    #[test]
    fn the_largest_seed_can_be_written_in_json() {
        let text = format!(
            r#"{{"parameters": {{"x": {{"type": "bool"}}}}, "run": {{"seed": {}}}}}"#,
            u64::MAX
        );

        assert_eq!(
            StudyFile::parse(Path::new("a.json"), &text)
                .unwrap()
                .definition
                .seed,
            u64::MAX
        );
    }

    #[test]
    fn mistakes_are_named_with_what_was_meant() {
        for (text, message) in [
            (
                format!("nmae = 'a'\n{SPACE}"),
                "unknown key `nmae`; did you mean `name`?",
            ),
            (
                format!("{SPACE}[run]\ntrails = 3"),
                "unknown key `trails` in [run]; did you mean `trials`?",
            ),
            (
                format!("{SPACE}[objective]\nq = 3"),
                "unknown key `q` in [objective]; known are command, shell, builtin, timeout, grace, retries, env",
            ),
            (
                format!("direction = 'up'\n{SPACE}"),
                "direction: expected \"minimize\" or \"maximize\", not \"up\"",
            ),
            (
                format!("name = \"a\\nb\"\n{SPACE}"),
                "the study's name \"a\\nb\" is empty or holds a control character",
            ),
            (
                format!("{SPACE}[run]\nn_initial = 10001"),
                "n_initial: an initial design of 10001 trials; at most 10000 are possible",
            ),
        ] {
            let refused = StudyFile::parse(Path::new("a.toml"), &text).unwrap_err();
            assert_eq!(refused.to_string(), message);
        }
    }
}
