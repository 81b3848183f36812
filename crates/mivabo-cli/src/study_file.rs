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

use mivabo::strategy::Strategy;
use mivabo_store::Definition;
use serde::Deserialize;

use crate::Failure;
use crate::input::read;
use crate::objective::Objective;

/// How long a worker may be silent before its trials are given to others.
const LEASE: Duration = Duration::from_secs(60);

/// The shortest lease: signs of life come four times in a lease.
const SHORTEST_LEASE: Duration = Duration::from_millis(100);

/// The most workers of one process.
pub const MAX_WORKERS: usize = 1024;

/// The longest time: ten years.
const LONGEST: Duration = Duration::from_secs(10 * 366 * 24 * 3600);

/// The longest name of a folder that is not cut.
const MAX_FOLDER: usize = 200;

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
    pub timeout: Option<Time>,
    /// How long after the first signal the second one comes.
    pub grace: Option<Time>,
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
    lease: Option<Time>,
}

/// A time as it is written; a number, which is none, gets the same answer as a text that is none.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum Time {
    Text(String),
    Number(toml::Value),
}

impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Time::Text(text) => f.write_str(text),
            Time::Number(number) => write!(f, "{number}"),
        }
    }
}

impl StudyFile {
    /// Reads a file; standard input for `-`.
    pub fn read(path: &Path) -> Result<StudyFile, Failure> {
        let text = read(path)?;
        StudyFile::parse(path, &text).map_err(|failure| format!("{}: {failure}", path.display()))
    }

    fn parse(path: &Path, text: &str) -> Result<StudyFile, Failure> {
        let study = mivabo_store::StudyFile::parse(path, text).map_err(|e| e.to_string())?;
        let file: File = mivabo_store::StudyFile::keys(path, text).map_err(|e| e.to_string())?;
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let definition = study.definition;
        if definition.space.parameters().is_empty() {
            return Err("[parameters]: there is none".to_owned());
        }
        let objective = file.objective.map(|keys| {
            Objective::new(keys, &definition.space).map_err(|e| format!("[objective]: {e}"))
        });
        let lease = file
            .run
            .lease
            .map_or(Ok(LEASE), |time| lease(&time.to_string()))?;
        let workers = file.run.workers.unwrap_or(1);
        check_workers(workers)?;
        Strategy::named(&definition.strategy).map_err(|e| format!("[run] strategy: {e}"))?;
        definition.strategy().map_err(|e| e.to_string())?;
        Ok(StudyFile {
            path: path.to_owned(),
            storage: study.storage,
            folder: folder.unwrap_or(Path::new(".")).to_owned(),
            name: study.name,
            definition,
            objective: objective.transpose()?,
            trials: file.run.trials,
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

/// A name as the name of a folder, different for different names: what is neither a letter nor a digit of ASCII, nor one of
/// `-_`, is written as %XX. Of a long one the rest is a number that is made from all of it.
fn folder_name(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let escaped = |byte: u8| {
        if plain(byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    let folder: String = name.bytes().map(escaped).collect();
    if folder.len() <= MAX_FOLDER {
        return folder;
    }
    // FNV-1a.
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let hash: u64 = name.bytes().fold(0xcbf2_9ce4_8422_2325, mix);
    format!("{}.{hash:016x}", &folder[..MAX_FOLDER])
}

/// Workers are threads, so their number is bounded.
fn check_workers(n: usize) -> Result<(), Failure> {
    match n {
        0 => Err("[run] workers: at least 1 is needed".to_owned()),
        1..=MAX_WORKERS => Ok(()),
        _ => Err(format!("[run] workers: at most {MAX_WORKERS}, not {n}")),
    }
}

/// A time such as `30s` or `2h`.
pub fn duration(what: &str, text: &str) -> Result<Duration, Failure> {
    if text.contains('M') {
        return Err(format!(
            "{what}: `{text}` would be months; write it like \"30s\", \"10m\" or \"2h 30m\""
        ));
    }
    match humantime::parse_duration(text) {
        Ok(duration) if !duration.is_zero() && duration <= LONGEST => Ok(duration),
        Ok(duration) if duration > LONGEST => {
            Err(format!("{what}: `{text}` is more than ten years"))
        }
        _ => Err(format!(
            "{what}: `{text}` is no time; write it like \"30s\", \"10m\" or \"2h 30m\""
        )),
    }
}

fn lease(text: &str) -> Result<Duration, Failure> {
    match duration("[run] lease", text)? {
        lease if lease < SHORTEST_LEASE => Err(format!("[run] lease: `{text}` is less than 100ms")),
        lease => Ok(lease),
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

        assert_eq!(
            (file.name.as_str(), file.workers, file.trials),
            ("a.b", 1, None)
        );
        assert_eq!(file.storage, Path::new("some/folder/a.b.db"));
        assert_eq!(file.logs(), Path::new("some/folder/a.b.db.logs/a%2Eb"));
        assert!(file.objective.is_none());
    }

    #[test]
    fn the_logs_of_a_study_with_a_long_name_have_a_folder_that_can_be_made() {
        let name = "Подбор параметров сети для распознавания изображений".repeat(3);

        assert!(folder_name(&name).len() < 255);
        assert_ne!(folder_name(&name), folder_name(&format!("{name}!")));
    }

    #[test]
    fn mistakes_are_named_with_what_was_meant() {
        for (text, message) in [
            (
                format!("{SPACE}[run]\ntrails = 3"),
                "unknown key `trails` in [run]; did you mean `trials`?",
            ),
            (
                format!("{SPACE}[run]\nworkers = 0"),
                "[run] workers: at least 1 is needed",
            ),
            (
                format!("{SPACE}[run]\nstrategy = 'randm'"),
                "[run] strategy: there is no strategy `randm`; did you mean `random`?",
            ),
            (
                format!("{SPACE}[run]\nlease = 'soon'"),
                "[run] lease: `soon` is no time; write it like \"30s\", \"10m\" or \"2h 30m\"",
            ),
            (
                format!("{SPACE}[run]\nlease = '1ms'"),
                "[run] lease: `1ms` is less than 100ms",
            ),
            (
                format!("{SPACE}[objective]\nshell = 'true'\ntimeout = '5M'"),
                "[objective]: timeout: `5M` would be months; write it like \"30s\", \"10m\" or \"2h 30m\"",
            ),
            (
                format!("{SPACE}[objective]\nshell = 'true'\ntimeout = 30"),
                "[objective]: timeout: `30` is no time; write it like \"30s\", \"10m\" or \"2h 30m\"",
            ),
            (String::new(), "[parameters]: there is none"),
        ] {
            assert_eq!(file(&text).unwrap_err(), message);
        }
        let typed = file(&format!("{SPACE}[run]\ntrials = 'ten'")).unwrap_err();
        assert!(
            typed.contains("line 4") && typed.contains("expected u64"),
            "{typed}"
        );
    }
}
