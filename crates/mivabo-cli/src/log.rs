//! What an objective prints: a log of bounded size for each trial, and the last lines of its streams.
//!
//! The log of a trial holds the first [`HEAD`] bytes of each attempt, both streams as they came, and the last [`LOGGED`]
//! ones of each stream where there was more. Memory holds no more than the tails, of [`TAIL`] bytes each.
//!
//! Of the names that this program chooses, `<database>.logs` and what is in it, none may be a link: what an objective prints
//! would go into any file of the user that somebody else chose. Nor may a log be a FIFO, whose reader would be waited for.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, openat};
use nix::sys::stat::{Mode, mkdirat};

use crate::error::Error;
use crate::plain::plain;

/// Why a trial has no log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// Something else has its name, or that of its folder.
    #[error("{} is a link or not a {expected}", path.display())]
    Taken {
        /// What is in the way.
        path: PathBuf,
        /// A file, or a folder.
        expected: &'static str,
    },
    /// It cannot be opened.
    #[error("{}: {}", path.display(), std::io::Error::from(*errno))]
    Unopened {
        /// The log or its folder.
        path: PathBuf,
        /// Why not.
        errno: Errno,
    },
    /// It cannot be written.
    #[error("it cannot be written: {why}")]
    Unwritten {
        /// Why not.
        why: String,
    },
}

/// Bytes of an attempt that its log holds from the beginning.
pub const HEAD: usize = 8 << 20;

/// Bytes of a stream that are kept from its end.
pub const TAIL: usize = 4 << 20;

/// Bytes of a stream that a log which was cut has from its end.
pub const LOGGED: usize = 64 << 10;

/// The longest name of a folder that is not cut.
const MAX_FOLDER: usize = 200;

/// The log of one attempt.
pub struct Log {
    /// Or why it cannot be written: an evaluation does not fail for want of a log.
    file: Result<File, LogError>,
    n_bytes: usize,
    /// Standard output.
    pub out: Tail,
    /// Standard error.
    pub err: Tail,
}

/// The end of a stream.
#[derive(Default)]
pub struct Tail {
    bytes: Vec<u8>,
    /// Whether there was more before them.
    is_cut: bool,
}

impl Log {
    /// Appends to the log of a trial, under a line that says what begins.
    pub fn begin(folder: &Path, trial: u64, what: &str) -> Log {
        let mut log = Log {
            file: opened(folder, trial),
            n_bytes: 0,
            out: Tail::default(),
            err: Tail::default(),
        };
        log.write(format!("--- {}\n", plain(what)).as_bytes());
        log
    }

    /// Why there is no log.
    pub fn trouble(&self) -> Option<&LogError> {
        self.file.as_ref().err()
    }

    /// Takes in what was printed.
    pub fn push(&mut self, bytes: &[u8], is_out: bool) {
        let tail = if is_out { &mut self.out } else { &mut self.err };
        tail.push(bytes);
        let room = HEAD.saturating_sub(self.n_bytes).min(bytes.len());
        self.n_bytes += bytes.len();
        self.write(&bytes[..room]);
    }

    /// The line that says how it ended.
    pub fn end(&mut self, how: &str) {
        if self.n_bytes > HEAD {
            self.write_tails();
        }
        self.write(format!("\n--- {}\n", plain(how)).as_bytes());
    }

    /// What was cut off is at its most useful at its end, where the error is.
    fn write_tails(&mut self) {
        let n_bytes = self.n_bytes;
        let cut = format!("\n--- output is cut after {HEAD} of {n_bytes} bytes; the end of it:\n");
        self.write(cut.as_bytes());
        let out = std::mem::take(&mut self.out.bytes);
        let err = std::mem::take(&mut self.err.bytes);
        for tail in [out, err] {
            self.write(&tail[tail.len().saturating_sub(LOGGED)..]);
        }
    }

    /// Nothing waits for the disk here: what a log lacks after a loss of power is not worth a flush for each trial.
    fn write(&mut self, bytes: &[u8]) {
        let written = self.file.as_mut().map(|file| file.write_all(bytes));
        if let Ok(Err(error)) = written {
            let why = error.to_string();
            self.file = Err(LogError::Unwritten { why });
        }
    }
}

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        self.is_cut |= bytes.len() > TAIL;
        let end = &bytes[bytes.len().saturating_sub(TAIL)..];
        self.bytes.extend_from_slice(end);
        // Not at each byte: moving the rest to the front costs as much as reading it did.
        if self.bytes.len() > 2 * TAIL {
            self.is_cut = true;
            self.bytes.drain(..self.bytes.len() - TAIL);
        }
    }

    /// The last line that is not blank. Of one whose beginning is lost only a piece is shown, which does not read as a number.
    pub fn last_line(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.bytes);
        let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
        if self.is_cut && line.as_ptr() == text.as_ptr() {
            let end = last_characters(line, 40);
            return Some(format!("… {end} (a line of more than {TAIL} bytes)"));
        }
        Some(line.trim().to_owned())
    }
}

fn last_characters(line: &str, n: usize) -> String {
    let n_before = line.chars().count().saturating_sub(n);
    line.chars().skip(n_before).collect()
}

/// The folder of the logs of a study in a database.
pub fn folder(database: &Path, study: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(".logs");
    Path::new(&path).join(folder_name(study))
}

/// A name as the name of a folder, different for different names: what is neither a letter nor a digit of ASCII, nor one of
/// `-_`, is written as %XX. Of a long one the rest is a number that is made from all of it.
fn folder_name(name: &str) -> String {
    let folder: String = name.bytes().map(escaped).collect();
    if folder.len() <= MAX_FOLDER {
        return folder;
    }
    // FNV-1a.
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let hash: u64 = name.bytes().fold(0xcbf2_9ce4_8422_2325, mix);
    format!("{}.{hash:016x}", &folder[..MAX_FOLDER])
}

fn escaped(byte: u8) -> String {
    if byte.is_ascii_alphanumeric() || b"-_".contains(&byte) {
        char::from(byte).to_string()
    } else {
        format!("%{byte:02X}")
    }
}

/// Where the log of a trial is.
pub fn path(folder: &Path, trial: u64) -> PathBuf {
    folder.join(name(trial))
}

fn name(trial: u64) -> String {
    format!("{trial:06}.log")
}

/// Refuses a folder of logs that is a link or a file, before anything is evaluated.
pub fn check_folder(folder: &Path) -> Result<(), Error> {
    let is_other = |part: &&Path| part.symlink_metadata().is_ok_and(|data| !data.is_dir());
    match folder.ancestors().take(2).find(is_other) {
        Some(path) => Err(Error::LogFolder {
            path: path.to_owned(),
        }),
        None => Ok(()),
    }
}

/// The log of a trial, to append to, in folders that are made where they are missing.
fn opened(folder: &Path, trial: u64) -> Result<File, LogError> {
    let logs = folder.parent().unwrap_or(Path::new("."));
    let outer = folder_at(AT_FDCWD, logs).map_err(|errno| refused(logs, "folder", errno))?;
    let study = folder.strip_prefix(logs).unwrap_or(folder);
    let inner = folder_at(outer, study).map_err(|errno| refused(folder, "folder", errno))?;
    file_at(inner, &name(trial)).map_err(|errno| refused(&path(folder, trial), "file", errno))
}

/// Why a log or its folder cannot be opened.
fn refused(path: &Path, expected: &'static str, errno: Errno) -> LogError {
    let path = path.to_owned();
    match errno {
        Errno::ELOOP | Errno::ENOTDIR | Errno::EISDIR | Errno::ENXIO => {
            LogError::Taken { path, expected }
        }
        errno => LogError::Unopened { path, errno },
    }
}

/// Opens a folder, made if it is missing, unless its last name is a link.
fn folder_at(parent: impl AsFd, name: &Path) -> Result<OwnedFd, Errno> {
    let open = || {
        let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        openat(&parent, name, flags, Mode::empty())
    };
    match open() {
        Err(Errno::ENOENT) => {}
        other => return other,
    }
    match mkdirat(&parent, name, Mode::from_bits_truncate(0o777)) {
        // Another worker was faster.
        Ok(()) | Err(Errno::EEXIST) => open(),
        Err(errno) => Err(errno),
    }
}

/// Opens a file to append to, made if it is missing, unless it is a link or no file. Nobody is waited for.
fn file_at(folder: OwnedFd, name: &str) -> Result<File, Errno> {
    let append = OFlag::O_WRONLY | OFlag::O_APPEND | OFlag::O_CREAT;
    let safely = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let mode = Mode::from_bits_truncate(0o666);
    let file = File::from(openat(folder, name, append | safely, mode)?);
    let data = file.metadata().map_err(|_| Errno::EIO)?;
    // A hard link is another name of a file that is not a log.
    if data.is_file() && data.nlink() <= 1 {
        Ok(file)
    } else {
        Err(Errno::ELOOP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_that_of_all_bytes() {
        let mut tail = Tail::default();
        for k in 0..1_000_000 {
            tail.push(format!("line {k}\n").as_bytes());
        }
        tail.push(b" \n\n");

        assert_eq!(tail.last_line().as_deref(), Some("line 999999"));
        assert!(tail.bytes.len() <= 2 * TAIL + 20);
        assert_eq!(Tail::default().last_line(), None);
    }

    #[test]
    fn a_long_last_line_is_whole_and_a_piece_of_one_is_no_number() {
        let mut tail = Tail::default();
        tail.push(
            format!(
                "x\n{{\"value\": 1.5, \"curve\": [{}]}}\n",
                "0.5, ".repeat(100_000)
            )
            .as_bytes(),
        );
        assert!(tail.last_line().unwrap().starts_with("{\"value\": 1.5"));

        for _ in 0..300 {
            tail.push(&vec![b'1'; 100_000]);
        }

        assert!(tail.last_line().unwrap().parse::<f64>().is_err());
    }

    #[test]
    fn the_logs_of_a_study_with_a_long_name_have_a_folder_that_can_be_made() {
        let name = "Подбор параметров сети для распознавания изображений".repeat(3);

        assert!(folder_name(&name).len() < 255);
        assert_ne!(folder_name(&name), folder_name(&format!("{name}!")));
        assert_eq!(
            folder(Path::new("some/a.b.db"), "a.b"),
            Path::new("some/a.b.db.logs/a%2Eb")
        );
    }

    #[test]
    fn a_long_log_is_cut_and_keeps_both_ends() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = Log::begin(folder.path(), 12, "attempt 1");
        log.push(b"first\n", true);
        for _ in 0..1_000 {
            log.push(&[b'x'; 10_000], true);
        }
        log.push(b"\nlast\n", true);
        log.push(b"oops\n", false);
        log.end("exit code 1");

        let text = std::fs::read_to_string(folder.path().join("000012.log")).unwrap();

        assert!(text.starts_with("--- attempt 1\nfirst\n"));
        assert!(text.ends_with("x\nlast\noops\n\n--- exit code 1\n"));
        assert!(text.contains("output is cut after 8388608 of 10000017 bytes"));
        assert!(text.len() < HEAD + 3 * LOGGED);
    }
}
