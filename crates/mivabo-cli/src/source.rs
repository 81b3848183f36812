//! Where a stored study is: a study file, or a database and a name.

use std::path::{Path, PathBuf};

use mivabo::view::StudyView;
use mivabo_store::{Definition, Location, Session, Store, StudyEntry};
use mivabo_work::{Plan, StudyFile};

use crate::error::Error;
use crate::input::read;
use crate::text::is_standard_input;

/// A study, as commands take it.
#[derive(Debug, clap::Args)]
pub struct Source {
    /// The study file (.toml or .json), or a database
    #[arg(value_name = "STUDY")]
    pub file: PathBuf,
    /// The study's name, if the database holds several
    #[arg(long, value_name = "NAME")]
    pub study: Option<String>,
}

/// A study to look at.
pub struct Found {
    /// The study.
    pub session: Session,
    /// The file that keeps it.
    pub database: PathBuf,
    /// Its study file, where that was named.
    pub file: Option<StudyFile>,
}

/// A study as it is kept, whatever its definition means.
pub struct KeptStudy {
    /// What keeps it.
    pub store: Store,
    /// Where that is.
    pub location: Location,
    /// Which one it is.
    pub study: StudyEntry,
}

/// Which study of which place.
struct Place {
    location: Location,
    /// Where it is known.
    name: Option<String>,
    /// Where one was named.
    file: Option<StudyFile>,
}

impl Source {
    /// The study to look at.
    pub fn read(&self) -> Result<Session, Error> {
        self.find().map(|found| found.session)
    }

    /// The study to look at, as it is shown.
    pub fn view(&self) -> Result<StudyView, Error> {
        Ok(self.read()?.view()?)
    }

    /// The study to look at, and where it is said.
    pub fn find(&self) -> Result<Found, Error> {
        let mut place = self.place()?;
        let database = database(&self.file, &place.location)?.to_owned();
        let file = place.file.take();
        let session = self.look(place)?;
        Ok(Found {
            // Another study of the same database may be evaluated by anything.
            file: file.filter(|file| file.name == session.name()),
            session,
            database,
        })
    }

    fn look(&self, place: Place) -> Result<Session, Error> {
        if !place.location.exists() && is_study_file(&self.file) {
            return Err(Error::NotBegun {
                place: place.location,
                file: self.file.clone(),
            });
        }
        place.check_there()?;
        let store = Store::look(&place.location)?;
        place.load(store)
    }

    /// The study to work on; made if a study file describes it.
    pub fn write(&self) -> Result<Session, Error> {
        if is_study_file(&self.file) {
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

    /// The study as it is kept. It need not be possible to work on it.
    pub fn kept(&self) -> Result<KeptStudy, Error> {
        let place = self.place()?;
        database(&self.file, &place.location)?;
        place.check_there()?;
        say_waits(&place.location);
        let store = Store::open_existing(&place.location)?;
        place.entry(store)
    }

    /// The place, and the study's name if it is known. Standard input can be read only once.
    fn place(&self) -> Result<Place, Error> {
        if is_study_file(&self.file) {
            let file = read_study_file(&self.file)?;
            let name = self.study.as_ref().unwrap_or(&file.name);
            return Ok(Place {
                location: file.location.clone(),
                name: Some(name.clone()),
                file: Some(file),
            });
        }
        Ok(Place {
            location: location(&self.file)?,
            name: self.study.clone(),
            file: None,
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

    /// The entry of the name, or the only one.
    fn entry(self, store: Store) -> Result<KeptStudy, Error> {
        let Place { location, name, .. } = self;
        let refused = |why| Error::Study {
            place: location.clone(),
            why: Box::new(why),
        };
        let studies = store.studies().map_err(refused)?;
        let known: Vec<String> = studies.iter().map(|study| study.name.clone()).collect();
        let name = match name {
            Some(name) => name,
            None => only(known.clone(), &location)?,
        };
        let found = studies.into_iter().find(|study| study.name == name);
        let missing = || refused(mivabo_store::Error::NoStudy { name, known });
        let study = found.ok_or_else(missing)?;
        Ok(KeptStudy {
            store,
            location,
            study,
        })
    }

    /// The study of the name, or the only one.
    fn load(self, store: Store) -> Result<Session, Error> {
        let KeptStudy {
            store,
            location,
            study,
        } = self.entry(store)?;
        Session::load(store, &study.name).map_err(|why| Error::Study {
            place: location,
            why: Box::new(why),
        })
    }
}

/// The name of the only study.
fn only(mut names: Vec<String>, place: &Location) -> Result<String, Error> {
    let place = place.clone();
    match (names.pop(), names.is_empty()) {
        (Some(only), true) => Ok(only),
        (None, _) => Err(Error::NoStudy { place }),
        (Some(last), false) => {
            names.push(last);
            Err(Error::SeveralStudies { place, names })
        }
    }
}

fn is_study_file(argument: &Path) -> bool {
    let ending = argument.extension();
    is_standard_input(argument) || ending.is_some_and(|end| end == "toml" || end == "json")
}

/// The database of a study file, or the one that was typed itself.
pub fn database_of(argument: &Path) -> Result<Location, Error> {
    if !is_study_file(argument) {
        return location(argument);
    }
    let file = read_study_file(argument)?;
    database(&file.path, &file.location)?;
    Ok(file.location)
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

impl<'a> Described<'a> {
    /// As a run needs it.
    pub fn by(plan: &'a Plan) -> Described<'a> {
        Described {
            path: &plan.path,
            name: &plan.name,
            location: &plan.location,
            definition: &plan.definition,
        }
    }
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
        file: None,
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
