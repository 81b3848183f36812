//! Moments, written as dates that people and programs read: `2026-11-19T12:46:59.250Z`.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, UNIX_EPOCH};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A moment from 1970 to 9999, to the millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(u64);

impl Time {
    /// The end of the year 9999, in milliseconds since 1970: no later time can be written.
    const LAST: u64 = 253_402_300_799_999;

    /// The moment so many milliseconds after the beginning of 1970. What lies outside the calendar is moved to its nearest end.
    pub fn of_millis(millis: i64) -> Time {
        Time(u64::try_from(millis).unwrap_or(0).min(Time::LAST))
    }

    /// Milliseconds since the beginning of 1970.
    pub fn millis(self) -> u64 {
        self.0
    }

    /// Seconds since the beginning of 1970.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1000.0
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = UNIX_EPOCH + Duration::from_millis(self.0);
        humantime::format_rfc3339_millis(moment).fmt(f)
    }
}

impl FromStr for Time {
    type Err = humantime::TimestampError;

    fn from_str(text: &str) -> Result<Time, Self::Err> {
        let moment = humantime::parse_rfc3339(text)?;
        let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Time::of_millis(
            i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        ))
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}
