//! Weights W of the model, and what the function is where one half of a point is fixed.
//!
//! ```text
//! f(bits, unit) = aᵀ W b̃
//! reals fixed:   q = W b̃   coefficients of a pseudo-Boolean function: the discrete half, MiVaBo Sec. 3.3
//! bits fixed:    c = Wᵀ a   weights of a sum of cosines: the continuous half
//! ```

use std::sync::Arc;

use mivabo_bqp::{Bqp, Quadratic};

use super::Features;
use super::program;
use super::waves::Waves;
use crate::features::Error;
use crate::math::vector::{add_scaled, dot};

/// A weight for every feature, as one row-major M_d × (1 + M_c) matrix; 0 for products that are not in the model.
#[derive(Debug, Clone)]
pub struct Weights {
    features: Arc<Features>,
    matrix: Vec<f64>,
}

impl Weights {
    pub(crate) fn new(features: Arc<Features>, matrix: Vec<f64>) -> Weights {
        debug_assert_eq!(
            matrix.len(),
            features.monomials().len() * features.n_columns()
        );
        Weights { features, matrix }
    }

    /// From one value for each weight of the model, in the order of `Features::flatten`. Missing values are 0.
    pub fn from_flat(features: Arc<Features>, flat: &[f64]) -> Weights {
        let columns = features.n_columns();
        let mut matrix = vec![0.0; features.monomials().len() * columns];
        for ((i, j), &w) in features.weights().zip(flat) {
            matrix[i * columns + j] = w;
        }
        Weights { features, matrix }
    }

    /// One value for each weight of the model, in the order of `Features::flatten`.
    pub fn to_flat(&self) -> Vec<f64> {
        let columns = self.features.n_columns();
        self.features
            .weights()
            .map(|(i, j)| self.matrix[i * columns + j])
            .collect()
    }

    /// The features that these are the weights of.
    pub fn features(&self) -> &Arc<Features> {
        &self.features
    }

    /// W, M_d × (1 + M_c), row-major.
    pub fn matrix(&self) -> &[f64] {
        &self.matrix
    }

    /// f(bits, unit).
    ///
    /// # Panics
    /// When there are fewer bits than the model needs.
    pub fn value(&self, bits: &[bool], unit: &[f64]) -> f64 {
        let a = self.features.monomials().values(bits);
        dot(&a, &self.coefficients(unit))
    }

    /// q = W b̃: a coefficient for every monomial.
    fn coefficients(&self, unit: &[f64]) -> Vec<f64> {
        let b = self.features.b(unit);
        self.matrix
            .chunks_exact(b.len())
            .map(|row| dot(row, &b))
            .collect()
    }

    /// f at fixed coordinates as a function of the bits (0/1, whatever the basis), for monomials up to degree 2.
    ///
    /// # Errors
    /// [`Error::NoProgram`] for monomials of a higher degree; [`program_given_reals`](Self::program_given_reals)
    /// has them too.
    pub fn given_reals(&self, unit: &[f64]) -> Result<Quadratic, Error> {
        let monomials = self.features.monomials();
        if monomials.order() > 2 {
            let why = format!(
                "monomials have degree {}; a quadratic form has at most 2",
                monomials.order()
            );
            return Err(Error::NoProgram { why });
        }
        Ok(program::quadratic(
            monomials,
            &monomials.in_binary(self.coefficients(unit)),
        ))
    }

    /// The discrete half of min f at fixed coordinates: `constraints` with f as its objective.
    ///
    /// The bits of `constraints` are the first bits of the answer. Monomials of degree 3 and more bring further
    /// bits, each tied to a product of two others by rows, so a point of the answer is a point of `constraints`
    /// with the same value of f.
    ///
    /// # Errors
    /// [`Error::NoProgram`] when a coefficient is too large or `constraints` has too few bits.
    pub fn program_given_reals(&self, constraints: &Bqp, unit: &[f64]) -> Result<Bqp, Error> {
        let monomials = self.features.monomials();
        program::program(
            monomials,
            &monomials.in_binary(self.coefficients(unit)),
            constraints,
        )
    }

    /// f at fixed bits as a function of the coordinates.
    ///
    /// # Panics
    /// When there are fewer bits than the model needs.
    pub(crate) fn given_bits(&self, bits: &[bool]) -> CosineSum {
        let columns = self.features.n_columns();
        let mut c = vec![0.0; columns];
        let a = self.features.monomials().values(bits);
        let rows = self.matrix.chunks_exact(columns).zip(&a);
        // In the binary basis most monomials are 0 where few bits are set.
        for (row, &a) in rows.filter(|(_, a)| **a != 0.0) {
            add_scaled(&mut c, a, row);
        }
        CosineSum {
            constant: c[0],
            weights: c.split_off(1),
            waves: self.features.waves().clone(),
        }
    }
}

/// c₀ + Σⱼ cⱼ αⱼ cos(ωⱼ·x + bⱼ).
#[derive(Debug, Clone, PartialEq)]
pub struct CosineSum {
    constant: f64,
    weights: Vec<f64>,
    waves: Waves,
}

impl CosineSum {
    pub(crate) fn constant(&self) -> f64 {
        self.constant
    }

    /// c, one for each wave.
    pub(crate) fn weights(&self) -> &[f64] {
        &self.weights
    }

    pub(crate) fn waves(&self) -> &Waves {
        &self.waves
    }

    /// The value at `unit`, from the waves' own values: what the quicker ways are checked against.
    #[cfg(test)]
    pub(crate) fn value(&self, unit: &[f64]) -> f64 {
        self.weights
            .iter()
            .zip(self.waves.values(unit))
            .fold(self.constant, |sum, (c, phi)| sum + c * phi)
    }

    /// The value, and ∂/∂xₖ = -Σⱼ cⱼ αⱼ ωⱼₖ sin(ωⱼ·x + bⱼ) into `gradient`.
    pub(crate) fn value_and_gradient(&self, unit: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.fill(0.0);
        let mut value = self.constant;
        for (j, &c) in self.weights.iter().enumerate() {
            let (sin, cos) = self.waves.angle(j, unit).sin_cos();
            let scale = c * self.waves.amplitude(j);
            value += scale * cos;
            for (slope, w) in gradient.iter_mut().zip(self.waves.frequency(j)) {
                *slope -= scale * w * sin;
            }
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::{Basis, Expansion, FeatureSettings, Products, WaveKernel};
    use crate::math::random::{Purpose, stream};
    use mivabo_bqp::{Row, RowRelation};
    use proptest::prelude::*;

    fn any_products() -> impl Strategy<Value = Products> {
        prop_oneof![
            Just(Products::All),
            Just(Products::None),
            prop::collection::vec((0_usize..6, 0_usize..3), 0..12).prop_map(Products::Linked),
            prop::collection::vec((0_usize..20, 0_usize..8), 0..20).prop_map(Products::Listed),
        ]
    }

    prop_compose! {
        fn any_weights(orders: std::ops::Range<usize>)(
            order in orders, fourier: bool, additive: bool, n_bits in 0_usize..6, n_reals in 0_usize..4,
            products in any_products(), seed in 0_u64..1000,
        ) -> (Weights, usize) {
            let kernel = WaveKernel::SquaredExponential;
            let settings = FeatureSettings {
                order,
                basis: if fourier { Basis::Fourier } else { Basis::Binary },
                expansion: if additive { Expansion::RandomAdditive { kernel, n: 2 } } else { Expansion::Random { kernel, n: 5 } },
                bandwidth: 0.6,
                products,
            };
            // One bit before the visible ones is none of the model's.
            let features = Arc::new(Features::new((1..=n_bits).collect(), n_reals, &settings, seed).unwrap());
            let mut stream = stream(seed, 1, Purpose::Weights);
            let flat: Vec<f64> = (0..features.n_weights()).map(|_| stream.normal()).collect();
            (Weights::from_flat(features, &flat), n_bits + 1)
        }
    }

    fn all_points(n: usize) -> impl Iterator<Item = Vec<bool>> {
        (0_u32..1 << n).map(move |x| (0..n).map(|i| x >> i & 1 == 1).collect())
    }

    proptest! {
        #[test]
        fn every_view_of_the_weights_is_the_flat_dot_product((weights, n) in any_weights(0..3), unit in prop::collection::vec(0.0_f64..1.0, 3)) {
            let features = weights.features();
            let unit = &unit[..features.waves().n_reals()];
            let flat = weights.to_flat();
            let form = weights.given_reals(unit).unwrap();

            for bits in all_points(n) {
                let row = features.flatten(&features.factors(&bits, unit));
                let slow: f64 = row.iter().zip(&flat).map(|(x, w)| x * w).sum();
                let size: f64 = 1.0 + flat.iter().map(|w| w.abs()).sum::<f64>();
                let views = [weights.value(&bits, unit), form.value(&bits), weights.given_bits(&bits).value(unit)];
                prop_assert!(views.iter().all(|v| (v - slow).abs() < 1e-13 * size), "{views:?} {slow}");
            }
        }

        #[test]
        fn a_program_of_any_order_has_the_same_minimum_and_value((weights, n) in any_weights(0..6), unit in prop::collection::vec(0.0_f64..1.0, 3)) {
            let unit = &unit[..weights.features().waves().n_reals()];
            let mut constraints = Bqp::new(n);
            let few = Quadratic::new(0.0, (0..n).map(|i| (i, 1.0)), []);
            constraints.add_row(Row::new("few", few, RowRelation::LessEqual, 3.0)).unwrap();

            let program = weights.program_given_reals(&constraints, unit).unwrap();

            prop_assume!(program.n() <= 16);
            for bits in all_points(program.n()).filter(|x| program.is_feasible(x)) {
                prop_assert!((program.objective().value(&bits) - weights.value(&bits[..n], unit)).abs() < 1e-10);
            }
            for bits in all_points(n).filter(|x| constraints.is_feasible(x)) {
                let extended = all_points(program.n() - n).filter(|extra| program.is_feasible(&[&bits[..], extra].concat()));
                prop_assert_eq!(extended.count(), 1);
            }
        }

        #[test]
        fn the_gradient_of_a_cosine_sum_is_that_of_finite_differences((weights, n) in any_weights(2..3), unit in prop::collection::vec(0.1_f64..0.9, 3)) {
            let unit = unit[..weights.features().waves().n_reals()].to_vec();
            let sum = weights.given_bits(&vec![true; n]);
            let mut gradient = vec![0.0; unit.len()];

            let value = sum.value_and_gradient(&unit, &mut gradient);

            prop_assert!((value - sum.value(&unit)).abs() < 1e-12 * (1.0 + value.abs()));
            for k in 0..unit.len() {
                let at = |h: f64| { let mut x = unit.clone(); x[k] += h; sum.value(&x) };
                let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                prop_assert!((slope - gradient[k]).abs() < 1e-6 * (1.0 + gradient[k].abs() + value.abs()), "{slope} {gradient:?}");
            }
        }
    }

    #[test]
    fn cubic_weights_are_no_quadratic_form() {
        let settings = FeatureSettings {
            order: 3,
            ..FeatureSettings::default()
        };
        let features = Arc::new(Features::new(vec![0, 1, 2], 0, &settings, 0).unwrap());

        let refused = Weights::from_flat(features, &[])
            .given_reals(&[])
            .unwrap_err();

        assert!(refused.to_string().contains("degree 3"), "{refused}");
    }

    #[test]
    fn constraints_with_too_few_bits_are_refused_at_every_order() {
        for order in 1..=4 {
            let settings = FeatureSettings {
                order,
                ..FeatureSettings::default()
            };
            let features = Arc::new(Features::new(vec![0, 1, 2, 3], 0, &settings, 0).unwrap());
            let weights = Weights::from_flat(features.clone(), &vec![1.0; features.n_weights()]);

            let refused = weights.program_given_reals(&Bqp::new(3), &[]);

            assert!(
                matches!(refused, Err(Error::NoProgram { .. })),
                "order {order}"
            );
        }
    }

    #[test]
    fn weights_too_large_for_a_program_are_refused() {
        let features = Arc::new(Features::new(vec![0], 0, &FeatureSettings::default(), 0).unwrap());

        let refused =
            Weights::from_flat(features, &[0.0, 1e305]).program_given_reals(&Bqp::new(1), &[]);

        assert!(matches!(refused, Err(Error::NoProgram { .. })));
    }
}
