//! The features of the paper's model f(x) = aᵀ W b̃: monomials of bits, waves over coordinates, and their products.
//! MiVaBo, Sec. 3.1.
//!
//! ```text
//! a = φ_d(bits) ∈ ℝ^M_d          monomials, a₀ = 1
//! b̃ = [1, φ_c(unit)] ∈ ℝ^(1+M_c)  waves
//! f = w_dᵀ φ_d + w_cᵀ φ_c + w_mᵀ φ_m = Σᵢⱼ Wᵢⱼ aᵢ b̃ⱼ
//! ```
//!
//! Column 0 of W is w_d, row 0 from column 1 on is w_c, the rest is w_m; products that are not in the model have
//! weight 0. The paper also multiplies the empty monomial with every wave, which puts each wave into the model
//! twice. We keep one copy: the paper's isotropic prior is ours with the continuous variance doubled.

mod error;
mod hermite;
pub(crate) mod mixed;
pub(crate) mod monomials;
mod program;
pub(crate) mod waves;
pub(crate) mod weights;

use std::sync::Arc;

pub use self::error::Error;
pub use self::mixed::Products;
pub(crate) use self::mixed::{Group, Mixed};
pub(crate) use self::monomials::MAX_FEATURES;
pub use self::monomials::{Basis, Monomials};
pub(crate) use self::waves::MAX_NODES;
pub use self::waves::{Expansion, WaveKernel, Waves};
pub(crate) use self::weights::CosineSum;
pub use self::weights::Weights;
use crate::encoding::Encoding;
use crate::math::random::{Purpose, stream};

/// What variances and bandwidths may be: wide enough for any use, and far from overflow.
pub(crate) const HYPERPARAMETERS: std::ops::RangeInclusive<f64> = 1e-50..=1e50;

/// Which features a model has.
///
/// | field | default | what it does |
/// |---|---|---|
/// | `order` | 2 | the highest degree of a monomial of bits |
/// | `basis` | binary | whether a bit counts as 0/1 or as -1/1 |
/// | `expansion` | 16 random waves, squared exponential | the continuous features |
/// | `bandwidth` | 1 | σ of every coordinate, in units of its range |
/// | `products` | all | which monomials are multiplied with which waves |
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureSettings {
    /// The highest degree of a monomial.
    pub order: usize,
    /// What a bit is to a monomial.
    pub basis: Basis,
    /// The waves.
    pub expansion: Expansion,
    /// σ, the same for every coordinate to begin with.
    pub bandwidth: f64,
    /// The mixed features.
    pub products: Products,
}

impl Default for FeatureSettings {
    fn default() -> Self {
        FeatureSettings {
            order: 2,
            basis: Basis::default(),
            expansion: Expansion::default(),
            bandwidth: 1.0,
            products: Products::default(),
        }
    }
}

/// # Errors
/// [`Error::BadHyperparameter`] for a value out of [`HYPERPARAMETERS`].
pub(crate) fn check_hyperparameter(name: &'static str, value: f64) -> Result<(), Error> {
    if HYPERPARAMETERS.contains(&value) {
        Ok(())
    } else {
        Err(Error::BadHyperparameter { name, value })
    }
}

/// # Errors
/// [`Error::TooManyFeatures`] for more than `limit`.
pub(crate) fn check_number(what: &'static str, n: u64, limit: u64) -> Result<(), Error> {
    if n <= limit {
        Ok(())
    } else {
        Err(Error::TooManyFeatures { what, n, limit })
    }
}

/// The two factors of a point.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Factors {
    /// φ_d(bits), M_d values, the first of them 1.
    pub a: Vec<f64>,
    /// [1, φ_c(unit)], 1 + M_c values.
    pub b: Vec<f64>,
}

/// Monomials, waves, and which of their products are in the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Features {
    monomials: Arc<Monomials>,
    waves: Waves,
    mixed: Arc<Mixed>,
}

impl Features {
    /// The features of a space. Bits of auxiliary parameters, which exist for the constraints only, are in no
    /// monomial.
    ///
    /// # Errors
    /// [`Error::TooManyFeatures`]; [`Error::BadHyperparameter`] when the bandwidth is not between 1e-50 and 1e50.
    ///
    /// ```
    /// use mivabo::Space;
    /// use mivabo::features::{FeatureSettings, Features};
    ///
    /// let space = Space::from_toml(include_str!("../../../../examples/vae.toml"))?;
    ///
    /// let features = Features::for_encoding(space.encoding(), &FeatureSettings::default(), 0)?;
    ///
    /// assert_eq!(features.n_weights(), 1276 * 17);
    /// # Ok::<(), mivabo::Error>(())
    /// ```
    pub fn for_encoding(
        encoding: &Encoding,
        settings: &FeatureSettings,
        seed: u64,
    ) -> Result<Features, Error> {
        let parameters = encoding.model().parameters.iter().enumerate();
        let visible = parameters
            .filter(|(_, p)| !p.is_auxiliary())
            .flat_map(|(p, _)| encoding.bits_of(p));
        Features::new(visible.collect(), encoding.n_reals(), settings, seed)
    }

    /// The features of the bits at the rising positions `visible`, and of `n_reals` coordinates.
    ///
    /// # Errors
    /// As [`for_encoding`](Self::for_encoding).
    pub fn new(
        visible: Vec<usize>,
        n_reals: usize,
        settings: &FeatureSettings,
        seed: u64,
    ) -> Result<Features, Error> {
        check_hyperparameter("bandwidth", settings.bandwidth)?;
        let monomials = Monomials::new(visible, settings.order, settings.basis)?;
        let mut stream = stream(seed, 0, Purpose::Features);
        let waves = Waves::new(settings.expansion, n_reals, &mut stream)?;
        // Of all products, also of those that are not in the model: drawn weights are a whole matrix.
        let n_weights = monomials.len() as u64 * (waves.len() as u64 + 1);
        check_number("weights", n_weights, MAX_FEATURES)?;
        let waves = waves.with_bandwidths(&vec![settings.bandwidth; n_reals]);
        let mixed = Mixed::new(&settings.products, &monomials, &waves);
        Ok(Features {
            monomials: Arc::new(monomials),
            waves,
            mixed: Arc::new(mixed),
        })
    }

    /// The same features with other bandwidths, one for each coordinate. Those that are not between 1e-50 and 1e50, or
    /// missing, stay as they are.
    pub fn with_bandwidths(&self, bandwidths: &[f64]) -> Features {
        Features {
            waves: self.waves.with_bandwidths(bandwidths),
            ..self.clone()
        }
    }

    /// The same features with other products.
    pub fn with_products(&self, products: &Products) -> Features {
        Features {
            mixed: Arc::new(Mixed::new(products, &self.monomials, &self.waves)),
            ..self.clone()
        }
    }

    /// φ_d.
    pub fn monomials(&self) -> &Monomials {
        &self.monomials
    }

    /// φ_c.
    pub fn waves(&self) -> &Waves {
        &self.waves
    }

    /// φ_m.
    pub(crate) fn mixed(&self) -> &Mixed {
        &self.mixed
    }

    /// M = M_d + M_c + the number of products.
    pub fn n_weights(&self) -> usize {
        self.monomials.len() + self.waves.len() + self.mixed.len()
    }

    /// 1 + M_c, the number of columns of W.
    pub fn n_columns(&self) -> usize {
        1 + self.waves.len()
    }

    /// a and b̃ of a point.
    ///
    /// # Panics
    /// When there are fewer bits than the last visible one. Missing coordinates count as 0.
    pub(crate) fn factors(&self, bits: &[bool], unit: &[f64]) -> Factors {
        Factors {
            a: self.monomials.values(bits),
            b: self.b(unit),
        }
    }

    /// [1, φ_c(unit)]
    pub(crate) fn b(&self, unit: &[f64]) -> Vec<f64> {
        let mut b = self.waves.values(unit);
        b.insert(0, 1.0);
        b
    }

    /// The numbers of the weights (row, column) that are in the model, in the order of [`flatten`](Self::flatten).
    pub(crate) fn weights(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let first_row = (0..self.n_columns()).map(|j| (0, j));
        let others = 1..self.monomials.len();
        first_row.chain(others.flat_map(|i| self.row_weights(i)))
    }

    fn row_weights(&self, i: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let products = self.mixed.waves_of(i).iter().map(move |&j| (i, j + 1));
        std::iter::once((i, 0)).chain(products)
    }

    /// φ(x) of a point as one row of [`n_weights`](Self::n_weights) values.
    ///
    /// # Panics
    /// When there are fewer bits than the last visible one. Missing coordinates count as 0.
    pub fn row(&self, bits: &[bool], unit: &[f64]) -> Vec<f64> {
        self.flatten(&self.factors(bits, unit))
    }

    /// φ(x) as one row of [`n_weights`](Self::n_weights) values: aᵢ b̃ⱼ for every weight of the model, row by row.
    ///
    /// # Panics
    /// When `factors` are those of other features.
    pub(crate) fn flatten(&self, factors: &Factors) -> Vec<f64> {
        let mut row = Vec::with_capacity(self.n_weights());
        row.extend_from_slice(&factors.b);
        for (i, &a) in factors.a.iter().enumerate().skip(1) {
            row.push(a);
            row.extend(self.mixed.waves_of(i).iter().map(|&j| a * factors.b[j + 1]));
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Space;
    use crate::space::Domain;

    #[test]
    fn auxiliary_bits_are_in_no_monomial() {
        let mut space = Space::builder();
        let _ = space.integer("n", 0..=3);
        let _ = space.auxiliary("packs", 0..=7);
        let _ = space.add("choice", Domain::choice(["a", "b"]));
        let space = space.build().unwrap();

        let features =
            Features::for_encoding(space.encoding(), &FeatureSettings::default(), 0).unwrap();

        // Three bits of the auxiliary integer stand between the two of `n` and the two of `choice`.
        assert_eq!(features.monomials().visible(), [0, 1, 5, 6]);
    }

    #[test]
    fn a_flat_row_holds_each_weight_of_the_model_once() {
        let settings = FeatureSettings {
            products: Products::Listed(vec![(1, 0), (3, 15), (3, 2)]),
            ..FeatureSettings::default()
        };
        let features = Features::new(vec![0, 1], 1, &settings, 4).unwrap();
        let factors = features.factors(&[true, true], &[0.3]);

        let row = features.flatten(&factors);

        let expected: Vec<f64> = features
            .weights()
            .map(|(i, j)| factors.a[i] * factors.b[j])
            .collect();
        assert_eq!(row, expected);
        assert_eq!(row.len(), features.n_weights());
        assert_eq!(features.n_weights(), 4 + 16 + 3);
    }

    #[test]
    fn a_space_of_nothing_has_one_feature() {
        let features = Features::new(vec![], 0, &FeatureSettings::default(), 0).unwrap();

        assert_eq!(features.flatten(&features.factors(&[], &[])), [1.0]);
    }

    #[test]
    fn a_bandwidth_of_zero_is_refused() {
        let settings = FeatureSettings {
            bandwidth: 0.0,
            ..FeatureSettings::default()
        };

        let refused = Features::new(vec![], 1, &settings, 0).unwrap_err();

        assert_eq!(
            refused.to_string(),
            "the model's bandwidth is 0; it must lie between 1e-50 and 1e50"
        );
    }

    #[test]
    fn bandwidths_change_the_waves_and_nothing_else() {
        let features = Features::new(vec![0], 2, &FeatureSettings::default(), 9).unwrap();

        let same = features
            .with_bandwidths(&[0.2, 3.0])
            .with_bandwidths(&[1.0, 1.0]);

        assert_eq!(same, features);
    }
}
