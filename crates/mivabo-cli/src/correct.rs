//! `mivabo correct`: lets another result count for a trial that was told wrongly.

use mivabo_store::{Object, Told};

use crate::args::CorrectArgs;
use crate::error::{Error, TellError};
use crate::source::Source;

/// Corrects what was told.
pub fn run(args: &CorrectArgs) -> Result<String, Error> {
    let result = args.json.clone().map(Object::new).transpose();
    let told = Told {
        value: args.value,
        reason: args.failed.clone(),
        result: result.map_err(|why| TellError::Result(Box::new(why)))?,
    };
    let source = Source {
        file: args.file.clone(),
        study: args.study.clone(),
    };
    let mut session = source.existing()?;
    let outcome = |session: &mivabo_store::Session| {
        let trial = session.outcome(args.trial);
        trial.map(|found| found.map_or(String::new(), |outcome| outcome.to_string()))
    };
    let before = outcome(&session)?;
    session.correct(args.trial, &told, args.why.as_deref())?;
    let (trial, now) = (args.trial, outcome(&session)?);
    Ok(format!("trial {trial} {now} (before: {before})\n"))
}
