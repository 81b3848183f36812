//! `mivabo revise`: gives a study the definition that its study file has now, and says what that changes.

use std::fmt::Write as _;

use mivabo::counted;
use mivabo_store::Revised;

use crate::args::ReviseArgs;
use crate::error::Error;
use crate::source::{read_study_file, stored};
use crate::text::trials;

/// Says what changes, and changes it.
pub fn run(args: &ReviseArgs) -> Result<String, Error> {
    let file = read_study_file(&args.file)?;
    let mut session = stored(&file, args.dry_run)?;
    let revised = if args.dry_run {
        session.revision(&file.definition)
    } else {
        session.revise(&file.definition)
    };
    let revised = revised.map_err(|why| Error::Study {
        place: file.location.clone(),
        why: Box::new(why),
    })?;
    Ok(said(&revised, &file.name, args.dry_run))
}

fn said(revised: &Revised, name: &str, is_dry: bool) -> String {
    if revised.differences.is_empty() {
        return format!("study `{name}` is as the file says; nothing to revise\n");
    }
    let mut out = String::new();
    let _ = write_changes(&mut out, revised);
    let end = if is_dry {
        format!("study `{name}` was not changed (--dry-run)\n")
    } else {
        format!("study `{name}` is revised\n")
    };
    out + &end
}

fn write_changes(out: &mut String, revised: &Revised) -> std::fmt::Result {
    for difference in &revised.differences {
        writeln!(out, "{difference}")?;
    }
    if revised.teaching.told > 0 {
        writeln!(out, "{}", revised.teaching)?;
    }
    let failing = trials(&revised.failing);
    match revised.failing.len() {
        0 => {}
        1 => writeln!(out, "waiting {failing} fails: the revised space forbids it")?,
        _ => writeln!(
            out,
            "waiting {failing} fail: the revised space forbids them"
        )?,
    }
    match revised.running {
        0 => Ok(()),
        1 => writeln!(out, "1 trial runs, and will finish"),
        n => writeln!(out, "{} run, and will finish", counted(n, "trial")),
    }
}
