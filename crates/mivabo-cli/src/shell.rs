//! `mivabo completions` and `mivabo man`: what shells and manuals read.

use clap::CommandFactory as _;

use crate::args::{Args, CompletionsArgs, ManArgs};
use crate::error::Error;

/// A script for a shell.
pub fn completions(args: &CompletionsArgs) -> String {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "mivabo", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// A page for `man`.
pub fn man(args: &ManArgs) -> Result<String, Error> {
    let mut program = Args::command();
    program.build();
    let name = args.command.as_ref();
    let command = name.and_then(|name| program.find_subcommand(name));
    let command = command.unwrap_or(&program).clone();
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(command).render(&mut page);
    rendered.map_err(Error::Manual)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
