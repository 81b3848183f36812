//! Those who wait for a turn stand in line: whoever comes later, and whoever had the turn and comes back at once, goes behind them.
//! Only brief turns in a row may go before the line, as to hand a turn over takes longer than such a one.
//!
//! Who waits has locked a byte of its own, behind those of all who came before. Only who finds no locked byte before its own tries to
//! take the turn. A process that ends leaves the line with it.

use std::cell::Cell;
use std::fs::File;
use std::time::Duration;

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

impl Line {
    /// Waits for the turn. `used` is how long the turns took that this connection had since it last stood in line or found nobody
    /// there. Busy where others have the turn for too long, or somebody asked this thread to end.
    pub(super) fn take(self, file: &File, used: &Cell<Duration>) -> Locked<()> {
        let is_empty = locked(file, self.waiters).is_none();
        if is_empty {
            used.set(Duration::ZERO);
        }
        if is_empty || used.get() < ALLOWANCE {
            match set(file, self.turn, Kind::Exclusive) {
                Locked::Busy => {}
                done => return done,
            }
        }
        used.set(Duration::ZERO);
        let place = self.join(file);
        let done = self.wait(file, place);
        if let Some(place) = place {
            set(file, Bytes::one(place), Kind::None);
        }
        done
    }

    /// A byte behind all that are locked; none where there is no room, and so no order.
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

    fn wait(self, file: &File, place: Option<i64>) -> Locked<()> {
        let mut wait = Wait::new(self.awaited);
        loop {
            let before = locked(
                file,
                self.waiters.before(place.unwrap_or(self.waiters.start)),
            );
            if before.is_none() {
                match set(file, self.turn, Kind::Exclusive) {
                    Locked::Busy => {}
                    done => return done,
                }
            }
            // Not `F_OFD_SETLKW`, which would wait in the kernel, where no interrupt reaches it.
            if !wait.pause(before.map(|other| other.start)) {
                return Locked::Busy;
            }
        }
    }
}
