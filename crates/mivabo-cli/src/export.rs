//! `mivabo export`: a stored study as one JSON document, or its trials as CSV.

use std::collections::BTreeSet;

use mivabo::view::{StudyView, Time, TrialView};
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::args::{ExportArgs, Format};
use crate::best::pretty;
use crate::csv::line;
use crate::error::Error;
use crate::objective::shown;

/// Columns that are not parameters. A parameter of such a name is written as `params.NAME`.
pub const COLUMNS: [&str; 11] = [
    "trial", "state", "value", "feasible", "origin", "seconds", "attempts", "worker", "started",
    "finished", "reason",
];

/// Before the name of a number that was measured beside the goal's.
pub const MEASURED: &str = "measured.";

/// Before the name of what an evaluation gave that is not a number.
pub const RESULT: &str = "result.";

/// Before the name of a parameter: what was evaluated before the study was revised.
pub const EVALUATED: &str = "evaluated.";

/// Why a trial has no place in the study as it was revised.
pub const LEFT_OUT: &str = "left_out";

/// Prints the study.
pub fn run(args: &ExportArgs) -> Result<String, Error> {
    let view = args.source.view()?;
    match args.format {
        Format::Json => pretty(&view),
        Format::Csv => Ok(csv(&view)),
    }
}

fn csv(view: &StudyView) -> String {
    let goal = view.goal_name();
    let results = view.trials.iter().map(|trial| beside(trial, goal));
    let results: Vec<Map<String, Value>> = results.collect();
    let mut measures = view.measures();
    // A number of the goal that does not count is not in the column of those that do.
    let is_uncounted =
        |trial: &TrialView| trial.value.is_none() && trial.measured.get(goal).is_some();
    if view.trials.iter().any(is_uncounted) {
        measures.insert(goal);
    }
    let columns = Columns {
        goal,
        parameters: view.parameters.iter().map(|one| &*one.name).collect(),
        measures,
        keys: results.iter().flat_map(Map::keys).collect(),
        evaluated: view.trials.iter().flat_map(evaluated).collect(),
        has_left_out: view.trials.iter().any(|trial| trial.left_out.is_some()),
    };
    let mut out = line(&columns.header());
    for (trial, result) in view.trials.iter().zip(&results) {
        out += &line(&columns.row(trial, result));
    }
    out
}

/// Which columns there are after the first ones.
struct Columns<'a> {
    goal: &'a str,
    parameters: Vec<&'a str>,
    measures: BTreeSet<&'a str>,
    /// What evaluations gave that is not a number.
    keys: BTreeSet<&'a String>,
    /// Parameters of which another value was evaluated than the revised study has.
    evaluated: BTreeSet<&'a str>,
    /// Whether the revised study has no place for some trial.
    has_left_out: bool,
}

impl Columns<'_> {
    fn header(&self) -> Vec<String> {
        let mut header = COLUMNS.map(ToOwned::to_owned).to_vec();
        header.extend(self.parameters.iter().map(|name| column(name)));
        header.extend(self.measures.iter().map(|name| format!("{MEASURED}{name}")));
        header.extend(self.keys.iter().map(|key| format!("{RESULT}{key}")));
        header.extend(
            self.evaluated
                .iter()
                .map(|name| format!("{EVALUATED}{name}")),
        );
        header.extend(self.has_left_out.then(|| LEFT_OUT.to_owned()));
        header
    }

    fn row(&self, trial: &TrialView, result: &Map<String, Value>) -> Vec<String> {
        let parameter = |name: &&str| trial.params.get(*name).map_or(String::new(), shown);
        let measure = |name: &&str| {
            let is_in_value = *name == self.goal && trial.value.is_some();
            number(trial.measured.get(name).filter(|_| !is_in_value))
        };
        let part = |key: &&String| result.get(*key).map_or(String::new(), written);
        let mut row = facts(trial).to_vec();
        row.extend(self.parameters.iter().map(parameter));
        row.extend(self.measures.iter().map(measure));
        row.extend(self.keys.iter().map(part));
        let before = |name: &&str| {
            let found = trial.evaluated.as_ref().and_then(|all| all.get(*name));
            found.map_or(String::new(), shown)
        };
        row.extend(self.evaluated.iter().map(before));
        row.extend(
            self.has_left_out
                .then(|| trial.left_out.clone().unwrap_or_default()),
        );
        row
    }
}

/// The parameters of which another value was evaluated than the trial has in the revised study.
fn evaluated(trial: &TrialView) -> impl Iterator<Item = &str> {
    let evaluated = trial.evaluated.iter().flatten();
    let others = evaluated.filter(|(name, value)| trial.params.get(*name) != Some(value));
    others.map(|(name, _)| name.as_str())
}

/// The cells of [`COLUMNS`].
fn facts(trial: &TrialView) -> [String; COLUMNS.len()] {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let time = |time: Option<Time>| time.map_or(String::new(), |time| time.to_string());
    [
        trial.id.to_string(),
        trial.state.to_string(),
        number(trial.value),
        trial.feasible.to_string(),
        text(&trial.origin),
        number(trial.seconds),
        trial.attempts.to_string(),
        text(&trial.worker),
        time(trial.started),
        time(trial.finished),
        text(&trial.reason),
    ]
}

/// What an evaluation gave beside the numbers that are measured.
fn beside(trial: &TrialView, goal: &str) -> Map<String, Value> {
    let given = trial.result.as_ref();
    let result = given.and_then(|given| serde_json::from_str(given.as_str()).ok());
    let mut result: Map<String, Value> = result.unwrap_or_default();
    result.retain(|key, value| !value.is_number() || trial.measured.get(key).is_none());
    // The goal's number as a text, as in {"value": "0.5"}, has a column already.
    let written = result.get(goal).and_then(Value::as_str);
    let written = written.and_then(|text| text.parse().ok());
    if written.is_some() && written == trial.measured.get(goal) {
        result.remove(goal);
    }
    result
}

fn number(x: Option<f64>) -> String {
    x.map_or(String::new(), |x| format!("{x:?}"))
}

/// A text as it is, anything else as JSON, and so a text that is empty or looks like JSON.
fn written(value: &Value) -> String {
    let is_plain =
        |text: &&str| !text.is_empty() && serde_json::from_str::<IgnoredAny>(text).is_err();
    let plain = value.as_str().filter(is_plain);
    plain.map_or_else(|| value.to_string(), ToOwned::to_owned)
}

/// The column of a parameter.
pub fn column(name: &str) -> String {
    let bare = name.trim_start_matches("params.");
    let is_fact = COLUMNS.contains(&bare);
    let prefixes = [RESULT, MEASURED, EVALUATED];
    let is_prefixed = prefixes.iter().any(|prefix| bare.starts_with(prefix));
    if is_fact || bare == LEFT_OUT || is_prefixed {
        format!("params.{name}")
    } else {
        name.to_owned()
    }
}
