//! What a database still has after it was damaged.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use mivabo_store::{Location, Session, Store};

/// The told trials that a file still has; none where it is elsewhere or cannot be read.
///
/// A copy is asked: the file itself is refused while it is open here, and when something is missing in it.
pub fn still_told(location: &Location, study: &str) -> Option<BTreeSet<u64>> {
    let path = location.path().filter(|path| path.is_file())?;
    let folder = tempfile::tempdir().ok()?;
    let copy = folder.path().join("copy.db");
    for ending in ["", "-wal"] {
        let part = with_ending(path, ending);
        if part.is_file() {
            std::fs::copy(part, with_ending(&copy, ending)).ok()?;
        }
    }
    // What is left may not be a database any more: then nothing of it is.
    let session = Store::open(&Location::from(copy)).and_then(|store| Session::load(store, study));
    let Ok(session) = session else {
        return Some(BTreeSet::new());
    };
    let told = session.trials().iter().filter(|trial| trial.is_told());
    Some(told.map(|trial| trial.id).collect())
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
