//! What a call waits for, said through Python's `logging` as a warning of `mivabo`: a wait in silence looks like a fault.

use std::cell::RefCell;

use mivabo_store::{Awaited, Location};
use pyo3::prelude::*;

thread_local! {
    /// The place that this thread works on.
    static PLACE: RefCell<Option<Location>> = const { RefCell::new(None) };
}

/// From now on this thread works on this place, if on any.
pub fn at(place: Option<&Location>) {
    PLACE.set(place.cloned());
}

/// Says that this thread waits for its turn. Python's lock must not be held.
pub fn say(awaited: Awaited) {
    let Some(place) = PLACE.with_borrow(Clone::clone) else {
        return;
    };
    let text = format!("waiting for `{place}`, {awaited}");
    // An interpreter that ends has nobody to tell.
    Python::try_attach(|py| warn(py, &text));
}

/// Says this as a warning of `mivabo`.
pub fn warn(py: Python<'_>, text: &str) -> PyResult<()> {
    let logging = py.import("logging")?;
    let logger = logging.call_method1("getLogger", ("mivabo",))?;
    logger.call_method1("warning", ("%s", text)).map(drop)
}
