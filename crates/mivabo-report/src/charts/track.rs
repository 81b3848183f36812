//! The axis of one parameter: where each trial stands on it, if the parameter is active there.

use mivabo::space::Value;
use mivabo::view::{ParameterView, StudyView, TrialView};

use crate::drawing::Scale;
use crate::text::{short, value};

/// Integers with at most this many values have a band for each.
const MAX_BANDS: u64 = 12;

/// The share of a band over which its marks are spread.
const SPREAD: f64 = 0.6;

/// A parameter, and the scale of its values.
#[derive(Debug)]
pub(super) struct Track<'a> {
    pub parameter: &'a ParameterView,
    pub scale: Scale,
    /// The values that have bands.
    values: Vec<Value>,
}

impl<'a> Track<'a> {
    /// The tracks of all parameters.
    pub fn all(view: &'a StudyView) -> Vec<Track<'a>> {
        view.parameters.iter().map(Track::of).collect()
    }

    fn of(parameter: &'a ParameterView) -> Track<'a> {
        let domain = &parameter.domain;
        let is_long = domain.size().is_none_or(|size| size > MAX_BANDS);
        match domain.range().filter(|_| is_long) {
            Some((low, high)) => Track {
                parameter,
                scale: numbers(low, high, domain.is_log()),
                values: Vec::new(),
            },
            None => Track::banded(parameter, domain.values().collect()),
        }
    }

    fn banded(parameter: &'a ParameterView, values: Vec<Value>) -> Track<'a> {
        let labels = values.iter().map(|one| value(one, short)).collect();
        Track {
            parameter,
            scale: Scale::Bands(labels),
            values,
        }
    }

    pub fn name(&self) -> &'a str {
        &self.parameter.name
    }

    /// Whether it has a band for each value.
    pub fn has_bands(&self) -> bool {
        matches!(self.scale, Scale::Bands(_))
    }

    /// The place of a trial, within its band at random but always the same; none where the parameter is inactive.
    pub fn place(&self, trial: &TrialView) -> Option<f64> {
        if self.has_bands() {
            let within = SPREAD * jitter(trial);
            return Some(self.scale.place(self.band(trial)? as f64 + within));
        }
        let found = trial.params.get(self.name())?.as_f64()?;
        Some(self.scale.place_or_edge(found))
    }

    /// The number of the band of a trial.
    pub fn band(&self, trial: &TrialView) -> Option<usize> {
        let found = trial.params.get(self.name())?;
        self.values.iter().position(|value| value == found)
    }
}

fn numbers(low: f64, high: f64, is_log: bool) -> Scale {
    if is_log {
        Scale::log(low, high)
    } else {
        Scale::linear(low, high)
    }
}

/// A number in [-½, ½) for a trial, always the same: multiples of the golden ratio are spread evenly.
pub(super) fn jitter(trial: &TrialView) -> f64 {
    (trial.id as f64 * 0.618_033_988_75).fract() - 0.5
}
