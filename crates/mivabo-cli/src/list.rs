//! `mivabo list`: the studies of a database, or of all databases in a folder.

use std::path::{Path, PathBuf};

use mivabo::view::{Status, StudyView, Time};
use mivabo_store::{Location, Session, Store};
use serde::Serialize;

use crate::Answer;
use crate::args::ListArgs;
use crate::best::pretty;
use crate::error::Error;
use crate::exit::Exit;
use crate::source::database_of;
use crate::text::{brief, table};

/// The cell of what there is none of.
const NOTHING: &str = "-";

/// The states of trials that have a column.
const STATES: [Status; 5] = [
    Status::Complete,
    Status::Stopped,
    Status::Failed,
    Status::Running,
    Status::Waiting,
];

/// Lists studies. One that cannot be read does not hide the others.
pub fn run(args: &ListArgs) -> Result<Answer, Error> {
    let (rows, errors) = found(args)?;
    for error in &errors {
        say!("error: {error}");
    }
    let exit = if errors.is_empty() {
        Exit::Done
    } else {
        Exit::Failed
    };
    let output = if args.json {
        pretty(&rows)?
    } else {
        as_text(&rows)
    };
    Ok(Answer {
        exit,
        ..output.into()
    })
}

/// A study in the list.
#[derive(Serialize)]
struct Row {
    study: String,
    database: PathBuf,
    trials: usize,
    complete: usize,
    stopped: usize,
    failed: usize,
    running: usize,
    waiting: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    best: Option<f64>,
    /// When a trial was last made, taken or told.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<Time>,
}

/// All studies that are meant, and why some of them cannot be shown.
fn found(args: &ListArgs) -> Result<(Vec<Row>, Vec<Error>), Error> {
    let folder = match &args.place {
        None => Path::new("."),
        Some(folder) if folder.is_dir() => folder,
        Some(file) => return Ok(parted(studies(&database_of(file)?)?)),
    };
    let mut all = Vec::new();
    for place in databases_in(folder)? {
        match studies(&place) {
            Ok(found) => all.extend(found),
            Err(error) if is_of_others(&error) => {}
            Err(error) => all.push(Err(error)),
        }
    }
    Ok(parted(all))
}

fn parted(found: Vec<Result<Row, Error>>) -> (Vec<Row>, Vec<Error>) {
    let (mut rows, mut errors) = (Vec::new(), Vec::new());
    for one in found {
        match one {
            Ok(row) => rows.push(row),
            Err(error) => errors.push(error),
        }
    }
    (rows, errors)
}

/// Whether a file is not a database of ours.
fn is_of_others(error: &Error) -> bool {
    use mivabo_store::Error as Refused;
    let Error::Study { why, .. } = error else {
        return false;
    };
    matches!(
        **why,
        Refused::NotADatabase { .. } | Refused::Foreign { .. }
    )
}

/// The files of a folder that are named like databases, by name.
fn databases_in(folder: &Path) -> Result<Vec<Location>, Error> {
    let unreadable = |why| Error::Unreadable {
        path: folder.to_owned(),
        why,
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let is_named_so = path.extension().is_some_and(|ending| ending == "db");
        if is_named_so && path.is_file() {
            // What is typed as `list` alone has no folder in front.
            let path = path.strip_prefix(".").unwrap_or(&path).to_owned();
            found.push(Location::File(path));
        }
    }
    found.sort_by(|one, other| one.path().cmp(&other.path()));
    Ok(found)
}

/// The studies of a database. Each has its own look at it.
fn studies(place: &Location) -> Result<Vec<Result<Row, Error>>, Error> {
    let refused = |why| Error::Study {
        place: place.clone(),
        why: Box::new(why),
    };
    if !place.exists() {
        let place = place.clone();
        return Err(Error::NotThere { place });
    }
    let look = || Store::look(place).map_err(refused);
    let names = look()?.studies().map_err(refused)?;
    let rows = names.into_iter().map(|study| {
        let session = Session::load(look()?, &study.name).map_err(refused)?;
        let view = session.view().map_err(refused)?;
        Ok(Row::of(&view, place))
    });
    Ok(rows.collect())
}

impl Row {
    fn of(view: &StudyView, place: &Location) -> Row {
        let times = view.trials.iter().flat_map(|trial| {
            let times = [trial.created, trial.started, trial.finished];
            times.into_iter().flatten()
        });
        Row {
            study: view.name.clone(),
            database: place.path().map(Path::to_owned).unwrap_or_default(),
            trials: view.trials.len(),
            complete: view.count(Status::Complete),
            stopped: view.count(Status::Stopped),
            failed: view.count(Status::Failed),
            running: view.count(Status::Running),
            waiting: view.count(Status::Waiting),
            best: view.best_trial().and_then(|best| best.value),
            changed: times.max(),
        }
    }

    fn counts(&self) -> [usize; STATES.len()] {
        STATES.map(|state| match state {
            Status::Complete => self.complete,
            Status::Stopped => self.stopped,
            Status::Failed => self.failed,
            Status::Running => self.running,
            Status::Waiting => self.waiting,
        })
    }
}

/// A column for each state that some study has trials of, and one for the database where there are several.
fn as_text(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "no studies here\n".to_owned();
    }
    let is_there = |at: usize| rows.iter().any(|row| row.counts()[at] > 0);
    let shown: Vec<usize> = (0..STATES.len()).filter(|at| is_there(*at)).collect();
    let databases = rows.iter().any(|row| row.database != rows[0].database);
    let mut header = vec!["study".to_owned(), "trials".to_owned()];
    header.extend(shown.iter().map(|at| STATES[*at].name().to_owned()));
    header.extend(["best", "last change"].map(str::to_owned));
    header.extend(databases.then(|| "database".to_owned()));
    let mut lines = vec![header];
    for row in rows {
        let mut line = vec![row.study.clone(), row.trials.to_string()];
        line.extend(shown.iter().map(|at| row.counts()[*at].to_string()));
        line.push(row.best.map_or(NOTHING.to_owned(), brief));
        line.push(row.changed.map_or(NOTHING.to_owned(), day_and_time));
        line.extend(databases.then(|| row.database.display().to_string()));
        lines.push(line);
    }
    table(&lines)
}

/// To the second: `2026-11-19 12:46:59Z`.
fn day_and_time(time: Time) -> String {
    let text = time.to_string();
    let seconds = text.split('.').next().unwrap_or(&text);
    format!("{}Z", seconds.replace('T', " "))
}
