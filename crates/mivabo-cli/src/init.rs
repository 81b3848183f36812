//! `mivabo init`: a study file to begin with, from a few answers, and a schema for the editor beside it.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;

use mivabo::measure::Sense;
use mivabo_report::{Over, save};
use mivabo_store::check_name;

use crate::args::InitArgs;
use crate::error::Error;
use crate::paste;
use crate::plain::plain;
use crate::schema;

const TEMPLATE: &str = include_str!("template.toml");

/// The stand-in for the user's own program.
const STAND_IN: &str = include_str!("stand_in.toml");

/// The file that the first line of the template names.
const SCHEMA: &str = "mivabo.schema.json";

/// The parameters of the template, each of which is an option of the user's command.
const PARAMETERS: [&str; 6] = ["lr", "layers", "units", "optimizer", "momentum", "augment"];

/// Words that mean something to a shell only.
const SHELL_WORDS: [&str; 9] = ["&&", "||", "|", ";", "&", ">", ">>", "<", "2>&1"];

/// What the template leaves open.
struct Answers {
    name: String,
    sense: Sense,
    objective: Objective,
}

/// What is evaluated.
enum Objective {
    /// A formula that stands in for it.
    StandIn,
    /// A program and its arguments.
    Command(Vec<String>),
    /// A line that needs a shell.
    Shell(String),
}

/// Writes a study file that does not exist yet.
pub fn run(args: &InitArgs) -> Result<String, Error> {
    let path = &args.file;
    check_new(path)?;
    let mut answers = Answers::beside(path);
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        answers = answers.asked()?;
    }
    let schema = path.with_file_name(SCHEMA);
    // It is the same for all studies of a folder.
    if schema.symlink_metadata().is_err() {
        save(&schema, &schema::run(), Over::Nothing)?;
    }
    save(path, &answers.filled(), Over::Nothing)?;
    say!("wrote {}, and {SCHEMA} for your editor", path.display());
    if matches!(answers.objective, Objective::StandIn) {
        let run = paste::call("run", path, &[]);
        say!("next: `{run}` runs an example; then put your own program in");
    } else {
        let check = paste::call("check", path, &[]);
        say!("next: edit its parameters, then run `{check}`");
    }
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
            sense: Sense::Minimize,
            objective: Objective::StandIn,
        }
    }

    /// What the user says instead.
    fn asked(self) -> Result<Answers, Error> {
        Ok(Answers {
            name: answered("name of the study", &self.name, name)?,
            sense: answered("minimize or maximize", self.sense.name(), sense)?,
            objective: answered(
                "command that prints the value",
                "an example",
                Objective::read,
            )?,
        })
    }

    /// The template with the answers in place of its marks.
    fn filled(&self) -> String {
        // In one pass: an answer may hold such a mark too.
        let pieces = TEMPLATE.split('@').map(|piece| match piece {
            "name" => quoted(&self.name),
            "direction" => quoted(self.sense.name()),
            "objective" => self.objective.written(self.sense),
            text => text.to_owned(),
        });
        pieces.collect()
    }
}

fn name(answer: &str) -> Result<String, String> {
    check_name(answer).map_err(|why| why.to_string())?;
    Ok(answer.to_owned())
}

fn sense(answer: &str) -> Result<Sense, String> {
    let sense = Sense::named(&answer.to_lowercase());
    sense.ok_or_else(|| format!("expected minimize or maximize, not `{answer}`"))
}

impl Objective {
    fn read(answer: &str) -> Result<Objective, String> {
        if answer == "an example" {
            return Ok(Objective::StandIn);
        }
        let words = shlex::split(answer).filter(|words| !words.is_empty());
        let words = words.ok_or_else(|| {
            format!("`{answer}` does not read as a command; a quote may be missing")
        })?;
        let is_for_shell = |word: &String| {
            SHELL_WORDS.contains(&word.as_str()) || word.len() > 1 && word.ends_with(';')
        };
        if words.iter().any(is_for_shell) {
            return Ok(Objective::Shell(answer.to_owned()));
        }
        Ok(Objective::Command(words))
    }

    /// Its keys in `[objective]`.
    fn written(&self, sense: Sense) -> String {
        match self {
            Objective::StandIn => {
                let value = match sense {
                    Sense::Minimize => "loss",
                    Sense::Maximize => "1 - loss",
                };
                STAND_IN.trim_end().replace("@value@", value)
            }
            Objective::Shell(line) => format!("shell = {}", quoted(line)),
            Objective::Command(words) => {
                let mut words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
                let missing = PARAMETERS.iter().filter(|name| !self.says(name));
                words.extend(missing.map(|name| format!("\"--{name}\", \"{{{name}}}\"")));
                format!("command = [{}]", words.join(", "))
            }
        }
    }

    /// Whether a command has this parameter already, as a placeholder or as an option.
    fn says(&self, name: &str) -> bool {
        let Objective::Command(words) = self else {
            return false;
        };
        let (placeholder, option) = (format!("{{{name}}}"), format!("--{name}"));
        words.iter().any(|word| {
            let key = word.split('=').next().unwrap_or(word);
            word.contains(&placeholder) || key == option
        })
    }
}

/// What the user types, or the default for an empty line. Asks again until it makes sense.
fn answered<T>(
    question: &str,
    default: &str,
    read: fn(&str) -> Result<T, String>,
) -> Result<T, Error> {
    loop {
        let _ = write!(std::io::stderr(), "{question} [{}]: ", plain(default));
        let mut line = String::new();
        let n = std::io::stdin().lock().read_line(&mut line);
        if n.map_err(Error::StandardInput)? == 0 {
            // The message begins on a line of its own.
            say!("");
            return Err(Error::NoAnswer);
        }
        let answer = match line.trim() {
            "" => default,
            answer => answer,
        };
        match read(answer) {
            Ok(answer) => return Ok(answer),
            Err(why) => say!("{why}"),
        }
    }
}

/// A text in TOML.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}
