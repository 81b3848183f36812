//! The best point so far, and the answers that it makes.

use crate::model::Bqp;
use crate::oracle::{Optimality, Outcome, Solution};

/// A feasible point and the objective there.
#[derive(Debug, Clone)]
pub(super) struct Incumbent {
    pub x: Vec<bool>,
    pub value: f64,
}

impl Incumbent {
    pub fn new(problem: &Bqp, x: Vec<bool>) -> Incumbent {
        let value = problem.objective().value(&x);
        Incumbent { x, value }
    }

    /// The answer where nothing is better.
    pub fn proved(self, nodes: u64) -> Outcome {
        Outcome::Found(Solution {
            optimality: Optimality::Proved,
            x: self.x,
            value: self.value,
            bound: self.value,
            nodes,
        })
    }
}

/// The answer where a limit was reached while nothing below `bound` was possible.
pub(super) fn stopped(best: Option<Incumbent>, bound: f64, nodes: u64) -> Outcome {
    let Some(Incumbent { x, value }) = best else {
        return Outcome::Unknown { bound, nodes };
    };
    Outcome::Found(Solution {
        optimality: Optimality::LimitReached,
        x,
        value,
        // The bound of an open node may be above the best point: it holds nothing better.
        bound: bound.min(value),
        nodes,
    })
}
