//! Which process is believed of some outcomes: one kernel or another, with fitted hyper-parameters.
//!
//! Hyper-parameters are fitted from the means of their priors to the first n′ outcomes, where n′ ≤ n runs through 1, 2, 3, … up to 20,
//! then every second number up to 40, then every fourth. So they depend on what was told alone, not on when it was asked. Each kernel is
//! fitted, and the one of the greater posterior density is believed, the first one in doubt.

use super::belief::traits;
use crate::acquire::Placed;
use crate::strategy::{Error, Observed};
use crate::surrogate::process::{FitLimits, Kernel, Layout, Process, Traits};
use crate::surrogate::{Outputs, Transform, spread_out};

/// By how much for each parameter the log density of any kernel but the first must be greater. Measured: without it the product kernel
/// is believed too early in the VAE space, with three times as much too late on small spaces.
const MARGIN: f64 = 0.1;

/// The most outcomes that a process looks at; its time is cubic in them, and its memory quadratic.
const MOST: usize = 1500;

/// A point with a value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Valued<'a> {
    pub at: &'a Placed,
    pub value: f64,
}

impl<'a> Valued<'a> {
    /// A told trial, unless it failed.
    pub(super) fn of(observed: &Observed<'a>) -> Option<Valued<'a>> {
        observed.value.map(|value| Valued {
            at: observed.at,
            value,
        })
    }
}

/// Processes that may be believed of some outcomes, and the one that was fitted last.
#[derive(Debug, Clone)]
pub(super) struct Fits {
    /// One for each kernel.
    priors: Vec<Process>,
    outputs: Transform,
    /// Whether low outcomes tell more than others.
    is_ranked: bool,
    fitted: Option<Fitted>,
}

/// What was fitted to the first outcomes.
#[derive(Debug, Clone)]
struct Fitted {
    /// The prior that explains them best.
    prior: usize,
    theta: Vec<f64>,
    /// Those outcomes, to see whether they are still the same.
    raw: Vec<f64>,
}

impl Fitted {
    fn of(prior: usize, process: &Process, observations: &[Valued<'_>]) -> Fitted {
        Fitted {
            prior,
            theta: process.hyperparameters().to_vec(),
            raw: observations.iter().map(|valued| valued.value).collect(),
        }
    }
}

impl Fits {
    /// Of values that are to be minimised.
    pub(super) fn of_values(layout: &Layout, kernels: &[Kernel], outputs: Transform) -> Fits {
        let prior = |kernel: &Kernel| Process::new(layout.clone(), *kernel);
        Fits {
            priors: kernels.iter().map(prior).collect(),
            outputs,
            is_ranked: true,
            fitted: None,
        }
    }

    /// Of 1 and -1.
    pub(super) fn of_signs(layout: &Layout, kernels: &[Kernel]) -> Fits {
        Fits {
            is_ranked: false,
            ..Fits::of_values(layout, kernels, Transform::Identity)
        }
    }

    /// The process after these observations, and how its outputs are made.
    pub(super) fn after(
        &mut self,
        observations: &[Valued<'_>],
    ) -> Result<(Process, Outputs), Error> {
        let first = &observations[..last_fit(observations.len())];
        // Whoever asked before may have seen other outcomes: what was fitted counts only for these very ones.
        let is_same = |fitted: &Fitted| first.iter().map(|valued| &valued.value).eq(&fitted.raw);
        let known = self.fitted.take().filter(is_same);
        let fitted = known.map_or_else(|| self.fitted(first), Ok)?;
        let observed = self.observed(fitted.prior, Some(&fitted.theta), observations);
        self.fitted = Some(fitted);
        observed
    }

    /// The prior and its hyper-parameters that explain these observations best.
    fn fitted(&self, observations: &[Valued<'_>]) -> Result<Fitted, Error> {
        let (mut best, mut density) = self.explained(0, observations)?;
        // The first kernel needs no margin: it is believed in doubt.
        for prior in 1..self.priors.len() {
            let (fitted, other) = self.explained(prior, observations)?;
            let margin = MARGIN * self.priors[prior].layout().len() as f64;
            if other - margin > density {
                (best, density) = (fitted, other - margin);
            }
        }
        Ok(best)
    }

    /// The hyper-parameters with which a prior explains these observations best, and the log density of these.
    fn explained(&self, prior: usize, observations: &[Valued<'_>]) -> Result<(Fitted, f64), Error> {
        let mut process = self.observed(prior, None, observations)?.0;
        process.fit(FitLimits::default());
        let fitted = Fitted::of(prior, &process, observations);
        Ok((fitted, process.log_posterior()))
    }

    /// The process with these hyper-parameters, or those of the prior, after these observations or the most telling of them.
    fn observed(
        &self,
        prior: usize,
        theta: Option<&[f64]>,
        observations: &[Valued<'_>],
    ) -> Result<(Process, Outputs), Error> {
        let raw: Vec<f64> = observations.iter().map(|valued| valued.value).collect();
        let outputs = Outputs::fit(&raw, self.outputs)?;
        let mut process = self.priors[prior].clone();
        if let Some(theta) = theta {
            process.set_hyperparameters(theta)?;
        }
        let chosen = if self.is_ranked {
            telling(&raw, MOST)
        } else {
            spread_out(raw.len(), MOST)
        };
        let seen = chosen.into_iter().map(|at| {
            let Valued { at, value } = observations[at];
            (traits(&process, at.coded()), outputs.to_model(value))
        });
        let seen: Vec<(Traits, f64)> = seen.collect();
        process.observe_all(&seen)?;
        Ok((process, outputs))
    }
}

/// Which outcomes a process looks at, in their order: all, or the best half of `most` and as many of the others, evenly spread.
fn telling(raw: &[f64], most: usize) -> Vec<usize> {
    let mut ranked: Vec<usize> = (0..raw.len()).collect();
    if raw.len() <= most {
        return ranked;
    }
    ranked.sort_by(|a, b| raw[*a].total_cmp(&raw[*b]));
    let mut others = ranked.split_off(most / 2);
    // Spread over the time of their tells, not over their ranks.
    others.sort_unstable();
    let spread = spread_out(others.len(), most - most / 2).into_iter();
    ranked.extend(spread.map(|at| others[at]));
    ranked.sort_unstable();
    ranked
}

/// The number of outcomes at the last fit, of `n` in all.
fn last_fit(n: usize) -> usize {
    match n {
        0..=20 => n,
        21..=40 => n - n % 2,
        _ => n - n % 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_sees_all_outcomes_or_the_best_and_some_of_the_others() {
        let raw: Vec<f64> = (0..40).map(|i| f64::from((i * 7) % 40)).collect();

        assert_eq!(telling(&raw, 40), (0..40).collect::<Vec<_>>());
        let few = telling(&raw, 11);
        assert_eq!(few.len(), 11);
        assert!(few.is_sorted());
        for best in 0..5 {
            assert!(few.iter().any(|at| raw[*at] == f64::from(best)), "{best}");
        }
    }
}
