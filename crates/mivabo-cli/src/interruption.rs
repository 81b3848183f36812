//! Signals that end work with nothing half done, for commands that `stop` would be too patient for.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use mivabo::interrupt::Interrupt;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::error::Error;

/// Ends what it runs at the first signal, and the program at the second. Clones hear the same.
#[derive(Debug, Clone, Default)]
pub struct Interruption {
    work: Interrupt,
    /// The number of the first signal; 0 before it.
    signal: Arc<AtomicI32>,
}

impl Interruption {
    /// Listens to signals from now on.
    pub fn listen() -> Result<Interruption, Error> {
        let signals = Signals::new([SIGINT, SIGTERM, SIGHUP]);
        let mut signals = signals.map_err(Error::Signals)?;
        let interruption = Interruption::default();
        let heard = interruption.clone();
        std::thread::spawn(move || signals.forever().for_each(|signal| heard.hear(signal)));
        Ok(interruption)
    }

    fn hear(&self, signal: i32) {
        // Before the work is asked to end: where it is too late for that, the work must find the signal when it looks.
        let is_first = self.signal.swap(signal, Ordering::SeqCst) == 0;
        if is_first {
            self.work.request();
        } else {
            end(signal);
        }
    }

    /// Runs work on this thread. None if a signal ended it; what has been written by then is never broken off.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        self.work.run(work)
    }

    /// Whether a signal came.
    pub fn is_heard(&self) -> bool {
        self.signal.load(Ordering::SeqCst) != 0
    }

    /// Ends the program if a signal came, in the way that it would have done by itself: so a shell ends its script too.
    pub fn obey(&self) {
        if self.is_heard() {
            end(self.signal.load(Ordering::SeqCst));
        }
    }
}

fn end(signal: i32) {
    if emulate_default_handler(signal).is_err() {
        std::process::exit(128 + signal);
    }
}
