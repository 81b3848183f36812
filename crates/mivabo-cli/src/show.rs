//! `mivabo show`: the trials of a stored study as a table, or as one JSON object a line.

use mivabo::space::Value;
use mivabo::view::{StudyView, TrialView};

use crate::args::Show;
use crate::error::Error;
use crate::objective::shown;
use crate::text::{brief, table};

/// The cell of what there is none of.
const NOTHING: &str = "-";

/// Lists trials.
pub fn run(args: &Show) -> Result<String, Error> {
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
fn chosen<'a>(view: &'a StudyView, args: &Show) -> Vec<&'a TrialView> {
    let is_chosen = |trial: &&TrialView| args.state.is_empty() || args.state.contains(&trial.state);
    match args.best {
        None => view.trials.iter().filter(is_chosen).collect(),
        Some(n) => {
            let feasible = view.ranked().filter(|trial| trial.feasible);
            feasible.filter(is_chosen).take(n).collect()
        }
    }
}

fn lines(trials: &[&TrialView]) -> Result<String, Error> {
    let mut out = String::new();
    for trial in trials {
        out += &serde_json::to_string(trial)?;
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
}

impl<'a> Columns<'a> {
    fn of(view: &'a StudyView, trials: &[&TrialView]) -> Columns<'a> {
        let is_measured = |measure: &&str| {
            let mut numbers = trials.iter().map(|trial| trial.measured.get(measure));
            numbers.any(|number| number.is_some())
        };
        let parameters = view.parameters.iter();
        Columns {
            goal: view.goal_name(),
            measures: view.measures().into_iter().filter(is_measured).collect(),
            parameters: parameters.map(|one| one.name.as_str()).collect(),
        }
    }

    fn header(&self) -> Vec<String> {
        let facts = ["trial", "state", self.goal, "origin", "seconds"];
        let names = facts.iter().chain(&self.measures).chain(&self.parameters);
        names.map(|name| (*name).to_owned()).collect()
    }

    fn row(&self, trial: &TrialView) -> Vec<String> {
        let infeasible = if trial.feasible { "" } else { ", infeasible" };
        let seconds = trial.seconds.map(|seconds| format!("{seconds:.1}"));
        let mut row = vec![
            trial.id.to_string(),
            format!("{}{infeasible}", trial.state),
            number(trial.value),
            trial.origin.clone().unwrap_or_default(),
            seconds.unwrap_or_else(|| NOTHING.to_owned()),
        ];
        let measured = self.measures.iter();
        row.extend(measured.map(|measure| number(trial.measured.get(measure))));
        let parameters = self.parameters.iter();
        row.extend(parameters.map(|name| value(trial.params.get(*name))));
        row.extend(trial.reason.clone());
        row
    }
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
