//! How the program ends, and the exit code that says so.

/// How a command ended. A wrong call, which ends with 2, never gets as far as a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It did what it was asked to do.
    Done,
    /// A file, its contents or the disk is the problem, or no point is left.
    Failed,
    /// No feasible trial has a value.
    NoValue,
    /// A signal of this number stopped it.
    Signal(i32),
}

impl Exit {
    /// What the shell is told.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::NoValue => 3,
            // As a shell reports a program that the signal ended.
            Exit::Signal(signal) => u8::try_from(128 + signal).unwrap_or(1),
        }
    }
}
