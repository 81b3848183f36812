//! `mivabo run`: evaluates the trials of a study, then prints the best of them.

use mivabo::{counted, lasting};
use mivabo_store::Session;
use mivabo_work::{Budget, Done, MAX_FAILURES, Overrides, Plan};

use crate::Answer;
use crate::args::RunArgs;
use crate::best::{self, Started};
use crate::crew::{Crew, CrewEnd, Job};
use crate::dry_run;
use crate::error::Error;
use crate::log;
use crate::lost;
use crate::paste;
use crate::programs::check_program;
use crate::progress::Progress;
use crate::source::{Described, database, open, read_study_file, say_defaults, say_waits};
use crate::stop::Stop;
use crate::text::trials;
use crate::trouble::FailedTrial;

/// Runs a study until it has all its trials.
pub fn run(args: &RunArgs) -> Result<Answer, Error> {
    let plan = plan(args)?;
    if args.dry_run {
        return dry_run::run(&plan, args.json).map(Answer::from);
    }
    let logs = log::folder(database(&plan.path, &plan.location)?, &plan.name);
    log::check_folder(&logs)?;
    if !args.quiet {
        say_waits(&plan.location);
    }
    let session = open(&Described::by(&plan));
    let session = session.map_err(|error| error.with_typed_seed(args.seed.is_some()))?;
    say_defaults(&session);
    // From here on a signal is a wish. Before, nothing had begun that could be lost.
    let stop = Stop::listen()?;
    let job = Job {
        plan: &plan,
        logs: &logs,
        stop: &stop,
    };
    let progress = Progress::new(args.quiet, plan.budget.trials);
    let end = Crew::new(job, session, progress).run();
    answer(args, &plan, &stop, end)
}

/// What the file says and what was typed, once everything is checked that can be before the first evaluation.
fn plan(args: &RunArgs) -> Result<Plan, Error> {
    let instead = Overrides {
        budget: Budget {
            trials: args.trials,
            time: args.time,
            patience: args.patience,
        },
        workers: args.workers,
        seed: args.seed,
    };
    let path = || args.file.clone();
    let plan = read_study_file(&args.file)?.plan(instead);
    let plan = plan.map_err(|mistake| Error::StudyFile {
        path: path(),
        mistake,
    })?;
    let checked = check_program(&plan.objective, &plan.folder);
    checked.map_err(|why| Error::Objective { path: path(), why })?;
    Ok(plan)
}

fn answer(args: &RunArgs, plan: &Plan, stop: &Stop, end: CrewEnd) -> Result<Answer, Error> {
    let CrewEnd {
        mut session,
        troubles,
        had_nothing_to_do,
        hopeless,
        done,
    } = end;
    if !troubles.is_empty() {
        let lost = lost::named(&session, plan);
        return Err(Error::BrokenOff { troubles, lost });
    }
    session.sync()?;
    // A study that is given up says so even after a signal, which would only say that it may go on.
    if let Some(last) = hopeless {
        return without_value(&session, last, args.json);
    }
    if let Some(exit) = stop.exit() {
        say!("stopped; `{}` goes on", paste::call("run", &plan.path, &[]));
        let answer = best::answer(&session, Some(&Started::by(plan)), args.json)?;
        return Ok(Answer { exit, ..answer });
    }
    say_end(plan, done.as_ref());
    say_kept(&session)?;
    if !args.quiet {
        if had_nothing_to_do {
            say_idle(&session, plan);
        }
        say!("`{}` shows more", paste::call("report", &plan.path, &[]));
    }
    best::answer(&session, Some(&Started::by(plan)), args.json)
}

/// Why a run ended before it had all its trials.
fn say_end(plan: &Plan, done: Option<&Done>) {
    let Budget { time, patience, .. } = plan.budget;
    match (done, time, patience) {
        (Some(Done::OutOfTime), Some(time), _) => {
            let run = paste::call("run", &plan.path, &[]);
            say!("the time of {} is up; `{run}` goes on", lasting(time));
        }
        (Some(Done::NoProgress { best }), _, Some(n)) => {
            let trials = counted(usize::try_from(n).unwrap_or(usize::MAX), "trial");
            say!("no better value in {trials} after trial {best}; a larger `patience` goes on");
        }
        (Some(Done::Revised), ..) => {
            let run = paste::call("run", &plan.path, &[]);
            say!(
                "the study was revised meanwhile, so nothing new began here; `{run}` goes on with its file as it is now"
            );
        }
        _ => {}
    }
}

/// A message says it all, but a program that reads JSON gets some.
fn without_value(session: &Session, last: FailedTrial, is_json: bool) -> Result<Answer, Error> {
    let n = MAX_FAILURES;
    let error = Error::Hopeless { n, last };
    if !is_json {
        return Err(error);
    }
    say!("error: {error}");
    best::answer(session, None, true)
}

/// Why nothing happened, and how more would.
fn say_idle(session: &Session, plan: &Plan) {
    let Some(wanted) = plan.budget.trials else {
        return;
    };
    let there = counted(session.study().n_trials(), "trial");
    say!(
        "nothing was left to do: the study has {there}, and {wanted} were asked for\n\
         hint: for more, raise `trials` in [run] or pass --trials N"
    );
}

/// Names the trials that others keep for longer than a run waits.
fn say_kept(session: &Session) -> Result<(), Error> {
    let kept = session.running()?;
    if kept.is_empty() {
        return Ok(());
    }
    let ids: Vec<u64> = kept.iter().map(|trial| trial.id).collect();
    let kept = trials(&ids);
    say!("still held by others, for longer than a run waits: {kept}");
    Ok(())
}
