//! What a user sees of a run on standard error: a bar on a terminal, plain lines elsewhere.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mivabo::lasting;

use crate::plain::plain;
use crate::text::brief;

/// How a run is shown.
pub struct Progress {
    shape: Shape,
}

enum Shape {
    Quiet,
    Lines,
    Bar(ProgressBar),
}

/// Where a run is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Facts {
    /// Trials that are told, by whomever, and how many there should be.
    pub n_told: u64,
    /// How many there should be, where that is said.
    pub budget: Option<u64>,
    /// Of the told ones, those without a value.
    pub n_failed: u64,
    /// Trials that run here.
    pub n_running: usize,
    /// The best value.
    pub best: Option<f64>,
    /// How long a trial takes on average, if one ended here.
    pub mean: Option<Duration>,
    /// How long the rest may take.
    pub left: Option<Duration>,
}

impl Progress {
    /// A bar on a terminal, lines elsewhere, nothing if the user wants nothing.
    pub fn new(quiet: bool, budget: Option<u64>) -> Progress {
        let shape = match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Shape::Quiet,
            (false, true) => Shape::Bar(bar(budget)),
            (false, false) => Shape::Lines,
        };
        Progress { shape }
    }

    /// A trial has a value.
    pub fn told(&self, what: &str, facts: impl FnOnce() -> Facts) {
        match &self.shape {
            Shape::Quiet => {}
            Shape::Lines => line(what, &facts()),
            Shape::Bar(_) => self.show(facts),
        }
    }

    /// A trial failed. That is said beside the bar too.
    pub fn failed(&self, what: &str, facts: impl FnOnce() -> Facts) {
        if let Shape::Bar(bar) = &self.shape {
            bar.println(plain(what));
        }
        self.told(what, facts);
    }

    /// Where the run is now. Those who show nothing need not find it out, which is work for each trial of the study.
    pub fn show(&self, facts: impl FnOnce() -> Facts) {
        if let Shape::Bar(bar) = &self.shape {
            let facts = facts();
            bar.set_position(facts.n_told);
            bar.set_message(facts.to_string());
        }
    }

    /// Something that the user should know.
    pub fn say(&self, text: &str) {
        match &self.shape {
            Shape::Quiet => {}
            Shape::Lines => say!("{text}"),
            Shape::Bar(bar) => bar.println(plain(text)),
        }
    }

    /// Leaves the terminal as it was.
    pub fn end(&self) {
        if let Shape::Bar(bar) = &self.shape {
            bar.finish_and_clear();
        }
    }
}

fn bar(budget: Option<u64>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(budget, ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template(match budget {
        Some(_) => "{bar:24} {pos}/{len}  {wide_msg}",
        None => "{spinner} {pos} told  {wide_msg}",
    });
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn line(what: &str, facts: &Facts) {
    let of_all = facts.budget.map_or(String::new(), |n| format!("/{n}"));
    say!("{what}; {}{of_all} told, {facts}", facts.n_told);
}

impl std::fmt::Display for Facts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.best {
            Some(best) => write!(f, "best {}", brief(best))?,
            None => f.write_str("no value yet")?,
        }
        if self.n_running > 0 {
            write!(f, ", {} running", self.n_running)?;
        }
        if self.n_failed > 0 {
            write!(f, ", {} failed", self.n_failed)?;
        }
        if let Some(mean) = self.mean {
            write!(f, ", {} per trial", lasting(mean))?;
        }
        match self.left {
            Some(left) if left.as_secs() > 0 => write!(f, ", about {} left", lasting(left)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_matters() {
        let facts = Facts {
            best: Some(0.1 + 0.2),
            n_running: 2,
            n_failed: 1,
            mean: Some(Duration::from_millis(1_234)),
            left: Some(Duration::from_millis(3_723_456)),
            ..Facts::default()
        };

        assert_eq!(
            facts.to_string(),
            "best 0.3, 2 running, 1 failed, 1.2 s per trial, about 1 h 2 min left"
        );
        assert_eq!(Facts::default().to_string(), "no value yet");
    }
}
