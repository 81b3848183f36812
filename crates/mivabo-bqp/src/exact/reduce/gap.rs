//! The relative gap that may stay open, shared between the parts of a problem.
//!
//! With V = Σ vₖ, stopping part k once vₖ - boundₖ <= Aₖ keeps the promise of the whole if Σ Aₖ <= gap · max(1, |V|).
//! The final V is at most the value V₀ that is known at the start, so max(1, -V₀) is safe in place of max(1, |V|).

use super::Known;
use crate::model::Quadratic;
use crate::oracle::Outcome;

/// What is left of the gap, for the parts that are left.
pub(super) struct Allowance {
    /// Of a problem in one piece: its own relative gap.
    undivided: Option<f64>,
    left: f64,
    n_left: usize,
}

impl Allowance {
    pub fn new(gap: f64, constant: f64, known: &[Known]) -> Self {
        // No value of the whole is known as long as one part has none.
        let value: Option<f64> = known.iter().map(Known::value).sum();
        let least_size = value.map_or(1.0, |value| (-value - constant).max(1.0));
        let undivided = (known.len() == 1).then_some(gap);
        Self {
            undivided,
            left: gap * least_size,
            n_left: known.len(),
        }
    }

    /// The relative gap for the next part, whose best value so far is known or not; unused shares go to later ones.
    pub fn share(&mut self, objective: &Quadratic, known: Option<f64>) -> f64 {
        let share = self.left / self.n_left.max(1) as f64;
        self.n_left = self.n_left.saturating_sub(1);
        // The part's final value is between its least and what is known.
        let most = known.unwrap_or_else(|| objective.max());
        self.undivided
            .unwrap_or_else(|| share / objective.min().abs().max(most.abs()).max(1.0))
    }

    /// Takes away what a part has used.
    pub fn spend(&mut self, outcome: &Outcome) {
        if let Outcome::Found(found) = outcome {
            self.left = (self.left - (found.value - found.bound)).max(0.0);
        }
    }
}
