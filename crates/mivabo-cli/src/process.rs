//! One evaluation by another program: a command enters, a number or the reason for its absence leaves.
//!
//! The program leads a process group of its own. Too late or unwanted, the group gets SIGTERM, and SIGKILL after a
//! pause; whatever the program leaves behind in its group when it ends is killed. Its pipes are looked at, never waited
//! for: a child that escaped from the group and keeps them open holds nobody up.

use std::io::{Read, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::log::Log;
use crate::stop::Stop;

/// How long to wait for output before looking at the clock, in milliseconds.
const TICK: u8 = 20;

/// Bytes that are still read after the program has ended: more than a pipe holds.
const LEFT_IN_PIPES: usize = 2 << 20;

/// How an evaluation ended.
#[derive(Debug, PartialEq)]
pub enum End {
    /// With a value, and with the JSON object that it came in, if it did.
    Value(f64, Option<String>),
    /// Without one.
    Failed {
        /// Why.
        reason: String,
        /// Whether it may be tried again: not when it took too long.
        again: bool,
    },
    /// It was stopped because the user wants to stop.
    Stopped,
    /// It could not begin, which says nothing about the point: this machine has no process, thread or file left to give.
    Unable(String),
}

/// How long an evaluation may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// From the begin.
    pub timeout: Option<Duration>,
    /// From SIGTERM to SIGKILL.
    pub grace: Duration,
}

/// Evaluates by a command that reads `input`, until it ends, takes too long, or is to stop.
pub fn evaluate(
    mut command: Command,
    input: String,
    limits: Limits,
    log: &mut Log,
    stop: &Stop,
) -> End {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let reason = format!(
                "`{}` does not start: {error}",
                command.get_program().display()
            );
            log.end(&reason);
            return if is_short_of(&error) {
                End::Unable(reason)
            } else {
                End::Failed {
                    reason,
                    again: true,
                }
            };
        }
    };
    if let Some(mut stdin) = child.stdin.take() {
        // A program need not read its input, and then nobody may wait for that.
        let writer = std::thread::Builder::new().spawn(move || stdin.write_all(input.as_bytes()));
        if let Err(error) = writer {
            let _ = killpg(group_of(&child), Signal::SIGKILL);
            let _ = child.wait();
            let reason = format!("no thread for the input of a trial: {error}");
            log.end(&reason);
            return End::Unable(reason);
        }
    }
    let end = match watch(&mut child, limits, log, stop) {
        Ok((status, Cause::Ended)) => value_of(status, log),
        Ok((_, Cause::Timeout(timeout))) => {
            let reason = format!(
                "timeout: it took longer than {}",
                humantime::format_duration(timeout)
            );
            End::Failed {
                reason,
                again: false,
            }
        }
        Ok((_, Cause::Stopped)) => End::Stopped,
        Err(error) => End::Failed {
            reason: format!("it could not be watched: {error}"),
            again: true,
        },
    };
    log.end(&match &end {
        End::Value(value, _) => format!("value {value}"),
        End::Failed { reason, .. } => format!("failed: {reason}"),
        End::Stopped | End::Unable(_) => "stopped".to_owned(),
    });
    end
}

/// Whether the machine has no more of what a process needs.
fn is_short_of(error: &std::io::Error) -> bool {
    use nix::errno::Errno::{EAGAIN, EMFILE, ENFILE, ENOMEM};
    error.raw_os_error().is_some_and(|code| {
        [EAGAIN, EMFILE, ENFILE, ENOMEM]
            .map(|e| e as i32)
            .contains(&code)
    })
}

/// The process group that a program leads.
fn group_of(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX))
}

/// Why a program ended.
#[derive(Clone, Copy)]
enum Cause {
    Ended,
    Timeout(Duration),
    Stopped,
}

fn watch(
    child: &mut Child,
    limits: Limits,
    log: &mut Log,
    stop: &Stop,
) -> std::io::Result<(ExitStatus, Cause)> {
    let group = group_of(child);
    let mut pipes = Pipes {
        out: child.stdout.take(),
        err: child.stderr.take(),
        buffer: vec![0; 64 << 10],
    };
    let began = Instant::now();
    let mut cause = Cause::Ended;
    let mut killed_at = None;
    let status = loop {
        pipes.read(log, TICK)?;
        if let Some(status) = child.try_wait()? {
            break status;
        }
        match killed_at {
            None => {
                cause = match limits.timeout {
                    _ if stop.is_urgent() => Cause::Stopped,
                    Some(timeout) if began.elapsed() >= timeout => Cause::Timeout(timeout),
                    _ => continue,
                };
                let _ = killpg(group, Signal::SIGTERM);
                killed_at = Some(Instant::now() + limits.grace);
            }
            Some(at) if Instant::now() >= at || stop.is_impatient() => {
                let _ = killpg(group, Signal::SIGKILL);
            }
            Some(_) => {}
        }
    };
    // What it left behind would disturb the evaluations that follow.
    let _ = killpg(group, Signal::SIGKILL);
    let mut n_read = 0;
    while n_read < LEFT_IN_PIPES {
        match pipes.read(log, 0)? {
            0 => break,
            n => n_read += n,
        }
    }
    Ok((status, cause))
}

/// Standard output and standard error of a program, as long as they are open.
struct Pipes {
    out: Option<std::process::ChildStdout>,
    err: Option<std::process::ChildStderr>,
    buffer: Vec<u8>,
}

impl Pipes {
    /// Reads what is there, after waiting at most so many milliseconds for something. How much there was.
    fn read(&mut self, log: &mut Log, wait: u8) -> std::io::Result<usize> {
        let (out, err) = self.ready(wait)?;
        let mut n_read = 0;
        if out {
            n_read += take(&mut self.out, &mut self.buffer, |bytes| {
                log.push(bytes, true);
            });
        }
        if err {
            n_read += take(&mut self.err, &mut self.buffer, |bytes| {
                log.push(bytes, false);
            });
        }
        Ok(n_read)
    }

    /// Which of them can be read from, or have ended.
    fn ready(&self, wait: u8) -> std::io::Result<(bool, bool)> {
        let flags = PollFlags::POLLIN;
        let out = self
            .out
            .as_ref()
            .map(|pipe| PollFd::new(pipe.as_fd(), flags));
        let err = self
            .err
            .as_ref()
            .map(|pipe| PollFd::new(pipe.as_fd(), flags));
        let (has_out, has_err) = (out.is_some(), err.is_some());
        let mut polled: Vec<PollFd<'_>> = out.into_iter().chain(err).collect();
        match poll(&mut polled, PollTimeout::from(wait)) {
            Err(nix::errno::Errno::EINTR) => return Ok((false, false)),
            other => other?,
        };
        let mut ready = polled.iter().map(|fd| fd.any().unwrap_or(false));
        let out = has_out && ready.next().unwrap_or(false);
        Ok((out, has_err && ready.next().unwrap_or(false)))
    }
}

/// Reads once; a pipe that has ended is closed.
fn take<P: Read>(pipe: &mut Option<P>, buffer: &mut [u8], mut push: impl FnMut(&[u8])) -> usize {
    let n = pipe
        .as_mut()
        .map_or(0, |pipe| pipe.read(buffer).unwrap_or(0));
    if n == 0 {
        *pipe = None;
    }
    push(&buffer[..n]);
    n
}

/// What a program that ended by itself has to say.
fn value_of(status: ExitStatus, log: &Log) -> End {
    let failed = |reason: String| End::Failed {
        reason,
        again: true,
    };
    if !status.success() {
        let how = match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => {
                format!(
                    "signal {}",
                    Signal::try_from(signal).map_or("unknown", Signal::as_str)
                )
            }
            (None, None) => "it ended in an unknown way".to_owned(),
        };
        return failed(match log.err.last_line() {
            Some(line) => format!("{how}: {}", short(&line)),
            None => how,
        });
    }
    match log.out.last_line() {
        None => failed("it printed nothing; expected a number on the last line".to_owned()),
        Some(line) => match number(&line) {
            Some((value, _)) if !value.is_finite() => failed(format!("the value is {value}")),
            Some((value, object)) => End::Value(value, object),
            None => failed(format!("the last line is no number: `{}`", short(&line))),
        },
    }
}

/// A number, or a JSON object with one as its `value`.
fn number(line: &str) -> Option<(f64, Option<String>)> {
    #[derive(Deserialize)]
    struct Object<'a> {
        #[serde(borrow)]
        value: &'a RawValue,
    }
    if let Ok(value) = line.parse::<f64>() {
        return Some((value, None));
    }
    let line = in_quotes(Some(line).filter(|line| line.starts_with('{'))?);
    let object: Object<'_> = serde_json::from_str(&line).ok()?;
    let value = object.value.get().trim_matches('"').parse().ok()?;
    Some((value, Some(line)))
}

/// With what Python writes for numbers that JSON does not know as texts.
fn in_quotes(line: &str) -> String {
    let (mut out, mut rest, mut is_text) = (String::with_capacity(line.len()), line, false);
    while let Some(c) = rest.chars().next() {
        let odd = ["NaN", "Infinity", "-Infinity"]
            .into_iter()
            .find(|odd| !is_text && rest.starts_with(odd));
        let mut n = odd.map_or(c.len_utf8(), str::len);
        if is_text && c == '\\' {
            n += rest[n..].chars().next().map_or(0, char::len_utf8);
        }
        is_text ^= c == '"';
        let quote = if odd.is_some() { "\"" } else { "" };
        out.extend([quote, &rest[..n], quote]);
        rest = &rest[n..];
    }
    out
}

/// The beginning of a line.
fn short(line: &str) -> String {
    const LIMIT: usize = 200;
    let mut shown: String = line
        .chars()
        .filter(|c| !c.is_control())
        .take(LIMIT)
        .collect();
    if line.chars().nth(LIMIT).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_numbers_or_objects_with_one() {
        for (line, value) in [
            ("0.25", 0.25),
            ("-1e-3", -1e-3),
            ("7", 7.0),
            (r#"{"value": 2, "b": [1]}"#, 2.0),
            (r#"{"value":"3.5"}"#, 3.5),
            (
                r#"{"a": NaN, "value": 4, "b": [-Infinity, "NaN \" NaN", Infinity]}"#,
                4.0,
            ),
        ] {
            assert_eq!(number(line).map(|(value, _)| value), Some(value), "{line}");
        }
        for line in [
            "",
            "a",
            "1 2",
            "value: 3",
            "{}",
            r#"{"loss": 3}"#,
            "[1]",
            "0.5 s",
        ] {
            assert_eq!(number(line), None, "{line}");
        }
        assert!(number("nan").is_some_and(|(value, _)| value.is_nan()));
    }
}
