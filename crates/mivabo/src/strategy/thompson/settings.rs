//! The settings of Thompson sampling, and the belief that they begin with.

use super::{ProductRule, alternating, dual, exact};
use crate::acquire::annealing;
use crate::features::{self, Basis, Expansion, FeatureSettings, Features, MAX_NODES, WaveKernel};
use crate::space::Space;
use crate::strategy::Error;
use crate::surrogate::sparse::{Sparse, SparsePrior};
use crate::surrogate::{Gaussian, Growth, Prior, Scaling, Surrogate, Transform, Variances};

/// The variance that Prop. 1 asks for, for a study of usual length.
pub(crate) const THEORY: Scaling = Scaling::Theory {
    horizon: 100,
    delta: 0.1,
};

/// Thompson sampling with the paper's model (MiVaBo, Sec. 3).
///
/// | field | default | what it is |
/// |---|---|---|
/// | `order` | 2 | the most bits in one monomial of the discrete features |
/// | `basis` | binary | whether a bit counts as 0 or 1, or as -1 or 1 |
/// | `features` | random | the frequencies of the waves: drawn, or at the nodes of a quadrature |
/// | `spectrum` | squared exponential | the kernel that random waves approximate |
/// | `n_waves` | 16 | the number of waves; quadrature takes as many nodes for each continuous parameter as that allows |
/// | `additive` | no | whether each wave is over one continuous parameter alone; they share `n_waves` evenly |
/// | `sigma` | 1 | bandwidth of the waves, in units of each parameter's range |
/// | `products` | all | which discrete features are multiplied with which waves |
/// | `alpha` | 1 | precision of the weights, for the Gaussian prior |
/// | `beta` | 1 | precision of the noise, for the Gaussian prior |
/// | `outputs` | as they are | what becomes of values before the model sees them |
/// | `learn` | no | whether variances, noise and bandwidths are chosen by evidence before each draw |
/// | `prior` | Gaussian | the prior of the weights |
/// | `scaling` | none | how much the posterior's variance is enlarged; Prop. 1 wants [`Scaling::Theory`] |
/// | `search` | alternating | how the minimum of a drawn function is searched for |
///
/// A sparse prior learns its own scales and finds out which products matter, so it does not go with `products=grow` or
/// `products=prune`. Quadrature is for the squared exponential kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Thompson {
    /// The most bits in one monomial.
    pub(crate) order: usize,
    /// What a bit counts as.
    pub(crate) basis: Basis,
    /// The frequencies of the waves.
    pub(crate) features: WaveFeatures,
    /// The kernel that random waves approximate.
    pub(crate) spectrum: WaveKernel,
    /// The number of waves.
    pub(crate) n_waves: usize,
    /// Whether each wave is over one continuous parameter alone.
    pub(crate) additive: bool,
    /// Bandwidth of the waves.
    pub(crate) sigma: f64,
    /// Which discrete features are multiplied with which waves.
    pub(crate) products: ProductRule,
    /// Precision of the weights.
    pub(crate) alpha: f64,
    /// Precision of the noise.
    pub(crate) beta: f64,
    /// What becomes of values before the model sees them.
    pub(crate) outputs: Transform,
    /// Whether hyper-parameters are learned.
    pub(crate) learn: bool,
    /// The prior of the weights.
    pub(crate) prior: WeightPrior,
    /// How much the posterior's variance is enlarged.
    pub(crate) scaling: Scaling,
    /// How the minimum of a drawn function is searched for.
    pub(crate) search: ThompsonSearch,
}

/// Where the frequencies of the waves come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum WaveFeatures {
    /// Drawn from the spectrum of the kernel (random Fourier features).
    #[default]
    Random,
    /// At the nodes of a Gauss-Hermite quadrature of the spectrum (quadrature Fourier features).
    Quadrature,
}

/// How the minimum of a drawn function is searched for.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub(crate) enum ThompsonSearch {
    /// Bits and reals in turn, from several starts.
    Alternating(alternating::AlternatingSettings),
    /// Dual decomposition, with its own bound.
    Decomposition(dual::DualSettings),
    /// Every pattern of bits: small spaces only.
    Exact(exact::ExactSettings),
    /// Simulated annealing.
    Annealing(annealing::AnnealingSettings),
}

impl Default for ThompsonSearch {
    fn default() -> Self {
        ThompsonSearch::Alternating(alternating::AlternatingSettings::default())
    }
}

impl Default for Thompson {
    fn default() -> Self {
        Thompson {
            order: 2,
            basis: Basis::Binary,
            features: WaveFeatures::Random,
            spectrum: WaveKernel::SquaredExponential,
            n_waves: 16,
            additive: false,
            sigma: 1.0,
            products: ProductRule::All,
            alpha: 1.0,
            beta: 1.0,
            outputs: Transform::Identity,
            learn: false,
            prior: WeightPrior::Gaussian,
            scaling: Scaling::None,
            search: ThompsonSearch::default(),
        }
    }
}

/// The prior of the weights.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) enum WeightPrior {
    /// N(0, 1/α), exact.
    #[default]
    Gaussian,
    /// A sparse one, with its own scales and noise.
    Sparse(SparsePrior),
}

impl Thompson {
    /// The belief before any observation.
    ///
    /// # Errors
    /// [`Error::TooManyFeatures`], [`Error::BadHyperparameter`], [`Error::TooManyPatterns`], [`Error::Conflict`],
    /// [`Error::BadLink`].
    pub(crate) fn surrogate(&self, space: &Space, seed: u64) -> Result<Surrogate, Error> {
        self.check()?;
        for (name, value) in [("alpha", self.alpha), ("beta", self.beta)] {
            if !(1e-50..=1e50).contains(&value) {
                return Err(features::Error::BadHyperparameter { name, value }.into());
            }
        }
        if let ThompsonSearch::Exact(settings) = self.search {
            exact::check_size(space, settings)?;
        }
        let settings = self.feature_settings(space)?;
        let features = Features::for_encoding(space.encoding(), &settings, seed)?.into();
        Ok(match self.prior {
            WeightPrior::Gaussian => Surrogate::Gaussian(Gaussian::new(features, self.gaussian())?),
            WeightPrior::Sparse(prior) => Surrogate::Sparse(Sparse::new(features, prior, seed)?),
        })
    }

    /// Whether the settings go together, whatever the space.
    ///
    /// # Errors
    /// [`Error::Conflict`].
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.check_growth()?;
        self.check_spectrum()
    }

    fn check_growth(&self) -> Result<(), Error> {
        if matches!(self.prior, WeightPrior::Sparse(_)) && self.products.growth() != Growth::Fixed {
            return conflict(
                "`products=grow` and `products=prune` need the Gaussian prior: \
                 a sparse one finds out by itself which products matter",
            );
        }
        Ok(())
    }

    fn check_spectrum(&self) -> Result<(), Error> {
        let is_quadrature = self.features == WaveFeatures::Quadrature;
        if is_quadrature && self.spectrum != WaveKernel::SquaredExponential {
            return conflict(
                "quadrature is for the squared exponential kernel: `spectrum=se`, or `features=random`",
            );
        }
        Ok(())
    }

    /// Whether the settings make sense for a space; whether a model of that size can be made is seen when it is.
    ///
    /// # Errors
    /// [`Error::Conflict`], [`Error::BadLink`].
    pub(crate) fn check_space(&self, space: &Space) -> Result<(), Error> {
        self.check()?;
        self.feature_settings(space).map(drop)
    }

    fn feature_settings(&self, space: &Space) -> Result<FeatureSettings, Error> {
        Ok(FeatureSettings {
            order: self.order,
            basis: self.basis,
            expansion: self.expansion(space.encoding().n_reals())?,
            bandwidth: self.sigma,
            products: self.products.products(space, self.additive)?,
        })
    }

    /// What makes the waves over `n_reals` coordinates.
    fn expansion(&self, n_reals: usize) -> Result<Expansion, Error> {
        let (kernel, n) = (self.spectrum, self.n_waves);
        let is_random = self.features == WaveFeatures::Random;
        if n_reals == 0 || (is_random && !self.additive) {
            return Ok(Expansion::Random { kernel, n });
        }
        let each = if self.additive {
            n / n_reals
        } else {
            root(n, n_reals)
        };
        // A quadrature with one node has the frequency 0 alone.
        let least = if is_random { 1 } else { 2 };
        if each < least {
            return conflict(&self.too_few_waves(n_reals, least));
        }
        let nodes = each.min(MAX_NODES);
        Ok(match (is_random, self.additive) {
            (true, _) => Expansion::RandomAdditive { kernel, n: each },
            (false, false) => Expansion::Quadrature { nodes },
            (false, true) => Expansion::QuadratureAdditive { nodes },
        })
    }

    fn too_few_waves(&self, n_reals: usize, least: usize) -> String {
        let n = self.n_waves;
        if self.additive {
            let needed = least * n_reals;
            return format!(
                "`waves={n}` is too few for additive waves over {n_reals} continuous parameters: at least {needed} are needed"
            );
        }
        let needed = fewest_waves(n_reals, least);
        let needed = needed.map_or_else(String::new, |n| format!("`waves={n}` at least, or "));
        format!(
            "quadrature has too few nodes for {n_reals} continuous parameters with `waves={n}`: \
             set {needed}`additive=yes`, or `features=random`"
        )
    }

    /// The paper's isotropic prior. Each wave is in its model twice, hence the doubled variance.
    fn gaussian(&self) -> Prior {
        let variance = 1.0 / self.alpha;
        Prior {
            variances: Variances {
                discrete: variance,
                continuous: 2.0 * variance,
                mixed: variance,
            },
            noise: 1.0 / self.beta,
        }
    }
}

/// The most waves that a strategy can be asked for.
const MAX_WAVES: usize = 4096;

fn conflict<T>(why: &str) -> Result<T, Error> {
    Err(Error::Conflict {
        why: why.to_owned(),
    })
}

/// How many waves a quadrature needs for so many nodes in each dimension, where a strategy can be asked for as many.
fn fewest_waves(n_reals: usize, nodes: usize) -> Option<usize> {
    let exponent = u32::try_from(n_reals).ok()?;
    let needed = nodes.checked_pow(exponent);
    needed.filter(|needed| *needed <= MAX_WAVES)
}

/// The largest k with kᵈ ≤ n.
fn root(n: usize, d: usize) -> usize {
    let d = u32::try_from(d).unwrap_or(u32::MAX);
    let fits = |k: &usize| k.checked_pow(d).is_some_and(|power| power <= n);
    (1..=n).take_while(fits).last().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expansion(settings: &Thompson, n_reals: usize) -> Result<Expansion, String> {
        settings
            .expansion(n_reals)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn quadrature_takes_as_many_nodes_as_the_waves_allow() {
        let at = |n_waves, additive| Thompson {
            features: WaveFeatures::Quadrature,
            n_waves,
            additive,
            ..Thompson::default()
        };

        assert_eq!(
            expansion(&at(16, false), 1),
            Ok(Expansion::Quadrature { nodes: 16 })
        );
        assert_eq!(
            expansion(&at(16, false), 2),
            Ok(Expansion::Quadrature { nodes: 4 })
        );
        assert_eq!(
            expansion(&at(100, false), 3),
            Ok(Expansion::Quadrature { nodes: 4 })
        );
        assert_eq!(
            expansion(&at(4096, false), 1),
            Ok(Expansion::Quadrature { nodes: MAX_NODES })
        );
        assert_eq!(
            expansion(&at(16, true), 5),
            Ok(Expansion::QuadratureAdditive { nodes: 3 })
        );
        assert_eq!(
            expansion(&at(16, false), 5),
            Err("quadrature has too few nodes for 5 continuous parameters with `waves=16`: set `waves=32` at least, or \
                 `additive=yes`, or `features=random`".to_owned())
        );
        assert_eq!(
            expansion(&at(4096, false), 13),
            Err("quadrature has too few nodes for 13 continuous parameters with `waves=4096`: set `additive=yes`, or \
                 `features=random`".to_owned())
        );
        assert_eq!(
            expansion(&at(16, true), 9),
            Err("`waves=16` is too few for additive waves over 9 continuous parameters: at least 18 are needed".to_owned())
        );
    }

    #[test]
    fn settings_reach_the_features_of_the_model() {
        let mut space = Space::builder();
        let _ = space.integer("n", 0..=7);
        let _ = (space.float("x", 0.0..=1.0), space.float("y", 0.0..=1.0));
        let space = space.build().unwrap();
        let features =
            |settings: Thompson| settings.surrogate(&space, 3).unwrap().features().clone();

        let cubic = features(Thompson {
            order: 3,
            basis: Basis::Fourier,
            ..Thompson::default()
        });
        let additive = features(Thompson {
            additive: true,
            sigma: 0.5,
            ..Thompson::default()
        });
        let linked = features(Thompson {
            additive: true,
            products: ProductRule::Linked(vec![("n".into(), "y".into())]),
            ..Thompson::default()
        });
        let rough = features(Thompson {
            spectrum: WaveKernel::Matern32,
            ..Thompson::default()
        });
        let plain = features(Thompson::default());

        assert_eq!(
            (cubic.monomials().len(), cubic.monomials().basis()),
            (8, Basis::Fourier)
        );
        assert_eq!(
            (plain.monomials().len(), plain.monomials().basis()),
            (7, Basis::Binary)
        );
        assert!((0..16).all(|j| additive.waves().reals_of(j).count() == 1));
        assert_eq!(linked.mixed().len(), 6 * 8);
        assert!(
            linked
                .mixed()
                .pairs()
                .all(|(_, j)| linked.waves().reals_of(j).eq([1]))
        );
        assert_ne!(rough.waves(), plain.waves());
        assert_eq!(plain.mixed().len(), 6 * 16);
    }
}
