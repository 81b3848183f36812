//! Those who wait for a turn stand in line: whoever comes later, and whoever had the turn and comes back at once, goes behind them.
//! Only brief turns in a row may go before the line, as to hand a turn over takes longer than such a one.
//!
//! Who waits has locked a byte of its own, behind those of all who came before. Only who finds no locked byte before its own tries to
//! take the turn. A process that ends leaves the line with it.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::lock::{Bytes, Kind, Locked, locked, set};
use crate::waiting::{Awaited, Wait};

/// A turn of which there is one, and those who wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line {
    /// Who has the turn has locked these.
    pub(super) turn: Bytes,
    /// Who waits has locked one of these.
    pub(super) waiters: Bytes,
    /// What the wait is for.
    pub(super) awaited: Awaited,
}

/// For how long, in all turns together, somebody may go before the line. Without any, eight processes on one file made half as many
/// trials a second.
const ALLOWANCE: Duration = Duration::from_millis(5);

/// How long the turns were that a connection had since it last stood in line, or found nobody there.
#[derive(Debug, Clone, Default)]
pub(super) struct Used(Arc<AtomicU64>);

impl Used {
    pub(super) fn add(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX / 2);
        self.0.fetch_add(micros, Ordering::Relaxed);
    }

    fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    fn may_go_first(&self) -> bool {
        Duration::from_micros(self.0.load(Ordering::Relaxed)) < ALLOWANCE
    }
}

/// Somebody's wish for a turn.
#[derive(Debug)]
pub(super) struct Candidate {
    line: Line,
    used: Used,
    /// Where it stands in line, once it does; without a place where there is no room, and so no order.
    standing: Option<(Option<i64>, Wait)>,
}

impl Candidate {
    pub(super) fn new(line: Line, used: &Used) -> Candidate {
        Candidate {
            line,
            used: used.clone(),
            standing: None,
        }
    }

    /// Waits for the turn, but not for longer than this. Busy where others still have it: the place in line stays. The caller
    /// [leaves](Candidate::leave) it some day.
    pub(super) fn wait(&mut self, file: &File, longest: Duration) -> Locked<()> {
        let Line { waiters, .. } = self.line;
        let standing = match &mut self.standing {
            Some(standing) => standing,
            none => {
                let is_empty = locked(file, waiters).is_none();
                if !is_empty && !self.used.may_go_first() {
                    self.used.clear();
                } else {
                    if is_empty {
                        self.used.clear();
                    }
                    match set(file, self.line.turn, Kind::Exclusive) {
                        Locked::Busy => self.used.clear(),
                        done => return done,
                    }
                }
                none.insert((self.line.join(file), Wait::new(self.line.awaited)))
            }
        };
        let (place, wait) = standing;
        let until = Instant::now() + longest;
        loop {
            let before = locked(file, waiters.before(place.unwrap_or(waiters.start)));
            if before.is_none() {
                match set(file, self.line.turn, Kind::Exclusive) {
                    Locked::Busy => {}
                    done => {
                        self.leave(file);
                        return done;
                    }
                }
            }
            // Not `F_OFD_SETLKW`, which would wait in the kernel, where no interrupt reaches it.
            if Instant::now() >= until || !wait.pause(before.map(|other| other.start)) {
                return Locked::Busy;
            }
        }
    }

    /// The bytes that are locked by whoever has the turn.
    pub(super) fn turn(&self) -> Bytes {
        self.line.turn
    }

    /// Whether it is time to give up, or somebody asked this thread to end.
    pub(super) fn is_over(&self) -> bool {
        self.standing
            .as_ref()
            .is_some_and(|(_, wait)| wait.is_over())
    }

    pub(super) fn leave(&mut self, file: &File) {
        if let Some((Some(place), _)) = self.standing.take() {
            set(file, Bytes::one(place), Kind::None);
        }
    }
}

impl Line {
    /// A byte behind all that are locked; none where there is no room.
    fn join(self, file: &File) -> Option<i64> {
        loop {
            let mut place = self.waiters.start;
            while let Some(other) = locked(file, self.waiters.from(place)) {
                place = other.end();
            }
            if place >= self.waiters.end() {
                return None;
            }
            match set(file, Bytes::one(place), Kind::Exclusive) {
                Locked::Taken(()) => return Some(place),
                // Somebody came at the same moment.
                Locked::Busy => {}
                Locked::Impossible => return None,
            }
        }
    }
}
