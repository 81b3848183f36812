//! `mivabo tell`: values of trials in, nothing out but errors.

use mivabo_store::{Error, Object, Session, Told};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Failure;
use crate::args::Tell;
use crate::input::read;
use crate::source::Source;

/// A line of input.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    trial: u64,
    value: Option<f64>,
    failed: Option<String>,
    result: Option<Box<RawValue>>,
}

/// Stores what was typed, or what standard input says.
pub fn run(args: &Tell) -> Result<String, Failure> {
    let source = Source {
        file: args.file.clone(),
        study: args.study.clone(),
    };
    if let Some(trial) = args.trial {
        let result = args.result.clone().map(RawValue::from_string).transpose();
        let result = result.map_err(|e| format!("--result: {e}"))?;
        let line = Line {
            trial,
            value: args.value,
            failed: args.failed.clone(),
            result,
        };
        tell(&mut source.existing()?, &line)?;
        return Ok(String::new());
    }
    let text = read("-".as_ref())?;
    let mut session = source.existing()?;
    for (number, text) in text
        .lines()
        .enumerate()
        .filter(|(_, text)| !text.trim().is_empty())
    {
        let line = serde_json::from_str(text).map_err(|e| e.to_string());
        let told = line.and_then(|line| tell_or_known(&mut session, &line));
        told.map_err(|e| format!("line {}: {e}", number + 1))?;
    }
    Ok(String::new())
}

fn tell(session: &mut Session, line: &Line) -> Result<(), Failure> {
    session
        .tell_all(line.trial, &told(line)?)
        .map_err(|e| e.to_string())
}

/// The same, but a line that was told before is no error, so that lines can be told again after one of them was wrong.
fn tell_or_known(session: &mut Session, line: &Line) -> Result<(), Failure> {
    let told = told(line)?;
    match session.tell_all(line.trial, &told) {
        Err(Error::AlreadyTold { outcome, .. }) if outcome == told.outcome(session.aims()) => {
            Ok(())
        }
        other => other.map_err(|e| e.to_string()),
    }
}

fn told(line: &Line) -> Result<Told, Failure> {
    if line.value.is_some() == line.failed.is_some() {
        return Err("expected a value, or why there is none".to_owned());
    }
    let result = line.result.as_ref().map(|raw| Object::new(raw.get()));
    Ok(Told {
        value: line.value,
        reason: line.failed.clone(),
        result: result.transpose().map_err(|e| format!("`result`: {e}"))?,
    })
}
