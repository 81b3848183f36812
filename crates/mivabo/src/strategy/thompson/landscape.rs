//! A sum of cosines with a slope, and bounds from below on its values in a box.
//!
//! ```text
//! g(x) = c₀ + Σⱼ sⱼ cos θⱼ(x) + λ·x,   θⱼ(x) = ωⱼ·x + bⱼ
//!
//! ranges   g ≥ c₀ + Σⱼ min sⱼ cos θⱼ + Σₖ min λₖxₖ                     each term by itself
//! Taylor   g(p + d) ≥ g(p) + ∇g(p)·d + ½ dᵀHd,   H = -Σⱼ κⱼ ωⱼωⱼᵀ,   κⱼ = max sⱼ cos θⱼ
//!          ½ dᵀHd ≥ ½ Σₖ hₖdₖ²,   hₖ = Hₖₖ - Σ_{l≠k} |Hₖₗ| wₗ/wₖ          w: widths of the box
//! ```
//!
//! Minima and maxima are over the box. ∇²g(x) - H is positive semidefinite there, and |2dₖdₗ| ≤ dₖ² wₗ/wₖ + dₗ² wₖ/wₗ, so
//! the second bound holds for every p in the box and falls apart by coordinates. Ranges win in large boxes. In small ones
//! Taylor errs like the square of their size, and where H is dominated by its diagonal around a minimum p, not at all:
//! that box is done. Both allow for rounding, so they hold for the values that are computed.

use std::f64::consts::{PI, TAU};

use crate::encoding::region::minimise::Smooth;
use crate::features::{CosineSum, Waves};
use crate::math::vector::{add_scaled, dot};

/// c₀ + Σⱼ sⱼ cos(ωⱼ·x + bⱼ) + λ·x.
#[derive(Debug, Clone)]
pub(crate) struct Landscape<'a> {
    waves: &'a Waves,
    constant: f64,
    /// s, one for each wave.
    scales: Vec<f64>,
    /// λ
    slope: Vec<f64>,
}

impl<'a> Landscape<'a> {
    /// The sum itself.
    pub fn new(sum: &'a CosineSum) -> Landscape<'a> {
        Landscape::of_weights(sum.waves(), sum.constant(), sum.weights())
    }

    /// `constant` + Σⱼ `weights`ⱼ φⱼ(x).
    pub(crate) fn of_weights(waves: &'a Waves, constant: f64, weights: &[f64]) -> Landscape<'a> {
        let scales = weights
            .iter()
            .enumerate()
            .map(|(j, c)| c * waves.amplitude(j))
            .collect();
        Landscape {
            waves,
            constant,
            scales,
            slope: vec![0.0; waves.n_reals()],
        }
    }

    /// Adds `slope`·x and Σⱼ `weights`ⱼ φⱼ(x); what is missing counts as 0.
    pub fn tilted(mut self, slope: &[f64], weights: &[f64]) -> Landscape<'a> {
        for (old, by) in self.slope.iter_mut().zip(slope) {
            *old += by;
        }
        for (j, (old, by)) in self.scales.iter_mut().zip(weights).enumerate() {
            *old += by * self.waves.amplitude(j);
        }
        self
    }

    /// Adds a constant.
    pub(super) fn raised(mut self, by: f64) -> Landscape<'a> {
        self.constant += by;
        self
    }

    /// Dc, the number of coordinates.
    pub fn n_reals(&self) -> usize {
        self.slope.len()
    }

    /// g(x).
    pub fn value(&self, x: &[f64]) -> f64 {
        let waves = self
            .terms()
            .map(|(j, scale)| scale * self.waves.angle(j, x).cos());
        self.constant + waves.sum::<f64>() + dot(&self.slope, x)
    }

    /// Waves that take part.
    fn terms(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.scales
            .iter()
            .copied()
            .enumerate()
            .filter(|(_, scale)| *scale != 0.0)
    }

    /// Σⱼ |sⱼωⱼₖ|: how fast each coordinate can bend g.
    pub(super) fn bends(&self) -> Vec<f64> {
        let mut bends = vec![0.0; self.n_reals()];
        for (j, scale) in self.terms() {
            for (bend, w) in bends.iter_mut().zip(self.waves.frequency(j)) {
                *bend += (scale * w).abs();
            }
        }
        bends
    }

    /// No value of g in `within` is below this. The middle is tried as p, and `beside` moved into the box.
    pub(super) fn bound(&self, within: &[(f64, f64)], beside: Option<&[f64]>) -> f64 {
        let around = Surroundings::new(self, within);
        let mut bound = around.least.max(around.taylor(&middle(within)));
        if let Some(x) = beside {
            bound = bound.max(around.taylor(&moved_into(within, x)));
        }
        // `max` passes over NaN, which only overflow brings.
        proved(bound)
    }
}

impl Smooth for Landscape<'_> {
    fn value(&self, x: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.copy_from_slice(&self.slope);
        let mut value = self.constant + dot(&self.slope, x);
        for (j, scale) in self.terms() {
            let (sin, cos) = self.waves.angle(j, x).sin_cos();
            value += scale * cos;
            add_scaled(gradient, -scale * sin, self.waves.frequency(j));
        }
        value
    }
}

/// What is known of a landscape over one box.
struct Surroundings<'a> {
    landscape: &'a Landscape<'a>,
    within: &'a [(f64, f64)],
    /// The bound by ranges.
    least: f64,
    /// h
    curvature: Vec<f64>,
    /// What rounding may change in the bound by Taylor.
    slack: f64,
}

impl<'a> Surroundings<'a> {
    fn new(landscape: &'a Landscape<'a>, within: &'a [(f64, f64)]) -> Surroundings<'a> {
        let n = within.len();
        let extent = Extent::of(within);
        let mut sums = Sums::new(landscape, &extent);
        let mut hessian = vec![0.0; n * n];
        for (j, scale) in landscape.terms() {
            let wave = extent.wave(landscape.waves, j);
            let (low, high) = wave.scaled(scale);
            sums.add(low, scale.abs(), &wave);
            add_square(&mut hessian, -high, landscape.waves.frequency(j));
        }
        let tilts = landscape.slope.iter().zip(within);
        let least_tilt: f64 = tilts.map(|(l, (low, high))| (l * low).min(l * high)).sum();
        let n_steps = (landscape.scales.len() + n * n + 8) as f64;
        Surroundings {
            landscape,
            within,
            least: sums.least + least_tilt - 4.0 * f64::EPSILON * n_steps * sums.size,
            curvature: separable(&hessian, &extent.widths),
            slack: sums.slack + 8.0 * f64::EPSILON * n_steps * sums.reach,
        }
    }

    /// min over d of g(p) + ∇g(p)·d + ½ Σ hₖdₖ².
    fn taylor(&self, p: &[f64]) -> f64 {
        let mut gradient = vec![0.0; p.len()];
        let mut bound = Smooth::value(self.landscape, p, &mut gradient) - self.slack;
        for (k, (low, high)) in self.within.iter().enumerate() {
            bound += least_of_parabola(gradient[k], self.curvature[k], low - p[k], high - p[k]);
        }
        bound
    }
}

/// A box, by its sides.
struct Extent {
    middle: Vec<f64>,
    widths: Vec<f64>,
    /// The largest |xₖ|.
    farthest: Vec<f64>,
}

/// What the cosine of one wave does in a box.
struct WaveRange {
    low: f64,
    high: f64,
    /// How far the angle moves.
    width: f64,
    /// What rounding may change in the angle.
    blur: f64,
}

impl Extent {
    fn of(within: &[(f64, f64)]) -> Extent {
        let widths = within.iter().map(|(low, high)| high - low);
        let farthest = within.iter().map(|(low, high)| low.abs().max(high.abs()));
        Extent {
            middle: middle(within),
            widths: widths.collect(),
            farthest: farthest.collect(),
        }
    }

    fn wave(&self, waves: &Waves, j: usize) -> WaveRange {
        let frequency = waves.frequency(j);
        let angle = waves.angle(j, &self.middle);
        let width = along(frequency, &self.widths);
        let error = rounding(self.middle.len());
        let blur = error * (angle.abs() + 2.0 * along(frequency, &self.farthest));
        // The angle at the middle and the way from there are both computed with errors: the range is made wider by them.
        let (low, high) = cosine_range(angle, 0.5 * width * (1.0 + error) + blur);
        WaveRange {
            low,
            high,
            width,
            blur,
        }
    }
}

impl WaveRange {
    /// Least and most of sⱼ cos θⱼ.
    fn scaled(&self, scale: f64) -> (f64, f64) {
        if scale < 0.0 {
            (scale * self.high, scale * self.low)
        } else {
            (scale * self.low, scale * self.high)
        }
    }
}

/// Sums over the terms of a landscape in a box.
struct Sums {
    /// c₀ + Σⱼ min sⱼ cos θⱼ
    least: f64,
    /// Of the absolute values that the bound by ranges adds up: by it its rounding errors are estimated.
    size: f64,
    /// The same for the bound by Taylor, with derivatives.
    reach: f64,
    /// What errors in the angles may change in the bound by Taylor.
    slack: f64,
}

impl Sums {
    fn new(landscape: &Landscape<'_>, extent: &Extent) -> Sums {
        let size = landscape.constant.abs() + along(&landscape.slope, &extent.farthest);
        Sums {
            least: landscape.constant,
            size,
            reach: size,
            slack: 0.0,
        }
    }

    /// Adds a wave of this amplitude whose least value is `low`.
    fn add(&mut self, low: f64, amplitude: f64, wave: &WaveRange) {
        let WaveRange { width, blur, .. } = wave;
        self.least += low;
        self.size += amplitude;
        self.reach += amplitude * (1.0 + width + width * width);
        self.slack += 2.0 * amplitude * blur * (2.0 + width + width * width);
    }
}

/// Σₖ |aₖxₖ|
fn along(a: &[f64], x: &[f64]) -> f64 {
    a.iter().zip(x).map(|(a, x)| (a * x).abs()).sum()
}

/// Adds `scale` · ωωᵀ. Rows of coordinates that the wave does not have stay as they are.
fn add_square(hessian: &mut [f64], scale: f64, frequency: &[f64]) {
    let n = frequency.len();
    for (k, w) in frequency.iter().enumerate().filter(|(_, w)| **w != 0.0) {
        add_scaled(&mut hessian[k * n..][..n], scale * w, frequency);
    }
}

/// hₖ = Hₖₖ - Σ_{l≠k} |Hₖₗ| wₗ/wₖ; 0 where the box has no width, for nothing moves there.
fn separable(hessian: &[f64], widths: &[f64]) -> Vec<f64> {
    let n = widths.len();
    let at = |k: usize| {
        let others = (0..n)
            .filter(|l| *l != k)
            .map(|l| hessian[k * n + l].abs() * widths[l]);
        if widths[k] > 0.0 {
            hessian[k * n + k] - others.sum::<f64>() / widths[k]
        } else {
            0.0
        }
    };
    (0..n).map(at).collect()
}

/// The least of g·d + ½h·d² over low ≤ d ≤ high.
fn least_of_parabola(g: f64, h: f64, low: f64, high: f64) -> f64 {
    let at = |d: f64| d * (g + 0.5 * h * d);
    let ends = at(low).min(at(high));
    if h > 0.0 {
        let vertex = (-g / h).max(low).min(high);
        ends.min(at(vertex))
    } else {
        // Where it bends down, or not at all, it is lowest at an end.
        ends
    }
}

/// Lowest and highest cosine within `radius` of `middle`; a little wider than they are.
fn cosine_range(middle: f64, radius: f64) -> (f64, f64) {
    if radius >= PI || radius.is_nan() {
        return (-1.0, 1.0);
    }
    let (low, high) = (middle - radius, middle + radius);
    let (at_low, at_high) = (low.cos(), high.cos());
    // The first angle from `low` on that is this one up to full turns.
    let has = |angle: f64| angle + TAU * ((low - angle) / TAU).ceil() <= high;
    let least = if has(PI) {
        -1.0
    } else {
        at_low.min(at_high) - 4.0 * f64::EPSILON
    };
    let most = if has(0.0) {
        1.0
    } else {
        at_low.max(at_high) + 4.0 * f64::EPSILON
    };
    (least, most)
}

pub(super) fn middle(within: &[(f64, f64)]) -> Vec<f64> {
    within
        .iter()
        .map(|(low, high)| low + 0.5 * (high - low))
        .collect()
}

fn moved_into(within: &[(f64, f64)], x: &[f64]) -> Vec<f64> {
    x.iter()
        .zip(within)
        .map(|(x, (low, high))| x.max(*low).min(*high))
        .collect()
}

/// Relative error of an angle over n coordinates, with room to spare.
fn rounding(n: usize) -> f64 {
    8.0 * f64::EPSILON * (n + 2) as f64
}

/// A bound that is not a number proves nothing.
pub(super) fn proved(bound: f64) -> f64 {
    if bound.is_nan() {
        f64::NEG_INFINITY
    } else {
        bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::{Expansion, WaveKernel};
    use crate::math::random::{Purpose, stream};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_range_holds_every_cosine_in_it(middle in -30.0_f64..30.0, radius in 0.0_f64..4.0, t in -1.0_f64..=1.0) {
            let (low, high) = cosine_range(middle, radius);

            let cosine = (middle + t * radius).cos();

            prop_assert!((low..=high).contains(&cosine), "{low} {cosine} {high}");
            prop_assert!(low >= -1.0 - 1e-15 && high <= 1.0 + 1e-15);
        }

        #[test]
        fn no_value_in_a_box_is_below_its_bound(
            seed in 0_u64..1000, n in 1_usize..4, bandwidth in -4.0_f64..1.0, size in -8.0_f64..0.0,
        ) {
            let mut draws = stream(seed, 0, Purpose::Weights);
            let kernel = WaveKernel::Matern32;
            let waves = Waves::new(Expansion::Random { kernel, n: 6 }, n, &mut draws).unwrap();
            let waves = waves.with_bandwidths(&vec![10_f64.powf(bandwidth); n]);
            let weights: Vec<f64> = (0..6).map(|_| draws.normal()).collect();
            let slope: Vec<f64> = (0..n).map(|_| draws.normal()).collect();
            let g = Landscape::of_weights(&waves, draws.normal(), &weights).tilted(&slope, &[]);
            let within: Vec<(f64, f64)> = (0..n).map(|_| {
                let (x, width) = (draws.unit(), draws.unit() * 10_f64.powf(size));
                ((x - width).max(0.0), (x + width).min(1.0))
            }).collect();
            let mut inside = || within.iter().map(|(l, h)| l + (h - l) * draws.unit()).collect::<Vec<f64>>();

            let bound = g.bound(&within, Some(&inside()));

            for _ in 0..200 {
                let x = inside();
                prop_assert!(bound <= g.value(&x), "{bound} {}", g.value(&x));
            }
        }
    }

    #[test]
    fn a_small_box_around_a_minimum_is_bounded_by_it() {
        let waves = Waves::new(
            Expansion::Quadrature { nodes: 2 },
            1,
            &mut stream(0, 0, Purpose::Features),
        )
        .unwrap();
        // √½·2 cos x: falls until π.
        let g = Landscape::of_weights(&waves, 0.0, &[-1.0, 0.0]);

        let bound = g.bound(&[(-0.3, 0.4)], Some(&[0.0]));

        assert!(
            g.value(&[0.0]) - bound < 1e-12,
            "{bound} {}",
            g.value(&[0.0])
        );
    }

    #[test]
    fn weights_and_frequencies_beyond_all_bounds_give_a_bound_that_says_nothing() {
        let waves = Waves::new(
            Expansion::default(),
            1,
            &mut stream(0, 0, Purpose::Features),
        )
        .unwrap();

        let huge = Landscape::of_weights(&waves, 0.0, &[f64::MAX; 16]).bound(&[(0.0, 1.0)], None);
        let fast = waves.with_bandwidths(&[1e-50]);
        let wild = Landscape::of_weights(&fast, 0.0, &[1.0; 16]);

        assert_eq!(huge, f64::NEG_INFINITY);
        assert!(wild.bound(&[(0.5, 0.500_001)], None) <= wild.value(&[0.500_000_3]));
    }
}
