//! Writes the page of a study to a file, or raises one of Python's own exceptions.

use std::path::PathBuf;

use mivabo_report::{Over, SaveError, write};
use pyo3::exceptions::PyFileExistsError;
use pyo3::prelude::*;

/// Writes a page, over an older one or, by force, over any file.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "what Python gives is owned")]
pub fn save_page(py: Python<'_>, path: PathBuf, page: &str, force: bool) -> PyResult<()> {
    let over = if force { Over::Any } else { Over::Page };
    py.detach(|| write(&path, page, over)).map_err(exception)
}

fn exception(error: SaveError) -> PyErr {
    let text = error.to_string();
    match error {
        SaveError::Taken { .. } => {
            PyFileExistsError::new_err(format!("{text}; force=True replaces it"))
        }
        // The kind says which exception, the text which file.
        SaveError::Failed { error, .. } => std::io::Error::new(error.kind(), text).into(),
        _ => PyFileExistsError::new_err(text),
    }
}
