//! Alternating optimisation: weights and feasible starts enter, the lowest point that was reached leaves.
//! MiVaBo, Sec. 3.3.
//!
//! ```text
//! bits ← argmin over the rows and tables of  (W b̃)ᵀ φ_d(bits)      reals fixed: branch and bound
//! reals ← descent in the polytope of         (Wᵀ a)ᵀ b̃(reals)      bits fixed: a sum of cosines
//! ```
//!
//! until neither half improves. The value never rises, every point on the way is feasible, and effort is counted in
//! nodes and rounds, never in time: equal inputs give equal outputs.

use mivabo_bqp::{Bqp, DiscreteOracle, Limits, Solver};

use super::{Feasible, improve_reals};
use crate::encoding::Encoding;
use crate::error::Error;
use crate::features::Weights;
use crate::space::{Class, Space};

/// How much work a search may do.
///
/// | field | default | what it does |
/// |---|---|---|
/// | `rounds` | 20 | the most rounds of both halves from one start |
/// | `nodes` | 30 | nodes of the branch and bound in each discrete half; its tabu search comes first and is not counted |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The most rounds from one start.
    pub rounds: usize,
    /// Nodes in each discrete half.
    pub nodes: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { rounds: 20, nodes: 30 }
    }
}

/// Where a search ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Minimum {
    /// The point.
    pub feasible: Feasible,
    /// The function there, in the model's units.
    pub value: f64,
}

/// An improvement must exceed this share of max(1, |value|), or rounding could keep a search going.
const LEAST_IMPROVEMENT: f64 = 1e-9;

/// The lowest of the points reached from `starts`; none without starts.
///
/// Where a space has no continuous parameters the discrete half alone decides, and the first start is enough.
///
/// # Errors
/// [`Error::NoProgram`] when a weight is too large for a program.
pub fn minimise(
    space: &Space,
    weights: &Weights,
    starts: &[Feasible],
    settings: Settings,
) -> Result<Option<Minimum>, Error> {
    let n_starts = if space.encoding().n_reals() == 0 { 1 } else { starts.len() };
    let mut search = Search::new(space, weights, settings);
    let mut best: Option<Minimum> = None;
    for start in starts.iter().take(n_starts) {
        let end = search.descend(start)?;
        if best.as_ref().is_none_or(|best| end.value < best.value) {
            best = Some(end);
        }
    }
    Ok(best)
}

struct Search<'a> {
    space: &'a Space,
    weights: &'a Weights,
    settings: Settings,
    solver: Solver,
    /// Whether the rows and tables depend on the reals.
    is_mixed: bool,
}

impl<'a> Search<'a> {
    fn new(space: &'a Space, weights: &'a Weights, settings: Settings) -> Search<'a> {
        let is_mixed = space.constraints().iter().any(|c| c.class() >= Class::LinearContinuous);
        Search { space, weights, settings, solver: Solver::default(), is_mixed }
    }

    fn descend(&mut self, start: &Feasible) -> Result<Minimum, Error> {
        let mut here = self.at(start.clone());
        for _ in 0..self.settings.rounds {
            let before = here.value;
            here = self.better(here, Search::discrete_half)?;
            here = self.better(here, |search, here| Ok(search.continuous_half(here)))?;
            if here.value >= before {
                break;
            }
        }
        Ok(here)
    }

    /// What a half proposes, where that is better than what there is.
    fn better(
        &mut self,
        here: Minimum,
        half: impl FnOnce(&mut Self, &Feasible) -> Result<Option<Feasible>, Error>,
    ) -> Result<Minimum, Error> {
        let proposed = half(self, &here.feasible)?.map(|feasible| self.at(feasible));
        let least = LEAST_IMPROVEMENT * here.value.abs().max(1.0);
        Ok(proposed.filter(|there| there.value < here.value - least).unwrap_or(here))
    }

    fn at(&self, feasible: Feasible) -> Minimum {
        let value = self.weights.value(&feasible.code().bits, &feasible.code().unit);
        Minimum { feasible, value }
    }

    fn discrete_half(&mut self, here: &Feasible) -> Result<Option<Feasible>, Error> {
        let (encoding, unit) = (self.space.encoding(), &here.code().unit);
        let n_bits = encoding.n_bits();
        if n_bits == 0 {
            return Ok(None);
        }
        let program = if self.is_mixed {
            self.weights.program_given_reals(&encoding.given_reals(unit)?, unit)?
        } else {
            self.weights.program_given_reals(encoding.problem(), unit)?
        };
        let limits = Limits { nodes: Some(self.settings.nodes), ..Limits::default() };
        self.solver.start = start(encoding, &program, &here.code().bits);
        // A proof that there is no point can only be rounding at the edge of a row: the present point stays.
        let Ok(outcome) = self.solver.minimise(&program, limits) else { return Ok(None) };
        let solution = outcome.into_solution();
        Ok(solution.and_then(|solution| Feasible::of_code(self.space, &solution.x[..n_bits], unit)))
    }

    fn continuous_half(&self, here: &Feasible) -> Option<Feasible> {
        let bits = &here.code().bits;
        let unit = improve_reals(self.space, bits, &self.weights.given_bits(bits), &here.code().unit);
        Feasible::of_code(self.space, bits, &unit)
    }
}

/// The present bits as a start. Programs of a higher order have further bits, for which there is no start.
fn start(encoding: &Encoding, program: &Bqp, bits: &[bool]) -> Option<Vec<bool>> {
    (program.n() == encoding.n_bits()).then(|| bits.to_vec())
}
