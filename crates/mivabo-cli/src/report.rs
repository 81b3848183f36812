//! `mivabo report`: a stored study in, one HTML page out that needs nothing else.

use std::path::PathBuf;

use mivabo_report::{Row, html};
use mivabo_store::Session;

use crate::Failure;
use crate::args::Report;

/// Writes the page, and says where.
pub fn run(args: &Report) -> Result<String, Failure> {
    let session = args.source.read()?;
    let page = page(&session)?;
    if args.out.as_ref().is_some_and(|out| out.as_os_str() == "-") {
        return Ok(page);
    }
    let out = args.out.clone().unwrap_or_else(|| beside(&args.source.file));
    refuse_source(args, &out)?;
    std::fs::write(&out, page).map_err(|e| format!("{}: {e}", out.display()))?;
    Ok(format!("{}\n", out.display()))
}

/// The page must not be written over the study.
fn refuse_source(args: &Report, out: &std::path::Path) -> Result<(), Failure> {
    let (database, _) = args.source.place()?;
    let beside = |suffix: &str| PathBuf::from(format!("{}{suffix}", database.display()));
    let sources = [args.source.file.clone(), beside(""), beside("-wal"), beside("-shm")];
    let place = |path: &std::path::Path| path.canonicalize().ok();
    match sources.iter().find(|source| place(source).is_some() && place(source) == place(out)) {
        Some(source) => {
            Err(format!("{} is the study itself; choose another file by --out", source.display()))
        }
        None => Ok(()),
    }
}

fn page(session: &Session) -> Result<String, Failure> {
    let records = session.records().map_err(|e| e.to_string())?;
    let time = |millis: Option<i64>| millis.and_then(|millis| u64::try_from(millis).ok());
    let rows = session.trials().iter().zip(records).map(|(trial, record)| Row {
        trial: trial.clone(),
        origin: Some(record.origin()).filter(|origin| !origin.is_empty()),
        worker: record.worker,
        started: time(record.started),
        finished: time(record.finished),
    });
    let rows: Vec<Row> = rows.collect();
    let study = session.study();
    Ok(html(&mivabo_report::Report {
        name: session.name(),
        space: session.space(),
        direction: study.spec().direction,
        trials: &rows,
        // Without a value there is nothing to say about importance.
        importance: study.importance().ok().as_ref(),
    }))
}

/// The page of `study.toml` or `study.db` is `study.html`.
fn beside(source: &std::path::Path) -> PathBuf {
    if source.as_os_str() == "-" { PathBuf::from("study.html") } else { source.with_extension("html") }
}
