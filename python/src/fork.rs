//! Forks: a connection to SQLite must not cross one, not even closed on one side. The child inherits the library's list of
//! locks but none of the locks, so the parent takes itself for the last user of the file and removes the log that the
//! child still writes.
//!
//! So whoever uses a connection holds a [`Pass`], a fork waits for all of them, and closes every connection to a file
//! before it happens; on both sides the next call opens the file anew.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use mivabo_store::Session;
use pyo3::prelude::*;

/// A session, or none while its file is closed.
pub type Slot = Mutex<Option<Session>>;

/// No fork happens while one is held.
pub type Pass = RwLockReadGuard<'static, ()>;

static GATE: RwLock<()> = RwLock::new(());

/// The sessions on files. Touched only with a pass, or by who forks: so nobody holds it when a process forks.
static ON_FILES: Mutex<Vec<Weak<Slot>>> = Mutex::new(Vec::new());

thread_local! {
    /// Held by the thread that forks, from before to after.
    static FORKING: RefCell<Option<RwLockWriteGuard<'static, ()>>> = const { RefCell::new(None) };
}

/// Whether this thread is about to fork, or has just done it: in another hook, say. To wait for itself it would wait for ever.
pub fn is_forking() -> bool {
    FORKING.with_borrow(Option::is_some)
}

/// Waits for a fork to be over. Python's lock must not be held, nor a pass of this thread, nor may it fork.
pub fn pass() -> Pass {
    GATE.read().unwrap_or_else(PoisonError::into_inner)
}

/// From now on a fork closes this session.
pub fn watch(slot: &Arc<Slot>, _pass: &Pass) {
    let mut slots = ON_FILES.lock().unwrap_or_else(PoisonError::into_inner);
    let new = Arc::downgrade(slot);
    slots.retain(|other| other.strong_count() > 0 && !other.ptr_eq(&new));
    slots.push(new);
}

/// For `os.register_at_fork`.
#[pyfunction]
pub fn before_fork(py: Python<'_>) {
    py.detach(|| {
        let gate = GATE.write().unwrap_or_else(PoisonError::into_inner);
        let slots = ON_FILES.lock().unwrap_or_else(PoisonError::into_inner);
        for slot in slots.iter().filter_map(Weak::upgrade) {
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        FORKING.set(Some(gate));
    });
}

/// For `os.register_at_fork`, on both sides.
#[pyfunction]
pub fn after_fork() {
    FORKING.set(None);
}
