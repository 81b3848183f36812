//! What expected improvement believes after some trials: a Gaussian process, and the value to improve on.
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

use super::belief::{ProcessBelief, traits};
use super::fits::{Fits, Valued};
use super::success::Success;
use super::turns::Turns;
use super::{Improvement, ImprovementSearch};
use crate::acquire::random::RandomPoints;
use crate::acquire::{Feasible, Placed};
use crate::encoding::{Branch, Encoded};
use crate::features;
use crate::math::random::{Purpose, stream};
use crate::math::vector::least;
use crate::space::Space;
use crate::strategy::thompson::{Linear, Thompson};
use crate::strategy::{Error, Observed, Seen};
use crate::surrogate::process::{Kernel, Layout};

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
        let (name, value) = ("plateau", settings.plateau);
        if !(0.0..=1.0).contains(&value) {
            return Err(features::Error::BadHyperparameter { name, value }.into());
        }
        // One stream for the probes and for the turns: it is keyed by the seed alone, so every process that opens the study has the
        // same of both.
        let mut draws = stream(seed, 0, Purpose::Features);
        let points = RandomPoints::new(space);
        let probes = points.draw_many(PROBES, &mut draws);
        let layout = layout(space, &probes)?;
        let kernels = match settings.kernel {
            Some(kernel) => vec![kernel],
            None => vec![Kernel::Additive, Kernel::Product],
        };
        let every = match settings.search {
            ImprovementSearch::Local(_) => settings.turns,
            ImprovementSearch::Annealing(_) => 0,
        };
        Ok(ProcessModel {
            values: Fits::of_values(&layout, &kernels, settings.outputs),
            successes: Fits::of_signs(&layout, &kernels),
            linear: linear(space, &settings, seed),
            turns: Turns::new(&points, &probes, every, &mut draws),
            settings,
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

    /// What is believed after all trials; pending ones count as observed at their predicted means.
    pub(super) fn after(&mut self, seen: &Seen<'_>) -> Result<ProcessBelief, Error> {
        self.given(&seen.observed(), &seen.pending())
    }

    /// The same without pending trials.
    pub(super) fn without_pending(&mut self, seen: &Seen<'_>) -> Result<ProcessBelief, Error> {
        self.given(&seen.observed(), &[])
    }

    fn given(
        &mut self,
        told: &[Observed<'_>],
        pending: &[&Placed],
    ) -> Result<ProcessBelief, Error> {
        let valued: Vec<Valued<'_>> = told.iter().filter_map(Valued::of).collect();
        let raw: Vec<f64> = valued.iter().map(|valued| valued.value).collect();
        let (mut process, outputs) = self.values.after(&valued)?;
        let outcomes: Vec<f64> = raw.iter().map(|y| outputs.to_model(*y)).collect();
        let n_asked = told.len() + pending.len();
        let WayOut { lowered, stall } = self.way_out(&outcomes, n_asked);
        // Before the pending trials: their means are not outcomes to improve on.
        let target = process.target().unwrap_or(0.0) - lowered;
        for at in pending {
            let traits = traits(&process, at.coded());
            let mean = process.predict(&traits).mean;
            process.observe(&traits, mean)?;
        }
        let has_failures = valued.len() < told.len();
        let success = has_failures.then(|| self.success(told)).transpose()?;
        Ok(ProcessBelief {
            process,
            success,
            outputs,
            target,
            sharpness: sharpness(&raw, stall),
        })
    }

    /// What leads away from a plateau or a pit, after outcomes in the model's units and so many asks.
    fn way_out(&self, outcomes: &[f64], n_asked: usize) -> WayOut {
        let Improvement { stall, plateau, .. } = self.settings;
        let (equal, near) = (n_ties(outcomes, 0.0), n_ties(outcomes, TIE));
        let is_bottom = n_asked.is_multiple_of(BOTTOM);
        let is_pit = equal < PLATEAU && near >= PLATEAU && !is_bottom;
        let n_lowering = if is_pit { near } else { equal };
        let is_replaced = plateau > 0.0 && near >= PLATEAU;
        WayOut {
            lowered: plateau * n_lowering as f64,
            stall: if is_replaced { 0 } else { stall },
        }
    }

    fn success(&mut self, told: &[Observed<'_>]) -> Result<Success, Error> {
        let signs = told.iter().map(|observed| Valued {
            at: observed.at,
            value: if observed.value.is_some() { 1.0 } else { -1.0 },
        });
        let signs: Vec<Valued<'_>> = signs.collect();
        Ok(Success::new(self.successes.after(&signs)?.0))
    }
}

/// What a process sees of a point; `probes` say how often each parameter is active.
fn layout(space: &Space, probes: &[Feasible]) -> Result<Layout, Error> {
    let layout = Layout::new(space);
    let shares = layout.shares_of(probes.iter().map(Feasible::point));
    Ok(layout.with_shares(shares)?)
}

/// The paper's model, where it is to propose candidates and is not too large for that.
fn linear(space: &Space, settings: &Improvement, seed: u64) -> Option<Linear> {
    if !settings.draws || n_patterns(space) > DRAWN_PATTERNS {
        return None;
    }
    let drawn = Thompson {
        learn: true,
        outputs: settings.outputs,
        ..Thompson::default()
    };
    // A model that cannot be made only means that nothing is drawn from it.
    let linear = Linear::new(space, drawn, seed).ok()?;
    (linear.n_weights() <= DRAWN_WEIGHTS).then(|| linear.sparing())
}

/// The patterns of all tables.
fn n_patterns(space: &Space) -> usize {
    let tables = space.encoding().problem().tables().iter();
    tables.map(|table| table.allowed().len()).sum()
}

fn first_best(raw: &[f64]) -> usize {
    (1..raw.len()).fold(0, |best, i| if raw[i] < raw[best] { i } else { best })
}

/// What leads away from where nothing improves.
struct WayOut {
    /// By how much the value to improve on is lower, in deviations of the outputs.
    lowered: f64,
    /// Outcomes without a better one after which length-scales are halved; 0: never.
    stall: usize,
}

/// By how much length-scales are divided after these outcomes: halved after each `stall` of them without a better one.
fn sharpness(raw: &[f64], stall: usize) -> f64 {
    let n_since = raw.len().saturating_sub(first_best(raw) + 1);
    let n_halvings = n_since.checked_div(stall).unwrap_or(0).min(MAX_HALVINGS);
    (0..n_halvings).fold(1.0, |sharpness, _| 2.0 * sharpness)
}

/// How many outputs beside the lowest are at most `slack` above it.
fn n_ties(outputs: &[f64], slack: f64) -> usize {
    let best = least(outputs.iter().copied());
    let n = outputs.iter().filter(|y| **y <= best + slack).count();
    n.saturating_sub(1).min(MAX_TIES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surrogate::Outputs;

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
            let at: Vec<Placed> = points.iter().cloned().map(Placed::from).collect();
            let told = at.iter().zip(values).map(|(at, y)| Observed {
                at,
                value: Some(*y),
            });
            let told: Vec<Observed<'_>> = told.collect();
            let found = model.given(&told, &[]).unwrap();
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
