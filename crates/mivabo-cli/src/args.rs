//! What can be typed.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use clap::{CommandFactory as _, Parser, Subcommand};
use mivabo::view::Status;
use mivabo_work::MAX_WORKERS;

use crate::source::Source;

/// Finds good settings of an expensive function over mixed variables under known constraints.
#[derive(Debug, Parser)]
#[command(
    name = "mivabo",
    version,
    arg_required_else_help = true,
    after_help = "Exit codes:
  0    done
  1    a file, its contents or the disk is the problem, or no point is left; the message says which
  2    the call is wrong
  3    no feasible trial has a value
  130  stopped by Ctrl-C (143 by SIGTERM, 129 by SIGHUP)

Examples:
  mivabo init study.toml     a study file to begin with
  mivabo check study.toml    whether it makes sense
  mivabo run study.toml      the trials, as many as it says
  mivabo best study.toml     the best of them"
)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a study file to begin with
    Init(Init),
    /// Validate a study file: its parameters, its constraints and how each is enforced
    Check(Check),
    /// Run a study: evaluate its objective until all trials are done
    Run(Run),
    /// Print the next point to evaluate, for a loop of your own
    Ask(Ask),
    /// Store the value of a trial that was asked for
    Tell(Tell),
    /// Print the best trial and how it meets each constraint
    Best(Best),
    /// List trials
    Show(Show),
    /// Write one HTML page: convergence, parameters, constraints, times, trials
    Report(Report),
    /// Print all trials as CSV or JSON
    Export(Export),
    /// Add results from elsewhere
    Import(Import),
    /// List the strategies and their settings
    Strategies(Strategies),
    /// Solve binary quadratic programs, one JSON line each
    Solve(Solve),
    /// Print completions for a shell
    Completions(Completions),
    /// Print a manual page
    Man(Man),
}

/// `mivabo init`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "On a terminal it asks for the name, the direction and the command; a file that exists is kept.

Examples:
  mivabo init                write study.toml
  mivabo init tuning.toml"
)]
pub struct Init {
    /// The file to write
    #[arg(default_value = "study.toml")]
    pub file: PathBuf,
}

/// `mivabo run`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Results are in the study's database (`storage` in [run]; beside the study file by default), \
what the objective prints is in the folder <database>.logs/<study>. The same command again goes on where the last \
one stopped; several at the same time share the work.

Ctrl-C: no new trials, running ones finish. Again: running ones are killed and wait for the next run.

`strategy` in [run] says how points are chosen: see `mivabo strategies`.

Exit codes: 0 all trials are done; 1 a file or the disk is the problem; 2 the call is wrong; 3 no feasible trial \
has a value; 130 stopped by Ctrl-C.

Examples:
  mivabo run study.toml
  mivabo run study.toml --trials 200 --workers 4
  mivabo run study.toml --quiet --json > best.json"
)]
pub struct Run {
    /// The study file
    pub file: PathBuf,
    /// Total number of trials, including those already there
    #[arg(long, value_name = "N")]
    pub trials: Option<u64>,
    /// How many are evaluated at the same time
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=MAX_WORKERS as u64))]
    pub workers: Option<usize>,
    /// Where all randomness comes from; a study that exists opens only with its own
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long)]
    pub quiet: bool,
}

/// `mivabo ask`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Each line is a JSON object: {\"trial\": 12, \"params\": {\"x\": 3}, \"origin\": \"thompson\", \"attempts\": 1}.
A trial that is not told when its lease ends may be handed out again; the first tell counts.

Examples:
  mivabo ask study.toml
  mivabo ask study.toml --count 8 --lease 3d"
)]
pub struct Ask {
    #[command(flatten)]
    pub source: Source,
    /// How many points
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub count: u64,
    /// How long until a point that is not told may be handed out again
    #[arg(long, value_name = "TIME", default_value = "1d")]
    pub lease: humantime::Duration,
}

/// `mivabo tell`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without a trial, JSON objects are read from standard input, one a line:
  {\"trial\": 12, \"value\": 0.31, \"result\": {\"accuracy\": 0.94}}
  {\"trial\": 13, \"failed\": \"out of memory\"}

Examples:
  mivabo tell study.toml 12 0.31
  mivabo tell study.toml 13 --failed 'out of memory'
  mivabo tell study.toml < results.jsonl"
)]
pub struct Tell {
    /// The study file (.toml or .json), or a database
    pub file: PathBuf,
    /// The trial's number
    #[arg(requires = "outcome")]
    pub trial: Option<u64>,
    /// Its value
    #[arg(allow_hyphen_values = true, group = "outcome")]
    pub value: Option<f64>,
    /// It has no value, and this is why
    #[arg(long, value_name = "REASON", requires = "trial", group = "outcome")]
    pub failed: Option<String>,
    /// What else came of it, as a JSON object; it is kept with the trial
    #[arg(long, value_name = "JSON", requires = "trial")]
    pub result: Option<String>,
    /// The study's name, for a database that holds several
    #[arg(long, value_name = "NAME")]
    pub study: Option<String>,
}

/// `mivabo best`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mivabo best study.toml
  mivabo best study.toml --recommend   the best point by the model, which sees through noise
  mivabo best study.db --study cnn --json")]
pub struct Best {
    #[command(flatten)]
    pub source: Source,
    /// The point of the best posterior mean instead of the best trial
    #[arg(long)]
    pub recommend: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `mivabo show`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mivabo show study.toml
  mivabo show study.toml --best 5
  mivabo show study.toml --state failed
  mivabo show study.toml --json | jq .value")]
pub struct Show {
    #[command(flatten)]
    pub source: Source,
    /// Only trials in this state; may be given several times
    #[arg(long, value_name = "STATE", value_parser = states())]
    pub state: Vec<Status>,
    /// Only the best N feasible trials, the best first
    #[arg(long, value_name = "N")]
    pub best: Option<usize>,
    /// Print a JSON object for each trial
    #[arg(long)]
    pub json: bool,
}

/// `mivabo report`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The page needs nothing else: no network, no script from elsewhere. Its path is printed. It replaces an older report, \
and nothing else without --force; databases never.

Examples:
  mivabo report study.toml                       writes study.html
  mivabo report study.db --study cnn --out cnn.html")]
pub struct Report {
    #[command(flatten)]
    pub source: Source,
    /// Where to write; - for standard output [default: the file's name with .html]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace a file that is not a report, or a link
    #[arg(long)]
    pub force: bool,
}

/// `mivabo export`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mivabo export study.toml > trials.csv
  mivabo export study.toml --format json > trials.json")]
pub struct Export {
    #[command(flatten)]
    pub source: Source,
    /// The format
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    pub format: Format,
}

/// How trials are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A table with a header
    Csv,
    /// One object with everything that is known of the study
    Json,
}

/// `mivabo import`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A CSV file has a header with the names of the parameters and `value`; a JSON file is a list of objects. \
What `mivabo export` writes can be read. Points that break a constraint are kept: the model learns from them, and they \
are never the best. Nothing is imported if a row is wrong.

Examples:
  mivabo import study.toml old-results.csv
  mivabo import study.toml old-results.json --value loss"
)]
pub struct Import {
    /// The study file (.toml or .json), or a database
    pub file: PathBuf,
    /// The results (JSON when it ends in .json); - for CSV on standard input
    pub results: PathBuf,
    /// The column of the value
    #[arg(long, value_name = "COLUMN", default_value = "value")]
    pub value: String,
    /// The study's name, for a database that holds several
    #[arg(long, value_name = "NAME")]
    pub study: Option<String>,
}

/// `mivabo completions`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mivabo completions bash > ~/.local/share/bash-completion/completions/mivabo
  mivabo completions fish > ~/.config/fish/completions/mivabo.fish")]
pub struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// `mivabo man`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mivabo man > mivabo.1
  mivabo man run | man -l -")]
pub struct Man {
    /// A command, for its own page
    #[arg(value_parser = command_name)]
    pub command: Option<String>,
}

/// `mivabo check`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mivabo check study.toml          what the file says, and a feasible point
  mivabo check --json study.toml   the same for a program")]
pub struct Check {
    /// The study file (TOML, or JSON when it ends in .json); - for standard input
    pub file: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `mivabo strategies`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A strategy is one word in a study file. Settings follow its name, each after a colon, in any order:
  [run]
  strategy = \"thompson:search=dual:order=1\"

Which parameters interact, for products=linked:
  [model]
  linked = [[\"units\", \"rate\"], [\"layers\", \"rate\"]]

Examples:
  mivabo strategies
  mivabo strategies --json"
)]
pub struct Strategies {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `mivabo solve`
#[derive(Debug, clap::Args)]
#[command(after_help = "A line of input is a JSON object:
  {\"name\": \"small\", \"n\": 3, \"linear\": [1, -2, 0.5], \"quadratic\": [[0, 1, 1.5], [1, 2, -1]]}
minimises over n bits the sum of linear[i] x[i] and of value x[i] x[j] for each [i, j, value]. More keys:
  \"rows\": [{\"idx\": [0, 1, 2], \"coef\": [1, 1, 1], \"sense\": \"<=\", \"rhs\": 2}]
  \"groups\": [[0, 1]]                                bits of which exactly one is set
  \"tables\": [{\"bits\": [1, 2], \"allowed\": [0, 3]}]   allowed patterns, the first bit lowest

Examples:
  mivabo solve instances.jsonl
  mivabo solve --limit 10 instances.jsonl
  mivabo solve --heuristic - < instances.jsonl")]
pub struct Solve {
    /// The instances, one JSON object a line; - for standard input
    pub file: PathBuf,
    /// Seconds after which an instance is given up, with the best point and bound so far
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub limit: Option<f64>,
    /// Nodes after which an instance is given up: unlike seconds, the same in every run
    #[arg(long, value_name = "N")]
    pub nodes: Option<u64>,
    /// Threads that expand nodes side by side
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub threads: usize,
    /// Only look for a good point, without a proof
    #[arg(long)]
    pub heuristic: bool,
}

/// The states of trials as arguments.
fn states() -> impl TypedValueParser<Value = Status> {
    let names = Status::ALL.map(|state| PossibleValue::new(state.name()).help(state.meaning()));
    PossibleValuesParser::new(names).try_map(|name| {
        let found = Status::ALL.into_iter().find(|state| state.name() == name);
        found.ok_or("not the state of a trial")
    })
}

/// Reads the name of a command of ours.
fn command_name(name: &str) -> Result<String, String> {
    let mut program = Args::command();
    program.build();
    if program.find_subcommand(name).is_some() {
        return Ok(name.to_owned());
    }
    let known = program.get_subcommands().map(clap::Command::get_name);
    Err(match mivabo::nearest(name, known) {
        Some(nearest) => format!("there is no such command; did you mean `{nearest}`?"),
        None => "there is no such command".to_owned(),
    })
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..1e9).contains(&seconds) => Ok(seconds),
        _ => Err("expected a number of seconds, such as 0.5 or 60".to_owned()),
    }
}
