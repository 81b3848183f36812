//! What a search minimises: for the next trial the negative logarithm of the expected improvement times the probability of a value,
//! for a recommendation the mean.

use super::belief::{LIKELY, ProcessBelief};
use super::expected::log_improvement;
use super::local_search::Surface;
use super::success::Success;
use crate::acquire::Feasible;
use crate::encoding::Branch;
use crate::strategy::Seen;
use crate::surrogate::Prediction;
use crate::surrogate::process::{Sloped, Traits};

/// By how much the mean must be lower, in deviations of the outputs, where log P is lower by one.
const BARRIER: f64 = 1e3;

/// Slopes of the deviation are taken at this one where it is smaller.
const LEAST_DEVIATION: f64 = 1e-9;

/// What is minimised, by what is believed.
#[derive(Debug)]
pub(super) struct Acquisition<'a> {
    pub belief: &'a ProcessBelief,
    pub wanted: Wanted<'a>,
}

/// What is wanted of a point.
#[derive(Debug)]
pub(super) enum Wanted<'a> {
    /// A large expected improvement: -log(EI P) is minimised, where P is the probability of a value.
    Improvement(Improvement<'a>),
    /// A low mean, where a value is likely.
    Mean,
}

/// On what, and where.
#[derive(Debug)]
pub(super) struct Improvement<'a> {
    /// The value to improve on, in the model's units.
    pub target: f64,
    /// At points that were tried there is nothing to gain.
    pub seen: &'a Seen<'a>,
    /// Nor is there outside of this branch.
    pub within: Option<&'a Branch>,
}

impl Improvement<'_> {
    fn is_possible(&self, at: &Feasible) -> bool {
        let is_inside = |branch: &Branch| branch.holds(&at.code().bits);
        self.within.is_none_or(is_inside) && !self.seen.tried.contains(self.seen.space, at.point())
    }
}

impl Acquisition<'_> {
    /// Its value at one point.
    pub(super) fn value(&self, at: &Feasible) -> f64 {
        self.values(std::slice::from_ref(at))[0]
    }

    /// What a point is worth if it has a value.
    fn given_success(&self, prediction: Prediction, at: &Feasible) -> f64 {
        match &self.wanted {
            Wanted::Mean => prediction.mean,
            Wanted::Improvement(wanted) if wanted.is_possible(at) => {
                -log_improvement(prediction, wanted.target).value
            }
            Wanted::Improvement(_) => f64::INFINITY,
        }
    }

    /// The same with its slopes. Where nothing is to be gained plays no part here: a descent leads away from there, and its end is
    /// valued like any other point.
    fn slope_given_success(&self, sloped: &Sloped, gradient: &mut [f64]) -> f64 {
        let Sloped {
            prediction,
            mean,
            variance,
        } = sloped;
        let Wanted::Improvement(Improvement { target, .. }) = self.wanted else {
            gradient.copy_from_slice(mean);
            return prediction.mean;
        };
        let log = log_improvement(*prediction, target);
        // The deviation is the root of the variance, and the slope of that has no bound towards 0.
        let deviation = prediction.variance.sqrt().max(LEAST_DEVIATION);
        for ((g, mean), variance) in gradient.iter_mut().zip(mean).zip(variance) {
            *g = -(log.by_mean * mean + log.by_deviation * variance / (2.0 * deviation));
        }
        -log.value
    }

    /// What a point loses by the logarithm of its probability to have a value.
    fn loss(&self, log_success: f64) -> f64 {
        match self.wanted {
            Wanted::Improvement(_) => -log_success,
            Wanted::Mean => BARRIER * (LIKELY.ln() - log_success).max(0.0),
        }
    }

    fn loss_by_log(&self) -> f64 {
        match self.wanted {
            Wanted::Improvement(_) => 1.0,
            Wanted::Mean => BARRIER,
        }
    }

    /// The same, with its slopes added to a gradient.
    fn slope_of_loss(&self, success: &Success, traits: &Traits, gradient: &mut [f64]) -> f64 {
        let (log, slopes) = success.log_with_gradient(traits);
        let loss = self.loss(log);
        let by_log = self.loss_by_log();
        // The barrier is flat where a value is likely.
        if loss > 0.0 {
            for (g, slope) in gradient.iter_mut().zip(slopes) {
                *g -= by_log * slope;
            }
        }
        loss
    }
}

impl Surface for Acquisition<'_> {
    fn values(&self, points: &[Feasible]) -> Vec<f64> {
        let traits: Vec<Traits> = points.iter().map(|at| self.belief.traits(at)).collect();
        let predictions = self.belief.process.predict_all(&traits).into_iter();
        let values = predictions
            .zip(points)
            .map(|(prediction, at)| self.given_success(prediction, at));
        let mut values: Vec<f64> = values.collect();
        if let Some(success) = &self.belief.success {
            for (value, log) in values.iter_mut().zip(success.logs(&traits)) {
                *value += self.loss(log);
            }
        }
        values
    }

    fn slope(&self, at: &Feasible, unit: &[f64], gradient: &mut [f64]) -> f64 {
        let process = &self.belief.process;
        let traits = process.layout().moved(&self.belief.traits(at), unit);
        let value = self.slope_given_success(&process.predict_with_gradient(&traits), gradient);
        match &self.belief.success {
            Some(success) => value + self.slope_of_loss(success, &traits, gradient),
            None => value,
        }
    }
}
