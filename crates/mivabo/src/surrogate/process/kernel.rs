//! Kernels over traits: logarithms of hyper-parameters θ enter, the weights of the terms of a kernel leave, and
//! gradients the other way.
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
        let (sum, squares): (f64, f64) = (
            self.main.iter().sum(),
            self.main.iter().map(|a| a * a).sum(),
        );
        0.5 * (sum * sum - squares)
    }
}

impl Kernel {
    /// Means and standard deviations of θ.
    pub(super) fn prior(self, layout: &Layout) -> Vec<(f64, f64)> {
        let d = layout.len() as f64;
        match self {
            Kernel::Additive => {
                let relevances = layout.shares().iter().map(|p| ((p / d).ln(), 1.0));
                relevances
                    .chain([
                        (0.3_f64.ln(), 1.0),
                        (0.01_f64.ln(), 1.5),
                        (0.3_f64.ln(), 1.0),
                    ])
                    .collect()
            }
            Kernel::Product => {
                let lengths = std::iter::repeat_n(((0.5 * d.sqrt()).ln(), 0.6), layout.len());
                lengths
                    .chain([(0.0, 1.5), (0.001_f64.ln(), 2.0), (0.1_f64.ln(), 1.5)])
                    .collect()
            }
        }
    }

    /// Where θ may lie.
    pub(super) fn bounds(self, layout: &Layout) -> Vec<(f64, f64)> {
        self.prior(layout)
            .into_iter()
            .map(|(m, s)| (m - REACH * s, m + REACH * s))
            .collect()
    }

    /// The weights at θ.
    pub(super) fn terms(self, layout: &Layout, theta: &[f64]) -> Terms {
        let d = layout.len();
        let (interaction, noise) = (theta[d].exp(), theta[d + 1].exp());
        let logs = &theta[..d];
        let mut terms = match self {
            Kernel::Additive => {
                let shares = layout.shares().iter().zip(logs);
                let relevance = shares.map(|(p, log)| 4.0 * p / d as f64 * pull(*p, d, *log).exp());
                let main = logs.iter().map(|log| log.exp()).collect();
                let pairs = theta[d + 2].exp();
                Terms {
                    constant: 1.0,
                    main,
                    pairs,
                    interaction,
                    relevance: relevance.collect(),
                    noise,
                }
            }
            Kernel::Product => {
                let relevance = logs.iter().map(|log| (-2.0 * log).exp()).collect();
                let (constant, main, pairs) = (theta[d + 2].exp(), Vec::new(), 0.0);
                Terms {
                    constant,
                    main,
                    pairs,
                    interaction,
                    relevance,
                    noise,
                }
            }
        };
        terms.noise = terms.noise.max(JITTER * terms.variance());
        terms
    }

    /// The derivatives by θ of something with the derivatives `by` by the terms.
    pub(super) fn gradient(self, layout: &Layout, theta: &[f64], by: &Terms) -> Vec<f64> {
        let d = layout.len();
        let at = self.terms(layout, theta);
        let tail = [at.interaction * by.interaction, at.noise * by.noise];
        match self {
            Kernel::Additive => {
                let slope = |i: usize| {
                    let off = pull(layout.shares()[i], d, theta[i]);
                    let is_pulled = PULL.0 < off && off < PULL.1;
                    let by_relevance = if is_pulled {
                        at.relevance[i] * by.relevance[i]
                    } else {
                        0.0
                    };
                    at.main[i] * by.main[i] + by_relevance
                };
                (0..d)
                    .map(slope)
                    .chain(tail)
                    .chain([at.pairs * by.pairs])
                    .collect()
            }
            Kernel::Product => {
                let slope = |i: usize| -2.0 * at.relevance[i] * by.relevance[i];
                (0..d)
                    .map(slope)
                    .chain(tail)
                    .chain([at.constant * by.constant])
                    .collect()
            }
        }
    }
}

/// clip(log aᵢ - mᵢ)
fn pull(share: f64, d: usize, log: f64) -> f64 {
    (log - (share / d as f64).ln()).clamp(PULL.0, PULL.1)
}

/// M and dM/dS.
pub(super) fn matern(square: f64) -> (f64, f64) {
    let r = (5.0 * square).sqrt();
    let decay = (-r).exp();
    (
        (1.0 + r + r * r / 3.0) * decay,
        -5.0 / 6.0 * (1.0 + r) * decay,
    )
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
