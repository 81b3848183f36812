//! Stored trials as people and programs read them: a session enters, rows leave.

use std::collections::BTreeSet;
use std::time::{Duration, UNIX_EPOCH};

use mivabo::Space;
use mivabo::measure::Outcome;
use mivabo::space::{Parameter, Value};
use mivabo_store::{Record, RecordState, Session};
use serde_json::{Map, json};

use crate::Failure;
use crate::args::StateName;

/// A trial and the values of its visible parameters.
pub struct Row {
    /// As it is stored.
    pub trial: Record,
    /// The goal's number, if it has one.
    pub value: Option<f64>,
    /// Active, visible parameters.
    pub values: Vec<(String, Value)>,
    /// Whether it breaks no constraint.
    pub is_feasible: bool,
}

/// All trials, by number.
pub fn rows(session: &Session) -> Result<Vec<Row>, Failure> {
    let space = session.space();
    let row = |trial: Record| {
        let point = trial.point(space).map_err(|e| e.to_string())?;
        let values = space
            .values(&point)
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        Ok(Row {
            value: session.value(&trial),
            trial,
            values,
            is_feasible: space.check(&point).is_feasible(),
        })
    };
    session
        .records()
        .map_err(|e| e.to_string())?
        .into_iter()
        .map(row)
        .collect()
}

/// What was measured in any of these beside the goal, by name.
pub fn measures<'a>(rows: &'a [Row], goal: &str) -> BTreeSet<&'a str> {
    let outcomes = rows.iter().filter_map(|row| row.trial.outcome());
    let names = outcomes.flat_map(|outcome| outcome.measured().iter());
    names
        .map(|(name, _)| name)
        .filter(|name| *name != goal)
        .collect()
}

/// The parameters that an objective sees.
pub fn visible(space: &Space) -> impl Iterator<Item = &Parameter> {
    space.parameters().iter().filter(|p| !p.is_auxiliary())
}

impl Row {
    /// What became of it.
    pub fn state(&self) -> StateName {
        match &self.trial.state {
            RecordState::Waiting => StateName::Waiting,
            RecordState::Running { .. } => StateName::Running,
            RecordState::Ended(Outcome::Complete(_)) => StateName::Complete,
            RecordState::Ended(Outcome::Stopped(_)) => StateName::Stopped,
            RecordState::Ended(Outcome::Failed { .. }) => StateName::Failed,
        }
    }

    /// Why it has no value.
    pub fn reason(&self) -> Option<&str> {
        match self.trial.outcome() {
            Some(Outcome::Failed { reason, .. }) => Some(reason),
            _ => None,
        }
    }

    /// A number that was measured, by its name.
    pub fn measured(&self, measure: &str) -> Option<f64> {
        self.trial.outcome()?.measured().get(measure)
    }

    /// How long its last attempt took.
    pub fn seconds(&self) -> Option<f64> {
        let (started, finished) = self.trial.started.zip(self.trial.finished)?;
        Some(finished.saturating_sub(started) as f64 / 1000.0)
    }

    /// What its evaluation gave beside or around its value.
    pub fn result(&self) -> Option<Map<String, serde_json::Value>> {
        self.trial
            .result()
            .and_then(|result| serde_json::from_str(result.as_str()).ok())
    }

    /// For a program.
    pub fn json(&self) -> serde_json::Value {
        let params: Map<_, _> = self
            .values
            .iter()
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect();
        let trial = &self.trial;
        json!({"trial": trial.id, "state": self.state().to_string(), "value": self.value, "params": params,
            "measured": trial.outcome().map(Outcome::measured),
            "result": self.result(), "feasible": self.is_feasible, "reason": self.reason(), "origin": trial.origin(),
            "attempts": trial.attempts, "worker": trial.worker, "created": time(trial.created),
            "started": trial.started.map(time), "finished": trial.finished.map(time), "seconds": self.seconds()})
    }
}

impl std::fmt::Display for StateName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            StateName::Waiting => "waiting",
            StateName::Running => "running",
            StateName::Complete => "complete",
            StateName::Stopped => "stopped",
            StateName::Failed => "failed",
        })
    }
}

/// The end of the year 9999, in milliseconds since 1970: no later time can be written.
const LAST: u64 = 253_402_300_799_999;

/// Milliseconds since 1970 as a date and a time.
pub fn time(millis: i64) -> String {
    let since = Duration::from_millis(u64::try_from(millis).unwrap_or(0).min(LAST));
    humantime::format_rfc3339_millis(UNIX_EPOCH + since).to_string()
}
