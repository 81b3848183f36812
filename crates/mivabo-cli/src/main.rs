//! The `mivabo` program: data on standard output, everything else on standard error.
//!
//! One file per command; [`run`] is their index. How the program ends is an [`Exit`].

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
mod correct;
mod crew;
mod csv;
mod enqueue;
mod error;
mod exit;
mod export;
mod import;
mod init;
mod input;
mod log;
mod lost;
mod objective;
mod progress;
mod report;
mod revise;
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
mod trouble;
mod wait;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};
use crate::error::Error;
use crate::exit::Exit;

/// What a command prints, and how it ended.
struct Answer {
    output: String,
    exit: Exit,
}

impl From<String> for Answer {
    fn from(output: String) -> Answer {
        let exit = Exit::Done;
        Answer { output, exit }
    }
}

fn main() -> ExitCode {
    let exit = match run(&Args::parse().command) {
        Ok(answer) => print(&answer),
        Err(error) => {
            say!("error: {error}");
            error.exit()
        }
    };
    ExitCode::from(exit.code())
}

fn run(command: &Command) -> Result<Answer, Error> {
    let output = match command {
        // These two know more of how they ended than whether they failed.
        Command::Run(args) => return run::run(args),
        Command::Best(args) => return best::run(args),
        Command::Init(args) => init::run(args),
        Command::Check(args) => check::run(args),
        Command::Ask(args) => ask::run(args),
        Command::Tell(args) => tell::run(args),
        Command::Enqueue(args) => enqueue::run(args),
        Command::Correct(args) => correct::run(args),
        Command::Revise(args) => revise::run(args),
        Command::Show(args) => show::run(args),
        Command::Report(args) => report::run(args),
        Command::Export(args) => export::run(args),
        Command::Import(args) => import::run(args),
        Command::Strategies(args) => Ok(strategies::run(args)),
        Command::Solve(args) => solve::run(args),
        Command::Completions(args) => Ok(shell::completions(args)),
        Command::Man(args) => shell::man(args),
    };
    output.map(Answer::from)
}

/// A reader that has seen enough (`mivabo … | head`) is not an error.
fn print(answer: &Answer) -> Exit {
    match std::io::stdout().write_all(answer.output.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            say!("error: writing the output: {e}");
            Exit::Failed
        }
        _ => answer.exit,
    }
}
