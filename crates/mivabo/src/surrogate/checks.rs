//! What every surrogate checks before it learns.

use super::Error;
use crate::encoding::BadCode;

/// The largest absolute output: far from overflow, and far from anything standardised.
const LARGEST_OUTPUT: f64 = 1e100;

/// # Errors
/// [`Error::BadCode`] for another number than is expected.
pub(super) fn check_length(what: &'static str, found: usize, expected: usize) -> Result<(), Error> {
    if found == expected {
        return Ok(());
    }
    Err(Error::BadCode(BadCode::Length {
        what,
        found,
        expected,
    }))
}

/// # Errors
/// [`Error::BadOutput`] for an output that is not finite or beyond 1e100.
pub(super) fn check_output(value: f64) -> Result<(), Error> {
    check_finite(value)?;
    if value.abs() > LARGEST_OUTPUT {
        return Err(Error::BadOutput {
            value,
            why: "it is beyond ±1e100; standardise outputs first",
        });
    }
    Ok(())
}

/// # Errors
/// [`Error::BadCode`] for another number of outputs than of observations, [`Error::BadOutput`] as [`check_output`].
pub(super) fn check_outputs(y: &[f64], n_observations: usize) -> Result<(), Error> {
    check_length("outputs", y.len(), n_observations)?;
    y.iter().try_for_each(|y| check_output(*y))
}

/// # Errors
/// [`Error::BadOutput`] for an output that is not finite.
pub(super) fn check_finite(value: f64) -> Result<(), Error> {
    if value.is_finite() {
        return Ok(());
    }
    Err(Error::BadOutput {
        value,
        why: "it is not finite",
    })
}
