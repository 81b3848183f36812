//! `mivabo completions` and `mivabo man`: what shells and manuals read.

use std::borrow::Cow;

use clap_complete::Shell;

use crate::args::{CompletionsArgs, ManArgs, program};
use crate::error::Error;

/// A script for a shell.
pub fn completions(args: &CompletionsArgs) -> String {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program(), "mivabo", &mut script);
    let script = String::from_utf8_lossy(&script);
    match args.shell {
        Shell::Bash => with_files(&script),
        _ => script.into_owned(),
    }
}

/// The script for bash, where a command whose arguments are not a choice of words leaves them to the shell, which then completes
/// files. As it is generated it offers the command's options there.
fn with_files(script: &str) -> String {
    let mut out = String::new();
    let mut takes_files = false;
    for line in script.lines() {
        let words = line.trim().strip_prefix("opts=\"");
        if let Some(words) = words.and_then(|words| words.strip_suffix('"')) {
            takes_files = words.split_whitespace().all(is_option_or_value);
        }
        let line = if takes_files {
            without_options(line)
        } else {
            line.into()
        };
        out += &line;
        out.push('\n');
    }
    out
}

/// A line of such a command, which no longer offers options to somebody who does not begin one.
fn without_options(line: &str) -> Cow<'_, str> {
    match line.split_once(" || ${COMP_CWORD} -eq ") {
        Some((condition, _)) => format!("{condition} ]] ; then").into(),
        None if line == LAST => "            COMPREPLY=()".into(),
        None => line.into(),
    }
}

/// What follows all the cases of a command. The same line inside of a condition stands deeper.
const LAST: &str = r#"            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )"#;

fn is_option_or_value(word: &str) -> bool {
    word.starts_with(['-', '<', '['])
}

/// A page for `man`.
pub fn man(args: &ManArgs) -> Result<String, Error> {
    let mut program = program();
    program.build();
    let name = args.command.as_ref();
    let command = name.and_then(|name| program.find_subcommand(name));
    let command = command.unwrap_or(&program).clone();
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(command).render(&mut page);
    rendered.map_err(Error::Manual)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
