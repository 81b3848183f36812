//! `mivabo ask`: the next points to evaluate, as JSON lines.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use mivabo::interrupt;
use mivabo_store::{Asked, Session};
use mivabo_work::MAX_ATTEMPTS;
use serde_json::json;

use crate::args::AskArgs;
use crate::error::Error;
use crate::interruption::Interruption;
use crate::plain::plain;
use crate::source::say_defaults;

/// Prints the next points. Where there are fewer than were asked for, those that there are; that there is none is an error.
pub fn run(args: &AskArgs) -> Result<String, Error> {
    let mut session = args.source.write()?;
    say_defaults(&session);
    session.release_expired(MAX_ATTEMPTS)?;
    // From here on a signal must not leave a trial that runs for nobody. Before, nothing had begun that could be lost.
    let interruption = Interruption::listen()?;
    let done = interruption.run(|| hand_out(args, &mut session, &interruption));
    // The database is closed before the program ends.
    drop(session);
    done.transpose()?;
    interruption.obey();
    Ok(String::new())
}

fn hand_out(
    args: &AskArgs,
    session: &mut Session,
    interruption: &Interruption,
) -> Result<(), Error> {
    for count in 0..args.count {
        let asked = match session.ask(None, args.lease) {
            Ok(Some(asked)) => asked,
            Ok(None) => break,
            // A wait that is broken off ends as one that took too long.
            Err(_) if interruption.is_heard() => break,
            Err(error) if count == 0 => return Err(error.into()),
            Err(error) => {
                say!("{error}");
                break;
            }
        };
        // Once it is claimed the ask is not broken off any more.
        if interruption.is_heard() {
            session.release(asked.id)?;
            break;
        }
        // Each as soon as it is claimed: a call that is killed keeps at most one to itself.
        if let Err(why) = print(&asked) {
            give_back(session, asked.id, why)?;
            break;
        }
        // The next ask may be broken off again; a signal that came too late for this one is found here.
        interrupt::unsettle();
        if interruption.is_heard() {
            break;
        }
    }
    Ok(())
}

fn print(asked: &Asked) -> io::Result<()> {
    let params: BTreeMap<_, _> = asked.values.iter().cloned().collect();
    let line = json!({"trial": asked.id, "params": params, "origin": asked.origin, "attempts": asked.attempts});
    let mut stdout = io::stdout();
    writeln!(stdout, "{}", plain(&line.to_string()))?;
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
