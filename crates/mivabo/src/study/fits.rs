//! Which process is believed of some outcomes: the outcomes enter, in the order of their tells, and a fitted process leaves.
//!
//! Hyper-parameters are fitted from the means of their priors to the first n′ outcomes, where n′ ≤ n runs through 1, 2, 3, … up to 20,
//! then every second number up to 40, then every fourth. So they depend on what was told alone, not on when it was asked. Each kernel is
//! fitted, and the one of the greater posterior density is believed, the first one in doubt.

use crate::encoding::Encoded;
use crate::space::Point;
use crate::study::Error;
use crate::surrogate::process::{FitLimits, Kernel, Layout, Process, Traits};
use crate::surrogate::{Outputs, Transform, spread_out};

/// By how much for each parameter the log density of any kernel but the first must be greater. Measured: without it the product kernel
/// is believed too early in the VAE space, with three times as much too late on small spaces.
const MARGIN: f64 = 0.1;

/// The most outcomes that a process looks at; its time is cubic in them, and its memory quadratic.
const MOST: usize = 1500;

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

impl Fits {
    /// Of values that are to be minimised.
    pub(super) fn of_values(layout: &Layout, kernels: &[Kernel], outputs: Transform) -> Fits {
        let priors = kernels
            .iter()
            .map(|kernel| Process::new(layout.clone(), *kernel))
            .collect();
        Fits {
            priors,
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
        observations: &[(&Point, &Encoded, f64)],
    ) -> Result<(Process, Outputs), Error> {
        let first = &observations[..last_fit(observations.len())];
        let known = self
            .fitted
            .take()
            .filter(|fitted| first.iter().map(|(.., y)| y).eq(&fitted.raw));
        let fitted = known.map_or_else(|| self.fitted(first), Ok)?;
        let observed = self.observed(fitted.prior, Some(&fitted.theta), observations);
        self.fitted = Some(fitted);
        observed
    }

    /// The prior and its hyper-parameters that explain these observations best.
    fn fitted(&self, observations: &[(&Point, &Encoded, f64)]) -> Result<Fitted, Error> {
        let mut best: Option<(f64, Fitted)> = None;
        for prior in 0..self.priors.len() {
            let mut process = self.observed(prior, None, observations)?.0;
            process.fit(FitLimits::default());
            let margin = if prior > 0 {
                MARGIN * process.layout().len() as f64
            } else {
                0.0
            };
            let density = process.log_posterior() - margin;
            if best.as_ref().is_none_or(|(other, _)| density > *other) {
                let raw = observations.iter().map(|(.., y)| *y).collect();
                best = Some((
                    density,
                    Fitted {
                        prior,
                        theta: process.hyperparameters().to_vec(),
                        raw,
                    },
                ));
            }
        }
        best.map(|(_, fitted)| fitted).ok_or(Error::BadHistory {
            why: "there is no model".into(),
        })
    }

    /// The process with these hyper-parameters, or those of the prior, after these observations or the most telling of them.
    fn observed(
        &self,
        prior: usize,
        theta: Option<&[f64]>,
        observations: &[(&Point, &Encoded, f64)],
    ) -> Result<(Process, Outputs), Error> {
        let raw: Vec<f64> = observations.iter().map(|(.., y)| *y).collect();
        let outputs = Outputs::fit(&raw, self.outputs)?;
        let mut process = self.priors[prior].clone();
        if let Some(theta) = theta {
            process.set_hyperparameters(theta)?;
        }
        let seen = |at: usize| {
            let (point, code, y) = observations[at];
            (process.layout().traits(point, code), outputs.to_model(y))
        };
        let chosen = if self.is_ranked {
            telling(&raw, MOST)
        } else {
            spread_out(raw.len(), MOST)
        };
        let seen: Vec<(Traits, f64)> = chosen.into_iter().map(seen).collect();
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
    others.sort_unstable();
    ranked.extend(
        spread_out(others.len(), most - most / 2)
            .into_iter()
            .map(|at| others[at]),
    );
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
