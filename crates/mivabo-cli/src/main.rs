//! The `mivabo` program: data on standard output, everything else on standard error.
//!
//! One file per command; [`run`] is their index. Exit codes: 0 done, 1 the input is wrong, 2 the call is wrong.

mod args;
mod check;
mod input;
mod solve;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};

/// What goes wrong after the arguments are understood, as a sentence.
type Failure = String;

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(output) => print(&output),
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(1)
        }
    }
}

fn run(args: &Args) -> Result<String, Failure> {
    match &args.command {
        Command::Check(check) => check::run(check),
        Command::Solve(solve) => solve::run(solve),
    }
}

/// A reader that has seen enough (`mivabo … | head`) is no error.
fn print(output: &str) -> ExitCode {
    match std::io::stdout().write_all(output.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            eprintln!("error: writing the output: {e}");
            ExitCode::from(1)
        }
        _ => ExitCode::SUCCESS,
    }
}
