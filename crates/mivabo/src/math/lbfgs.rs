//! Minimises a smooth function over a box by projected L-BFGS, which MiVaBo, Sec. 3.3 names for the continuous half.
//!
//! Coordinates that lie on a bound and want to leave the box are held; the others take a quasi-Newton step (two-loop
//! recursion, Nocedal 1980), projected onto the box, with a line search for the weak conditions of Wolfe by bisection
//! (Lewis & Overton 2013).

use std::collections::VecDeque;

use mivabo_bqp::interrupt;

use super::vector::{add_scaled, differences, dot, scale};

/// How long to search and how many pairs to remember.
///
/// | field | default | what it is |
/// |---|---|---|
/// | `max_iterations` | 100 | steps |
/// | `tolerance` | 1e-6 | the largest component of the projected gradient at which to stop |
/// | `memory` | 8 | pairs of steps and gradient differences |
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LbfgsSettings {
    /// The most steps.
    pub max_iterations: usize,
    /// Where to stop.
    pub tolerance: f64,
    /// Pairs to remember.
    pub memory: usize,
}

impl Default for LbfgsSettings {
    fn default() -> Self {
        LbfgsSettings {
            max_iterations: 100,
            tolerance: 1e-6,
            memory: 8,
        }
    }
}

/// Where the search ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Minimum {
    /// The point, inside the bounds.
    pub x: Vec<f64>,
    /// The function there; not above its value at the start, but for rounding.
    pub value: f64,
    /// How often the function was asked.
    pub n_evaluations: usize,
    /// Whether the projected gradient is within the tolerance.
    pub is_converged: bool,
}

/// Sufficient decrease, and how flat a step must end.
const ARMIJO: f64 = 1e-4;
const WOLFE: f64 = 0.9;

/// Steps that a line search tries.
const MAX_TRIALS: usize = 30;

/// Functions whose value or gradient is larger than this at the start are searched in smaller units. The tolerance and the least
/// curvature are meant for functions of ordinary size: without it a huge one takes every step that it may, along the gradient.
const LARGEST: f64 = 1e9;

/// The least curvature s·y of a pair, as a share of |y|²: below it the pair says nothing about the Hessian.
const LEAST_CURVATURE: f64 = 1e-12;

/// Minimises `f` over the box `bounds` (low, high), from `start` moved into it.
///
/// `f(x, gradient)` returns the value at x and writes the gradient. Where it returns NaN or an infinite value the
/// point counts as worst; if that is so at the start, the start is the answer.
pub(crate) fn minimise(
    f: impl FnMut(&[f64], &mut [f64]) -> f64,
    start: &[f64],
    bounds: &[(f64, f64)],
    settings: LbfgsSettings,
) -> Minimum {
    let mut objective = Objective {
        f,
        bounds,
        unit: 1.0,
        n_evaluations: 0,
    };
    let mut start = objective.sample(start);
    if let Some(unit) = start.smaller_unit() {
        start.divide(unit);
        objective.unit = unit;
    }
    let (end, is_converged) = if start.value.is_finite() {
        descend(&mut objective, start, settings)
    } else {
        (start, false)
    };
    Minimum {
        x: end.x,
        value: end.value * objective.unit,
        n_evaluations: objective.n_evaluations,
        is_converged,
    }
}

/// The lowest of the minima that descents from these starts find; none without starts.
pub(crate) fn lowest<F>(
    f: F,
    starts: &[Vec<f64>],
    bounds: &[(f64, f64)],
    settings: LbfgsSettings,
) -> Option<Minimum>
where
    F: Fn(&[f64], &mut [f64]) -> f64,
{
    let minima = starts
        .iter()
        .map(|start| minimise(&f, start, bounds, settings));
    // Of equal ones the first: a tie goes to the start that the caller put first.
    minima.min_by(|a, b| a.value.total_cmp(&b.value))
}

/// The end of the descent, and whether the projected gradient vanishes there.
fn descend<F>(
    objective: &mut Objective<'_, F>,
    start: Sample,
    settings: LbfgsSettings,
) -> (Sample, bool)
where
    F: FnMut(&[f64], &mut [f64]) -> f64,
{
    let bounds = objective.bounds;
    let mut here = start;
    let mut memory = Memory {
        pairs: VecDeque::new(),
        size: settings.memory,
    };
    for _ in 0..settings.max_iterations {
        if here.residual(bounds) <= settings.tolerance {
            return (here, true);
        }
        let direction = memory.direction(&here, bounds);
        match line_search(objective, &here, &direction) {
            Some(next) => {
                memory.remember(&here, &next);
                here = next;
            }
            // Cut by the box, a quasi-Newton direction may lead upwards; the gradient's never does.
            None if memory.pairs.is_empty() => break,
            None => memory.pairs.clear(),
        }
    }
    let is_converged = here.residual(bounds) <= settings.tolerance;
    (here, is_converged)
}

/// The function over the box, and how often it was asked.
struct Objective<'a, F> {
    f: F,
    bounds: &'a [(f64, f64)],
    /// What values and gradients are divided by; a power of two, so that no digit changes.
    unit: f64,
    n_evaluations: usize,
}

impl<F: FnMut(&[f64], &mut [f64]) -> f64> Objective<'_, F> {
    /// The function at a point, moved into the box.
    fn sample(&mut self, at: &[f64]) -> Sample {
        self.n_evaluations += 1;
        // Fits and descents pass here at each step.
        interrupt::check();
        let x = projected(at, self.bounds);
        let mut gradient = vec![0.0; x.len()];
        let value = (self.f)(&x, &mut gradient);
        let is_number = value.is_finite() && gradient.iter().all(|g| g.is_finite());
        let mut sample = Sample {
            x,
            value: if is_number { value } else { f64::INFINITY },
            gradient,
        };
        sample.divide(self.unit);
        sample
    }
}

/// The nearest point of the box.
pub(crate) fn projected(x: &[f64], bounds: &[(f64, f64)]) -> Vec<f64> {
    // `max` before `min`: a NaN becomes the low bound.
    x.iter()
        .zip(bounds)
        .map(|(x, (low, high))| x.max(*low).min(*high))
        .collect()
}

struct Sample {
    x: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
}

impl Sample {
    /// The power of two that brings value and gradient down to about 1, where they are huge.
    fn smaller_unit(&self) -> Option<f64> {
        let size = self.size();
        let is_huge = size > LARGEST && size.is_finite();
        is_huge.then(|| size.log2().floor().exp2())
    }

    /// The largest number of value and gradient.
    fn size(&self) -> f64 {
        let sizes = self.gradient.iter().map(|g| g.abs());
        sizes.fold(self.value.abs(), f64::max)
    }

    fn divide(&mut self, unit: f64) {
        self.value /= unit;
        self.gradient.iter_mut().for_each(|g| *g /= unit);
    }

    /// max |x - P(x - g)|, where P moves into the box.
    fn residual(&self, bounds: &[(f64, f64)]) -> f64 {
        let step = |k: usize| {
            let (low, high) = bounds[k];
            self.x[k] - (self.x[k] - self.gradient[k]).max(low).min(high)
        };
        (0..self.x.len()).map(|k| step(k).abs()).fold(0.0, f64::max)
    }

    /// Whether coordinate k is not pressed against a bound.
    fn is_free(&self, k: usize, bounds: &[(f64, f64)]) -> bool {
        let (low, high) = bounds[k];
        !(self.x[k] <= low && self.gradient[k] > 0.0 || self.x[k] >= high && self.gradient[k] < 0.0)
    }
}

/// A step s and the difference y of the gradients at its ends.
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
}

impl Pair {
    /// s·y, which a convex function makes positive.
    fn curvature(&self) -> f64 {
        dot(&self.step, &self.change)
    }

    fn between(from: &Sample, to: &Sample) -> Pair {
        Pair {
            step: differences(&to.x, &from.x),
            change: differences(&to.gradient, &from.gradient),
        }
    }

    fn masked(&self, is_free: &[bool]) -> Pair {
        Pair {
            step: masked(&self.step, is_free),
            change: masked(&self.change, is_free),
        }
    }

    /// Whether the implied Hessian is positive along the step: without that a direction may lead upwards.
    fn is_curved(&self) -> bool {
        self.curvature() > LEAST_CURVATURE * dot(&self.change, &self.change)
    }
}

/// The last steps.
struct Memory {
    pairs: VecDeque<Pair>,
    size: usize,
}

impl Memory {
    fn remember(&mut self, from: &Sample, to: &Sample) {
        let pair = Pair::between(from, to);
        if pair.is_curved() {
            self.pairs.push_back(pair);
        }
        if self.pairs.len() > self.size {
            self.pairs.pop_front();
        }
    }

    /// -H g over the free coordinates, 0 for the others.
    fn direction(&self, here: &Sample, bounds: &[(f64, f64)]) -> Vec<f64> {
        let is_free: Vec<bool> = (0..here.x.len()).map(|k| here.is_free(k, bounds)).collect();
        let gradient = masked(&here.gradient, &is_free);
        let descent: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let pairs = self.over_free(&is_free);
        let Some(last) = pairs.last() else {
            // Nothing is known of the curvature.
            return shortened(&descent);
        };
        let initial = last.curvature() / dot(&last.change, &last.change);
        let direction = two_loops(&pairs, &descent, initial);
        // Rounding in the recursion may turn it upwards.
        if dot(&direction, &descent) > 0.0 {
            direction
        } else {
            descent
        }
    }

    /// The pairs over the free coordinates. Without the held ones some are not curved any more.
    fn over_free(&self, is_free: &[bool]) -> Vec<Pair> {
        let masked = self.pairs.iter().map(|pair| pair.masked(is_free));
        masked.filter(Pair::is_curved).collect()
    }
}

/// Of length 1 at most.
fn shortened(v: &[f64]) -> Vec<f64> {
    let length = dot(v, v).sqrt();
    v.iter().map(|v| v / length.max(1.0)).collect()
}

/// 0 for the coordinates that are held.
fn masked(v: &[f64], is_free: &[bool]) -> Vec<f64> {
    v.iter()
        .zip(is_free)
        .map(|(v, free)| if *free { *v } else { 0.0 })
        .collect()
}

/// Nocedal's recursion: H v for the inverse Hessian H that the pairs imply.
fn two_loops(pairs: &[Pair], v: &[f64], initial: f64) -> Vec<f64> {
    let mut v = v.to_vec();
    let mut shares = Vec::with_capacity(pairs.len());
    for pair in pairs.iter().rev() {
        let share = dot(&pair.step, &v) / pair.curvature();
        add_scaled(&mut v, -share, &pair.change);
        shares.push(share);
    }
    scale(&mut v, initial);
    for (pair, share) in pairs.iter().zip(shares.into_iter().rev()) {
        let change = share - dot(&pair.change, &v) / pair.curvature();
        add_scaled(&mut v, change, &pair.step);
    }
    v
}

/// A point on the projected ray that is lower, and where possible flatter; none when there is no lower one.
fn line_search<F>(
    objective: &mut Objective<'_, F>,
    here: &Sample,
    direction: &[f64],
) -> Option<Sample>
where
    F: FnMut(&[f64], &mut [f64]) -> f64,
{
    let mut bracket = Bracket::default();
    let mut t = 1.0;
    let mut best: Option<Sample> = None;
    for _ in 0..MAX_TRIALS {
        let step = Step::new(here, objective.sample(&along(&here.x, t, direction)));
        if step.is_descent() {
            // At a corner of the box longer steps end at the same point for ever.
            let is_stuck = best.as_ref().is_some_and(|best| best.x == step.there.x);
            let is_done = step.is_flat() || is_stuck;
            bracket.low = t;
            best = Some(step.there);
            if is_done {
                break;
            }
        } else {
            bracket.high = t;
        }
        t = bracket.next(t);
    }
    best
}

/// x + t · direction
fn along(x: &[f64], t: f64, direction: &[f64]) -> Vec<f64> {
    let mut ray = x.to_vec();
    add_scaled(&mut ray, t, direction);
    ray
}

/// The longest step that is known to be good, and the shortest that is not.
struct Bracket {
    low: f64,
    high: f64,
}

impl Default for Bracket {
    fn default() -> Self {
        Bracket {
            low: 0.0,
            high: f64::INFINITY,
        }
    }
}

impl Bracket {
    /// Between the two; doubled until there is a step that is not good.
    fn next(&self, t: f64) -> f64 {
        if self.high.is_finite() {
            0.5 * (self.low + self.high)
        } else {
            2.0 * t
        }
    }
}

/// A step of a line search, projected onto the box.
struct Step {
    there: Sample,
    /// The value where it begins.
    value: f64,
    /// The slopes along it, where it begins and where it ends.
    slope: f64,
    slope_there: f64,
}

impl Step {
    fn new(here: &Sample, there: Sample) -> Step {
        let step = differences(&there.x, &here.x);
        Step {
            value: here.value,
            slope: dot(&here.gradient, &step),
            slope_there: dot(&there.gradient, &step),
            there,
        }
    }

    /// Armijo's condition, by values or else by slopes (Hager & Zhang 2005), on a step that leads downwards.
    fn is_descent(&self) -> bool {
        // Near a minimum the decrease drowns in the rounding of the value; the gradient still shows the way.
        let rounding = 4.0 * f64::EPSILON * self.value.abs();
        let by_value = self.there.value <= self.value + ARMIJO * self.slope;
        let by_slope = self.there.value <= self.value + rounding
            && self.slope_there <= (2.0 * ARMIJO - 1.0) * self.slope;
        // Bent by the box, a step may lead upwards however small it is.
        self.slope < 0.0 && (by_value || by_slope)
    }

    /// Wolfe's condition.
    fn is_flat(&self) -> bool {
        self.slope_there >= WOLFE * self.slope
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_bowl_has_its_minimum_at_the_bottom_or_at_the_edge_of_the_box() {
        let bowl = |x: &[f64], gradient: &mut [f64]| {
            gradient[0] = 2.0 * (x[0] - 3.0);
            (x[0] - 3.0).powi(2)
        };
        let within = |bounds| minimise(bowl, &[0.0], &[bounds], LbfgsSettings::default()).x[0];

        assert!((within((-9.0, 9.0)) - 3.0).abs() < 1e-6);
        assert_eq!(within((0.0, 1.0)), 1.0);
    }

    fn rosenbrock(x: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.fill(0.0);
        let mut value = 0.0;
        for k in 0..x.len() - 1 {
            let (a, b) = (1.0 - x[k], x[k + 1] - x[k] * x[k]);
            value += a * a + 100.0 * b * b;
            gradient[k] += -2.0 * a - 400.0 * x[k] * b;
            gradient[k + 1] += 200.0 * b;
        }
        value
    }

    #[test]
    fn the_valley_of_rosenbrock_is_followed_to_its_end() {
        let settings = LbfgsSettings {
            max_iterations: 500,
            ..LbfgsSettings::default()
        };

        let found = minimise(
            rosenbrock,
            &[-1.2, 1.0, -0.5, 2.0, 0.3],
            &[(-5.0, 5.0); 5],
            settings,
        );

        assert!(found.is_converged && found.value < 1e-10, "{found:?}");
    }

    #[test]
    fn huge_functions_take_no_more_evaluations_than_ordinary_ones() {
        let start = [-1.2, 1.0, -0.5, 2.0, 0.3];
        let search = |size: f64| {
            let scaled = |x: &[f64], gradient: &mut [f64]| {
                let value = size * rosenbrock(x, gradient);
                scale(gradient, size);
                value
            };
            minimise(scaled, &start, &[(-5.0, 5.0); 5], LbfgsSettings::default())
        };

        let ordinary = search(1.0);
        for size in [1e12, 1e100, 1e290] {
            let huge = search(size);

            assert!(huge.n_evaluations <= ordinary.n_evaluations, "{huge:?}");
            assert!(huge.value / size < 1e-6 && huge.is_converged, "{huge:?}");
        }
    }

    #[test]
    fn bounds_that_cut_the_valley_hold() {
        let found = minimise(
            rosenbrock,
            &[-1.2, 1.0],
            &[(-2.0, 0.5), (-2.0, 2.0)],
            LbfgsSettings::default(),
        );

        // At x₀ = ½ the best x₁ is ¼.
        assert!(found.is_converged, "{found:?}");
        assert!(
            (found.x[0] - 0.5).abs() < 1e-9 && (found.x[1] - 0.25).abs() < 1e-5,
            "{found:?}"
        );
    }

    #[test]
    fn a_function_without_numbers_ends_where_it_started() {
        let found = minimise(
            |_, _| f64::NAN,
            &[7.0, f64::NAN],
            &[(0.0, 1.0); 2],
            LbfgsSettings::default(),
        );

        assert_eq!((found.x, found.is_converged), (vec![1.0, 0.0], false));
    }

    #[test]
    fn a_wall_of_infinity_is_not_entered() {
        let log = |x: &[f64], g: &mut [f64]| {
            g[0] = 1.0 - 0.1 / x[0];
            x[0] - 0.1 * x[0].ln()
        };

        let found = minimise(log, &[5.0], &[(-10.0, 10.0)], LbfgsSettings::default());

        assert!((found.x[0] - 0.1).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn nothing_is_minimised_at_once() {
        let found = minimise(|_, _| 2.0, &[], &[], LbfgsSettings::default());

        assert_eq!((found.value, found.is_converged), (2.0, true));
    }

    proptest! {
        /// Σ dₖ(xₖ - cₖ)² over a box: the minimum is c moved into the box.
        #[test]
        fn separable_bowls_are_solved_exactly(
            bowls in prop::collection::vec((0.1_f64..50.0, -3.0_f64..3.0, -2.0_f64..2.0), 1..12),
        ) {
            let f = |x: &[f64], g: &mut [f64]| {
                for (k, (d, c, _)) in bowls.iter().enumerate() {
                    g[k] = 2.0 * d * (x[k] - c);
                }
                x.iter().zip(&bowls).map(|(x, (d, c, _))| d * (x - c).powi(2)).sum()
            };
            let start: Vec<f64> = bowls.iter().map(|b| b.2).collect();

            let found = minimise(f, &start, &vec![(-1.0, 1.0); bowls.len()], LbfgsSettings::default());

            prop_assert!(found.is_converged);
            for (x, (_, c, _)) in found.x.iter().zip(&bowls) {
                prop_assert!((x - c.clamp(-1.0, 1.0)).abs() < 1e-5);
            }
        }
    }
}
