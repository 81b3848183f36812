//! How long trials took, and who worked when.

mod durations;
mod lanes;
mod timeline;

use mivabo::view::{Status, TrialView};

use super::{legend, nothing};
use crate::text::time;
use crate::trials::Trials;

/// The most trials that are drawn.
const MAX_SHOWN: usize = 2000;

pub(crate) fn section(trials: &Trials<'_>) -> String {
    let timed: Vec<Timed<'_>> = trials.all().iter().filter_map(Timed::of).collect();
    let Some(span) = Span::of(&timed) else {
        return nothing("No times were recorded.");
    };
    let summary = summary(span, &timed);
    let origins = legend::origins(trials, "");
    let durations = durations::figure(trials, &timed);
    let timeline = timeline::figure(trials, &timed, span);
    format!("<p>{summary}</p>{origins}{durations}{timeline}")
}

/// A trial whose evaluation began, with times in milliseconds since 1970.
#[derive(Debug, Clone, Copy)]
struct Timed<'a> {
    trial: &'a TrialView,
    started: u64,
    finished: Option<u64>,
}

impl<'a> Timed<'a> {
    fn of(trial: &'a TrialView) -> Option<Timed<'a>> {
        Some(Timed {
            trial,
            started: trial.started?.millis(),
            finished: trial.finished.map(mivabo::view::Time::millis),
        })
    }

    /// The colour of its origin, or that of failure.
    fn class(&self, trials: &Trials<'_>) -> String {
        if self.trial.state == Status::Failed {
            "fail".to_owned()
        } else {
            trials.colour(self.trial)
        }
    }
}

/// From the first start to the last end, in milliseconds since 1970.
#[derive(Debug, Clone, Copy)]
struct Span {
    first: u64,
    last: u64,
}

impl Span {
    fn of(timed: &[Timed<'_>]) -> Option<Span> {
        let starts = timed.iter().map(|one| one.started);
        let ends = timed.iter().filter_map(|one| one.finished);
        Some(Span {
            first: starts.clone().min()?,
            last: starts.chain(ends).max()?,
        })
    }

    fn millis(self) -> u64 {
        self.last - self.first
    }
}

fn summary(span: Span, timed: &[Timed<'_>]) -> String {
    let durations = sorted_durations(timed);
    let Some(median) = durations.get(durations.len() / 2) else {
        return "No trial has ended yet.".to_owned();
    };
    // A clock that was set may leave a time of any length.
    let total = durations.iter().copied().fold(0, u64::saturating_add);
    format!(
        "{} from the first start to the last end; \
         {} of evaluation in all; {} in the median trial.",
        time(span.millis()),
        time(total),
        time(*median)
    )
}

fn sorted_durations(timed: &[Timed<'_>]) -> Vec<u64> {
    let ended = timed.iter().filter_map(|one| one.trial.millis());
    let mut durations: Vec<u64> = ended.collect();
    durations.sort_unstable();
    durations
}

/// Of how many trials one is drawn.
fn every(n: usize) -> usize {
    n.div_ceil(MAX_SHOWN).max(1)
}

/// How many of `n` trials are drawn, where not all of them are.
fn thinned(n: usize) -> String {
    match every(n) {
        1 => String::new(),
        every => format!(". {} of {n} are drawn.", n.div_ceil(every)),
    }
}
