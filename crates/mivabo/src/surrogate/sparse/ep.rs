//! Expectation propagation (Minka 2001) for a linear model whose weights have independent, non-Gaussian priors.
//!
//! Each prior term p(w_k) is replaced by a Gaussian site exp(-½π_k w² + h_k w). The product of the sites is a diagonal
//! Gaussian prior, whose posterior `regression` gives at once for all weights. The site of a weight is then chosen such
//! that mean and variance of its marginal are those of the cavity (the marginal without the site) times the true prior.
//!
//! ```text
//! v = 1/π,  m₀ = h/π                          the site as N(m₀, v)
//! ℓ = s/v,  q = (1 - ℓ)/v,  g = φᵀC⁻¹(y - Φm₀)   what `regression` knows of the weight (s: its marginal variance)
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
use super::regression::{Diagonal, GaussianPosterior, Regression};

/// A prior of one weight, as far as expectation propagation sees it.
pub(super) trait PriorTerm {
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

/// The Gaussian sites that stand for the prior, one per weight.
#[derive(Debug, Clone)]
struct PriorSites {
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
/// A change above this share of the last one does not shrink.
const SHRINKING: f64 = 0.95;

/// Limits of a site's variance, in variances of the prior.
const SITE_VARIANCE: (f64, f64) = (1e-10, 100.0);

/// The end of expectation propagation.
#[derive(Debug, Clone)]
pub(super) struct Propagated {
    pub gaussian: GaussianPosterior,
    pub cavities: Vec<Cavity>,
    pub log_evidence: f64,
    /// Whether the sites are a fixed point.
    pub converged: bool,
}

impl PriorSites {
    /// The Gaussian of the prior's own moments: exact without data.
    fn of_prior(prior: &impl PriorTerm, m: usize) -> Self {
        Self {
            precision: vec![1.0 / prior.variance(); m],
            pull: vec![0.0; m],
        }
    }

    fn diagonal(&self) -> Diagonal {
        let sites = self.pull.iter().zip(&self.precision);
        Diagonal {
            mean: sites.map(|(h, p)| h / p).collect(),
            variance: self.precision.iter().map(|p| 1.0 / p).collect(),
        }
    }
}

/// The least and the greatest precision of a site.
fn limits(prior: &impl PriorTerm) -> (f64, f64) {
    let unit = 1.0 / prior.variance();
    (unit / SITE_VARIANCE.1, unit / SITE_VARIANCE.0)
}

/// Runs from the prior's own moments until no marginal changes.
pub(super) fn propagate(prior: &impl PriorTerm, design: &Design, noise: f64) -> Propagated {
    let regression = Regression::new(design);
    let Found { sites, converged } = search(prior, &regression, noise, design.m);
    let gaussian = regression.posterior(&sites.diagonal(), noise);
    let cavities: Vec<Cavity> = (0..design.m)
        .map(|k| cavity(&gaussian, &sites, k))
        .collect();
    let log_evidence = log_evidence(prior, &gaussian, &sites, &cavities);
    Propagated {
        gaussian,
        cavities,
        log_evidence,
        converged,
    }
}

/// Where a search ended.
struct Found {
    sites: PriorSites,
    converged: bool,
}

/// How far sites move towards their targets.
struct Damping {
    step: f64,
    /// The change before.
    last: f64,
}

impl Damping {
    fn new() -> Self {
        Self {
            step: STEP.0,
            last: f64::INFINITY,
        }
    }

    /// Shorter steps after a change that does not shrink: it is a swing around the fixed point.
    fn slow_down(&mut self, change: f64) {
        if change > SHRINKING * self.last {
            self.step = (0.8 * self.step).max(STEP.1);
        }
        self.last = change;
    }

    fn speed_up(&mut self) {
        self.step = (1.1 * self.step).min(STEP.0);
    }
}

/// The sites that moved least so far.
struct Stillest {
    sites: PriorSites,
    change: f64,
    round: usize,
}

/// The fixed point, or the sites that were nearest to one.
///
/// A spike-and-slab posterior with more nonzero weights than the data can tell apart has many modes, and the sites
/// wander among them for ever, further and further from the posterior; those that moved least describe it best.
fn search(prior: &impl PriorTerm, regression: &Regression, noise: f64, m: usize) -> Found {
    let mut sites = PriorSites::of_prior(prior, m);
    let mut best = Stillest {
        sites: sites.clone(),
        change: f64::INFINITY,
        round: 0,
    };
    let mut damping = Damping::new();
    for round in 1..=MAX_ROUNDS {
        let gaussian = regression.posterior(&sites.diagonal(), noise);
        let mut moved = sites.clone();
        let change = advance(prior, &gaussian, &mut moved, damping.step);
        if change < TOLERANCE {
            return Found {
                sites: moved,
                converged: true,
            };
        }
        damping.slow_down(change);
        if change < best.change {
            damping.speed_up();
            // Those from which the change was measured: nothing is known yet of those that moved.
            best = Stillest {
                sites,
                change,
                round,
            };
        } else if round - best.round > PATIENCE {
            break;
        }
        sites = moved;
    }
    Found {
        sites: best.sites,
        converged: false,
    }
}

/// Moves every site towards its target; the greatest distance to one, in deviations of its marginal.
fn advance(
    prior: &impl PriorTerm,
    gaussian: &GaussianPosterior,
    sites: &mut PriorSites,
    step: f64,
) -> f64 {
    let mut farthest: f64 = 0.0;
    for k in 0..sites.pull.len() {
        let target = target(prior, cavity(gaussian, sites, k));
        // Moments that floating point cannot hold: the site stays where it is.
        if !target.is_finite() {
            continue;
        }
        let by_precision = target.precision - sites.precision[k];
        let by_pull = target.pull - sites.pull[k];
        // In the marginal's own deviations: one tolerance serves weights of every size.
        let s = gaussian.variance[k];
        farthest = farthest
            .max(by_precision.abs() * s)
            .max(by_pull.abs() * s.sqrt());
        sites.precision[k] += step * by_precision;
        sites.pull[k] += step * by_pull;
    }
    farthest
}

/// Where a site should be.
struct Target {
    precision: f64,
    pull: f64,
}

impl Target {
    fn is_finite(&self) -> bool {
        self.precision.is_finite() && self.pull.is_finite()
    }
}

/// ```text
/// π ← 1/Var - ρ,   h ← (ρ + π) E - η
/// ```
fn target(prior: &impl PriorTerm, cavity: Cavity) -> Target {
    let (least, most) = limits(prior);
    let tilted = prior.tilted(cavity);
    let precision = (1.0 / tilted.variance - cavity.precision).clamp(least, most);
    Target {
        precision,
        // From the precision within its limits: where one holds the variance does not match, and the mean still does.
        pull: (cavity.precision + precision) * tilted.mean - cavity.pull,
    }
}

/// ```text
/// ρ = q/ℓ,   η = (g + q m₀)/ℓ,   q = (1 - ℓ)/v
/// ```
fn cavity(gaussian: &GaussianPosterior, sites: &PriorSites, k: usize) -> Cavity {
    let left = gaussian.left[k];
    // Not 1/s - π: where data say little about a weight, that subtracts nearly equal numbers.
    let q = (1.0 - left) * sites.precision[k];
    let m0 = sites.pull[k] / sites.precision[k];
    Cavity {
        precision: q / left,
        pull: (gaussian.pull[k] + q * m0) / left,
    }
}

/// ```text
/// log Z = log N(y; Φm₀, C) + Σ_k log ∫ p(w) exp(-½ρw² + ηw) dw - log ∫ N(w; m₀, v) exp(-½ρw² + ηw) dw
/// ```
fn log_evidence(
    prior: &impl PriorTerm,
    gaussian: &GaussianPosterior,
    sites: &PriorSites,
    cavities: &[Cavity],
) -> f64 {
    let terms = cavities
        .iter()
        .enumerate()
        .map(|(k, &cavity)| prior.tilted(cavity).log_mass - site_log_mass(sites, k, cavity));
    gaussian.log_evidence + terms.sum::<f64>()
}

/// log ∫ N(w; m₀, v) exp(-½ρw² + ηw) dw = -½ log(1 + ρv) + ½ (η²v + 2ηm₀ - ρm₀²)/(1 + ρv)
fn site_log_mass(sites: &PriorSites, k: usize, cavity: Cavity) -> f64 {
    let v = 1.0 / sites.precision[k];
    let m0 = sites.pull[k] * v;
    let (rho, eta) = (cavity.precision, cavity.pull);
    let grown = 1.0 + rho * v;
    -0.5 * grown.ln() + 0.5 * (eta * eta * v + 2.0 * eta * m0 - rho * m0 * m0) / grown
}
