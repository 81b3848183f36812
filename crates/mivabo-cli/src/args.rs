//! What can be typed.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// Finds good settings of an expensive function over mixed variables under known constraints.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Validate a study file: its parameters, its constraints and how each is enforced
    Check(Check),
    /// Solve binary quadratic programs, one JSON line each
    Solve(Solve),
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

/// `mivabo solve`
#[derive(Debug, clap::Args)]
#[command(after_help = "A line of input, over n bits, in one JSON object:
  {\"name\": \"small\", \"n\": 3, \"linear\": [1, -2, 0.5], \"quadratic\": [[0, 1, 1.5], [1, 2, -1]],
   \"rows\": [{\"idx\": [0, 1, 2], \"coef\": [1, 1, 1], \"sense\": \"<=\", \"rhs\": 2}], \"groups\": [], \"tables\": []}
minimises the sum of linear[i] x[i] and of quadratic[k] = [i, j, value] x[i] x[j]. A group lists bits of which
exactly one is set; a table {\"bits\": [...], \"allowed\": [...]} lists allowed patterns, the first bit lowest.

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

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..1e9).contains(&seconds) => Ok(seconds),
        _ => Err("expected a number of seconds, such as 0.5 or 60".to_owned()),
    }
}
