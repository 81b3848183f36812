//! `mivabo tell`: stores the values of trials.

use mivabo::measure::Outcome;
use mivabo_store::{Object, Refused, Session, Told};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::args::TellArgs;
use crate::error::{Error, TellError};
use crate::input::read_standard_input;
use crate::source::Source;
use crate::text::trials;

/// What is said of one trial.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    trial: u64,
    value: Option<f64>,
    failed: Option<String>,
    result: Option<Box<RawValue>>,
    /// Where it stands in the input, counted from 1; none for what was typed.
    #[serde(skip)]
    number: Option<usize>,
}

/// Stores what was typed, or what standard input says: all of it or nothing.
pub fn run(args: &TellArgs) -> Result<String, Error> {
    let source = Source {
        file: args.file.clone(),
        study: args.study.clone(),
    };
    // Read whole before the database is opened: who writes the lines may take hours, and needs the database meanwhile.
    let lines = match typed(args)? {
        Some(line) => vec![line],
        None => lines()?,
    };
    let told = lines.iter().map(|line| Ok((line.trial, line.told()?)));
    let told: Vec<(u64, Told)> = told.collect::<Result<_, Error>>()?;
    let mut session = source.existing()?;
    let heard = session.tell_many(&told);
    let is_repeated = heard.map_err(|refused| error(&lines, refused))?;
    say_heard(&session, &told, &is_repeated);
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
        number: None,
    }))
}

/// What standard input says, line by line.
fn lines() -> Result<Vec<Line>, Error> {
    let text = read_standard_input()?;
    let numbered = (1..).zip(text.lines());
    let lines = numbered.filter(|(_, text)| !text.trim().is_empty());
    let lines = lines.map(|(number, text)| {
        let line: Result<Line, _> = serde_json::from_str(text);
        let line = line.map_err(|why| Error::TellLine {
            line: number,
            why: TellError::Syntax(why),
        })?;
        let number = Some(number);
        Ok(Line { number, ..line })
    });
    lines.collect()
}

/// What the store refused, with its line.
fn error(lines: &[Line], refused: Refused) -> Error {
    let line = refused.at.and_then(|at| lines.get(at)?.number);
    let why = refused.why;
    match line {
        Some(line) => Error::TellLine {
            line,
            why: TellError::Store(why),
        },
        None => Error::Store(why),
    }
}

/// Says what counts as failed without being called so, and what was no news.
fn say_heard(session: &Session, told: &[(u64, Told)], is_repeated: &[bool]) {
    for (id, told) in told.iter().filter(|(_, told)| told.reason.is_none()) {
        if let Outcome::Failed { reason, .. } = told.outcome(session.aims()) {
            say!("trial {id} counts as failed: {reason}");
        }
    }
    let heard = told.iter().zip(is_repeated);
    let repeated = heard.filter_map(|((id, _), is_repeated)| is_repeated.then_some(*id));
    let repeated: Vec<u64> = repeated.collect();
    if !repeated.is_empty() {
        say!(
            "told the same before, and left as it was: {}",
            trials(&repeated)
        );
    }
}

impl Line {
    fn told(&self) -> Result<Told, Error> {
        let told = self.outcome();
        told.map_err(|why| match self.number {
            Some(line) => Error::TellLine { line, why },
            None => Error::Tell(why),
        })
    }

    fn outcome(&self) -> Result<Told, TellError> {
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
