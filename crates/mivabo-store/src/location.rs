//! Where studies are kept, and how a user writes it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where studies are kept.
///
/// ```
/// use std::path::Path;
/// use mivabo_store::Location;
///
/// let written: Location = "runs/cnn.db".parse()?;
/// assert_eq!(written, "sqlite:///runs/cnn.db".parse()?);
/// assert_eq!(written.within(Path::new("/home/ada")), Location::File("/home/ada/runs/cnn.db".into()));
/// assert_eq!("memory".parse(), Ok(Location::Memory));
/// assert!("postgresql://db/studies".parse::<Location>().is_err());
/// # Ok::<(), mivabo_store::LocationError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "String")]
#[non_exhaustive]
pub enum Location {
    /// In the memory of this process, for as long as the store is open.
    Memory,
    /// In a SQLite file.
    File(PathBuf),
}

/// A text that does not say where studies are kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LocationError {
    /// The text is empty.
    #[error("the storage is empty; expected {EXPECTED}")]
    Empty,
    /// The address of a database server.
    #[error("storage `{text}`: databases on a server are not supported yet; expected {EXPECTED}")]
    Server {
        /// The address, without the user's name and password.
        text: String,
    },
    /// The address of something else.
    #[error("storage `{text}`: {why}; expected {EXPECTED}")]
    BadAddress {
        /// The address, without the user's name and password.
        text: String,
        /// What is wrong with it.
        why: String,
    },
}

const EXPECTED: &str = "`memory`, the path of a file, or `sqlite:///PATH`";

impl Location {
    /// The same place where relative paths start from `folder`.
    pub fn within(self, folder: &Path) -> Location {
        match self {
            Location::Memory => Location::Memory,
            Location::File(path) => Location::File(folder.join(path)),
        }
    }

    /// The file, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Location::Memory => None,
            Location::File(path) => Some(path),
        }
    }

    /// Whether something is there already. Memory is always new.
    pub fn exists(&self) -> bool {
        self.path().is_some_and(Path::exists)
    }
}

impl FromStr for Location {
    type Err = LocationError;

    /// Reads `memory` (or `:memory:`), `sqlite:///PATH`, and takes everything else that is not an address for the path of a file.
    fn from_str(text: &str) -> Result<Location, LocationError> {
        if text.is_empty() {
            return Err(LocationError::Empty);
        }
        if text == "memory" || text == ":memory:" {
            return Ok(Location::Memory);
        }
        match scheme(text) {
            None => Ok(Location::File(PathBuf::from(text))),
            Some(("sqlite", rest)) => of_sqlite_address(text, rest),
            Some((name, _)) if is_server(name) => Err(LocationError::Server {
                text: without_user(text),
            }),
            Some(_) => Err(bad_address(text, "this kind of address is not known")),
        }
    }
}

impl TryFrom<String> for Location {
    type Error = LocationError;

    fn try_from(text: String) -> Result<Location, LocationError> {
        text.parse()
    }
}

/// The file of this name, whatever the name looks like.
impl From<PathBuf> for Location {
    fn from(path: PathBuf) -> Location {
        Location::File(path)
    }
}

impl From<&Path> for Location {
    fn from(path: &Path) -> Location {
        Location::File(path.to_owned())
    }
}

impl fmt::Display for Location {
    /// Writes what [`FromStr`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Memory => f.write_str("memory"),
            Location::File(path) => {
                let text = path.to_string_lossy();
                // A file may be called `memory`.
                let is_read_as_itself = text.parse() == Ok(Location::File(text.as_ref().into()));
                let here = if is_read_as_itself { "" } else { "./" };
                write!(f, "{here}{text}")
            }
        }
    }
}

/// The two sides of `://`, if what stands before it is the name of a scheme.
fn scheme(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once("://")?;
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    is_name.then_some((name, rest))
}

/// Whether it names a database on a server, perhaps with a driver as in `postgresql+psycopg2`.
fn is_server(scheme: &str) -> bool {
    let database = scheme.split('+').next().unwrap_or(scheme);
    ["postgresql", "postgres", "mysql", "mariadb"].contains(&database)
}

/// Three slashes begin a relative path and four an absolute one, as elsewhere.
fn of_sqlite_address(text: &str, rest: &str) -> Result<Location, LocationError> {
    let Some(path) = rest.strip_prefix('/') else {
        return Err(bad_address(
            text,
            "a path follows three slashes, or four if it is absolute",
        ));
    };
    if let Some((_, options)) = path.split_once('?') {
        return Err(bad_address(text, &unknown_option(options)));
    }
    match path {
        "" => Err(bad_address(text, "the path is missing")),
        ":memory:" => Ok(Location::Memory),
        path => Ok(Location::File(PathBuf::from(path))),
    }
}

/// What is wrong with the first option of an address: there are none.
fn unknown_option(options: &str) -> String {
    let first = options.split('&').next().unwrap_or(options);
    let name = first.split_once('=').map_or(first, |(name, _)| name);
    let instead = match name {
        "timeout" => ": a call waits for its turns to write as long as others write, and says so",
        _ => "",
    };
    format!("the option `{name}` is not supported{instead}")
}

fn bad_address(text: &str, why: &str) -> LocationError {
    LocationError::BadAddress {
        text: without_user(text),
        why: why.to_owned(),
    }
}

/// An address as it may be shown: passwords stay out of messages and logs.
fn without_user(text: &str) -> String {
    match text.split_once("://") {
        Some((scheme, rest)) => {
            let shown = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
            format!("{scheme}://{shown}")
        }
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(path: &str) -> Location {
        Location::File(path.into())
    }

    fn refused(text: &str) -> String {
        text.parse::<Location>().unwrap_err().to_string()
    }

    #[test]
    fn each_way_to_write_a_place_is_read() {
        for (text, place) in [
            ("memory", Location::Memory),
            (":memory:", Location::Memory),
            ("sqlite:///:memory:", Location::Memory),
            ("a.db", file("a.db")),
            ("./memory", file("./memory")),
            ("memory.db", file("memory.db")),
            ("50% größer #1?.db", file("50% größer #1?.db")),
            ("C:\\a.db", file("C:\\a.db")),
            ("sqlite:///a/b.db", file("a/b.db")),
            ("sqlite:////a/b.db", file("/a/b.db")),
        ] {
            assert_eq!(text.parse(), Ok(place), "{text}");
        }
    }

    #[test]
    fn what_is_refused_is_named_and_so_is_what_was_expected() {
        for (text, said) in [
            ("", "the storage is empty"),
            (
                "sqlite://a.db",
                "`sqlite://a.db`: a path follows three slashes",
            ),
            ("sqlite:///", "`sqlite:///`: the path is missing"),
            (
                "sqlite:///a.db?mode=ro&timeout=3",
                "the option `mode` is not supported; expected",
            ),
            (
                "sqlite:///a.db?timeout=3",
                "the option `timeout` is not supported: a call waits for its turns to write",
            ),
            (
                "http://host/a.db",
                "`http://host/a.db`: this kind of address is not known",
            ),
        ] {
            let message = refused(text);
            assert!(message.contains(said), "{message}");
            assert!(message.ends_with(EXPECTED), "{message}");
        }
    }

    #[test]
    fn servers_are_not_supported_yet_and_their_passwords_are_not_shown() {
        for text in [
            "postgresql://ada:s3cr@t@db:5432/studies",
            "postgres://db:5432/studies",
            "postgresql+psycopg2://ada@db:5432/studies",
        ] {
            let message = refused(text);
            assert!(
                message.contains("on a server are not supported yet"),
                "{message}"
            );
            assert!(message.contains("://db:5432/studies`"), "{message}");
            assert!(!message.contains("ada"), "{message}");
        }
    }

    #[test]
    fn relative_paths_start_from_a_folder_and_absolute_ones_stay() {
        let folder = Path::new("/studies");

        assert_eq!(Location::Memory.within(folder), Location::Memory);
        assert_eq!(file("a.db").within(folder), file("/studies/a.db"));
        assert_eq!(file("/b/a.db").within(folder), file("/b/a.db"));
    }

    proptest! {
        #[test]
        fn a_place_that_is_written_is_read_as_itself(text in "(memory|:memory:|sqlite:///|http://|)[ -~ö/]{1,12}") {
            let place = file(&text);

            let again: Location = place.to_string().parse().unwrap();

            // `./` in front of a path is not another path.
            let plain = |place: &Location| place.path().map(|path| path.components().filter(|c| c.as_os_str() != ".").collect::<PathBuf>());
            prop_assert_eq!(plain(&again), plain(&place));
        }
    }
}
