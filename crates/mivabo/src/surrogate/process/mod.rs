//! A Gaussian process over the parameters of a space, not over its bits.
//!
//! ```text
//! f ~ GP(0, k),   y = f(x) + ε,   ε ~ N(0, noise)
//! mean = kᵀb,   variance = k(x, x) - |L⁻¹k|²,   K + noise I = LLᵀ,   b = (K + noise I)⁻¹y
//! ∂mean/∂u = bᵀ ∂k/∂u,   ∂variance/∂u = -2 (L⁻ᵀL⁻¹k)ᵀ ∂k/∂u
//! ```
//!
//! The contract is that of [`surrogate`](super): outputs in the model's units (`Outputs` makes them), no
//! answer is NaN, equal observations in equal order give equal answers. An observation costs O(nD + n²), hyper-parameters
//! stay what they are until [`fit`](Process::fit) is called.

mod fit;
mod kernel;
mod layout;
mod sites;
#[cfg(test)]
mod tests;

pub use self::fit::FitLimits;
pub use self::kernel::Kernel;
use self::kernel::Terms;
pub use self::layout::{Layout, Traits};
use self::sites::Sites;
use super::Prediction;
use super::checks::{check_length, check_output, check_outputs};
use super::conditioned::Conditioned;
use super::evidence::spread_out;
use super::log_prior::means;
use crate::interrupt;
use crate::math::cholesky::ZeroFilled;
use crate::math::lbfgs::projected;
use crate::math::vector::dot_in_lanes;
use crate::surrogate::Error;

/// Candidates that are predicted at a time: their rows stay in the cache.
const BATCH: usize = 64;

/// Above this variance of the noise the lowest output may owe its place to luck.
const QUIET: f64 = 1e-3;

/// A Gaussian process after n observations.
#[derive(Debug, Clone)]
pub struct Process {
    layout: Layout,
    kernel: Kernel,
    theta: Vec<f64>,
    terms: Terms,
    sites: Sites,
    y: Vec<f64>,
    /// L and b
    conditioned: Conditioned,
}

/// A prediction, and its derivatives by the continuous coordinates, in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Sloped {
    /// The prediction.
    pub prediction: Prediction,
    /// ∂mean/∂u
    pub mean: Vec<f64>,
    /// ∂variance/∂u
    pub variance: Vec<f64>,
}

impl Process {
    /// A process without observations, with its hyper-parameters at the means of their priors.
    pub fn new(layout: Layout, kernel: Kernel) -> Process {
        let theta = means(&kernel.prior(&layout));
        Process {
            terms: kernel.terms(&layout, &theta),
            sites: Sites::new(&layout, 1.0),
            layout,
            kernel,
            theta,
            y: Vec::new(),
            conditioned: Conditioned::default(),
        }
    }

    /// Takes in one observation.
    ///
    /// # Errors
    /// [`Error::BadCode`] for traits of another layout, [`Error::BadOutput`] for an output that is not finite or beyond
    /// ±1e100; the process is then unchanged.
    pub fn observe(&mut self, traits: &Traits, y: f64) -> Result<(), Error> {
        self.check(traits, y)?;
        // Before the point joins the others: the row of the factor is that of the points before it.
        let row = self.sites.row(&self.terms, traits, self.n_observations());
        let diagonal = self.terms.variance() + self.terms.noise;
        self.conditioned.append(row.kernel, diagonal);
        self.sites.push(traits);
        self.y.push(y);
        self.conditioned.learn(&self.y);
        Ok(())
    }

    /// Takes in many observations at once: the same process in a fraction of the time.
    ///
    /// # Errors
    /// As [`observe`](Self::observe); the process is then unchanged.
    pub fn observe_all(&mut self, observations: &[(Traits, f64)]) -> Result<(), Error> {
        // All of them first: what is refused must leave the process as it was.
        for (traits, y) in observations {
            self.check(traits, *y)?;
        }
        for (traits, y) in observations {
            self.sites.push(traits);
            self.y.push(*y);
        }
        self.refactor();
        Ok(())
    }

    fn check(&self, traits: &Traits, y: f64) -> Result<(), Error> {
        self.layout.check_length("traits", traits.0.len())?;
        check_output(y)
    }

    /// Replaces all outputs, in the order of observation.
    ///
    /// # Errors
    /// [`Error::BadCode`] for a wrong number of them, [`Error::BadOutput`] as [`observe`](Self::observe).
    pub fn set_outputs(&mut self, y: &[f64]) -> Result<(), Error> {
        check_outputs(y, self.n_observations())?;
        self.y = y.to_vec();
        self.conditioned.learn(&self.y);
        Ok(())
    }

    /// Moves the hyper-parameters to the greatest posterior density found from where they are and from the means of their
    /// priors.
    pub fn fit(&mut self, limits: FitLimits) {
        let middle = means(&self.kernel.prior(&self.layout));
        let mut starts = vec![self.theta.clone(), middle];
        // A process that was never fitted still is at the means of its priors.
        starts.dedup();
        let chosen = self.chosen(limits);
        let density = self.density(&chosen);
        if let Some(theta) = fit::best(&density, &starts, limits) {
            self.become_theta(theta);
        }
    }

    /// θ: the logarithms of the hyper-parameters, in the order that the [`Kernel`] gives.
    pub fn hyperparameters(&self) -> &[f64] {
        &self.theta
    }

    /// Sets θ, moved into its bounds: three standard deviations about the mean of its prior.
    ///
    /// # Errors
    /// [`Error::BadCode`] for a wrong number of them.
    pub fn set_hyperparameters(&mut self, theta: &[f64]) -> Result<(), Error> {
        let bounds = self.kernel.bounds(&self.layout);
        check_length("hyper-parameters", theta.len(), bounds.len())?;
        self.become_theta(projected(theta, &bounds));
        Ok(())
    }

    /// Mean and variance of f, without noise.
    pub fn predict(&self, traits: &Traits) -> Prediction {
        let row = self.sites.row(&self.terms, traits, self.n_observations());
        self.conditioned.predict(row.kernel, self.terms.variance())
    }

    /// The same for many points, up to rounding, in less time for each.
    ///
    /// # Panics
    /// When the traits are of another layout.
    pub fn predict_all(&self, points: &[Traits]) -> Vec<Prediction> {
        // With its zeros it solves for all points of a batch at once.
        let factor = self.conditioned.factor().zero_filled();
        let mut predictions = Vec::with_capacity(points.len());
        for batch in points.chunks(BATCH) {
            interrupt::check();
            predictions.extend(self.predict_batch(&factor, batch));
        }
        predictions
    }

    fn predict_batch(&self, factor: &ZeroFilled, points: &[Traits]) -> Vec<Prediction> {
        let n = self.n_observations();
        let weights = self.conditioned.alpha();
        let mut rows = self.sites.rows(&self.terms, points);
        let means: Vec<f64> = (0..points.len())
            .map(|i| dot_in_lanes(&rows[i * n..][..n], weights))
            .collect();
        factor.forward(&mut rows);
        let forward = |i: usize| &rows[i * n..][..n];
        let means = means.iter().enumerate();
        means
            .map(|(i, mean)| self.prediction(*mean, forward(i)))
            .collect()
    }

    /// The prediction with its derivatives by all continuous coordinates; hold those of inactive parameters.
    ///
    /// # Panics
    /// When the traits are of another layout.
    pub fn predict_with_gradient(&self, traits: &Traits) -> Sloped {
        let row = self.sites.row(&self.terms, traits, self.n_observations());
        let weights = self.conditioned.alpha();
        let mean = dot_in_lanes(&row.kernel, weights);
        // The two solves one after the other: the variance needs the first alone, its slopes need both.
        let mut k = row.kernel.clone();
        self.conditioned.factor().forward(&mut k);
        let prediction = self.prediction(mean, &k);
        self.conditioned.factor().backward(&mut k);
        let slopes = self
            .layout
            .reals()
            .map(|t| self.sites.slopes(&self.terms, &row, t, traits.0[t]));
        let (mean, variance) = slopes
            .map(|s| (dot_in_lanes(&s, weights), -2.0 * dot_in_lanes(&s, &k)))
            .unzip();
        Sloped {
            prediction,
            mean,
            variance,
        }
    }

    /// The value to improve on: the lowest output where they are nearly exact, else the lowest mean at the observations.
    /// None without observations.
    pub fn target(&self) -> Option<f64> {
        let noise = self.audible_noise();
        // The means at the observations without another product: K b = y - noise b.
        self.y
            .iter()
            .zip(self.conditioned.alpha())
            .map(|(y, b)| y - noise * b)
            .min_by(f64::total_cmp)
    }

    /// The variance of the noise; 0 where outputs are nearly exact.
    fn audible_noise(&self) -> f64 {
        if self.terms.noise > QUIET {
            self.terms.noise
        } else {
            0.0
        }
    }

    /// log p(y | θ)
    pub fn log_evidence(&self) -> f64 {
        self.conditioned.log_evidence(&self.y)
    }

    /// log p(y, θ) up to the constant of the prior: by how much one kernel explains the observations better than another.
    pub fn log_posterior(&self) -> f64 {
        self.log_evidence() - self.surprise()
    }

    /// -log p(θ) up to a constant.
    fn surprise(&self) -> f64 {
        let prior = self.kernel.prior(&self.layout).into_iter().zip(&self.theta);
        prior.map(|(prior, log)| prior.surprise(*log)).sum()
    }

    /// The same process with the length-scales of numbers divided by `sharpness`, until hyper-parameters are set again: it
    /// believes less of what lies between observations.
    ///
    /// # Panics
    /// When `sharpness` is not between 10⁻³ and 10³; with 10⁶ means were no numbers.
    #[must_use]
    pub fn sharpened(&self, sharpness: f64) -> Process {
        assert!(
            (1e-3..=1e3).contains(&sharpness),
            "a sharpness from 0.001 to 1000 is needed, not {sharpness}"
        );
        let mut sharp = self.clone();
        for (relevance, is_label) in sharp.terms.relevance.iter_mut().zip(self.layout.is_label()) {
            *relevance *= if is_label { 1.0 } else { sharpness * sharpness };
        }
        // The powers that sites keep are those of one length-scale, so they are made again.
        sharp.sites = self.resited(0..self.n_observations(), sharpness);
        sharp.refactor();
        sharp
    }

    /// Which kernel it has.
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// The layout of its traits.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// n, the number of observations.
    pub fn n_observations(&self) -> usize {
        self.y.len()
    }

    /// `forward` is L⁻¹k.
    fn prediction(&self, mean: f64, forward: &[f64]) -> Prediction {
        let explained = dot_in_lanes(forward, forward);
        Prediction::new(mean, self.terms.variance() - explained)
    }

    fn become_theta(&mut self, theta: Vec<f64>) {
        self.terms = self.kernel.terms(&self.layout, &theta);
        self.theta = theta;
        self.refactor();
    }

    fn refactor(&mut self) {
        self.conditioned = Conditioned::new(&self.covariance(), &self.y);
    }

    /// K + noise I, of which the lower half is enough for the factor.
    fn covariance(&self) -> Vec<f64> {
        let n = self.n_observations();
        let diagonal = self.terms.variance() + self.terms.noise;
        let mut covariance = vec![0.0; n * n];
        for (i, row) in covariance.chunks_exact_mut(n.max(1)).enumerate() {
            let traits = self.sites.traits(i);
            row[..i].copy_from_slice(&self.sites.row(&self.terms, &traits, i).kernel);
            row[i] = diagonal;
        }
        covariance
    }

    /// The observations that a fit looks at.
    fn chosen(&self, limits: FitLimits) -> Vec<usize> {
        let n = self.n_observations();
        spread_out(n, fit::n_points(n, self.layout.len(), limits))
    }

    /// Some of the observations, with the length-scales of main effects divided by `sharpness`.
    fn resited(&self, chosen: impl Iterator<Item = usize>, sharpness: f64) -> Sites {
        let mut sites = Sites::new(&self.layout, sharpness);
        chosen.for_each(|i| sites.push(&self.sites.traits(i)));
        sites
    }

    fn density(&self, chosen: &[usize]) -> fit::Density<'_> {
        // Hyper-parameters belong to the usual length-scale, also where this process is a sharpened one.
        let sites = self.resited(chosen.iter().copied(), 1.0);
        let y = chosen.iter().map(|i| self.y[*i]).collect();
        fit::Density::new(self.kernel, &self.layout, &sites, y)
    }
}
