//! A surrogate in the units of the user: raw outputs are transformed as they arrive.
//!
//! The transform is fitted again whenever the number of outputs has grown by a twentieth (at every observation up to
//! 20), so its cost is a constant for each observation; in between, new outputs go through the last one.

use super::Surrogate;
use super::checks::check_finite;
use super::outputs::{Outputs, Transform};
use crate::surrogate::Error;

/// A surrogate, and the transform between raw outputs and the model's.
///
/// Predictions and samples come from [`surrogate_mut`](Self::surrogate_mut), in the model's units, where acquisition
/// takes place; [`outputs`](Self::outputs) translates.
#[derive(Debug, Clone)]
pub struct Belief {
    surrogate: Surrogate,
    transform: Transform,
    outputs: Outputs,
    raw: Vec<f64>,
    /// How many outputs the transform was fitted to.
    n_fitted: usize,
}

impl Belief {
    /// A belief without observations, from a surrogate that has none.
    pub fn new(surrogate: Surrogate, transform: Transform) -> Belief {
        Belief {
            surrogate,
            transform,
            outputs: Outputs::default(),
            raw: Vec::new(),
            n_fitted: 0,
        }
    }

    /// Takes in one observation.
    ///
    /// # Errors
    /// [`Error::BadOutput`] when `y` is not finite, [`Error::BadCode`] for wrong bits or coordinates; the belief is then
    /// unchanged.
    pub fn observe(&mut self, bits: &[bool], unit: &[f64], y: f64) -> Result<(), Error> {
        check_finite(y)?;
        // The surrogate first: what it refuses is not kept.
        self.surrogate
            .observe(bits, unit, self.outputs.to_model(y))?;
        self.raw.push(y);
        if self.is_outgrown() {
            self.refit_outputs()?;
        }
        Ok(())
    }

    /// Whether outputs are so many more than the transform was fitted to that it has to be fitted again.
    fn is_outgrown(&self) -> bool {
        self.raw.len() > self.n_fitted + self.n_fitted / 20
    }

    /// Fits the transform to all outputs.
    fn refit_outputs(&mut self) -> Result<(), Error> {
        self.outputs = Outputs::fit(&self.raw, self.transform)?;
        self.n_fitted = self.raw.len();
        // With the transform all outputs change, not the last one alone.
        self.surrogate.set_outputs(&self.transformed())
    }

    fn transformed(&self) -> Vec<f64> {
        let raw = self.raw.iter();
        raw.map(|y| self.outputs.to_model(*y)).collect()
    }

    /// The transform as it is now.
    pub fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    /// The raw outputs, in the order of observation.
    pub fn raw(&self) -> &[f64] {
        &self.raw
    }

    /// The surrogate, in the model's units.
    pub fn surrogate(&self) -> &Surrogate {
        &self.surrogate
    }

    /// The surrogate, to predict, sample, fit or grow.
    pub fn surrogate_mut(&mut self) -> &mut Surrogate {
        &mut self.surrogate
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::features::{FeatureSettings, Features};
    use crate::math::random::{Purpose, stream};
    use crate::surrogate::{Fit, Gaussian, Growth, Prior, Scaling};

    fn belief(transform: Transform) -> Belief {
        let features =
            Arc::new(Features::new(vec![0, 1], 1, &FeatureSettings::default(), 0).unwrap());
        let gaussian = Gaussian::new(
            features,
            Prior {
                noise: 0.01,
                ..Prior::default()
            },
        )
        .unwrap();
        Belief::new(Surrogate::Gaussian(gaussian), transform)
    }

    fn assert_sane(belief: &mut Belief) {
        let mut stream = stream(0, 0, Purpose::Weights);
        let prediction = belief.surrogate_mut().predict(&[true, false], &[0.5]);
        assert!(
            prediction.mean.is_finite() && prediction.variance.is_finite(),
            "{prediction:?}"
        );
        assert!(belief.surrogate_mut().evidence().unwrap().is_finite());
        assert!(
            belief
                .surrogate_mut()
                .sample(Scaling::None, &mut stream)
                .matrix()
                .iter()
                .all(|w| w.is_finite())
        );
        assert!(belief.outputs().from_model(prediction.mean).is_finite());
        belief
            .surrogate_mut()
            .fit(Fit::default(), &mut stream)
            .unwrap();
        belief
            .surrogate_mut()
            .grow(Growth::Discard, &[0, 1])
            .unwrap();
        assert!(belief.surrogate_mut().evidence().unwrap().is_finite());
    }

    #[test]
    fn outputs_of_every_size_give_numbers() {
        let series: [&[f64]; 7] = [
            &[],
            &[1.0],
            &[1e300, -1e300, 3e299, 1e300],
            &[1e-300, 2e-300, -5e-324, 0.0],
            &[4.0, 4.0, 4.0, 4.0],
            &[1.0, 2.0, 1e300],
            &[f64::MAX, -f64::MAX, f64::MAX, 0.0],
        ];
        for transform in [Transform::Standard, Transform::Robust] {
            for outputs in series {
                let mut belief = belief(transform);
                for (k, y) in outputs.iter().enumerate() {
                    belief
                        .observe(&[k % 2 == 0, true], &[0.2 * k as f64], *y)
                        .unwrap();
                }
                assert_sane(&mut belief);
            }
        }
    }

    #[test]
    fn refused_outputs_change_nothing() {
        let mut belief = belief(Transform::Standard);
        belief.observe(&[true, true], &[0.1], 3.0).unwrap();

        assert!(belief.observe(&[true, true], &[0.1], f64::NAN).is_err());
        assert!(belief.observe(&[true], &[0.1], 1.0).is_err());

        assert_eq!(
            (belief.raw(), belief.surrogate().n_observations()),
            (&[3.0][..], 1)
        );
    }

    #[test]
    fn predictions_do_not_depend_on_the_units_of_the_outputs() {
        let [small, large] = [1e-200, 1e200].map(|scale| {
            let mut belief = belief(Transform::Standard);
            for k in 0..60_u32 {
                let x = f64::from(k % 13) / 13.0;
                belief
                    .observe(
                        &[k % 2 == 0, k % 3 == 0],
                        &[x],
                        scale * (x + f64::from(k % 2)),
                    )
                    .unwrap();
            }
            let prediction = belief.surrogate_mut().predict(&[true, true], &[0.4]);
            belief.outputs().from_model(prediction.mean) / scale
        });

        assert!((small - large).abs() < 1e-6, "{small} {large}");
        assert!((small - 0.4).abs() < 0.1, "{small}");
    }
}
