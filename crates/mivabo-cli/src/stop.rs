//! The wish to stop: signals enter, a level that workers look at leaves.
//!
//! | signal | what happens | exit code |
//! |---|---|---|
//! | Ctrl-C | no new trials; running ones finish | 130 |
//! | Ctrl-C again | running ones are killed and given back | 130 |
//! | SIGTERM, SIGHUP | the same at once; more of them change nothing | 143, 129 |
//! | a third Ctrl-C | running ones have no time left | 130 |
//! | a fourth one | the program ends where it is | 130 |
//!
//! SIGXFSZ, for a file beyond `ulimit -f`, is heard and means nothing: the write fails, and that is answered where it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU8, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use crate::Failure;

/// How much the user wants to stop.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    level: Arc<AtomicU8>,
    signal: Arc<AtomicI32>,
}

impl Stop {
    /// Listens to signals from now on.
    pub fn listen() -> Result<Stop, Failure> {
        let stop = Stop::default();
        let signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGXFSZ]);
        let mut signals = signals.map_err(|e| format!("signals: {e}"))?;
        let heard = stop.clone();
        std::thread::spawn(move || {
            for signal in signals.forever().filter(|&signal| signal != SIGXFSZ) {
                heard.hear(signal);
            }
        });
        Ok(stop)
    }

    fn hear(&self, signal: i32) {
        let before = self.level.load(Ordering::SeqCst);
        let level = if signal == SIGINT {
            before + 1
        } else {
            before.max(2)
        };
        self.signal.store(signal, Ordering::SeqCst);
        self.level.store(level, Ordering::SeqCst);
        match level {
            _ if level == before => {}
            1 => say!(
                "\nstopping: running trials finish first; Ctrl-C again kills them and gives them back"
            ),
            2 => say!("\nkilling the running trials; they wait for the next run"),
            3 => {}
            _ => std::process::exit(128 + signal),
        }
    }

    /// Whether no new trial should begin.
    pub fn is_wanted(&self) -> bool {
        self.level.load(Ordering::SeqCst) > 0
    }

    /// Whether running ones should end.
    pub fn is_urgent(&self) -> bool {
        self.level.load(Ordering::SeqCst) > 1
    }

    /// Whether they should end without time to tidy up.
    pub fn is_impatient(&self) -> bool {
        self.level.load(Ordering::SeqCst) > 2
    }

    /// The exit code of a program that a signal stopped, if one did.
    pub fn exit_code(&self) -> Option<u8> {
        let signal = self.signal.load(Ordering::SeqCst);
        self.is_wanted()
            .then(|| u8::try_from(128 + signal).unwrap_or(1))
    }
}
