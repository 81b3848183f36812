//! What is waited for in silence: a program that says so to its user gives a function, which is called when a wait gets long.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How often it is said.
const AGAIN: Duration = Duration::from_secs(60);

static SAY: OnceLock<Box<dyn Fn() + Send + Sync>> = OnceLock::new();
static SAID: Mutex<Option<Instant>> = Mutex::new(None);

/// From now on `say` is called, on the thread that waits, when this process has waited two seconds for its turn at a file, and at most
/// once a minute. The first one that is given stays.
pub fn on_long_wait(say: impl Fn() + Send + Sync + 'static) {
    SAY.set(Box::new(say)).ok();
}

/// A wait has become long.
pub(crate) fn is_long() {
    let Some(say) = SAY.get() else { return };
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.is_none_or(|said| said.elapsed() >= AGAIN) {
        *said = Some(Instant::now());
        drop(said);
        say();
    }
}
