//! What expected improvement believes: told trials enter, in the order of their tells, and a Gaussian process leaves.
//!
//! Hyper-parameters are fitted from the means of their priors to the first n′ outcomes, where n′ ≤ n runs through 1, 2, 3, … up to 20,
//! then every second number up to 40, then every fourth. So they depend on what was told alone, not on when it was asked. A pending
//! trial counts as observed at its predicted mean: improvement is not looked for where it is already on its way.
//!
//! Unless the settings name a kernel, each of them is fitted and the one of the greater posterior density is believed, the additive
//! one in doubt. After some outcomes without a better one, every second ask believes shorter length-scales: what looks like the bottom
//! of a bowl may be one of many pits. Outcomes that equal the best one lie on a plateau, where a smooth process expects a slope again and
//! again: each of them lowers the value to improve on, so that what is farther away gains on what is near. Outcomes that all but equal it lie
//! in a pit and do the same where there is no plateau, but every third ask still looks for its bottom. Where there are some of either, that
//! is the way out, and length-scales stay as they are.
//!
//! Beside the process the paper's model learns from the same outcomes. It is not believed; minima of functions that are drawn from it are
//! candidates, and the process says what they are worth.

use super::linear::Linear;
use super::spec::{Improvement, Thompson};
use crate::acquire::Feasible;
use crate::acquire::improvement::log_improvement;
use crate::acquire::local::Landscape;
use crate::acquire::random::RandomPoints;
use crate::acquire::untried::Tried;
use crate::encoding::Encoded;
use crate::error::Error;
use crate::random::{Purpose, stream};
use crate::space::{Point, Space};
use crate::surrogate::process::{Kernel, Layout, Process, Settings, Sloped, Traits};
use crate::surrogate::{Outputs, Prediction, spread_out};

/// Slopes of the deviation are taken at this one where it is smaller.
const LEAST_DEVIATION: f64 = 1e-9;

/// Random feasible points that say how often each parameter is active.
const PROBES: usize = 300;

/// By how much for each parameter the log density of any kernel but the first must be greater. Measured: without it the product kernel
/// is believed too early in the VAE space, with three times as much too late on small spaces.
const MARGIN: f64 = 0.1;

/// The most outcomes that a process looks at; its time is cubic in them, and its memory quadratic.
const MOST: usize = 1500;

/// How often length-scales are halved in a stall.
const MAX_HALVINGS: usize = 3;

/// By how much an outcome may be above the best one and nearly equal it, in deviations of the outputs. Half and twice as much were measured
/// too, and are not better.
const TIE: f64 = 0.01;

/// The outcomes equal to the best, beside the first, that make a plateau or a pit, and the most that lower the value to improve on.
const PLATEAU: usize = 2;
const MAX_TIES: usize = 10;

/// Of how many asks one looks for the bottom of a pit.
const BOTTOM: usize = 3;

/// The most outcomes, weights of the paper's model, and patterns in tables of the space with which functions are drawn from it: beyond
/// them a draw or its minimum costs more than all the rest.
const DRAWN_OUTCOMES: usize = 200;
const DRAWN_WEIGHTS: usize = 4000;
const DRAWN_PATTERNS: usize = 10_000;

/// The settings, and the hyper-parameters that were fitted last.
#[derive(Debug, Clone)]
pub(super) struct ProcessModel {
    settings: Improvement,
    /// One for each kernel that may be believed.
    priors: Vec<Process>,
    /// The paper's model, where it proposes candidates.
    linear: Option<Linear>,
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

impl ProcessModel {
    pub(super) fn new(space: &Space, settings: Improvement, seed: u64) -> Result<ProcessModel, Error> {
        if !(0.0..=1.0).contains(&settings.plateau) {
            return Err(Error::BadHyperparameter { name: "plateau", value: settings.plateau });
        }
        let mut draws = stream(seed, 0, Purpose::Features);
        let points = RandomPoints::new(space);
        let probes = points.draw_many(PROBES, &mut draws);
        let layout = Layout::new(space);
        let shares = layout.shares_of(probes.iter().map(Feasible::point));
        let layout = layout.with_shares(shares)?;
        let kernels = settings.kernel.map_or(vec![Kernel::Additive, Kernel::Product], |kernel| vec![kernel]);
        let priors = kernels.into_iter().map(|kernel| Process::new(layout.clone(), kernel)).collect();
        let drawn = Thompson { learn: true, outputs: settings.outputs, ..Thompson::default() };
        let tables = space.encoding().problem().tables();
        let is_small = tables.iter().map(|table| table.allowed().len()).sum::<usize>() <= DRAWN_PATTERNS;
        let is_drawn = settings.draws && is_small;
        let linear = is_drawn.then(|| Linear::new(space, drawn, seed).ok()).flatten();
        let linear = linear.filter(|linear| linear.n_weights() <= DRAWN_WEIGHTS).map(Linear::sparing);
        Ok(ProcessModel { settings, priors, linear, fitted: None })
    }

    /// The paper's model, if it is to propose a candidate after `n` outcomes.
    pub(super) fn drawing(&mut self, n: usize) -> Option<&mut Linear> {
        self.linear.as_mut().filter(|_| n <= DRAWN_OUTCOMES)
    }

    pub(super) fn settings(&self) -> &Improvement {
        &self.settings
    }

    /// The process after these observations, which are to be minimised, and with these trials pending.
    pub(super) fn after(
        &mut self,
        observations: &[(&Point, &Encoded, f64)],
        pending: &[(&Point, &Encoded)],
    ) -> Result<Improving, Error> {
        let raw: Vec<f64> = observations.iter().map(|(.., y)| *y).collect();
        let n_fitted = last_fit(raw.len());
        let known = self.fitted.take().filter(|fitted| fitted.raw == raw[..n_fitted]);
        let fitted = known.map_or_else(|| self.fitted(&observations[..n_fitted]), Ok)?;
        let (mut process, outputs) = self.observed(fitted.prior, Some(&fitted.theta), observations)?;
        self.fitted = Some(fitted);
        let Improvement { stall, plateau, .. } = self.settings;
        let seen: Vec<f64> = raw.iter().map(|y| outputs.to_model(*y)).collect();
        let (equal, near) = (n_ties(&seen, 0.0), n_ties(&seen, TIE));
        let is_bottom = (raw.len() + pending.len()).is_multiple_of(BOTTOM);
        let is_pit = equal < PLATEAU && near >= PLATEAU && !is_bottom;
        let target = process.target().unwrap_or(0.0) - plateau * if is_pit { near } else { equal } as f64;
        let stall = if plateau > 0.0 && near >= PLATEAU { 0 } else { stall };
        for (point, code) in pending {
            let traits = process.layout().traits(point, code);
            let mean = process.predict(&traits).mean;
            process.observe(&traits, mean)?;
        }
        Ok(Improving { process, outputs, target, sharpness: sharpness(&raw, stall) })
    }

    /// The prior and its hyper-parameters that explain these observations best.
    fn fitted(&self, observations: &[(&Point, &Encoded, f64)]) -> Result<Fitted, Error> {
        let mut best: Option<(f64, Fitted)> = None;
        for prior in 0..self.priors.len() {
            let mut process = self.observed(prior, None, observations)?.0;
            process.fit(Settings::default());
            let margin = if prior > 0 { MARGIN * process.layout().len() as f64 } else { 0.0 };
            let density = process.log_posterior() - margin;
            if best.as_ref().is_none_or(|(other, _)| density > *other) {
                let raw = observations.iter().map(|(.., y)| *y).collect();
                best = Some((density, Fitted { prior, theta: process.hyperparameters().to_vec(), raw }));
            }
        }
        best.map(|(_, fitted)| fitted).ok_or(Error::BadHistory { why: "there is no model".into() })
    }

    /// The process with these hyper-parameters, or those of the prior, after these observations or the most telling of them.
    fn observed(
        &self,
        prior: usize,
        theta: Option<&[f64]>,
        observations: &[(&Point, &Encoded, f64)],
    ) -> Result<(Process, Outputs), Error> {
        let raw: Vec<f64> = observations.iter().map(|(.., y)| *y).collect();
        let outputs = Outputs::fit(&raw, self.settings.outputs)?;
        let mut process = self.priors[prior].clone();
        if let Some(theta) = theta {
            process.set_hyperparameters(theta)?;
        }
        let seen = |at: usize| {
            let (point, code, y) = observations[at];
            (process.layout().traits(point, code), outputs.to_model(y))
        };
        let seen: Vec<(Traits, f64)> = telling(&raw, MOST).into_iter().map(seen).collect();
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
    ranked.extend(spread_out(others.len(), most - most / 2).into_iter().map(|at| others[at]));
    ranked.sort_unstable();
    ranked
}

/// By how much length-scales are divided after these outcomes: halved after each `stall` of them without a better one.
fn sharpness(raw: &[f64], stall: usize) -> f64 {
    let best = (1..raw.len()).fold(0, |best, i| if raw[i] < raw[best] { i } else { best });
    let n_since = raw.len().saturating_sub(best + 1);
    let n_halvings = n_since.checked_div(stall).unwrap_or(0).min(MAX_HALVINGS);
    (0..n_halvings).fold(1.0, |sharpness, _| 2.0 * sharpness)
}

/// How many outputs beside the lowest are at most `slack` above it.
fn n_ties(outputs: &[f64], slack: f64) -> usize {
    let best = outputs.iter().copied().fold(f64::INFINITY, f64::min);
    outputs.iter().filter(|y| **y <= best + slack).count().saturating_sub(1).min(MAX_TIES)
}

/// The number of outcomes at the last fit, of `n` in all.
fn last_fit(n: usize) -> usize {
    match n {
        0..=20 => n,
        21..=40 => n - n % 2,
        _ => n - n % 4,
    }
}

/// A process to improve on.
#[derive(Debug)]
pub(super) struct Improving {
    process: Process,
    outputs: Outputs,
    target: f64,
    /// By how much its length-scales should be divided now and then.
    sharpness: f64,
}

impl Improving {
    /// With shorter length-scales, if nothing has improved for long.
    pub(super) fn sharpened(mut self) -> Improving {
        if self.sharpness > 1.0 {
            self.process = self.process.sharpened(self.sharpness);
        }
        self
    }

    /// The kernel that is believed.
    pub(super) fn kernel(&self) -> Kernel {
        self.process.kernel()
    }

    /// A mean in the user's units.
    pub(super) fn raw(&self, mean: f64) -> f64 {
        self.outputs.from_model(mean)
    }

    fn traits(&self, at: &Feasible) -> Traits {
        self.process.layout().traits(at.point(), at.code())
    }

    fn predictions(&self, points: &[Feasible]) -> Vec<Prediction> {
        let traits: Vec<Traits> = points.iter().map(|at| self.traits(at)).collect();
        self.process.predict_all(&traits)
    }

    fn sloped(&self, at: &Feasible, unit: &[f64]) -> Sloped {
        let layout = self.process.layout();
        self.process.predict_with_gradient(&layout.moved(&self.traits(at), unit))
    }
}

/// What is minimised.
#[derive(Debug)]
pub(super) struct Aim<'a> {
    pub improving: &'a Improving,
    /// The points at which there is nothing to gain: -log EI is minimised. None: the mean is.
    pub tried: Option<(&'a Space, &'a Tried)>,
}

impl Landscape for Aim<'_> {
    fn values(&self, points: &[Feasible]) -> Vec<f64> {
        let predictions = self.improving.predictions(points).into_iter().zip(points);
        let value = |(prediction, at): (Prediction, &Feasible)| match self.tried {
            None => prediction.mean,
            Some((space, tried)) if tried.contains(space, at.point()) => f64::INFINITY,
            Some(_) => -log_improvement(prediction, self.improving.target).value,
        };
        predictions.map(value).collect()
    }

    fn slope(&self, at: &Feasible, unit: &[f64], gradient: &mut [f64]) -> f64 {
        let sloped = self.improving.sloped(at, unit);
        if self.tried.is_none() {
            gradient.copy_from_slice(&sloped.mean);
            return sloped.prediction.mean;
        }
        let log = log_improvement(sloped.prediction, self.improving.target);
        let deviation = sloped.prediction.variance.sqrt().max(LEAST_DEVIATION);
        for ((g, mean), variance) in gradient.iter_mut().zip(&sloped.mean).zip(&sloped.variance) {
            *g = -(log.by_mean * mean + log.by_deviation * variance / (2.0 * deviation));
        }
        -log.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_that_equal_the_best_are_ties_and_no_others() {
        assert_eq!(n_ties(&[], 0.0), 0);
        assert_eq!(n_ties(&[2.0, 1.0, 3.0, 3.0], 0.0), 0);
        assert_eq!(n_ties(&[2.0, 1.0, 3.0, 1.0, 1.0], 0.0), 2);
        assert_eq!(n_ties(&[2.0, 1.0, 1.02, 1.009, 1.0], 0.01), 2);
        assert_eq!(n_ties(&[0.0; 100], 0.0), MAX_TIES);
    }

    #[test]
    fn an_outlier_does_not_make_all_others_equal() {
        for outlier in [1e2, 1e4, 1e9] {
            let mut raw: Vec<f64> = (1..=20).map(|i| 0.1 * f64::from(i)).collect();
            raw.push(outlier);
            let outputs = Outputs::fit(&raw, Improvement::default().outputs).unwrap();

            let seen: Vec<f64> = raw.iter().map(|y| outputs.to_model(*y)).collect();

            assert_eq!(n_ties(&seen, TIE), 0, "{outlier}");
        }
    }

    #[test]
    fn on_a_plateau_and_in_a_pit_the_value_to_improve_on_falls_and_length_scales_stay() {
        let mut space = Space::builder();
        let _ = space.float("x", 0.0..=1.0);
        let space = space.build().unwrap();
        let points: Vec<Feasible> =
            (0..9).map(|i| Feasible::of_code(&space, &[], &[f64::from(i) / 8.0]).unwrap()).collect();
        let after = |plateau: f64, values: &[f64]| {
            let settings = Improvement { plateau, stall: 2, ..Improvement::default() };
            let mut model = ProcessModel::new(&space, settings, 0).unwrap();
            let seen: Vec<_> = points.iter().zip(values).map(|(at, y)| (at.point(), at.code(), *y)).collect();
            let found = model.after(&seen, &[]).unwrap();
            (found.target, found.sharpness)
        };
        let slope = [8.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 9.0];
        let flat = [8.0, 1.0, 2.0, 1.0, 1.0, 5.0, 1.0, 7.0, 9.0];
        let both = [8.0, 1.0, 2.0, 1.0, 1.0, 1.001, 1.002, 7.0];
        let pit = [8.0, 1.0, 2.0, 1.001, 1.002, 5.0, 6.0, 7.0, 9.0];

        assert_eq!(after(0.1, &slope), after(0.0, &slope));
        let on_third = 0.0;
        for (values, fall) in [(&flat[..], 0.3), (&both[..], 0.2), (&pit[..8], 0.2), (&pit[..], on_third)] {
            let ((target, sharpness), (before, sharp)) = (after(0.1, values), after(0.0, values));
            assert!((before - target - fall).abs() < 1e-12, "{before} {target}");
            assert!(sharp > 1.0 && sharpness <= 1.0, "{sharp} {sharpness}");
        }
    }

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
