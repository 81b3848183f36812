//! What can be typed.

mod change;

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use clap::{CommandFactory as _, Parser, Subcommand};
use mivabo::view::Status;
use mivabo_work::{MAX_WORKERS, lease};

pub use self::change::{CorrectArgs, EnqueueArgs, ReviseArgs, RmArgs};
use crate::source::Source;

/// Finds good settings of an expensive function over mixed variables under known constraints.
#[derive(Debug, Parser)]
#[command(
    name = "mivabo",
    version,
    arg_required_else_help = true,
    after_help = "Exit codes:
  0    done
  1    a file, its contents or the disk is at fault, or no point is left: see the message
  2    wrong usage
  3    no feasible trial has a value
  130  stopped by Ctrl-C (143 by SIGTERM, 129 by SIGHUP)

Examples:
  mivabo init study.toml     write a study file to start from
  mivabo check study.toml    validate it
  mivabo run study.toml      run its trials
  mivabo best study.toml     print the best of them"
)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a study file to start from
    Init(InitArgs),
    /// Validate a study file: its parameters, its constraints and how each is enforced
    Check(CheckArgs),
    /// Run a study: evaluate its objective until all its trials are done
    Run(RunArgs),
    /// Print the next point to evaluate, for your own loop
    Ask(AskArgs),
    /// Store the result of a trial
    Tell(TellArgs),
    /// Add points to evaluate before any other
    Enqueue(EnqueueArgs),
    /// Correct the result of a trial; what was told is kept as its history
    Correct(CorrectArgs),
    /// Change a study that has results to what its study file says now
    Revise(ReviseArgs),
    /// Print the best trial and how it meets each limit and constraint
    Best(BestArgs),
    /// List trials
    Show(ShowArgs),
    /// Write an HTML report: convergence, parameters, constraints, times, trials
    Report(ReportArgs),
    /// Print all trials as CSV, or the whole study as JSON
    Export(ExportArgs),
    /// Add results obtained elsewhere
    Import(ImportArgs),
    /// Copy a database, even while it is in use
    Backup(BackupArgs),
    /// List the studies of a database
    List(ListArgs),
    /// Remove a study with all its trials
    Rm(RmArgs),
    /// List the strategies and their settings
    Strategies(StrategiesArgs),
    /// Solve binary quadratic programs, one per line of JSON
    Solve(SolveArgs),
    /// Print a JSON schema of study files, for editors
    Schema(SchemaArgs),
    /// Print a shell completion script
    Completions(CompletionsArgs),
    /// Print a manual page
    Man(ManArgs),
}

/// `mivabo init`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "On a terminal it asks for the study's name, direction and command. Without a command the file has an \
example that runs at once. Beside it comes mivabo.schema.json, by which editors complete study files. It never \
overwrites a file.

Examples:
  mivabo init                write study.toml
  mivabo init tuning.toml"
)]
pub struct InitArgs {
    /// The file to write
    #[arg(value_name = "STUDY", default_value = "study.toml")]
    pub file: PathBuf,
}

/// `mivabo run`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Results are kept in the study's database (`storage` in [run]; by default beside the study file), \
and whatever the objective prints in the folder <database>.logs/<study>. Run the same command again to continue where \
the last run stopped. Several runs at the same time share the work.

Press Ctrl-C to start no new trials and let the running ones finish. Press it again to kill those, too: the next run \
takes them up. When the time of --for is up, the same happens as after the first Ctrl-C.

`strategy` in [run] says how points are chosen: see `mivabo strategies`.

Exit codes: 0 all trials are done; 1 a file or the disk is at fault; 2 wrong usage; 3 no feasible trial \
has a value; 130 stopped by Ctrl-C.

Examples:
  mivabo run study.toml
  mivabo run study.toml --trials 200 --workers 4
  mivabo run study.toml --for 2h --patience 30
  mivabo run study.toml --dry-run    how the first trial would be started
  mivabo run study.toml --quiet --json > best.json"
)]
pub struct RunArgs {
    /// The study file
    #[arg(value_name = "STUDY")]
    pub file: PathBuf,
    /// Total number of trials, including those already there
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    pub trials: Option<u64>,
    /// Start no new trials after this long; running ones finish
    #[arg(long = "for", value_name = "TIME", value_parser = mivabo_work::duration)]
    pub time: Option<Duration>,
    /// Start no new trials once N were evaluated in a row without a better one
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u64>::new().range(1..))]
    pub patience: Option<u64>,
    /// How many trials to evaluate at the same time
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=MAX_WORKERS as u64))]
    pub workers: Option<usize>,
    /// Random seed; an existing study opens only with the seed it was created with
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long)]
    pub quiet: bool,
    /// Show how the objective would be started at a first point; run and store nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// `mivabo ask`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Each line is a JSON object: {\"trial\": 12, \"params\": {\"x\": 3}, \"origin\": \"thompson\", \"attempts\": 1}.
A trial that has not been told when its lease ends may be handed out again; the first result counts.
Ctrl-C leaves no trial behind that was not printed.

Examples:
  mivabo ask study.toml
  mivabo ask study.toml --count 8 --lease 3d"
)]
pub struct AskArgs {
    #[command(flatten)]
    pub source: Source,
    /// How many points to print
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = positive::<u64>, allow_negative_numbers = true)]
    pub count: u64,
    /// How long to reserve each point; after that it may be handed out again
    #[arg(long, value_name = "TIME", default_value = "1d", value_parser = lease)]
    pub lease: Duration,
}

/// `mivabo tell`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without a trial, reads JSON objects from standard input, one per line, and stores all of them or none:
  {\"trial\": 12, \"value\": 0.31, \"result\": {\"accuracy\": 0.94}}
  {\"trial\": 13, \"failed\": \"out of memory\"}

Examples:
  mivabo tell study.toml 12 0.31
  mivabo tell study.toml 13 --failed 'out of memory'
  mivabo tell study.toml < results.jsonl"
)]
pub struct TellArgs {
    /// The study file (.toml or .json), or a database
    #[arg(value_name = "STUDY")]
    pub file: PathBuf,
    /// The trial's number
    #[arg(requires = "outcome")]
    pub trial: Option<u64>,
    /// Its value
    #[arg(allow_hyphen_values = true, group = "outcome")]
    pub value: Option<f64>,
    /// Why it has no value
    #[arg(long, value_name = "REASON", requires = "trial", group = "outcome")]
    pub failed: Option<String>,
    /// What else the evaluation gave, as a JSON object; its numbers are measures
    #[arg(long, value_name = "JSON", requires = "trial")]
    pub result: Option<String>,
    /// The study's name, if the database holds several
    #[arg(long, value_name = "NAME")]
    pub study: Option<String>,
}

/// `mivabo best`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mivabo best study.toml
  mivabo best study.toml --recommend   the best point according to the model
  mivabo best study.db --study cnn --json")]
pub struct BestArgs {
    #[command(flatten)]
    pub source: Source,
    /// Print the point with the best posterior mean instead of the best trial
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
pub struct ShowArgs {
    #[command(flatten)]
    pub source: Source,
    /// Show only trials in this state; may be repeated
    #[arg(long, value_name = "STATE", value_parser = states())]
    pub state: Vec<Status>,
    /// Show only the best N feasible trials, best first
    #[arg(long, value_name = "N", value_parser = positive::<usize>, allow_negative_numbers = true)]
    pub best: Option<usize>,
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
}

/// `mivabo report`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The page is self-contained: it needs no network and no other file. Prints the path of the page. Overwrites an older \
report, any other file only with --force, and a database never.

Examples:
  mivabo report study.toml                          write study.html
  mivabo report study.db --study cnn --out cnn.html")]
pub struct ReportArgs {
    #[command(flatten)]
    pub source: Source,
    /// Where to write; - for standard output [default: the name of FILE, with .html]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Overwrite a file that is not a report, or a link
    #[arg(long)]
    pub force: bool,
}

/// `mivabo export`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mivabo export study.toml > trials.csv
  mivabo export study.toml --format json > trials.json")]
pub struct ExportArgs {
    #[command(flatten)]
    pub source: Source,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    pub format: Format,
}

/// How trials are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// One row per trial, with a header
    Csv,
    /// One object with everything that is known about the study
    Json,
}

/// `mivabo import`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A CSV file has a header with the names of the parameters and `value`; a JSON file is a list of objects. \
Whatever `mivabo export` writes can be imported. Points that break a constraint are kept: the model learns from them, \
but they are never the best. If any row is wrong, nothing is imported.

Rows of an earlier version of the study, or of another one with other bounds or parameters, are taken with --earlier: parameters that \
the study does not have are left out, those that a row lacks have their defaults, and rows with values that the study does not allow \
are skipped and counted.

Examples:
  mivabo import study.toml old-results.csv
  mivabo import study.toml last-year.csv --earlier
  mivabo import study.toml old-results.json --value loss"
)]
pub struct ImportArgs {
    /// The study file (.toml or .json), or a database
    #[arg(value_name = "STUDY")]
    pub file: PathBuf,
    /// The results: JSON if the name ends in .json, CSV otherwise; - for CSV on standard input
    pub results: PathBuf,
    /// The column that holds the value
    #[arg(long, value_name = "COLUMN", default_value = "value")]
    pub value: String,
    /// The rows are of an earlier version of the study: take what has a place in it
    #[arg(long)]
    pub earlier: bool,
    /// The study's name, if the database holds several
    #[arg(long, value_name = "NAME")]
    pub study: Option<String>,
}

/// `mivabo list`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mivabo list                 the studies of all databases in this folder
  mivabo list studies.db
  mivabo list runs --json     of all databases in the folder `runs`")]
pub struct ListArgs {
    /// A database, a study file or a folder [default: this folder]
    #[arg(value_name = "PLACE", value_hint = clap::ValueHint::AnyPath)]
    pub place: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `mivabo backup`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The copy has all studies of the database as they are at one moment, and is a database like any other: it opens, \
and its studies go on. A copy made with `cp` during a run lacks what is in the log beside the file (-wal).

Examples:
  mivabo backup study.toml monday.db
  mivabo backup studies.db /mnt/backup/studies.db --force"
)]
pub struct BackupArgs {
    /// The study file (.toml or .json), or a database
    #[arg(value_name = "STUDY")]
    pub file: PathBuf,
    /// The file to write
    #[arg(value_name = "DEST")]
    pub to: PathBuf,
    /// Replace a file that is there already
    #[arg(long)]
    pub force: bool,
}

/// `mivabo schema`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Editors with a language server for TOML read it where a study file begins with the line
  #:schema ./mivabo.schema.json
as those of `mivabo init` do.

Examples:
  mivabo schema > mivabo.schema.json"
)]
pub struct SchemaArgs {}

/// `mivabo completions`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mivabo completions bash > ~/.local/share/bash-completion/completions/mivabo
  mivabo completions fish > ~/.config/fish/completions/mivabo.fish")]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// `mivabo man`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mivabo man > mivabo.1
  mivabo man run | man -l -")]
pub struct ManArgs {
    /// The command to document instead of the program
    #[arg(value_parser = command_name)]
    pub command: Option<String>,
}

/// `mivabo check`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mivabo check study.toml          what the file means, and a feasible point
  mivabo check --json study.toml   the same, for a program")]
pub struct CheckArgs {
    /// The study file: JSON if the name ends in .json, TOML otherwise; - for standard input
    #[arg(value_name = "STUDY")]
    pub file: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `mivabo strategies`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "In a study file a strategy is its name, followed by settings in any order, each after a colon:
  [run]
  strategy = \"thompson:search=dual:order=1\"

With products=linked, say which parameters interact:
  [model]
  linked = [[\"units\", \"rate\"], [\"layers\", \"rate\"]]

Examples:
  mivabo strategies
  mivabo strategies --json"
)]
pub struct StrategiesArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `mivabo solve`
#[derive(Debug, clap::Args)]
#[command(after_help = "Each line of input is a JSON object:
  {\"name\": \"small\", \"n\": 3, \"linear\": [1, -2, 0.5], \"quadratic\": [[0, 1, 1.5], [1, 2, -1]]}
It minimises over n bits x the sum of linear[i] x[i], plus value x[i] x[j] for each [i, j, value]. Optional keys:
  \"rows\": [{\"idx\": [0, 1, 2], \"coef\": [1, 1, 1], \"sense\": \"<=\", \"rhs\": 2}]
  \"groups\": [[0, 1]]                                bits of which exactly one is set
  \"tables\": [{\"bits\": [1, 2], \"allowed\": [0, 3]}]   allowed patterns, the first bit lowest

Examples:
  mivabo solve instances.jsonl
  mivabo solve --limit 10 instances.jsonl
  mivabo solve --heuristic - < instances.jsonl")]
pub struct SolveArgs {
    /// The instances, one JSON object per line; - for standard input
    pub file: PathBuf,
    /// Give up on an instance after this long, with the best point and bound so far
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub limit: Option<f64>,
    /// Give up on an instance after this many nodes: unlike seconds, the same in every run
    #[arg(long, value_name = "N")]
    pub nodes: Option<u64>,
    /// Number of threads
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub threads: usize,
    /// Only look for a good point, without proving anything about it
    #[arg(long)]
    pub heuristic: bool,
}

/// The program, with usage lines in the order in which people type: first what it is about, options last.
pub fn program() -> clap::Command {
    Args::command().mut_subcommands(|command| {
        let usage = usage(&command);
        command.override_usage(usage)
    })
}

fn usage(command: &clap::Command) -> String {
    let mut words = vec![format!("mivabo {}", command.get_name())];
    for argument in command.get_positionals() {
        let names = argument.get_value_names().unwrap_or_default();
        let name = names.first().map_or("VALUE", |name| name.as_str());
        let word = if argument.is_required_set() {
            format!("<{name}>")
        } else {
            format!("[{name}]")
        };
        words.push(word);
    }
    if command
        .get_arguments()
        .any(|argument| !argument.is_positional())
    {
        words.push("[OPTIONS]".to_owned());
    }
    words.join(" ")
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
    let mut program = program();
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

/// Reads a number of things of which none would mean nothing.
fn positive<N: FromStr + Default + PartialEq>(text: &str) -> Result<N, String> {
    let number = text.parse().ok().filter(|n| *n != N::default());
    number.ok_or_else(|| "expected a whole number, 1 or more".to_owned())
}

/// Reads a number of things of which there may be none.
fn whole(text: &str) -> Result<u64, String> {
    let number = text.parse();
    number.map_err(|_| "expected a whole number, 0 or more".to_owned())
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..1e9).contains(&seconds) => Ok(seconds),
        _ => Err("expected a number of seconds, such as 0.5 or 60".to_owned()),
    }
}
