//! The loop: which trial is evaluated next, what became of it, and when there is nothing left to do.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::{Duration, Instant};

use mivabo::measure::Sense;
use mivabo::study::Trial;
use mivabo::{acquire, interrupt};
use mivabo_store::{
    Asked, Asking, Error, Location, Record, RecordState, Session, Told, Turn, Waited,
};

use crate::lost::still_told;
use crate::{LEASE, MAX_ATTEMPTS, PAUSE, SILENCE};

/// On what terms the trials of a study are evaluated.
#[derive(Debug, Clone)]
pub struct Terms {
    /// Total number of trials, including those already there.
    pub trials: Option<u64>,
    /// No trial begins after this long.
    pub time: Option<Duration>,
    /// No trial begins once the best value is at least this good.
    pub target: Option<f64>,
    /// How long a worker may be silent before its trials are given to others.
    pub lease: Duration,
    /// No trial begins after so many were evaluated in a row without a better one.
    pub patience: Option<u64>,
    /// Trials of others are waited for if their leases end within this time.
    pub longest_wait: Duration,
    /// How often a failed evaluation is tried again.
    pub retries: u32,
    /// The work ends after this many failed trials if there is no value at all.
    pub max_failures: Option<u64>,
    /// No trial begins once the study is defined otherwise than by this text: for those who would evaluate parameters that they do
    /// not know.
    pub definition: Option<String>,
}

impl Terms {
    /// With this lease and no other bounds. Others who work like this one renew their leases well within the longest wait.
    pub fn with_lease(lease: Duration) -> Terms {
        Terms {
            trials: None,
            time: None,
            target: None,
            lease,
            patience: None,
            longest_wait: 2 * lease,
            retries: 0,
            max_failures: None,
            definition: None,
        }
    }
}

impl Default for Terms {
    fn default() -> Terms {
        Terms::with_lease(LEASE)
    }
}

/// What to do next.
#[derive(Debug)]
pub enum Next {
    /// Evaluate this trial, then say how it [ended](Work::ended).
    Evaluate(Asked),
    /// Nothing can begin before trials of others end: ask again at this time, or when a trial that is held here has ended.
    Wait {
        /// When to ask again.
        until: Instant,
        /// What is waited for, once the wait has become long; told only once.
        news: Option<AwaitedTrial>,
    },
    /// Others have the turn to suggest. The session is free meanwhile: wait for the turn, then ask again [with it](Work::next_in_turn).
    Turn(Box<dyn Turn>),
    /// Nothing new begins here. Trials that are held run to their ends.
    Done(Done),
}

/// A trial of another worker that is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwaitedTrial {
    /// Its number.
    pub trial: u64,
    /// Who evaluates it.
    pub worker: String,
}

impl fmt::Display for AwaitedTrial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "waiting for trial {}, which runs for {}",
            self.trial, self.worker
        )
    }
}

/// Why nothing new begins.
#[derive(Debug, Clone, PartialEq)]
pub enum Done {
    /// There are as many trials as there should be.
    Enough,
    /// No point is left to try, for this reason.
    Exhausted(acquire::Error),
    /// The time is up.
    OutOfTime,
    /// The best value is good enough.
    TargetMet,
    /// As many trials as the patience allows were evaluated since this one, and none of them is better.
    NoProgress {
        /// The best trial.
        best: u64,
    },
    /// Too many trials failed, and none has a value.
    Hopeless,
    /// The study was revised, and is not the one that is evaluated here any more.
    Revised,
    /// Somebody wanted to [stop](Work::stop).
    Stopped,
}

/// How an evaluation ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// With what is told of it.
    Told(Told),
    /// Without a value, in a way that may not happen again.
    Stumbled(Told),
    /// It says nothing about the point, which waits for the next worker.
    GivenBack,
}

/// What became of a trial whose evaluation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Its outcome is stored.
    Told,
    /// It is still held here, to be evaluated again.
    Again,
    /// Another worker told it first; that outcome counts.
    TakenOver,
    /// It waits for the next worker.
    GivenBack,
}

/// Where the work on a study stands, as far as this process is concerned.
pub struct Work {
    terms: Terms,
    /// Whether somebody wants to stop.
    wish: Box<dyn Fn() -> bool + Send>,
    began: Instant,
    held: BTreeMap<u64, Held>,
    /// When the leases were renewed last.
    renewed: Instant,
    reports: BTreeMap<u64, Report>,
    n_failed: u64,
    has_value: bool,
    exhausted: Option<acquire::Error>,
    /// Trials that were evaluated elsewhere, once somebody needed to know.
    imported: Option<BTreeSet<u64>>,
    wait: Option<Wait>,
    end: Option<Done>,
}

/// A trial that is evaluated here.
#[derive(Debug, Default)]
struct Held {
    /// How often it was tried again.
    retries: u32,
}

/// An outcome that was told from here.
#[derive(Debug)]
struct Report {
    told: Told,
    /// Whether the store acknowledged it.
    is_stored: bool,
}

/// A wait for trials of others.
#[derive(Debug)]
struct Wait {
    since: Instant,
    has_said: bool,
}

impl Work {
    /// Work that begins now.
    pub fn new(terms: Terms) -> Work {
        let now = Instant::now();
        Work {
            terms,
            wish: Box::new(|| false),
            began: now,
            held: BTreeMap::new(),
            renewed: now,
            reports: BTreeMap::new(),
            n_failed: 0,
            has_value: false,
            exhausted: None,
            imported: None,
            wait: None,
            end: None,
        }
    }

    /// Stops as soon as `wish` says so, which is asked whenever something could begin.
    pub fn stopping_when(self, wish: impl Fn() -> bool + Send + 'static) -> Work {
        Work {
            wish: Box::new(wish),
            ..self
        }
    }

    /// How many trials are held here.
    pub fn n_held(&self) -> usize {
        self.held.len()
    }

    /// Nothing new begins from now on.
    pub fn stop(&mut self) {
        self.end.get_or_insert(Done::Stopped);
    }

    /// What to do next; never [`Next::Turn`], as it waits for that itself.
    ///
    /// # Errors
    /// What the session meets, or [`Error::Study`] where no point can be found. The work may go on after either.
    pub fn next(&mut self, session: &mut Session) -> Result<Next, Error> {
        let mut turn = None;
        loop {
            match self.next_in_turn(session, turn.take())? {
                Next::Turn(mut wanted) => {
                    // Where the work is over meanwhile, the next call says so.
                    while self.is_over().is_none() && wanted.wait(PAUSE)? == Waited::NotYet {}
                    turn = Some(wanted);
                }
                next => return Ok(next),
            }
        }
    }

    /// What to do next, for those who share the session: with the turn that was waited for, if one was.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn next_in_turn(
        &mut self,
        session: &mut Session,
        turn: Option<Box<dyn Turn>>,
    ) -> Result<Next, Error> {
        if let Some(why) = self.is_over() {
            return Ok(Next::Done(why));
        }
        // Signs of life may have had to wait for this very turn: first they are made up for, or the next line would take the
        // trials that run here from us.
        self.beat(session);
        session.release_expired(MAX_ATTEMPTS)?;
        // What was written so far stands alone, so the search for a point may be interrupted.
        interrupt::unsettle();
        if self.meets_target(session) {
            return Ok(Next::Done(Done::TargetMet));
        }
        if let Some(best) = self.last_progress(session)? {
            // For good: a late improvement by a trial that still runs would be left with the few workers that have not ended.
            let why = Done::NoProgress { best };
            return Ok(Next::Done(self.end.get_or_insert(why).clone()));
        }
        match session.ask_in_turn(self.max_trials(), self.terms.lease, turn) {
            Ok(Asking::Trial(asked)) => self.begin(session, asked),
            Ok(Asking::Wait(turn)) => Ok(Next::Turn(turn)),
            Ok(Asking::Nothing) if self.is_revised(session) => Ok(Next::Done(Done::Revised)),
            Ok(Asking::Nothing) => self.nothing_to_begin(session),
            Err(Error::Study(mivabo::Error::Search(why))) if is_exhaustion(&why) => {
                // Not yet the end: a trial of somebody else may fail, or come back, and then there is a point again.
                self.exhausted = Some(why);
                self.nothing_to_begin(session)
            }
            Err(error) => Err(error),
        }
    }

    fn begin(&mut self, session: &mut Session, asked: Asked) -> Result<Next, Error> {
        self.wait = None;
        self.held.insert(asked.id, Held::default());
        // Others may have had the turn to suggest for long, or have revised the study meanwhile. What comes too late waits for the
        // next worker.
        let revised = self.is_revised(session).then_some(Done::Revised);
        if let Some(why) = self.is_over().or(revised) {
            self.give_back(session, asked.id)?;
            return Ok(Next::Done(why));
        }
        Ok(Next::Evaluate(asked))
    }

    fn is_revised(&self, session: &Session) -> bool {
        let known = self.terms.definition.as_ref();
        known.is_some_and(|known| known != session.definition())
    }

    /// Why nothing new begins any more, if so.
    pub fn is_over(&mut self) -> Option<Done> {
        self.look_for_wish();
        if self.end.is_some() {
            return self.end.clone();
        }
        let is_late = |time: &Duration| self.began.elapsed() >= *time;
        let time = self.terms.time.as_ref();
        time.is_some_and(is_late).then_some(Done::OutOfTime)
    }

    fn look_for_wish(&mut self) {
        if (self.wish)() {
            self.stop();
        }
    }

    /// Where all points were tried, only what comes back is left: waiting trials are handed out beyond any limit.
    fn max_trials(&self) -> Option<u64> {
        match self.exhausted {
            Some(_) => Some(0),
            None => self.terms.trials,
        }
    }

    fn meets_target(&self, session: &Session) -> bool {
        // Only those who want one pay for the best trial.
        let Some(target) = self.terms.target else {
            return false;
        };
        let best = session.best();
        let Some(best) = best.and_then(|trial| session.study().value(trial)) else {
            return false;
        };
        match session.aims().goal().sense {
            Sense::Minimize => best <= target,
            Sense::Maximize => best >= target,
        }
    }

    /// The best trial, where it was told so long ago that the patience is over. What was imported took nobody any time.
    fn last_progress(&mut self, session: &Session) -> Result<Option<u64>, Error> {
        let Some(patience) = self.terms.patience else {
            return Ok(None);
        };
        let Some(best) = session.best() else {
            return Ok(None);
        };
        let imported = match &mut self.imported {
            Some(imported) => imported,
            none => none.insert(imported(session)?),
        };
        let is_later = |trial: &&Trial| trial.told > best.told && !imported.contains(&trial.id);
        let n_later = session.trials().iter().filter(is_later).count();
        Ok((n_later as u64 >= patience).then_some(best.id))
    }

    fn nothing_to_begin(&mut self, session: &Session) -> Result<Next, Error> {
        let own: BTreeSet<u64> = self.held.keys().copied().collect();
        let awaited = session.awaited(self.terms.longest_wait, &own)?;
        Ok(match awaited {
            Some(trial) => self.wait_for(&trial),
            None => Next::Done(self.exhausted.clone().map_or(Done::Enough, Done::Exhausted)),
        })
    }

    fn wait_for(&mut self, trial: &Record) -> Next {
        let now = Instant::now();
        let wait = self.wait.get_or_insert(Wait {
            since: now,
            has_said: false,
        });
        let is_news = !wait.has_said && now - wait.since >= SILENCE;
        wait.has_said |= is_news;
        Next::Wait {
            until: now + PAUSE,
            news: is_news.then(|| AwaitedTrial {
                trial: trial.id,
                worker: trial.worker.clone().unwrap_or_default(),
            }),
        }
    }

    /// Stores how the evaluation of a trial ended.
    ///
    /// # Errors
    /// What the session meets. An outcome that could not be stored is then [kept](Self::unstored), and the trial is no longer held.
    pub fn ended(
        &mut self,
        session: &mut Session,
        id: u64,
        ending: Ending,
    ) -> Result<Ended, Error> {
        match ending {
            Ending::Told(told) => self.tell(session, id, &told),
            Ending::GivenBack => self.give_back(session, id),
            Ending::Stumbled(told) => match self.another_try(id) {
                Some(Ended::GivenBack) => self.give_back(session, id),
                Some(ended) => Ok(ended),
                None => self.tell(session, id, &told),
            },
        }
    }

    fn tell(&mut self, session: &mut Session, id: u64, told: &Told) -> Result<Ended, Error> {
        // Before the tell, and held until after it: an interrupt in between must lose neither the outcome nor the trial.
        self.remember(id, told);
        let answer = session.tell_all(id, told);
        if answer.is_err() {
            // An interrupted wait for the turn to write is an error, too, and unwinds here.
            interrupt::check();
        }
        self.held.remove(&id);
        match answer {
            Ok(()) => {
                self.count(session, id, told);
                Ok(Ended::Told)
            }
            // Another one was faster. Or the tell was stored, and only what followed has failed.
            Err(error) if is_told_already(&error) || is_told(session, id) => {
                self.reports.remove(&id);
                Ok(Ended::TakenOver)
            }
            Err(error) => Err(error),
        }
    }

    /// Keeps an outcome that is not stored yet: where there is no session to store it in, it is [named](Self::unstored) later.
    pub fn remember(&mut self, id: u64, told: &Told) {
        let report = Report {
            told: told.clone(),
            is_stored: false,
        };
        self.reports.insert(id, report);
    }

    /// Whether a trial that stumbled is evaluated again; after a stop, or when the time is up, it waits for another worker.
    fn another_try(&mut self, id: u64) -> Option<Ended> {
        self.look_for_wish();
        let held = self.held.get_mut(&id)?;
        if held.retries >= self.terms.retries {
            return None;
        }
        held.retries += 1;
        Some(match self.is_over() {
            Some(Done::Stopped | Done::OutOfTime) => Ended::GivenBack,
            _ => Ended::Again,
        })
    }

    fn give_back(&mut self, session: &mut Session, id: u64) -> Result<Ended, Error> {
        let answer = session.release(id);
        if answer.is_err() {
            interrupt::check();
        }
        self.held.remove(&id);
        match answer {
            // If others have it by now, it is theirs.
            Ok(()) | Err(Error::NotHeld { .. }) => Ok(Ended::GivenBack),
            Err(error) => Err(error),
        }
    }

    fn count(&mut self, session: &Session, id: u64, told: &Told) {
        if let Some(report) = self.reports.get_mut(&id) {
            report.is_stored = true;
        }
        let outcome = told.outcome(session.aims());
        match session.aims().value(&outcome) {
            Some(_) => self.has_value = true,
            None => self.n_failed += 1,
        }
        if self.is_hopeless(session) {
            self.end.get_or_insert(Done::Hopeless);
        }
    }

    /// Only failures from here count, so that the study can be gone on with once the objective is mended.
    fn is_hopeless(&self, session: &Session) -> bool {
        let max = self.terms.max_failures;
        let is_too_many = max.is_some_and(|max| self.n_failed >= max);
        is_too_many && !self.has_value && session.best().is_none()
    }

    /// How often a sign of life is needed.
    pub fn pulse(&self) -> Duration {
        self.terms.lease / 4
    }

    /// A sign of life: renews the leases of all trials that are held here, unless that was just done, for each time is a turn to
    /// write. Where it fails the trials go on: their results count if they come first.
    pub fn beat(&mut self, session: &mut Session) {
        // Half of a pulse: a beat that comes a little early still counts as one.
        let is_due = self.renewed.elapsed() >= self.terms.lease / 8;
        if self.held.is_empty() || !is_due {
            return;
        }
        let held: Vec<u64> = self.held.keys().copied().collect();
        if session.heartbeat_all(&held, self.terms.lease).is_ok() {
            self.renewed = Instant::now();
        }
    }

    /// Gives back all trials that are held here. Those that cannot be given back come back when their leases end.
    pub fn release(&mut self, session: &mut Session) {
        while let Some(id) = self.held.keys().next().copied() {
            self.give_back(session, id).ok();
        }
    }

    /// What was evaluated here and is not stored, each as a phrase. With a session whatever was stored after all is left out.
    pub fn unstored(&self, session: Option<&Session>) -> Vec<String> {
        let is_there = |id: u64| session.is_some_and(|session| is_told(session, id));
        let reports = self.reports.iter();
        let missing = reports.filter(|(id, report)| !report.is_stored && !is_there(**id));
        phrases(missing)
    }

    /// What was stored from here and is not there any more, as when the file was cut off; each as a phrase.
    pub fn missing_in(&self, location: &Location, study: &str) -> Vec<String> {
        let Some(there) = still_told(location, study) else {
            return Vec::new();
        };
        let reports = self.reports.iter();
        let missing = reports.filter(|(id, report)| report.is_stored && !there.contains(id));
        phrases(missing)
    }
}

fn phrases<'a>(reports: impl Iterator<Item = (&'a u64, &'a Report)>) -> Vec<String> {
    reports
        .map(|(id, report)| phrase(*id, &report.told))
        .collect()
}

fn is_told_already(error: &Error) -> bool {
    matches!(error, Error::AlreadyTold { .. })
}

/// The trials that were not evaluated for this study.
fn imported(session: &Session) -> Result<BTreeSet<u64>, Error> {
    let records = session.records()?.into_iter();
    // Only what an ask handed out has been attempted.
    let imported = records.filter(|record| record.is_told() && record.attempts == 0);
    Ok(imported.map(|record| record.id).collect())
}

fn is_exhaustion(why: &acquire::Error) -> bool {
    matches!(
        why,
        acquire::Error::Exhausted { .. } | acquire::Error::NoUntriedPoint { .. }
    )
}

/// Whether the store has an outcome of this trial, of whomever.
fn is_told(session: &Session, id: u64) -> bool {
    let record = session.record(id);
    record.is_ok_and(|record| matches!(record.state, RecordState::Ended(_)))
}

/// An outcome in a message.
fn phrase(id: u64, told: &Told) -> String {
    match (&told.reason, told.value) {
        (Some(reason), _) => format!("trial {id}: failed by {}", beginning(reason)),
        (None, Some(value)) => format!("trial {id}: value {value}"),
        (None, None) => {
            let result = told.result.as_ref().map_or("", |result| result.as_str());
            format!("trial {id}: result {}", beginning(result))
        }
    }
}

fn beginning(text: &str) -> String {
    const LIMIT: usize = 200;
    text.chars().take(LIMIT).collect()
}
