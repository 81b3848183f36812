//! One trial as it is shown.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::given::Given;
use super::space::MarginView;
use super::time::Time;
use crate::measure::{Measured, Outcome};
use crate::space::Value;
use crate::study::{Absent, State, Study, Trial};

/// What became of a trial, by the names that every table, page and program uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Nobody works on it yet.
    Waiting,
    /// A worker has it.
    Running,
    /// Its evaluation came to its end, and has a value.
    Complete,
    /// Its evaluation was stopped because it was not promising.
    Stopped,
    /// Its evaluation failed.
    Failed,
}

impl Status {
    /// All of them, in the order of a trial's life.
    pub const ALL: [Status; 5] = [
        Status::Waiting,
        Status::Running,
        Status::Complete,
        Status::Stopped,
        Status::Failed,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Status::Waiting => "waiting",
            Status::Running => "running",
            Status::Complete => "complete",
            Status::Stopped => "stopped",
            Status::Failed => "failed",
        }
    }

    /// What it means, as a help text says it.
    pub fn meaning(self) -> &'static str {
        match self {
            Status::Waiting => "Nobody works on it",
            Status::Running => "A worker has it",
            Status::Complete => "Its evaluation came to its end",
            Status::Stopped => "Its evaluation was stopped because it was not promising",
            Status::Failed => "Its evaluation failed",
        }
    }

    /// Whether the trial has ended.
    pub fn is_told(self) -> bool {
        !matches!(self, Status::Waiting | Status::Running)
    }
}

impl From<&State> for Status {
    fn from(state: &State) -> Status {
        match state {
            State::Waiting => Status::Waiting,
            State::Running => Status::Running,
            State::Ended(outcome) => Status::from(outcome),
        }
    }
}

impl From<&Outcome> for Status {
    fn from(outcome: &Outcome) -> Status {
        match outcome {
            Outcome::Complete(_) => Status::Complete,
            Outcome::Stopped(_) => Status::Stopped,
            Outcome::Failed { .. } => Status::Failed,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A trial: its point, what became of it, and who did what when. A field that has nothing to say is left out of the JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialView {
    /// Its number: 0, 1, 2, … in the order in which trials were made.
    #[serde(rename = "trial")]
    pub id: u64,
    /// What became of it.
    pub state: Status,
    /// The goal's number, of a complete trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// All that was measured, by name, the goal's number included.
    #[serde(default, skip_serializing_if = "Measured::is_empty")]
    pub measured: Measured,
    /// The values of its active parameters, by name.
    pub params: BTreeMap<String, Value>,
    /// The values that were evaluated, where the space was revised since and `params` has others, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluated: Option<BTreeMap<String, Value>>,
    /// Why its point cannot be said in the space as it was revised: nothing is learned from it, and it has no `params`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    /// Whether its point satisfies every constraint. A result from elsewhere may not, nor one from before the space was revised.
    pub feasible: bool,
    /// Whether it keeps every limit, once it has ended, in a study that has limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeps_limits: Option<bool>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who proposed it: `design`, `improvement`, `queue`, `added`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The JSON object that its evaluation gave, as it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Given>,
    /// How many workers took it and did not give it back.
    #[serde(default)]
    pub attempts: u32,
    /// Who took it last, or told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// When it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<Time>,
    /// When a worker last took it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Time>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<Time>,
    /// How long its last attempt took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Its place among all trials that ended: 0, 1, 2, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<u64>,
    /// Up to which revision of the study its proposer knew the other trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub based_on: Option<u64>,
    /// What was told of it before it was corrected, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<PastView>,
    /// The statements that decide the constraints at its point: of the best trial, and of other told trials where
    /// [`StudyView::with_margins`](super::StudyView::with_margins) added them.
    #[serde(
        rename = "constraints",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub margins: Option<Vec<MarginView>>,
}

/// What was told of a trial before it was corrected, and who corrected it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PastView {
    /// What it had become.
    pub state: Status,
    /// The goal's number, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// All that had been measured, by name.
    #[serde(default, skip_serializing_if = "Measured::is_empty")]
    pub measured: Measured,
    /// Why it had failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it was corrected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected: Option<Time>,
    /// Who corrected it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// What was said of the correction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl TrialView {
    /// A trial of a study. Times, workers and origins, which a [`Study`] does not know, are left out.
    ///
    /// # Panics
    /// When the point of the trial does not fit the space of the study.
    pub fn of(study: &Study, trial: &Trial) -> TrialView {
        let values = study.space().values(trial.point());
        TrialView {
            params: values
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            feasible: trial.at.feasible().is_some(),
            told: trial.told,
            ..TrialView::of_state(study, trial.id, &trial.state)
        }
    }

    /// A trial whose point cannot be said in the space of the study.
    pub fn of_absent(study: &Study, trial: &Absent) -> TrialView {
        TrialView {
            evaluated: Some(trial.values.iter().cloned().collect()),
            left_out: Some(trial.why.to_string()),
            told: trial.told,
            ..TrialView::of_state(study, trial.id, &trial.state)
        }
    }

    /// What became of a trial, wherever it is.
    fn of_state(study: &Study, id: u64, state: &State) -> TrialView {
        let aims = &study.spec().aims;
        let outcome = state.outcome();
        TrialView {
            id,
            state: Status::from(state),
            value: outcome.and_then(|outcome| aims.value(outcome)),
            measured: outcome.map_or_else(Measured::default, |outcome| outcome.measured().clone()),
            params: BTreeMap::new(),
            evaluated: None,
            left_out: None,
            feasible: false,
            keeps_limits: outcome
                .filter(|_| !aims.limits().is_empty())
                .map(|outcome| aims.keeps_limits(outcome.measured())),
            reason: reason(outcome),
            origin: None,
            result: None,
            attempts: 0,
            worker: None,
            created: None,
            started: None,
            finished: None,
            seconds: None,
            told: None,
            based_on: None,
            history: Vec::new(),
            margins: None,
        }
    }

    /// Sets when its evaluation began and ended, and how long it took.
    pub fn set_times(&mut self, started: Option<Time>, finished: Option<Time>) {
        self.started = started;
        self.finished = finished;
        self.seconds = self.millis().map(|millis| millis as f64 / 1000.0);
    }

    /// How long its last attempt took, in milliseconds. A clock that was set back counts as standing still.
    pub fn millis(&self) -> Option<u64> {
        let (started, finished) = self.started.zip(self.finished)?;
        Some(finished.millis().saturating_sub(started.millis()))
    }
}

fn reason(outcome: Option<&Outcome>) -> Option<String> {
    match outcome {
        Some(Outcome::Failed { reason, .. }) => Some(reason.clone()),
        _ => None,
    }
}
