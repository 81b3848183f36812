//! `mivabo ask`: the next points to evaluate, as JSON lines.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use mivabo_store::{Asked, Session};
use mivabo_work::MAX_ATTEMPTS;
use serde_json::json;

use crate::args::AskArgs;
use crate::error::Error;
use crate::source::say_defaults;

/// Prints the next points. Where there are fewer than were asked for, those that there are; that there is none is an error.
pub fn run(args: &AskArgs) -> Result<String, Error> {
    let mut session = args.source.write()?;
    say_defaults(&session);
    session.release_expired(MAX_ATTEMPTS)?;
    for count in 0..args.count {
        let asked = match session.ask(None, args.lease.into()) {
            Ok(Some(asked)) => asked,
            Ok(None) => break,
            Err(error) if count == 0 => return Err(error.into()),
            Err(error) => {
                say!("{error}");
                break;
            }
        };
        // Each as soon as it is claimed: a call that is stopped keeps at most one to itself.
        if let Err(why) = print(&asked) {
            give_back(&mut session, asked.id, why)?;
            break;
        }
    }
    Ok(String::new())
}

fn print(asked: &Asked) -> io::Result<()> {
    let params: BTreeMap<_, _> = asked.values.iter().cloned().collect();
    let line = json!({"trial": asked.id, "params": params, "origin": asked.origin, "attempts": asked.attempts});
    let mut stdout = io::stdout();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}

/// Gives back a trial that nobody heard of. A reader that has seen enough is not an error.
fn give_back(session: &mut Session, trial: u64, why: io::Error) -> Result<(), Error> {
    session.release(trial)?;
    match why.kind() {
        io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(Error::Unprinted { trial, why }),
    }
}
