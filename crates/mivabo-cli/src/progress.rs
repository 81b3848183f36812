//! What a user sees of a run on standard error: a bar on a terminal, plain lines elsewhere.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

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
    /// How many there should be.
    pub budget: u64,
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
    pub fn new(quiet: bool, budget: u64) -> Progress {
        let shape = if quiet {
            Shape::Quiet
        } else if std::io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(Some(budget), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{bar:24} {pos}/{len}  {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            Shape::Bar(bar)
        } else {
            Shape::Lines
        };
        Progress { shape }
    }

    /// A trial ended so.
    pub fn told(&self, what: &str, has_failed: bool, facts: &Facts) {
        match &self.shape {
            Shape::Quiet => {}
            Shape::Lines => say!("{what}; {}/{} told, {facts}", facts.n_told, facts.budget),
            Shape::Bar(bar) => {
                if has_failed {
                    bar.println(what);
                }
                self.show(facts);
            }
        }
    }

    /// Where the run is now.
    pub fn show(&self, facts: &Facts) {
        if let Shape::Bar(bar) = &self.shape {
            bar.set_position(facts.n_told);
            bar.set_message(facts.to_string());
        }
    }

    /// Something that the user should know.
    pub fn say(&self, text: &str) {
        match &self.shape {
            Shape::Quiet => {}
            Shape::Lines => say!("{text}"),
            Shape::Bar(bar) => bar.println(text),
        }
    }

    /// Leaves the terminal as it was.
    pub fn end(&self) {
        if let Shape::Bar(bar) = &self.shape {
            bar.finish_and_clear();
        }
    }
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
            write!(f, ", {} a trial", rounded(mean))?;
        }
        match self.left {
            Some(left) if left.as_secs() > 0 => write!(f, ", about {} left", rounded(left)),
            _ => Ok(()),
        }
    }
}

/// A time with as many digits as matter.
pub fn rounded(time: Duration) -> String {
    let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    if millis == 0 {
        return "<1ms".to_owned();
    }
    let unit = match millis {
        0..1_000 => 1,
        1_000..60_000 => 100,
        60_000..3_600_000 => 1_000,
        _ => 60_000,
    };
    humantime::format_duration(Duration::from_millis(millis / unit * unit)).to_string()
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
            "best 0.3, 2 running, 1 failed, 1s 200ms a trial, about 1h 2m left"
        );
        assert_eq!(Facts::default().to_string(), "no value yet");
    }
}
