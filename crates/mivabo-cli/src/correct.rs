//! `mivabo correct`: lets another result count for a trial that was told wrongly.

use std::path::PathBuf;

use mivabo_store::{Object, Told};

use crate::error::{Error, TellError};
use crate::source::Source;

/// `mivabo correct`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "What was told is kept, and shown as the trial's history. A value alone leaves everything else that was measured as \
it is; --json gives all of it anew.

Examples:
  mivabo correct study.toml 12 0.31 --why 'read the wrong column'
  mivabo correct study.toml 12 --json '{\"value\": 0.31, \"latency\": 12}'
  mivabo correct study.toml 13 --failed 'ran out of memory'"
)]
pub struct CorrectArgs {
    /// The study file (.toml or .json), or a database
    #[arg(value_name = "STUDY")]
    pub file: PathBuf,
    /// The trial's number
    pub trial: u64,
    /// Its value
    #[arg(
        allow_hyphen_values = true,
        group = "outcome",
        required_unless_present_any = ["failed", "json"]
    )]
    pub value: Option<f64>,
    /// Why it has no value
    #[arg(long, value_name = "REASON", group = "outcome")]
    pub failed: Option<String>,
    /// All that the evaluation gave, as a JSON object; its numbers are measures
    #[arg(long, value_name = "JSON")]
    pub json: Option<String>,
    /// Why it is corrected
    #[arg(long, value_name = "TEXT")]
    pub why: Option<String>,
    /// The study's name, if the database holds several
    #[arg(long, value_name = "NAME")]
    pub study: Option<String>,
}

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
