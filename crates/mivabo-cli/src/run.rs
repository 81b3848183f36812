//! `mivabo run`: a study file in, evaluated trials in its database and the best of them out.

use crate::args::Run;
use crate::best;
use crate::crew::{Crew, GivenUp};
use crate::log;
use crate::lost;
use crate::source::{open, say_waits};
use crate::stop::Stop;
use crate::study_file::StudyFile;
use crate::{Answer, Failure, NO_VALUE};

/// Runs a study until it has all its trials.
pub fn run(args: &Run) -> Result<Answer, Failure> {
    let (file, budget) = settled(args)?;
    if !args.quiet {
        say_waits(&file.storage);
    }
    let session = open(&file)?;
    let stop = Stop::listen()?;
    let crew = Crew::new(&file, session, &stop, (budget, args.quiet));
    let crew = crew.ok_or_else(|| no_objective(&file))?;
    let (mut session, tally) = crew.run(file.workers);
    match tally.failure {
        None => {}
        Some(GivenUp::Broken(why)) => return Err(why + &lost::named(session, &file)),
        Some(GivenUp::Hopeless(why)) => {
            say!("error: {why}");
            session.sync().map_err(|e| e.to_string())?;
            let output = if args.json {
                best::answer(&session, true)?.output
            } else {
                String::new()
            };
            return Ok(Answer {
                output,
                code: NO_VALUE,
            });
        }
    }
    session.sync().map_err(|e| e.to_string())?;
    if let Some(code) = stop.exit_code() {
        say!("stopped; `mivabo run {}` goes on", file.path.display());
        return Ok(Answer {
            code,
            ..best::answer(&session, args.json)?
        });
    }
    let left = session.running().map_err(|e| e.to_string())?;
    if !left.is_empty() {
        let ids: Vec<String> = left.iter().map(|trial| trial.id.to_string()).collect();
        say!(
            "not told yet, and held by others for long: trials {}",
            ids.join(", ")
        );
    }
    if !args.quiet {
        say!("`mivabo report {}` shows more", file.path.display());
    }
    best::answer(&session, args.json)
}

/// What the file says and what was typed, once everything is checked that can be before the first evaluation.
fn settled(args: &Run) -> Result<(StudyFile, u64), Failure> {
    let mut file = StudyFile::read(&args.file)?;
    let place = file.path.display().to_string();
    file.definition.seed = args.seed.unwrap_or(file.definition.seed);
    file.workers = args.workers.unwrap_or(file.workers);
    let objective = file.objective.as_ref().ok_or_else(|| no_objective(&file))?;
    objective
        .check_program(&file.folder)
        .map_err(|e| format!("{place}: {e}"))?;
    log::check_folder(&file.logs())?;
    let budget = args.trials.or(file.trials).ok_or_else(|| {
        format!("{place}: how many trials? Write `trials` in [run], or call with --trials")
    })?;
    Ok((file, budget))
}

fn no_objective(file: &StudyFile) -> Failure {
    format!(
        "{}: there is no [objective] to evaluate\n\
         hint: add one, or use `mivabo ask` and `mivabo tell`",
        file.path.display()
    )
}
