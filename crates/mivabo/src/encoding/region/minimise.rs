//! Minimisation under constraints at fixed bits: a smooth function and a [`Region`] enter, a point that satisfies every
//! constraint leaves, or none. MiVaBo, Sec. 3.3.
//!
//! ```text
//! min f(x)  s.t.  cᵢ(x) = 0,  gⱼ(x) >= 0,  0 <= x <= 1
//! L = f + Σ λᵢcᵢ + μ/2 cᵢ² + Σ (max(0, λⱼ - μgⱼ)² - λⱼ²) / 2μ         augmented Lagrangian (Nocedal & Wright, ch. 17)
//! ```
//!
//! L is minimised over the box by L-BFGS. Where that ends, Gauss-Newton steps lead onto the constraints, the
//! coordinates are rounded as a point would be, and the expressions themselves have the last word.

use super::{Limit, Region};
use crate::math::direct;
use crate::math::lbfgs::{self, Minimum};
use crate::math::random::Stream;
use crate::math::vector::{add_scaled, dot};

/// A function with its gradient.
pub trait Smooth {
    /// The value at `x`; writes the gradient there.
    fn value(&self, x: &[f64], gradient: &mut [f64]) -> f64;
}

impl<F: Fn(&[f64], &mut [f64]) -> f64> Smooth for F {
    fn value(&self, x: &[f64], gradient: &mut [f64]) -> f64 {
        self(x, gradient)
    }
}

/// How long to search.
///
/// | field | default | what it is |
/// |---|---|---|
/// | `inner` | as L-BFGS | each minimisation over the box |
/// | `max_rounds` | 20 | updates of the multipliers |
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Each minimisation over the box.
    pub inner: lbfgs::LbfgsSettings,
    /// The most updates of the multipliers.
    pub max_rounds: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            inner: lbfgs::LbfgsSettings::default(),
            max_rounds: 20,
        }
    }
}

/// Constraints are met so well before multipliers are no longer updated; repair does the rest.
const CLOSE: f64 = 1e-9;
/// Constraints that fail by more and do not improve mean that the search has left for good.
const LOST: f64 = 1e-3;
const FIRST_PENALTY: f64 = 10.0;
const LAST_PENALTY: f64 = 1e8;
/// How far inside an inequality repair aims, one after the other.
const MARGINS: [f64; 5] = [1e-11, 1e-9, 0.0, 1e-7, 1e-5];
/// How many of these are tried to hold inequalities without their tolerance, and by how much that means, against rounding.
const N_STRICT: usize = 2;
const STRICT: f64 = 1e-13;
const MAX_STEPS: usize = 40;

impl Region<'_> {
    /// The lowest feasible point found from these starts, which need not be feasible; `None` when none was found.
    ///
    /// # Contract
    /// [`contains`](Region::contains) holds for the point; the value is that of `f` there.
    pub fn minimise(
        &self,
        f: &dyn Smooth,
        starts: &[Vec<f64>],
        settings: Settings,
    ) -> Option<Minimum> {
        if self.is_empty() {
            return None;
        }
        let mut best: Option<Minimum> = None;
        let mut n_evaluations = 0;
        for start in starts
            .iter()
            .filter(|start| start.len() == self.bounds().len())
        {
            let start = self
                .repaired(&self.clamped(start))
                .unwrap_or_else(|| self.clamped(start));
            let end = self.descend(f, &start, settings);
            n_evaluations += end.n_evaluations;
            for x in [&end.x, &start] {
                let Some(x) = self.repaired(x) else { continue };
                let value = f.value(&x, &mut vec![0.0; x.len()]);
                n_evaluations += 1;
                let is_better = best.as_ref().is_none_or(|best| value < best.value);
                if value.is_finite() && is_better {
                    best = Some(Minimum {
                        x,
                        value,
                        n_evaluations: 0,
                        is_converged: end.is_converged,
                    });
                }
            }
        }
        best.map(|best| Minimum {
            n_evaluations,
            ..best
        })
    }

    /// The same by DIRECT, which needs no starts: infeasible points pay for their violation. L-BFGS refines its end.
    pub fn minimise_direct(&self, f: &dyn Smooth, max_evaluations: usize) -> Option<Minimum> {
        if self.is_empty() {
            return None;
        }
        let mut gradient = vec![0.0; self.bounds().len()];
        // A price above the slopes that f has shown makes the penalty exact where it is convex.
        let mut price = 1.0_f64;
        let priced = |x: &[f64]| {
            let value = f.value(x, &mut gradient);
            price = price.max(2.0 * dot(&gradient, &gradient).sqrt());
            value + price * self.violation(x)
        };
        let found = direct::minimise(priced, self.bounds(), max_evaluations);
        self.minimise(f, &[found.x], Settings::default())
    }

    /// A feasible point by search, from up to `effort` random starts; `None` when none was found.
    ///
    /// # Contract
    /// [`contains`](Region::contains) holds for the point.
    pub fn find(&self, stream: &mut Stream, effort: usize) -> Option<Vec<f64>> {
        if self.is_empty() {
            return None;
        }
        for _ in 0..effort {
            let start: Vec<f64> = self
                .bounds()
                .iter()
                .map(|(low, high)| low + (high - low) * stream.unit())
                .collect();
            let found = self
                .repaired(&start)
                .or_else(|| self.repaired(&self.nearest(&start)));
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// A feasible point near `x`: `x` itself up to rounding if it is feasible, else moved onto what it violates. Inequalities
    /// hold without their tolerance where that can be had: a user's own test of them has none.
    pub fn repaired(&self, x: &[f64]) -> Option<Vec<f64>> {
        let clamped = self.clamped(x);
        let here = Some(self.canonical(&clamped)).filter(|x| self.contains(x));
        if self.limits().is_empty() || here.as_ref().is_some_and(|x| self.is_strict(x)) {
            return here;
        }
        let mut first = here;
        for (tries, margin) in MARGINS.iter().enumerate() {
            if tries >= N_STRICT && first.is_some() {
                break;
            }
            let moved = Some(self.canonical(&self.projected(&clamped, *margin)));
            let moved = moved.filter(|x| self.contains(x));
            if moved.as_ref().is_some_and(|x| self.is_strict(x)) {
                return moved;
            }
            first = first.or(moved);
        }
        first
    }

    /// Whether no inequality fails, not even by less than its tolerance.
    fn is_strict(&self, x: &[f64]) -> bool {
        let mut gradient = vec![0.0; x.len()];
        self.limits()
            .iter()
            .all(|limit| limit.is_equation || limit.gap(x, &mut gradient) >= STRICT)
    }

    fn clamped(&self, x: &[f64]) -> Vec<f64> {
        // `max` before `min`: a NaN becomes the low bound.
        x.iter()
            .zip(self.bounds())
            .map(|(x, (low, high))| x.max(*low).min(*high))
            .collect()
    }

    /// Σ of what the limits fail by.
    pub(crate) fn violation(&self, x: &[f64]) -> f64 {
        let mut gradient = vec![0.0; x.len()];
        let failures = self
            .limits()
            .iter()
            .map(|limit| failure(limit, limit.gap(x, &mut gradient), 0.0).abs());
        failures.sum()
    }

    /// A local minimum of the sum of squared violations: it crosses what single Newton steps do not.
    pub(crate) fn nearest(&self, start: &[f64]) -> Vec<f64> {
        let squares = |x: &[f64], total: &mut [f64]| {
            total.fill(0.0);
            let mut gradient = vec![0.0; x.len()];
            let mut sum = 0.0;
            for limit in self.limits() {
                let by = failure(limit, limit.gap(x, &mut gradient), 1e-9);
                sum += 0.5 * by * by;
                add_scaled(total, -by, &gradient);
            }
            sum
        };
        let settings = lbfgs::LbfgsSettings {
            max_iterations: 200,
            tolerance: 1e-12,
            ..lbfgs::LbfgsSettings::default()
        };
        lbfgs::minimise(squares, start, self.bounds(), settings).x
    }

    /// Gauss-Newton steps of least length onto all equations and every inequality that fails: min |d|, J d = r.
    fn projected(&self, x: &[f64], margin: f64) -> Vec<f64> {
        let mut x = x.to_vec();
        for _ in 0..MAX_STEPS {
            let mut rows: Vec<(Vec<f64>, f64)> = Vec::new();
            for limit in self.limits() {
                let mut gradient = vec![0.0; x.len()];
                let by = failure(limit, limit.gap(&x, &mut gradient), margin);
                if limit.is_equation || by > 0.0 {
                    rows.push((gradient, by));
                }
            }
            if rows.iter().all(|(_, by)| by.abs() <= 1e-15) {
                break;
            }
            let next = self.stepped(&x, &rows);
            if next == x || next.iter().any(|x| !x.is_finite()) {
                break;
            }
            x = next;
        }
        x
    }

    /// One step; coordinates that it would push out of the box stop at its side, and the others step again.
    fn stepped(&self, x: &[f64], rows: &[(Vec<f64>, f64)]) -> Vec<f64> {
        let mut is_held: Vec<bool> = self
            .bounds()
            .iter()
            .map(|(low, high)| low >= high)
            .collect();
        let mut base = x.to_vec();
        loop {
            let masked = rows.iter().map(|(row, by)| {
                let moved: f64 = (0..x.len()).map(|k| row[k] * (base[k] - x[k])).sum();
                let row: Vec<f64> = row
                    .iter()
                    .zip(&is_held)
                    .map(|(r, held)| if *held { 0.0 } else { *r })
                    .collect();
                (row, by - moved)
            });
            let step = least_step(&masked.collect::<Vec<_>>(), x.len());
            let next: Vec<f64> = base.iter().zip(&step).map(|(x, d)| x + d).collect();
            let clamped = self.clamped(&next);
            let mut is_new = false;
            for k in (0..x.len()).filter(|k| clamped[*k] != next[*k]) {
                is_new |= !is_held[k];
                is_held[k] = true;
                base[k] = clamped[k];
            }
            if !is_new {
                return clamped;
            }
        }
    }

    /// The augmented Lagrangian from one start.
    fn descend(&self, f: &dyn Smooth, start: &[f64], settings: Settings) -> Minimum {
        let limits = self.limits();
        let plain = |x: &[f64], gradient: &mut [f64]| f.value(x, gradient);
        if limits.is_empty() {
            return lbfgs::minimise(plain, start, self.bounds(), settings.inner);
        }
        let mut slope = vec![0.0; start.len()];
        f.value(start, &mut slope);
        let steepness = dot(&slope, &slope).sqrt();
        let unit = if steepness.is_finite() {
            steepness.max(1e-3)
        } else {
            1.0
        };
        let mut penalty = FIRST_PENALTY * unit;
        let last_penalty = penalty * LAST_PENALTY;
        let mut multipliers = vec![0.0; limits.len()];
        let mut here = Minimum {
            x: start.to_vec(),
            value: f64::INFINITY,
            n_evaluations: 0,
            is_converged: false,
        };
        let is_anchored = self.violation(start) <= 1e-6;
        let mut failed = f64::INFINITY;
        for _ in 0..settings.max_rounds {
            let lagrangian = |x: &[f64], total: &mut [f64]| {
                augmented(f, limits, (&multipliers, penalty), x, total)
            };
            let next = lbfgs::minimise(lagrangian, &here.x, self.bounds(), settings.inner);
            let worst = update_multipliers(limits, &next.x, penalty, &mut multipliers);
            let n_evaluations = here.n_evaluations + next.n_evaluations;
            here = Minimum {
                n_evaluations,
                is_converged: next.is_converged && worst <= 1e-6,
                ..next
            };
            if worst <= CLOSE || worst.is_nan() {
                break;
            }
            if worst > 0.25 * failed {
                penalty = (10.0 * penalty).min(last_penalty);
                // x·y >= 0.2 has no slope at the origin: once there, no penalty leads away. Start again, and stay closer.
                if worst > LOST && is_anchored {
                    here.x = start.to_vec();
                    multipliers.fill(0.0);
                }
            }
            failed = worst;
        }
        here
    }
}

/// The multipliers for the next round, and by how much the limits are missed: a limit with a multiplier, on both sides.
fn update_multipliers(limits: &[Limit], x: &[f64], penalty: f64, multipliers: &mut [f64]) -> f64 {
    let mut worst = 0.0_f64;
    let mut scratch = vec![0.0; x.len()];
    for (limit, multiplier) in limits.iter().zip(multipliers) {
        let gap = limit.gap(x, &mut scratch);
        let updated = *multiplier - penalty * gap;
        let (missed, kept) = if limit.is_equation {
            (gap, updated)
        } else {
            (gap.min(*multiplier / penalty), updated.max(0.0))
        };
        worst = worst.max(missed.abs());
        *multiplier = kept;
    }
    worst
}

/// L and its gradient; equations have multipliers of either sign.
fn augmented(
    f: &dyn Smooth,
    limits: &[Limit],
    (multipliers, penalty): (&[f64], f64),
    x: &[f64],
    total: &mut [f64],
) -> f64 {
    let mut value = f.value(x, total);
    let mut gradient = vec![0.0; x.len()];
    for (limit, multiplier) in limits.iter().zip(multipliers) {
        let pull = multiplier - penalty * limit.gap(x, &mut gradient);
        let pull = if limit.is_equation {
            pull
        } else {
            pull.max(0.0)
        };
        value += (pull * pull - multiplier * multiplier) / (2.0 * penalty);
        add_scaled(total, -pull, &gradient);
    }
    value
}

/// What the gap lacks: of either sign for an equation, not negative for an inequality.
fn failure(limit: &Limit, gap: f64, margin: f64) -> f64 {
    if limit.is_equation {
        -gap
    } else {
        (margin - gap).max(0.0)
    }
}

/// d = Jᵀ(JJᵀ + εI)⁻¹ r
fn least_step(rows: &[(Vec<f64>, f64)], n: usize) -> Vec<f64> {
    let m = rows.len();
    let mut system: Vec<Vec<f64>> = (0..m)
        .map(|i| {
            let products = (0..m).map(|j| dot(&rows[i].0, &rows[j].0));
            products.chain(std::iter::once(rows[i].1)).collect()
        })
        .collect();
    let largest = (0..m).map(|i| system[i][i]).fold(0.0, f64::max);
    for (i, row) in system.iter_mut().enumerate() {
        row[i] += 1e-13 * largest + f64::MIN_POSITIVE;
    }
    let mut step = vec![0.0; n];
    for (y, (row, _)) in solved(system).into_iter().zip(rows) {
        add_scaled(&mut step, y, row);
    }
    step
}

/// Gaussian elimination with pivots by row; the right side is the last column.
fn solved(mut a: Vec<Vec<f64>>) -> Vec<f64> {
    let m = a.len();
    for k in 0..m {
        let pivot = (k..m)
            .max_by(|i, j| a[*i][k].abs().total_cmp(&a[*j][k].abs()))
            .unwrap_or(k);
        a.swap(k, pivot);
        for i in k + 1..m {
            let by = a[i][k] / a[k][k];
            let (above, below) = a.split_at_mut(i);
            add_scaled(&mut below[0][k..], -by, &above[k][k..]);
        }
    }
    let mut y = vec![0.0; m];
    for k in (0..m).rev() {
        y[k] = (a[k][m] - dot(&a[k][k + 1..m], &y[k + 1..])) / a[k][k];
    }
    y
}

#[cfg(test)]
mod tests;
