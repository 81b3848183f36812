//! `mivabo init`: a few answers in, a study file to begin with out.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use mivabo::measure::Sense;
use mivabo_report::{Over, save};

use crate::Failure;
use crate::args::Init;

const TEMPLATE: &str = include_str!("template.toml");

/// Writes a study file that does not exist yet.
pub fn run(args: &Init) -> Result<String, Failure> {
    let place = args.file.display();
    if args.file.symlink_metadata().is_ok() {
        return Err(format!("{place} exists; it was left as it is"));
    }
    if args
        .file
        .extension()
        .is_some_and(|extension| extension == "json")
    {
        return Err(format!(
            "{place}: what is written is TOML; give it a name that ends in .toml"
        ));
    }
    let stem = args.file.file_stem().map_or("study".to_owned(), |stem| {
        stem.to_string_lossy().into_owned()
    });
    let mut name = stem;
    let mut direction = "minimize".to_owned();
    let mut command = "python3 train.py".to_owned();
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        name = answered("name of the study", name)?;
        direction = answered("minimize or maximize", direction)?;
        if Sense::named(&direction).is_none() {
            return Err(format!(
                "expected minimize or maximize, not `{direction}`; nothing was written"
            ));
        }
        command = answered("command that prints the value", command)?;
    }
    let words = shlex::split(&command).filter(|words| !words.is_empty());
    let words = words.ok_or_else(|| {
        format!("`{command}` is no command as a shell reads it; nothing was written")
    })?;
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    // In one pass: an answer may hold such a mark too.
    let text: String = TEMPLATE
        .split('@')
        .map(|piece| match piece {
            "name" => quoted(&name),
            "direction" => quoted(&direction),
            "command" => words.join(", "),
            text => text.to_owned(),
        })
        .collect();
    save(&args.file, &text, Over::Nothing).map_err(|e| e.to_string())?;
    say!("wrote {place}; next: say what your parameters are, then `mivabo check {place}`");
    Ok(String::new())
}

/// What the user types, or the default for an empty line.
fn answered(question: &str, default: String) -> Result<String, Failure> {
    let _ = write!(std::io::stderr(), "{question} [{default}]: ");
    let mut line = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(|e| format!("standard input: {e}"))?;
    let line = line.trim();
    Ok(if line.is_empty() {
        default
    } else {
        line.to_owned()
    })
}

/// A text in TOML.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}
