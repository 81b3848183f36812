//! The workers of a run: threads that evaluate what the [`Work`] of their process hands out.
//!
//! They share one session; a thread of its own gives signs of life for all trials that are held here.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope, ScopedJoinHandle, scope};
use std::time::{Duration, Instant};

use mivabo::{counted, lasting};
use mivabo_store::{Asked, Error, Object, Session, Told, Turn, Waited};
use mivabo_work::{Done, Ended, Ending, MAX_FAILURES, Next, Plan, Terms, Work};

use crate::log::{self, Log, LogError};
use crate::objective::{Call, Evaluator, Program, evaluator};
use crate::progress::{Facts, Progress};
use crate::stop::{Stop, Wish};
use crate::subprocess::{self, End, Rules};
use crate::text::brief;
use crate::trouble::{FailedTrial, Trouble};

/// Between two looks whether somebody wants to stop, while a worker waits for a turn.
const PAUSE: Duration = Duration::from_millis(50);

/// All workers of this process.
pub struct Crew<'a> {
    job: Job<'a>,
    progress: Progress,
    began: Instant,
    /// Whoever holds this may take the tally too, never the other way round.
    desk: Mutex<Desk>,
    tally: Mutex<Tally>,
}

/// What the workers do.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// What is evaluated, and how often.
    pub plan: &'a Plan,
    /// The folder of the logs.
    pub logs: &'a Path,
    /// What ends it before its time.
    pub stop: &'a Stop,
}

/// What the workers take turns at.
struct Desk {
    session: Session,
    work: Work,
}

/// What happened here.
#[derive(Debug, Default)]
struct Tally {
    /// Trials that ended here, and how long they took together.
    n_ended: u32,
    time: Duration,
    last_failure: Option<FailedTrial>,
    /// Why the last trial without a log has none.
    unlogged: Option<LogError>,
    /// Why nothing new begins.
    done: Option<Done>,
    troubles: Vec<Trouble>,
}

/// What the run of a crew came to.
pub struct CrewEnd {
    /// The study, as this process knows it.
    pub session: Session,
    /// What did not work.
    pub troubles: Vec<Trouble>,
    /// Whether all trials were there before it began, so that none was evaluated here.
    pub had_nothing_to_do: bool,
    /// The last failure, where the run was given up because the objective never had a value.
    pub hopeless: Option<FailedTrial>,
    /// Why it ended, if its workers came to an end.
    pub done: Option<Done>,
}

/// An evaluation that ended here.
struct Evaluation {
    trial: u64,
    end: End,
    time: Duration,
}

impl<'a> Crew<'a> {
    /// Workers for a study.
    pub fn new(job: Job<'a>, session: Session, progress: Progress) -> Self {
        let plan = job.plan;
        let stop = job.stop.clone();
        let work = Work::new(Terms {
            trials: plan.budget.trials,
            time: plan.budget.time,
            patience: plan.budget.patience,
            retries: plan.objective.retries,
            max_failures: Some(MAX_FAILURES),
            // The command was written for the parameters of the study file.
            definition: Some(session.definition().to_owned()),
            ..Terms::with_lease(plan.lease)
        });
        let work = work.stopping_when(move || stop.wants(Wish::Stop));
        Crew {
            job,
            progress,
            began: Instant::now(),
            desk: Mutex::new(Desk { session, work }),
            tally: Mutex::default(),
        }
    }

    /// Works until there is nothing left to do, or somebody wants to stop.
    pub fn run(self) -> CrewEnd {
        self.progress.show(|| self.facts(&lock(&self.desk)));
        let (alive, end) = channel();
        let crew = &self;
        scope(|threads| {
            // Before the workers: without signs of life others would take over trials that still run here.
            match Builder::new().spawn_scoped(threads, move || crew.keep_alive(&end)) {
                Ok(_) => crew.work_together(threads),
                Err(error) => crew.give_up(Trouble::NoPulse(error)),
            }
            // Ends the signs of life, for which the scope waits.
            drop(alive);
        });
        self.progress.end();
        let tally = into_inner(self.tally);
        let is_hopeless = tally.done == Some(Done::Hopeless);
        CrewEnd {
            session: into_inner(self.desk).session,
            troubles: tally.troubles,
            had_nothing_to_do: tally.n_ended == 0 && tally.done == Some(Done::Enough),
            hopeless: tally.last_failure.filter(|_| is_hopeless),
            done: tally.done,
        }
    }

    /// As many workers as wanted, or as this machine has threads for.
    fn work_together<'s>(&'s self, threads: &'s Scope<'s, '_>) {
        for worker in self.workers(threads) {
            if worker.join().is_err() {
                self.give_up(Trouble::Panicked);
            }
        }
    }

    fn workers<'s>(&'s self, threads: &'s Scope<'s, '_>) -> Vec<ScopedJoinHandle<'s, ()>> {
        let n_workers = self.job.plan.workers;
        let mut workers = Vec::new();
        while workers.len() < n_workers {
            match Builder::new().spawn_scoped(threads, || self.work()) {
                Ok(worker) => workers.push(worker),
                Err(error) => {
                    self.do_with(workers.len(), error);
                    break;
                }
            }
        }
        workers
    }

    /// Fewer workers than wanted do the same work. Without any there is none.
    fn do_with(&self, n: usize, error: std::io::Error) {
        if n == 0 {
            return self.give_up(Trouble::NoWorker(error));
        }
        let wanted = self.job.plan.workers;
        self.progress.say(&format!(
            "{n} of {}: no thread for more: {error}",
            counted(wanted, "worker")
        ));
    }

    /// Signs of life, until the other end of the channel is dropped.
    fn keep_alive(&self, end: &Receiver<()>) {
        let pulse = lock(&self.desk).work.pulse();
        while end.recv_timeout(pulse) == Err(RecvTimeoutError::Timeout) {
            let desk = &mut *lock(&self.desk);
            desk.work.beat(&mut desk.session);
        }
    }

    fn work(&self) {
        loop {
            match self.next() {
                Ok(Next::Evaluate(asked)) => self.evaluate(&asked),
                Ok(Next::Wait { until, news }) => {
                    if let Some(news) = news {
                        self.progress.say(&news.to_string());
                    }
                    self.job.stop.rest_until(until);
                }
                Ok(Next::Turn(_)) => {}
                Ok(Next::Done(why)) => return self.finish(why),
                // Giving up makes the next turn the last one, and that says why all is done.
                Err(error) => self.give_up(Trouble::Store(Box::new(error))),
            }
        }
    }

    fn next(&self) -> Result<Next, Error> {
        let mut turn = None;
        loop {
            match self.next_in_turn(turn.take())? {
                Next::Turn(wanted) => turn = Some(self.wait_for(wanted)?),
                next => return Ok(next),
            }
        }
    }

    fn next_in_turn(&self, turn: Option<Box<dyn Turn>>) -> Result<Next, Error> {
        let desk = &mut *lock(&self.desk);
        let next = desk.work.next_in_turn(&mut desk.session, turn);
        if let Ok(Next::Evaluate(_)) = next {
            self.progress.show(|| self.facts(desk));
        }
        next
    }

    /// Waits for a turn, while the others use the desk; or until there is nothing left to do.
    fn wait_for(&self, mut turn: Box<dyn Turn>) -> Result<Box<dyn Turn>, Error> {
        while turn.wait(PAUSE)? == Waited::NotYet && lock(&self.desk).work.is_over().is_none() {}
        Ok(turn)
    }

    /// A worker that has nothing left to do says why, if no other one has said so.
    fn finish(&self, why: Done) {
        let mut tally = lock(&self.tally);
        if let (Done::Exhausted(why), None) = (&why, &tally.done) {
            self.progress.say(&why.to_string());
        }
        tally.done.get_or_insert(why);
    }

    /// Evaluates a trial as often as it may be tried.
    fn evaluate(&self, asked: &Asked) {
        let began = Instant::now();
        for attempt in 1.. {
            let end = self.attempt(asked, attempt);
            // Held until the outcome is shown: lines come in the order of the tells, each with the best value of its time.
            let desk = &mut *lock(&self.desk);
            let ended = desk.work.ended(&mut desk.session, asked.id, ending(&end));
            if let Ok(Ended::Again) = ended {
                continue;
            }
            let evaluation = Evaluation {
                trial: asked.id,
                end,
                time: began.elapsed(),
            };
            return self.conclude(desk, evaluation, ended);
        }
    }

    fn attempt(&self, asked: &Asked, attempt: u32) -> End {
        match evaluator(&Call::of(self.job.plan, asked)) {
            Ok(Evaluator::Function(builtin)) => End::Value(builtin.value(&asked.values), None),
            Ok(Evaluator::Program(program)) => self.watch(*program, asked.id, attempt),
            Err(why) => End::failed(why.to_string()),
        }
    }

    fn watch(&self, program: Program, trial: u64, attempt: u32) -> End {
        let plan = self.job.plan;
        let what = format!("trial {trial}, attempt {attempt}: {}", program.input);
        let mut log = Log::begin(self.job.logs, trial, what.trim_end());
        self.say_unlogged(trial, log.trouble());
        let rules = Rules {
            measure: &plan.definition.aims.goal().measure,
            timeout: plan.objective.timeout,
            grace: plan.objective.grace,
            stop: self.job.stop,
        };
        subprocess::evaluate(program, &rules, &mut log)
    }

    /// Says why a trial has no log, but not the same for each trial.
    fn say_unlogged(&self, trial: u64, trouble: Option<&LogError>) {
        let Some(why) = trouble else { return };
        let before = lock(&self.tally).unlogged.replace(why.clone());
        if before.as_ref() != Some(why) {
            self.progress
                .say(&format!("trial {trial} has no log: {why}"));
        }
    }

    /// Counts, says and blames what became of an evaluation.
    fn conclude(&self, desk: &mut Desk, evaluation: Evaluation, ended: Result<Ended, Error>) {
        let trial = evaluation.trial;
        match ended {
            Ok(Ended::Told) => self.count(desk, &evaluation),
            Ok(Ended::TakenOver) => self.progress.say(&format!(
                "trial {trial} was told by another worker meanwhile"
            )),
            Ok(Ended::GivenBack | Ended::Again) => {}
            Err(error) => self.blame(desk, self.unstored(&evaluation, error)),
        }
        if let End::Unable(why) = evaluation.end {
            self.blame(desk, Trouble::Unable { trial, why });
        }
    }

    /// An outcome is stored: it is counted, and said.
    fn count(&self, desk: &Desk, evaluation: &Evaluation) {
        let trial = evaluation.trial;
        match &evaluation.end {
            End::Value(value, _) => {
                self.add(evaluation.time, None);
                let (value, time) = (brief(*value), lasting(evaluation.time));
                let what = format!("trial {trial}: {value} in {time}");
                self.progress.told(&what, || self.facts(desk));
            }
            End::Failed(failure) => {
                let failed = FailedTrial {
                    id: trial,
                    reason: failure.reason.clone(),
                    log: self.log_of(trial),
                };
                let what = failed.to_string();
                self.add(evaluation.time, Some(failed));
                self.progress.failed(&what, || self.facts(desk));
            }
            End::Stopped | End::Unable(_) => {}
        }
    }

    fn add(&self, time: Duration, failed: Option<FailedTrial>) {
        let tally = &mut *lock(&self.tally);
        tally.n_ended += 1;
        tally.time += time;
        if failed.is_some() {
            tally.last_failure = failed;
        }
    }

    fn log_of(&self, trial: u64) -> Option<PathBuf> {
        let log = log::path(self.job.logs, trial);
        let is_there = log.symlink_metadata().is_ok_and(|data| data.is_file());
        is_there.then_some(log)
    }

    /// An outcome that could not be stored. A value took long to find: it is said, with the command that stores it later.
    fn unstored(&self, evaluation: &Evaluation, error: Error) -> Trouble {
        let why = Box::new(error);
        match evaluation.end {
            End::Value(value, ref result) => Trouble::Unstored {
                trial: evaluation.trial,
                value,
                result: result.clone(),
                study_file: self.job.plan.path.clone(),
                why,
            },
            _ => Trouble::Store(why),
        }
    }

    fn facts(&self, desk: &Desk) -> Facts {
        let session = &desk.session;
        let (n_told, n_failed) = counts(session);
        let budget = self.job.plan.budget;
        let best = session.best();
        let tally = lock(&self.tally);
        let per_trial = |time: Duration| time.checked_div(tally.n_ended);
        Facts {
            n_told,
            budget: budget.trials,
            n_failed,
            n_running: desk.work.n_held(),
            best: best.and_then(|trial| session.study().value(trial)),
            mean: per_trial(tally.time),
            // By the clock and not by the mean, for several workers evaluate at the same time.
            left: self.left(n_told, per_trial(self.began.elapsed())),
        }
    }

    /// How long the run may still take, by whichever bound comes first.
    fn left(&self, n_told: u64, each: Option<Duration>) -> Option<Duration> {
        let budget = self.job.plan.budget;
        let by_trials = budget.trials.zip(each).map(|(trials, each)| {
            let n_left = u32::try_from(trials.saturating_sub(n_told)).unwrap_or(u32::MAX);
            each.saturating_mul(n_left)
        });
        let elapsed = self.began.elapsed();
        let by_time = budget.time.map(|time| time.saturating_sub(elapsed));
        by_trials.into_iter().chain(by_time).min()
    }

    fn give_up(&self, trouble: Trouble) {
        self.blame(&mut lock(&self.desk), trouble);
    }

    /// No new trials. Every trouble is kept, for each may hold a value that could not be stored; but the same one is said once,
    /// however many workers meet it.
    fn blame(&self, desk: &mut Desk, trouble: Trouble) {
        desk.work.stop();
        let text = trouble.to_string();
        let troubles = &mut lock(&self.tally).troubles;
        if troubles.iter().all(|known| known.to_string() != text) {
            troubles.push(trouble);
        }
    }
}

/// What the store is told of an evaluation.
fn ending(end: &End) -> Ending {
    // A value is not lost by what came with it.
    let result = |object: &Option<String>| object.as_ref().and_then(|text| Object::new(text).ok());
    match end {
        End::Value(value, object) => Ending::Told(Told {
            result: result(object),
            ..Told::value(*value)
        }),
        End::Failed(failure) => {
            let told = Told {
                result: result(&failure.object),
                ..Told::failed(&failure.reason)
            };
            if failure.again {
                Ending::Stumbled(told)
            } else {
                Ending::Told(told)
            }
        }
        End::Stopped | End::Unable(_) => Ending::GivenBack,
    }
}

/// Told trials, and those of them without a value.
fn counts(session: &Session) -> (u64, u64) {
    let study = session.study();
    let mut counts = (0, 0);
    for trial in session.trials().iter().filter(|trial| trial.is_told()) {
        counts.0 += 1;
        counts.1 += u64::from(study.value(trial).is_none());
    }
    // Those for which a revised space has no place.
    let absent = study.absent().iter();
    for outcome in absent.filter_map(|trial| trial.state.outcome()) {
        counts.0 += 1;
        counts.1 += u64::from(session.aims().value(outcome).is_none());
    }
    counts
}

/// A panic of a worker is reported when it is joined, and the others end their trials: the session mends what it left half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}
