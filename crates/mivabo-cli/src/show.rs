//! `mivabo show`: the trials of a stored study as a table, or as one JSON object a line.

use mivabo::space::Value;
use mivabo::view::{Status, StudyView, TrialView};

use crate::args::ShowArgs;
use crate::error::Error;
use crate::objective::shown;
use crate::text::{brief, table};

/// The cell of what there is none of.
const NOTHING: &str = "-";

/// Lists trials.
pub fn run(args: &ShowArgs) -> Result<String, Error> {
    let view = args.source.view()?;
    let trials = chosen(&view, args);
    if args.json {
        return lines(&trials);
    }
    let columns = Columns::of(&view, &trials);
    let mut rows = vec![columns.header()];
    rows.extend(trials.iter().map(|trial| columns.row(trial)));
    Ok(table(&rows))
}

/// The trials that were asked for, by number, or the best feasible ones, the best first.
fn chosen<'a>(view: &'a StudyView, args: &ShowArgs) -> Vec<&'a TrialView> {
    let is_chosen = |trial: &&TrialView| args.state.is_empty() || args.state.contains(&trial.state);
    let Some(n) = args.best else {
        return view.trials.iter().filter(is_chosen).collect();
    };
    let feasible = view.ranked().filter(|trial| trial.feasible);
    feasible.filter(is_chosen).take(n).collect()
}

fn lines(trials: &[&TrialView]) -> Result<String, Error> {
    let mut out = String::new();
    for trial in trials {
        out += &serde_json::to_string(trial).map_err(Error::Json)?;
        out.push('\n');
    }
    Ok(out)
}

/// Which columns the table has after the first five.
struct Columns<'a> {
    goal: &'a str,
    /// What was measured beside the goal in the trials that are shown.
    measures: Vec<&'a str>,
    parameters: Vec<&'a str>,
    /// Whether a trial that is shown has one.
    has_reasons: bool,
}

impl<'a> Columns<'a> {
    fn of(view: &'a StudyView, trials: &[&TrialView]) -> Columns<'a> {
        let has = |trial: &&TrialView, measure: &str| trial.measured.get(measure).is_some();
        let is_shown = |measure: &&str| trials.iter().any(|trial| has(trial, measure));
        let parameters = view.parameters.iter();
        Columns {
            goal: view.goal_name(),
            measures: view.measures().into_iter().filter(is_shown).collect(),
            parameters: parameters.map(|one| one.name.as_str()).collect(),
            has_reasons: trials.iter().any(|trial| reason(trial).is_some()),
        }
    }

    fn header(&self) -> Vec<String> {
        let facts = ["trial", "state", self.goal, "origin", "seconds"];
        let names = facts.iter().chain(&self.measures).chain(&self.parameters);
        // Last: a reason may be long, and most trials have none.
        let names = names.chain(self.has_reasons.then_some(&"reason"));
        names.map(|name| (*name).to_owned()).collect()
    }

    fn row(&self, trial: &TrialView) -> Vec<String> {
        let mut row = facts(trial);
        let measured = self.measures.iter();
        row.extend(measured.map(|measure| number(trial.measured.get(measure))));
        let parameters = self.parameters.iter();
        // What was evaluated, where the study was revised and has no place for it.
        let params = match (&trial.evaluated, &trial.left_out) {
            (Some(evaluated), Some(_)) => evaluated,
            _ => &trial.params,
        };
        row.extend(parameters.map(|name| value(params.get(*name))));
        row.extend(reason(trial).map(ToOwned::to_owned));
        row
    }
}

/// Why it failed, or has no place in the study as it was revised.
fn reason(trial: &TrialView) -> Option<&str> {
    trial.reason.as_deref().or(trial.left_out.as_deref())
}

/// The first five cells.
fn facts(trial: &TrialView) -> Vec<String> {
    let seconds = trial.seconds.map(|seconds| format!("{seconds:.1}"));
    vec![
        trial.id.to_string(),
        state(trial),
        number(trial.value),
        trial.origin.clone().unwrap_or_default(),
        seconds.unwrap_or_else(|| NOTHING.to_owned()),
    ]
}

/// The state, and why a complete trial comes late in the ranking or is not in it.
fn state(trial: &TrialView) -> String {
    let breaks_limit = trial.state == Status::Complete && trial.keeps_limits == Some(false);
    let but = match (&trial.left_out, trial.feasible, breaks_limit) {
        (Some(_), ..) => ", left out",
        (None, false, _) => ", infeasible",
        (None, true, true) => ", breaks a limit",
        (None, true, false) => "",
    };
    let corrected = if trial.history.is_empty() {
        ""
    } else {
        ", corrected"
    };
    format!("{}{but}{corrected}", trial.state)
}

fn number(number: Option<f64>) -> String {
    number.map_or(NOTHING.to_owned(), brief)
}

/// The value of a parameter; reals in six digits.
fn value(found: Option<&Value>) -> String {
    match found {
        Some(Value::Float(x)) => brief(*x),
        Some(value) => shown(value),
        None => NOTHING.to_owned(),
    }
}
