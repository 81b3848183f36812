//! `mivabo rm`: removes a study with all its trials, once somebody has confirmed it.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::time::{SystemTime, UNIX_EPOCH};

use mivabo::counted;
use mivabo_store::{Record, RecordState, Revision};

use crate::args::RmArgs;
use crate::error::Error;
use crate::log;
use crate::plain::plain;
use crate::source::KeptStudy;

/// Removes a study.
pub fn run(args: &RmArgs) -> Result<String, Error> {
    let mut kept = args.source.kept()?;
    check_idle(&kept, args.force)?;
    if !args.yes {
        confirm(&kept)?;
    }
    kept.store.remove(kept.study.id, now())?;
    let KeptStudy {
        study, location, ..
    } = kept;
    let logs = location.path().map(|path| log::folder(path, &study.name));
    if let Some(logs) = logs.filter(|logs| logs.exists()) {
        say!("its logs stay in {}", logs.display());
    }
    Ok(format!("removed study `{}` from {location}\n", study.name))
}

/// Trials that somebody evaluates would be lost.
fn check_idle(kept: &KeptStudy, is_forced: bool) -> Result<(), Error> {
    let now = now();
    let is_live =
        |trial: &Record| matches!(trial.state, RecordState::Running { lease, .. } if lease > now);
    let running = kept.store.running(kept.study.id)?;
    let live: Vec<u64> = running
        .iter()
        .filter(|one| is_live(one))
        .map(|one| one.id)
        .collect();
    if is_forced || live.is_empty() {
        return Ok(());
    }
    Err(Error::StillRuns {
        name: kept.study.name.clone(),
        running: live,
    })
}

fn confirm(kept: &KeptStudy) -> Result<(), Error> {
    let name = &kept.study.name;
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(Error::NobodyToAsk { name: name.clone() });
    }
    let trials = kept
        .store
        .changes(kept.study.id, Revision::default())?
        .trials;
    let n = counted(trials.len(), "trial");
    let question = format!(
        "remove study `{name}` with {n} from {}, for ever? [y/N] ",
        kept.location
    );
    let _ = write!(std::io::stderr(), "{}", plain(&question));
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.map_err(Error::StandardInput)?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Error::NotRemoved { name: name.clone() }),
    }
}

/// Milliseconds since 1970, as leases are written.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
