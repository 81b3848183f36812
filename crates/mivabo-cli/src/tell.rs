//! `mivabo tell`: stores the values of trials.

use mivabo_store::{Error as StoreError, Object, Session, Told};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::args::Tell;
use crate::error::Error;
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
pub fn run(args: &Tell) -> Result<String, Error> {
    let source = Source {
        file: args.file.clone(),
        study: args.study.clone(),
    };
    match typed(args)? {
        Some(line) => {
            let told = line.told()?;
            source.existing()?.tell_all(line.trial, &told)?;
        }
        None => tell_lines(&source)?,
    }
    Ok(String::new())
}

/// The trial of the arguments, if they name one.
fn typed(args: &Tell) -> Result<Option<Line>, Error> {
    let Some(trial) = args.trial else {
        return Ok(None);
    };
    let result = args.result.clone().map(RawValue::from_string).transpose();
    let result = result.map_err(|why| Error::from(why).at("--result"))?;
    Ok(Some(Line {
        trial,
        value: args.value,
        failed: args.failed.clone(),
        result,
    }))
}

/// Tells what standard input says, line by line. Lines before a wrong one are stored.
fn tell_lines(source: &Source) -> Result<(), Error> {
    let text = read("-".as_ref())?;
    let mut session = source.existing()?;
    for (number, text) in (1..).zip(text.lines()) {
        if text.trim().is_empty() {
            continue;
        }
        let line = serde_json::from_str(text).map_err(Error::from);
        let told = line.and_then(|line| tell_or_known(&mut session, &line));
        told.map_err(|why| why.at(format!("line {number}")))?;
    }
    Ok(())
}

/// A line that was told before is not an error, so that lines can be told again after one of them was wrong.
fn tell_or_known(session: &mut Session, line: &Line) -> Result<(), Error> {
    let told = line.told()?;
    match session.tell_all(line.trial, &told) {
        Err(StoreError::AlreadyTold { outcome, .. }) if outcome == told.outcome(session.aims()) => {
            Ok(())
        }
        other => Ok(other?),
    }
}

impl Line {
    fn told(&self) -> Result<Told, Error> {
        if self.value.is_some() == self.failed.is_some() {
            return Err(Error::NotOneOutcome);
        }
        let result = self.result.as_ref().map(|raw| Object::new(raw.get()));
        let result = result
            .transpose()
            .map_err(|why| Error::from(why).at("`result`"))?;
        Ok(Told {
            value: self.value,
            reason: self.failed.clone(),
            result,
        })
    }
}
