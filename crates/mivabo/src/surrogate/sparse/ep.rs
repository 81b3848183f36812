//! Expectation propagation (Minka 2001) for a linear model whose weights have independent, non-Gaussian priors.
//!
//! Each prior term p(w_k) is replaced by a Gaussian site exp(-½π_k w² + h_k w). The product of the sites is a diagonal
//! Gaussian prior, whose posterior `gaussian` gives at once for all weights. The site of a weight is then chosen such
//! that mean and variance of its marginal are those of the cavity (the marginal without the site) times the true prior.
//!
//! ```text
//! v = 1/π,  m₀ = h/π                          the site as N(m₀, v)
//! ℓ = s/v,  q = (1 - ℓ)/v,  g = φᵀC⁻¹(y - Φm₀)   what `gaussian` knows of the weight (s: its marginal variance)
//! ρ = q/ℓ,  η = (g + q m₀)/ℓ                  the cavity exp(-½ρw² + ηw), without subtracting nearly equal numbers
//! π ← 1/Var - ρ,  h ← (ρ + π) E - η           from the moments E, Var of p(w) exp(-½ρw² + ηw)
//! ```
//!
//! All sites move together (O(n²M) for M of them), a step of `damping` towards their targets. Precisions stay within
//! limits, so that the approximation is a proper Gaussian at every moment. Where a limit holds (a spike-and-slab site
//! wants a negative precision when the data leave open whether its weight is zero), the mean still matches; this is the
//! remedy of Hernández-Lobato, Hernández-Lobato & Suárez (2015), *Expectation propagation in linear regression models
//! with spike-and-slab priors*.

use super::Design;
use super::gaussian::{Diagonal, Gaussian, Regression};

/// A prior of one weight, as far as expectation propagation sees it.
pub(super) trait Prior {
    /// The variance, positive and finite; the mean is 0.
    fn variance(&self) -> f64;

    /// Normalisation, mean and variance of p(w) exp(-½ρw² + ηw) for ρ ≥ 0.
    fn tilted(&self, cavity: Cavity) -> Tilted;
}

/// What all but its own prior say of one weight: exp(-½ρw² + ηw).
#[derive(Debug, Clone, Copy)]
pub(super) struct Cavity {
    /// ρ
    pub precision: f64,
    /// η
    pub pull: f64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Tilted {
    /// log ∫ p(w) exp(-½ρw² + ηw) dw
    pub log_mass: f64,
    pub mean: f64,
    pub variance: f64,
}

/// The Gaussian sites that stand for the prior, one per weight: where a later fit, to more data, can start.
#[derive(Debug, Clone, PartialEq)]
pub struct Sites {
    /// π
    precision: Vec<f64>,
    /// h
    pull: Vec<f64>,
}

/// Rounds at most.
const MAX_ROUNDS: usize = 200;
/// Rounds without a new least change, after which there is no fixed point in reach.
const PATIENCE: usize = 20;
/// The greatest change of a marginal that counts as none, in its own deviations.
const TOLERANCE: f64 = 1e-4;
/// How far a site moves towards its target, at first and at least.
const STEP: (f64, f64) = (0.8, 0.05);

/// Limits of a site's variance, in variances of the prior.
const SITE_VARIANCE: (f64, f64) = (1e-10, 100.0);

/// The end of expectation propagation.
#[derive(Debug, Clone)]
pub(super) struct Propagated {
    pub gaussian: Gaussian,
    pub cavities: Vec<Cavity>,
    pub sites: Sites,
    pub log_evidence: f64,
    /// Rounds that led to these sites.
    pub n_rounds: usize,
    /// Whether they are a fixed point.
    pub converged: bool,
}

impl Sites {
    /// The Gaussian of the prior's own moments: exact without data.
    fn of_prior(prior: &impl Prior, m: usize) -> Self {
        Self {
            precision: vec![1.0 / prior.variance(); m],
            pull: vec![0.0; m],
        }
    }

    /// Sites for m weights: these, cut or continued by the prior's.
    fn resized(mut self, prior: &impl Prior, m: usize) -> Self {
        self.precision.resize(m, 1.0 / prior.variance());
        self.pull.resize(m, 0.0);
        let (least, most) = limits(prior);
        self.precision
            .iter_mut()
            .for_each(|precision| *precision = precision.clamp(least, most));
        self
    }

    fn diagonal(&self) -> Diagonal {
        Diagonal {
            mean: self
                .pull
                .iter()
                .zip(&self.precision)
                .map(|(h, p)| h / p)
                .collect(),
            variance: self.precision.iter().map(|p| 1.0 / p).collect(),
        }
    }
}

/// The least and the greatest precision of a site.
fn limits(prior: &impl Prior) -> (f64, f64) {
    let unit = 1.0 / prior.variance();
    (unit / SITE_VARIANCE.1, unit / SITE_VARIANCE.0)
}

/// Runs until no marginal changes, from given sites or from the prior's.
pub(super) fn propagate(
    prior: &impl Prior,
    design: &Design,
    noise: f64,
    start: Option<Sites>,
) -> Propagated {
    let m = design.m;
    let regression = Regression::new(design);
    let start = start.map_or_else(
        || Sites::of_prior(prior, m),
        |sites| sites.resized(prior, m),
    );
    let Search {
        sites,
        n_rounds,
        converged,
    } = search(prior, &regression, noise, start);
    let gaussian = regression.posterior(&sites.diagonal(), noise);
    let cavities = (0..m)
        .map(|k| cavity(&gaussian, &sites, k))
        .collect::<Vec<_>>();
    let log_evidence = log_evidence(prior, &gaussian, &sites, &cavities);
    Propagated {
        gaussian,
        cavities,
        sites,
        log_evidence,
        n_rounds,
        converged,
    }
}

struct Search {
    sites: Sites,
    n_rounds: usize,
    converged: bool,
}

/// The fixed point, or the sites that were nearest to one.
///
/// A spike-and-slab posterior with more nonzero weights than the data can tell apart has many modes, and the sites
/// wander among them for ever, further and further from the posterior; those that moved least describe it best.
fn search(prior: &impl Prior, regression: &Regression, noise: f64, start: Sites) -> Search {
    let mut sites = start;
    let mut best = (f64::INFINITY, sites.clone(), 0);
    let mut step = STEP.0;
    let mut last = f64::INFINITY;
    for round in 1..=MAX_ROUNDS {
        let gaussian = regression.posterior(&sites.diagonal(), noise);
        let mut moved = sites.clone();
        let change = advance(prior, &gaussian, &mut moved, step);
        if change < TOLERANCE {
            return Search {
                sites: moved,
                n_rounds: round,
                converged: true,
            };
        }
        // A change that does not shrink is a swing around the fixed point.
        if change > 0.95 * last {
            step = (0.8 * step).max(STEP.1);
        }
        last = change;
        if change < best.0 {
            step = (1.1 * step).min(STEP.0);
            best = (change, sites, round);
        } else if round - best.2 > PATIENCE {
            break;
        }
        sites = moved;
    }
    Search {
        sites: best.1,
        n_rounds: best.2,
        converged: false,
    }
}

/// Moves every site towards its target; the greatest distance to one, in deviations of its marginal.
fn advance(prior: &impl Prior, gaussian: &Gaussian, sites: &mut Sites, step: f64) -> f64 {
    let (least, most) = limits(prior);
    let mut farthest: f64 = 0.0;
    for k in 0..sites.pull.len() {
        let cavity = cavity(gaussian, sites, k);
        let tilted = prior.tilted(cavity);
        let precision = (1.0 / tilted.variance - cavity.precision).clamp(least, most);
        let pull = (cavity.precision + precision) * tilted.mean - cavity.pull;
        if !(precision.is_finite() && pull.is_finite()) {
            continue;
        }
        let by = [precision - sites.precision[k], pull - sites.pull[k]];
        let s = gaussian.variance[k];
        farthest = farthest.max(by[0].abs() * s).max(by[1].abs() * s.sqrt());
        sites.precision[k] += step * by[0];
        sites.pull[k] += step * by[1];
    }
    farthest
}

fn cavity(gaussian: &Gaussian, sites: &Sites, k: usize) -> Cavity {
    let left = gaussian.left[k];
    let q = (1.0 - left) * sites.precision[k];
    let m0 = sites.pull[k] / sites.precision[k];
    Cavity {
        precision: q / left,
        pull: (gaussian.pull[k] + q * m0) / left,
    }
}

/// ```text
/// log Z = log N(y; Φm₀, C) + Σ_k log ∫ p(w) exp(-½ρw² + ηw) dw - log ∫ N(w; m₀, v) exp(-½ρw² + ηw) dw
///
/// log ∫ N(w; m₀, v) exp(-½ρw² + ηw) dw = -½ log(1 + ρv) + ½ (η²v + 2ηm₀ - ρm₀²)/(1 + ρv)
/// ```
fn log_evidence(
    prior: &impl Prior,
    gaussian: &Gaussian,
    sites: &Sites,
    cavities: &[Cavity],
) -> f64 {
    let terms = cavities.iter().enumerate().map(|(k, &cavity)| {
        let v = 1.0 / sites.precision[k];
        let m0 = sites.pull[k] * v;
        let Cavity {
            precision: rho,
            pull: eta,
        } = cavity;
        let grown = 1.0 + rho * v;
        let of_site =
            -0.5 * grown.ln() + 0.5 * (eta * eta * v + 2.0 * eta * m0 - rho * m0 * m0) / grown;
        prior.tilted(cavity).log_mass - of_site
    });
    gaussian.log_evidence + terms.sum::<f64>()
}
