//! DIRECT: a bounded function over the unit box and a number of evaluations enter, a point near the global minimum
//! leaves. Jones, Perttunen & Stuckman (1993); one of the global solvers named in MiVaBo, Sec. 3.3.
//!
//! Boxes are trisected along their longest sides. Each round divides those that could hold the minimum for some rate
//! of change K: the lower right convex hull of (size, value), where the value could fall by a share of the best.

use mivabo_bqp::interrupt;

use super::lbfgs::Minimum;

/// A box must promise to improve on the best value by this share of it.
const PROMISE: f64 = 1e-4;

/// No side is divided more often: 3⁻³⁰ is below the resolution of a point.
const MAX_LEVEL: u8 = 30;

struct Cell {
    centre: Vec<f64>,
    value: f64,
    /// How often each side was divided by three.
    levels: Vec<u8>,
}

impl Cell {
    /// Half the diagonal.
    fn size(&self) -> f64 {
        0.5 * self
            .levels
            .iter()
            .map(|l| 9_f64.powi(-i32::from(*l)))
            .sum::<f64>()
            .sqrt()
    }

    fn longest(&self) -> Vec<usize> {
        let least = self.levels.iter().copied().min().unwrap_or(MAX_LEVEL);
        (0..self.levels.len())
            .filter(|k| self.levels[*k] == least && least < MAX_LEVEL)
            .collect()
    }
}

/// Minimises `f` over `bounds` with at most `max_evaluations` evaluations (one is always made). Values that are no
/// numbers count as worse than all others. Coordinates with equal bounds are held. `is_converged` is never claimed.
///
/// ```
/// use mivabo::math::direct::minimise;
///
/// let found = minimise(|x| (x[0] - 0.3).abs(), &[(0.0, 1.0)], 200);
///
/// assert!(found.value < 1e-4);
/// ```
pub fn minimise(
    mut f: impl FnMut(&[f64]) -> f64,
    bounds: &[(f64, f64)],
    max_evaluations: usize,
) -> Minimum {
    let free: Vec<usize> = (0..bounds.len())
        .filter(|k| bounds[*k].0 < bounds[*k].1)
        .collect();
    let place = |u: &[f64]| {
        let mut x: Vec<f64> = bounds.iter().map(|b| b.0).collect();
        for (k, u) in free.iter().zip(u) {
            x[*k] = bounds[*k].0 + u * (bounds[*k].1 - bounds[*k].0);
        }
        x
    };
    let mut n_evaluations = 0;
    let mut ask = |centre: Vec<f64>, levels: Vec<u8>| {
        n_evaluations += 1;
        interrupt::check();
        let value = f(&place(&centre));
        Cell {
            centre,
            value: if value.is_finite() { value } else { f64::MAX },
            levels,
        }
    };
    let mut cells = vec![ask(vec![0.5; free.len()], vec![0; free.len()])];
    let mut left = max_evaluations.saturating_sub(1);
    while left >= 2 {
        let before = left;
        for at in promising(&cells) {
            divide(&mut cells, at, &mut left, &mut ask);
        }
        if left == before {
            break;
        }
    }
    let best = cells
        .iter()
        .min_by(|a, b| a.value.total_cmp(&b.value))
        .map(|c| (place(&c.centre), c.value));
    let (x, value) = best.unwrap_or_default();
    Minimum {
        x,
        value,
        n_evaluations,
        is_converged: false,
    }
}

/// Samples on both sides along every longest side; those with the best samples keep the largest boxes.
fn divide(
    cells: &mut Vec<Cell>,
    at: usize,
    left: &mut usize,
    ask: &mut impl FnMut(Vec<f64>, Vec<u8>) -> Cell,
) {
    let mut pairs = Vec::new();
    for k in cells[at].longest() {
        if *left < 2 {
            break;
        }
        *left -= 2;
        let step = 3_f64.powi(-i32::from(cells[at].levels[k]) - 1);
        let beside = |by: f64| {
            let mut centre = cells[at].centre.clone();
            centre[k] += by;
            centre
        };
        let levels = cells[at].levels.clone();
        pairs.push((
            k,
            [
                ask(beside(-step), levels.clone()),
                ask(beside(step), levels),
            ],
        ));
    }
    let least = |pair: &[Cell; 2]| pair[0].value.min(pair[1].value);
    pairs.sort_by(|a, b| least(&a.1).total_cmp(&least(&b.1)));
    for (k, pair) in pairs {
        cells[at].levels[k] += 1;
        for mut cell in pair {
            cell.levels.clone_from(&cells[at].levels);
            cells.push(cell);
        }
    }
}

/// The boxes on the lower right convex hull of (size, value).
fn promising(cells: &[Cell]) -> Vec<usize> {
    let open = (0..cells.len()).filter(|i| !cells[*i].longest().is_empty());
    let mut order: Vec<(f64, f64, usize)> =
        open.map(|i| (cells[i].size(), cells[i].value, i)).collect();
    order.sort_by(|a, b| {
        a.0.total_cmp(&b.0)
            .then(b.1.total_cmp(&a.1))
            .then(b.2.cmp(&a.2))
    });
    let best = cells.iter().map(|c| c.value).fold(f64::MAX, f64::min);
    let mut hull: Vec<(f64, f64, usize)> = Vec::new();
    for next in order {
        // Of equal sizes the last is the lowest; sizes equal up to rounding are equal.
        while hull
            .last()
            .is_some_and(|top| next.0 - top.0 <= 1e-12 * next.0 || top.1 >= next.1)
        {
            hull.pop();
        }
        while hull.len() >= 2 && is_above(hull[hull.len() - 2], hull[hull.len() - 1], next) {
            hull.pop();
        }
        hull.push(next);
    }
    let promises = |i: usize| match hull.get(i + 1) {
        None => true,
        Some(next) => {
            let slope = (next.1 - hull[i].1) / (next.0 - hull[i].0);
            hull[i].1 - slope * hull[i].0 <= best - PROMISE * best.abs()
        }
    };
    (0..hull.len())
        .filter(|i| promises(*i))
        .map(|i| hull[i].2)
        .collect()
}

fn is_above(a: (f64, f64, usize), b: (f64, f64, usize), c: (f64, f64, usize)) -> bool {
    (b.1 - a.1) * (c.0 - a.0) > (c.1 - a.1) * (b.0 - a.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Branin's function over its usual box; three global minima of 0.397887.
    fn branin(x: &[f64]) -> f64 {
        use std::f64::consts::PI;
        let (a, b) = (15.0 * x[0] - 5.0, 15.0 * x[1]);
        (b - 5.1 * a * a / (4.0 * PI * PI) + 5.0 * a / PI - 6.0).powi(2)
            + 10.0 * (1.0 - 1.0 / (8.0 * PI)) * a.cos()
            + 10.0
    }

    /// Rastrigin's function, with its minimum 0 away from any centre of a box.
    fn rastrigin(x: &[f64]) -> f64 {
        let term = |x: f64| {
            let t = 10.24 * (x - 0.437);
            t * t - 10.0 * (2.0 * std::f64::consts::PI * t).cos() + 10.0
        };
        x.iter().map(|x| term(*x)).sum()
    }

    #[test]
    fn the_global_minimum_is_found_among_many() {
        assert!(minimise(branin, &[(0.0, 1.0); 2], 500).value < 0.3980);
        assert!(minimise(rastrigin, &[(0.0, 1.0); 2], 3000).value < 1e-3);
    }

    #[test]
    fn the_number_of_evaluations_is_kept_and_held_coordinates_stay() {
        let mut n = 0;
        let f = |x: &[f64]| {
            n += 1;
            assert_eq!(x[1], 0.5);
            x[0]
        };

        let found = minimise(f, &[(0.0, 1.0), (0.5, 0.5)], 77);

        assert!(n <= 77 && found.n_evaluations == n && found.value < 1e-3);
    }
}
