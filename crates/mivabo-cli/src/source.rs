//! Where a stored study is: a study file, or a database and a name.

use std::path::{Path, PathBuf};

use mivabo::view::StudyView;
use mivabo_store::{Definition, Location, Session, Store};
use mivabo_work::StudyFile;

use crate::error::Error;
use crate::input::read;
use crate::text::is_standard_input;

/// A study, as commands take it.
#[derive(Debug, clap::Args)]
pub struct Source {
    /// The study file (.toml or .json), or a database
    pub file: PathBuf,
    /// The study's name, if the database holds several
    #[arg(long, value_name = "NAME")]
    pub study: Option<String>,
}

/// Which study of which place.
struct Place {
    location: Location,
    /// Where it is known.
    name: Option<String>,
}

impl Source {
    /// The study to look at.
    pub fn read(&self) -> Result<Session, Error> {
        self.read_with_place().map(|(session, _)| session)
    }

    /// The study to look at, as it is shown.
    pub fn view(&self) -> Result<StudyView, Error> {
        Ok(self.read()?.view()?)
    }

    /// The study to look at, and its database.
    pub fn read_with_place(&self) -> Result<(Session, PathBuf), Error> {
        let place = self.place()?;
        let path = database(&self.file, &place.location)?.to_owned();
        if !place.location.exists() && self.is_study_file() {
            return Err(Error::NotBegun {
                place: place.location,
                file: self.file.clone(),
            });
        }
        place.check_there()?;
        let store = Store::look(&place.location)?;
        Ok((place.load(store)?, path))
    }

    /// The study to work on; made if a study file describes it.
    pub fn write(&self) -> Result<Session, Error> {
        if self.is_study_file() {
            let file = read_study_file(&self.file)?;
            if self.study.as_ref().is_none_or(|name| *name == file.name) {
                database(&file.path, &file.location)?;
                say_waits(&file.location);
                return open(&Described {
                    path: &file.path,
                    name: &file.name,
                    location: &file.location,
                    definition: &file.definition,
                });
            }
        }
        self.existing()
    }

    /// The study to work on, as it is stored.
    pub fn existing(&self) -> Result<Session, Error> {
        let place = self.place()?;
        database(&self.file, &place.location)?;
        place.check_there()?;
        say_waits(&place.location);
        let store = Store::open_existing(&place.location)?;
        place.load(store).map(named)
    }

    fn is_study_file(&self) -> bool {
        let ending = self.file.extension();
        is_standard_input(&self.file) || ending.is_some_and(|end| end == "toml" || end == "json")
    }

    /// The place, and the study's name if it is known. Standard input can be read only once.
    fn place(&self) -> Result<Place, Error> {
        if self.is_study_file() {
            let file = read_study_file(&self.file)?;
            return Ok(Place {
                location: file.location,
                name: Some(self.study.clone().unwrap_or(file.name)),
            });
        }
        Ok(Place {
            location: location(&self.file)?,
            name: self.study.clone(),
        })
    }
}

impl Place {
    fn check_there(&self) -> Result<(), Error> {
        if self.location.exists() {
            return Ok(());
        }
        Err(Error::NotThere {
            place: self.location.clone(),
        })
    }

    /// The study of the name, or the only one.
    fn load(self, store: Store) -> Result<Session, Error> {
        let Place { location, name } = self;
        let refused = |why| Error::Study {
            place: location.clone(),
            why: Box::new(why),
        };
        let name = match name {
            Some(name) => name,
            None => only(store.studies().map_err(refused)?, &location)?,
        };
        Session::load(store, &name).map_err(refused)
    }
}

/// The name of the only study.
fn only(studies: Vec<mivabo_store::StudyEntry>, place: &Location) -> Result<String, Error> {
    let place = place.clone();
    let mut names: Vec<String> = studies.into_iter().map(|study| study.name).collect();
    match (names.pop(), names.is_empty()) {
        (Some(only), true) => Ok(only),
        (None, _) => Err(Error::NoStudy { place }),
        (Some(last), false) => {
            names.push(last);
            Err(Error::SeveralStudies { place, names })
        }
    }
}

/// The place of a database that was typed as an argument: a path, or an address.
fn location(argument: &Path) -> Result<Location, Error> {
    match argument.to_str() {
        Some(text) if text.contains("://") => {
            Ok(text.parse().map_err(mivabo_store::Error::from)?)
        }
        _ => Ok(Location::from(argument)),
    }
}

/// Reads and checks a study file; standard input for `-`.
pub fn read_study_file(path: &Path) -> Result<StudyFile, Error> {
    let text = read(path)?;
    StudyFile::parse(path, &text).map_err(|mistake| Error::StudyFile {
        path: path.to_owned(),
        mistake,
    })
}

/// The file of a study. What one command keeps in memory no other one finds.
pub fn database<'a>(study_file: &Path, location: &'a Location) -> Result<&'a Path, Error> {
    location.path().ok_or_else(|| Error::InMemory {
        path: study_file.to_owned(),
    })
}

/// From now on a long wait for the turn to write here is said.
pub fn say_waits(location: &Location) {
    let place = location.clone();
    mivabo_store::on_long_wait(move |awaited| {
        say!("waiting for `{place}`, {awaited}");
    });
}

/// A study as its file, and what was typed beside that, describe it.
pub struct Described<'a> {
    /// The file.
    pub path: &'a Path,
    /// The name of the study.
    pub name: &'a str,
    /// Where it is kept.
    pub location: &'a Location,
    /// Space, aims, strategy, seed.
    pub definition: &'a Definition,
}

/// The study that is described, made if there is none.
pub fn open(described: &Described<'_>) -> Result<Session, Error> {
    let place = || described.location.clone();
    let store = Store::open(described.location)?;
    let session = Session::open(store, described.name, described.definition);
    let session = session.map_err(|why| match why {
        mivabo_store::Error::Differs { name, differences } => Error::Differs {
            path: described.path.to_owned(),
            study: name,
            place: place(),
            differences,
        },
        why => Error::Study {
            place: place(),
            why: Box::new(why),
        },
    })?;
    say_taken(&session);
    Ok(named(session))
}

/// The stored study of a file, however it is defined there; only to be looked at if that is asked for.
pub fn stored(file: &StudyFile, is_looking: bool) -> Result<Session, Error> {
    let place = Place {
        location: file.location.clone(),
        name: Some(file.name.clone()),
    };
    database(&file.path, &file.location)?;
    if !place.location.exists() {
        return Err(Error::NotBegun {
            place: place.location,
            file: file.path.clone(),
        });
    }
    say_waits(&file.location);
    let store = if is_looking {
        Store::look(&file.location)?
    } else {
        Store::open_existing(&file.location)?
    };
    place.load(store).map(named)
}

/// Says what is otherwise than when the study was made, where nothing was told since.
fn say_taken(session: &Session) {
    let taken = session.taken();
    if taken.is_empty() {
        return;
    }
    let name = session.name();
    say!("study `{name}` had no results yet, and is now as the file says:");
    for difference in taken {
        say!("  {difference}");
    }
}

/// Says why the first trial is not the point of all defaults, in a study that begins.
pub fn say_defaults(session: &Session) {
    if session.study().n_trials() > 0 {
        return;
    }
    if let Some(Err(why)) = session.space().default_point() {
        say!("{why}");
    }
}

/// Workers on several machines need different names.
fn named(session: Session) -> Session {
    let host = nix::unistd::gethostname();
    let host = host.map_or("host".into(), |host| host.to_string_lossy().into_owned());
    session.with_worker(format!("{host}:{}", std::process::id()))
}
