//! Tiny problems: a walk through all 2ⁿ points, each one flip from the last.

use crate::model::Bqp;

use super::state::State;

/// The best feasible point; the first of equals in the order of the reflected Gray code.
pub(super) fn walk_everywhere(problem: &Bqp) -> Option<Vec<bool>> {
    let mut state = State::new(problem);
    let (mut best, mut least) = (None, f64::INFINITY);
    let n_points = 1_u64 << problem.n();
    for visited in 1..=n_points {
        let value = state.objective().value();
        if value < least && holds(&state, problem) {
            (best, least) = (Some(state.x().to_vec()), value);
        }
        if visited < n_points {
            // The reflected Gray code: point k differs from the one before at the lowest 1 of k.
            state.flip(visited.trailing_zeros() as usize);
        }
    }
    best
}

/// The cheap, incremental answers come first; the problem's own decides.
fn holds(state: &State, problem: &Bqp) -> bool {
    state.is_feasible() && state.groups().hold(state.x()) && problem.is_feasible(state.x())
}
