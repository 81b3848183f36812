//! What a call waits for, said through Python's `logging` as a warning of `mivabo`: a wait in silence looks like a fault.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use mivabo_store::Awaited;
use pyo3::prelude::*;

thread_local! {
    /// The file that this thread works on.
    static PLACE: RefCell<Option<PathBuf>> = const { RefCell::new(None) };
}

/// From now on this thread works on this file, if on any.
pub fn at(place: Option<&Path>) {
    PLACE.set(place.map(Path::to_owned));
}

/// Says that this thread waits for its turn. Python's lock must not be held.
pub fn say(awaited: Awaited) {
    let Some(place) = PLACE.with_borrow(Clone::clone) else {
        return;
    };
    let text = format!("waiting for `{}`, {awaited}", place.display());
    let log = |py: Python<'_>| -> PyResult<()> {
        let logger = py
            .import("logging")?
            .call_method1("getLogger", ("mivabo",))?;
        logger.call_method1("warning", ("%s", text)).map(drop)
    };
    // An interpreter that ends has nobody to tell.
    Python::try_attach(log);
}
