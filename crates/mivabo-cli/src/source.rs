//! Where a stored study is: a study file or a database enters, a [`Session`] leaves.

use std::path::{Path, PathBuf};

use mivabo::view::StudyView;
use mivabo_store::{Session, Sqlite, Store};

use crate::Failure;
use crate::study_file::StudyFile;

/// A study, as commands take it.
#[derive(Debug, clap::Args)]
pub struct Source {
    /// The study file (.toml or .json), or a database
    pub file: PathBuf,
    /// The study's name, for a database that holds several
    #[arg(long, value_name = "NAME")]
    pub study: Option<String>,
}

impl Source {
    /// The study to look at.
    pub fn read(&self) -> Result<Session, Failure> {
        self.read_with_place().map(|(session, _)| session)
    }

    /// The study to look at, as it is shown.
    pub fn view(&self) -> Result<StudyView, Failure> {
        let session = self.read()?;
        session.view().map_err(|error| error.to_string())
    }

    /// The study to look at, and its database.
    pub fn read_with_place(&self) -> Result<(Session, PathBuf), Failure> {
        let (path, name) = self.place()?;
        if !path.exists() {
            let place = path.display();
            return Err(if self.is_study_file() {
                format!(
                    "{place} does not exist yet; `mivabo run {}` makes it",
                    self.file.display()
                )
            } else {
                format!("{place} does not exist")
            });
        }
        let store = Store::new(Sqlite::open_read_only(&path).map_err(|e| e.to_string())?);
        Ok((load(store, name, &path)?, path))
    }

    /// The study to work on; made if a study file describes it.
    pub fn write(&self) -> Result<Session, Failure> {
        if self.is_study_file() {
            let file = StudyFile::read(&self.file)?;
            if self.study.as_ref().is_none_or(|name| *name == file.name) {
                say_waits(&file.storage);
                return open(&file);
            }
        }
        self.existing()
    }

    /// The study to work on, as it is stored.
    pub fn existing(&self) -> Result<Session, Failure> {
        let (path, name) = self.place()?;
        if !path.exists() {
            return Err(format!("{} does not exist", path.display()));
        }
        say_waits(&path);
        let store = Store::new(Sqlite::open(&path).map_err(|e| e.to_string())?);
        load(store, name, &path).map(named)
    }

    fn is_study_file(&self) -> bool {
        self.file.as_os_str() == "-"
            || self
                .file
                .extension()
                .is_some_and(|e| e == "toml" || e == "json")
    }

    /// The database, and the study's name if it is known. Standard input can be read only once.
    fn place(&self) -> Result<(PathBuf, Option<String>), Failure> {
        if self.is_study_file() {
            let file = StudyFile::read(&self.file)?;
            return Ok((file.storage, Some(self.study.clone().unwrap_or(file.name))));
        }
        Ok((self.file.clone(), self.study.clone()))
    }
}

/// From now on a long wait for the turn to write this database is said.
pub fn say_waits(path: &Path) {
    let path = path.to_owned();
    mivabo_store::on_long_wait(move |awaited| {
        say!("waiting for `{}`, {awaited}", path.display());
    });
}

/// The study of a study file, made if there is none.
pub fn open(file: &StudyFile) -> Result<Session, Failure> {
    let store = Store::new(Sqlite::open(&file.storage).map_err(|e| e.to_string())?);
    let session = Session::open(store, &file.name, &file.definition);
    session
        .map(named)
        .map_err(|e| format!("{}: {e}", file.storage.display()))
}

/// Workers on several machines need different names.
fn named(session: Session) -> Session {
    let host = nix::unistd::gethostname()
        .map_or("host".into(), |host| host.to_string_lossy().into_owned());
    session.with_worker(format!("{host}:{}", std::process::id()))
}

fn load(store: Store, name: Option<String>, path: &Path) -> Result<Session, Failure> {
    let failed = |e: mivabo_store::Error| format!("{}: {e}", path.display());
    let name = match name {
        Some(name) => name,
        None => match store.studies().map_err(failed)?.as_slice() {
            [only] => only.name.clone(),
            [] => return Err(format!("{}: there is no study in it", path.display())),
            several => {
                let names: Vec<&str> = several.iter().map(|study| study.name.as_str()).collect();
                return Err(format!(
                    "{}: there are several studies; choose one by --study: `{}`",
                    path.display(),
                    names.join("`, `")
                ));
            }
        },
    };
    Session::load(store, &name).map_err(failed)
}
