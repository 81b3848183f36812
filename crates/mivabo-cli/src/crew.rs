//! The workers of a run: threads that evaluate what the [`Work`] of their process hands out.
//!
//! They share one session; a thread of its own gives signs of life for all trials that are held here.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope, scope};
use std::time::{Duration, Instant};

use mivabo_store::{Asked, Error, Object, Session, Told};
use mivabo_work::{Done, Ended, Ending, Kind, MAX_FAILURES, Next, Plan, Terms, Work};

use crate::log::{self, Log};
use crate::objective;
use crate::progress::{Facts, Progress, rounded};
use crate::stop::{Stop, Wish};
use crate::subprocess::{self, End, Limits};
use crate::text::brief;

/// All workers of this process.
pub struct Crew<'a> {
    job: Job<'a>,
    progress: Progress,
    began: Instant,
    desk: Mutex<Desk>,
    tally: Mutex<Tally>,
}

/// What the workers do.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// What is evaluated, and how often.
    pub plan: &'a Plan,
    /// The folder of the logs.
    pub logs: &'a std::path::Path,
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
    /// The last trial that failed, as a sentence.
    last_failure: String,
    /// Why the last trial without a log has none.
    unlogged: Option<String>,
    /// Why nothing new begins.
    done: Option<Done>,
    /// What does not work.
    broken: Vec<String>,
}

/// How a run ended.
pub struct Outcome {
    /// The study, as this process knows it.
    pub session: Session,
    /// What did not work, each as a sentence.
    pub broken: Vec<String>,
    /// Why it was given up, where the objective never had a value.
    pub hopeless: Option<String>,
}

impl<'a> Crew<'a> {
    /// Workers for a study.
    pub fn new(job: Job<'a>, session: Session, progress: Progress) -> Self {
        let plan = job.plan;
        let work = Work::new(Terms {
            trials: Some(plan.trials),
            retries: plan.objective.retries,
            max_failures: Some(MAX_FAILURES),
            ..Terms::with_lease(plan.lease)
        });
        Crew {
            job,
            progress,
            began: Instant::now(),
            desk: Mutex::new(Desk { session, work }),
            tally: Mutex::default(),
        }
    }

    /// Works until there is nothing left to do, or somebody wants to stop.
    pub fn run(self) -> Outcome {
        self.progress.show(&self.facts(&lock(&self.desk)));
        let (alive, end) = channel();
        let crew = &self;
        scope(|threads| {
            match Builder::new().spawn_scoped(threads, move || crew.keep_alive(&end)) {
                Ok(_) => crew.work_together(threads),
                Err(error) => crew.give_up(format!("no thread for signs of life: {error}")),
            }
            drop(alive);
        });
        self.progress.end();
        let tally = into_inner(self.tally);
        let hopeless = tally.done == Some(Done::Hopeless);
        Outcome {
            session: into_inner(self.desk).session,
            broken: tally.broken,
            hopeless: hopeless.then(|| {
                let last = tally.last_failure;
                format!("{MAX_FAILURES} trials failed and none has a value; the last one: {last}")
            }),
        }
    }

    /// As many workers as wanted, or as this machine has threads for.
    fn work_together<'s>(&'s self, threads: &'s Scope<'s, '_>) {
        let n_workers = self.job.plan.workers;
        let mut workers = Vec::new();
        for k in 0..n_workers {
            match Builder::new().spawn_scoped(threads, || self.work()) {
                Ok(worker) => workers.push(worker),
                Err(error) if k == 0 => {
                    self.give_up(format!("no thread for a worker: {error}"));
                    break;
                }
                Err(error) => {
                    self.progress.say(&format!(
                        "{k} of {n_workers} workers: no thread for more: {error}"
                    ));
                    break;
                }
            }
        }
        for worker in workers {
            if worker.join().is_err() {
                self.give_up("a worker of this program panicked; please report it".to_owned());
            }
        }
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
                Ok(Next::Done(why)) => return self.finish(why),
                Err(error) => self.give_up(error.to_string()),
            }
        }
    }

    fn next(&self) -> Result<Next, Error> {
        let desk = &mut *self.desk();
        let next = desk.work.next(&mut desk.session);
        if let Ok(Next::Evaluate(_)) = next {
            self.progress.show(&self.facts(desk));
        }
        next
    }

    /// The turn of a worker, which knows whether somebody wants to stop.
    fn desk(&self) -> MutexGuard<'_, Desk> {
        let mut desk = lock(&self.desk);
        if self.job.stop.wants(Wish::Stop) {
            desk.work.stop();
        }
        desk
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
            let desk = &mut *self.desk();
            let ended = desk.work.ended(&mut desk.session, asked.id, ending(&end));
            match ended {
                Ok(Ended::Again) => continue,
                Ok(Ended::Told) => self.count(desk, asked.id, &end, began.elapsed()),
                Ok(Ended::TakenOver) => self.progress.say(&format!(
                    "trial {} was told by another worker meanwhile",
                    asked.id
                )),
                Ok(Ended::GivenBack) => {}
                Err(error) => self.blame(desk, self.unstored(asked.id, &end, &error)),
            }
            if let End::Unable(why) = &end {
                let waits = format!(
                    "{why}\nhint: fewer workers may do; trial {} waits",
                    asked.id
                );
                self.blame(desk, waits);
            }
            return;
        }
    }

    fn attempt(&self, asked: &Asked, attempt: u32) -> End {
        let plan = self.job.plan;
        if let Kind::Builtin(builtin) = &plan.objective.kind {
            return End::Value(builtin.value(&asked.values), None);
        }
        let program = objective::command(plan, asked).and_then(|command| {
            let input = objective::input(asked)?;
            Ok(command.map(|command| (command, input)))
        });
        let (command, input) = match program {
            Ok(Some(program)) => program,
            Ok(None) => return End::Stopped,
            Err(why) => {
                return End::Failed {
                    reason: why.to_string(),
                    again: true,
                };
            }
        };
        let what = format!("trial {}, attempt {attempt}: {input}", asked.id);
        let mut log = Log::begin(self.job.logs, asked.id, what.trim_end());
        self.say_unlogged(asked.id, log.trouble());
        let limits = Limits {
            timeout: plan.objective.timeout,
            grace: plan.objective.grace,
        };
        subprocess::evaluate(command, input, limits, &mut log, self.job.stop)
    }

    /// Says why a trial has no log, but not the same for each trial.
    fn say_unlogged(&self, id: u64, trouble: Option<&String>) {
        let Some(why) = trouble else { return };
        let before = lock(&self.tally).unlogged.replace(why.clone());
        if before.as_ref() != Some(why) {
            self.progress.say(&format!("trial {id} has no log: {why}"));
        }
    }

    /// An outcome is stored: it is counted, and said.
    fn count(&self, desk: &Desk, id: u64, end: &End, time: Duration) {
        let (what, has_failed) = match end {
            End::Value(value, _) => (
                format!("trial {id}: {} in {}", brief(*value), rounded(time)),
                false,
            ),
            End::Failed { reason, .. } => (self.failure(id, reason), true),
            End::Stopped | End::Unable(_) => return,
        };
        let mut tally = lock(&self.tally);
        tally.n_ended += 1;
        tally.time += time;
        if has_failed {
            tally.last_failure.clone_from(&what);
        }
        drop(tally);
        self.progress.told(&what, has_failed, &self.facts(desk));
    }

    fn failure(&self, id: u64, reason: &str) -> String {
        let log = log::path(self.job.logs, id);
        let has_log = log.symlink_metadata().is_ok_and(|data| data.is_file());
        if has_log {
            format!("trial {id} failed: {reason} (log: {})", log.display())
        } else {
            format!("trial {id} failed: {reason}")
        }
    }

    /// An outcome that could not be stored. A value is said with the command that stores it later.
    fn unstored(&self, id: u64, end: &End, error: &Error) -> String {
        let End::Value(value, _) = end else {
            return error.to_string();
        };
        format!(
            "trial {id} has the value {value}, which could not be stored: {error}\n\
             hint: once the database can be written again, `mivabo tell {} {id} {value}` stores it",
            self.job.plan.path.display(),
        )
    }

    fn facts(&self, desk: &Desk) -> Facts {
        let session = &desk.session;
        let budget = self.job.plan.trials;
        let (n_told, n_failed) = counts(session);
        let tally = lock(&self.tally);
        let n_left = u32::try_from(budget.saturating_sub(n_told)).unwrap_or(u32::MAX);
        let best = session.best();
        let pace = |time: Duration| time.checked_div(tally.n_ended);
        Facts {
            n_told,
            budget,
            n_failed,
            n_running: desk.work.n_held(),
            best: best.and_then(|trial| session.study().value(trial)),
            mean: pace(tally.time),
            left: pace(self.began.elapsed()).map(|each| each.saturating_mul(n_left)),
        }
    }

    fn give_up(&self, why: String) {
        self.blame(&mut lock(&self.desk), why);
    }

    /// No new trials. Every reason is kept: each may hold a value that could not be stored.
    fn blame(&self, desk: &mut Desk, why: String) {
        desk.work.stop();
        let broken = &mut lock(&self.tally).broken;
        if !broken.contains(&why) {
            broken.push(why);
        }
    }
}

/// What the store is told of an evaluation.
fn ending(end: &End) -> Ending {
    match end {
        End::Value(value, object) => Ending::Told(Told {
            // A value is not lost by what came with it.
            result: object.as_ref().and_then(|text| Object::new(text).ok()),
            ..Told::value(*value)
        }),
        End::Failed {
            reason,
            again: true,
        } => Ending::Stumbled {
            reason: reason.clone(),
        },
        End::Failed { reason, .. } => Ending::Told(Told::failed(reason)),
        End::Stopped | End::Unable(_) => Ending::GivenBack,
    }
}

/// Told trials, and those of them without a value.
pub fn counts(session: &Session) -> (u64, u64) {
    let study = session.study();
    let mut counts = (0, 0);
    for trial in session.trials().iter().filter(|trial| trial.is_told()) {
        counts.0 += 1;
        counts.1 += u64::from(study.value(trial).is_none());
    }
    counts
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}
