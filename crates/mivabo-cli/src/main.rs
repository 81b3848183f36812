//! The `mivabo` program: data on standard output, everything else on standard error.
//!
//! One file per command; [`run`] is their index. How the program ends is an [`Exit`].

/// A line on standard error. A run goes on where it cannot be written.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let text = format!($($text)*);
        let _ = writeln!(std::io::stderr(), "{}", crate::plain::plain(&text));
    }};
}

mod args;
mod ask;
mod backup;
mod best;
mod check;
mod correct;
mod crew;
mod csv;
mod dry_run;
mod enqueue;
mod error;
mod exit;
mod export;
mod import;
mod init;
mod input;
mod interruption;
mod invocation;
mod list;
mod log;
mod lost;
mod objective;
mod paste;
mod plain;
mod programs;
mod progress;
mod report;
mod revise;
mod rm;
mod run;
mod schema;
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

use std::borrow::Cow;
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::FromArgMatches as _;

use crate::args::{Args, Command};
use crate::error::Error;
use crate::exit::Exit;
use crate::plain::plain;

/// What a command prints, and how it ended.
struct Answer {
    output: String,
    /// Whether it goes to a file or another program to the last character. On a terminal it is made safe to show.
    is_data: bool,
    exit: Exit,
}

impl Answer {
    /// What another program reads.
    fn data(output: String) -> Answer {
        let is_data = true;
        Answer {
            is_data,
            ..output.into()
        }
    }
}

impl From<String> for Answer {
    fn from(output: String) -> Answer {
        Answer {
            output,
            is_data: false,
            exit: Exit::Done,
        }
    }
}

fn main() -> ExitCode {
    stop::outlive_limits();
    let matches = args::program().try_get_matches();
    let args = match matches.and_then(|matches| Args::from_arg_matches(&matches)) {
        Ok(args) => args,
        Err(error) => return answer_call(&error),
    };
    let exit = match run(&args.command) {
        Ok(answer) => print(&answer),
        Err(error) => {
            say!("error: {error}");
            error.exit()
        }
    };
    ExitCode::from(exit.code())
}

/// Help, or what is wrong with a call, which may repeat whatever was typed.
fn answer_call(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    if plain(&text) == text {
        let _ = error.print();
    } else {
        say!("{}", text.trim_end());
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

fn run(command: &Command) -> Result<Answer, Error> {
    let output = match command {
        // These know more of how they ended than whether they failed.
        Command::Run(args) => return run::run(args),
        Command::Best(args) => return best::run(args),
        Command::List(args) => return list::run(args),
        // These two are read by other programs.
        Command::Report(args) => return report::run(args).map(Answer::data),
        Command::Export(args) => return export::run(args).map(Answer::data),
        Command::Backup(args) => backup::run(args),
        Command::Init(args) => init::run(args),
        Command::Check(args) => check::run(args),
        Command::Ask(args) => ask::run(args),
        Command::Tell(args) => tell::run(args),
        Command::Enqueue(args) => enqueue::run(args),
        Command::Correct(args) => correct::run(args),
        Command::Revise(args) => revise::run(args),
        Command::Rm(args) => rm::run(args),
        Command::Show(args) => show::run(args),
        Command::Import(args) => import::run(args),
        Command::Strategies(args) => Ok(strategies::run(args)),
        Command::Solve(args) => solve::run(args),
        Command::Schema(_) => Ok(schema::run()),
        Command::Completions(args) => Ok(shell::completions(args)),
        Command::Man(args) => shell::man(args),
    };
    output.map(Answer::from)
}

/// A reader that has seen enough (`mivabo … | head`) is not an error.
fn print(answer: &Answer) -> Exit {
    let mut stdout = std::io::stdout();
    let output = if answer.is_data && !stdout.is_terminal() {
        Cow::Borrowed(&*answer.output)
    } else {
        plain(&answer.output)
    };
    match stdout.write_all(output.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            say!("error: writing the output: {e}");
            Exit::Failed
        }
        _ => answer.exit,
    }
}
