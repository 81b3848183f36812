//! What expected improvement believes: told trials enter, in the order of their tells, and a Gaussian process leaves.
//!
//! Hyper-parameters are fitted from the means of their priors to the first n′ outcomes, where n′ ≤ n runs through 1, 2, 3, … up to 20,
//! then every second number up to 40, then every fourth. So they depend on what was told alone, not on when it was asked. A pending
//! trial counts as observed at its predicted mean: improvement is not looked for where it is already on its way.

use super::spec::Improvement;
use crate::acquire::Feasible;
use crate::acquire::improvement::log_improvement;
use crate::acquire::local::Landscape;
use crate::acquire::random::RandomPoints;
use crate::encoding::Encoded;
use crate::error::Error;
use crate::random::{Purpose, stream};
use crate::space::{Point, Space};
use crate::surrogate::process::{Layout, Process, Settings, Sloped, Traits};
use crate::surrogate::{Outputs, Prediction};

/// Slopes of the deviation are taken at this one where it is smaller.
const LEAST_DEVIATION: f64 = 1e-9;

/// Random feasible points that say how often each parameter is active.
const PROBES: usize = 300;

/// The settings, and the hyper-parameters that were fitted last.
#[derive(Debug, Clone)]
pub(super) struct ProcessModel {
    settings: Improvement,
    prior: Process,
    /// θ after so many outcomes, whose values are kept to see whether they are still the same.
    fitted: Option<(Vec<f64>, Vec<f64>)>,
}

impl ProcessModel {
    pub(super) fn new(space: &Space, settings: Improvement, seed: u64) -> Result<ProcessModel, Error> {
        let mut draws = stream(seed, 0, Purpose::Features);
        let points = RandomPoints::new(space);
        let probes: Vec<Feasible> = (0..PROBES).map_while(|_| points.draw(&mut draws).ok()).collect();
        let layout = Layout::new(space);
        let shares = layout.shares_of(probes.iter().map(Feasible::point));
        let prior = Process::new(layout.with_shares(shares)?, settings.kernel);
        Ok(ProcessModel { settings, prior, fitted: None })
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
        let is_known = self.fitted.as_ref().is_some_and(|(_, y)| *y == raw[..n_fitted]);
        if !is_known {
            let mut process = self.observed(&observations[..n_fitted])?.0;
            process.fit(Settings::default());
            self.fitted = Some((process.hyperparameters().to_vec(), raw[..n_fitted].to_vec()));
        }
        let (mut process, outputs) = self.observed(observations)?;
        if let Some((theta, _)) = &self.fitted {
            process.set_hyperparameters(theta)?;
        }
        let target = process.target().unwrap_or(0.0);
        for (point, code) in pending {
            let traits = process.layout().traits(point, code);
            let mean = process.predict(&traits).mean;
            process.observe(&traits, mean)?;
        }
        Ok(Improving { process, outputs, target })
    }

    fn observed(&self, observations: &[(&Point, &Encoded, f64)]) -> Result<(Process, Outputs), Error> {
        let raw: Vec<f64> = observations.iter().map(|(.., y)| *y).collect();
        let outputs = Outputs::fit(&raw, self.settings.outputs)?;
        let mut process = self.prior.clone();
        for (point, code, y) in observations {
            process.observe(&process.layout().traits(point, code), outputs.to_model(*y))?;
        }
        Ok((process, outputs))
    }
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
}

impl Improving {
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

/// -log EI, and with `is_mean` the mean.
#[derive(Debug)]
pub(super) struct Aim<'a> {
    pub improving: &'a Improving,
    pub is_mean: bool,
}

impl Landscape for Aim<'_> {
    fn values(&self, points: &[Feasible]) -> Vec<f64> {
        let value = |prediction: Prediction| {
            let log = log_improvement(prediction, self.improving.target).value;
            if self.is_mean { prediction.mean } else { -log }
        };
        self.improving.predictions(points).into_iter().map(value).collect()
    }

    fn slope(&self, at: &Feasible, unit: &[f64], gradient: &mut [f64]) -> f64 {
        let sloped = self.improving.sloped(at, unit);
        if self.is_mean {
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
