//! The `mivabo` program: data on standard output, everything else on standard error.
//!
//! One file per command; [`run`] is their index. Exit codes: 0 done, 1 the input is wrong, 2 the call is wrong, 3 no
//! feasible trial has a value, 128 + n stopped by signal n.

/// A line on standard error. One that cannot be written is no reason to stop a run.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($text)*);
    }};
}

mod args;
mod ask;
mod best;
mod builtin;
mod check;
mod crew;
mod csv;
mod export;
mod import;
mod init;
mod input;
mod log;
mod lost;
mod objective;
mod process;
mod progress;
mod report;
mod rows;
mod run;
mod shell;
mod show;
mod solve;
mod source;
mod stop;
mod strategies;
mod study_file;
mod tell;
mod text;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};

/// What goes wrong after the arguments are understood, as a sentence.
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
        Err(failure) => {
            say!("error: {failure}");
            ExitCode::from(1)
        }
    }
}

fn run(args: &Args) -> Result<Answer, Failure> {
    match &args.command {
        Command::Init(init) => init::run(init).map(Answer::from),
        Command::Check(check) => check::run(check).map(Answer::from),
        Command::Run(run) => run::run(run),
        Command::Ask(ask) => ask::run(ask).map(Answer::from),
        Command::Tell(tell) => tell::run(tell).map(Answer::from),
        Command::Best(best) => best::run(best),
        Command::Show(show) => show::run(show).map(Answer::from),
        Command::Report(report) => report::run(report).map(Answer::from),
        Command::Export(export) => export::run(export).map(Answer::from),
        Command::Import(import) => import::run(import).map(Answer::from),
        Command::Strategies(strategies) => Ok(strategies::run(strategies).into()),
        Command::Solve(solve) => solve::run(solve).map(Answer::from),
        Command::Completions(completions) => Ok(shell::completions(completions).into()),
        Command::Man(man) => shell::man(man).map(Answer::from),
    }
}

/// A reader that has seen enough (`mivabo … | head`) is no error.
fn print(answer: &Answer) -> ExitCode {
    match std::io::stdout().write_all(answer.output.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            say!("error: writing the output: {e}");
            ExitCode::from(1)
        }
        _ => ExitCode::from(answer.code),
    }
}
