//! The spike-and-slab prior by expectation propagation: weights that are exactly zero with some probability.
//!
//! Reference: MiVaBo, App. A; Hernández-Lobato, Hernández-Lobato & Suárez (2015), *Expectation propagation in linear
//! regression models with spike-and-slab priors*. There, the inclusion of a weight is a variable with a site of its own;
//! with a known probability of inclusion it sums out, and what remains is one site per weight, as here.

use super::ep::{Cavity, PriorTerm, Tilted, propagate};
use super::regression::Regression;
use super::{Design, SparsePosterior, positive_or};
use crate::math::random::Stream;

/// Independent weights, zero with probability 1 - `inclusion` and N(0, `slab`) otherwise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SpikeSlab {
    /// Probability that a weight is not zero.
    pub inclusion: f64,
    /// Variance of a weight that is not zero.
    pub slab: f64,
    /// Variance of the noise of an observation; floored at 10⁻⁸ of the prior variance of an output.
    pub noise: f64,
}

impl Default for SpikeSlab {
    /// For standardised outputs and a few dozen features of order 1 that are not 0 at a point.
    fn default() -> Self {
        Self {
            inclusion: 0.3,
            slab: 0.25,
            noise: 0.01,
        }
    }
}

impl SpikeSlab {
    /// The belief after the design's observations.
    pub(crate) fn fit(&self, design: &Design) -> SparsePosterior {
        let slab = positive_or(self.slab, 1.0);
        let prior = Term {
            inclusion: positive_or(self.inclusion, 0.5).clamp(1e-9, 1.0 - 1e-9),
            slab,
        };
        let noise = design.floored(self.noise, prior.variance());
        let propagated = propagate(&prior, design, noise);
        let cavities = propagated.cavities.iter();
        let inclusion = cavities
            .map(|&cavity| prior.included(cavity).probability)
            .collect();
        let spikes = Spikes {
            inclusion,
            slab,
            noise,
            design: design.clone(),
        };
        SparsePosterior::propagated(propagated, Some(spikes))
    }
}

/// What a draw with exact zeros needs.
#[derive(Debug, Clone)]
pub(super) struct Spikes {
    /// Posterior probability that each weight is not zero.
    pub inclusion: Vec<f64>,
    pub slab: f64,
    pub noise: f64,
    pub design: Design,
}

impl Spikes {
    /// The weights that are not zero, each by its own probability.
    fn draw_kept(&self, stream: &mut Stream) -> Vec<usize> {
        let is_kept = |k: &usize| stream.unit() < self.inclusion[*k];
        (0..self.inclusion.len()).filter(is_kept).collect()
    }

    /// Which weights are zero first, and then the others from their exact posterior.
    pub(super) fn sample(&self, stream: &mut Stream) -> Vec<f64> {
        let kept = self.draw_kept(stream);
        let design = self.design.columns(&kept);
        // Given which weights are zero the others are Gaussian: no approximation is left in this step.
        let slabs = vec![self.slab; kept.len()];
        let drawn = Regression::new(&design).draw(&slabs, self.noise, stream);
        let mut weights = vec![0.0; self.inclusion.len()];
        for (&k, w) in kept.iter().zip(drawn) {
            weights[k] = w;
        }
        weights
    }
}

/// p₀ N(w; 0, slab) + (1 - p₀) δ(w)
struct Term {
    inclusion: f64,
    slab: f64,
}

/// The slab's share of a tilted distribution.
struct Included {
    probability: f64,
    mean: f64,
    variance: f64,
    log_mass: f64,
}

impl Term {
    /// ```text
    /// slab: variance 1/(ρ + 1/slab), mean η·variance, log mass log p₀ - ½ log(1 + ρ slab) + ½ η²·variance
    /// spike: log mass log(1 - p₀)
    /// ```
    fn included(&self, cavity: Cavity) -> Included {
        let grown = 1.0 + cavity.precision * self.slab;
        let variance = self.slab / grown;
        let mean = cavity.pull * variance;
        let slab = self.inclusion.ln() - 0.5 * grown.ln() + 0.5 * cavity.pull * mean;
        // `ln_1p`: 1 - p₀ alone would round a small p₀ away.
        let spike = (-self.inclusion).ln_1p();
        // Relative to the larger one: the exponential of the other cannot overflow.
        let larger = slab.max(spike);
        Included {
            probability: 1.0 / (1.0 + (spike - slab).exp()),
            mean,
            variance,
            log_mass: larger + ((slab - larger).exp() + (spike - larger).exp()).ln(),
        }
    }
}

impl PriorTerm for Term {
    fn variance(&self) -> f64 {
        self.inclusion * self.slab
    }

    /// E = p m,   Var = p s + p(1 - p) m²   for a slab of probability p, mean m and variance s.
    fn tilted(&self, cavity: Cavity) -> Tilted {
        let Included {
            probability: p,
            mean,
            variance,
            log_mass,
        } = self.included(cavity);
        Tilted {
            log_mass,
            mean: p * mean,
            variance: p * variance + p * (1.0 - p) * mean * mean,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::{Purpose, stream};
    use crate::surrogate::sparse::regression::Diagonal;

    struct Exact {
        inclusion: Vec<f64>,
        mean: Vec<f64>,
        variance: Vec<f64>,
        log_evidence: f64,
    }

    /// The sum over all 2^M sets of nonzero weights, each with its exact Gaussian posterior.
    fn enumeration(prior: SpikeSlab, design: &Design) -> Exact {
        let m = design.m;
        let (mut masses, mut sums) = (0.0, vec![[0.0; 3]; m]);
        for code in 0..1_usize << m {
            let kept: Vec<usize> = (0..m).filter(|k| code >> k & 1 == 1).collect();
            let part = design.columns(&kept);
            let slab = Diagonal {
                mean: vec![0.0; kept.len()],
                variance: vec![prior.slab; kept.len()],
            };
            let given = Regression::new(&part).posterior(&slab, prior.noise);
            let factor = |k| {
                if kept.contains(&k) {
                    prior.inclusion
                } else {
                    1.0 - prior.inclusion
                }
            };
            let weight: f64 = (0..m).map(factor).product();
            let mass = weight * given.log_evidence.exp();
            masses += mass;
            for (i, &k) in kept.iter().enumerate() {
                let (mean, variance) = (given.mean[i], given.variance[i]);
                let terms = [1.0, mean, variance + mean * mean];
                sums[k]
                    .iter_mut()
                    .zip(terms)
                    .for_each(|(sum, term)| *sum += mass * term);
            }
        }
        let of =
            |f: &dyn Fn([f64; 3]) -> f64| sums.iter().map(|s| f(s.map(|s| s / masses))).collect();
        Exact {
            inclusion: of(&|s| s[0]),
            mean: of(&|s| s[1]),
            variance: of(&|s| s[2] - s[1] * s[1]),
            log_evidence: masses.ln(),
        }
    }

    #[test]
    fn one_weight_has_its_exact_moments_and_evidence() {
        let prior = SpikeSlab {
            inclusion: 0.2,
            slab: 4.0,
            noise: 0.5,
        };
        for (x, y) in [(1.0, 5.0), (1.0, 0.1), (0.2, -0.5), (-3.0, 1.0)] {
            let design = Design::new(1, vec![x], vec![y]);

            let (fit, exact) = (prior.fit(&design), enumeration(prior, &design));

            // Inclusion and evidence come from the cavity, which is exact; so is the mean, up to damped steps.
            assert!(
                (fit.inclusion().unwrap()[0] - exact.inclusion[0]).abs() < 1e-9,
                "{x} {y}"
            );
            assert!(
                (fit.log_evidence().unwrap() - exact.log_evidence).abs() < 1e-9,
                "{x} {y}"
            );
            assert!(
                (fit.mean()[0] - exact.mean[0]).abs() < 2e-4 * exact.variance[0].sqrt(),
                "{x} {y}"
            );
        }
    }

    /// Expectation propagation is an approximation: where there are fewer observations than weights, the posterior has
    /// several modes (two observations that either one weight or two others explain), and inclusions come out wrong by
    /// 0.1 or more; with more observations than weights they are nearly exact.
    #[test]
    fn few_weights_mostly_have_their_inclusions_means_and_evidence() {
        let prior = SpikeSlab {
            inclusion: 0.3,
            slab: 4.0,
            noise: 0.1,
        };
        for (n, m) in [(2, 3), (5, 3), (6, 8), (10, 8)] {
            let mut errors = [vec![], vec![], vec![]];
            for seed in 0..12 {
                let mut stream = stream(seed, 0, Purpose::Inference);
                let rows: Vec<f64> = (0..n * m).map(|_| stream.normal()).collect();
                let y = rows
                    .chunks_exact(m)
                    .map(|row| 2.0 * row[0] - row[1] + 0.3 * stream.normal())
                    .collect();
                let design = Design::new(m, rows, y);

                let (fit, exact) = (prior.fit(&design), enumeration(prior, &design));

                let off = |a: &[f64], b: &[f64]| {
                    a.iter()
                        .zip(b)
                        .map(|(a, b)| (a - b).abs())
                        .fold(0.0, f64::max)
                };
                errors[0].push(off(fit.mean(), &exact.mean) / prior.slab.sqrt());
                errors[1].push(off(fit.inclusion().unwrap(), &exact.inclusion));
                errors[2].push((fit.log_evidence().unwrap() - exact.log_evidence).abs());
            }
            for errors in &mut errors {
                errors.sort_by(f64::total_cmp);
            }
            let [mean, inclusion, evidence] = errors.map(|errors| (errors[6], errors[10]));
            // The median, and the last but one of twelve.
            let most = if n < m {
                [(0.07, 0.18), (0.15, 0.21), (0.2, 0.61)]
            } else {
                [(0.001, 0.005), (0.003, 0.03), (0.003, 0.03)]
            };
            for (what, found, most) in [
                ("means", mean, most[0]),
                ("inclusions", inclusion, most[1]),
                ("evidence", evidence, most[2]),
            ] {
                assert!(
                    found.0 < most.0 && found.1 < most.1,
                    "{n} {m}: {what} off by {found:?}"
                );
            }
        }
    }
}
