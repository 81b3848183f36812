//! Results that were told and that the database lacks when a run broke off, in the form that `mivabo import` reads.

use mivabo::measure::Outcome;
use mivabo::study::{Study, Trial};
use mivabo_store::Session;
use mivabo_work::{Plan, still_told};
use serde_json::{Map, Value, json};

use crate::paste;

/// What to add to the message of a run that broke off; nothing where nothing is lost, or nobody can say.
pub fn named(session: &Session, plan: &Plan) -> Option<String> {
    let there = still_told(&plan.location, &plan.name)?;
    let told = session.trials().iter().filter(|trial| trial.is_told());
    let lost = told.filter(|trial| !there.contains(&trial.id));
    let lost: Vec<String> = lost
        .map(|trial| written(trial, session.study()).to_string())
        .collect();
    if lost.is_empty() {
        return None;
    }
    Some(format!(
        "\nresults that were told, and that {} lacks now: {}\n[{}]\n\
         hint: saved as a file, `{}` adds them to a new database",
        plan.location,
        lost.len(),
        lost.join(",\n"),
        paste::call("import", &plan.path, &["FILE.json"])
    ))
}

fn written(trial: &Trial, study: &Study) -> Value {
    let values = study.space().values(trial.point());
    let params: Map<String, Value> = values
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
