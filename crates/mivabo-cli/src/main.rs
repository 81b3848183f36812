//! The `mivabo` program: data on standard output, everything else on standard error.
//!
//! One file per command; [`run`] is their index. Exit codes: 0 done, 1 the input is wrong, 2 the call is wrong, 3 no
//! feasible trial has a value, 128 + n stopped by signal n.

/// A line on standard error. A run goes on where it cannot be written.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($text)*);
    }};
}

mod args;
mod ask;
mod best;
mod check;
mod crew;
mod csv;
mod error;
mod export;
mod import;
mod init;
mod input;
mod log;
mod lost;
mod objective;
mod progress;
mod report;
mod run;
mod shell;
mod show;
mod solve;
mod source;
mod stop;
mod strategies;
mod subprocess;
mod tell;
mod text;
mod wait;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};
use crate::error::Error;

/// A failure as a sentence, for commands whose failures are told apart by nobody.
type Failure = String;

/// The exit code of a study without a feasible trial that has a value.
const NO_VALUE: u8 = 3;

/// What a command prints, and its exit code.
struct Answer {
    output: String,
    code: u8,
}

impl From<String> for Answer {
    fn from(output: String) -> Answer {
        Answer { output, code: 0 }
    }
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(answer) => print(&answer),
        Err(error) => {
            say!("error: {error}");
            ExitCode::from(error.code())
        }
    }
}

fn run(args: &Args) -> Result<Answer, Error> {
    match &args.command {
        Command::Init(init) => init::run(init).map(Answer::from),
        Command::Check(check) => check::run(check).map(Answer::from),
        Command::Run(run) => run::run(run),
        Command::Ask(ask) => ask::run(ask).map(Answer::from),
        Command::Tell(tell) => tell::run(tell).map(Answer::from),
        Command::Best(best) => Ok(best::run(best)?),
        Command::Show(show) => Ok(show::run(show)?.into()),
        Command::Report(report) => Ok(report::run(report)?.into()),
        Command::Export(export) => Ok(export::run(export)?.into()),
        Command::Import(import) => import::run(import).map(Answer::from),
        Command::Strategies(strategies) => Ok(strategies::run(strategies).into()),
        Command::Solve(solve) => solve::run(solve).map(Answer::from),
        Command::Completions(completions) => Ok(shell::completions(completions).into()),
        Command::Man(man) => shell::man(man).map(Answer::from),
    }
}

/// A reader that has seen enough (`mivabo … | head`) is not an error.
fn print(answer: &Answer) -> ExitCode {
    match std::io::stdout().write_all(answer.output.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            say!("error: writing the output: {e}");
            ExitCode::from(1)
        }
        _ => ExitCode::from(answer.code),
    }
}
