//! `mivabo completions` and `mivabo man`: the arguments in, what shells and manuals read out.

use clap::CommandFactory as _;

use crate::Failure;
use crate::args::{Args, Completions, Man};
use crate::study_file::did_you_mean;

/// A script for a shell.
pub fn completions(args: &Completions) -> String {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "mivabo", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Reads the name of a command of ours.
pub fn command_name(name: &str) -> Result<String, Failure> {
    let mut program = Args::command();
    program.build();
    if program.find_subcommand(name).is_some() {
        return Ok(name.to_owned());
    }
    let known = program.get_subcommands().map(clap::Command::get_name);
    Err(format!(
        "there is no such command{}",
        did_you_mean(name, known).unwrap_or_default()
    ))
}

/// A page for `man`.
pub fn man(args: &Man) -> Result<String, Failure> {
    let mut program = Args::command();
    program.build();
    let command = args
        .command
        .as_ref()
        .and_then(|name| program.find_subcommand(name))
        .unwrap_or(&program);
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone())
        .render(&mut page)
        .map_err(|e| e.to_string())?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
