//! `mivabo best`: the best trial of a stored study, or what the model recommends, and how it meets each constraint.

use mivabo::space::Value;
use mivabo::view::{MarginView, Status, StudyView, TrialView};
use mivabo_store::Session;
use serde::Serialize;
use serde_json::{Map, json};

use crate::args::Best;
use crate::error::Error;
use crate::objective::shown;
use crate::text::{brief, table};
use crate::{Answer, NO_VALUE};

/// The best trial, or what the model recommends.
pub fn run(args: &Best) -> Result<Answer, Error> {
    let mut session = args.source.read()?;
    if args.recommend && session.best().is_some() {
        return recommended(&mut session, args.json);
    }
    answer(&session, args.json)
}

/// The best trial of a study; the exit code says so when there is none.
pub fn answer(session: &Session, is_json: bool) -> Result<Answer, Error> {
    let view = session.view()?;
    let output = if is_json {
        pretty(&Summary::of(&view))?
    } else {
        as_text(&view)
    };
    let code = if view.best.is_none() { NO_VALUE } else { 0 };
    Ok(Answer { output, code })
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
        }
    }
}

/// JSON with a line for each value.
pub fn pretty(what: &impl Serialize) -> Result<String, Error> {
    let text = serde_json::to_string_pretty(what);
    text.map(|text| text + "\n").map_err(Error::from)
}

fn recommended(session: &mut Session, is_json: bool) -> Result<Answer, Error> {
    let found = session.recommend()?;
    let space = session.space();
    let margins = MarginView::at(space, found.point());
    let values = space.values(found.point());
    let output = if is_json {
        let params: Map<_, _> = values
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect();
        pretty(&json!({
            "study": session.name(),
            "mean": found.mean(),
            "params": params,
            "constraints": margins,
        }))?
    } else {
        let rows = values.map(|(name, value)| value_row(name, &value));
        let mean = brief(found.mean());
        let point = described(&rows.collect::<Vec<_>>(), &margins);
        format!("recommended: {mean} expected\n{point}")
    };
    Ok(output.into())
}

fn as_text(view: &StudyView) -> String {
    let n = view.trials.len();
    let best = view.best_trial().and_then(|best| Some((best, best.value?)));
    let Some((best, value)) = best else {
        let n_told = view.n_told();
        let n_failed = view.count(Status::Failed);
        return format!(
            "no feasible trial has a value: {n} trials, {n_told} told, {n_failed} failed\n"
        );
    };
    let parameters = view.parameters.iter();
    let rows = parameters.filter_map(|one| {
        let value = best.params.get(&one.name)?;
        Some(value_row(&one.name, value))
    });
    let margins = best.margins.as_deref().unwrap_or_default();
    let point = described(&rows.collect::<Vec<_>>(), margins);
    format!("best of {n} trials: {value} (trial {})\n{point}", best.id)
}

fn value_row(name: &str, value: &Value) -> Vec<String> {
    vec![format!("  {name}"), shown(value)]
}

/// Parameters and constraints at a point.
fn described(values: &[Vec<String>], margins: &[MarginView]) -> String {
    let values = table(values);
    if margins.is_empty() {
        return values;
    }
    let rows: Vec<Vec<String>> = margins.iter().map(margin_row).collect();
    format!("{values}constraints\n{}", table(&rows))
}

/// Name, both sides, and how far they are from failing.
fn margin_row(margin: &MarginView) -> Vec<String> {
    let side = |side: &Value| match side {
        Value::Float(x) => brief(*x),
        value => shown(value),
    };
    let sides = match (&margin.left, &margin.right) {
        (Some(left), Some(right)) => {
            format!("{} {} {}", side(left), margin.relation, side(right))
        }
        _ => margin.statement.clone(),
    };
    let how = match margin.slack {
        _ if !margin.holds => "VIOLATED".to_owned(),
        Some(slack) => format!("slack {}", brief(slack)),
        None => "holds".to_owned(),
    };
    vec![format!("  {}", margin.constraint), sides, how]
}
