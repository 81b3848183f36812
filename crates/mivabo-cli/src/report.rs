//! `mivabo report`: a stored study as one HTML page that needs nothing else.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use mivabo_report::{Over, SaveError, html};
use mivabo_store::Session;

use crate::args::ReportArgs;
use crate::error::Error;
use crate::invocation;
use crate::source::Found;
use crate::text::is_standard_input;

/// Names of standard output. Opened anew it would be written from its beginning, over the page, by the line that follows.
const STANDARD_OUTPUT: [&str; 3] = ["-", "/dev/stdout", "/dev/fd/1"];

/// Writes the page, and says where.
pub fn run(args: &ReportArgs) -> Result<String, Error> {
    let Found {
        session,
        database,
        file,
    } = args.source.find()?;
    let objective = file.and_then(|file| file.objective);
    let command = objective.as_ref().map(invocation::written);
    let page = page(&session, command)?;
    if args.out.as_deref().is_some_and(is_standard_output) {
        return Ok(page);
    }
    let source = &args.source.file;
    let out = args.out.clone().unwrap_or_else(|| beside(source));
    refuse_source(source, &database, &out)?;
    write(args, &out, &page)?;
    Ok(format!("{}\n", out.display()))
}

fn is_standard_output(out: &Path) -> bool {
    STANDARD_OUTPUT.iter().any(|name| out == Path::new(name))
}

fn write(args: &ReportArgs, out: &Path, page: &str) -> Result<(), Error> {
    let over = if args.force { Over::Any } else { Over::Page };
    // A FIFO is written to only where somebody asks for it: who reads from one that was left there?
    let written = if args.out.is_some() {
        mivabo_report::write(out, page, over)
    } else {
        mivabo_report::save(out, page, over)
    };
    written.map_err(|why| match why {
        SaveError::Taken { .. } => Error::PageTaken { why },
        why => Error::Save(why),
    })
}

/// The page must not be written over the study, by whatever name, nor where the study's own files will be.
fn refuse_source(file: &Path, database: &Path, out: &Path) -> Result<(), Error> {
    // These come and go with the commands that use the database: that they are not there now says nothing.
    let own = ["-wal", "-shm", "-journal", ".logs"].map(|suffix| {
        let mut name = database.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    });
    let mut sources = [file.to_owned(), database.to_owned()]
        .into_iter()
        .chain(own);
    match sources.find(|source| is_same_file(source, out)) {
        Some(path) => Err(Error::StudyItself { path }),
        None => Ok(()),
    }
}

/// Whether two names are of one file, or will be once it is made.
fn is_same_file(one: &Path, other: &Path) -> bool {
    match (identity(one), identity(other)) {
        (None, None) => place(one).is_some_and(|of_one| Some(of_one) == place(other)),
        (of_one, of_other) => of_one == of_other,
    }
}

/// Device and number: links, hard ones too, have those of their file.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let data = std::fs::metadata(path).ok()?;
    Some((data.dev(), data.ino()))
}

/// Where a file will be, once it is made.
fn place(path: &Path) -> Option<PathBuf> {
    let parent = path.parent();
    let named = parent.filter(|folder| !folder.as_os_str().is_empty());
    let folder = std::fs::canonicalize(named.unwrap_or(Path::new("."))).ok()?;
    Some(folder.join(path.file_name()?))
}

fn page(session: &Session, command: Option<String>) -> Result<String, Error> {
    let view = session.view()?.with_command(command);
    let study = session.study();
    Ok(html(&view.with_margins(study).with_importance(study)))
}

/// The page of `study.toml` or `study.db` is `study.html`.
fn beside(source: &Path) -> PathBuf {
    if is_standard_input(source) {
        PathBuf::from("study.html")
    } else {
        source.with_extension("html")
    }
}
