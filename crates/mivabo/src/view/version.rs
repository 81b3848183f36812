//! The version of the document, which is read only by programs that know it.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The version of a [`StudyView`](super::StudyView): the number 1. A document of another version is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Version;

impl Version {
    /// The number.
    pub const NUMBER: u32 = 1;
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(Version::NUMBER)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Version, D::Error> {
        let found = u32::deserialize(deserializer)?;
        if found == Version::NUMBER {
            return Ok(Version);
        }
        let known = Version::NUMBER;
        Err(D::Error::custom(format!(
            "it has version {found}, and this mivabo reads version {known}"
        )))
    }
}
