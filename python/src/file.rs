//! Study files of the command line: a path enters; name, database and definition of the study leave.
//!
//! What only a run of the command line needs, its objective and its workers, is not looked at.

use std::path::{Path, PathBuf};

use mivabo::{Error, Space};
use mivabo_store::{Definition, default_strategy, direction_named};
use serde::Deserialize;

/// What a study file says about the study.
pub struct StudyFile {
    /// The study's name; that of the file where it says none.
    pub name: String,
    /// The database.
    pub storage: PathBuf,
    /// Space, direction, strategy, seed.
    pub definition: Definition,
}

#[derive(Deserialize)]
struct File {
    name: Option<String>,
    direction: Option<String>,
    #[serde(default)]
    run: Run,
}

#[derive(Deserialize, Default)]
struct Run {
    seed: Option<u64>,
    strategy: Option<String>,
    n_initial: Option<usize>,
    storage: Option<PathBuf>,
}

impl StudyFile {
    /// The study of this file, whose text was read.
    ///
    /// # Errors
    /// [`Error::File`], or what is wrong with the space.
    pub fn parse(path: &Path, text: &str) -> Result<StudyFile, Error> {
        let bad = |message: String| Error::File { message: message.trim_end().to_owned() };
        let is_json = path.extension().is_some_and(|extension| extension == "json");
        let space = if is_json { Space::from_json(text) } else { Space::from_toml(text) }?;
        let file: File = if is_json {
            serde_json::from_str(text).map_err(|error| bad(error.to_string()))?
        } else {
            toml::from_str(text).map_err(|error| bad(error.to_string()))?
        };
        let direction = file.direction.as_deref().unwrap_or("minimize");
        let direction = direction_named(direction).ok_or_else(|| {
            bad(format!("direction: expected \"minimize\" or \"maximize\", not \"{direction}\""))
        })?;
        let stem = path.file_stem().map_or("study".into(), |stem| stem.to_string_lossy().into_owned());
        let storage = file.run.storage.unwrap_or_else(|| PathBuf::from(format!("{stem}.db")));
        let definition = Definition {
            space,
            direction,
            strategy: file.run.strategy.unwrap_or_else(|| default_strategy().to_owned()),
            seed: file.run.seed.unwrap_or(0),
            n_initial: file.run.n_initial,
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        Ok(StudyFile { name: file.name.unwrap_or(stem), storage: folder.join(storage), definition })
    }
}
