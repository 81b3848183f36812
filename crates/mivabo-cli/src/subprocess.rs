//! One evaluation by another program: its process group, its pipes, its last line.
//!
//! The program leads a process group of its own. Too late or unwanted, the group gets SIGTERM, and SIGKILL after a
//! pause; whatever the program leaves behind in its group when it ends is killed. Its pipes are read as long as it runs and
//! never waited for: a child that escaped from the group and keeps them open holds nobody up.
//!
//! Whatever may happen next has a descriptor or a deadline, and one `poll` waits for all of them.

use std::io::{self, PipeReader, Read, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::Builder;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use rustix::process::{WaitId, WaitIdOptions, waitid};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::log::Log;
use crate::stop::{Stop, Wish};
use crate::wait::left_until;

/// Bytes that are still read after the program has ended: more than a pipe holds.
const LEFT_IN_PIPES: usize = 2 << 20;

/// Enough for a thread that only waits. Large studies have a thousand workers.
const SMALL_STACK: usize = 64 << 10;

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

impl End {
    fn failed(reason: String) -> End {
        End::Failed {
            reason,
            again: true,
        }
    }
}

/// How long an evaluation may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// From its beginning.
    pub timeout: Option<Duration>,
    /// From SIGTERM to SIGKILL.
    pub grace: Duration,
}

/// Evaluates by a command that reads `input`, until it ends, takes too long, or is to stop.
pub fn evaluate(
    command: Command,
    input: String,
    limits: Limits,
    log: &mut Log,
    stop: &Stop,
) -> End {
    let end = match Running::start(command, input) {
        Ok(running) => outcome(running.watch(limits, log, stop), log),
        Err(end) => end,
    };
    log.end(&match &end {
        End::Value(value, _) => format!("value {value}"),
        End::Failed { reason, .. } => format!("failed: {reason}"),
        End::Unable(reason) => reason.clone(),
        End::Stopped => "stopped".to_owned(),
    });
    end
}

/// What it means that a program ended so.
fn outcome(watched: io::Result<(ExitStatus, Cause)>, log: &Log) -> End {
    match watched {
        Ok((status, Cause::Ended)) => value_of(status, log),
        Ok((_, Cause::Timeout(timeout))) => {
            let timeout = humantime::format_duration(timeout);
            End::Failed {
                reason: format!("timeout: it took longer than {timeout}"),
                again: false,
            }
        }
        Ok((_, Cause::Stopped)) => End::Stopped,
        Err(error) => End::failed(format!("it could not be watched: {error}")),
    }
}

/// Why a program ended.
#[derive(Debug, Clone, Copy)]
enum Cause {
    Ended,
    Timeout(Duration),
    Stopped,
}

/// A program that runs.
struct Running {
    child: Child,
    began: Instant,
    /// Closes when the program has ended.
    ended: PipeReader,
    pipes: Pipes,
}

/// What is done about a program that should end.
#[derive(Debug, Clone, Copy)]
enum Phase {
    /// Nothing yet.
    Running,
    /// It has until then to end by itself.
    Asked { until: Instant },
    /// It has been killed, and ends when the system gets to it.
    Killed,
}

impl Running {
    /// Starts a program in a group of its own.
    fn start(mut command: Command, input: String) -> Result<Running, End> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let program = command.get_program().display().to_string();
        let mut child = command.spawn().map_err(|error| {
            let reason = format!("`{program}` does not start: {error}");
            if is_short_of(&error) {
                End::Unable(reason)
            } else {
                End::failed(reason)
            }
        })?;
        match accompany(&mut child, input) {
            Ok(ended) => Ok(Running {
                began: Instant::now(),
                ended,
                pipes: Pipes::of(&mut child),
                child,
            }),
            Err(error) => {
                kill(&child, Signal::SIGKILL);
                let _ = child.wait();
                Err(End::Unable(format!("no thread for a trial: {error}")))
            }
        }
    }

    /// Waits until the program has ended, and ends it where that is needed.
    fn watch(
        mut self,
        limits: Limits,
        log: &mut Log,
        stop: &Stop,
    ) -> io::Result<(ExitStatus, Cause)> {
        let mut phase = Phase::Running;
        let mut cause = Cause::Ended;
        while !self.step(phase, limits, log, stop)? {
            phase = match (phase, self.unwanted(limits, stop)) {
                (Phase::Running, Some(why)) => {
                    cause = why;
                    kill(&self.child, Signal::SIGTERM);
                    Phase::Asked {
                        until: Instant::now() + limits.grace,
                    }
                }
                (Phase::Asked { until }, _)
                    if Instant::now() >= until || stop.wants(Wish::Impatient) =>
                {
                    kill(&self.child, Signal::SIGKILL);
                    Phase::Killed
                }
                (phase, _) => phase,
            };
        }
        // What it left behind would disturb the evaluations that follow. Its own end has not been collected yet, so no other
        // group can have its number.
        kill(&self.child, Signal::SIGKILL);
        self.pipes.drain(log)?;
        Ok((self.child.wait()?, cause))
    }

    /// Waits for the next event and takes in what was printed. Whether the program has ended.
    fn step(
        &mut self,
        phase: Phase,
        limits: Limits,
        log: &mut Log,
        stop: &Stop,
    ) -> io::Result<bool> {
        let (wish, deadline) = match phase {
            Phase::Running => (
                Some(Wish::Urgent),
                limits.timeout.map(|timeout| self.began + timeout),
            ),
            Phase::Asked { until } => (Some(Wish::Impatient), Some(until)),
            // Nothing more can be done about it.
            Phase::Killed => (None, None),
        };
        let others = [Some(self.ended.as_fd()), wish.map(|wish| stop.pipe(wish))];
        let ready = self.pipes.ready(others, deadline)?;
        self.pipes.read(ready, log);
        Ok(ready.has_ended)
    }

    /// Why it should end now.
    fn unwanted(&self, limits: Limits, stop: &Stop) -> Option<Cause> {
        let is_late = |timeout: &Duration| self.began.elapsed() >= *timeout;
        if stop.wants(Wish::Urgent) {
            return Some(Cause::Stopped);
        }
        limits.timeout.filter(is_late).map(Cause::Timeout)
    }
}

/// Whether the machine has no more of what a process needs.
fn is_short_of(error: &io::Error) -> bool {
    use nix::errno::Errno::{EAGAIN, EMFILE, ENFILE, ENOMEM};
    let scarce = [EAGAIN, EMFILE, ENFILE, ENOMEM].map(|e| e as i32);
    error
        .raw_os_error()
        .is_some_and(|code| scarce.contains(&code))
}

/// A signal to the process group that a program leads. One that has ended needs none.
fn kill(child: &Child, signal: Signal) {
    let group = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
    let _ = killpg(group, signal);
}

/// Threads that write the input of a program and wait for its end: a pipe that closes then.
fn accompany(child: &mut Child, input: String) -> io::Result<PipeReader> {
    if let Some(stdin) = child.stdin.take() {
        write_input(stdin, input)?;
    }
    let child = rustix::process::Pid::from_child(child);
    let (reader, writer) = io::pipe()?;
    let wait = move || {
        // The end is not collected: until `Child::wait` does that, the number of the process stays its own, and the group can
        // be signalled.
        let only_look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while waitid(WaitId::Pid(child), only_look).is_err_and(|e| e == rustix::io::Errno::INTR) {}
        drop(writer);
    };
    Builder::new().stack_size(SMALL_STACK).spawn(wait)?;
    Ok(reader)
}

/// A program need not read its input, and then nobody may wait for that.
fn write_input(mut stdin: ChildStdin, input: String) -> io::Result<()> {
    let write = move || stdin.write_all(input.as_bytes());
    Builder::new().stack_size(SMALL_STACK).spawn(write)?;
    Ok(())
}

/// Standard output and standard error of a program, as long as they are open.
struct Pipes {
    out: Option<ChildStdout>,
    err: Option<ChildStderr>,
    buffer: Vec<u8>,
}

/// What can be read from without waiting, or has closed.
#[derive(Debug, Clone, Copy, Default)]
struct Ready {
    out: bool,
    err: bool,
    has_ended: bool,
}

impl Pipes {
    fn of(child: &mut Child) -> Pipes {
        Pipes {
            out: child.stdout.take(),
            err: child.stderr.take(),
            buffer: vec![0; 64 << 10],
        }
    }

    /// Waits for output, for the end of the program, for somebody's wish (`others`, in this order), or for the deadline.
    fn ready(
        &self,
        others: [Option<BorrowedFd<'_>>; 2],
        deadline: Option<Instant>,
    ) -> io::Result<Ready> {
        let [ended, wish] = others;
        let out = self.out.as_ref().map(ChildStdout::as_fd);
        let err = self.err.as_ref().map(ChildStderr::as_fd);
        let all = [out, err, ended, wish];
        let open = all.iter().flatten();
        let mut polled: Vec<PollFd<'_>> =
            open.map(|fd| PollFd::new(*fd, PollFlags::POLLIN)).collect();
        match poll(&mut polled, left_until(deadline)) {
            Err(nix::errno::Errno::EINTR) => return Ok(Ready::default()),
            other => other?,
        };
        let mut events = polled.iter().map(|fd| fd.any().unwrap_or(false));
        let mut has_event =
            |fd: Option<BorrowedFd<'_>>| fd.is_some() && events.next() == Some(true);
        Ok(Ready {
            out: has_event(out),
            err: has_event(err),
            has_ended: has_event(ended),
        })
    }

    /// Reads once from what is ready. How much there was.
    fn read(&mut self, ready: Ready, log: &mut Log) -> usize {
        let mut n_read = 0;
        if ready.out {
            n_read += take(&mut self.out, &mut self.buffer, |bytes| {
                log.push(bytes, true);
            });
        }
        if ready.err {
            n_read += take(&mut self.err, &mut self.buffer, |bytes| {
                log.push(bytes, false);
            });
        }
        n_read
    }

    /// Takes in what a program that has ended left in its pipes. Who else holds them may go on writing.
    fn drain(&mut self, log: &mut Log) -> io::Result<()> {
        let mut n_read = 0;
        while n_read < LEFT_IN_PIPES {
            let ready = self.ready([None, None], Some(Instant::now()))?;
            match self.read(ready, log) {
                0 => break,
                n => n_read += n,
            }
        }
        Ok(())
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
    if !status.success() {
        let how = described(status);
        return End::failed(match log.err.last_line() {
            Some(line) => format!("{how}: {}", short(&line)),
            None => how,
        });
    }
    let Some(line) = log.out.last_line() else {
        let reason = "it printed nothing; expected a number on the last line";
        return End::failed(reason.to_owned());
    };
    match number(&line) {
        Some((value, _)) if !value.is_finite() => End::failed(format!("the value is {value}")),
        Some((value, object)) => End::Value(value, object),
        None => End::failed(format!("the last line is not a number: `{}`", short(&line))),
    }
}

fn described(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => {
            let name = Signal::try_from(signal).map_or("unknown", Signal::as_str);
            format!("signal {name}")
        }
        (None, None) => "it ended in an unknown way".to_owned(),
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
