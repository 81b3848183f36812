//! What every discrete oracle promises, and the answers that it gives.

use std::time::Duration;

use crate::model::Bqp;

/// Solves the discrete half of the acquisition problem.
///
/// # Contract
/// * The point of a [`Solution`] is feasible for `problem`, and `value` is the objective there; callers re-check
///   it in debug builds.
/// * `bound <= value` always, with equality when `optimality` is [`Optimality::Proved`]; no feasible point has a value
///   below `bound`, whatever the outcome.
/// * Reaching a limit is an answer, not an error. With no point found and nothing proved, the answer is
///   [`Outcome::Unknown`].
/// * Equal inputs give equal outputs, unless a time limit cut the work short. What a solver carries over from earlier
///   problems is an input.
pub trait DiscreteOracle {
    /// Minimises the objective of `problem` over its feasible points.
    ///
    /// # Errors
    /// [`Infeasible`] only when it is proved that no point exists.
    fn minimise(&mut self, problem: &Bqp, limits: Limits) -> Result<Outcome, Infeasible>;

    /// As [`minimise`](Self::minimise), with a point that may be good, such as the solution of a similar problem.
    ///
    /// It need not be feasible, nor of the right length. An oracle may ignore it, as this default does.
    ///
    /// # Errors
    /// As [`minimise`](Self::minimise).
    fn minimise_from(
        &mut self,
        problem: &Bqp,
        _start: Option<&[bool]>,
        limits: Limits,
    ) -> Result<Outcome, Infeasible> {
        self.minimise(problem, limits)
    }
}

/// When a solver may stop before it has a proof.
///
/// | field | default | range | what it does |
/// |---|---|---|---|
/// | `time` | none | | wall-clock time after which the solver stops |
/// | `nodes` | none | | number of nodes (points, for [`Exhaustive`](crate::Exhaustive)) after which it stops |
/// | `gap` | 0 | ≥ 0 | stops once value - bound ≤ gap · max(1, \|value\|) |
/// | `threads` | 1 | ≥ 1 | the most threads it may use; [`Solver`](crate::Solver) uses no more than 64 |
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Wall-clock time after which the solver stops.
    pub time: Option<Duration>,
    /// Number of nodes after which the solver stops.
    pub nodes: Option<u64>,
    /// Gap, relative to max(1, |value|), at which the solver may stop.
    pub gap: f64,
    /// The most threads the solver may use.
    pub threads: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: None,
            nodes: None,
            gap: 0.0,
            threads: 1,
        }
    }
}

/// A solver's answer when infeasibility is not proved.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// A feasible point was found.
    Found(Solution),
    /// A limit was reached before a feasible point was found: there may or may not be one.
    Unknown {
        /// No feasible point has a value below this.
        bound: f64,
        /// Number of nodes visited.
        nodes: u64,
    },
}

impl Outcome {
    /// The solution, if one was found.
    pub fn into_solution(self) -> Option<Solution> {
        match self {
            Self::Found(solution) => Some(solution),
            Self::Unknown { .. } => None,
        }
    }

    /// No feasible point has a value below this.
    pub fn bound(&self) -> f64 {
        match self {
            Self::Found(solution) => solution.bound,
            Self::Unknown { bound, .. } => *bound,
        }
    }

    /// Number of nodes visited.
    pub fn nodes(&self) -> u64 {
        match self {
            Self::Found(solution) => solution.nodes,
            Self::Unknown { nodes, .. } => *nodes,
        }
    }
}

/// A feasible point and what is proved about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// Whether the point is proved to be a minimum.
    pub optimality: Optimality,
    /// The point.
    pub x: Vec<bool>,
    /// The objective at the point.
    pub value: f64,
    /// No feasible point has a value below this.
    pub bound: f64,
    /// Number of nodes visited.
    pub nodes: u64,
}

/// What is proved about a [`Solution`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Optimality {
    /// No feasible point is better: `bound == value`.
    Proved,
    /// A limit (time, nodes or gap) stopped the proof: `bound <= value`.
    LimitReached,
}

/// It is PROVED that no point satisfies every constraint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no point satisfies every constraint")]
pub struct Infeasible;
