//! What expected improvement believes: told trials enter, in the order of their tells, and a Gaussian process leaves.
//!
//! [`Fits`] says which process: unless the settings name a kernel, the additive one in doubt. It learns from values alone; once a trial
//! has failed, expected improvement is that of the values times the probability that there is one ([`Success`]). A pending trial counts
//! as observed at its predicted mean: improvement is not looked for where it is already on its way.
//!
//! After some outcomes without a better one, every second ask believes shorter length-scales: what looks like the bottom
//! of a bowl may be one of many pits. Outcomes that equal the best one lie on a plateau, where a smooth process expects a slope again and
//! again: each of them lowers the value to improve on, so that what is farther away gains on what is near. Outcomes that all but equal it lie
//! in a pit and do the same where there is no plateau, but every third ask still looks for its bottom. Where there are some of either, that
//! is the way out, and length-scales stay as they are.
//!
//! Beside the process the paper's model learns from the same outcomes. It is not believed; minima of functions that are drawn from it are
//! candidates, and the process says what they are worth.

use super::fits::Fits;
use super::linear::Linear;
use super::spec::{Climb, Improvement, Thompson};
use super::success::Success;
use super::turns::Turns;
use crate::acquire::Feasible;
use crate::acquire::improvement::log_improvement;
use crate::acquire::local::Landscape;
use crate::acquire::random::RandomPoints;
use crate::acquire::untried::Tried;
use crate::encoding::{Branch, Encoded};
use crate::features;
use crate::math::random::{Purpose, stream};
use crate::space::{Point, Space};
use crate::study::Error;
use crate::surrogate::process::{Kernel, Layout, Process, Sloped, Traits};
use crate::surrogate::{Outputs, Prediction};

/// From this probability on a point may be recommended.
const LIKELY: f64 = 0.5;

/// By how much the mean must be lower, in deviations of the outputs, where log P is lower by one.
const BARRIER: f64 = 1e3;

/// Slopes of the deviation are taken at this one where it is smaller.
const LEAST_DEVIATION: f64 = 1e-9;

/// Random feasible points that say how often each parameter is active.
const PROBES: usize = 300;

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
    values: Fits,
    /// Of 1 for each value and -1 for each failure.
    successes: Fits,
    /// The paper's model, where it proposes candidates.
    linear: Option<Linear>,
    turns: Turns,
}

impl ProcessModel {
    pub(super) fn new(
        space: &Space,
        settings: Improvement,
        seed: u64,
    ) -> Result<ProcessModel, Error> {
        if !(0.0..=1.0).contains(&settings.plateau) {
            return Err(features::Error::BadHyperparameter {
                name: "plateau",
                value: settings.plateau,
            }
            .into());
        }
        let mut draws = stream(seed, 0, Purpose::Features);
        let points = RandomPoints::new(space);
        let probes = points.draw_many(PROBES, &mut draws);
        let layout = Layout::new(space);
        let shares = layout.shares_of(probes.iter().map(Feasible::point));
        let layout = layout.with_shares(shares)?;
        let kernels = settings
            .kernel
            .map_or(vec![Kernel::Additive, Kernel::Product], |kernel| {
                vec![kernel]
            });
        let values = Fits::of_values(&layout, &kernels, settings.outputs);
        let successes = Fits::of_signs(&layout, &kernels);
        let drawn = Thompson {
            learn: true,
            outputs: settings.outputs,
            ..Thompson::default()
        };
        let tables = space.encoding().problem().tables();
        let is_small = tables
            .iter()
            .map(|table| table.allowed().len())
            .sum::<usize>()
            <= DRAWN_PATTERNS;
        let is_drawn = settings.draws && is_small;
        let linear = is_drawn
            .then(|| Linear::new(space, drawn, seed).ok())
            .flatten();
        let linear = linear
            .filter(|linear| linear.n_weights() <= DRAWN_WEIGHTS)
            .map(Linear::sparing);
        let every = if matches!(settings.search, Climb::Local(_)) {
            settings.turns
        } else {
            0
        };
        let turns = Turns::new(&points, &probes, every, &mut draws);
        Ok(ProcessModel {
            settings,
            values,
            successes,
            linear,
            turns,
        })
    }

    /// The paper's model, if it is to propose a candidate after `n` outcomes.
    pub(super) fn drawing(&mut self, n: usize) -> Option<&mut Linear> {
        self.linear.as_mut().filter(|_| n <= DRAWN_OUTCOMES)
    }

    pub(super) fn settings(&self) -> &Improvement {
        &self.settings
    }

    /// The branch whose turn it is after trials with these codes.
    pub(super) fn due(&self, codes: &[&Encoded]) -> Option<&Branch> {
        self.turns.due(codes)
    }

    /// The process after these trials, whose values are to be minimised, None where they failed, and with these trials pending.
    pub(super) fn after(
        &mut self,
        told: &[(&Point, &Encoded, Option<f64>)],
        pending: &[(&Point, &Encoded)],
    ) -> Result<Improving, Error> {
        let valued = told
            .iter()
            .filter_map(|(point, code, y)| y.map(|y| (*point, *code, y)));
        let valued: Vec<(&Point, &Encoded, f64)> = valued.collect();
        let raw: Vec<f64> = valued.iter().map(|(.., y)| *y).collect();
        let (mut process, outputs) = self.values.after(&valued)?;
        let Improvement { stall, plateau, .. } = self.settings;
        let seen: Vec<f64> = raw.iter().map(|y| outputs.to_model(*y)).collect();
        let (equal, near) = (n_ties(&seen, 0.0), n_ties(&seen, TIE));
        let is_bottom = (told.len() + pending.len()).is_multiple_of(BOTTOM);
        let is_pit = equal < PLATEAU && near >= PLATEAU && !is_bottom;
        let target =
            process.target().unwrap_or(0.0) - plateau * if is_pit { near } else { equal } as f64;
        let stall = if plateau > 0.0 && near >= PLATEAU {
            0
        } else {
            stall
        };
        for (point, code) in pending {
            let traits = process.layout().traits(point, code);
            let mean = process.predict(&traits).mean;
            process.observe(&traits, mean)?;
        }
        let success = if valued.len() < told.len() {
            Some(self.success(told)?)
        } else {
            None
        };
        Ok(Improving {
            process,
            success,
            outputs,
            target,
            sharpness: sharpness(&raw, stall),
        })
    }

    fn success(&mut self, told: &[(&Point, &Encoded, Option<f64>)]) -> Result<Success, Error> {
        let sign = |y: &Option<f64>| if y.is_some() { 1.0 } else { -1.0 };
        let signs: Vec<_> = told
            .iter()
            .map(|(point, code, y)| (*point, *code, sign(y)))
            .collect();
        Ok(Success::new(self.successes.after(&signs)?.0))
    }
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
    outputs
        .iter()
        .filter(|y| **y <= best + slack)
        .count()
        .saturating_sub(1)
        .min(MAX_TIES)
}

/// A process to improve on.
#[derive(Debug)]
pub(super) struct Improving {
    process: Process,
    /// Where a trial has failed.
    success: Option<Success>,
    outputs: Outputs,
    target: f64,
    /// By how much its length-scales should be divided now and then.
    sharpness: f64,
}

impl Improving {
    /// The value to improve on, in the model's units.
    pub(super) fn target(&self) -> f64 {
        self.target
    }

    /// The value to improve on within a branch, in the model's units: its own best, or that of all trials while it has none.
    pub(super) fn target_in(
        &self,
        branch: &Branch,
        told: &[(&Point, &Encoded, Option<f64>)],
    ) -> f64 {
        let inside = told.iter().filter(|(_, code, _)| branch.holds(&code.bits));
        let lowest = inside.filter_map(|(.., y)| *y).min_by(f64::total_cmp);
        lowest.map_or(self.target, |y| self.outputs.to_model(y))
    }

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
    pub improving: &'a Improving,
    /// The value to improve on, in the model's units.
    pub target: f64,
    /// The points at which there is nothing to gain: -log(EI P) is minimised, where P is the probability of a value. None: the mean is,
    /// where a value is likely.
    pub tried: Option<(&'a Space, &'a Tried)>,
    /// The branch outside of which there is nothing to gain.
    pub within: Option<&'a Branch>,
}

impl Aim<'_> {
    /// What a point loses by the logarithm of its probability to have a value.
    fn loss(&self, log_success: f64) -> f64 {
        if self.tried.is_some() {
            -log_success
        } else {
            BARRIER * (LIKELY.ln() - log_success).max(0.0)
        }
    }
}

impl Landscape for Aim<'_> {
    fn values(&self, points: &[Feasible]) -> Vec<f64> {
        let Improving {
            process, success, ..
        } = self.improving;
        let is_outside = |at: &Feasible| {
            self.within
                .is_some_and(|branch| !branch.holds(&at.code().bits))
        };
        let traits: Vec<Traits> = points.iter().map(|at| self.improving.traits(at)).collect();
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
        let Improving {
            process, success, ..
        } = self.improving;
        let traits = process.layout().moved(&self.improving.traits(at), unit);
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
        let points: Vec<Feasible> = (0..9)
            .map(|i| Feasible::of_code(&space, &[], &[f64::from(i) / 8.0]).unwrap())
            .collect();
        let after = |plateau: f64, values: &[f64]| {
            let settings = Improvement {
                plateau,
                stall: 2,
                ..Improvement::default()
            };
            let mut model = ProcessModel::new(&space, settings, 0).unwrap();
            let seen = points
                .iter()
                .zip(values)
                .map(|(at, y)| (at.point(), at.code(), Some(*y)));
            let seen: Vec<_> = seen.collect();
            let found = model.after(&seen, &[]).unwrap();
            (found.target, found.sharpness)
        };
        let slope = [8.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 9.0];
        let flat = [8.0, 1.0, 2.0, 1.0, 1.0, 5.0, 1.0, 7.0, 9.0];
        let both = [8.0, 1.0, 2.0, 1.0, 1.0, 1.001, 1.002, 7.0];
        let pit = [8.0, 1.0, 2.0, 1.001, 1.002, 5.0, 6.0, 7.0, 9.0];

        assert_eq!(after(0.1, &slope), after(0.0, &slope));
        let on_third = 0.0;
        for (values, fall) in [
            (&flat[..], 0.3),
            (&both[..], 0.2),
            (&pit[..8], 0.2),
            (&pit[..], on_third),
        ] {
            let ((target, sharpness), (before, sharp)) = (after(0.1, values), after(0.0, values));
            assert!((before - target - fall).abs() < 1e-12, "{before} {target}");
            assert!(sharp > 1.0 && sharpness <= 1.0, "{sharp} {sharpness}");
        }
    }
}
