//! The settings of expected improvement.

use super::local_search::LocalSearchSettings;
use crate::acquire::annealing;
use crate::surrogate::Transform;
use crate::surrogate::process;

/// Expected improvement by a Gaussian process over the parameters.
///
/// | field | default | what it is |
/// |---|---|---|
/// | `kernel` | none | which [`Kernel`](process::Kernel); none: the one that explains the outcomes best, at each fit |
/// | `outputs` | robust | what becomes of values before the model sees them |
/// | `search` | local | how the largest improvement is searched for |
/// | `draws` | yes | whether minima of functions drawn from the paper's model are among the points from which it is searched for |
/// | `stall` | 5 | outcomes without a better one after which every second ask halves length-scales, up to three times; 0: never |
/// | `turns` | 2 | of how many asks one goes to a branch that has had less than its share of the trials; 0: none |
/// | `plateau` | 0.1 | by how much each outcome that equals the best, or nearly does, up to ten, lowers the value to improve on, in deviations of the outputs (raw ones: in their own unit); from 0, not at all, to 1 |
///
/// Two outcomes that equal the best, beside the first, make a plateau; two that are at most 0.01 deviations above it make a pit, where every
/// third ask does without `plateau`. Then `plateau` is the way out, unless it is 0, and not `stall`.
///
/// Draws are made while there are no more than 200 outcomes, and where the paper's model has no more than 4,000 weights and the tables of
/// the space no more than 10,000 patterns: beyond that they take longer than everything else.
#[derive(Debug, Clone, PartialEq)]
pub struct Improvement {
    /// The kernel; none: by evidence.
    pub(crate) kernel: Option<process::Kernel>,
    /// What becomes of values before the model sees them.
    pub(crate) outputs: Transform,
    /// How the largest improvement is searched for.
    pub(crate) search: ImprovementSearch,
    /// Whether the paper's model proposes candidates.
    pub(crate) draws: bool,
    /// Outcomes without a better one after which length-scales are halved now and then; 0: never.
    pub(crate) stall: usize,
    /// By how much each outcome that equals the best, or nearly does, up to ten of them, lowers the value to improve on, in deviations of
    /// the outputs; 0: not at all.
    pub(crate) plateau: f64,
    /// Of how many asks one goes to a branch that has had less than its share of the trials; 0: none. With local search alone.
    pub(crate) turns: usize,
}

impl Default for Improvement {
    fn default() -> Self {
        Improvement {
            kernel: None,
            outputs: Transform::Robust,
            search: ImprovementSearch::Local(LocalSearchSettings::default()),
            draws: true,
            stall: 5,
            plateau: 0.1,
            turns: 2,
        }
    }
}

/// How the largest improvement is searched for.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub(crate) enum ImprovementSearch {
    /// Many candidates, and hill climbing with descents of the reals from the best few.
    Local(LocalSearchSettings),
    /// Simulated annealing.
    Annealing(annealing::AnnealingSettings),
}
