//! Weak priors of hyper-parameters, which keep a few observations from saying something absurd.

/// The logarithm of a hyper-parameter ~ N(mean, deviation²).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LogPrior {
    pub mean: f64,
    pub deviation: f64,
}

impl LogPrior {
    /// About the logarithm of `middle`.
    pub(super) fn about(middle: f64, deviation: f64) -> LogPrior {
        LogPrior {
            mean: middle.ln(),
            deviation,
        }
    }

    /// -log p up to a constant: ½((log - mean) / deviation)²
    pub(super) fn surprise(self, log: f64) -> f64 {
        let off = self.off(log);
        0.5 * off * off
    }

    /// The slope of the surprise.
    pub(super) fn slope(self, log: f64) -> f64 {
        self.off(log) / self.deviation
    }

    /// As many deviations to both sides of the mean.
    pub(super) fn within(self, n_deviations: f64) -> (f64, f64) {
        let reach = n_deviations * self.deviation;
        (self.mean - reach, self.mean + reach)
    }

    fn off(self, log: f64) -> f64 {
        (log - self.mean) / self.deviation
    }
}

/// The means of several.
pub(super) fn means(priors: &[LogPrior]) -> Vec<f64> {
    priors.iter().map(|prior| prior.mean).collect()
}
