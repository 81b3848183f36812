//! The bits nearest to a wish, whatever they stand for.

use mivabo_bqp::{Bqp, Distance, Limits, nearest};

/// The bits that satisfy a problem nearest to a wish, as far as so many nodes of the search find them; those of `held` stay as wished.
pub(super) fn nearest_bits(
    problem: &Bqp,
    wish: &[bool],
    distance: &Distance,
    held: &[usize],
    nodes: u64,
) -> Option<Vec<bool>> {
    let limits = Limits {
        nodes: Some(nodes),
        ..Limits::default()
    };
    let outcome = nearest(problem, wish, distance, held, limits);
    let solution = outcome.ok()?.ok()?.into_solution()?;
    Some(solution.x)
}
