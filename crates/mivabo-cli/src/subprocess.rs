//! One evaluation by another program: its process group, its pipes, its last line.
//!
//! The program leads a process group of its own. Too late or unwanted, the group gets SIGTERM, and SIGKILL after a
//! pause; whatever the program leaves behind in its group when it ends is killed. Its pipes are read as long as it runs and
//! never waited for: a child that escaped from the group and keeps them open holds nobody up.
//!
//! Whatever may happen next has a descriptor or a deadline, and one `poll` waits for all of them.

use std::collections::BTreeMap;
use std::io::{self, Read, Write as _};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::thread::Builder;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use rustix::process::{WaitId, WaitIdOptions, waitid};
use serde_json::value::RawValue;

use crate::log::Log;
use crate::objective::Program;
use crate::stop::{Stop, Wish};
use crate::wait::left_until;

/// Bytes that are still read after the program has ended: more than a pipe holds.
const LEFT_IN_PIPES: usize = 2 << 20;

/// Bytes that an empty pipe takes at once on every system.
const FITS_IN_PIPE: usize = 4 << 10;

/// Enough for a thread that only waits. Large studies have a thousand workers.
const SMALL_STACK: usize = 64 << 10;

/// How an evaluation ended.
#[derive(Debug, PartialEq)]
pub enum End {
    /// With a value, and with the JSON object that it came in, if it did.
    Value(f64, Option<String>),
    /// Without one.
    Failed(Failure),
    /// It was stopped because the user wants to stop.
    Stopped,
    /// It could not begin, which says nothing about the point: this machine has no process, thread or file left to give.
    Unable(String),
}

/// An evaluation without a value.
#[derive(Debug, PartialEq)]
pub struct Failure {
    /// Why there is none.
    pub reason: String,
    /// The JSON object on its last line, whose numbers are measured all the same.
    pub object: Option<String>,
    /// Whether it may be tried again: not when it took too long.
    pub again: bool,
}

impl End {
    /// Without a value, in a way that may not happen again.
    pub fn failed(reason: String) -> End {
        End::failed_with(reason, None)
    }

    /// The same, with what was measured.
    fn failed_with(reason: String, object: Option<String>) -> End {
        End::Failed(Failure {
            reason,
            object,
            again: true,
        })
    }

    /// The last line of the log.
    fn described(&self) -> String {
        match self {
            End::Value(value, _) => format!("value {value}"),
            End::Failed(failure) => format!("failed: {}", failure.reason),
            End::Unable(reason) => reason.clone(),
            End::Stopped => "stopped".to_owned(),
        }
    }
}

/// What an evaluation should give, and what may end it.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// The measure that is looked for in what the program prints.
    pub measure: &'a str,
    /// From its beginning.
    pub timeout: Option<Duration>,
    /// From SIGTERM to SIGKILL.
    pub grace: Duration,
    /// What the user wants.
    pub stop: &'a Stop,
}

/// Evaluates by a program until it ends, takes too long, or is to stop.
pub fn evaluate(program: Program, rules: &Rules<'_>, log: &mut Log) -> End {
    let end = match Running::start(program) {
        Ok(running) => outcome(running.watch(rules, log), rules.measure, log),
        Err(end) => end,
    };
    log.end(&end.described());
    end
}

/// What it means that a program ended so.
fn outcome(watched: io::Result<(ExitStatus, Cause)>, measure: &str, log: &Log) -> End {
    match watched {
        Ok((status, Cause::Ended)) => value_of(status, measure, log),
        Ok((_, Cause::Timeout(timeout))) => {
            let timeout = mivabo::lasting(timeout);
            End::Failed(Failure {
                reason: format!("timeout: it took longer than {timeout}"),
                object: log.out.last_line().as_deref().and_then(object_of),
                again: false,
            })
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

/// What is done about a program that should end.
#[derive(Debug, Clone, Copy)]
enum Phase {
    /// Nothing yet.
    Running,
    /// It has until then to end by itself.
    Asked { cause: Cause, until: Instant },
    /// It has been killed, and ends when the system gets to it.
    Killed { cause: Cause },
}

impl Phase {
    fn cause(self) -> Cause {
        match self {
            Phase::Running => Cause::Ended,
            Phase::Asked { cause, .. } | Phase::Killed { cause } => cause,
        }
    }
}

/// A program that runs.
struct Running {
    child: Child,
    began: Instant,
    /// Is ready, or closes, when the program has ended.
    ended: OwnedFd,
    pipes: Pipes,
}

impl Running {
    /// Starts a program in a group of its own.
    fn start(program: Program) -> Result<Running, End> {
        let mut child = spawn(program.command)?;
        match accompany(&mut child, program.input) {
            Ok(ended) => Ok(Running {
                began: Instant::now(),
                ended,
                pipes: Pipes::of(&mut child),
                child,
            }),
            Err(error) => {
                // Nobody could hear of its end.
                signal_group(&child, Signal::SIGKILL);
                let _ = child.wait();
                Err(End::Unable(format!("no thread for a trial: {error}")))
            }
        }
    }

    /// Waits until the program has ended, and ends it where that is needed.
    fn watch(mut self, rules: &Rules<'_>, log: &mut Log) -> io::Result<(ExitStatus, Cause)> {
        let mut phase = Phase::Running;
        while !self.step(phase, rules, log)? {
            phase = self.pressed(phase, rules);
        }
        // What it left behind would disturb the evaluations that follow. Its own end has not been collected yet, so no other
        // group can have its number.
        signal_group(&self.child, Signal::SIGKILL);
        self.pipes.drain(log)?;
        Ok((self.child.wait()?, phase.cause()))
    }

    /// Waits for the next event and takes in what was printed. Whether the program has ended.
    fn step(&mut self, phase: Phase, rules: &Rules<'_>, log: &mut Log) -> io::Result<bool> {
        let timeout = rules.timeout.map(|timeout| self.began + timeout);
        let (wish, deadline) = match phase {
            Phase::Running => (Some(Wish::Urgent), timeout),
            Phase::Asked { until, .. } => (Some(Wish::Impatient), Some(until)),
            // Nothing more can be done about it. A wish that was heard would end each wait at once.
            Phase::Killed { .. } => (None, None),
        };
        let awaited = Awaited {
            ended: Some(self.ended.as_fd()),
            wish: wish.map(|wish| rules.stop.pipe(wish)),
            deadline,
        };
        let ready = self.pipes.ready(awaited)?;
        self.pipes.read(ready, log);
        Ok(ready.has_ended)
    }

    /// Presses a program that should end: first it is asked to, then it is killed.
    fn pressed(&self, phase: Phase, rules: &Rules<'_>) -> Phase {
        match phase {
            Phase::Running => self.asked_to_end(rules),
            Phase::Asked { cause, until } if is_over(until, rules) => {
                signal_group(&self.child, Signal::SIGKILL);
                Phase::Killed { cause }
            }
            phase => phase,
        }
    }

    fn asked_to_end(&self, rules: &Rules<'_>) -> Phase {
        let Some(cause) = self.unwanted(rules) else {
            return Phase::Running;
        };
        signal_group(&self.child, Signal::SIGTERM);
        Phase::Asked {
            cause,
            until: Instant::now() + rules.grace,
        }
    }

    /// Why it should end now.
    fn unwanted(&self, rules: &Rules<'_>) -> Option<Cause> {
        if rules.stop.wants(Wish::Urgent) {
            return Some(Cause::Stopped);
        }
        let is_late = |timeout: &Duration| self.began.elapsed() >= *timeout;
        rules.timeout.filter(is_late).map(Cause::Timeout)
    }
}

/// Whether a program that was asked to end has no time left for it.
fn is_over(until: Instant, rules: &Rules<'_>) -> bool {
    Instant::now() >= until || rules.stop.wants(Wish::Impatient)
}

fn spawn(mut command: std::process::Command) -> Result<Child, End> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Not that of this program: the Ctrl-C of a terminal goes to the whole group, and running trials finish first.
        .process_group(0);
    command.spawn().map_err(|error| {
        let program = command.get_program().display();
        let reason = format!("`{program}` does not start: {error}");
        if is_short_of(&error) {
            End::Unable(reason)
        } else {
            End::failed(reason)
        }
    })
}

/// Whether the machine has no more of what a process needs.
fn is_short_of(error: &io::Error) -> bool {
    let scarce = [Errno::EAGAIN, Errno::EMFILE, Errno::ENFILE, Errno::ENOMEM];
    let code = error.raw_os_error();
    scarce.iter().any(|errno| code == Some(*errno as i32))
}

/// A signal to the process group that a program leads. One that has ended needs none.
fn signal_group(child: &Child, signal: Signal) {
    let group = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
    let _ = killpg(group, signal);
}

/// Gives a program its input, and hears of its end: by what is ready, or closes, then.
fn accompany(child: &mut Child, input: String) -> io::Result<OwnedFd> {
    if let Some(stdin) = child.stdin.take() {
        write_input(stdin, input)?;
    }
    end_of(child)
}

/// A program need not read its input, and then nobody may wait for that. What fits into the pipe needs no thread.
fn write_input(mut stdin: ChildStdin, input: String) -> io::Result<()> {
    let fits = input.len() <= FITS_IN_PIPE;
    let mut write = move || stdin.write_all(input.as_bytes());
    if fits {
        // One that has ended by now, or closed its input, did not want it.
        let _ = write();
        return Ok(());
    }
    Builder::new().stack_size(SMALL_STACK).spawn(write)?;
    Ok(())
}

/// The end of a program, without collecting it: until `Child::wait` does that, the number of the process stays its own, and the
/// group can be signalled.
fn end_of(child: &Child) -> io::Result<OwnedFd> {
    let child = rustix::process::Pid::from_child(child);
    #[cfg(target_os = "linux")]
    if let Ok(end) = rustix::process::pidfd_open(child, rustix::process::PidfdFlags::empty()) {
        return Ok(end);
    }
    end_by_thread(child)
}

/// For other systems and old kernels: a thread that waits, and a pipe that it closes then.
fn end_by_thread(child: rustix::process::Pid) -> io::Result<OwnedFd> {
    let (reader, writer) = io::pipe()?;
    let wait = move || {
        let only_look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while waitid(WaitId::Pid(child), only_look).is_err_and(|e| e == rustix::io::Errno::INTR) {}
        drop(writer);
    };
    Builder::new().stack_size(SMALL_STACK).spawn(wait)?;
    Ok(reader.into())
}

/// Standard output and standard error of a program, as long as they are open.
struct Pipes {
    out: Option<ChildStdout>,
    err: Option<ChildStderr>,
    buffer: Vec<u8>,
}

/// What is waited for beside output.
#[derive(Clone, Copy, Default)]
struct Awaited<'a> {
    /// The end of the program.
    ended: Option<BorrowedFd<'a>>,
    /// Somebody's wish.
    wish: Option<BorrowedFd<'a>>,
    deadline: Option<Instant>,
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

    /// Waits for output, or for something else.
    fn ready(&self, awaited: Awaited<'_>) -> io::Result<Ready> {
        let out = self.out.as_ref().map(AsFd::as_fd);
        let err = self.err.as_ref().map(AsFd::as_fd);
        let all = [out, err, awaited.ended, awaited.wish];
        let open = all.into_iter().flatten();
        let mut polled: Vec<PollFd<'_>> =
            open.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        match poll(&mut polled, left_until(awaited.deadline)) {
            Err(Errno::EINTR) => return Ok(Ready::default()),
            other => other?,
        };
        Ok(Ready {
            out: has_event(&polled, out),
            err: has_event(&polled, err),
            has_ended: has_event(&polled, awaited.ended),
        })
    }

    /// Reads once from what is ready. How much there was.
    fn read(&mut self, ready: Ready, log: &mut Log) -> usize {
        let mut n_read = 0;
        if ready.out {
            let bytes = take(&mut self.out, &mut self.buffer);
            log.push(bytes, true);
            n_read += bytes.len();
        }
        if ready.err {
            let bytes = take(&mut self.err, &mut self.buffer);
            log.push(bytes, false);
            n_read += bytes.len();
        }
        n_read
    }

    /// Takes in what a program that has ended left in its pipes.
    fn drain(&mut self, log: &mut Log) -> io::Result<()> {
        // Not until they close: a child that left the group may hold them open for days. Nor for as long as there is
        // something: it may write faster than is read here.
        let mut n_read = 0;
        while n_read < LEFT_IN_PIPES {
            let at_once = Awaited {
                deadline: Some(Instant::now()),
                ..Awaited::default()
            };
            let ready = self.ready(at_once)?;
            match self.read(ready, log) {
                0 => break,
                n => n_read += n,
            }
        }
        Ok(())
    }
}

/// An error or a hang-up is an event too: reading tells which.
fn has_event(polled: &[PollFd<'_>], fd: Option<BorrowedFd<'_>>) -> bool {
    let Some(fd) = fd else { return false };
    let mut polled = polled.iter();
    let found = polled.find(|one| one.as_fd().as_raw_fd() == fd.as_raw_fd());
    found.and_then(PollFd::any).unwrap_or(false)
}

/// Reads once; a pipe that has ended is closed.
fn take<'b, P: Read>(pipe: &mut Option<P>, buffer: &'b mut [u8]) -> &'b [u8] {
    let read = pipe.as_mut().map(|pipe| pipe.read(buffer));
    let n = read.and_then(Result::ok).unwrap_or(0);
    if n == 0 {
        *pipe = None;
    }
    &buffer[..n]
}

/// What a program that ended by itself has to say.
fn value_of(status: ExitStatus, measure: &str, log: &Log) -> End {
    let line = log.out.last_line();
    if !status.success() {
        let how = described(status);
        let reason = match log.err.last_line() {
            Some(line) => format!("{how}: {}", short(&line)),
            None => how,
        };
        return End::failed_with(reason, line.as_deref().and_then(object_of));
    }
    let Some(line) = line else {
        let reason = "it printed nothing; expected a number on the last line";
        return End::failed(reason.to_owned());
    };
    match number(&line, measure) {
        Some((value, object)) if !value.is_finite() => {
            End::failed_with(format!("the value is {value}"), object)
        }
        Some((value, object)) => End::Value(value, object),
        None => End::failed_with(not_a_number(&line, measure), object_of(&line)),
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

fn not_a_number(line: &str, measure: &str) -> String {
    let shown = short(line);
    if line.starts_with('{') {
        format!("the last line has no number `{measure}`: `{shown}`")
    } else {
        format!("the last line is not a number: `{shown}`")
    }
}

/// A number, or a JSON object that has one under the name of the measure.
fn number(line: &str, measure: &str) -> Option<(f64, Option<String>)> {
    if let Ok(value) = line.parse::<f64>() {
        return Some((value, None));
    }
    let line = object_of(line)?;
    let object: BTreeMap<String, &RawValue> = serde_json::from_str(&line).ok()?;
    let value = object.get(measure)?.get().trim_matches('"').parse().ok()?;
    Some((value, Some(line)))
}

/// A line that is a JSON object.
fn object_of(line: &str) -> Option<String> {
    let line = in_quotes(Some(line).filter(|line| line.starts_with('{'))?);
    let is_object = serde_json::from_str::<BTreeMap<String, &RawValue>>(&line).is_ok();
    is_object.then_some(line)
}

/// With quotes around the numbers that Python writes and JSON does not know.
fn in_quotes(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    let mut is_text = false;
    while let Some(c) = rest.chars().next() {
        let odd = odd_number(rest).filter(|_| !is_text);
        let quote = if odd.is_some() { "\"" } else { "" };
        let n = odd.map_or_else(|| length(rest, is_text), str::len);
        is_text ^= c == '"';
        out.extend([quote, &rest[..n], quote]);
        rest = &rest[n..];
    }
    out
}

/// A number there that JSON does not know.
fn odd_number(text: &str) -> Option<&'static str> {
    let all = ["NaN", "Infinity", "-Infinity"];
    all.into_iter().find(|odd| text.starts_with(odd))
}

/// The length of the first character; inside a text, of the first two if the second one is escaped: `\"` does not end it.
fn length(rest: &str, is_text: bool) -> usize {
    let is_escape = is_text && rest.starts_with('\\');
    let n_characters = if is_escape { 2 } else { 1 };
    let characters = rest.chars().take(n_characters);
    characters.map(char::len_utf8).sum()
}

/// The beginning of a line.
fn short(line: &str) -> String {
    const LIMIT: usize = 200;
    let plain = line.chars().filter(|c| !c.is_control());
    let mut shown: String = plain.take(LIMIT).collect();
    if line.chars().nth(LIMIT).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_end_of_a_program_is_heard_with_and_without_a_thread() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let id = rustix::process::Pid::from_child(&child);
        let ends = [end_of(&child).unwrap(), end_by_thread(id).unwrap()];
        let n_heard = |until: Instant| {
            let heard = |end: &&OwnedFd| {
                let mut polled = [PollFd::new(end.as_fd(), PollFlags::POLLIN)];
                poll(&mut polled, left_until(Some(until))).unwrap() == 1
            };
            ends.iter().filter(heard).count()
        };

        let n_before = n_heard(Instant::now());
        drop(child.stdin.take());
        let n_after = n_heard(Instant::now() + Duration::from_secs(60));

        assert_eq!((n_before, n_after), (0, 2));
        assert!(child.wait().unwrap().success());
    }

    #[test]
    fn a_measure_is_looked_for_by_its_name() {
        let line = r#"{"loss": 3, "value": 4}"#;

        assert_eq!(number(line, "loss"), Some((3.0, Some(line.to_owned()))));
        assert_eq!(number("5", "loss"), Some((5.0, None)));
    }

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
            let found = number(line, "value").map(|(value, _)| value);
            assert_eq!(found, Some(value), "{line}");
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
            assert_eq!(number(line, "value"), None, "{line}");
        }
        assert!(number("nan", "value").is_some_and(|(value, _)| value.is_nan()));
    }
}
