//! Waiting for others: how long, with which pauses, and who hears of it.

use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use mivabo::interrupt;

/// How often something taken is tried again, and the longest pause between two attempts. The pauses add up to ten minutes:
/// many workers may wait in line while each of them computes a suggestion.
const ATTEMPTS: i32 = 120_000;
const PAUSE: Duration = Duration::from_millis(5);

/// The first pauses are much shorter: most turns are over after a fraction of a millisecond, and a trial takes three of them. With
/// a millisecond from the first pause on, eight processes on one file made a third fewer trials a second.
const N_BRIEF: i32 = 20;
const BRIEF: Duration = Duration::from_micros(100);

/// The shortest pauses of whoever is the next in a line, and of those behind. A turn takes about half a millisecond; with pauses of
/// that length those behind looked so often that eight processes on two cores made a sixth fewer trials a second.
const NEXT: Duration = Duration::from_micros(50);
const LATER: Duration = Duration::from_millis(1);

/// After how long a wait in line is reported, and given up.
const LONG: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(600);

/// The attempt after two seconds, when the wait is reported.
const LONG_WAIT: i32 = 420;

/// Without locks of our own nobody stands in line. Whoever had a turn for this long then leaves time for one of the others to take the
/// next.
const LONG_TURN: Duration = Duration::from_millis(50);

/// How often a long wait is reported.
const AGAIN: Duration = Duration::from_secs(60);

type Say = Box<dyn Fn(Awaited) + Send + Sync>;

static SAY: OnceLock<Say> = OnceLock::new();
static SAID: Mutex<Option<Instant>> = Mutex::new(None);

/// Who is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Awaited {
    /// Somebody who writes.
    Writer,
    /// Somebody who computes a suggestion.
    Suggestion,
}

impl fmt::Display for Awaited {
    /// Goes on with a sentence that ends in the name of the place.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Awaited::Writer => "which another process is writing",
            Awaited::Suggestion => "for which another process is computing a suggestion",
        })
    }
}

/// Has `say` called, on the thread that waits, when this process has waited two seconds for its turn, and at most once a
/// minute. The first function that is given stays.
pub fn on_long_wait(say: impl Fn(Awaited) + Send + Sync + 'static) {
    SAY.set(Box::new(say)).ok();
}

/// A wait in line.
#[derive(Debug)]
pub(crate) struct Wait {
    awaited: Awaited,
    began: Instant,
    /// Who was found before, and since when.
    before: Option<i64>,
    since: Instant,
    is_reported: bool,
}

impl Wait {
    pub(crate) fn new(awaited: Awaited) -> Wait {
        let now = Instant::now();
        Wait {
            awaited,
            began: now,
            before: None,
            since: now,
            is_reported: false,
        }
    }

    /// Pauses before the next look at the line, where `before` is somebody who stands before us; none for whoever is the next. False
    /// where it is time to give up, or somebody asked this thread to end.
    pub(crate) fn pause(&mut self, before: Option<i64>) -> bool {
        let now = Instant::now();
        if self.before != before {
            self.before = before;
            self.since = now;
        }
        let waited = now - self.began;
        if waited >= LONG && !self.is_reported {
            self.is_reported = true;
            report(self.awaited);
        }
        // Who is the next looks often, so that the turn is not left lying. A long turn may go on for long.
        let shortest = if before.is_none() { NEXT } else { LATER };
        sleep(shortest.max((now - self.since) / 16).min(PAUSE));
        !self.is_over()
    }

    /// Whether it is time to give up, or somebody asked this thread to end.
    pub(crate) fn is_over(&self) -> bool {
        self.began.elapsed() >= LONGEST || interrupt::is_requested()
    }
}

/// Pauses before the next attempt to take what another has. False where it is time to give up, or somebody asked this thread
/// to end; it does not unwind by itself, as SQLite's code may be among the callers.
pub(crate) fn pause(attempt: i32, awaited: Awaited) -> bool {
    if attempt == LONG_WAIT {
        report(awaited);
    }
    let grown = if attempt < N_BRIEF {
        BRIEF
    } else {
        Duration::from_millis(1 + u64::from(attempt.unsigned_abs()) / 10)
    };
    sleep(PAUSE.min(grown));
    attempt < ATTEMPTS && !interrupt::is_requested()
}

/// After a turn that began at `begun` and has ended.
pub(crate) fn let_others_go_first(begun: Instant) {
    if begun.elapsed() > LONG_TURN {
        // The others look every few milliseconds. Without the pause one of eight processes got 130 turns of 200.
        sleep(2 * PAUSE);
    }
}

fn report(awaited: Awaited) {
    let Some(say) = SAY.get() else { return };
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.is_none_or(|said| said.elapsed() >= AGAIN) {
        *said = Some(Instant::now());
        // `say` may take its time, or wait for something itself.
        drop(said);
        say(awaited);
    }
}
