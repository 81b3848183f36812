//! What Python says of places and times.

use std::path::PathBuf;
use std::time::Duration;

use mivabo_store::Location;
use pyo3::prelude::*;

use crate::error::StudyError;

/// The file that a text means, be it a path or an address; none for memory. What is not text in UTF-8 is a path.
#[pyfunction]
pub fn file_of(storage: PathBuf) -> PyResult<Option<PathBuf>> {
    let Some(text) = storage.to_str() else {
        return Ok(Some(storage));
    };
    let location: Location = text
        .parse()
        .map_err(|error: mivabo_store::LocationError| StudyError::new_err(error.to_string()))?;
    Ok(location.path().map(PathBuf::from))
}

/// A duration in seconds.
pub fn duration(what: &str, seconds: f64) -> PyResult<Duration> {
    let found = Duration::try_from_secs_f64(seconds).ok();
    found.filter(|found| !found.is_zero()).ok_or_else(|| {
        StudyError::new_err(format!("{what}: expected seconds above 0, not {seconds}"))
    })
}
