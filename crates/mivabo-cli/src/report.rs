//! `mivabo report`: a stored study as one HTML page that needs nothing else.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use mivabo_report::{Over, SaveError, html};
use mivabo_store::Session;

use crate::args::Report;
use crate::error::Error;

/// Names of standard output. Opened anew it would be written from its beginning, over the page, by the line that follows.
const STANDARD_OUTPUT: [&str; 3] = ["-", "/dev/stdout", "/dev/fd/1"];

/// Writes the page, and says where.
pub fn run(args: &Report) -> Result<String, Error> {
    let (session, database) = args.source.read_with_place()?;
    let page = page(&session)?;
    if args
        .out
        .as_ref()
        .is_some_and(|out| STANDARD_OUTPUT.iter().any(|name| out == Path::new(name)))
    {
        return Ok(page);
    }
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| beside(&args.source.file));
    refuse_source(&args.source.file, &database, &out)?;
    let over = if args.force { Over::Any } else { Over::Page };
    // A FIFO is written to only where somebody asks for it: who reads from one that was left there?
    let write = if args.out.is_some() {
        mivabo_report::write
    } else {
        mivabo_report::save
    };
    write(&out, &page, over).map_err(|why| match why {
        SaveError::Taken { .. } => Error::PageTaken { why },
        why => Error::Save(why),
    })?;
    Ok(format!("{}\n", out.display()))
}

/// The page must not be written over the study, by whatever name, nor where the study's own files will be.
fn refuse_source(file: &Path, database: &Path, out: &Path) -> Result<(), Error> {
    let beside = |suffix: &str| {
        let mut name = database.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let own = ["-wal", "-shm", "-journal", ".logs"].map(beside);
    let sources = [file.to_owned(), database.to_owned()]
        .into_iter()
        .chain(own);
    let identity = |path: &Path| {
        std::fs::metadata(path)
            .ok()
            .map(|data| (data.dev(), data.ino()))
    };
    let is_out = |source: &PathBuf| match (identity(source), identity(out)) {
        (None, None) => {
            place(source).is_some_and(|place_of_source| Some(place_of_source) == place(out))
        }
        (of_source, of_out) => of_source == of_out,
    };
    match sources.into_iter().find(is_out) {
        Some(path) => Err(Error::StudyItself { path }),
        None => Ok(()),
    }
}

/// Where a file will be, once it is made.
fn place(path: &Path) -> Option<PathBuf> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    Some(std::fs::canonicalize(folder).ok()?.join(path.file_name()?))
}

fn page(session: &Session) -> Result<String, Error> {
    let view = session.view()?;
    let study = session.study();
    Ok(html(&view.with_margins(study).with_importance(study)))
}

/// The page of `study.toml` or `study.db` is `study.html`.
fn beside(source: &Path) -> PathBuf {
    if source.as_os_str() == "-" {
        PathBuf::from("study.html")
    } else {
        source.with_extension("html")
    }
}
