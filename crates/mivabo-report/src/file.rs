//! Writes files that appear whole or not at all, and replaces nothing but older pages.
//!
//! The text is written beside the file that it becomes and then takes its name. So a full disk leaves the old file as it
//! was, nobody reads half of a new one, and no link is followed: the name changes, not what it led to.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use crate::page::FOOTER;

/// Bytes from the end of a page among which its footer is.
const END: u64 = 64 << 10;

/// What a new file may replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// Nothing.
    Nothing,
    /// A page of [`html`](crate::html), made by this or any earlier version.
    Page,
    /// Any file that is not a database, and any link: the link itself, not what it leads to.
    Any,
}

/// Why a file was not written. What had its name is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SaveError {
    /// Something has the name that only [`Over::Any`] replaces.
    #[error("{} {what}; it was left as it is", path.display())]
    Taken {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// Something has the name that is never replaced.
    #[error("{} {what}; it was left as it is", path.display())]
    Protected {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// The disk, or a folder.
    #[error("{}: {error}", path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        error: io::Error,
    },
}

impl SaveError {
    fn taken(path: &Path, what: &'static str) -> SaveError {
        SaveError::Taken {
            path: path.to_owned(),
            what,
        }
    }

    fn protected(path: &Path, what: &'static str) -> SaveError {
        SaveError::Protected {
            path: path.to_owned(),
            what,
        }
    }

    fn failed(path: &Path, error: io::Error) -> SaveError {
        SaveError::Failed {
            path: path.to_owned(),
            error,
        }
    }
}

/// Writes a file whole or not at all.
///
/// A new file has the permissions of any new file, one that replaces another has those of the other.
///
/// # Errors
/// [`SaveError`]; then nothing has changed.
pub fn save(path: &Path, text: &str, over: Over) -> Result<(), SaveError> {
    let failed = |error| SaveError::failed(path, error);
    let old = replaced(path, over)?;
    let mut file = beside(path).map_err(failed)?;
    fill(file.as_file_mut(), text, old.as_ref()).map_err(failed)?;
    rename(file, path, over)
}

/// Gives a finished file its name.
fn rename(file: NamedTempFile, path: &Path, over: Over) -> Result<(), SaveError> {
    let renamed = if over == Over::Nothing {
        file.persist_noclobber(path)
    } else {
        file.persist(path)
    };
    let Err(refused) = renamed else {
        return Ok(());
    };
    match refused.error.kind() {
        // Somebody else was faster: there was nothing of this name when it was looked for.
        io::ErrorKind::AlreadyExists => Err(SaveError::taken(path, "exists")),
        _ => Err(SaveError::failed(path, refused.error)),
    }
}

/// Like [`save`] for a path that somebody typed: a device, a FIFO, `/dev/stderr` or `/dev/fd/3` is written to as it is.
///
/// # Errors
/// [`SaveError`]. A FIFO or a device may have got a part of the text.
pub fn write(path: &Path, text: &str, over: Over) -> Result<(), SaveError> {
    if !is_stream(path) {
        return save(path, text, over);
    }
    // Appended: where `/dev/stderr` leads to a file, what stands there stays.
    let stream = OpenOptions::new().append(true).open(path);
    let written = stream.and_then(|mut stream| stream.write_all(text.as_bytes()));
    written.map_err(|error| SaveError::failed(path, error))
}

/// What a new file of this name replaces, if there is something and it may be replaced.
fn replaced(path: &Path, over: Over) -> Result<Option<Metadata>, SaveError> {
    let failed = |error| SaveError::failed(path, error);
    // Without following it: of a link, the link itself has the name.
    let old = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        old => old.map_err(failed)?,
    };
    match kept(path, &old, over).map_err(failed)? {
        Some(Kept::Taken(what)) => Err(SaveError::taken(path, what)),
        Some(Kept::Protected(what)) => Err(SaveError::protected(path, what)),
        // The link goes, and its permissions are not those of a file.
        None if old.is_symlink() => Ok(None),
        None => Ok(Some(old)),
    }
}

/// Why something is not replaced.
enum Kept {
    /// By force it would be.
    Taken(&'static str),
    /// It never is.
    Protected(&'static str),
}

/// Why what has the name is kept, if it is.
fn kept(path: &Path, old: &Metadata, over: Over) -> io::Result<Option<Kept>> {
    let kind = old.file_type();
    Ok(match over {
        Over::Nothing => Some(Kept::Taken("exists")),
        _ if kind.is_dir() => Some(Kept::Protected("is a folder")),
        Over::Any if kind.is_symlink() => None,
        Over::Page if kind.is_symlink() => Some(Kept::Taken("is a link")),
        _ if !kind.is_file() => Some(Kept::Protected("is a device, a FIFO or a socket")),
        // What cannot be read is not known to be a database; whether it is a page is asked next.
        _ if is_database(path).unwrap_or(false) => Some(Kept::Protected("is a database")),
        Over::Any => None,
        Over::Page if !is_page(path)? => Some(Kept::Taken("is not a report of mivabo")),
        Over::Page if old.permissions().readonly() => Some(Kept::Taken("is read-only")),
        Over::Page => None,
    })
}

fn is_database(path: &Path) -> io::Result<bool> {
    const MAGIC: &[u8] = b"SQLite format 3\0";
    let mut head = Vec::new();
    File::open(path)?
        .take(MAGIC.len() as u64)
        .read_to_end(&mut head)?;
    Ok(head == MAGIC)
}

/// Every version has written its pages with this footer; in text of users `<` is escaped.
fn is_page(path: &Path) -> io::Result<bool> {
    // The end alone: pages may be large, and the footer is near their end.
    let mut file = File::open(path)?;
    let start = file.metadata()?.len().saturating_sub(END);
    file.seek(SeekFrom::Start(start))?;
    let mut end = Vec::new();
    file.take(END).read_to_end(&mut end)?;
    Ok(String::from_utf8_lossy(&end).contains(FOOTER))
}

/// An empty file in the same folder; gone when it is dropped.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    // In another folder it might be on another disk, and could not take the name in one step.
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let mut builder = Builder::new();
    builder.prefix(".mivabo-").suffix(".tmp");
    // As for any new file; without this nobody else could read it.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder.unwrap_or(Path::new(".")))
}

fn fill(file: &mut File, text: &str, old: Option<&Metadata>) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    if let Some(old) = old {
        file.set_permissions(old.permissions())?;
    }
    // Some disks say only now that they are full.
    file.sync_all()
}

#[cfg(unix)]
fn is_stream(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    let kind = fs::metadata(path).map(|data| data.file_type());
    kind.is_ok_and(|kind| kind.is_fifo() || kind.is_char_device()) || is_descriptor(path)
}

#[cfg(not(unix))]
fn is_stream(_: &Path) -> bool {
    false
}

/// A link that the system made, such as `/dev/stderr` or `/dev/fd/3`, to whatever this process has open.
#[cfg(unix)]
fn is_descriptor(path: &Path) -> bool {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    path.is_symlink()
        && folder.is_some_and(|folder| folder == Path::new("/dev") || folder.starts_with("/proc"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last lines of a page, as the first version wrote them.
    const FIRST: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<main>\n</main>\n<footer>Made by mivabo 0.1.0.</footer>\n\
                         <script>\n</script>\n</body>\n</html>\n";

    fn after(old: &str, over: Over) -> (Result<(), SaveError>, String) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        fs::write(&path, old).unwrap();
        let saved = save(&path, "new", over);
        (saved, fs::read_to_string(&path).unwrap())
    }

    #[test]
    fn a_page_of_any_version_and_any_size_is_replaced() {
        for old in [FIRST.to_owned(), format!("{}{FIRST}", "x".repeat(1 << 20))] {
            let (saved, text) = after(&old, Over::Page);
            assert!(saved.is_ok() && text == "new", "{saved:?}");
        }
    }

    #[test]
    fn what_only_names_mivabo_is_kept() {
        for old in [
            "",
            "<!DOCTYPE html>\n<p>Made by mivabo 0.1.0.</p>\n",
            "&lt;footer&gt;Made by mivabo ",
        ] {
            let (saved, text) = after(old, Over::Page);
            assert!(
                matches!(saved, Err(SaveError::Taken { .. })) && text == old,
                "{saved:?}"
            );
        }
    }

    #[test]
    fn what_exists_is_kept_where_nothing_may_be_replaced() {
        let (saved, text) = after(FIRST, Over::Nothing);

        assert!(
            saved
                .unwrap_err()
                .to_string()
                .ends_with("page.html exists; it was left as it is")
        );
        assert_eq!(text, FIRST);
    }
}
