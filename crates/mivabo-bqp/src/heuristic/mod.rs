//! Tabu search: a good feasible point in little time, without any proof.

mod dense;
mod gray;
mod groups;
mod rows;
mod search;
mod state;
mod tables;
#[cfg(test)]
mod tests;
mod walk;
mod weight;

use crate::model::Bqp;

use search::{Search, Until};

/// Up to so many bits, all points may be visited.
const LARGEST_WALKED: usize = 16;

/// A heuristic for good points in little time: tabu search on one- and two-flip moves.
///
/// ```text
/// minimise  F(x) = f(x) + Σ weight · violation       over walks that never undo a recent flip
/// ```
///
/// * Rows (≤ and =, linear or quadratic) are penalised by how far they are missed, tables by the Hamming distance to
///   the nearest allowed pattern. Each weight rises while its constraint is violated and falls while it holds.
/// * One-hot groups (rows Σ xᵢ = 1 that do not overlap) always hold: their moves swap the bit that is on.
/// * With rows, pairs of one bit on and one off are looked at as well where no flip improves: at feasible points, and
///   in one walk of four everywhere.
/// * A walk that stops paying is restarted, from a perturbed good point or from a random one.
/// * When n ≤ 16 and 2ⁿ is within the budget, all points are visited instead, one flip each: the answer is then a
///   minimum, up to rounding.
///
/// | field | default | range | what it does |
/// |---|---|---|---|
/// | `seed` | 0 | | breaks ties, perturbs and restarts |
/// | `moves` | 600 + 35·n | | the budget; a move costs O(n + size of the constraints), 0.15 to 0.5 µs at n = 50 |
///
/// Effort is counted in moves, never in time: equal inputs give equal outputs.
///
/// Reference: F. Glover, Z. Lü & J.-K. Hao (2010), Diversification-driven tabu search for unconstrained binary
/// quadratic problems, 4OR 8.
///
/// ```
/// use mivabo_bqp::{Bqp, Quadratic, Row, RowRelation, Tabu};
///
/// // The best two of three items.
/// let mut problem = Bqp::new(3);
/// problem.set_objective(Quadratic::new(0.0, [(0, -3.0), (1, -2.0), (2, -2.0)], [(0, 2, -1.0)]))?;
/// let taken = Quadratic::new(0.0, (0..3).map(|i| (i, 1.0)), []);
/// problem.add_row(Row::new("at most two", taken, RowRelation::LessEqual, 2.0))?;
///
/// let found = Tabu::default().minimise(&problem, None);
/// assert_eq!(found, Some((vec![true, false, true], -6.0)));
/// # Ok::<(), mivabo_bqp::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tabu {
    /// Breaks ties, perturbs and restarts.
    pub seed: u64,
    /// The number of moves; none for 600 + 35·n.
    pub moves: Option<u64>,
}

impl Tabu {
    /// The best feasible point found, and the objective there. None when none was found, which proves nothing.
    ///
    /// The walk begins at `start` where it is given, and at 0 otherwise; a feasible `start` is never made worse.
    ///
    /// # Panics
    /// When `start` does not have `n` bits.
    pub fn minimise(&self, problem: &Bqp, start: Option<&[bool]>) -> Option<(Vec<bool>, f64)> {
        self.minimise_until(problem, start, f64::NEG_INFINITY, &mut || false)
    }

    /// As [`minimise`](Self::minimise), but stops as soon as a value at or below `target` is found, or `stop` says
    /// so, which is asked every few hundred moves. A visit of all points (at most 2¹⁶ flips) is not stopped.
    ///
    /// # Panics
    /// When `start` does not have `n` bits.
    pub fn minimise_until(
        &self,
        problem: &Bqp,
        start: Option<&[bool]>,
        target: f64,
        stop: &mut dyn FnMut() -> bool,
    ) -> Option<(Vec<bool>, f64)> {
        let n = problem.n();
        assert!(
            start.is_none_or(|x| x.len() == n),
            "the start must have the problem's {n} bits"
        );
        let moves = self.moves.unwrap_or(600 + 35 * n as u64);
        let found = if n <= LARGEST_WALKED && 1_u64 << n <= moves {
            gray::walk_everywhere(problem)
        } else {
            let until = Until {
                moves,
                target,
                stop,
            };
            let first = start.map_or_else(|| vec![false; n], <[bool]>::to_vec);
            Search::new(problem, self.seed, until).run(first)
        };
        // The start competes by its exact value: the search compares values that carry rounding errors.
        let start = start.filter(|x| problem.is_feasible(x));
        let candidates = found.into_iter().chain(start.map(<[bool]>::to_vec));
        let valued = candidates.map(|x| valued(problem, x));
        valued.min_by(|a, b| a.1.total_cmp(&b.1))
    }
}

fn valued(problem: &Bqp, x: Vec<bool>) -> (Vec<bool>, f64) {
    let value = problem.objective().value(&x);
    (x, value)
}
