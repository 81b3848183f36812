//! Minimises smooth functions under constraints, at fixed bits. MiVaBo, Sec. 3.3.
//!
//! ```text
//! min f(x)  s.t.  cᵢ(x) = 0,  gⱼ(x) >= 0,  0 <= x <= 1
//! L = f + Σ λᵢcᵢ + μ/2 cᵢ² + Σ (max(0, λⱼ - μgⱼ)² - λⱼ²) / 2μ         augmented Lagrangian (Nocedal & Wright, ch. 17)
//! ```
//!
//! L is minimised over the box by L-BFGS. Where that ends, Gauss-Newton steps lead onto the constraints, the
//! coordinates are rounded as a point would be, and the expressions themselves have the last word: what is found
//! satisfies every constraint.

use super::{Limit, Region};
use crate::math::direct;
use crate::math::lbfgs::{self, Minimum};
use crate::math::random::Stream;
use crate::math::vector::{add_scaled, dot};

/// A function with its gradient.
pub(crate) trait Smooth {
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
pub(crate) struct DescentSettings {
    /// Each minimisation over the box.
    pub inner: lbfgs::LbfgsSettings,
    /// The most updates of the multipliers.
    pub max_rounds: usize,
}

impl Default for DescentSettings {
    fn default() -> Self {
        DescentSettings {
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
        settings: DescentSettings,
    ) -> Option<Minimum> {
        if self.is_empty() {
            return None;
        }
        let mut best: Option<Minimum> = None;
        let mut n_evaluations = 0;
        let n = self.bounds().len();
        for start in starts.iter().filter(|start| start.len() == n) {
            let clamped = self.clamped(start);
            let start = self.repaired(&clamped).unwrap_or(clamped);
            let end = self.descend(f, &start, settings);
            n_evaluations += end.n_evaluations;
            // The start as well: where the descent ends, there may be no feasible point nearby.
            for x in [&end.x, &start] {
                let Some(x) = self.repaired(x) else { continue };
                let value = f.value(&x, &mut vec![0.0; n]);
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
        self.minimise(f, &[found.x], DescentSettings::default())
    }

    /// A feasible point by search, from up to `effort` random starts; `None` when none was found.
    ///
    /// # Contract
    /// [`contains`](Region::contains) holds for the point.
    pub fn find(&self, stream: &mut Stream, effort: usize) -> Option<Vec<f64>> {
        if self.is_empty() {
            return None;
        }
        (0..effort).find_map(|_| self.found_from(&self.random_start(stream)))
    }

    fn found_from(&self, start: &[f64]) -> Option<Vec<f64>> {
        let found = self.repaired(start);
        found.or_else(|| self.repaired(&self.nearest(start)))
    }

    /// Uniform in the box.
    fn random_start(&self, stream: &mut Stream) -> Vec<f64> {
        let bounds = self.bounds().iter();
        let start = bounds.map(|(low, high)| low + (high - low) * stream.unit());
        start.collect()
    }

    /// A feasible point near `x`: `x` itself up to rounding if it is feasible, else moved onto what it violates. Inequalities
    /// hold without their tolerance where that can be had: a user's own test of them has none.
    pub fn repaired(&self, x: &[f64]) -> Option<Vec<f64>> {
        let clamped = self.clamped(x);
        let mut found = self.rounded(&clamped);
        if self.limits().is_empty() || found.as_ref().is_some_and(|x| self.is_strict(x)) {
            return found;
        }
        for (tries, margin) in MARGINS.iter().enumerate() {
            if tries >= N_STRICT && found.is_some() {
                break;
            }
            let moved = self.rounded(&self.projected(&clamped, *margin));
            if moved.as_ref().is_some_and(|x| self.is_strict(x)) {
                return moved;
            }
            found = found.or(moved);
        }
        found
    }

    /// The point that `x` decodes to, if it is feasible.
    fn rounded(&self, x: &[f64]) -> Option<Vec<f64>> {
        Some(self.canonical(x)).filter(|x| self.contains(x))
    }

    /// Whether no inequality fails, not even by less than its tolerance.
    fn is_strict(&self, x: &[f64]) -> bool {
        let mut gradient = vec![0.0; x.len()];
        let mut limits = self.limits().iter();
        limits.all(|limit| limit.is_equation || limit.gap(x, &mut gradient) >= STRICT)
    }

    fn clamped(&self, x: &[f64]) -> Vec<f64> {
        // `max` before `min`: a NaN becomes the low bound.
        let coordinates = x.iter().zip(self.bounds());
        coordinates
            .map(|(x, (low, high))| x.max(*low).min(*high))
            .collect()
    }

    /// Σ of what the limits fail by.
    pub(crate) fn violation(&self, x: &[f64]) -> f64 {
        let mut gradient = vec![0.0; x.len()];
        let limits = self.limits().iter();
        limits
            .map(|limit| failure(limit, limit.gap(x, &mut gradient), 0.0).abs())
            .sum()
    }

    /// A local minimum of the sum of squared violations: it crosses what single Newton steps do not.
    pub(crate) fn nearest(&self, start: &[f64]) -> Vec<f64> {
        let squares = |x: &[f64], total: &mut [f64]| self.squared_violations(x, total);
        let settings = lbfgs::LbfgsSettings {
            max_iterations: 200,
            tolerance: 1e-12,
            ..lbfgs::LbfgsSettings::default()
        };
        lbfgs::minimise(squares, start, self.bounds(), settings).x
    }

    /// Half the sum of squared violations; writes its gradient.
    fn squared_violations(&self, x: &[f64], total: &mut [f64]) -> f64 {
        total.fill(0.0);
        let mut gradient = vec![0.0; x.len()];
        let mut sum = 0.0;
        for limit in self.limits() {
            let by = failure(limit, limit.gap(x, &mut gradient), 1e-9);
            sum += 0.5 * by * by;
            add_scaled(total, -by, &gradient);
        }
        sum
    }

    /// Gauss-Newton steps of least length onto all equations and every inequality that fails: min |d|, J d = r.
    fn projected(&self, x: &[f64], margin: f64) -> Vec<f64> {
        let mut x = x.to_vec();
        for _ in 0..MAX_STEPS {
            let demands = self.demands(&x, margin);
            if demands.iter().all(|demand| demand.by.abs() <= 1e-15) {
                break;
            }
            let next = self.stepped(&x, &demands);
            // A step that leads nowhere, or out of floating point, is the last: the caller looks at where it ended.
            if next == x || next.iter().any(|x| !x.is_finite()) {
                break;
            }
            x = next;
        }
        x
    }

    /// What a step from `x` should change.
    fn demands(&self, x: &[f64], margin: f64) -> Vec<Demand> {
        let mut demands = Vec::new();
        for limit in self.limits() {
            let mut gradient = vec![0.0; x.len()];
            let by = failure(limit, limit.gap(x, &mut gradient), margin);
            if limit.is_equation || by > 0.0 {
                demands.push(Demand { gradient, by });
            }
        }
        demands
    }

    /// One step; coordinates that it would push out of the box stop at its side, and the others step again.
    fn stepped(&self, x: &[f64], demands: &[Demand]) -> Vec<f64> {
        let bounds = self.bounds().iter();
        let mut is_held: Vec<bool> = bounds.map(|(low, high)| low >= high).collect();
        // Those that stopped at a side, which has changed the limits already, and all others where they were.
        let mut base = x.to_vec();
        loop {
            let left = demands.iter().map(|demand| demand.left(x, &base, &is_held));
            let step = least_step(&left.collect::<Vec<_>>(), x.len());
            let next: Vec<f64> = base.iter().zip(&step).map(|(x, d)| x + d).collect();
            let clamped = self.clamped(&next);
            let mut is_new = false;
            for k in (0..x.len()).filter(|k| clamped[*k] != next[*k]) {
                is_new |= !is_held[k];
                is_held[k] = true;
                base[k] = clamped[k];
            }
            // Each round holds one more coordinate, so there are at most as many as coordinates.
            if !is_new {
                return clamped;
            }
        }
    }

    /// The augmented Lagrangian from one start.
    fn descend(&self, f: &dyn Smooth, start: &[f64], settings: DescentSettings) -> Minimum {
        if self.limits().is_empty() {
            let plain = |x: &[f64], gradient: &mut [f64]| f.value(x, gradient);
            return lbfgs::minimise(plain, start, self.bounds(), settings.inner);
        }
        let mut lagrangian = Lagrangian::new(f, self.limits(), start);
        let mut here = Minimum {
            x: start.to_vec(),
            value: f64::INFINITY,
            n_evaluations: 0,
            is_converged: false,
        };
        let is_anchored = self.violation(start) <= 1e-6;
        let mut missed_before = f64::INFINITY;
        for _ in 0..settings.max_rounds {
            let value = |x: &[f64], gradient: &mut [f64]| lagrangian.value(x, gradient);
            let next = lbfgs::minimise(value, &here.x, self.bounds(), settings.inner);
            let missed = lagrangian.update(&next.x);
            here = Minimum {
                n_evaluations: here.n_evaluations + next.n_evaluations,
                is_converged: next.is_converged && missed <= 1e-6,
                ..next
            };
            // NaN: the function or a limit is undefined here, and no multiplier changes that.
            if missed <= CLOSE || missed.is_nan() {
                break;
            }
            // The multipliers alone do not bring it down fast enough.
            if missed > 0.25 * missed_before {
                lagrangian.raise_penalty();
                // x·y >= 0.2 has no slope at the origin: once there, no penalty leads away. Start again, and stay closer.
                if missed > LOST && is_anchored {
                    here.x = start.to_vec();
                    lagrangian.multipliers.fill(0.0);
                }
            }
            missed_before = missed;
        }
        here
    }
}

/// L at certain multipliers. Those of equations have either sign, those of inequalities are not negative.
struct Lagrangian<'a> {
    f: &'a dyn Smooth,
    limits: &'a [Limit],
    /// λ
    multipliers: Vec<f64>,
    /// μ
    penalty: f64,
    last_penalty: f64,
}

impl<'a> Lagrangian<'a> {
    /// Without multipliers, and with a penalty that fits the slope of `f` at the start.
    fn new(f: &'a dyn Smooth, limits: &'a [Limit], start: &[f64]) -> Lagrangian<'a> {
        let penalty = FIRST_PENALTY * steepness(f, start);
        Lagrangian {
            f,
            limits,
            multipliers: vec![0.0; limits.len()],
            penalty,
            last_penalty: penalty * LAST_PENALTY,
        }
    }

    /// L; writes its gradient.
    fn value(&self, x: &[f64], total: &mut [f64]) -> f64 {
        let mut value = self.f.value(x, total);
        let mut gradient = vec![0.0; x.len()];
        for (limit, multiplier) in self.limits.iter().zip(&self.multipliers) {
            let pull = multiplier - self.penalty * limit.gap(x, &mut gradient);
            let pull = admitted(limit, pull);
            value += (pull * pull - multiplier * multiplier) / (2.0 * self.penalty);
            add_scaled(total, -pull, &gradient);
        }
        value
    }

    /// Takes the multipliers for the next round, and returns by how much the limits are missed: a limit with a multiplier, on
    /// both sides.
    fn update(&mut self, x: &[f64]) -> f64 {
        let mut worst = 0.0_f64;
        let mut scratch = vec![0.0; x.len()];
        for (limit, multiplier) in self.limits.iter().zip(&mut self.multipliers) {
            let gap = limit.gap(x, &mut scratch);
            let missed = if limit.is_equation {
                gap
            } else {
                gap.min(*multiplier / self.penalty)
            };
            worst = worst.max(missed.abs());
            *multiplier = admitted(limit, *multiplier - self.penalty * gap);
        }
        worst
    }

    fn raise_penalty(&mut self) {
        self.penalty = (10.0 * self.penalty).min(self.last_penalty);
    }
}

/// A multiplier as a limit may have it.
fn admitted(limit: &Limit, multiplier: f64) -> f64 {
    if limit.is_equation {
        multiplier
    } else {
        // An inequality only pushes: where it holds with room to spare it has no force.
        multiplier.max(0.0)
    }
}

/// What the gap lacks: of either sign for an equation, not negative for an inequality.
fn failure(limit: &Limit, gap: f64, margin: f64) -> f64 {
    if limit.is_equation {
        -gap
    } else {
        (margin - gap).max(0.0)
    }
}

/// What a step d should change a limit by: gradient·d = by.
struct Demand {
    gradient: Vec<f64>,
    by: f64,
}

impl Demand {
    /// What is left of it for the coordinates that are not held, once the others have moved from `x` to `base`.
    fn left(&self, x: &[f64], base: &[f64], is_held: &[bool]) -> Demand {
        let moves = (0..x.len()).map(|k| self.gradient[k] * (base[k] - x[k]));
        let moved: f64 = moves.sum();
        Demand {
            gradient: self.free_gradient(is_held),
            by: self.by - moved,
        }
    }

    fn free_gradient(&self, is_held: &[bool]) -> Vec<f64> {
        let free = |(g, is_held): (&f64, &bool)| if *is_held { 0.0 } else { *g };
        self.gradient.iter().zip(is_held).map(free).collect()
    }
}

/// The size of the gradient, or a stand-in where that is too small or not a number.
fn steepness(f: &dyn Smooth, x: &[f64]) -> f64 {
    let mut slope = vec![0.0; x.len()];
    f.value(x, &mut slope);
    let size = dot(&slope, &slope).sqrt();
    if size.is_finite() {
        size.max(1e-3)
    } else {
        1.0
    }
}

/// d = Jᵀ(JJᵀ + εI)⁻¹ r
fn least_step(demands: &[Demand], n: usize) -> Vec<f64> {
    let system = normal_equations(demands);
    let mut step = vec![0.0; n];
    for (y, demand) in solved(system).into_iter().zip(demands) {
        add_scaled(&mut step, y, &demand.gradient);
    }
    step
}

/// JJᵀ + εI, with r as the last column.
fn normal_equations(demands: &[Demand]) -> Vec<Vec<f64>> {
    let equation = |row: &Demand| -> Vec<f64> {
        let gradients = demands.iter().map(|other| &other.gradient);
        let products = gradients.map(|other| dot(&row.gradient, other));
        products.chain(std::iter::once(row.by)).collect()
    };
    let mut system: Vec<Vec<f64>> = demands.iter().map(equation).collect();
    let largest = (0..system.len()).map(|i| system[i][i]).fold(0.0, f64::max);
    // Limits that say the same twice make JJᵀ singular; ε keeps the step finite.
    for (i, row) in system.iter_mut().enumerate() {
        row[i] += 1e-13 * largest + f64::MIN_POSITIVE;
    }
    system
}

/// Gaussian elimination with pivots by row; the right side is the last column.
fn solved(mut a: Vec<Vec<f64>>) -> Vec<f64> {
    let m = a.len();
    for k in 0..m {
        let size = |i: usize| a[i][k].abs();
        let pivot = (k..m).max_by(|i, j| size(*i).total_cmp(&size(*j)));
        a.swap(k, pivot.unwrap_or(k));
        eliminate(&mut a, k);
    }
    back_substituted(&a)
}

/// The solution of a triangular system, the last unknown first.
fn back_substituted(a: &[Vec<f64>]) -> Vec<f64> {
    let m = a.len();
    let mut y = vec![0.0; m];
    for k in (0..m).rev() {
        let known = dot(&a[k][k + 1..m], &y[k + 1..]);
        y[k] = (a[k][m] - known) / a[k][k];
    }
    y
}

/// Takes unknown number `k` out of the rows below.
fn eliminate(a: &mut [Vec<f64>], k: usize) {
    for i in k + 1..a.len() {
        let by = a[i][k] / a[k][k];
        let (above, below) = a.split_at_mut(i);
        add_scaled(&mut below[0][k..], -by, &above[k][k..]);
    }
}

#[cfg(test)]
mod tests;
