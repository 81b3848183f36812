//! Durations as people write them: `30s`, `10m`, `2h 30m`.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;

use crate::SHORTEST_LEASE;

/// Ten years: beyond any deadline, and far from where clocks overflow.
const LONGEST: Duration = Duration::from_secs(10 * 366 * 24 * 3600);

/// A duration as it was typed. A number gets the same answer as a text that is not a duration.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Typed {
    Text(String),
    Other(toml::Value),
}

impl fmt::Display for Typed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Typed::Text(text) => f.write_str(text),
            Typed::Other(value) => write!(f, "{value}"),
        }
    }
}

/// Why a text is not a duration that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TimeError {
    /// It does not read as one.
    #[error("`{text}` is not a duration; write it like \"30s\", \"10m\" or \"2h 30m\"")]
    NotADuration {
        /// What was typed.
        text: String,
    },
    /// A capital `M` means months.
    #[error("`{text}` would be months; write it like \"30s\", \"10m\" or \"2h 30m\"")]
    Months {
        /// What was typed.
        text: String,
    },
    /// Nothing can be done in it.
    #[error("`{text}` is too short; expected a time like \"30s\", \"10m\" or \"2h 30m\"")]
    Zero {
        /// What was typed.
        text: String,
    },
    /// It is longer than anybody waits.
    #[error("`{text}` is more than ten years")]
    TooLong {
        /// What was typed.
        text: String,
    },
    /// It is shorter than the machinery can keep.
    #[error("`{text}` is less than {}", mivabo::lasting(*shortest))]
    TooShort {
        /// What was typed.
        text: String,
        /// The least that is possible.
        shortest: Duration,
    },
}

/// Reads a duration above zero, as it is written in study files: `30s`, `10m`, `2h 30m`.
///
/// # Errors
/// A sentence that says how to write one.
pub fn duration(text: &str) -> Result<Duration, TimeError> {
    parse(&Typed::Text(text.to_owned()))
}

/// Reads a duration above zero.
pub(crate) fn parse(typed: &Typed) -> Result<Duration, TimeError> {
    read(typed.to_string())
}

fn read(text: String) -> Result<Duration, TimeError> {
    if text.contains('M') {
        return Err(TimeError::Months { text });
    }
    match humantime::parse_duration(&text) {
        Ok(duration) if duration > LONGEST => Err(TimeError::TooLong { text }),
        Ok(duration) if duration.is_zero() => Err(TimeError::Zero { text }),
        Ok(duration) => Ok(duration),
        Err(_) => Err(TimeError::NotADuration { text }),
    }
}

/// Reads how long a worker may be silent: `"60s"`, `"3d"`.
///
/// # Errors
/// Why it is not such a time.
pub fn lease(text: &str) -> Result<Duration, TimeError> {
    let text = text.to_owned();
    let shortest = SHORTEST_LEASE;
    match read(text.clone()) {
        Ok(lease) if lease >= shortest => Ok(lease),
        Ok(_) | Err(TimeError::Zero { .. }) => Err(TimeError::TooShort { text, shortest }),
        Err(why) => Err(why),
    }
}
