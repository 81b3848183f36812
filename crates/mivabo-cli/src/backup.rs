//! `mivabo backup`: a whole copy of a database, even while it is in use.

use mivabo_store::{Location, Store};

use crate::args::BackupArgs;
use crate::error::Error;
use crate::source::database_of;

/// Writes the copy, and says what is in it.
pub fn run(args: &BackupArgs) -> Result<String, Error> {
    let place = database_of(&args.file)?;
    if !place.exists() {
        return Err(Error::NotThere { place });
    }
    Store::back_up(&place, &args.to, args.force)?;
    let copy = Location::from(args.to.as_path());
    let studies = Store::look(&copy)?.studies()?;
    let names: Vec<String> = studies
        .into_iter()
        .map(|study| format!("`{}`", study.name))
        .collect();
    Ok(match names.as_slice() {
        [] => format!("{copy} is a copy of {place}, without any study\n"),
        [one] => format!("{copy} is a copy of {place}, with study {one}\n"),
        several => format!(
            "{copy} is a copy of {place}, with studies {}\n",
            several.join(", ")
        ),
    })
}
