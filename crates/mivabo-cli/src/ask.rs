//! `mivabo ask`: the next points to evaluate, as JSON lines.

use std::io::{self, Write as _};

use mivabo_store::{Asked, Session};
use mivabo_work::MAX_ATTEMPTS;
use serde_json::json;

use crate::args::Ask;
use crate::best::params;
use crate::error::Error;

/// Prints the next points, each as soon as it is claimed: a call that is stopped keeps at most one for itself. Where there
/// are no more, those that there are; that there is none is an error.
pub fn run(args: &Ask) -> Result<String, Error> {
    let mut session = args.source.write()?;
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
        match print(&session, &asked) {
            Ok(()) => {}
            Err(why) => return unprinted(&mut session, asked.id, why),
        }
    }
    Ok(String::new())
}

fn print(session: &Session, asked: &Asked) -> io::Result<()> {
    let params = params(session, &asked.point);
    let line = json!({"trial": asked.id, "params": params, "origin": asked.origin, "attempts": asked.attempts});
    let mut stdout = io::stdout();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}

/// Gives back a trial that nobody heard of. A reader that has seen enough is not an error.
fn unprinted(session: &mut Session, trial: u64, why: io::Error) -> Result<String, Error> {
    session.release(trial)?;
    if why.kind() == io::ErrorKind::BrokenPipe {
        return Ok(String::new());
    }
    Err(Error::Unprinted { trial, why })
}
