//! Backups: a database as it is at one moment, in a file of its own, while others go on with theirs.

use std::fs::File;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::backup::Backup;
use tempfile::NamedTempFile;

use super::look::Look;
use super::{absolute, beside, check_not_empty, refused, schema, translate};
use crate::error::Error;

/// Everything that is in the file at `path`, in a new one at `to`.
///
/// It is written beside its place and takes that only when it is whole.
pub(super) fn back_up(path: &Path, to: &Path, is_replaced: bool) -> Result<(), Error> {
    let (path, to) = (absolute(path)?, absolute(to)?);
    check_not_empty(&path)?;
    schema::peek(&path)?;
    let look = Look::open(path.clone())?;
    check_free(&path, &to, is_replaced)?;
    let folder = to.parent().unwrap_or(&to);
    let unwritten = |error: std::io::Error| refused(&to, &error.to_string());
    let file = NamedTempFile::new_in(folder).map_err(unwritten)?;
    copy_pages(&*look.now()?, file.path()).map_err(|error| translate(&to, &error))?;
    // For the same eyes as the database, and no longer for its maker's alone.
    let data = std::fs::metadata(&path).map_err(unwritten)?;
    let set = file.as_file().set_permissions(data.permissions());
    set.and_then(|()| file.as_file().sync_all())
        .map_err(unwritten)?;
    // Somebody may have come meanwhile.
    check_free(&path, &to, is_replaced)?;
    let placed = if is_replaced {
        file.persist(&to)
    } else {
        file.persist_noclobber(&to)
    };
    placed.map_err(|error| unwritten(error.error))?;
    // The name lasts once its folder is on the disk. Not every system can be asked for that.
    File::open(folder).and_then(|folder| folder.sync_all()).ok();
    Ok(())
}

fn copy_pages(from: &Connection, to: &Path) -> rusqlite::Result<()> {
    let mut to = Connection::open(to)?;
    // One step: nobody waits for the copy that is read here.
    Backup::new(from, &mut to)?.step(-1)?;
    to.close().map_err(|(_, error)| error)
}

/// Refuses a place that is taken.
fn check_free(path: &Path, to: &Path, is_replaced: bool) -> Result<(), Error> {
    if to == path {
        return Err(refused(to, "it is the database itself"));
    }
    // A log would be taken for one of the new file, and a database that has one may be in use.
    let remains = |ending| Some(beside(to, ending)).filter(|remains: &PathBuf| remains.exists());
    if let Some(remains) = ["-wal", "-journal"].into_iter().find_map(remains) {
        let why = format!(
            "`{}` is beside it: it belongs to a database that is in use, or was not closed in order",
            remains.display()
        );
        return Err(refused(to, &why));
    }
    if to.exists() && !is_replaced {
        return Err(Error::Taken {
            path: to.to_owned(),
        });
    }
    Ok(())
}
