//! `mivabo tell`: stores the values of trials.

use mivabo_store::{Error as StoreError, Object, Session, Told};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::args::TellArgs;
use crate::error::{Error, TellError};
use crate::input::read_standard_input;
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
pub fn run(args: &TellArgs) -> Result<String, Error> {
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
fn typed(args: &TellArgs) -> Result<Option<Line>, TellError> {
    let Some(trial) = args.trial else {
        return Ok(None);
    };
    let result = args.result.clone().map(RawValue::from_string).transpose();
    Ok(Some(Line {
        trial,
        value: args.value,
        failed: args.failed.clone(),
        result: result.map_err(TellError::ResultSyntax)?,
    }))
}

/// Tells what standard input says, line by line. Lines before a wrong one are stored.
fn tell_lines(source: &Source) -> Result<(), Error> {
    // Read whole before the database is opened: who writes the lines may take hours, and needs the database meanwhile.
    let text = read_standard_input()?;
    let mut session = source.existing()?;
    for (number, text) in (1..).zip(text.lines()) {
        if text.trim().is_empty() {
            continue;
        }
        tell_line(&mut session, text).map_err(|why| Error::TellLine { line: number, why })?;
    }
    Ok(())
}

fn tell_line(session: &mut Session, text: &str) -> Result<(), TellError> {
    let line: Line = serde_json::from_str(text).map_err(TellError::Syntax)?;
    let told = line.told()?;
    match session.tell_all(line.trial, &told) {
        // All lines can be told again once a wrong one is mended, and those before it are there already.
        Err(StoreError::AlreadyTold { outcome, .. }) if outcome == told.outcome(session.aims()) => {
            Ok(())
        }
        other => other.map_err(|why| TellError::Store(Box::new(why))),
    }
}

impl Line {
    fn told(&self) -> Result<Told, TellError> {
        if self.value.is_some() == self.failed.is_some() {
            return Err(TellError::NotOneOutcome);
        }
        let result = self.result.as_ref().map(|raw| Object::new(raw.get()));
        let result = result.transpose();
        Ok(Told {
            value: self.value,
            reason: self.failed.clone(),
            result: result.map_err(|why| TellError::Result(Box::new(why)))?,
        })
    }
}
