//! DIRECT (Jones, Perttunen & Stuckman 1993): looks for the global minimum of a function over a box without gradients.
//! MiVaBo, Sec. 3.3 names it beside L-BFGS.
//!
//! Boxes are trisected along their longest sides. Each round divides those that could hold the minimum for some rate
//! of change K: the lower right convex hull of (size, value), where the value could fall by a share of the best.

use mivabo_bqp::interrupt;

use super::lbfgs::Minimum;

/// A box must promise to improve on the best value by this share of it.
const PROMISE: f64 = 1e-4;

/// No side is divided more often: 3⁻³⁰ is below the resolution of a point.
const MAX_LEVEL: u8 = 30;

/// Sizes that differ by less than this share of them are equal up to rounding.
const SAME_SIZE: f64 = 1e-12;

/// A box of the unit cube.
struct Cell {
    centre: Vec<f64>,
    value: f64,
    /// How often each side was divided by three.
    levels: Vec<u8>,
}

impl Cell {
    /// Half the diagonal.
    fn size(&self) -> f64 {
        let sides = self.levels.iter().map(|l| 9_f64.powi(-i32::from(*l)));
        0.5 * sides.sum::<f64>().sqrt()
    }

    /// The sides to divide; none where they are as short as they may be.
    fn longest(&self) -> Vec<usize> {
        let least = self.levels.iter().copied().min().unwrap_or(MAX_LEVEL);
        (0..self.levels.len())
            .filter(|k| self.levels[*k] == least && least < MAX_LEVEL)
            .collect()
    }
}

/// Minimises `f` over `bounds` with at most `max_evaluations` evaluations (one is always made). Values that are not
/// finite count as worse than all others. Coordinates with equal bounds are held. `is_converged` is never claimed.
pub(crate) fn minimise(
    f: impl FnMut(&[f64]) -> f64,
    bounds: &[(f64, f64)],
    max_evaluations: usize,
) -> Minimum {
    let is_free = |k: &usize| bounds[*k].0 < bounds[*k].1;
    let mut search = Search {
        f,
        bounds,
        free: (0..bounds.len()).filter(is_free).collect(),
        cells: Vec::new(),
        max_evaluations,
        n_evaluations: 0,
    };
    search.run();
    search.minimum()
}

struct Search<'a, F> {
    f: F,
    bounds: &'a [(f64, f64)],
    /// The coordinates that are not held; a cell has these alone.
    free: Vec<usize>,
    cells: Vec<Cell>,
    max_evaluations: usize,
    n_evaluations: usize,
}

impl<F: FnMut(&[f64]) -> f64> Search<'_, F> {
    fn run(&mut self) {
        let n = self.free.len();
        let whole = self.cell(vec![0.5; n], vec![0; n]);
        self.cells.push(whole);
        while self.has_pair_left() {
            let before = self.n_evaluations;
            for at in promising(&self.cells) {
                self.divide(at);
            }
            // No box can be divided any further.
            if self.n_evaluations == before {
                break;
            }
        }
    }

    /// Whether both sides of a box may still be asked for.
    fn has_pair_left(&self) -> bool {
        self.n_evaluations + 2 <= self.max_evaluations
    }

    /// Samples on both sides along every longest side; those with the best samples keep the largest boxes.
    fn divide(&mut self, at: usize) {
        let mut pairs = Vec::new();
        for side in self.cells[at].longest() {
            if !self.has_pair_left() {
                break;
            }
            pairs.push(self.sides(at, side));
        }
        pairs.sort_by(|a, b| a.least().total_cmp(&b.least()));
        for pair in pairs {
            self.cut(at, pair);
        }
    }

    /// The samples on both sides of a cell, a third of its side away.
    fn sides(&mut self, at: usize, side: usize) -> Sides {
        let step = 3_f64.powi(-i32::from(self.cells[at].levels[side]) - 1);
        let cells = [self.beside(at, side, -step), self.beside(at, side, step)];
        Sides { side, cells }
    }

    /// Cuts a cell in three. What is cut off first stays the largest: later cuts shorten the cell in other directions too.
    fn cut(&mut self, at: usize, Sides { side, cells }: Sides) {
        self.cells[at].levels[side] += 1;
        for mut cell in cells {
            cell.levels.clone_from(&self.cells[at].levels);
            self.cells.push(cell);
        }
    }

    /// A cell with its centre moved along one side.
    fn beside(&mut self, at: usize, side: usize, by: f64) -> Cell {
        let cell = &self.cells[at];
        let (mut centre, levels) = (cell.centre.clone(), cell.levels.clone());
        centre[side] += by;
        self.cell(centre, levels)
    }

    fn cell(&mut self, centre: Vec<f64>, levels: Vec<u8>) -> Cell {
        self.n_evaluations += 1;
        interrupt::check();
        let point = self.place(&centre);
        let value = comparable((self.f)(&point));
        Cell {
            centre,
            value,
            levels,
        }
    }

    /// The point of the bounds at the free coordinates `u` of the unit cube.
    fn place(&self, u: &[f64]) -> Vec<f64> {
        let mut x: Vec<f64> = self.bounds.iter().map(|b| b.0).collect();
        for (&k, u) in self.free.iter().zip(u) {
            let (low, high) = self.bounds[k];
            x[k] = low + u * (high - low);
        }
        x
    }

    fn best(&self) -> Option<&Cell> {
        let cells = self.cells.iter();
        cells.min_by(|a, b| a.value.total_cmp(&b.value))
    }

    fn minimum(&self) -> Minimum {
        let best = self.best().map(|c| (self.place(&c.centre), c.value));
        let (x, value) = best.unwrap_or_default();
        Minimum {
            x,
            value,
            n_evaluations: self.n_evaluations,
            is_converged: false,
        }
    }
}

/// The cells on both sides of another one.
struct Sides {
    side: usize,
    cells: [Cell; 2],
}

impl Sides {
    fn least(&self) -> f64 {
        self.cells[0].value.min(self.cells[1].value)
    }
}

/// A cell in the plane of sizes and values.
#[derive(Clone, Copy)]
struct Corner {
    size: f64,
    value: f64,
    cell: usize,
}

impl Corner {
    /// How low the value may get in this cell, at the greatest rate of change for which it is the best on the hull.
    fn promise(self, next: Corner) -> f64 {
        let slope = (next.value - self.value) / (next.size - self.size);
        self.value - slope * self.size
    }

    /// Whether this one lies above the line from `before` to `after`.
    fn is_above(self, before: Corner, after: Corner) -> bool {
        (self.value - before.value) * (after.size - before.size)
            > (after.value - before.value) * (self.size - before.size)
    }
}

/// The boxes on the lower right convex hull of (size, value).
fn promising(cells: &[Cell]) -> Vec<usize> {
    let best = cells.iter().map(|c| c.value).fold(f64::MAX, f64::min);
    let hull = hull(corners(cells));
    let wanted = best - PROMISE * best.abs();
    let promises = |i: &usize| match hull.get(i + 1) {
        // The largest box promises most: nothing limits the rate of change that it may have.
        None => true,
        Some(next) => hull[*i].promise(*next) <= wanted,
    };
    (0..hull.len())
        .filter(promises)
        .map(|i| hull[i].cell)
        .collect()
}

/// The boxes that can be divided, by rising size; of equal sizes the lowest is last, and of equal values the oldest.
fn corners(cells: &[Cell]) -> Vec<Corner> {
    let open = (0..cells.len()).filter(|i| !cells[*i].longest().is_empty());
    let mut corners: Vec<Corner> = open
        .map(|cell| Corner {
            size: cells[cell].size(),
            value: cells[cell].value,
            cell,
        })
        .collect();
    corners.sort_by(|a, b| {
        a.size
            .total_cmp(&b.size)
            .then(b.value.total_cmp(&a.value))
            .then(b.cell.cmp(&a.cell))
    });
    corners
}

fn hull(corners: Vec<Corner>) -> Vec<Corner> {
    let mut hull: Vec<Corner> = Vec::new();
    for next in corners {
        // Of equal sizes the last is the lowest; sizes equal up to rounding are equal.
        let hides =
            |top: &Corner| next.size - top.size <= SAME_SIZE * next.size || top.value >= next.value;
        while hull.last().is_some_and(hides) {
            hull.pop();
        }
        while let [.., before, top] = hull[..]
            && top.is_above(before, next)
        {
            hull.pop();
        }
        hull.push(next);
    }
    hull
}

/// The largest number and not infinity: slopes on the hull would not be numbers.
fn comparable(value: f64) -> f64 {
    if value.is_finite() { value } else { f64::MAX }
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
    fn a_kink_is_found() {
        let found = minimise(|x| (x[0] - 0.3).abs(), &[(0.0, 1.0)], 200);

        assert!(found.value < 1e-4);
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
