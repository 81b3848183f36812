//! Results that were told and that the database lacks after a run broke off: named in the form that `mivabo import` reads.

use std::collections::BTreeSet;

use mivabo::measure::Outcome;
use mivabo::study::{Study, Trial};
use mivabo_store::{Error, Session, Sqlite, Store};
use serde_json::{Map, Value, json};

use crate::study_file::StudyFile;

/// What to add to the message of a run that broke off; nothing where nothing is lost, or nobody can say.
pub fn named(session: Session, file: &StudyFile) -> String {
    let told: Vec<(u64, Value)> = session
        .trials()
        .iter()
        .filter(|trial| trial.is_told())
        .map(|t| (t.id, written(t, session.study())))
        .collect();
    // Its locks would make a file without a log look as if it were in use.
    drop(session);
    let Some(there) = there(file) else {
        return String::new();
    };
    let lost: Vec<String> = told
        .iter()
        .filter(|(id, _)| !there.contains(id))
        .map(|(_, trial)| trial.to_string())
        .collect();
    if lost.is_empty() {
        return String::new();
    }
    format!(
        "\nresults that were told, and that {} lacks now: {}\n[{}]\n\
         hint: saved as a file, `mivabo import {} FILE.json` adds them to a new database",
        file.storage.display(),
        lost.len(),
        lost.join(",\n"),
        file.path.display()
    )
}

fn written(trial: &Trial, study: &Study) -> Value {
    let params: Map<String, Value> = study
        .space()
        .values(trial.point())
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect();
    match trial.outcome() {
        Some(Outcome::Failed { reason, .. }) => {
            json!({"trial": trial.id, "params": params, "state": "failed", "reason": reason})
        }
        _ => json!({"trial": trial.id, "params": params, "value": study.value(trial),
            "measured": trial.outcome().map(Outcome::measured)}),
    }
}

/// The told trials that the database has; none where it is elsewhere, or in use by others.
fn there(file: &StudyFile) -> Option<BTreeSet<u64>> {
    if std::fs::metadata(&file.storage).ok()?.len() == 0 {
        return Some(BTreeSet::new());
    }
    let store = match Sqlite::open_read_only(&file.storage) {
        Ok(found) => Store::new(found),
        Err(Error::Missing { .. } | Error::Corrupt { .. } | Error::NotADatabase { .. }) => {
            return Some(BTreeSet::new());
        }
        Err(_) => return None,
    };
    let session = Session::load(store, &file.name).ok()?;
    Some(
        session
            .trials()
            .iter()
            .filter(|trial| trial.is_told())
            .map(|trial| trial.id)
            .collect(),
    )
}
