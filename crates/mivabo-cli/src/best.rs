//! `mivabo best`: the best trial of a stored study, or what the model recommends, and how it meets limits and constraints.

use std::path::Path;

use mivabo::measure::Limit;
use mivabo::space::{Point, Value};
use mivabo::view::{MarginView, Status, StudyView, TrialView};
use mivabo::{Space, counted};
use mivabo_store::Session;
use mivabo_work::{Objective, Plan};
use serde::Serialize;
use serde_json::{Map, json};

use crate::Answer;
use crate::args::BestArgs;
use crate::error::Error;
use crate::exit::Exit;
use crate::invocation;
use crate::objective::{Call, shown};
use crate::source::Found;
use crate::text::{brief, table};

/// What evaluates the trials of a study, and in which folder.
pub struct Started<'a> {
    objective: &'a Objective,
    folder: &'a Path,
}

impl<'a> Started<'a> {
    /// As a run starts it.
    pub fn by(plan: &'a Plan) -> Started<'a> {
        Started {
            objective: &plan.objective,
            folder: &plan.folder,
        }
    }

    /// The line that starts it at the point of this trial.
    fn line(&self, view: &StudyView, trial: &TrialView) -> Option<String> {
        let names = view.parameters.iter().map(|parameter| &parameter.name);
        let values = names.filter_map(|name| Some((name.clone(), trial.params.get(name)?.clone())));
        let values: Vec<(String, Value)> = values.collect();
        // The file may have changed since the study was made.
        let known = &self.objective.variables;
        if values.iter().any(|(name, _)| !known.contains_key(name)) {
            return None;
        }
        invocation::line(&Call {
            objective: self.objective,
            folder: self.folder,
            study: &view.name,
            trial: trial.id,
            values: &values,
        })
    }
}

/// The best trial, or what the model recommends.
pub fn run(args: &BestArgs) -> Result<Answer, Error> {
    let Found {
        mut session, file, ..
    } = args.source.find()?;
    if args.recommend && session.best().is_some() {
        return recommended(&mut session, args.json);
    }
    let started = file.as_ref().and_then(|file| {
        Some(Started {
            objective: file.objective.as_ref()?,
            folder: file.folder(),
        })
    });
    answer(&session, started.as_ref(), args.json)
}

/// The best trial of a study; the exit code says so when there is none.
pub fn answer(
    session: &Session,
    started: Option<&Started<'_>>,
    is_json: bool,
) -> Result<Answer, Error> {
    let view = session.view()?;
    let command = view
        .best_trial()
        .and_then(|best| started?.line(&view, best));
    let output = if is_json {
        let summary = Summary::of(&view);
        pretty(&Summary { command, ..summary })?
    } else {
        as_text(&view, command)
    };
    let exit = match view.best {
        Some(_) => Exit::Done,
        None => Exit::NoValue,
    };
    Ok(Answer {
        exit,
        ..output.into()
    })
}

/// What `--json` prints: how many trials there are, and the best one.
#[derive(Serialize)]
struct Summary<'a> {
    study: &'a str,
    trials: usize,
    told: usize,
    stopped: usize,
    failed: usize,
    best: Option<&'a TrialView>,
    /// What evaluates the best one, for a shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
}

impl<'a> Summary<'a> {
    fn of(view: &'a StudyView) -> Summary<'a> {
        Summary {
            study: &view.name,
            trials: view.trials.len(),
            told: view.n_told(),
            stopped: view.count(Status::Stopped),
            failed: view.count(Status::Failed),
            best: view.best_trial(),
            command: None,
        }
    }
}

/// JSON with a line for each value.
pub fn pretty(what: &impl Serialize) -> Result<String, Error> {
    let text = serde_json::to_string_pretty(what).map_err(Error::Json)?;
    Ok(text + "\n")
}

fn recommended(session: &mut Session, is_json: bool) -> Result<Answer, Error> {
    let found = session.recommend()?;
    let output = if is_json {
        pretty(&recommended_json(session, found.point(), found.mean()))?
    } else {
        recommended_text(session.space(), found.point(), found.mean())
    };
    Ok(output.into())
}

fn recommended_json(session: &Session, point: &Point, mean: f64) -> serde_json::Value {
    let values = session.space().values(point);
    let params: Map<_, _> = values
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect();
    json!({
        "study": session.name(),
        "mean": mean,
        "params": params,
        "constraints": MarginView::at(session.space(), point),
    })
}

fn recommended_text(space: &Space, point: &Point, mean: f64) -> String {
    let values = space.values(point);
    let values = section("", values.map(|(name, value)| value_row(name, &value)));
    let margins = MarginView::at(space, point);
    let constraints = section("constraints\n", margins.iter().map(margin_row));
    let mean = brief(mean);
    format!("recommended: {mean} expected\n{values}{constraints}")
}

fn as_text(view: &StudyView, command: Option<String>) -> String {
    let best = view.best_trial().and_then(|best| Some((best, best.value?)));
    let Some((best, value)) = best else {
        return without_best(view);
    };
    let trials = counted(view.n_told(), "trial");
    // The ranking puts those that keep the limits first: if the best one does not, none does.
    let limits_broken = match best.keeps_limits {
        Some(false) => "; no trial keeps every limit",
        _ => "",
    };
    let number = best.id;
    let headline = format!("best of {trials}: {value} (trial {number}){limits_broken}\n");
    let command = command.map_or(String::new(), |line| format!("command\n  {line}\n"));
    headline + &described(view, best) + &command
}

fn without_best(view: &StudyView) -> String {
    let trials = counted(view.trials.len(), "trial");
    let n_told = view.n_told();
    let n_failed = view.count(Status::Failed);
    format!("no feasible trial has a value: {trials}, {n_told} told, {n_failed} failed\n")
}

/// Parameters, limits and constraints at a trial.
fn described(view: &StudyView, trial: &TrialView) -> String {
    let values = view.parameters.iter().filter_map(|one| {
        let value = trial.params.get(&one.name)?;
        Some(value_row(&one.name, value))
    });
    let limits = view.limits.iter().map(|limit| limit_row(limit, trial));
    let margins = trial.margins.iter().flatten().map(margin_row);
    let values = section("", values);
    let limits = section("limits\n", limits);
    let constraints = section("constraints\n", margins);
    values + &limits + &constraints
}

/// Rows under a title; nothing where there are none.
fn section(title: &str, rows: impl Iterator<Item = Vec<String>>) -> String {
    let rows: Vec<Vec<String>> = rows.collect();
    if rows.is_empty() {
        return String::new();
    }
    format!("{title}{}", table(&rows))
}

fn value_row(name: &str, value: &Value) -> Vec<String> {
    vec![format!("  {name}"), shown(value)]
}

/// What was measured, the bound, and how far apart they are.
fn limit_row(limit: &Limit, trial: &TrialView) -> Vec<String> {
    let measured = trial.measured.get(&limit.measure);
    let number = measured.map_or("not measured".to_owned(), brief);
    let sides = format!("{number} {} {}", limit.relation, brief(limit.bound));
    let slack = measured.map(|measured| (measured - limit.bound).abs());
    let how = verdict(limit.is_kept(&trial.measured), slack);
    vec![format!("  {}", limit.measure), sides, how]
}

/// Name, both sides, and how far they are from failing.
fn margin_row(margin: &MarginView) -> Vec<String> {
    let sides = match (&margin.left, &margin.right) {
        (Some(left), Some(right)) => {
            format!("{} {} {}", side(left), margin.relation, side(right))
        }
        _ => margin.statement.clone(),
    };
    let how = verdict(margin.holds, margin.slack);
    vec![format!("  {}", margin.constraint), sides, how]
}

fn side(side: &Value) -> String {
    match side {
        Value::Float(x) => brief(*x),
        value => shown(value),
    }
}

fn verdict(holds: bool, slack: Option<f64>) -> String {
    match slack {
        _ if !holds => "VIOLATED".to_owned(),
        Some(slack) => format!("slack {}", brief(slack)),
        None => "holds".to_owned(),
    }
}
