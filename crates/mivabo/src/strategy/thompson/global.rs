//! Certified global minima of a [`Landscape`] over a box or a [`Region`]: a point, and a bound that no value is below. The oracle of
//! the continuous and mixed slaves of a dual decomposition, MiVaBo, App. G.
//!
//! Branch and bound, the box with the least bound first: it is halved where the landscape can bend most, halves that miss
//! the region are dropped, the others bounded (`landscape`). Values come from L-BFGS, or from [`Region::minimise`]:
//! once from the middle, then from every box whose middle is better than what is known, and each time the number of
//! boxes has doubled.
//!
//! Where affine constraints hold a minimum x* on an edge of the region, the landscape still falls beyond the edge, and boxes
//! that the edge cuts would have to become tiny. There the Lagrangian bounds them too, with the multipliers of x*:
//!
//! ```text
//! g(x) ≥ g(x) + Σᵣ μᵣ (aᵣ·x - bᵣ)   where aᵣ·x ≤ bᵣ,   μ ≥ 0,   ∇g(x*) + Σᵣ μᵣaᵣ ≈ 0
//! ```

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use mivabo_bqp::interrupt;

pub(crate) use super::landscape::Landscape;
use super::landscape::middle;
use crate::encoding::region::Region;
use crate::encoding::region::minimise;
use crate::math::lbfgs;
use crate::math::vector::{add_scaled, dot};

/// When to stop.
///
/// | field | default | what it does |
/// |---|---|---|
/// | `boxes` | 10,000 | the most boxes that are halved |
/// | `gap` | 1e-6 | stops once value - bound ≤ gap · max(1, \|value\|) |
/// | `cutoff` | infinite | stops once the bound is at least this: then nothing of interest is left |
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BoxLimits {
    /// The most boxes that are halved.
    pub boxes: usize,
    /// The gap at which to stop, relative to max(1, |value|).
    pub gap: f64,
    /// The bound at which to stop.
    pub cutoff: f64,
}

impl Default for BoxLimits {
    fn default() -> Self {
        BoxLimits {
            boxes: 10_000,
            gap: 1e-6,
            cutoff: f64::INFINITY,
        }
    }
}

/// A point, and what is proved about it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Certified {
    /// The point; empty where none was found.
    pub x: Vec<f64>,
    /// The value there; infinite where none was found.
    pub value: f64,
    /// No value is below this; never above `value`. Infinite when it is proved that there is no point.
    pub bound: f64,
    /// How many boxes were halved.
    pub boxes: usize,
    /// Whether value - bound is within the gap.
    pub is_closed: bool,
}

impl Landscape<'_> {
    /// The minimum over a box.
    pub fn minimise(&self, bounds: &[(f64, f64)], limits: BoxLimits) -> Certified {
        Search::new(self, Domain::Box(bounds), limits).run()
    }

    /// The minimum over a region. Its bound counts boxes out by the constraints' ranges, so it is that of the region up to
    /// the gap, but where a constraint can only be tested: there it is that of the region without
    /// it.
    ///
    /// # Contract
    /// [`Region::contains`] holds for the point.
    pub fn minimise_in(&self, region: &Region<'_>, limits: BoxLimits) -> Certified {
        Search::new(self, Domain::Region(region), limits).run()
    }
}

/// Where points are looked for.
#[derive(Clone, Copy)]
enum Domain<'a> {
    Box(&'a [(f64, f64)]),
    Region(&'a Region<'a>),
}

impl<'a> Domain<'a> {
    fn bounds(self) -> &'a [(f64, f64)] {
        match self {
            Domain::Box(bounds) => bounds,
            Domain::Region(region) => region.bounds(),
        }
    }

    fn misses(self, within: &[(f64, f64)]) -> bool {
        matches!(self, Domain::Region(region) if region.misses(within))
    }

    fn contains(self, x: &[f64]) -> bool {
        match self {
            Domain::Box(_) => true,
            Domain::Region(region) => region.contains(x),
        }
    }

    fn descend(self, f: &Landscape<'_>, start: Vec<f64>) -> Option<Vec<f64>> {
        match self {
            Domain::Box(bounds) => Some(descend_in_box(f, &start, bounds)),
            Domain::Region(region) => region
                .minimise(f, &[start], minimise::DescentSettings::default())
                .map(|end| end.x),
        }
    }
}

/// A box that may hold the minimum.
#[derive(PartialEq)]
struct Cell {
    within: Vec<(f64, f64)>,
    bound: f64,
    /// Of equal bounds the first comes first.
    number: usize,
}

impl Eq for Cell {}

impl Ord for Cell {
    /// The greatest is the one to look at next.
    fn cmp(&self, other: &Self) -> Ordering {
        other
            .bound
            .total_cmp(&self.bound)
            .then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Cell {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

struct Search<'a> {
    f: &'a Landscape<'a>,
    domain: Domain<'a>,
    limits: BoxLimits,
    /// How much halving a side promises, for each unit of its length.
    bends: Vec<f64>,
    x: Vec<f64>,
    value: f64,
    /// The Lagrangian at `x`.
    lagrangian: Option<Landscape<'a>>,
    open: BinaryHeap<Cell>,
    /// The least bound of the boxes that are not looked at any more.
    dropped: f64,
    n_cells: usize,
}

impl<'a> Search<'a> {
    fn new(f: &'a Landscape<'a>, domain: Domain<'a>, limits: BoxLimits) -> Search<'a> {
        let mut bends = f.bends();
        if matches!(domain, Domain::Region(_)) {
            // Constraints may ask for a coordinate that the landscape does not.
            raise_least(&mut bends);
        }
        Search {
            f,
            domain,
            limits,
            bends,
            x: vec![],
            value: f64::INFINITY,
            lagrangian: None,
            open: BinaryHeap::new(),
            dropped: f64::INFINITY,
            n_cells: 0,
        }
    }

    fn run(mut self) -> Certified {
        let root = self.domain.bounds().to_vec();
        self.descend(middle(&root));
        self.push(root, f64::NEG_INFINITY);
        let mut boxes = 0;
        while boxes < self.limits.boxes {
            let Some(cell) = self.next() else { break };
            interrupt::check();
            boxes += 1;
            self.halve(&cell, boxes.is_power_of_two());
        }
        self.certified(boxes)
    }

    /// The open box of the least bound. None when that is enough, for then all are.
    fn next(&mut self) -> Option<Cell> {
        let least = self.open.peek()?.bound;
        if self.is_enough(least) {
            return None;
        }
        self.open.pop()
    }

    fn certified(self, boxes: usize) -> Certified {
        let least = self.open.peek().map_or(f64::INFINITY, |cell| cell.bound);
        let bound = least.min(self.dropped).min(self.value);
        let is_closed = self.is_within_gap(bound);
        Certified {
            x: self.x,
            value: self.value,
            bound,
            boxes,
            is_closed,
        }
    }

    fn is_within_gap(&self, bound: f64) -> bool {
        self.value - bound <= self.limits.gap * self.value.abs().max(1.0)
    }

    fn is_enough(&self, bound: f64) -> bool {
        bound >= self.limits.cutoff || self.value.is_finite() && self.is_within_gap(bound)
    }

    fn halve(&mut self, cell: &Cell, is_due: bool) {
        let Some(side) = self.side(&cell.within) else {
            // Nobody looks at it any more, but the minimum may still be in it.
            self.dropped = self.dropped.min(cell.bound);
            return;
        };
        let (low, high) = cell.within[side];
        let half = low + 0.5 * (high - low);
        for part in [(low, half), (half, high)] {
            let mut within = cell.within.clone();
            within[side] = part;
            if self.domain.misses(&within) {
                continue;
            }
            // A descent before the bound: a better value may be what drops this box.
            let middle = middle(&within);
            if is_due || self.f.value(&middle) < self.value && self.domain.contains(&middle) {
                self.descend(middle);
            }
            self.push(within, cell.bound);
        }
    }

    /// The side to halve; none when the box cannot become smaller.
    fn side(&self, within: &[(f64, f64)]) -> Option<usize> {
        let promise = |k: usize| self.bends[k] * (within[k].1 - within[k].0);
        let can_split = |k: &usize| promise(*k) > 0.0 && has_middle(within[*k]);
        (0..within.len())
            .filter(can_split)
            .max_by(|a, b| promise(*a).total_cmp(&promise(*b)))
    }

    /// `above`: the bound of a box around this one.
    fn push(&mut self, within: Vec<(f64, f64)>, above: f64) {
        let bound = self.bound(&within).max(above);
        if bound >= self.value.min(self.limits.cutoff) {
            self.dropped = self.dropped.min(bound);
            return;
        }
        self.n_cells += 1;
        self.open.push(Cell {
            within,
            bound,
            number: self.n_cells,
        });
    }

    fn bound(&self, within: &[(f64, f64)]) -> f64 {
        let beside = Some(&self.x[..]).filter(|x| x.len() == within.len());
        let own = self.f.bound(within, beside);
        // Where constraints hold the minimum, the landscape falls on beyond them: there the Lagrangian is the better bound.
        match &self.lagrangian {
            Some(lagrangian) => own.max(lagrangian.bound(within, beside)),
            None => own,
        }
    }

    fn descend(&mut self, start: Vec<f64>) {
        let Some(end) = self.domain.descend(self.f, start) else {
            return;
        };
        let value = self.f.value(&end);
        if value < self.value {
            if let Domain::Region(region) = self.domain {
                self.lagrangian = lagrangian(self.f, region, &end);
            }
            (self.x, self.value) = (end, value);
        }
    }
}

/// Rows that are met with this little to spare are active.
const ACTIVE: f64 = 1e-6;

/// How often the search for the multipliers goes over all of them.
const SWEEPS: usize = 200;

/// a·x ≤ b
struct HalfSpace {
    normal: Vec<f64>,
    bound: f64,
}

impl HalfSpace {
    /// On one side of the point, along one coordinate.
    fn along(n: usize, k: usize, sign: f64) -> HalfSpace {
        let mut normal = vec![0.0; n];
        normal[k] = sign;
        HalfSpace { normal, bound: 0.0 }
    }
}

/// g + Σ μ (a·x - b) with μ from min |∇g(x) + Σ μa|, μ ≥ 0, over the active rows and sides of the box; none without active
/// rows.
fn lagrangian<'a>(f: &Landscape<'a>, region: &Region<'_>, x: &[f64]) -> Option<Landscape<'a>> {
    let mut active = active_rows(region, x);
    let n_rows = active.len();
    if n_rows == 0 {
        return None;
    }
    // The box takes care of its sides itself; here they only take their share of the gradient.
    active.extend(active_sides(region.bounds(), x));
    let mut gradient = vec![0.0; x.len()];
    minimise::Smooth::value(f, x, &mut gradient);
    let multipliers = multipliers(&active, gradient);
    let mut slope = vec![0.0; x.len()];
    let mut raise = 0.0;
    for (row, multiplier) in active[..n_rows].iter().zip(&multipliers) {
        add_scaled(&mut slope, *multiplier, &row.normal);
        raise -= multiplier * row.bound;
    }
    let is_number = raise.is_finite() && slope.iter().all(|s| s.is_finite());
    is_number.then(|| f.clone().tilted(&slope, &[]).raised(raise))
}

/// The rows that hold a point where it is. An equation is a row in both directions.
fn active_rows(region: &Region<'_>, x: &[f64]) -> Vec<HalfSpace> {
    let mut active = Vec::new();
    for (row, slack) in region.rows_and_slacks() {
        let spare = row.bound - dot(&row.coefficients, x);
        if row.is_equation || spare <= ACTIVE {
            // With the slack that the region allows: the bound must hold for the points that count as feasible.
            active.push(HalfSpace {
                normal: row.coefficients.clone(),
                bound: row.bound + slack,
            });
        }
        if row.is_equation {
            active.push(HalfSpace {
                normal: row.coefficients.iter().map(|a| -a).collect(),
                bound: slack - row.bound,
            });
        }
    }
    active
}

/// The sides of a box that a point lies on.
fn active_sides(bounds: &[(f64, f64)], x: &[f64]) -> Vec<HalfSpace> {
    let side = |k: usize, sign: f64| HalfSpace::along(x.len(), k, sign);
    let mut active = Vec::new();
    for (k, (low, high)) in bounds.iter().enumerate() {
        active.extend((x[k] - low <= ACTIVE).then(|| side(k, -1.0)));
        active.extend((high - x[k] <= ACTIVE).then(|| side(k, 1.0)));
    }
    active
}

/// μ from min |∇g + Σ μa|, μ ≥ 0, by coordinate descent. Any μ ≥ 0 gives a bound, so it need not converge.
fn multipliers(active: &[HalfSpace], gradient: Vec<f64>) -> Vec<f64> {
    let mut residual = gradient;
    let mut multipliers = vec![0.0; active.len()];
    for _ in 0..SWEEPS {
        for (HalfSpace { normal, .. }, old) in active.iter().zip(&mut multipliers) {
            let new = f64::max(*old - dot(normal, &residual) / dot(normal, normal), 0.0);
            add_scaled(&mut residual, new - *old, normal);
            *old = new;
        }
    }
    multipliers
}

/// Whether there is a number between the two.
fn has_middle(side: (f64, f64)) -> bool {
    let (low, high) = side;
    let half = low + 0.5 * (high - low);
    low < half && half < high
}

fn raise_least(bends: &mut [f64]) {
    let most = bends.iter().copied().fold(0.0, f64::max);
    for bend in bends {
        *bend = bend.max(0.01 * most).max(f64::MIN_POSITIVE);
    }
}

fn descend_in_box(f: &Landscape<'_>, start: &[f64], bounds: &[(f64, f64)]) -> Vec<f64> {
    let slope = |x: &[f64], gradient: &mut [f64]| minimise::Smooth::value(f, x, gradient);
    lbfgs::minimise(slope, start, bounds, lbfgs::LbfgsSettings::default()).x
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::{Expansion, FeatureSettings, Features, WaveKernel, Waves, Weights};
    use crate::math::random::{Purpose, Stream, stream};
    use crate::space::Space;
    use proptest::prelude::*;

    #[test]
    fn the_sum_of_all_waves_is_minimised_to_the_gap() {
        let settings = FeatureSettings::default();
        let features = Features::new(vec![], 2, &settings, 0).unwrap();
        let weights = Weights::from_flat(features.into(), &[1.0; 17]);
        let sum = weights.given_bits(&[]);

        let found = Landscape::new(&sum).minimise(&[(0.0, 1.0); 2], BoxLimits::default());

        assert!(found.is_closed && found.value - found.bound <= 1e-6 * found.value.abs().max(1.0));
        assert!(found.bound <= sum.value(&[0.3, 0.4]));
    }

    /// Sixteen waves and their weights; the smaller the bandwidth, the more minima there are.
    fn drawn(n: usize, bandwidth: f64, draws: &mut Stream) -> (Waves, Vec<f64>) {
        let kernel = WaveKernel::SquaredExponential;
        let waves = Waves::new(Expansion::Random { kernel, n: 16 }, n, draws).unwrap();
        let weights = (0..16).map(|_| draws.normal()).collect();
        (waves.with_bandwidths(&vec![bandwidth; n]), weights)
    }

    /// All points of a grid with `steps` steps a side.
    fn grid(n: usize, steps: usize) -> impl Iterator<Item = Vec<f64>> {
        let side = steps + 1;
        (0..side.pow(u32::try_from(n).unwrap())).map(move |at| {
            (0..n)
                .map(|k| (at / side.pow(u32::try_from(k).unwrap()) % side) as f64 / steps as f64)
                .collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn the_minimum_is_that_of_a_fine_grid(seed in any::<u64>(), n in 1_usize..3, bandwidth in 0.1_f64..1.5, tilt: bool) {
            let mut draws = stream(seed, 0, Purpose::Weights);
            let (waves, weights) = drawn(n, bandwidth, &mut draws);
            let slope: Vec<f64> = (0..n).map(|_| if tilt { draws.normal() } else { 0.0 }).collect();
            let f = Landscape::of_weights(&waves, 0.5, &weights).tilted(&slope, &[]);

            let found = f.minimise(&vec![(0.0, 1.0); n], BoxLimits::default());

            let lowest = grid(n, [2000, 100][n - 1]).map(|x| f.value(&x)).fold(f64::INFINITY, f64::min);
            prop_assert!(found.is_closed, "{found:?}");
            prop_assert!(found.bound <= lowest && found.value <= lowest + 1e-6, "{found:?} {lowest}");
            prop_assert!(found.value - found.bound <= 1e-6 * found.value.abs().max(1.0));
            prop_assert_eq!(f.value(&found.x), found.value);
        }

        #[test]
        fn a_bound_holds_whatever_the_limit(seed in any::<u64>(), n in 0_usize..5, boxes in 0_usize..40, cutoff in -3.0_f64..3.0) {
            let mut draws = stream(seed, 0, Purpose::Weights);
            let (waves, weights) = drawn(n, 0.3, &mut draws);
            let weights = if n == 0 { &[][..] } else { &weights };
            let f = Landscape::of_weights(&waves, 0.5, weights);

            let found = f.minimise(&vec![(0.0, 1.0); n], BoxLimits { boxes, gap: 0.0, cutoff });

            prop_assert!(found.bound <= found.value && found.boxes <= boxes);
            for _ in 0..200 {
                let x: Vec<f64> = (0..n).map(|_| draws.unit()).collect();
                prop_assert!(found.bound <= f.value(&x));
            }
        }

        #[test]
        fn minima_in_regions_are_those_of_a_fine_grid(seed in any::<u64>(), which in 0_usize..4) {
            let statement = ["x + y <= 0.7", "x * y >= 0.2", "(x - 0.5) ** 2 + (y - 0.5) ** 2 <= 0.1", "x + y == 1"][which];
            let mut space = Space::builder();
            let _ = (space.float("x", 0.0..=1.0), space.float("y", 0.0..=1.0));
            space.subject_to("c", statement);
            let space = space.build().unwrap();
            let region = space.encoding().given_bits(&[]).unwrap();
            let (waves, weights) = drawn(2, 0.3, &mut stream(seed, 0, Purpose::Weights));
            let f = Landscape::of_weights(&waves, 0.0, &weights);

            let found = f.minimise_in(&region, BoxLimits { gap: 1e-4, ..BoxLimits::default() });

            let points = grid(2, 100).filter(|x| region.contains(x));
            let lowest = points.map(|x| f.value(&x)).fold(f64::INFINITY, f64::min);
            prop_assert!(found.is_closed && region.contains(&found.x), "{found:?}");
            prop_assert!(found.bound <= lowest && found.value <= lowest + 1e-4 * lowest.abs().max(1.0), "{found:?} {lowest}");
        }
    }

    #[test]
    fn an_empty_region_that_no_side_shows_is_proved_empty_by_its_boxes() {
        let mut space = Space::builder();
        let _ = (space.float("x", 0.0..=1.0), space.float("y", 0.0..=1.0));
        space.subject_to("inside", "x ** 2 + y ** 2 <= 0.5");
        space.subject_to("outside", "x + y >= 1.5");
        let space = space.build().unwrap();
        let region = space.encoding().given_bits(&[]).unwrap();
        let (waves, weights) = drawn(2, 1.0, &mut stream(0, 0, Purpose::Weights));

        let found =
            Landscape::of_weights(&waves, 0.0, &weights).minimise_in(&region, BoxLimits::default());

        assert!(!region.is_empty());
        assert_eq!((found.value, found.bound), (f64::INFINITY, f64::INFINITY));
    }

    #[test]
    #[ignore = "a measurement: boxes by dimension and bandwidth"]
    fn boxes_by_dimension() {
        for n in 1..=6 {
            for bandwidth in [0.2, 0.5, 1.0] {
                let mut boxes: Vec<usize> = Vec::new();
                let started = std::time::Instant::now();
                for seed in 0..20 {
                    let (waves, weights) =
                        drawn(n, bandwidth, &mut stream(seed, 0, Purpose::Weights));
                    let f = Landscape::of_weights(&waves, 0.0, &weights);
                    boxes.push(f.minimise(&vec![(0.0, 1.0); n], BoxLimits::default()).boxes);
                }
                boxes.sort_unstable();
                let each = started.elapsed() / 20;
                println!(
                    "Dc = {n}, σ = {bandwidth}: median {}, most {}, {each:?}",
                    boxes[10], boxes[19]
                );
            }
        }
    }
}
