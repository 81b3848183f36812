//! What a file remembers while it is open, and after its processes were killed: where its log is, and the last change that was
//! acknowledged.
//!
//! SQLite keeps the log beside the name by which the file was opened, and finds no log under another name of the same file (a
//! hard link, a bind mount). So both are extended attributes of the file itself. They hold the number of the file, so that
//! those that a copy brought along do not speak of the copy. The last connection to close the file removes the first one. The second
//! stays: a log may have a second name too (`cp -al` of a folder that is in use), and would take the file back to an older state. Where
//! the file system has no extended attributes, nothing is remembered.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::place::{Key, Place};
use super::{beside, identity, length};
use crate::record::{Revision, StudyId};

const LOG: &str = "user.mivabo.log";
const LAST: &str = "user.mivabo.last";

/// Where the log of a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    /// The number of the log, and that of its folder.
    pub(super) log: u64,
    folder: u64,
    /// By which the file was opened; empty where it is too long for an attribute.
    pub(super) path: PathBuf,
}

/// The last change that was acknowledged. Whoever sees it sees all before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LastChange {
    pub(super) study: StudyId,
    pub(super) revision: Revision,
}

impl Mark {
    pub(super) fn of(path: &Path, place: Place) -> Option<Mark> {
        Some(Mark {
            log: place.log?.1,
            folder: number_of(path.parent()?)?,
            path: path.to_owned(),
        })
    }

    /// Whether this path is the name by which the file was opened, wherever its folder is mounted.
    pub(super) fn has_name(&self, path: &Path) -> bool {
        path.file_name() == self.path.file_name()
            && path.parent().and_then(number_of) == Some(self.folder)
    }

    /// Whether the log can be seen not to exist any more, or to be empty: then nothing is left to be written into the file.
    pub(super) fn is_over(&self, path: &Path) -> bool {
        let Some(name) = self.path.file_name() else {
            return false;
        };
        let folders = [path.parent(), self.path.parent()];
        let seen = folders
            .into_iter()
            .flatten()
            .find(|folder| number_of(folder) == Some(self.folder));
        seen.is_some_and(|folder| {
            let log = beside(&folder.join(name), "-wal");
            number_of(&log) != Some(self.log) || length(&log) == 0
        })
    }
}

fn number_of(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().map(|data| identity(&data).1)
}

/// The mark that speaks of this file.
pub(super) fn get(file: &File, (_, number): Key) -> Option<Mark> {
    let text = attribute::get(file, LOG)?;
    let mut parts = text.splitn(4, |byte| *byte == b' ');
    let mut next = || parts.next();
    if natural(next()?)? != number {
        return None;
    }
    Some(Mark {
        log: natural(next()?)?,
        folder: natural(next()?)?,
        path: attribute::path(next()?),
    })
}

pub(super) fn set(file: &File, key: Key, mark: &Mark) {
    if get(file, key).as_ref() == Some(mark) {
        return;
    }
    let numbers = format!("{} {} {} ", key.1, mark.log, mark.folder).into_bytes();
    let whole = [&numbers, mark.path.as_os_str().as_encoded_bytes()].concat();
    // A path may be too long.
    if !attribute::set(file, LOG, &whole) {
        attribute::set(file, LOG, &numbers);
    }
}

/// The last change that speaks of this file.
pub(super) fn last(file: &File, (_, number): Key) -> Option<LastChange> {
    let text = attribute::get(file, LAST)?;
    let numbers: Option<Vec<u64>> = text.split(|byte| *byte == b' ').map(natural).collect();
    match numbers?.as_slice() {
        [of, study, revision] if *of == number => Some(LastChange {
            study: StudyId(*study),
            revision: Revision(*revision),
        }),
        _ => None,
    }
}

pub(super) fn set_last(file: &File, (_, number): Key, last: LastChange) {
    attribute::set(
        file,
        LAST,
        format!("{number} {} {}", last.study.0, last.revision.0).as_bytes(),
    );
}

pub(super) fn remove(file: &File) {
    attribute::remove(file, LOG);
}

pub(super) fn remove_last(file: &File) {
    attribute::remove(file, LAST);
}

fn natural(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Extended attributes, where there are any. What cannot be written is left out.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod attribute {
    use std::ffi::OsStr;
    use std::fs::File;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::PathBuf;

    use rustix::fs::{XattrFlags, fgetxattr, fremovexattr, fsetxattr};

    /// The longest path, and some numbers.
    const LONGEST: usize = 4200;

    pub(super) fn get(file: &File, name: &str) -> Option<Vec<u8>> {
        let mut text = vec![0; LONGEST];
        let length = fgetxattr(file, name, text.as_mut_slice()).ok()?;
        text.truncate(length);
        Some(text)
    }

    pub(super) fn set(file: &File, name: &str, text: &[u8]) -> bool {
        fsetxattr(file, name, text, XattrFlags::empty()).is_ok()
    }

    pub(super) fn remove(file: &File, name: &str) {
        fremovexattr(file, name).ok();
    }

    pub(super) fn path(bytes: &[u8]) -> PathBuf {
        PathBuf::from(OsStr::from_bytes(bytes))
    }
}

/// Elsewhere nobody holds the file beside its connection.
#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
mod attribute {
    use std::fs::File;
    use std::path::PathBuf;

    pub(super) fn get(_file: &File, _name: &str) -> Option<Vec<u8>> {
        None
    }

    pub(super) fn set(_file: &File, _name: &str, _text: &[u8]) -> bool {
        true
    }

    pub(super) fn remove(_file: &File, _name: &str) {}

    pub(super) fn path(_bytes: &[u8]) -> PathBuf {
        PathBuf::new()
    }
}
