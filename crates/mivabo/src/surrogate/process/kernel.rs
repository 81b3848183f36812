//! Kernels over traits: what the logarithms of hyper-parameters θ say about the weights of their terms.
//!
//! ```text
//! k(x, x') = c + Σᵢ aᵢkᵢ + w Σ_{i<j} aᵢkᵢ aⱼkⱼ + v M(S),   S = Σᵢ λᵢ dᵢ
//! Σ_{i<j} aᵢkᵢ aⱼkⱼ = ½((Σᵢ aᵢkᵢ)² - Σᵢ (aᵢkᵢ)²)
//! kᵢ = M((u - u')² / 0.5²) for numbers, [xᵢ = xᵢ'] for labels;   dᵢ = (u - u')², or [xᵢ ≠ xᵢ']
//! M(S) = (1 + r + r²/3) e^(-r),   r = √(5S)      Matérn-5/2
//! dM/dS = -(5/6)(1 + r) e^(-r)
//! ```
//!
//! Every kernel here is one way to make these weights from θ, so a further one is a further arm in three `match`es.

use super::layout::Layout;
use crate::math::vector::dot;
use crate::surrogate::log_prior::LogPrior;
use crate::surrogate::prior::JITTER;

/// The length-scale of main effects of numbers.
pub(super) const LENGTH: f64 = 0.5;

/// How far log aᵢ may pull log λᵢ from its middle.
const PULL: (f64, f64) = (-4.0, 2.5);

/// How many standard deviations from its mean a hyper-parameter may go.
const REACH: f64 = 3.0;

/// Which terms a kernel has, and the prior of its hyper-parameters. p are the shares of the [`Layout`].
///
/// `Additive`: main effects of single parameters, effects of all pairs of them, and one interaction of all, driven by one
/// relevance each.
///
/// ```text
/// c = 1,   λᵢ = 4pᵢ/D · exp(clip(log aᵢ - mᵢ, -4, 2.5))
/// log aᵢ ~ N(mᵢ, 1), mᵢ = log(pᵢ/D);   log v, log w ~ N(log 0.3, 1);   log noise ~ N(log 0.01, 1.5²)
/// θ = (log a₁ … log a_D, log v, log noise, log w)
/// ```
///
/// `Product`: no effects of few parameters, a length-scale for each of them. In many dimensions every untried combination is far
/// from all data, so on its own it explores corners for long.
///
/// ```text
/// aᵢ = 0,   λᵢ = ℓᵢ⁻²
/// log ℓᵢ ~ N(log(0.5 √D), 0.6²);   log c ~ N(log 0.1, 1.5²);   log v ~ N(0, 1.5²);   log noise ~ N(log 0.001, 2²)
/// θ = (log ℓ₁ … log ℓ_D, log v, log noise, log c)
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Kernel {
    /// Effects of one and of two parameters, and one interaction of all.
    #[default]
    Additive,
    /// A constant and a full-dimensional Matérn-5/2.
    Product,
}

/// The weights of the terms; also the derivatives of something by each of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Terms {
    /// c
    pub constant: f64,
    /// a; empty without main effects.
    pub main: Vec<f64>,
    /// w
    pub pairs: f64,
    /// v
    pub interaction: f64,
    /// λ
    pub relevance: Vec<f64>,
    /// The variance of the noise; at least [`JITTER`] times k(x, x).
    pub noise: f64,
}

impl Terms {
    /// k(x, x)
    pub(super) fn variance(&self) -> f64 {
        self.constant
            + self.main.iter().sum::<f64>()
            + self.pairs * self.main_pairs()
            + self.interaction
    }

    /// Σ_{i<j} aᵢaⱼ
    pub(super) fn main_pairs(&self) -> f64 {
        let sum: f64 = self.main.iter().sum();
        0.5 * (sum * sum - dot(&self.main, &self.main))
    }
}

/// θ by its parts, and not as logarithms but for the first.
struct Theta<'a> {
    /// log a or log ℓ, one for each parameter.
    logs: &'a [f64],
    /// v
    interaction: f64,
    noise: f64,
    /// w or c
    last: f64,
}

impl<'a> Theta<'a> {
    fn split(theta: &'a [f64], n_parameters: usize) -> Theta<'a> {
        let (logs, others) = theta.split_at(n_parameters);
        Theta {
            logs,
            interaction: others[0].exp(),
            noise: others[1].exp(),
            last: others[2].exp(),
        }
    }
}

impl Kernel {
    /// The prior of θ.
    pub(super) fn prior(self, layout: &Layout) -> Vec<LogPrior> {
        let d = layout.len() as f64;
        let about = LogPrior::about;
        match self {
            Kernel::Additive => {
                let main = layout.shares().iter().map(|p| about(p / d, 1.0));
                let others = [about(0.3, 1.0), about(0.01, 1.5), about(0.3, 1.0)];
                main.chain(others).collect()
            }
            Kernel::Product => {
                let length = about(0.5 * d.sqrt(), 0.6);
                let others = [about(1.0, 1.5), about(0.001, 2.0), about(0.1, 1.5)];
                std::iter::repeat_n(length, layout.len())
                    .chain(others)
                    .collect()
            }
        }
    }

    /// Where θ may lie.
    pub(super) fn bounds(self, layout: &Layout) -> Vec<(f64, f64)> {
        let prior = self.prior(layout).into_iter();
        prior.map(|prior| prior.within(REACH)).collect()
    }

    fn unchecked_terms(self, layout: &Layout, theta: &Theta<'_>) -> Terms {
        match self {
            Kernel::Additive => additive(layout, theta),
            Kernel::Product => product(theta),
        }
    }

    /// The weights at θ.
    pub(super) fn terms(self, layout: &Layout, theta: &[f64]) -> Terms {
        let mut terms = self.unchecked_terms(layout, &Theta::split(theta, layout.len()));
        // Two observations of one point would make K singular.
        terms.noise = terms.noise.max(JITTER * terms.variance());
        terms
    }

    /// The derivatives by θ of something with the derivatives `by` by the terms.
    pub(super) fn gradient(self, layout: &Layout, theta: &[f64], by: &Terms) -> Vec<f64> {
        let at = self.terms(layout, theta);
        // Weights are exponentials of θ, so each derivative is by the weight, times the weight.
        let (mut gradient, last): (Vec<f64>, f64) = match self {
            Kernel::Additive => {
                let slope = |i: usize| additive_slope(layout, theta[i], i, &at, by);
                let slopes = (0..layout.len()).map(slope).collect();
                (slopes, at.pairs * by.pairs)
            }
            Kernel::Product => (product_slopes(&at, by), at.constant * by.constant),
        };
        gradient.extend([at.interaction * by.interaction, at.noise * by.noise, last]);
        gradient
    }
}

fn additive(layout: &Layout, theta: &Theta<'_>) -> Terms {
    let d = layout.len();
    let relevance = |(p, log): (&f64, &f64)| 4.0 * p / d as f64 * pull(*p, d, *log).exp();
    Terms {
        constant: 1.0,
        main: theta.logs.iter().map(|log| log.exp()).collect(),
        pairs: theta.last,
        interaction: theta.interaction,
        relevance: layout
            .shares()
            .iter()
            .zip(theta.logs)
            .map(relevance)
            .collect(),
        noise: theta.noise,
    }
}

fn product(theta: &Theta<'_>) -> Terms {
    Terms {
        constant: theta.last,
        main: Vec::new(),
        pairs: 0.0,
        interaction: theta.interaction,
        relevance: theta.logs.iter().map(|log| (-2.0 * log).exp()).collect(),
        noise: theta.noise,
    }
}

/// The derivative by log aᵢ, which also pulls λᵢ until it reaches a limit.
fn additive_slope(layout: &Layout, log: f64, i: usize, at: &Terms, by: &Terms) -> f64 {
    let off = pull(layout.shares()[i], layout.len(), log);
    let is_pulled = PULL.0 < off && off < PULL.1;
    let by_relevance = if is_pulled {
        at.relevance[i] * by.relevance[i]
    } else {
        0.0
    };
    at.main[i] * by.main[i] + by_relevance
}

/// The derivatives by log ℓᵢ, of which λᵢ = ℓᵢ⁻² alone depends.
fn product_slopes(at: &Terms, by: &Terms) -> Vec<f64> {
    let relevances = at.relevance.iter().zip(&by.relevance);
    relevances.map(|(r, by)| -2.0 * r * by).collect()
}

/// clip(log aᵢ - mᵢ)
fn pull(share: f64, d: usize, log: f64) -> f64 {
    (log - (share / d as f64).ln()).clamp(PULL.0, PULL.1)
}

/// M and dM/dS.
pub(super) fn matern(square: f64) -> (f64, f64) {
    let r = (5.0 * square).sqrt();
    let decay = (-r).exp();
    let value = (1.0 + r + r * r / 3.0) * decay;
    (value, -5.0 / 6.0 * (1.0 + r) * decay)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interaction_is_a_matern_kernel_and_its_slope_a_difference_quotient() {
        for s in [0.0, 1e-6, 0.1, 1.0, 7.0, 300.0] {
            let (value, slope) = matern(s);

            assert!((value - crate::features::WaveKernel::Matern52.at(f64::sqrt(s))).abs() < 1e-12);
            let h = 1e-5 * (1.0 + s);
            let quotient = (matern(s + h).0 - matern(s).0) / h;
            assert!((slope - quotient).abs() < 1e-2, "{s} {slope} {quotient}");
        }
    }
}
