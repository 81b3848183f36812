//! Alternating optimisation of a drawn function over bits and reals in turn, from feasible starts. MiVaBo, Sec. 3.3.
//!
//! ```text
//! bits ← argmin over the rows and tables of  (W b̃)ᵀ φ_d(bits)      reals fixed: branch and bound
//! reals ← descent in the polytope of         (Wᵀ a)ᵀ b̃(reals)      bits fixed: a sum of cosines
//! ```
//!
//! until neither half improves. The value never rises, every point on the way is feasible, and effort is counted in
//! moves, nodes and rounds, never in time: equal inputs give equal outputs.
//!
//! From every start the discrete halves are short tabu walks. The lowest end is then gone on from with branch and bound:
//! most of the work goes where it counts.

use mivabo_bqp::{Bqp, DiscreteOracle, Limits, Solver, Tabu};

use crate::acquire::Error;
use crate::acquire::{Feasible, Lowest, is_mixed};
use crate::encoding::region::{Region, minimise};
use crate::encoding::{Encoded, Encoding};
use crate::features::Weights;
use crate::math::lbfgs;
use crate::space::Space;

/// How much work a search may do.
///
/// | field | default | what it does |
/// |---|---|---|
/// | `rounds` | 20 | the most rounds of both halves from one start |
/// | `moves` | 1,024 up to 10 bits, then 50 + bits | moves of the tabu walk in each discrete half |
/// | `nodes` | 30 | nodes of the branch and bound in each discrete half from the lowest end on |
/// | `reals` | L-BFGS | how the continuous half is solved |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AlternatingSettings {
    /// The most rounds from one start.
    pub rounds: usize,
    /// Moves in each discrete half; none for the default.
    pub moves: Option<u64>,
    /// Nodes in each discrete half from the lowest end on.
    pub nodes: u64,
    /// How the continuous half is solved.
    pub reals: Reals,
}

/// How a sum of cosines is minimised over the region that fixed bits leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Reals {
    /// By quasi-Newton steps from where the search is: a local minimum.
    #[default]
    Lbfgs,
    /// By DIRECT over the whole region, refined by quasi-Newton steps.
    Direct,
}

/// Evaluations of DIRECT in one continuous half.
const EVALUATIONS: usize = 500;

impl Reals {
    /// The lowest point of the region that is found; `starts` and `descent` are for [`Lbfgs`](Reals::Lbfgs).
    pub(super) fn minimise(
        self,
        region: &Region<'_>,
        f: &dyn minimise::Smooth,
        starts: &[Vec<f64>],
        descent: minimise::DescentSettings,
    ) -> Option<lbfgs::Minimum> {
        match self {
            Reals::Lbfgs => region.minimise(f, starts, descent),
            Reals::Direct => region.minimise_direct(f, EVALUATIONS),
        }
    }
}

impl Default for AlternatingSettings {
    fn default() -> Self {
        AlternatingSettings {
            rounds: 20,
            moves: None,
            nodes: 30,
            reals: Reals::Lbfgs,
        }
    }
}

/// A continuous half is one of several, so it need not converge each time.
const DESCENT: minimise::DescentSettings = minimise::DescentSettings {
    inner: lbfgs::LbfgsSettings {
        max_iterations: 50,
        tolerance: 1e-6,
        memory: 8,
    },
    max_rounds: 10,
};

/// Bits up to which each start is gone from both ways.
const BOTH_WAYS: usize = 16;

/// An improvement must exceed this share of max(1, |value|), or rounding could keep a search going.
const LEAST_IMPROVEMENT: f64 = 1e-9;

/// The lowest of the points reached from `starts`; none without starts.
///
/// Where a space has no continuous parameters the discrete half alone decides, and the first start is enough. The
/// discrete halves from the lowest end on are solved by a [`Solver`].
///
/// # Errors
/// [`Error::Features`] when a weight is too large for a program.
pub(crate) fn minimise(
    space: &Space,
    weights: &Weights,
    starts: &[Feasible],
    settings: AlternatingSettings,
) -> Result<Option<Lowest>, Error> {
    minimise_with(&mut Solver::default(), space, weights, starts, settings)
}

/// As [`minimise`], with another oracle for the discrete halves.
///
/// # Errors
/// As [`minimise`].
pub(crate) fn minimise_with(
    oracle: &mut dyn DiscreteOracle,
    space: &Space,
    weights: &Weights,
    starts: &[Feasible],
    settings: AlternatingSettings,
) -> Result<Option<Lowest>, Error> {
    let mut search = Search {
        space,
        weights,
        settings,
        oracle,
        is_mixed: is_mixed(space),
    };
    // Without reals every start has the same discrete half.
    let is_discrete = space.encoding().n_reals() == 0;
    let n_starts = if is_discrete { 1 } else { starts.len() };
    let mut best: Option<Lowest> = None;
    for (k, start) in starts.iter().take(n_starts).enumerate() {
        let start = search.at(start.clone());
        for end in search.ends(start, k)? {
            if best.as_ref().is_none_or(|best| end.value < best.value) {
                best = Some(end);
            }
        }
    }
    best.map(|best| search.descend(best, Half::Tree))
        .transpose()
}

/// How a discrete half is solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    Walk,
    Tree,
}

struct Search<'a> {
    space: &'a Space,
    weights: &'a Weights,
    settings: AlternatingSettings,
    oracle: &'a mut dyn DiscreteOracle,
    /// Whether the rows and tables depend on the reals.
    is_mixed: bool,
}

impl Search<'_> {
    /// Where the walks from start number `k` end. Which half comes first decides into which valley a walk goes: both ways are
    /// gone, or where there are many bits one way from every other start.
    fn ends(&mut self, start: Lowest, k: usize) -> Result<Vec<Lowest>, Error> {
        let encoding = self.space.encoding();
        if encoding.n_reals() == 0 {
            return Ok(vec![start]);
        }
        let is_small = encoding.n_bits() <= BOTH_WAYS;
        let is_odd = k % 2 == 1;
        let mut ends = Vec::new();
        if is_small || is_odd {
            let start = start.clone();
            let moved = self.better(start, |search, here| Ok(search.continuous_half(here)))?;
            ends.push(self.descend(moved, Half::Walk)?);
        }
        if is_small || !is_odd {
            ends.push(self.descend(start, Half::Walk)?);
        }
        Ok(ends)
    }

    fn descend(&mut self, start: Lowest, how: Half) -> Result<Lowest, Error> {
        let mut here = start;
        for _ in 0..self.settings.rounds {
            let before = here.value;
            here = self.better(here, |search, here| search.discrete_half(here, how))?;
            // Without reals there is nothing to alternate with.
            if self.space.encoding().n_reals() == 0 {
                break;
            }
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
        here: Lowest,
        half: impl FnOnce(&mut Self, &Feasible) -> Result<Option<Feasible>, Error>,
    ) -> Result<Lowest, Error> {
        let proposed = half(self, &here.feasible)?.map(|feasible| self.at(feasible));
        let least = LEAST_IMPROVEMENT * here.value.abs().max(1.0);
        Ok(proposed
            .filter(|there| there.value < here.value - least)
            .unwrap_or(here))
    }

    fn at(&self, feasible: Feasible) -> Lowest {
        let Encoded { bits, unit } = feasible.code();
        let value = self.weights.value(bits, unit);
        Lowest { feasible, value }
    }

    fn discrete_half(&mut self, here: &Feasible, how: Half) -> Result<Option<Feasible>, Error> {
        let (encoding, unit) = (self.space.encoding(), &here.code().unit);
        let n_bits = encoding.n_bits();
        if n_bits == 0 {
            return Ok(None);
        }
        let program = self.program(unit)?;
        let start = start(encoding, &program, &here.code().bits);
        let found = match how {
            Half::Walk => self.walk(&program, start.as_deref()),
            Half::Tree => self.tree(&program, start.as_deref()),
        };
        Ok(found.and_then(|bits| Feasible::of_code(self.space, &bits[..n_bits], unit)))
    }

    /// The function of the bits at these reals, under the rows and tables that hold there.
    fn program(&self, unit: &[f64]) -> Result<Bqp, Error> {
        let encoding = self.space.encoding();
        let program = if self.is_mixed {
            let problem = encoding.given_reals(unit)?;
            self.weights.program_given_reals(&problem, unit)
        } else {
            // No row depends on the reals: they need not be made anew.
            self.weights.program_given_reals(encoding.problem(), unit)
        };
        Ok(program?)
    }

    fn walk(&self, program: &Bqp, start: Option<&[bool]>) -> Option<Vec<bool>> {
        let tabu = Tabu {
            moves: Some(self.n_moves(program.n() as u64)),
            ..Tabu::default()
        };
        tabu.minimise(program, start).map(|(bits, _)| bits)
    }

    fn n_moves(&self, n_bits: u64) -> u64 {
        // So many moves visit all codes of ten bits.
        let default = if n_bits <= 10 { 1024 } else { 50 + n_bits };
        self.settings.moves.unwrap_or(default)
    }

    fn tree(&mut self, program: &Bqp, start: Option<&[bool]>) -> Option<Vec<bool>> {
        let limits = Limits {
            nodes: Some(self.settings.nodes),
            ..Limits::default()
        };
        // A proof that there is no point can only be rounding at the edge of a row: the present point stays.
        let outcome = self.oracle.minimise_from(program, start, limits).ok()?;
        outcome.into_solution().map(|solution| solution.x)
    }

    fn continuous_half(&self, here: &Feasible) -> Option<Feasible> {
        let Encoded { bits, unit } = here.code();
        let objective = self.weights.given_bits(bits);
        let slope = |x: &[f64], gradient: &mut [f64]| objective.value_and_gradient(x, gradient);
        let region = self.space.encoding().given_bits(bits).ok()?;
        let starts = std::slice::from_ref(unit);
        let end = self
            .settings
            .reals
            .minimise(&region, &slope, starts, DESCENT)?;
        Feasible::of_code(self.space, bits, &end.x)
    }
}

/// The present bits as a start. Programs of a higher order have further bits, for which there is no start.
fn start(encoding: &Encoding, program: &Bqp, bits: &[bool]) -> Option<Vec<bool>> {
    (program.n() == encoding.n_bits()).then(|| bits.to_vec())
}
