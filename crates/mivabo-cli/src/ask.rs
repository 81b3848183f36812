//! `mivabo ask`: a stored study in, points to evaluate out, as JSON lines.

use std::collections::BTreeMap;
use std::io::Write as _;

use serde_json::json;

use crate::Failure;
use crate::args::Ask;
use crate::crew::MAX_ATTEMPTS;

/// Prints the next points, each as soon as it is claimed: a call that is stopped keeps at most one for itself. Where there
/// are no more, those that there are; that there is none is an error.
pub fn run(args: &Ask) -> Result<String, Failure> {
    let mut session = args.source.write()?;
    session
        .release_expired(MAX_ATTEMPTS)
        .map_err(|e| e.to_string())?;
    let mut stdout = std::io::stdout();
    for count in 0..args.count {
        let asked = match session.ask(None, args.lease.into()) {
            Ok(Some(asked)) => asked,
            Ok(None) => break,
            Err(error) if count == 0 => return Err(error.to_string()),
            Err(error) => {
                say!("{error}");
                break;
            }
        };
        let params: BTreeMap<_, _> = asked.values.iter().cloned().collect();
        let line = json!({"trial": asked.id, "params": params, "origin": asked.origin,
            "attempts": asked.attempts});
        if let Err(error) = writeln!(stdout, "{line}").and_then(|()| stdout.flush()) {
            session.release(asked.id).map_err(|e| e.to_string())?;
            // A reader that has seen enough is no error.
            if error.kind() == std::io::ErrorKind::BrokenPipe {
                break;
            }
            return Err(format!(
                "writing the output: {error}; trial {} waits for the next ask",
                asked.id
            ));
        }
    }
    Ok(String::new())
}
