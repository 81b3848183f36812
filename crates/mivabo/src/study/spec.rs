//! What a study is asked to do: its aims, a strategy, a seed.

use super::settings;
use crate::acquire::{alternating, annealing, dual, exact, local};
use crate::features;
use crate::features::{Expansion, FeatureSettings, Features, WaveKernel};
use crate::language::spelling::nearest;
use crate::measure::Aims;
use crate::space::Space;
use crate::study::Error;
use crate::surrogate::process;
use crate::surrogate::sparse::{Horseshoe, Laplace, Sparse, SparsePrior, SpikeSlab};
use crate::surrogate::{Gaussian, Prior, Scaling, Surrogate, Transform, Variances};

/// What a study is asked to do.
///
/// | field | default | what it does |
/// |---|---|---|
/// | `aims` | a small `value` | the goal, and limits on other measures |
/// | `strategy` | [`Improvement`] | how points are chosen after the initial design |
/// | `seed` | 0 | the same seed and the same tells give the same suggestions |
/// | `n_initial` | see [`n_initial`](Self::n_initial) | trials before the model is asked |
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Spec {
    /// What is wanted of the trials.
    pub aims: Aims,
    /// How points are chosen.
    pub strategy: Strategy,
    /// Where all randomness comes from.
    pub seed: u64,
    /// The number of trials in the initial design; none for the default.
    pub n_initial: Option<usize>,
}

impl Spec {
    /// The number of trials in the initial design: as asked; or 6 for expected improvement; or for Thompson sampling one
    /// more than there are parameters (auxiliary ones do not count), but at least 4 and at most 20.
    pub fn n_initial(&self, space: &Space) -> usize {
        let visible = space
            .parameters()
            .iter()
            .filter(|parameter| !parameter.is_auxiliary())
            .count();
        let default = match self.strategy {
            Strategy::Improvement(_) => 6,
            Strategy::Thompson(_) | Strategy::Random => (visible + 1).clamp(4, 20),
        };
        self.n_initial.unwrap_or(default)
    }
}

/// How points are chosen.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Strategy {
    /// The paper's algorithm: the minimum of a function drawn from the posterior.
    Thompson(Thompson),
    /// The largest expected improvement by a Gaussian process over the parameters.
    Improvement(Improvement),
    /// Random feasible points, without any model.
    Random,
}

/// The variance that Prop. 1 asks for, for a study of usual length.
pub(super) const THEORY: Scaling = Scaling::Theory {
    horizon: 100,
    delta: 0.1,
};

impl Default for Strategy {
    fn default() -> Self {
        Strategy::Improvement(Improvement::default())
    }
}

impl Strategy {
    /// The names that [`named`](Self::named) knows.
    pub const NAMES: &'static [&'static str] = &[
        "improvement",
        "thompson",
        "thompson-learned",
        "thompson-laplace",
        "thompson-horseshoe",
        "thompson-spike-slab",
        "thompson-theory",
        "annealing",
        "gp-annealing",
        "random",
    ];

    /// The strategy of a name, with its default settings, or with others that follow it: `improvement:kernel=additive:draws=no`.
    ///
    /// | name | what it is |
    /// |---|---|
    /// | `improvement` | the default: expected improvement by an additive Gaussian process, local search over feasible points |
    /// | `thompson` | the paper's algorithm: α = β = σ = 1, 16 waves |
    /// | `thompson-learned` | the same with variances, noise and bandwidth chosen by evidence before each draw |
    /// | `thompson-laplace`, `thompson-horseshoe`, `thompson-spike-slab` | the same with a sparse prior |
    /// | `thompson-theory` | variance scaled as in Prop. 1, for 100 trials with δ = 0.1, and the exact argmin: small spaces only |
    /// | `annealing` | `thompson` with simulated annealing for the search (the paper's MiVaBo-SA) |
    /// | `gp-annealing` | expected improvement by a full-dimensional Gaussian process and simulated annealing (its GP-SA) |
    /// | `random` | random feasible points |
    ///
    /// | setting | values | of |
    /// |---|---|---|
    /// | `kernel` | `evidence`, `additive`, `product` | [`Improvement`] |
    /// | `draws` | `yes`, `no` | [`Improvement`] |
    /// | `stall` | 0 to 1000 | [`Improvement`] |
    /// | `plateau` | 0 to 1 | [`Improvement`] |
    /// | `turns` | 0 to 1000 | [`Improvement`] with local search |
    /// | `climbs` | 1 to 64 | [`Improvement`] with local search |
    /// | `outputs` | `raw`, `standard`, `robust` | both |
    /// | `alpha`, `beta` | 10⁻⁶ to 10⁶ | [`Thompson`] with the Gaussian prior |
    /// | `sigma` | 10⁻³ to 10³ | [`Thompson`] |
    /// | `waves` | 1 to 4096 | [`Thompson`] |
    /// | `learn` | `yes`, `no` | [`Thompson`] |
    ///
    /// # Errors
    /// [`Error::UnknownStrategy`], [`Error::BadSetting`].
    pub fn named(text: &str) -> Result<Strategy, Error> {
        let (name, rest) = text
            .split_once(':')
            .map_or((text, None), |(name, rest)| (name, Some(rest)));
        rest.map_or_else(
            || Self::of_name(name),
            |rest| settings::with_all(Self::of_name(name)?, rest),
        )
    }

    fn of_name(name: &str) -> Result<Strategy, Error> {
        let learned = Thompson {
            learn: true,
            outputs: Transform::Standard,
            ..Thompson::default()
        };
        let sparse = |prior| Thompson {
            prior: WeightPrior::Sparse(prior),
            ..learned.clone()
        };
        Ok(Strategy::Thompson(match name {
            "thompson" => Thompson::default(),
            "thompson-learned" => learned,
            "thompson-laplace" => sparse(SparsePrior::Laplace(Laplace::default())),
            "thompson-horseshoe" => sparse(SparsePrior::Horseshoe(Horseshoe::default())),
            "thompson-spike-slab" => sparse(SparsePrior::SpikeSlab(SpikeSlab::default())),
            "thompson-theory" => Thompson {
                scaling: THEORY,
                search: Search::Exact(exact::Settings::default()),
                ..Thompson::default()
            },
            "annealing" => Thompson {
                search: Search::Annealing(annealing::Settings::default()),
                ..Thompson::default()
            },
            "gp-annealing" => {
                let kernel = Some(process::Kernel::Product);
                let search = Climb::Annealing(annealing::Settings::default());
                let settings = Improvement {
                    kernel,
                    search,
                    draws: false,
                    plateau: 0.0,
                    ..Improvement::default()
                };
                return Ok(Strategy::Improvement(settings));
            }
            "improvement" => return Ok(Strategy::default()),
            "random" => return Ok(Strategy::Random),
            _ => {
                let nearest = nearest(name, Self::NAMES.iter().copied());
                return Err(Error::UnknownStrategy {
                    name: name.to_owned(),
                    nearest,
                });
            }
        }))
    }
}

/// Thompson sampling with the paper's model (MiVaBo, Sec. 3).
///
/// | field | default | what it is |
/// |---|---|---|
/// | `alpha` | 1 | precision of the weights, for the Gaussian prior |
/// | `beta` | 1 | precision of the noise, for the Gaussian prior |
/// | `sigma` | 1 | bandwidth of the waves, in units of each parameter's range |
/// | `n_waves` | 16 | random Fourier features |
/// | `outputs` | as they are | what becomes of values before the model sees them |
/// | `learn` | no | whether variances, noise and bandwidths are chosen by evidence before each draw |
/// | `prior` | Gaussian | the prior of the weights |
/// | `scaling` | none | how much the posterior's variance is enlarged; Prop. 1 wants [`Scaling::Theory`] |
/// | `search` | alternating | how the minimum of a drawn function is searched for |
#[derive(Debug, Clone, PartialEq)]
pub struct Thompson {
    /// Precision of the weights.
    pub alpha: f64,
    /// Precision of the noise.
    pub beta: f64,
    /// Bandwidth of the waves.
    pub sigma: f64,
    /// The number of waves.
    pub n_waves: usize,
    /// What becomes of values before the model sees them.
    pub outputs: Transform,
    /// Whether hyper-parameters are learned.
    pub learn: bool,
    /// The prior of the weights.
    pub prior: WeightPrior,
    /// How much the posterior's variance is enlarged.
    pub scaling: Scaling,
    /// How the minimum of a drawn function is searched for.
    pub search: Search,
}

/// How the minimum of a drawn function is searched for.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Search {
    /// Bits and reals in turn, from several starts.
    Alternating(alternating::Settings),
    /// Dual decomposition, with its own bound.
    Decomposition(dual::Settings),
    /// Every pattern of bits: small spaces only.
    Exact(exact::Settings),
    /// Simulated annealing.
    Annealing(annealing::Settings),
}

impl Default for Search {
    fn default() -> Self {
        Search::Alternating(alternating::Settings::default())
    }
}

impl Default for Thompson {
    fn default() -> Self {
        Thompson {
            alpha: 1.0,
            beta: 1.0,
            sigma: 1.0,
            n_waves: 16,
            outputs: Transform::Identity,
            learn: false,
            prior: WeightPrior::Gaussian,
            scaling: Scaling::None,
            search: Search::default(),
        }
    }
}

/// Expected improvement by a Gaussian process over the parameters.
///
/// | field | default | what it is |
/// |---|---|---|
/// | `kernel` | none | which [`Kernel`](process::Kernel); none: the one that explains the outcomes best, at each fit |
/// | `outputs` | robust | what becomes of values before the model sees them |
/// | `search` | local | how the largest improvement is searched for |
/// | `draws` | yes | whether minima of functions drawn from the paper's model are among the points from which it is searched for |
/// | `stall` | 5 | outcomes without a better one after which every second ask halves length-scales, up to three times; 0: never |
/// | `turns` | 2 | of how many asks one goes to a branch that has had less than its share of the trials; 0: none |
/// | `plateau` | 0.1 | by how much each outcome that equals the best, or nearly does, up to ten, lowers the value to improve on, in deviations of the outputs (raw ones: in their own unit); from 0, not at all, to 1 |
///
/// Two outcomes that equal the best, beside the first, make a plateau; two that are at most 0.01 deviations above it make a pit, where every
/// third ask does without `plateau`. Then `plateau` is the way out, unless it is 0, and not `stall`.
///
/// Draws are made while there are no more than 200 outcomes, and where the paper's model has no more than 4,000 weights and the tables of
/// the space no more than 10,000 patterns: beyond that they take longer than everything else.
#[derive(Debug, Clone, PartialEq)]
pub struct Improvement {
    /// The kernel; none: by evidence.
    pub kernel: Option<process::Kernel>,
    /// What becomes of values before the model sees them.
    pub outputs: Transform,
    /// How the largest improvement is searched for.
    pub search: Climb,
    /// Whether the paper's model proposes candidates.
    pub draws: bool,
    /// Outcomes without a better one after which length-scales are halved now and then; 0: never.
    pub stall: usize,
    /// By how much each outcome that equals the best, or nearly does, up to ten of them, lowers the value to improve on, in deviations of
    /// the outputs; 0: not at all.
    pub plateau: f64,
    /// Of how many asks one goes to a branch that has had less than its share of the trials; 0: none. With local search alone.
    pub turns: usize,
}

impl Default for Improvement {
    fn default() -> Self {
        let search = Climb::Local(local::Settings::default());
        let (draws, stall, plateau, turns) = (true, 5, 0.1, 2);
        Improvement {
            kernel: None,
            outputs: Transform::Robust,
            search,
            draws,
            stall,
            plateau,
            turns,
        }
    }
}

/// How the largest improvement is searched for.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Climb {
    /// Many candidates, and hill climbing with descents of the reals from the best few.
    Local(local::Settings),
    /// Simulated annealing.
    Annealing(annealing::Settings),
}

/// The prior of the weights.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum WeightPrior {
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
    /// [`Error::TooManyFeatures`], [`Error::BadHyperparameter`], [`Error::TooManyPatterns`].
    pub(crate) fn surrogate(&self, space: &Space, seed: u64) -> Result<Surrogate, Error> {
        for (name, value) in [("alpha", self.alpha), ("beta", self.beta)] {
            if !(1e-50..=1e50).contains(&value) {
                return Err(features::Error::BadHyperparameter { name, value }.into());
            }
        }
        let settings = FeatureSettings {
            bandwidth: self.sigma,
            expansion: Expansion::Random {
                kernel: WaveKernel::SquaredExponential,
                n: self.n_waves,
            },
            ..FeatureSettings::default()
        };
        if let Search::Exact(settings) = self.search {
            exact::check_size(space, settings)?;
        }
        let features = Features::for_encoding(space.encoding(), &settings, seed)?.into();
        Ok(match self.prior {
            WeightPrior::Gaussian => Surrogate::Gaussian(Gaussian::new(features, self.gaussian())?),
            WeightPrior::Sparse(prior) => Surrogate::Sparse(Sparse::new(features, prior, seed)?),
        })
    }

    /// The paper's isotropic prior. Each wave is in its model twice, hence the doubled variance.
    fn gaussian(&self) -> Prior {
        let variance = 1.0 / self.alpha;
        let variances = Variances {
            discrete: variance,
            continuous: 2.0 * variance,
            mixed: variance,
        };
        Prior {
            variances,
            noise: 1.0 / self.beta,
        }
    }
}
