//! The continuous features φ_c: cosines of the coordinates in the unit box. MiVaBo, Sec. 3.1.
//!
//! ```text
//! φ_j(x) = αⱼ cos(ωⱼ·x + bⱼ),   ωⱼₖ = uⱼₖ / σₖ
//! φ(x)·φ(x') ≈ k(x - x')
//! ```
//!
//! The base frequencies u are drawn once, for bandwidth 1; changing the bandwidths σ keeps them, so the features
//! are smooth functions of σ and the evidence has gradients there. Random features (Rahimi & Recht 2008) err like
//! M^-½; quadrature features (Mutný & Krause 2018) are exact up to a frequency, with an error that falls faster
//! than exponentially once it is passed. An additive expansion is the mean of one kernel per coordinate, each wave
//! with one nonzero frequency.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use super::HYPERPARAMETERS;
use super::hermite::gauss_hermite;
use super::monomials::MAX_FEATURES;
use crate::features::{Error, check_number};
use crate::math::random::Stream;

/// A stationary kernel with value 1 at distance 0, as a function of r = |x - x'| / σ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WaveKernel {
    /// exp(-r²/2)
    #[default]
    SquaredExponential,
    /// (1 + √3 r) exp(-√3 r)
    Matern32,
    /// (1 + √5 r + 5r²/3) exp(-√5 r)
    Matern52,
}

impl WaveKernel {
    /// The kernel at distance `r`, in bandwidths; 0 where it is below the smallest number.
    pub fn at(self, r: f64) -> f64 {
        // All are below e^(-800) there, and ∞ · 0 further out.
        if r.abs() > 1e3 {
            return 0.0;
        }
        let (root3, root5) = (3.0_f64.sqrt(), 5.0_f64.sqrt());
        match self {
            WaveKernel::SquaredExponential => (-0.5 * r * r).exp(),
            WaveKernel::Matern32 => (1.0 + root3 * r) * (-root3 * r).exp(),
            WaveKernel::Matern52 => (1.0 + root5 * r + 5.0 / 3.0 * r * r) * (-root5 * r).exp(),
        }
    }

    /// Degrees of freedom 2ν of the Student-t spectral density of a Matérn kernel; none for a Gaussian one.
    fn degrees(self) -> Option<f64> {
        match self {
            WaveKernel::SquaredExponential => None,
            WaveKernel::Matern32 => Some(3.0),
            WaveKernel::Matern52 => Some(5.0),
        }
    }

    /// By what the normal coordinates of a frequency are multiplied.
    fn spread(self, stream: &mut Stream) -> f64 {
        // A Student-t vector is a normal one divided by the root of one χ²/2ν, the same for all of its coordinates.
        let spread = |d: f64| (d / stream.chi_square(d).max(1e-12)).sqrt();
        self.degrees().map_or(1.0, spread)
    }
}

/// How a kernel over the reals is turned into waves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expansion {
    /// `n` random waves over all coordinates.
    Random {
        /// The kernel they approximate.
        kernel: WaveKernel,
        /// How many in all.
        n: usize,
    },
    /// `n` random waves for each coordinate on its own.
    RandomAdditive {
        /// The kernel of one coordinate.
        kernel: WaveKernel,
        /// How many for each coordinate.
        n: usize,
    },
    /// The squared exponential kernel by Gauss-Hermite quadrature on a tensor grid: nodes^Dc waves.
    Quadrature {
        /// Nodes for each coordinate.
        nodes: usize,
    },
    /// The mean of one squared exponential kernel per coordinate, each by quadrature: `nodes` waves each.
    QuadratureAdditive {
        /// Nodes, and so waves, for each coordinate.
        nodes: usize,
    },
}

impl Expansion {
    /// M_c for `n_reals` coordinates, saturating; 0 without coordinates.
    pub fn n_waves(self, n_reals: usize) -> u64 {
        match self {
            _ if n_reals == 0 => 0,
            Expansion::Random { n, .. } => wide(n),
            Expansion::RandomAdditive { n, .. } | Expansion::QuadratureAdditive { nodes: n } => {
                wide(n).saturating_mul(wide(n_reals))
            }
            Expansion::Quadrature { nodes } => {
                wide(nodes).saturating_pow(u32::try_from(n_reals).unwrap_or(u32::MAX))
            }
        }
    }
}

impl Expansion {
    /// Whether each coordinate has waves of its own.
    fn is_additive(self) -> bool {
        match self {
            Expansion::Random { .. } | Expansion::Quadrature { .. } => false,
            Expansion::RandomAdditive { .. } | Expansion::QuadratureAdditive { .. } => true,
        }
    }
}

fn wide(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

impl Default for Expansion {
    /// The paper's: sixteen random waves of the squared exponential kernel.
    fn default() -> Self {
        Expansion::Random {
            kernel: WaveKernel::SquaredExponential,
            n: 16,
        }
    }
}

/// The largest number of quadrature nodes for one coordinate.
pub(crate) const MAX_NODES: usize = 128;

/// A node of a quadrature rule over the frequencies.
struct Node {
    frequency: Vec<f64>,
    weight: f64,
}

/// M_c cosines over Dc coordinates.
#[derive(Debug, Clone, PartialEq)]
pub struct Waves {
    n_reals: usize,
    /// u, M_c × Dc, row-major.
    base: Vec<f64>,
    phases: Vec<f64>,
    amplitudes: Vec<f64>,
    bandwidths: Vec<f64>,
    /// ω = u / σ, M_c × Dc, row-major.
    frequencies: Vec<f64>,
}

impl Waves {
    /// The waves of an expansion over `n_reals` coordinates with bandwidth 1; none when there are no coordinates.
    ///
    /// # Errors
    /// [`Error::TooManyFeatures`] above [`MAX_FEATURES`] coordinates or waves, or [`MAX_NODES`] nodes.
    pub(crate) fn new(
        expansion: Expansion,
        n_reals: usize,
        stream: &mut Stream,
    ) -> Result<Waves, Error> {
        check_number("coordinates", wide(n_reals), MAX_FEATURES)?;
        let n = expansion.n_waves(n_reals);
        check_number("waves", n, MAX_FEATURES)?;
        let mut waves = Waves {
            n_reals,
            base: Vec::new(),
            phases: Vec::new(),
            amplitudes: Vec::new(),
            bandwidths: vec![1.0; n_reals],
            frequencies: Vec::new(),
        };
        if n > 0 {
            waves.expand(expansion, stream)?;
        }
        waves.frequencies.clone_from(&waves.base);
        Ok(waves)
    }

    fn expand(&mut self, expansion: Expansion, stream: &mut Stream) -> Result<(), Error> {
        let scopes = self.scopes(expansion.is_additive());
        let share = 1.0 / scopes.len() as f64;
        match expansion {
            Expansion::Random { kernel, n } | Expansion::RandomAdditive { kernel, n } => {
                // A cosine of random phase squares to ½ on average, hence the 2.
                let amplitude = (2.0 * share / n as f64).sqrt();
                for scope in scopes
                    .iter()
                    .flat_map(|scope| std::iter::repeat_n(scope, n))
                {
                    self.push_random(kernel, scope, amplitude, stream);
                }
            }
            Expansion::Quadrature { nodes } | Expansion::QuadratureAdditive { nodes } => {
                let rule = quadrature(nodes)?;
                for scope in &scopes {
                    self.push_grid(&rule, scope, share);
                }
            }
        }
        Ok(())
    }

    /// The coordinates of each kernel: one of them all, or one kernel for each.
    fn scopes(&self, is_additive: bool) -> Vec<Vec<usize>> {
        if is_additive {
            (0..self.n_reals).map(|k| vec![k]).collect()
        } else {
            vec![(0..self.n_reals).collect()]
        }
    }

    /// ω ~ N(0, I) or Student-t with 2ν degrees of freedom over a scope, b ~ U[0, 2π).
    fn push_random(
        &mut self,
        kernel: WaveKernel,
        scope: &[usize],
        amplitude: f64,
        stream: &mut Stream,
    ) {
        let spread = kernel.spread(stream);
        let mut frequency = vec![0.0; self.n_reals];
        for &k in scope {
            frequency[k] = spread * stream.normal();
        }
        self.push(&frequency, TAU * stream.unit(), amplitude);
    }

    /// A cosine and a sine at every node of the tensor grid; of the nodes ω and -ω one, with both weights.
    fn push_grid(&mut self, rule: &[(f64, f64)], scope: &[usize], share: f64) {
        let n_dimensions = u32::try_from(scope.len()).unwrap_or(u32::MAX);
        let n_nodes = rule.len().pow(n_dimensions);
        for number in 0..n_nodes {
            // The rule is symmetric about its middle, so node and n_nodes - 1 - node are opposite.
            let opposite = n_nodes - 1 - number;
            if number > opposite {
                break;
            }
            let Node { frequency, weight } = self.node(rule, scope, number, share);
            if number == opposite {
                // The node at 0, whose sine is 0 everywhere.
                self.push(&frequency, 0.0, weight.sqrt());
            } else {
                self.push(&frequency, 0.0, (2.0 * weight).sqrt());
                self.push(&frequency, -FRAC_PI_2, (2.0 * weight).sqrt());
            }
        }
    }

    /// A node of the tensor grid: the digits of its number in the base of the rule say where it lies.
    fn node(&self, rule: &[(f64, f64)], scope: &[usize], number: usize, share: f64) -> Node {
        let mut frequency = vec![0.0; self.n_reals];
        let mut weight = share;
        let mut digits = number;
        for &k in scope {
            let (at, w) = rule[digits % rule.len()];
            digits /= rule.len();
            frequency[k] = at;
            weight *= w;
        }
        Node { frequency, weight }
    }

    fn push(&mut self, frequency: &[f64], phase: f64, amplitude: f64) {
        self.base.extend_from_slice(frequency);
        self.phases.push(phase);
        self.amplitudes.push(amplitude);
    }

    /// The same waves with other bandwidths, one for each coordinate. Those that are not between 1e-50 and
    /// 1e50, or missing, stay as they are.
    pub(crate) fn with_bandwidths(&self, bandwidths: &[f64]) -> Waves {
        let mut waves = self.clone();
        waves.set_bandwidths(bandwidths);
        waves.rescale();
        waves
    }

    fn set_bandwidths(&mut self, bandwidths: &[f64]) {
        for (old, &new) in self.bandwidths.iter_mut().zip(bandwidths) {
            if HYPERPARAMETERS.contains(&new) {
                *old = new;
            }
        }
    }

    fn rescale(&mut self) {
        // From the base and not from the present frequencies: rounding does not pile up, and the way back is exact.
        for (k, frequency) in self.frequencies.iter_mut().enumerate() {
            *frequency = self.base[k] / self.bandwidths[k % self.n_reals];
        }
    }

    /// M_c, the number of waves.
    pub fn len(&self) -> usize {
        self.phases.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.phases.is_empty()
    }

    /// Dc, the number of coordinates.
    pub fn n_reals(&self) -> usize {
        self.n_reals
    }

    /// σ, one for each coordinate.
    pub(crate) fn bandwidths(&self) -> &[f64] {
        &self.bandwidths
    }

    /// The coordinates on which wave `j` depends.
    pub(crate) fn reals_of(&self, j: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.n_reals).filter(move |k| self.frequency(j)[*k] != 0.0)
    }

    /// αⱼ, so that |φ_j| ≤ αⱼ.
    ///
    /// # Panics
    /// When there is no wave `j`.
    pub fn amplitude(&self, j: usize) -> f64 {
        self.amplitudes[j]
    }

    /// bⱼ.
    ///
    /// # Panics
    /// When there is no wave `j`.
    pub fn phase(&self, j: usize) -> f64 {
        self.phases[j]
    }

    /// ωⱼ, one for each coordinate.
    ///
    /// # Panics
    /// When there is no wave `j`.
    pub fn frequency(&self, j: usize) -> &[f64] {
        &self.frequencies[j * self.n_reals..][..self.n_reals]
    }

    /// ωⱼ·x + bⱼ
    pub(crate) fn angle(&self, j: usize, x: &[f64]) -> f64 {
        self.frequency(j)
            .iter()
            .zip(x)
            .fold(self.phases[j], |sum, (w, x)| sum + w * x)
    }

    /// φ_c(x).
    pub(crate) fn values(&self, x: &[f64]) -> Vec<f64> {
        (0..self.len())
            .map(|j| self.amplitudes[j] * self.angle(j, x).cos())
            .collect()
    }

    /// ∂φ_j/∂xₖ = -αⱼ ωⱼₖ sin(ωⱼ·x + bⱼ), M_c × Dc, row-major.
    pub(crate) fn gradients(&self, x: &[f64]) -> Vec<f64> {
        let rows = (0..self.len()).flat_map(|j| {
            let slope = -self.amplitudes[j] * self.angle(j, x).sin();
            self.frequency(j).iter().map(move |w| slope * w)
        });
        rows.collect()
    }

    /// ∂φ_j/∂log σₖ = αⱼ ωⱼₖ xₖ sin(ωⱼ·x + bⱼ), M_c × Dc, row-major.
    ///
    /// # Panics
    /// When `x` has fewer than Dc coordinates.
    pub(crate) fn bandwidth_gradients(&self, x: &[f64]) -> Vec<f64> {
        let mut gradients = self.gradients(x);
        for (at, slope) in gradients.iter_mut().enumerate() {
            *slope = -*slope * x[at % self.n_reals];
        }
        gradients
    }
}

/// Nodes and weights of E[g(ω)], ω ~ N(0, 1): from ∫ e^(-t²) g(√2 t) dt / √π.
fn quadrature(nodes: usize) -> Result<Vec<(f64, f64)>, Error> {
    check_number("quadrature nodes", wide(nodes), wide(MAX_NODES))?;
    let rule = gauss_hermite(nodes).into_iter();
    Ok(rule
        .map(|(t, w)| (t * 2.0_f64.sqrt(), w / PI.sqrt()))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::{Purpose, stream};
    use crate::math::vector::dot;
    use proptest::prelude::*;

    fn waves(expansion: Expansion, n_reals: usize, seed: u64) -> Waves {
        Waves::new(expansion, n_reals, &mut stream(seed, 0, Purpose::Features)).unwrap()
    }

    /// Root of the mean squared error of φ(x)·φ(x') over seeds and pairs of points.
    fn error(expansion: Expansion, exact: impl Fn(&[f64], &[f64]) -> f64) -> f64 {
        let mut points = stream(99, 0, Purpose::Design);
        let mut sum = 0.0;
        let (n_seeds, n_pairs) = (40, 20);
        for seed in 0..n_seeds {
            let waves = waves(expansion, 2, seed).with_bandwidths(&[0.5, 0.8]);
            for _ in 0..n_pairs {
                let [x, y] = [(); 2].map(|()| [points.unit(), points.unit()]);
                sum += (dot(&waves.values(&x), &waves.values(&y)) - exact(&x, &y)).powi(2);
            }
        }
        (sum / (n_seeds * n_pairs) as f64).sqrt()
    }

    fn joint(kernel: WaveKernel) -> impl Fn(&[f64], &[f64]) -> f64 {
        move |x, y| kernel.at(((x[0] - y[0]) / 0.5).hypot((x[1] - y[1]) / 0.8))
    }

    #[test]
    fn the_error_of_random_waves_falls_like_the_root_of_their_number() {
        for kernel in [
            WaveKernel::SquaredExponential,
            WaveKernel::Matern32,
            WaveKernel::Matern52,
        ] {
            let at = |n| error(Expansion::Random { kernel, n }, joint(kernel));

            let ratio = at(64) / at(1024);

            // √16 = 4 is expected. A product cos·cos has variance below 1, and 800 squared errors average to a
            // relative standard error of at most √(2/40) = 0.22 each if pairs of one seed are fully dependent;
            // three of them, on both sides of the ratio.
            assert!(
                (4.0 / 1.7..4.0 * 1.7).contains(&ratio),
                "{kernel:?}: {ratio}"
            );
        }
    }

    #[test]
    fn the_error_of_quadrature_falls_faster_than_any_power() {
        let at = |nodes| {
            error(
                Expansion::Quadrature { nodes },
                joint(WaveKernel::SquaredExponential),
            )
        };

        let errors = [at(4), at(8), at(16)];

        assert!(
            errors[1] < 1e-2 * errors[0] && errors[2] < 1e-6 * errors[1],
            "{errors:?}"
        );
    }

    #[test]
    fn an_additive_expansion_is_the_mean_of_its_coordinates() {
        let exact = |x: &[f64], y: &[f64]| {
            let k = |at: usize, s: f64| WaveKernel::SquaredExponential.at((x[at] - y[at]) / s);
            0.5 * (k(0, 0.5) + k(1, 0.8))
        };

        let quadrature = error(Expansion::QuadratureAdditive { nodes: 24 }, exact);
        let random = error(
            Expansion::RandomAdditive {
                kernel: WaveKernel::SquaredExponential,
                n: 1000,
            },
            exact,
        );

        assert!(quadrature < 1e-9, "{quadrature}");
        assert!(random < 3.0 / 1000.0_f64.sqrt(), "{random}");
    }

    #[test]
    fn an_additive_wave_knows_its_coordinate() {
        let waves = waves(
            Expansion::RandomAdditive {
                kernel: WaveKernel::Matern52,
                n: 2,
            },
            3,
            0,
        );

        let reals: Vec<Vec<usize>> = (0..6).map(|j| waves.reals_of(j).collect()).collect();

        assert_eq!(reals, [[0], [0], [1], [1], [2], [2]]);
    }

    #[test]
    fn extreme_bandwidths_and_distances_give_numbers() {
        let start = waves(
            Expansion::Random {
                kernel: WaveKernel::Matern32,
                n: 9,
            },
            1,
            0,
        );
        for bandwidth in [
            5e-324,
            1e-310,
            1e-50,
            1e50,
            f64::MAX,
            f64::INFINITY,
            f64::NAN,
            0.0,
            -1.0,
        ] {
            let values = start.with_bandwidths(&[bandwidth]).values(&[0.5]);
            assert!(
                values.iter().all(|v| v.is_finite()),
                "{bandwidth}: {values:?}"
            );
        }
        for kernel in [
            WaveKernel::SquaredExponential,
            WaveKernel::Matern32,
            WaveKernel::Matern52,
        ] {
            assert_eq!(
                [1e3, 1e160, f64::INFINITY].map(|r| kernel.at(r)),
                [0.0; 3],
                "{kernel:?}"
            );
        }
    }

    #[test]
    fn without_coordinates_there_are_no_waves() {
        assert!(waves(Expansion::default(), 0, 0).values(&[]).is_empty());
        let none = Expansion::Random {
            kernel: WaveKernel::Matern32,
            n: 0,
        };
        for expansion in [Expansion::Quadrature { nodes: 0 }, none] {
            assert_eq!(waves(expansion, 2, 0).len(), 0);
        }
    }

    #[test]
    fn a_grid_that_is_too_large_is_refused() {
        let mut stream = stream(0, 0, Purpose::Features);

        let refused = Waves::new(Expansion::Quadrature { nodes: 10 }, 50, &mut stream);

        assert!(matches!(
            refused,
            Err(Error::TooManyFeatures { what: "waves", .. })
        ));
    }

    proptest! {
        #[test]
        fn gradients_are_those_of_finite_differences(
            x in prop::collection::vec(0.05_f64..0.95, 3), logs in prop::collection::vec(-1.5_f64..1.0, 3), seed in 0_u64..50,
        ) {
            let expansion = Expansion::Random { kernel: WaveKernel::Matern32, n: 5 };
            let at = |logs: &[f64]| {
                waves(expansion, 3, seed).with_bandwidths(&logs.iter().map(|l| l.exp()).collect::<Vec<_>>())
            };
            let (h, scale) = (1e-6, at(&logs).frequencies.iter().fold(1.0_f64, |m, w| m.max(w.abs())));
            let (in_x, in_log) = (at(&logs).gradients(&x), at(&logs).bandwidth_gradients(&x));

            for k in 0..3 {
                let moved = |v: &[f64], by: f64| { let mut v = v.to_vec(); v[k] += by; v };
                let (up, down) = (at(&logs).values(&moved(&x, h)), at(&logs).values(&moved(&x, -h)));
                let (wide, narrow) = (at(&moved(&logs, h)).values(&x), at(&moved(&logs, -h)).values(&x));
                for j in 0..5 {
                    let slope = (up[j] - down[j]) / (2.0 * h);
                    let log_slope = (wide[j] - narrow[j]) / (2.0 * h);
                    // Truncation h²ω³/6 and rounding ε(1 + ω)/h.
                    let tolerance = 1e-9 * scale + 1e-12 * scale.powi(3);
                    prop_assert!((slope - in_x[j * 3 + k]).abs() < tolerance);
                    prop_assert!((log_slope - in_log[j * 3 + k]).abs() < tolerance);
                }
            }
        }
    }
}
