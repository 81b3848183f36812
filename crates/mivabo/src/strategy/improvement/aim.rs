//! What a search minimises: the negative logarithm of the expected improvement, times the probability of a value.

use super::climb::Surface;
use super::gain::log_improvement;
use super::success::Success;
use crate::acquire::Feasible;
use crate::acquire::untried::Tried;
use crate::encoding::Branch;
use crate::space::Space;
use crate::strategy::Observed;
use crate::surrogate::process::{Kernel, Process, Sloped, Traits};
use crate::surrogate::{Outputs, Prediction};

/// From this probability on a point may be recommended.
const LIKELY: f64 = 0.5;

/// By how much the mean must be lower, in deviations of the outputs, where log P is lower by one.
const BARRIER: f64 = 1e3;

/// Slopes of the deviation are taken at this one where it is smaller.
const LEAST_DEVIATION: f64 = 1e-9;

/// A process to improve on.
#[derive(Debug)]
pub(super) struct Believed {
    pub process: Process,
    /// Where a trial has failed.
    pub success: Option<Success>,
    pub outputs: Outputs,
    pub target: f64,
    /// By how much its length-scales should be divided now and then.
    pub sharpness: f64,
}

impl Believed {
    /// The value to improve on, in the model's units.
    pub(super) fn target(&self) -> f64 {
        self.target
    }

    /// The value to improve on within a branch, in the model's units: its own best, or that of all trials while it has none.
    pub(super) fn target_in(&self, branch: &Branch, told: &[Observed<'_>]) -> f64 {
        let inside = told
            .iter()
            .filter(|told| branch.holds(&told.at.code().bits));
        let lowest = inside.filter_map(|told| told.value).min_by(f64::total_cmp);
        lowest.map_or(self.target, |y| self.outputs.to_model(y))
    }

    /// With shorter length-scales, if nothing has improved for long.
    pub(super) fn sharpened(mut self) -> Believed {
        if self.sharpness > 1.0 {
            self.process = self.process.sharpened(self.sharpness);
        }
        self
    }

    /// The kernel that is believed.
    pub(super) fn kernel(&self) -> Kernel {
        self.process.kernel()
    }

    /// The mean at a point, in the user's units.
    pub(super) fn mean(&self, at: &Feasible) -> f64 {
        self.outputs
            .from_model(self.process.predict(&self.traits(at)).mean)
    }

    /// Whether it is likelier to have a value than not.
    pub(super) fn is_likely(&self, at: &Feasible) -> bool {
        let log = |success: &Success| success.logs(&[self.traits(at)])[0];
        self.success
            .as_ref()
            .is_none_or(|success| log(success) >= LIKELY.ln())
    }

    fn traits(&self, at: &Feasible) -> Traits {
        self.process.layout().traits(at.point(), at.code())
    }
}

/// What is minimised.
#[derive(Debug)]
pub(super) struct Aim<'a> {
    pub believed: &'a Believed,
    /// The value to improve on, in the model's units.
    pub target: f64,
    /// The points at which there is nothing to gain: -log(EI P) is minimised, where P is the probability of a value. None: the mean is,
    /// where a value is likely.
    pub tried: Option<(&'a Space, &'a Tried)>,
    /// The branch outside of which there is nothing to gain.
    pub within: Option<&'a Branch>,
}

impl Aim<'_> {
    /// Its value at one point.
    pub(super) fn value(&self, at: &Feasible) -> f64 {
        self.values(std::slice::from_ref(at))[0]
    }

    /// What a point loses by the logarithm of its probability to have a value.
    fn loss(&self, log_success: f64) -> f64 {
        if self.tried.is_some() {
            -log_success
        } else {
            BARRIER * (LIKELY.ln() - log_success).max(0.0)
        }
    }
}

impl Surface for Aim<'_> {
    fn values(&self, points: &[Feasible]) -> Vec<f64> {
        let Believed {
            process, success, ..
        } = self.believed;
        let is_outside = |at: &Feasible| {
            self.within
                .is_some_and(|branch| !branch.holds(&at.code().bits))
        };
        let traits: Vec<Traits> = points.iter().map(|at| self.believed.traits(at)).collect();
        let value = |(prediction, at): (Prediction, &Feasible)| match self.tried {
            None => prediction.mean,
            Some(_) if is_outside(at) => f64::INFINITY,
            Some((space, tried)) if tried.contains(space, at.point()) => f64::INFINITY,
            Some(_) => -log_improvement(prediction, self.target).value,
        };
        let mut values: Vec<f64> = process
            .predict_all(&traits)
            .into_iter()
            .zip(points)
            .map(value)
            .collect();
        if let Some(success) = success {
            let losses = success.logs(&traits).into_iter().map(|log| self.loss(log));
            values
                .iter_mut()
                .zip(losses)
                .for_each(|(value, loss)| *value += loss);
        }
        values
    }

    fn slope(&self, at: &Feasible, unit: &[f64], gradient: &mut [f64]) -> f64 {
        let Believed {
            process, success, ..
        } = self.believed;
        let traits = process.layout().moved(&self.believed.traits(at), unit);
        let Sloped {
            prediction,
            mean,
            variance,
        } = process.predict_with_gradient(&traits);
        let mut value = prediction.mean;
        gradient.copy_from_slice(&mean);
        if self.tried.is_some() {
            let log = log_improvement(prediction, self.target);
            let deviation = prediction.variance.sqrt().max(LEAST_DEVIATION);
            for ((g, mean), variance) in gradient.iter_mut().zip(&mean).zip(&variance) {
                *g = -(log.by_mean * mean + log.by_deviation * variance / (2.0 * deviation));
            }
            value = -log.value;
        }
        if let Some(success) = success {
            let (log, slopes) = success.log_with_gradient(&traits);
            let loss = self.loss(log);
            value += loss;
            let by_log = if self.tried.is_some() { 1.0 } else { BARRIER };
            if loss > 0.0 {
                gradient
                    .iter_mut()
                    .zip(slopes)
                    .for_each(|(g, slope)| *g -= by_log * slope);
            }
        }
        value
    }
}
