//! What a database still has after it was damaged.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use mivabo_store::{Error, Location, Record, Session, Store};
use tempfile::TempDir;

/// The file and its log: what was told last may be in the log alone.
const PARTS: [&str; 2] = ["", "-wal"];

/// The told trials that a file still has; nothing where nobody can say.
pub fn still_told(location: &Location, study: &str) -> Option<BTreeSet<u64>> {
    let path = location.path()?;
    // Whether it was moved or removed cannot be seen: what nobody finds under its name counts as lost.
    if !path.try_exists().ok()? {
        return Some(BTreeSet::new());
    }
    // A copy is asked: the file itself is refused while it is open here, and when something is missing in it.
    let folder = copied(path).ok()?;
    // What is left may not be a database any more: then nothing of it is.
    Some(told_in(&folder.path().join(COPY), study).unwrap_or_default())
}

const COPY: &str = "copy.db";

/// A folder with a copy of the database.
fn copied(path: &Path) -> io::Result<TempDir> {
    let folder = tempfile::tempdir()?;
    let copy = folder.path().join(COPY);
    for ending in PARTS {
        let part = with_ending(path, ending);
        if part.is_file() {
            std::fs::copy(part, with_ending(&copy, ending))?;
        }
    }
    Ok(folder)
}

fn told_in(database: &Path, study: &str) -> Result<BTreeSet<u64>, Error> {
    let store = Store::open(&Location::from(database))?;
    let session = Session::load(store, study)?;
    let records = session.records()?.into_iter();
    let told = records.filter(Record::is_told);
    Ok(told.map(|record| record.id).collect())
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
