//! What the memory that the users of a log share says of the file and of the log.

#[cfg(unix)]
use std::fs::File;

/// The head of the shared memory, a part of SQLite's file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Index {
    head: [u8; 48],
}

impl Index {
    /// None while somebody writes it.
    #[cfg(unix)]
    pub(super) fn of(memory: &File) -> Option<Index> {
        use std::os::unix::fs::FileExt as _;

        let mut both = [0; 96];
        memory.read_exact_at(&mut both, 0).ok()?;
        let (head, again) = both.split_at(48);
        let is_initialized = head[12] != 0;
        let head = head
            .try_into()
            .ok()
            .filter(|_| head == again && is_initialized)?;
        Some(Index { head })
    }

    #[cfg(not(unix))]
    pub(super) fn of(_memory: &File) -> Option<Index> {
        None
    }

    /// How long the file is, once the log is written into it; none where nothing is known.
    pub(super) fn file(self) -> Option<u64> {
        let pages = self.number(20);
        (pages > 0).then(|| pages * self.page())
    }

    /// How many frames the log has.
    pub(super) fn frames(self) -> u64 {
        self.number(16)
    }

    /// How long the log is at least.
    pub(super) fn log(self) -> u64 {
        match self.frames() {
            0 => 0,
            frames => 32 + frames * (24 + self.page()),
        }
    }

    /// Where the last frame of the log begins; 0 where it has none.
    pub(super) fn last_frame(self) -> u64 {
        self.log().saturating_sub(24 + self.page())
    }

    /// Whether the last frame that it counts is in the log.
    #[cfg(unix)]
    pub(super) fn ends_in(self, log: &File) -> bool {
        use std::os::unix::fs::FileExt as _;

        let mut frame = [0; 24];
        if self.frames() == 0 {
            return true;
        }
        let read = log.read_exact_at(&mut frame, self.last_frame());
        read.is_ok() && frame[8..16] == self.salts()
    }

    #[cfg(not(unix))]
    pub(super) fn ends_in(self, _log: &File) -> bool {
        true
    }

    /// The numbers that the frames of the log have in common until it begins anew.
    pub(super) fn salts(self) -> [u8; 8] {
        std::array::from_fn(|k| self.head[32 + k])
    }

    fn page(self) -> u64 {
        let written = u16::from_ne_bytes([self.head[14], self.head[15]]);
        // 1 stands for 65536.
        u64::from(written & 0xfe00) + (u64::from(written & 1) << 16)
    }

    fn number(self, at: usize) -> u64 {
        let [a, b, c, d] = [0, 1, 2, 3].map(|k| self.head[at + k]);
        u64::from(u32::from_ne_bytes([a, b, c, d]))
    }
}
