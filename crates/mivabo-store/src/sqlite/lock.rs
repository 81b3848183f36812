//! Locks of bytes of an open file (`F_OFD_SETLK`, on Linux): they count under each name of the file, belong to whoever opened it, and
//! end with its process.

use std::fs::File;

/// A range of bytes of a file, to be locked: there need not be anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bytes {
    pub(super) start: i64,
    pub(super) length: i64,
}

impl Bytes {
    pub(super) const fn new(start: i64, length: i64) -> Bytes {
        Bytes { start, length }
    }

    pub(super) const fn one(start: i64) -> Bytes {
        Bytes::new(start, 1)
    }

    pub(super) fn end(self) -> i64 {
        self.start + self.length
    }

    pub(super) fn before(self, start: i64) -> Bytes {
        Bytes::new(self.start, start - self.start)
    }

    pub(super) fn from(self, start: i64) -> Bytes {
        Bytes::new(start, self.end() - start)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    None,
    Shared,
    Exclusive,
}

/// What came of the wish to lock something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Locked<T> {
    Taken(T),
    /// Others have it.
    Busy,
    /// There are no such locks here.
    Impossible,
}

/// Locks these bytes so, unless others have them.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
pub(super) fn set(file: &File, bytes: Bytes, kind: Kind) -> Locked<()> {
    use nix::errno::Errno;
    use nix::fcntl::{FcntlArg, fcntl};
    use nix::libc::{F_RDLCK, F_UNLCK, F_WRLCK};

    let attempt = |kind| fcntl(file, FcntlArg::F_OFD_SETLK(&wish(bytes, kind)));
    let attempted = match kind {
        Kind::None => attempt(F_UNLCK),
        Kind::Shared => attempt(F_RDLCK),
        // A file that was opened to be read has shared locks only.
        Kind::Exclusive => attempt(F_WRLCK).or_else(|error| match error {
            Errno::EBADF => attempt(F_RDLCK),
            error => Err(error),
        }),
    };
    match attempted {
        Ok(_) => Locked::Taken(()),
        Err(Errno::EAGAIN) => Locked::Busy,
        Err(_) => Locked::Impossible,
    }
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
pub(super) fn set(_file: &File, _bytes: Bytes, _kind: Kind) -> Locked<()> {
    Locked::Impossible
}

/// Some of these bytes that somebody else has locked.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
pub(super) fn locked(file: &File, bytes: Bytes) -> Option<Bytes> {
    use nix::fcntl::{FcntlArg, fcntl};
    use nix::libc::{F_UNLCK, F_WRLCK};

    // To the system a length of 0 means all bytes up to the end.
    if bytes.length <= 0 {
        return None;
    }
    let mut found = wish(bytes, F_WRLCK);
    let asked = fcntl(file, FcntlArg::F_OFD_GETLK(&mut found)).is_ok();
    (asked && i32::from(found.l_type) != F_UNLCK).then(|| Bytes::new(found.l_start, found.l_len))
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
pub(super) fn locked(_file: &File, _bytes: Bytes) -> Option<Bytes> {
    None
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[expect(
    clippy::cast_possible_truncation,
    reason = "small constants of the system, which its own struct has as shorts"
)]
fn wish(bytes: Bytes, kind: i32) -> nix::libc::flock {
    let whence = nix::libc::SEEK_SET;
    nix::libc::flock {
        l_type: kind as _,
        l_whence: whence as _,
        l_start: bytes.start,
        l_len: bytes.length,
        l_pid: 0,
    }
}
