//! Where a file, its log and the memory beside it are, and how long they are.

use std::fs::Metadata;
use std::path::Path;

use super::{beside, identity};

/// Device and number of a file, which it has under whatever name.
pub(super) type Key = (u64, u64);

/// What tells a file, its log and the shared memory beside it from others of the same name: device and number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: Option<Key>,
    pub(super) log: Option<Key>,
    pub(super) memory: Option<Key>,
}

impl Place {
    pub(super) fn of(path: &Path) -> Place {
        Seen::of(path).place
    }

    /// A number for the log and its memory together; none where there is no log.
    pub(super) fn log_number(self) -> Option<u64> {
        let (log, memory) = (self.log?, self.memory.unwrap_or_default());
        let bytes = [log.0, log.1, memory.0, memory.1].map(u64::to_le_bytes);
        // FNV-1a.
        let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        Some(bytes.as_flattened().iter().fold(0xcbf2_9ce4_8422_2325, mix))
    }
}

/// A place, and how long the files are.
pub(super) struct Seen {
    pub(super) place: Place,
    pub(super) file: u64,
    pub(super) log: u64,
}

impl Seen {
    pub(super) fn of(path: &Path) -> Seen {
        let [file, log, memory] =
            ["", "-wal", "-shm"].map(|ending| std::fs::metadata(beside(path, ending)).ok());
        let key = |data: &Option<Metadata>| data.as_ref().map(identity);
        let length = |data: &Option<Metadata>| data.as_ref().map_or(0, Metadata::len);
        Seen {
            place: Place {
                file: key(&file),
                log: key(&log),
                memory: key(&memory),
            },
            file: length(&file),
            log: length(&log),
        }
    }
}
