//! `mivabo run`: evaluates the trials of a study, then prints the best of them.

use mivabo_store::Session;
use mivabo_work::{Overrides, Plan};

use crate::Answer;
use crate::args::Run;
use crate::best;
use crate::crew::{Crew, Job, Outcome};
use crate::error::Error;
use crate::log;
use crate::lost;
use crate::objective::check_program;
use crate::progress::Progress;
use crate::source::{database, open, read_study_file, say_waits};
use crate::stop::Stop;

/// Runs a study until it has all its trials.
pub fn run(args: &Run) -> Result<Answer, Error> {
    let plan = plan(args)?;
    let logs = log::folder(database(&plan.path, &plan.location)?, &plan.name);
    log::check_folder(&logs)?;
    if !args.quiet {
        say_waits(&plan.location);
    }
    let session = open(&plan.location, &plan.name, &plan.definition)?;
    let stop = Stop::listen()?;
    let job = Job {
        plan: &plan,
        logs: &logs,
        stop: &stop,
    };
    let progress = Progress::new(args.quiet, plan.trials);
    let outcome = Crew::new(job, session, progress).run();
    answer(args, &plan, &stop, outcome)
}

/// What the file says and what was typed, once everything is checked that can be before the first evaluation.
fn plan(args: &Run) -> Result<Plan, Error> {
    let instead = Overrides {
        trials: args.trials,
        workers: args.workers,
        seed: args.seed,
    };
    let path = &args.file;
    let plan = read_study_file(path)?.plan(instead);
    let plan = plan.map_err(|mistake| Error::StudyFile {
        path: path.clone(),
        mistake,
    })?;
    check_program(&plan.objective, &plan.folder).map_err(|why| Error::Objective {
        path: path.clone(),
        why,
    })?;
    Ok(plan)
}

fn answer(args: &Run, plan: &Plan, stop: &Stop, outcome: Outcome) -> Result<Answer, Error> {
    let Outcome {
        mut session,
        broken: mut reasons,
        hopeless,
    } = outcome;
    if let Some(last) = reasons.last_mut() {
        last.push_str(&lost::named(&session, plan).unwrap_or_default());
        return Err(Error::BrokenOff { reasons });
    }
    session.sync()?;
    let path = plan.path.display();
    if let Some(why) = hopeless {
        return without_value(&session, why, args.json);
    }
    if let Some(code) = stop.exit_code() {
        say!("stopped; `mivabo run {path}` goes on");
        let answer = best::answer(&session, args.json);
        return Ok(Answer { code, ..answer });
    }
    say_kept(&session)?;
    if !args.quiet {
        say!("`mivabo report {path}` shows more");
    }
    Ok(best::answer(&session, args.json))
}

/// A message says it all, but a program that reads JSON gets some.
fn without_value(session: &Session, why: String, is_json: bool) -> Result<Answer, Error> {
    if !is_json {
        return Err(Error::Hopeless { why });
    }
    say!("error: {why}");
    Ok(best::answer(session, true))
}

/// Names the trials that others keep for longer than a run waits.
fn say_kept(session: &Session) -> Result<(), Error> {
    let kept = session.running()?;
    if kept.is_empty() {
        return Ok(());
    }
    let ids: Vec<String> = kept.iter().map(|trial| trial.id.to_string()).collect();
    let ids = ids.join(", ");
    say!("not told yet, and held by others for long: trials {ids}");
    Ok(())
}
