//! Workers: a stored study and an objective enter, told trials leave.
//!
//! Each worker is a thread that claims a trial, evaluates it and tells. They share one session; a thread of its own
//! gives signs of life for all trials that are held here. Trials of workers that stopped answering are taken over.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope, scope, sleep};
use std::time::{Duration, Instant};

use mivabo::acquire;
use mivabo_store::{Asked, Error, Object, RecordState, Session, Told};

use crate::Failure;
use crate::log::{self, Log};
use crate::objective::{Kind, Objective};
use crate::process::{self, End, Limits};
use crate::progress::{Facts, Progress, rounded};
use crate::stop::Stop;
use crate::study_file::StudyFile;
use crate::text::brief;

/// How often workers may die over a trial before it counts as failed.
pub const MAX_ATTEMPTS: u32 = 5;

/// A run without any value gives up after this many failed trials.
pub const MAX_FAILURES: u64 = 10;

/// How long a worker without work waits before it looks again.
const PAUSE: Duration = Duration::from_millis(100);

/// All workers of this process.
pub struct Crew<'a> {
    file: &'a StudyFile,
    objective: &'a Objective,
    budget: u64,
    stop: &'a Stop,
    progress: Progress,
    began: Instant,
    session: Mutex<Session>,
    /// Trials that run here.
    held: Mutex<BTreeSet<u64>>,
    /// When their leases were renewed.
    renewed: Mutex<Instant>,
    tally: Mutex<Tally>,
}

/// What happened here.
#[derive(Debug, Default)]
pub struct Tally {
    /// Trials that ended here, and how long they took together.
    n_ended: u32,
    time: Duration,
    n_failed: u64,
    has_value: bool,
    /// There are no more points.
    is_exhausted: bool,
    is_waiting: bool,
    /// Why the last trial without a log has none.
    unlogged: Option<Failure>,
    /// What made the run end before its time.
    pub failure: Option<GivenUp>,
}

/// Why a run ended before its time.
#[derive(Debug)]
pub enum GivenUp {
    /// Something does not work.
    Broken(Failure),
    /// The objective never had a value.
    Hopeless(Failure),
}

enum Next {
    Trial(Asked),
    Wait,
    Done,
}

impl<'a> Crew<'a> {
    /// Workers that make `budget` trials, those that exist included.
    pub fn new(
        file: &'a StudyFile,
        session: Session,
        stop: &'a Stop,
        (budget, quiet): (u64, bool),
    ) -> Option<Self> {
        Some(Crew {
            file,
            objective: file.objective.as_ref()?,
            budget,
            stop,
            progress: Progress::new(quiet, budget),
            began: Instant::now(),
            session: Mutex::new(session),
            held: Mutex::default(),
            renewed: Mutex::new(Instant::now()),
            tally: Mutex::default(),
        })
    }

    /// Works until there is nothing left to do, or somebody wants to stop.
    pub fn run(self, n_workers: usize) -> (Session, Tally) {
        self.progress.show(&self.facts(&lock(&self.session)));
        let (alive, end) = channel();
        let crew = &self;
        scope(|threads| {
            match Builder::new().spawn_scoped(threads, move || crew.keep_alive(&end)) {
                Ok(_) => crew.work_together(threads, n_workers),
                Err(error) => crew.give_up(format!("no thread for signs of life: {error}")),
            }
            drop(alive);
        });
        self.progress.end();
        let session = self
            .session
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        (
            session,
            self.tally
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    /// As many workers as wanted, or as this machine has threads for.
    fn work_together<'s>(&'s self, threads: &'s Scope<'s, '_>, n_workers: usize) {
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

    /// Signs of life. A trial that is no longer ours goes on: its result counts if it comes first.
    fn keep_alive(&self, end: &Receiver<()>) {
        while end.recv_timeout(self.file.lease / 4) == Err(RecvTimeoutError::Timeout) {
            self.renew(&mut lock(&self.session));
        }
    }

    /// Renews the leases of all trials that run here, unless that was just done: each time is a turn to write.
    fn renew(&self, session: &mut Session) {
        let mut renewed = lock(&self.renewed);
        let held: Vec<u64> = lock(&self.held).iter().copied().collect();
        let is_due = !held.is_empty() && renewed.elapsed() >= self.file.lease / 8;
        if is_due && session.heartbeat_all(&held, self.file.lease).is_ok() {
            *renewed = Instant::now();
        }
    }

    fn work(&self) {
        while !self.stop.is_wanted() && lock(&self.tally).failure.is_none() {
            match self.next() {
                Ok(Next::Trial(asked)) => self.evaluate(&asked),
                Ok(Next::Wait) => sleep(PAUSE),
                Ok(Next::Done) => break,
                Err(error) => self.give_up(error.to_string()),
            }
        }
    }

    fn next(&self) -> Result<Next, Error> {
        let mut session = lock(&self.session);
        // Signs of life may have had to wait for this very turn.
        self.renew(&mut session);
        session.release_expired(MAX_ATTEMPTS)?;
        let budget = if lock(&self.tally).is_exhausted {
            0
        } else {
            self.budget
        };
        match session.ask(Some(budget), self.file.lease) {
            Ok(Some(asked)) => {
                lock(&self.held).insert(asked.id);
                self.progress.show(&self.facts(&session));
                Ok(Next::Trial(asked))
            }
            Ok(None) => self.nothing_to_ask(&session),
            Err(Error::Study(mivabo::Error::Search(
                why @ (acquire::Error::Exhausted { .. } | acquire::Error::NoUntriedPoint { .. }),
            ))) => {
                if !std::mem::replace(&mut lock(&self.tally).is_exhausted, true) {
                    self.progress.say(&why.to_string());
                }
                self.nothing_to_ask(&session)
            }
            Err(error) => Err(error),
        }
    }

    /// Trials of others may come back: those of runs like this one, which give signs of life, are waited for.
    fn nothing_to_ask(&self, session: &Session) -> Result<Next, Error> {
        let held = lock(&self.held).clone();
        let Some(trial) = session.awaited(2 * self.file.lease, &held)? else {
            return Ok(Next::Done);
        };
        if let RecordState::Running { worker, .. } = &trial.state
            && !std::mem::replace(&mut lock(&self.tally).is_waiting, true)
        {
            let text = format!("waiting for trial {}, which runs for {worker}", trial.id);
            self.progress.say(&text);
        }
        Ok(Next::Wait)
    }

    fn evaluate(&self, asked: &Asked) {
        let began = Instant::now();
        let end = self.attempts(asked);
        let time = began.elapsed();
        let mut session = lock(&self.session);
        lock(&self.held).remove(&asked.id);
        match tell(&mut session, asked.id, &end) {
            Ok(()) => {
                if let End::Unable(why) = &end {
                    self.give_up(format!("{why}\nhint: fewer workers may do; trial {} waits", asked.id));
                }
                self.count(&session, asked.id, &end, time);
            }
            Err(Error::AlreadyTold { id, .. }) => {
                self.progress.say(&format!("trial {id} was told by another worker meanwhile"));
            }
            Err(error) => self.give_up(match end {
                End::Value(value, _) => format!(
                    "trial {id} has the value {value}, which could not be stored: {error}\n\
                     hint: once the database can be written again, `mivabo tell {} {id} {value}` stores it",
                    self.file.path.display(),
                    id = asked.id
                ),
                _ => error.to_string(),
            }),
        }
    }

    /// Tries again what failed, as often as the user wants.
    fn attempts(&self, asked: &Asked) -> End {
        for retry in 0..=self.objective.retries {
            match self.attempt(asked, retry) {
                End::Failed { again: true, .. } if retry < self.objective.retries => {
                    if self.stop.is_wanted() {
                        return End::Stopped;
                    }
                }
                end => return end,
            }
        }
        End::Stopped
    }

    fn attempt(&self, asked: &Asked, retry: u32) -> End {
        if let Kind::Builtin(builtin) = &self.objective.kind {
            return End::Value(builtin.value(&asked.values), None);
        }
        let (mut command, input) = match self.objective.command(&self.file.folder, &asked.values) {
            Ok(Some(found)) => found,
            Ok(None) => return End::Stopped,
            Err(reason) => {
                return End::Failed {
                    reason,
                    again: true,
                };
            }
        };
        command
            .env("MIVABO_TRIAL", asked.id.to_string())
            .env("MIVABO_STUDY", &self.file.name);
        let what = format!("trial {}, attempt {}: {input}", asked.id, retry + 1);
        let mut log = Log::begin(&self.file.logs(), asked.id, what.trim_end());
        self.say_unlogged(asked.id, log.trouble());
        let limits = Limits {
            timeout: self.objective.timeout,
            grace: self.objective.grace,
        };
        process::evaluate(command, input, limits, &mut log, self.stop)
    }

    /// Says why a trial has no log, but not for each trial the same.
    fn say_unlogged(&self, id: u64, trouble: Option<&Failure>) {
        let Some(why) = trouble else { return };
        if lock(&self.tally).unlogged.replace(why.clone()).as_ref() != Some(why) {
            self.progress.say(&format!("trial {id} has no log: {why}"));
        }
    }

    fn count(&self, session: &Session, id: u64, end: &End, time: Duration) {
        let (what, has_failed) = match end {
            End::Value(value, _) => (
                format!("trial {id}: {} in {}", brief(*value), rounded(time)),
                false,
            ),
            End::Failed { reason, .. } => {
                let log = log::path(&self.file.logs(), id);
                let has_log = log.symlink_metadata().is_ok_and(|data| data.is_file());
                let place = if has_log {
                    format!(" (log: {})", log.display())
                } else {
                    String::new()
                };
                (format!("trial {id} failed: {reason}{place}"), true)
            }
            End::Stopped | End::Unable(_) => return,
        };
        let mut tally = lock(&self.tally);
        tally.n_ended += 1;
        tally.time += time;
        tally.has_value |= !has_failed;
        tally.n_failed += u64::from(has_failed);
        let is_hopeless =
            !tally.has_value && tally.n_failed >= MAX_FAILURES && session.best().is_none();
        drop(tally);
        self.progress.told(&what, has_failed, &self.facts(session));
        if is_hopeless {
            let why =
                format!("{MAX_FAILURES} trials failed and none has a value; the last one: {what}");
            lock(&self.tally)
                .failure
                .get_or_insert(GivenUp::Hopeless(why));
        }
    }

    fn facts(&self, session: &Session) -> Facts {
        let (n_told, n_failed) = counts(session);
        let (tally, n_running) = (lock(&self.tally), lock(&self.held).len());
        let mean = (tally.n_ended > 0).then(|| tally.time / tally.n_ended);
        let n_left = u32::try_from(self.budget.saturating_sub(n_told)).unwrap_or(u32::MAX);
        let left = (tally.n_ended > 0)
            .then(|| (self.began.elapsed() / tally.n_ended).saturating_mul(n_left));
        let best = session
            .best()
            .and_then(|trial| session.study().value(trial));
        Facts {
            n_told,
            budget: self.budget,
            n_failed,
            n_running,
            best,
            mean,
            left,
        }
    }

    /// No new trials. Every reason is said: each may hold a value that could not be stored.
    fn give_up(&self, why: Failure) {
        match &mut lock(&self.tally).failure {
            Some(GivenUp::Broken(all)) if all.contains(&why) => {}
            Some(GivenUp::Broken(all)) => all.extend(["\nerror: ", &why]),
            failure => *failure = Some(GivenUp::Broken(why)),
        }
    }
}

/// Told trials, and those of them without a value.
pub fn counts(session: &Session) -> (u64, u64) {
    let told = session.trials().iter().filter(|trial| trial.is_told());
    told.fold((0, 0), |(n, failed), trial| {
        (
            n + 1,
            failed + u64::from(session.study().value(trial).is_none()),
        )
    })
}

fn tell(session: &mut Session, id: u64, end: &End) -> Result<(), Error> {
    match end {
        End::Value(value, object) => {
            let told = Told {
                // A value is not lost by what came with it.
                result: object.as_ref().and_then(|text| Object::new(text).ok()),
                ..Told::value(*value)
            };
            session.tell_all(id, &told)
        }
        End::Failed { reason, .. } => session.tell_failed(id, reason),
        // If others have it by now, it is theirs.
        End::Stopped | End::Unable(_) => match session.release(id) {
            Err(Error::NotHeld { .. }) => Ok(()),
            other => other,
        },
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
