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
