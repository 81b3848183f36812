//! What expected improvement believes after some trials: a process over values, and one over failures where there are any.

use super::success::Success;
use crate::acquire::{CodedPoint, Feasible, Placed};
use crate::encoding::Branch;
use crate::measure::Sense;
use crate::strategy::{Estimate, Observed};
use crate::surrogate::Outputs;
use crate::surrogate::process::{Kernel, Process, Traits};

/// From this probability on a point may be recommended.
pub(super) const LIKELY: f64 = 0.5;

/// A process to improve on.
#[derive(Debug)]
pub(super) struct ProcessBelief {
    pub process: Process,
    /// Where a trial has failed.
    pub success: Option<Success>,
    pub outputs: Outputs,
    /// The value to improve on, in the model's units.
    pub target: f64,
    /// By how much its length-scales should be divided now and then.
    pub sharpness: f64,
}

impl ProcessBelief {
    /// The value to improve on within a branch, in the model's units: its own best, or that of all trials while it has none.
    pub(super) fn target_in(&self, branch: &Branch, told: &[Observed<'_>]) -> f64 {
        let inside = told
            .iter()
            .filter(|told| branch.holds(&told.at.code().bits));
        let lowest = inside.filter_map(|told| told.value).min_by(f64::total_cmp);
        lowest.map_or(self.target, |y| self.outputs.to_model(y))
    }

    /// With shorter length-scales, if nothing has improved for long.
    pub(super) fn sharpened(mut self) -> ProcessBelief {
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
        let prediction = self.process.predict(&self.traits(at));
        self.outputs.from_model(prediction.mean)
    }

    /// What it believes of the values at points, in the user's units.
    pub(super) fn estimates(&self, at: &[Placed], sense: Sense) -> Vec<Estimate> {
        let traits = at.iter().map(|at| traits(&self.process, at.coded()));
        let traits: Vec<Traits> = traits.collect();
        let predictions = self.process.predict_all(&traits).into_iter();
        predictions
            .map(|prediction| Estimate::of(prediction, &self.outputs, sense))
            .collect()
    }

    /// Whether it is likelier to have a value than not.
    pub(super) fn is_likely(&self, at: &Feasible) -> bool {
        let Some(success) = &self.success else {
            return true;
        };
        success.logs(&[self.traits(at)])[0] >= LIKELY.ln()
    }

    pub(super) fn traits(&self, at: &Feasible) -> Traits {
        traits(&self.process, at.coded())
    }
}

/// A point as a process sees it.
pub(super) fn traits(process: &Process, at: &CodedPoint) -> Traits {
    process.layout().traits(at.point(), at.code())
}
