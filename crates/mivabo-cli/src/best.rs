//! `mivabo best`: a stored study in, its best trial and how that meets the constraints out.

use std::fmt::Write as _;

use mivabo::measure::Outcome;
use mivabo::space::{Margin, Point};
use mivabo::study::Trial;
use mivabo_store::Session;
use serde_json::{Map, Value, json};

use crate::args::Best;
use crate::crew::counts;
use crate::objective::shown;
use crate::text::{brief, table};
use crate::{Answer, Failure, NO_VALUE};

/// The best trial, or what the model recommends.
pub fn run(args: &Best) -> Result<Answer, Failure> {
    let mut session = args.source.read()?;
    if args.recommend {
        return recommended(&mut session, args.json);
    }
    Ok(answer(&session, args.json))
}

/// The best trial of a study; the exit code says so when there is none.
pub fn answer(session: &Session, is_json: bool) -> Answer {
    let output = if is_json {
        as_json(session)
    } else {
        as_text(session)
    };
    Answer {
        output,
        code: if session.best().is_none() {
            NO_VALUE
        } else {
            0
        },
    }
}

fn recommended(session: &mut Session, is_json: bool) -> Result<Answer, Failure> {
    if session.best().is_none() {
        return Ok(answer(session, is_json));
    }
    let found = session.recommend().map_err(|e| e.to_string())?;
    let (point, mean) = (found.point(), found.mean());
    let output = if is_json {
        let report = json!({"study": session.name(), "mean": mean, "params": params(session, point),
            "constraints": margins(session, point)});
        format!("{report:#}\n")
    } else {
        format!(
            "recommended: {} expected\n{}",
            brief(mean),
            described(session, point)
        )
    };
    Ok(output.into())
}

fn as_text(session: &Session) -> String {
    let n = session.trials().len();
    let (n_told, n_failed) = counts(session);
    match session.best() {
        None => {
            format!("no feasible trial has a value: {n} trials, {n_told} told, {n_failed} failed\n")
        }
        Some(best) => {
            let value = session.study().value(best).unwrap_or(f64::NAN);
            format!(
                "best of {n} trials: {value} (trial {})\n{}",
                best.id,
                described(session, best.point())
            )
        }
    }
}

/// Parameters and constraints at a point.
fn described(session: &Session, point: &Point) -> String {
    let space = session.space();
    let cell = |text: &str| format!("  {text}");
    let values: Vec<Vec<String>> = space
        .values(point)
        .map(|(name, value)| vec![cell(name), shown(&value)])
        .collect();
    let mut out = table(&values);
    let margins: Vec<Vec<String>> = space.margins(point).iter().map(margin_row).collect();
    if !margins.is_empty() {
        let _ = write!(out, "constraints\n{}", table(&margins));
    }
    out
}

/// Name, both sides, and how far they are from failing.
fn margin_row(margin: &Margin) -> Vec<String> {
    let name = format!("  {}", margin.constraint);
    let side = |side: &Option<mivabo::space::Value>| match side.as_ref() {
        Some(mivabo::space::Value::Float(x)) => brief(*x),
        Some(value) => shown(value),
        None => String::new(),
    };
    let sides = match (&margin.left, &margin.right) {
        (Some(_), Some(_)) => format!(
            "{} {} {}",
            side(&margin.left),
            margin.relation,
            side(&margin.right)
        ),
        _ => margin.statement.clone(),
    };
    let how = match (margin.holds, margin.slack) {
        (true, Some(slack)) => format!("slack {}", brief(slack)),
        (true, None) => "holds".to_owned(),
        (false, _) => "VIOLATED".to_owned(),
    };
    vec![name, sides, how]
}

fn as_json(session: &Session) -> String {
    let (n_told, n_failed) = counts(session);
    let best = session.best();
    let report = json!({
        "study": session.name(),
        "trials": session.trials().len(),
        "told": n_told,
        "failed": n_failed,
        "best": best.map(|trial: &Trial| json!({"trial": trial.id, "value": session.study().value(trial),
            "measured": trial.outcome().map(Outcome::measured),
            "params": params(session, trial.point()), "constraints": margins(session, trial.point())})),
    });
    format!("{report:#}\n")
}

/// Names and values.
pub fn params(session: &Session, point: &Point) -> Map<String, Value> {
    session
        .space()
        .values(point)
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect()
}

fn margins(session: &Session, point: &Point) -> Vec<Value> {
    let as_json = |m: Margin| {
        json!({"constraint": m.constraint, "statement": m.statement, "left": m.left, "relation": m.relation,
            "right": m.right, "holds": m.holds, "slack": m.slack})
    };
    session
        .space()
        .margins(point)
        .into_iter()
        .map(as_json)
        .collect()
}
