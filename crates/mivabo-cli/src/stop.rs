//! The wish to stop, as signals say it.
//!
//! | signal | what happens | exit code |
//! |---|---|---|
//! | Ctrl-C | no new trials; running ones finish | 130 |
//! | Ctrl-C again | running ones are killed and given back | 130 |
//! | SIGTERM, SIGHUP | the same at once; more of them change nothing | 143, 129 |
//! | a third Ctrl-C | running ones have no time left | 130 |
//! | a fourth one | the program ends where it is | 130 |

use std::io::{PipeReader, PipeWriter, pipe};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, Ordering};
use std::time::Instant;

use nix::poll::{PollFd, PollFlags, poll};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use crate::error::Error;
use crate::exit::Exit;
use crate::wait::left_until;

/// How much somebody wants to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wish {
    /// No new trial should begin.
    Stop = 1,
    /// Running ones should end.
    Urgent = 2,
    /// They should end without time to tidy up.
    Impatient = 3,
}

const WISHES: [Wish; 3] = [Wish::Stop, Wish::Urgent, Wish::Impatient];

/// Hears two signals from the first moment on, and does nothing about them.
///
/// SIGXFSZ, for a file beyond `ulimit -f`, would end this program without a word; heard, it lets the write fail, and that is
/// answered where it is. Who ignores SIGCHLD, as the process that started this one may have done, never learns how a child
/// ended. Children start without either.
pub fn outlive_limits() {
    for signal in [SIGXFSZ, SIGCHLD] {
        // Refused only for signals that nobody may hear.
        flag::register(signal, Arc::<AtomicBool>::default()).ok();
    }
}

/// What the user wants. Clones hear the same.
///
/// Each wish has a pipe that closes when it is made: whoever waits for something else can wait for that too, however many
/// they are.
#[derive(Debug, Clone)]
pub struct Stop {
    heard: Arc<Heard>,
    pipes: [Arc<PipeReader>; 3],
}

#[derive(Debug, Default)]
struct Heard {
    level: AtomicU8,
    signal: AtomicI32,
}

impl Stop {
    /// Listens to signals from now on.
    pub fn listen() -> Result<Stop, Error> {
        let signals = Signals::new([SIGINT, SIGTERM, SIGHUP]);
        let mut signals = signals.map_err(Error::Signals)?;
        let (stop, mut writers) = Stop::silent().map_err(Error::Signals)?;
        let heard = stop.heard.clone();
        // A thread and not a handler, in which hardly anything may be done.
        std::thread::spawn(move || {
            for signal in signals.forever() {
                let level = heard.hear(signal);
                // Only after the level is stored: a pipe that closes makes its reader look at that.
                writers.retain(|(wish, _)| *wish as u8 > level);
            }
        });
        Ok(stop)
    }

    /// Nobody wants to stop, until writers are dropped.
    fn silent() -> std::io::Result<(Stop, Vec<(Wish, PipeWriter)>)> {
        let [(a, one), (b, two), (c, three)] = [pipe()?, pipe()?, pipe()?];
        let stop = Stop {
            heard: Arc::default(),
            pipes: [a, b, c].map(Arc::new),
        };
        Ok((stop, WISHES.into_iter().zip([one, two, three]).collect()))
    }

    /// Whether this is wanted.
    pub fn wants(&self, wish: Wish) -> bool {
        self.heard.level.load(Ordering::SeqCst) >= wish as u8
    }

    /// What closes when this is wanted.
    pub fn pipe(&self, wish: Wish) -> BorrowedFd<'_> {
        self.pipes[wish as usize - 1].as_fd()
    }

    /// Rests until then, or until somebody wants to stop.
    pub fn rest_until(&self, until: Instant) {
        let pipe = PollFd::new(self.pipe(Wish::Stop), PollFlags::POLLIN);
        // Whoever wakes up too early, as after a signal, looks again.
        poll(&mut [pipe], left_until(Some(until))).ok();
    }

    /// How a program ends that a signal stopped, if one did.
    pub fn exit(&self) -> Option<Exit> {
        let signal = self.heard.signal.load(Ordering::SeqCst);
        self.wants(Wish::Stop).then_some(Exit::Signal(signal))
    }
}

impl Heard {
    /// What is wanted after this signal.
    fn hear(&self, signal: i32) -> u8 {
        let before = self.level.load(Ordering::SeqCst);
        let level = if signal == SIGINT {
            before + 1
        } else {
            before.max(Wish::Urgent as u8)
        };
        // The signal before the level: whoever sees that somebody wants to stop may ask for the exit code at once.
        self.signal.store(signal, Ordering::SeqCst);
        self.level.store(level, Ordering::SeqCst);
        if level != before {
            answer(level, signal);
        }
        level
    }
}

/// What the user hears.
fn answer(level: u8, signal: i32) {
    match level {
        1 => say!(
            "\nstopping: running trials finish first; press Ctrl-C again to kill them and give them back"
        ),
        2 => say!("\nkilling the running trials; they wait for the next run"),
        3 => {}
        // Somebody wants this program gone, whatever it waits for. What was told is stored.
        _ => std::process::exit(128 + signal),
    }
}
