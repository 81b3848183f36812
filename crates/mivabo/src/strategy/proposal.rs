//! What a proposer gives: a feasible point, and who proposed it.

use std::fmt;

use crate::acquire::Feasible;
use crate::space::Point;
use crate::surrogate::process::Kernel;

/// A feasible point, and who proposed it.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// The point.
    pub feasible: Feasible,
    /// Who proposed it.
    pub origin: Origin,
}

/// Who proposed a point.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Origin {
    /// It was waiting: enqueued, or given back.
    Queue,
    /// The point of all defaults.
    Defaults,
    /// The initial design.
    Design,
    /// The minimum of a function drawn from the posterior.
    Thompson,
    /// The same, with a proof: no feasible point is lower there by more than the gap.
    Certified {
        /// In the units of the goal.
        gap: f64,
    },
    /// The largest expected improvement by a Gaussian process with this kernel.
    Improvement(Kernel),
    /// The same, found near the minimum of a function that was drawn from the posterior of the paper's model.
    Drawn(Kernel),
    /// The largest expected improvement on the best outcome of a branch that had less than its share of the trials.
    Turn(Kernel),
    /// Chance: the strategy is random, or what the model wished for was tried before.
    Random,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Origin::Certified { gap } => return write!(f, "thompson, gap {}", Rounded(*gap)),
            Origin::Queue => "queue",
            Origin::Defaults => "defaults",
            Origin::Design => "design",
            Origin::Thompson => "thompson",
            Origin::Improvement(Kernel::Additive) => "improvement",
            Origin::Improvement(Kernel::Product) => "improvement, product kernel",
            Origin::Drawn(Kernel::Additive) => "improvement, by a Thompson sample",
            Origin::Drawn(Kernel::Product) => "improvement, product kernel, by a Thompson sample",
            Origin::Turn(Kernel::Additive) => "improvement, the turn of a branch",
            Origin::Turn(Kernel::Product) => "improvement, product kernel, the turn of a branch",
            Origin::Random => "random",
        })
    }
}

/// A number that is not negative with two digits, rounded up: a gap that is shown holds.
struct Rounded(f64);

impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounded = rounded_up(self.0);
        if rounded == 0.0 || (1e-4..1e6).contains(&rounded) {
            write!(f, "{rounded}")
        } else {
            write!(f, "{rounded:e}")
        }
    }
}

fn rounded_up(x: f64) -> f64 {
    match two_digits(x) {
        // A twentieth of the second digit's unit more is rounded to the next one.
        below if below < x => two_digits(x + 0.05 * 10_f64.powf(x.log10().floor())),
        above => above,
    }
}

fn two_digits(x: f64) -> f64 {
    format!("{x:.1e}").parse().unwrap_or(x)
}

/// The point of the best posterior mean.
#[derive(Debug, Clone, PartialEq)]
pub struct Recommendation {
    pub(crate) feasible: Feasible,
    pub(crate) mean: f64,
}

impl Recommendation {
    /// The point, which satisfies every constraint.
    pub fn point(&self) -> &Point {
        self.feasible.point()
    }

    /// The value that is expected there: by the model, or what was told where there is no model.
    pub fn mean(&self) -> f64 {
        self.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_shown_with_two_digits_and_never_too_small() {
        let shown = |gap| Origin::Certified { gap }.to_string();

        assert_eq!(shown(0.0), "thompson, gap 0");
        assert_eq!(shown(0.0112), "thompson, gap 0.012");
        assert_eq!(shown(0.0118), "thompson, gap 0.012");
        assert_eq!(shown(1.0), "thompson, gap 1");
        assert_eq!(shown(9.91), "thompson, gap 10");
        assert_eq!(shown(344.0), "thompson, gap 350");
        assert_eq!(shown(1.21e-9), "thompson, gap 1.3e-9");
        assert_eq!(shown(2.5e12), "thompson, gap 2.5e12");
    }
}
