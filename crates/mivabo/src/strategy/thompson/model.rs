//! What Thompson sampling believes after some trials: weights of the paper's features.
//!
//! The belief is a fold over (point, value) pairs. It is kept between asks and only continued, unless a failed trial
//! changes its value: failed trials count as the worst value told so far, and that may rise.
//!
//! Hyper-parameters are learned from the first n′ outcomes: of all n for Thompson sampling; for a model that only proposes candidates n′
//! grows by a quarter at a time. Either way they depend on what was told, not on the asks. So does which products the model has, where
//! that is chosen by evidence: it is chosen anew at 8, 10, 13, … outcomes.

use std::sync::Arc;

use super::Thompson;
use crate::encoding::Encoded;
use crate::features::Products;
use crate::math::random::{Purpose, stream};
use crate::space::Space;
use crate::strategy::Error;
use crate::surrogate::{Belief, Fit, Growth, Surrogate, owners};

/// The belief after some tells, as a fold that can be continued.
#[derive(Debug, Clone)]
pub(crate) struct Linear {
    settings: Thompson,
    seed: u64,
    prior: Surrogate,
    belief: Belief,
    /// n′, and the belief with hyper-parameters that were learned from as many outcomes; none after outcomes have changed.
    learned: Option<(usize, Belief)>,
    /// Whether n′ is less than n.
    is_sparing: bool,
    /// How the products change.
    growth: Growth,
    /// The parameter of each bit.
    owners: Vec<usize>,
    /// The number of outcomes at the last change of the products.
    n_grown: usize,
}

/// Products are chosen from so many outcomes on: fewer say too little.
const FIRST_GROWTH: usize = 8;

/// How often a choice of products goes on where the one before has ended: it takes a limited number of steps.
const MAX_GROWTHS: usize = 4;

impl Linear {
    pub(crate) fn new(space: &Space, settings: Thompson, seed: u64) -> Result<Linear, Error> {
        let prior = settings.surrogate(space, seed)?;
        let belief = Belief::new(prior.clone(), settings.outputs);
        let growth = settings.products.growth();
        Ok(Linear {
            settings,
            seed,
            prior,
            belief,
            learned: None,
            is_sparing: false,
            growth,
            owners: owners(space.encoding()),
            n_grown: 0,
        })
    }

    /// The same, learning its hyper-parameters anew only now and then. Its products stay as they are.
    pub(crate) fn sparing(self) -> Linear {
        Linear {
            is_sparing: true,
            growth: Growth::Fixed,
            ..self
        }
    }

    pub(crate) fn settings(&self) -> &Thompson {
        &self.settings
    }

    /// M
    pub(crate) fn n_weights(&self) -> usize {
        self.prior.features().n_weights()
    }

    /// The belief after these observations, which are to be minimised.
    pub(crate) fn after(&mut self, observations: &[(&Encoded, f64)]) -> Result<&mut Belief, Error> {
        if !self.is_continued_by(observations) {
            self.belief = self.ignorant();
            self.learned = None;
            self.n_grown = 0;
        }
        self.observe(observations)?;
        if self.settings.learn {
            self.learned_after(observations)
        } else {
            Ok(&mut self.belief)
        }
    }

    /// Whether what is known are the first of these observations. Of a failed trial the value may have changed.
    fn is_continued_by(&self, observations: &[(&Encoded, f64)]) -> bool {
        let known = self.belief.raw();
        let mut pairs = known.iter().zip(observations);
        known.len() <= observations.len()
            && pairs.all(|(known, (_, y))| known.to_bits() == y.to_bits())
    }

    /// The belief with hyper-parameters that were learned from the first n′ observations.
    fn learned_after(&mut self, observations: &[(&Encoded, f64)]) -> Result<&mut Belief, Error> {
        let n_fitted = if self.is_sparing {
            last_fit(observations.len())
        } else {
            observations.len()
        };
        let learned = self.learned.take().filter(|(n, _)| *n == n_fitted);
        let mut learned = learned.map_or_else(
            || self.fitted(&observations[..n_fitted]),
            |(_, belief)| Ok(belief),
        )?;
        for (code, y) in &observations[learned.raw().len()..] {
            learned.observe(&code.bits, &code.unit, *y)?;
        }
        Ok(&mut self.learned.insert((n_fitted, learned)).1)
    }

    /// Takes in the observations that are new, one at a time.
    fn observe(&mut self, observations: &[(&Encoded, f64)]) -> Result<(), Error> {
        loop {
            // Before the next observation, and not after the last one: a call that was interrupted in between is made up for.
            self.grow_if_due()?;
            let Some((code, y)) = observations.get(self.belief.raw().len()) else {
                return Ok(());
            };
            self.belief.observe(&code.bits, &code.unit, *y)?;
        }
    }

    fn grow_if_due(&mut self) -> Result<(), Error> {
        let n = self.belief.raw().len();
        let is_due = n >= FIRST_GROWTH && last_fit(n) == n && n != self.n_grown;
        if self.growth == Growth::Fixed || !is_due {
            return Ok(());
        }
        let products = self.chosen_products()?;
        if let Surrogate::Gaussian(gaussian) = self.belief.surrogate_mut() {
            let features = gaussian
                .features()
                .with_products(&Products::Listed(products));
            *gaussian = gaussian.refitted(Arc::new(features), gaussian.prior())?;
        }
        self.learned = None;
        self.n_grown = n;
        Ok(())
    }

    /// The products that the evidence of all observations is for.
    fn chosen_products(&self) -> Result<Vec<(usize, usize)>, Error> {
        let mut found = self.belief.clone();
        // From the beginning: what was dropped or added on the little evidence of before must not stay so for good.
        if let Surrogate::Gaussian(gaussian) = found.surrogate_mut() {
            *gaussian = gaussian.refitted(self.prior.features().clone(), gaussian.prior())?;
        }
        if self.settings.learn {
            let n = self.belief.raw().len() as u64;
            let mut stream = stream(self.seed, n, Purpose::Hyperparameters);
            found.surrogate_mut().fit(Fit::default(), &mut stream)?;
        }
        for _ in 0..MAX_GROWTHS {
            let before = found.surrogate().features().mixed().len();
            found.surrogate_mut().grow(self.growth, &self.owners)?;
            if found.surrogate().features().mixed().len() == before {
                break;
            }
        }
        Ok(found.surrogate().features().mixed().pairs().collect())
    }

    fn ignorant(&self) -> Belief {
        Belief::new(self.prior.clone(), self.settings.outputs)
    }

    /// The belief with hyper-parameters learned from these observations, beginning with those of the prior.
    fn fitted(&self, observations: &[(&Encoded, f64)]) -> Result<Belief, Error> {
        let is_all = observations.len() == self.belief.raw().len();
        let mut belief = if is_all {
            self.belief.clone()
        } else {
            self.ignorant()
        };
        for (code, y) in &observations[belief.raw().len()..] {
            belief.observe(&code.bits, &code.unit, *y)?;
        }
        let mut stream = stream(
            self.seed,
            observations.len() as u64,
            Purpose::Hyperparameters,
        );
        belief.surrogate_mut().fit(Fit::default(), &mut stream)?;
        Ok(belief)
    }
}

/// The number of outcomes at the last fit, of `n` in all: 1, 2, … 8, 10, 13, 17, 22, 28, 35, …
fn last_fit(n: usize) -> usize {
    let mut last = n.min(8);
    while last >= 8 && last + last.div_ceil(4) <= n {
        last += last.div_ceil(4);
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::thompson::ProductRule;

    /// Six bits and two reals; the value depends on one product.
    fn told(space: &Space, n: usize) -> Vec<(Encoded, f64)> {
        let mut stream = stream(5, 0, Purpose::Design);
        let at = |_| {
            let bits: Vec<bool> = (0..space.encoding().n_bits())
                .map(|_| stream.unit() < 0.5)
                .collect();
            let unit = vec![stream.unit(), stream.unit()];
            let wave = (6.0 * unit[1]).sin();
            let y = 2.0 * f64::from(u8::from(bits[0])) * wave + 0.01 * stream.normal();
            (Encoded { bits, unit }, y)
        };
        (0..n).map(at).collect()
    }

    fn space() -> Space {
        let mut space = Space::builder();
        for name in ["a", "b", "c", "d", "e", "f"] {
            let _ = space.bool(name);
        }
        let _ = (space.float("x", 0.0..=1.0), space.float("y", 0.0..=1.0));
        space.build().unwrap()
    }

    fn settings(products: ProductRule, learn: bool) -> Thompson {
        Thompson {
            order: 1,
            additive: true,
            sigma: 0.3,
            beta: 100.0,
            learn,
            products,
            ..Thompson::default()
        }
    }

    /// The products after the first `n` outcomes, asked for at these numbers of outcomes.
    fn products(settings: Thompson, asks: &[usize]) -> Vec<(usize, usize)> {
        let space = space();
        let told = told(&space, 60);
        let seen: Vec<(&Encoded, f64)> = told.iter().map(|(code, y)| (code, *y)).collect();
        let mut model = Linear::new(&space, settings, 1).unwrap();
        for n in asks {
            model.after(&seen[..*n]).unwrap();
        }
        let features = model.belief.surrogate().features().clone();
        features.mixed().pairs().collect()
    }

    #[test]
    fn grown_and_pruned_products_are_those_that_matter() {
        for learn in [false, true] {
            let all = products(settings(ProductRule::All, learn), &[60]);
            let grown = products(settings(ProductRule::Grow, learn), &[60]);
            let pruned = products(settings(ProductRule::Prune, learn), &[60]);

            assert_eq!(all.len(), 6 * 16);
            // Monomial 1 is the first bit; its waves over the second real come last.
            for found in [&grown, &pruned] {
                assert!((8..16).all(|j| found.contains(&(1, j))), "{found:?}");
            }
            assert!(
                grown.len() < all.len() / 2 && pruned.len() < all.len(),
                "{} {}",
                grown.len(),
                pruned.len()
            );
        }
    }

    #[test]
    fn products_depend_on_what_was_told_and_not_on_the_asks() {
        for rule in [ProductRule::Grow, ProductRule::Prune] {
            let all: Vec<usize> = (0..=60).collect();
            let at_once = products(settings(rule.clone(), true), &[60]);

            assert_eq!(products(settings(rule.clone(), true), &all), at_once);
            assert_eq!(
                products(settings(rule.clone(), true), &[7, 9, 30, 4, 60]),
                at_once
            );
        }
    }

    #[test]
    fn products_wait_for_eight_outcomes() {
        assert!(products(settings(ProductRule::Grow, true), &[7]).is_empty());
    }
}
