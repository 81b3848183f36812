//! What can be typed to change a study: its points, results, definition, or that it exists at all.

use std::path::PathBuf;

use crate::source::Source;

/// `mivabo enqueue`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The next `ask` or `run` evaluates these points before any other. What is left out has its default, where it has one. \
If any point is wrong, none is enqueued.

Examples:
  mivabo enqueue study.toml lr=0.01 layers=3
  mivabo enqueue study.toml --json '{\"lr\": 0.01, \"layers\": 3}'
  mivabo enqueue study.toml --json - < points.jsonl"
)]
pub struct EnqueueArgs {
    /// The study file (.toml or .json), or a database
    #[arg(value_name = "STUDY")]
    pub file: PathBuf,
    /// Values of parameters, such as lr=0.01
    #[arg(value_name = "NAME=VALUE", required_unless_present = "json")]
    pub values: Vec<String>,
    /// The values as a JSON object, or a list of them; - for one object per line on standard input
    #[arg(long, value_name = "JSON", conflicts_with = "values")]
    pub json: Option<String>,
    /// The study's name, if the database holds several
    #[arg(long, value_name = "NAME")]
    pub study: Option<String>,
}

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

/// `mivabo revise`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Parameters, constraints, limits, seed and strategy can change; a new parameter needs a `default`, the value that \
earlier trials stand for. Results stay for ever and are learned from wherever they have a place in the new space. Waiting trials \
that the new space forbids fail; running ones finish. Other processes follow at their next call.

Examples:
  mivabo revise study.toml --dry-run   say what would change
  mivabo revise study.toml"
)]
pub struct ReviseArgs {
    /// The study file
    #[arg(value_name = "STUDY")]
    pub file: PathBuf,
    /// Say what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// `mivabo rm`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The study is gone for ever, with all its trials; other studies of the database stay, and so do study file and logs. \
Whoever still works on it is refused from then on.

Examples:
  mivabo rm study.toml
  mivabo rm studies.db --study cnn --yes"
)]
pub struct RmArgs {
    #[command(flatten)]
    pub source: Source,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
    /// Remove it even while trials run
    #[arg(long)]
    pub force: bool,
}
