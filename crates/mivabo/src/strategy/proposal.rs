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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// It was waiting: enqueued, or given back.
    Queue,
    /// The initial design.
    Design,
    /// The minimum of a function drawn from the posterior.
    Thompson,
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
            Origin::Queue => "queue",
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
