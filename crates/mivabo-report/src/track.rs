//! The axis of one parameter: trials enter, places in [0, 1] leave, and none where the parameter is inactive.

use mivabo::space::{Parameter, Space, Value};

use crate::Row;
use crate::scale::Scale;
use crate::text::{short, value};

/// Integers with at most this many values have a band for each.
const MAX_BANDS: u64 = 12;

/// The share of a band over which its marks are spread.
const SPREAD: f64 = 0.6;

/// A parameter, and the scale of its values.
#[derive(Debug)]
pub(crate) struct Track<'a> {
    space: &'a Space,
    pub parameter: &'a Parameter,
    pub scale: Scale,
    /// The values that have bands.
    values: Vec<Value>,
}

impl<'a> Track<'a> {
    /// The tracks of all parameters but auxiliary ones.
    pub fn all(space: &'a Space) -> Vec<Track<'a>> {
        let visible = space
            .parameters()
            .iter()
            .filter(|parameter| !parameter.is_auxiliary());
        visible
            .map(|parameter| Track::new(space, parameter))
            .collect()
    }

    fn new(space: &'a Space, parameter: &'a Parameter) -> Track<'a> {
        let domain = parameter.domain();
        if let Some((low, high)) = domain.range()
            && domain.size().is_none_or(|size| size > MAX_BANDS)
        {
            let scale = if domain.is_log() {
                Scale::log(low, high)
            } else {
                Scale::linear(low, high)
            };
            return Track {
                space,
                parameter,
                scale,
                values: Vec::new(),
            };
        }
        let values: Vec<Value> = domain.values().collect();
        let scale = Scale::Bands(values.iter().map(|v| value(v, short)).collect());
        Track {
            space,
            parameter,
            scale,
            values,
        }
    }

    pub fn name(&self) -> &str {
        self.parameter.name()
    }

    /// Whether it has a band for each value.
    pub fn has_bands(&self) -> bool {
        matches!(self.scale, Scale::Bands(_))
    }

    /// The place of a trial, within its band at random but always the same; none where the parameter is inactive.
    pub fn place(&self, row: &Row) -> Option<f64> {
        let found = self.space.value(row.trial.point(), self.name())?;
        if !self.has_bands() {
            return found.as_f64().map(|x| self.scale.place(x).clamp(0.0, 1.0));
        }
        Some(
            self.scale
                .place(self.band(row)? as f64 + SPREAD * jitter(row)),
        )
    }

    /// The number of the band of a trial.
    pub fn band(&self, row: &Row) -> Option<usize> {
        let found = self.space.value(row.trial.point(), self.name())?;
        self.values.iter().position(|value| *value == found)
    }
}

/// A number in [-½, ½) for a trial, always the same: multiples of the golden ratio are spread evenly.
pub(crate) fn jitter(row: &Row) -> f64 {
    (row.trial.id as f64 * 0.618_033_988_75).fract() - 0.5
}
