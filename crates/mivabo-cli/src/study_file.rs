//! A study file: TOML or JSON enters, a [`StudyFile`] whose every key was checked leaves.
//!
//! ```text
//! name, direction
//! [parameters] [definitions] [constraints]     the space
//! [objective]                                  what is evaluated
//! [run]                                        how often, by whom, where results are kept
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mivabo::Space;
use mivabo::study::Strategy;
use mivabo_store::{Definition, default_strategy, direction_named};
use serde::Deserialize;

use crate::Failure;
use crate::input::read;
use crate::objective::Objective;

/// How long a worker may be silent before its trials are given to others.
const LEASE: Duration = Duration::from_secs(60);

const TOP: &[&str] = &["name", "direction", "parameters", "definitions", "constraints", "objective", "run"];
const OBJECTIVE: &[&str] = &["command", "shell", "builtin", "timeout", "grace", "retries", "env"];
/// The most workers of one process.
const MAX_WORKERS: usize = 1024;

/// The longest time: ten years.
const LONGEST: Duration = Duration::from_secs(10 * 366 * 24 * 3600);

const RUN: &[&str] = &["trials", "workers", "seed", "strategy", "n_initial", "storage", "lease"];

/// What a study file says.
#[derive(Debug)]
pub struct StudyFile {
    /// The file.
    pub path: PathBuf,
    /// Where it is: the objective's working folder, and what other paths are relative to.
    pub folder: PathBuf,
    /// The name of the study; that of the file where it says none.
    pub name: String,
    /// Space, direction, strategy, seed.
    pub definition: Definition,
    /// What to evaluate, if it says so.
    pub objective: Option<Objective>,
    /// How many trials.
    pub trials: Option<u64>,
    /// How many at the same time.
    pub workers: usize,
    /// The database.
    pub storage: PathBuf,
    /// How long a worker may be silent.
    pub lease: Duration,
}

#[derive(Deserialize)]
struct File {
    name: Option<String>,
    direction: Option<String>,
    objective: Option<ObjectiveKeys>,
    #[serde(default)]
    run: RunKeys,
}

/// The keys of `[objective]`, as they are written.
#[derive(Deserialize, Default)]
pub struct ObjectiveKeys {
    /// A program and its arguments.
    pub command: Option<Vec<String>>,
    /// A line for the shell.
    pub shell: Option<String>,
    /// A function inside this program.
    pub builtin: Option<String>,
    /// How long an evaluation may take.
    pub timeout: Option<String>,
    /// How long after the first signal the second one comes.
    pub grace: Option<String>,
    /// How often a failed evaluation is tried again.
    pub retries: Option<u32>,
    /// Environment variables.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

#[derive(Deserialize, Default)]
struct RunKeys {
    trials: Option<u64>,
    workers: Option<usize>,
    seed: Option<u64>,
    strategy: Option<String>,
    n_initial: Option<usize>,
    storage: Option<PathBuf>,
    lease: Option<String>,
}

impl StudyFile {
    /// Reads a file; standard input for `-`.
    pub fn read(path: &Path) -> Result<StudyFile, Failure> {
        let text = read(path)?;
        StudyFile::parse(path, &text).map_err(|failure| format!("{}: {failure}", path.display()))
    }

    fn parse(path: &Path, text: &str) -> Result<StudyFile, Failure> {
        let is_json = path.extension().is_some_and(|extension| extension == "json");
        check_keys(&parsed(text, is_json)?)?;
        let space = if is_json { Space::from_json(text) } else { Space::from_toml(text) };
        let space = space.map_err(|e| e.to_string())?;
        let file: File = parsed(text, is_json)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let stem = path.file_stem().map_or("study".into(), |stem| stem.to_string_lossy().into_owned());
        let stem = if stem == "-" { "study".to_owned() } else { stem };
        let name = file.name.unwrap_or_else(|| stem.clone());
        let run = file.run;
        let objective =
            file.objective.map(|keys| Objective::new(keys, &space).map_err(|e| format!("[objective]: {e}")));
        let storage = run.storage.unwrap_or_else(|| PathBuf::from(format!("{stem}.db")));
        let lease = run.lease.map_or(Ok(LEASE), |text| duration("[run] lease", &text))?;
        let workers = run.workers.unwrap_or(1);
        check_workers(workers)?;
        let strategy = run.strategy.unwrap_or_else(|| default_strategy().to_owned());
        Strategy::named(&strategy).map_err(|e| format!("[run] strategy: {e}"))?;
        let definition = Definition {
            space,
            direction: direction(file.direction.as_deref())?,
            strategy,
            seed: run.seed.unwrap_or(0),
            n_initial: run.n_initial,
        };
        Ok(StudyFile {
            path: path.to_owned(),
            storage: folder.join(storage),
            folder: if folder.as_os_str().is_empty() { ".".into() } else { folder.to_owned() },
            name,
            definition,
            objective: objective.transpose()?,
            trials: run.trials,
            workers,
            lease,
        })
    }

    /// The folder of the logs of its trials.
    pub fn logs(&self) -> PathBuf {
        let mut path = self.storage.clone().into_os_string();
        path.push(".logs");
        Path::new(&path).join(folder_name(&self.name))
    }
}

/// A text as what it should be, or what the reader says.
fn parsed<T: for<'de> Deserialize<'de>>(text: &str, is_json: bool) -> Result<T, Failure> {
    if is_json {
        serde_json::from_str(text).map_err(|e| e.to_string())
    } else {
        toml::from_str(text).map_err(|e: toml::de::Error| e.to_string().trim_end().to_owned())
    }
}

/// A name as the name of a folder, different for different names: what is neither a letter nor a digit of ASCII, nor one of
/// `-_`, is written as %XX.
fn folder_name(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let escaped = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    name.bytes().map(escaped).collect()
}

/// Workers are threads, so their number is bounded.
pub fn check_workers(n: usize) -> Result<(), Failure> {
    match n {
        0 => Err("[run] workers: at least 1 is needed".to_owned()),
        1..=MAX_WORKERS => Ok(()),
        _ => Err(format!("workers: at most {MAX_WORKERS}, not {n}")),
    }
}

/// A time such as `30s` or `2h`.
pub fn duration(what: &str, text: &str) -> Result<Duration, Failure> {
    match humantime::parse_duration(text) {
        Ok(duration) if !duration.is_zero() && duration <= LONGEST => Ok(duration),
        Ok(duration) if duration > LONGEST => Err(format!("{what}: `{text}` is more than ten years")),
        _ => Err(format!("{what}: `{text}` is no time; write it like \"30s\", \"10m\" or \"2h 30m\"")),
    }
}

fn direction(name: Option<&str>) -> Result<mivabo::study::Direction, Failure> {
    let name = name.unwrap_or("minimize");
    direction_named(name)
        .ok_or_else(|| format!("direction: expected \"minimize\" or \"maximize\", not \"{name}\""))
}

/// Keys that mean nothing are refused, with the one that was probably meant.
fn check_keys(file: &toml::Table) -> Result<(), Failure> {
    let within = |table: &str| file.get(table).and_then(toml::Value::as_table);
    unknown(file, TOP, "")?;
    within("objective").map_or(Ok(()), |keys| unknown(keys, OBJECTIVE, " in [objective]"))?;
    within("run").map_or(Ok(()), |keys| unknown(keys, RUN, " in [run]"))
}

fn unknown(table: &toml::Table, known: &[&str], place: &str) -> Result<(), Failure> {
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => {
            let hint = did_you_mean(key, known.iter().copied());
            Err(format!(
                "unknown key `{key}`{place}{}",
                hint.unwrap_or(format!("; known are {}", known.join(", ")))
            ))
        }
    }
}

/// `; did you mean …?`, where something like it is known.
pub fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    mivabo::nearest(name, known).map(|nearest| format!("; did you mean `{nearest}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACE: &str = "[parameters]\nx = { type = 'int', low = 1, high = 3 }\n";

    fn file(text: &str) -> Result<StudyFile, Failure> {
        StudyFile::parse(Path::new("some/folder/a.b.toml"), text)
    }

    #[test]
    fn what_is_not_said_has_a_default() {
        let file = file(SPACE).unwrap();

        assert_eq!((file.name.as_str(), file.workers, file.trials), ("a.b", 1, None));
        assert_eq!(file.storage, Path::new("some/folder/a.b.db"));
        assert_eq!(file.logs(), Path::new("some/folder/a.b.db.logs/a%2Eb"));
        assert!(file.objective.is_none());
    }

    #[test]
    fn json_says_the_same_as_toml() {
        let toml = file(&format!("direction = 'maximize'\n{SPACE}[run]\nseed = 7")).unwrap();
        let json = r#"{"direction": "maximize", "parameters": {"x": {"type": "int", "low": 1, "high": 3}},
            "run": {"seed": 7}}"#;

        let json = StudyFile::parse(Path::new("a.json"), json).unwrap();

        assert_eq!(json.definition.to_json(), toml.definition.to_json());
    }

    #[test]
    fn mistakes_are_named_with_what_was_meant() {
        for (text, message) in [
            (format!("nmae = 'a'\n{SPACE}"), "unknown key `nmae`; did you mean `name`?"),
            (format!("{SPACE}[run]\ntrails = 3"), "unknown key `trails` in [run]; did you mean `trials`?"),
            (
                format!("{SPACE}[objective]\nq = 3"),
                "unknown key `q` in [objective]; known are command, shell, builtin, timeout, grace, retries, env",
            ),
            (
                format!("direction = 'up'\n{SPACE}"),
                "direction: expected \"minimize\" or \"maximize\", not \"up\"",
            ),
            (format!("{SPACE}[run]\nworkers = 0"), "[run] workers: at least 1 is needed"),
            (
                format!("{SPACE}[run]\nstrategy = 'randm'"),
                "[run] strategy: there is no strategy `randm`; did you mean `random`?",
            ),
            (
                format!("{SPACE}[run]\nlease = 'soon'"),
                "[run] lease: `soon` is no time; write it like \"30s\", \"10m\" or \"2h 30m\"",
            ),
        ] {
            assert_eq!(file(&text).unwrap_err(), message);
        }
        let typed = file(&format!("{SPACE}[run]\ntrials = 'ten'")).unwrap_err();
        assert!(typed.contains("line 4") && typed.contains("expected u64"), "{typed}");
    }
}
