//! Ends work that takes long when another thread says that nobody wants its result any more.
//!
//! Whoever may have to end some work runs it with [`Interrupt::run`]. Loops that can take long call [`check`], which costs a look at a
//! flag; elsewhere, as in a program that never interrupts anything, it does nothing. Interrupted work unwinds like a panic, but without
//! its message. So no signature on the way has to speak of interrupts, and nothing half done can be taken for a result or stay in a cache.
//!
//! What must not happen half way, such as a commit, comes after [`settle`]: from there on the work runs to its end, and
//! [`Interrupt::request`] says that it came too late.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

const RUNNING: u8 = 0;
const REQUESTED: u8 = 1;
const SETTLED: u8 = 2;

thread_local! {
    /// What ends the work of this thread.
    static CURRENT: RefCell<Option<Interrupt>> = const { RefCell::new(None) };
}

/// The wish that some work end. Clones are the same wish.
///
/// ```
/// use mivabo_bqp::interrupt::{Interrupt, check, settle};
///
/// let interrupt = Interrupt::default();
/// let ended = interrupt.run(|| {
///     interrupt.request();    // as another thread would
///     loop {
///         check();
///     }
/// });
/// assert_eq!(ended, None);
///
/// let late = Interrupt::default();
/// assert_eq!(late.run(|| { settle(); late.request() }), Some(false));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicU8>);

/// What interrupted work unwinds with.
struct Interrupted;

impl Interrupt {
    /// Asks the work to end at its next [`check`]. False where it must not be interrupted now, because of [`settle`].
    pub fn request(&self) -> bool {
        let before =
            self.0
                .compare_exchange(RUNNING, REQUESTED, Ordering::SeqCst, Ordering::SeqCst);
        before != Err(SETTLED)
    }

    /// Runs work on this thread. None if it was interrupted: what it was changing is then as after a panic.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        let outer = CURRENT.replace(Some(self.clone()));
        let end = catch_unwind(AssertUnwindSafe(work));
        CURRENT.set(outer);
        match end {
            Ok(answer) => Some(answer),
            Err(payload) if payload.is::<Interrupted>() => None,
            Err(panic) => resume_unwind(panic),
        }
    }

    fn is_requested(&self) -> bool {
        // Relaxed: it may be seen a little late, and no other memory is read because of it.
        self.0.load(Ordering::Relaxed) == REQUESTED
    }
}

/// Ends the work of this thread here if somebody asked for that.
#[inline]
pub fn check() {
    if is_requested() {
        resume_unwind(Box::new(Interrupted));
    }
}

/// Whether somebody asked the work of this thread to end, for code that cannot unwind.
#[inline]
pub fn is_requested() -> bool {
    CURRENT.with_borrow(|current| current.as_ref().is_some_and(Interrupt::is_requested))
}

/// The last [`check`]: afterwards the work is not interrupted any more.
pub fn settle() {
    let current = CURRENT.with_borrow(Clone::clone);
    if let Some(Interrupt(state)) = current
        && state.compare_exchange(RUNNING, SETTLED, Ordering::SeqCst, Ordering::SeqCst)
            == Err(REQUESTED)
    {
        resume_unwind(Box::new(Interrupted));
    }
}

/// What was settled is done and may stand alone: the work may be interrupted again.
pub fn unsettle() {
    if let Some(Interrupt(state)) = CURRENT.with_borrow(Clone::clone) {
        state
            .compare_exchange(SETTLED, RUNNING, Ordering::SeqCst, Ordering::SeqCst)
            .ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_nobody_may_interrupt_goes_on() {
        check();
        settle();
        unsettle();

        assert!(!is_requested());
    }

    #[test]
    fn another_thread_ends_a_search() {
        let interrupt = Interrupt::default();
        let (begun, has_begun) = std::sync::mpsc::channel();

        let ended = std::thread::scope(|threads| {
            let work = || {
                interrupt.run(|| {
                    loop {
                        begun.send(()).ok();
                        check();
                    }
                })
            };
            let search = threads.spawn(work);
            has_begun.recv().unwrap();
            assert!(interrupt.request());
            search.join().unwrap()
        });

        assert_eq!(ended, None::<()>);
    }

    #[test]
    fn what_is_settled_runs_to_its_end_and_what_comes_after_it_does_not() {
        let interrupt = Interrupt::default();

        let ended = interrupt.run(|| {
            settle();
            assert!(!interrupt.request());
            check();
            unsettle();
            assert!(interrupt.request());
            settle();
        });

        assert_eq!(ended, None);
    }

    #[test]
    fn a_panic_stays_a_panic() {
        let panic = catch_unwind(|| Interrupt::default().run(|| resume_unwind(Box::new("broken"))));

        assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"broken"));
    }
}
