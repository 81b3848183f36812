//! The continuous half: bits, a sum of cosines and a feasible start enter, feasible coordinates leave that are no worse.

use super::free_reals;
use crate::continuous::lbfgs;
use crate::features::CosineSum;
use crate::space::Space;

/// How often the way back from an infeasible end is halved.
const HALVINGS: usize = 20;

/// Steps of the descent. It is one half of an alternation, so it need not converge each time.
const DESCENT: lbfgs::Settings = lbfgs::Settings { max_iterations: 50, tolerance: 1e-6, memory: 8 };

/// Coordinates that are feasible together with `bits` and where `objective` is at most what it is at `start`.
///
/// Descends in the box by L-BFGS. Where the end violates a constraint, goes back along the segment to the start until
/// every constraint holds. Coordinates of inactive parameters stay where they are. `start` must be feasible; if it is
/// not, it is the answer.
pub fn improve_reals(space: &Space, bits: &[bool], objective: &CosineSum, start: &[f64]) -> Vec<f64> {
    let Some(point) = space.encoding().decode(bits, start).ok() else { return start.to_vec() };
    let free = free_reals(space, &point);
    if !free.contains(&true) {
        return start.to_vec();
    }
    let bounds: Vec<(f64, f64)> =
        free.iter().zip(start).map(|(free, x)| if *free { (0.0, 1.0) } else { (*x, *x) }).collect();
    let descent = |x: &[f64], gradient: &mut [f64]| objective.value_and_gradient(x, gradient);
    let end = lbfgs::minimise(descent, start, &bounds, DESCENT).x;
    last_feasible(space, bits, start, &end)
        .filter(|x| objective.value(x) <= objective.value(start))
        .unwrap_or_else(|| start.to_vec())
}

/// The end, or the farthest point of the segment from `start` to it that bisection finds to be feasible.
fn last_feasible(space: &Space, bits: &[bool], start: &[f64], end: &[f64]) -> Option<Vec<f64>> {
    let is_feasible = |unit: &[f64]| {
        space.encoding().decode(bits, unit).is_ok_and(|point| space.check(&point).is_feasible())
    };
    if is_feasible(end) {
        return Some(end.to_vec());
    }
    let (mut inside, mut outside, mut found) = (0.0, 1.0, None);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (inside + outside);
        let unit: Vec<f64> =
            start.iter().zip(end).map(|(s, e)| (s + middle * (e - s)).clamp(0.0, 1.0)).collect();
        if is_feasible(&unit) {
            (inside, found) = (middle, Some(unit));
        } else {
            outside = middle;
        }
    }
    found
}
