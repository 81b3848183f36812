//! Runs work that may take long so that Ctrl-C can end it.
//!
//! Python runs the handlers of signals on its main thread only. So what that thread asks for is done by a thread of its own, while the
//! main one looks for signals. When a handler raises, the work is asked to end ([`Interrupt`]) and left to itself: it ends soon and
//! without effect, and the next call on the same study waits for that. Where it is too late, because something is being written, its
//! answer is waited for. A handler that raises nothing interrupts nothing.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
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
    let mut call = Call {
        interrupt: Interrupt::default(),
        process: std::process::id(),
        raised: None,
    };
    let answer = call.begin(work)?;
    call.answer(py, answer)
}

/// How work ended: with an answer, with none because it was interrupted, or with a panic.
type End<T> = thread::Result<Option<T>>;

/// Work that a thread of its own does for the main one.
struct Call {
    interrupt: Interrupt,
    /// Where it began. A handler of a signal may fork.
    process: u32,
    /// What a handler raised while it was too late to end the work.
    raised: Option<PyErr>,
}

impl Call {
    fn begin<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> PyResult<Receiver<End<T>>> {
        let (answers, answer) = channel();
        let interrupt = self.interrupt.clone();
        let thread = thread::Builder::new()
            .name("mivabo".to_owned())
            .stack_size(STACK)
            .spawn(move || {
                let end = catch_unwind(AssertUnwindSafe(|| interrupt.run(work)));
                // Nobody listens after an interrupt.
                answers.send(end).ok();
            });
        match thread {
            Ok(_) => Ok(answer),
            Err(error) => Err(PyOSError::new_err(format!(
                "no thread for a call of mivabo: {error}"
            ))),
        }
    }

    fn answer<T: Send>(&mut self, py: Python<'_>, mut answer: Receiver<End<T>>) -> PyResult<T> {
        loop {
            // A receiver cannot be shared between threads, so it goes into the unlocked part and comes back.
            let (end, back) = py.detach(move || (answer.recv_timeout(LOOK), answer));
            answer = back;
            match end {
                Ok(Err(panic)) => resume_unwind(panic),
                Ok(Ok(Some(found))) => return self.raised.take().map_or(Ok(found), Err),
                Ok(Ok(None)) | Err(RecvTimeoutError::Disconnected) => {
                    let raised = self.raised.take();
                    return Err(raised.unwrap_or_else(|| PyKeyboardInterrupt::new_err(())));
                }
                Err(RecvTimeoutError::Timeout) => self.look(py)?,
            }
        }
    }

    /// Runs the handlers of signals that came. An error ends the call, and the work is left to itself.
    fn look(&mut self, py: Python<'_>) -> PyResult<()> {
        // Handlers do not run again once one has raised: the first exception is the one that counts.
        let raised = self.raised.take();
        let raised = raised.or_else(|| py.check_signals().err());
        if self.process != std::process::id() {
            return Err(raised.unwrap_or_else(forked));
        }
        self.raised = match raised {
            Some(error) if self.interrupt.request() => return Err(error),
            // Where it is refused now, the answer is near.
            raised => raised,
        };
        Ok(())
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
