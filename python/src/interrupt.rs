//! Runs work that may take long so that Ctrl-C can end it.
//!
//! Python runs the handlers of signals on its main thread only. So what that thread asks for is done by a thread of its own, while the
//! main one looks for signals. When a handler raises, the work is asked to end ([`Interrupt`]) and left to itself: it ends soon and
//! without effect, and the next call on the same study waits for that. Where it is too late, because something is being written, its
//! answer is waited for. A handler that raises nothing interrupts nothing.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration;

use mivabo::interrupt::Interrupt;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::intern;
use pyo3::prelude::*;

use crate::error::StudyError;

/// Time between two looks for signals.
const LOOK: Duration = Duration::from_millis(50);

/// As much as main threads have.
const STACK: usize = 8 << 20;

/// Does this without Python's lock, until a signal's handler raises.
///
/// # Errors
/// What the handler raised. The work has then had no effect, or this came too late for that.
pub fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    if !hears_signals(py)? {
        return Ok(py.detach(work));
    }
    let (interrupt, process) = (Interrupt::default(), std::process::id());
    let (answers, mut answer) = channel();
    let wish = interrupt.clone();
    let thread = Builder::new()
        .name("mivabo".to_owned())
        .stack_size(STACK)
        .spawn(move || {
            let end = catch_unwind(AssertUnwindSafe(|| wish.run(work)));
            // Nobody listens after an interrupt.
            answers.send(end).ok();
        });
    thread
        .map_err(|error| PyOSError::new_err(format!("no thread for a call of mivabo: {error}")))?;
    let mut raised = None;
    loop {
        let (end, back) = py.detach(move || (answer.recv_timeout(LOOK), answer));
        answer = back;
        match end {
            Ok(Err(panic)) => resume_unwind(panic),
            Ok(Ok(Some(found))) => return raised.map_or(Ok(found), Err),
            Ok(Ok(None)) | Err(RecvTimeoutError::Disconnected) => {
                return Err(raised.unwrap_or_else(|| PyKeyboardInterrupt::new_err(())));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        raised = raised.or_else(|| py.check_signals().err());
        if process != std::process::id() {
            return Err(raised.unwrap_or_else(forked));
        }
        // Where it is refused now, the answer is near.
        raised = match raised {
            Some(error) if interrupt.request() => return Err(error),
            raised => raised,
        };
    }
}

/// Whether this is the thread that runs handlers of signals.
fn hears_signals(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import(intern!(py, "threading"))?;
    let main = threading
        .call_method0(intern!(py, "main_thread"))?
        .getattr(intern!(py, "ident"))?;
    main.eq(threading.call_method0(intern!(py, "get_ident"))?)
}

/// The thread that works is the parent's.
fn forked() -> PyErr {
    StudyError::new_err(
        "a signal's handler forked this process in the middle of a call; the call goes on in the parent",
    )
}
