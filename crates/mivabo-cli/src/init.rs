//! `mivabo init`: a study file to begin with, from a few answers.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;

use mivabo::measure::Sense;
use mivabo_report::{Over, save};

use crate::args::InitArgs;
use crate::error::Error;
use crate::paste;
use crate::plain::plain;

const TEMPLATE: &str = include_str!("template.toml");

/// What the template leaves open.
struct Answers {
    name: String,
    direction: String,
    command: String,
}

/// Writes a study file that does not exist yet.
pub fn run(args: &InitArgs) -> Result<String, Error> {
    let path = &args.file;
    check_new(path)?;
    let mut answers = Answers::beside(path);
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        answers = answers.asked()?;
    }
    save(path, &answers.filled()?, Over::Nothing)?;
    let check = paste::call("check", path, &[]);
    say!(
        "wrote {}; next: edit its parameters, then run `{check}`",
        path.display()
    );
    Ok(String::new())
}

/// Refused before anything is asked. That nothing is there is checked again when the file is written.
fn check_new(path: &Path) -> Result<(), Error> {
    let path = path.to_owned();
    // Of a link itself: one that leads nowhere yet is somebody's, too.
    if path.symlink_metadata().is_ok() {
        return Err(Error::Exists { path });
    }
    if path.extension().is_some_and(|ending| ending == "json") {
        return Err(Error::NotToml { path });
    }
    Ok(())
}

impl Answers {
    /// For whom nobody can be asked.
    fn beside(path: &Path) -> Answers {
        let stem = path.file_stem().unwrap_or("study".as_ref());
        Answers {
            name: stem.to_string_lossy().into_owned(),
            direction: "minimize".to_owned(),
            command: "python3 train.py".to_owned(),
        }
    }

    /// What the user says instead.
    fn asked(self) -> Result<Answers, Error> {
        let name = answered("name of the study", self.name)?;
        let direction = answered("minimize or maximize", self.direction)?;
        if Sense::named(&direction).is_none() {
            return Err(Error::Direction { answer: direction });
        }
        let command = answered("command that prints the value", self.command)?;
        Ok(Answers {
            name,
            direction,
            command,
        })
    }

    /// The template with the answers in place of its marks.
    fn filled(&self) -> Result<String, Error> {
        let words = shlex::split(&self.command).filter(|words| !words.is_empty());
        let words = words.ok_or_else(|| Error::Command {
            answer: self.command.clone(),
        })?;
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        // In one pass: an answer may hold such a mark too.
        let pieces = TEMPLATE.split('@').map(|piece| match piece {
            "name" => quoted(&self.name),
            "direction" => quoted(&self.direction),
            "command" => words.join(", "),
            text => text.to_owned(),
        });
        Ok(pieces.collect())
    }
}

/// What the user types, or the default for an empty line.
fn answered(question: &str, default: String) -> Result<String, Error> {
    let _ = write!(std::io::stderr(), "{question} [{}]: ", plain(&default));
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.map_err(Error::StandardInput)?;
    Ok(match line.trim() {
        "" => default,
        answer => answer.to_owned(),
    })
}

/// A text in TOML.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}
