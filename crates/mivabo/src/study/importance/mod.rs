//! Which parameters matter: their shares of the variance of what a model believes.

mod sobol;

use self::sobol::{Mixtures, Shares};
use super::{Error, Study};
use crate::acquire::random::RandomPoints;
use crate::encoding::Encoded;
use crate::math::random::{Purpose, Stream, stream};
use crate::space::Point;
use crate::strategy::Strategy;
use crate::strategy::thompson::{Linear, Thompson};

/// The most trials that the model learns from: those with a value, evenly spread over the tells.
const MAX_TRIALS: usize = 1000;

/// Random feasible points whose values are mixed.
const N_POINTS: usize = 256;

/// Which parameters matter. The formulas are in [`Study::importance`].
#[derive(Debug, Clone, PartialEq)]
pub struct Importance {
    /// Total effects, in the order of the space, auxiliary parameters left out.
    pub effects: Vec<Effect>,
    /// Interactions between the parameters of the greatest total effects, the greatest first.
    pub interactions: Vec<Interaction>,
    /// How many trials the model learned from.
    pub n_trials: usize,
}

/// How much one parameter matters.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// The name of the parameter.
    pub name: String,
    /// The share of the variance that it takes part in, alone and with others.
    pub total: f64,
}

/// How much two parameters matter beyond what each of them does alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Interaction {
    /// The names of the parameters.
    pub names: [String; 2],
    /// Their share of the variance.
    pub share: f64,
}

impl Study {
    /// Which parameters matter, by the model's posterior mean over the space.
    ///
    /// The total effect of a parameter is the share of the variance that it takes part in (Sobol's index, by the formula
    /// of Jansen 1999); an interaction is the share that two parameters take part in together. Parameters are
    /// taken to be independent, with the values that they have in random feasible points. The model is that of the study
    /// where its strategy is Thompson sampling with learned hyper-parameters, and otherwise, by default too, that of the
    /// strategy `thompson-learned`. It learns from the
    /// trials with a value, at most 1,000 of them, evenly spread. All shares are 0 where the mean is constant.
    ///
    /// # Errors
    /// [`Error::NothingTold`] when no trial has a value; [`Error::Features`] when the model cannot be made.
    pub fn importance(&self) -> Result<Importance, Error> {
        let valued = self.valued();
        if valued.is_empty() {
            return Err(Error::NothingTold);
        }
        let step = valued.len().div_ceil(MAX_TRIALS);
        let learned: Vec<(&Encoded, f64)> = valued.into_iter().step_by(step).collect();
        let (space, seed) = (self.space(), self.spec().seed);
        let mut model = Linear::new(space, self.learning()?, seed)?;
        let weights = model.after(&learned)?.surrogate_mut().mean();
        // Keyed by the tells: the answer changes only with what is known.
        let mut stream = stream(seed, self.ledger.told.len() as u64, Purpose::Importance);
        let mixtures = Mixtures::new(space, &self.feasible_points(&mut stream));
        let shares = mixtures.shares(|code| weights.value(&code.bits, &code.unit), &mut stream);
        Ok(self.named(&shares, learned.len()))
    }

    /// The told trials with a value, which is turned so that lower is better.
    fn valued(&self) -> Vec<(&Encoded, f64)> {
        let observed = self.ledger.seen().observed().into_iter();
        observed
            .filter_map(|observed| Some((observed.at.code(), observed.value?)))
            .collect()
    }

    /// The settings of a model that learns its hyper-parameters.
    fn learning(&self) -> Result<Thompson, Error> {
        match &self.spec().strategy {
            Strategy::Thompson(own) if own.learn => Ok(own.clone()),
            _ => match Strategy::named("thompson-learned")? {
                Strategy::Thompson(learned) => Ok(learned),
                _ => Ok(Thompson::default()),
            },
        }
    }

    /// Random feasible points, or those of the trials where none is found.
    fn feasible_points(&self, stream: &mut Stream) -> Vec<Point> {
        let drawn = RandomPoints::new(self.space()).draw_many(N_POINTS, stream);
        if drawn.is_empty() {
            let trials = self.trials().iter();
            return trials.map(|trial| trial.point().clone()).collect();
        }
        let drawn = drawn.iter().map(|feasible| feasible.point().clone());
        drawn.collect()
    }

    fn named(&self, shares: &Shares, n_trials: usize) -> Importance {
        let name = |p: usize| self.space().parameters()[p].name().to_owned();
        let effects = shares.totals.iter().map(|total| Effect {
            name: name(total.parameter),
            // The estimate of a share may exceed 1, the share itself cannot.
            total: total.share.min(1.0),
        });
        let interactions = shares.pairs.iter().map(|pair| Interaction {
            names: pair.parameters.map(name),
            share: pair.share,
        });
        Importance {
            effects: effects.collect(),
            interactions: interactions.collect(),
            n_trials,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Sense;
    use crate::space::{Domain, Space};
    use crate::study::Spec;

    /// Five parameters: the last one never matters here, and momentum only where the switch is on.
    fn space() -> Space {
        let mut space = Space::builder();
        let _ = space.add("a", Domain::int(0, 3));
        let _ = space.add("b", Domain::float(0.0, 1.0));
        let _ = space.add("switch", Domain::bool());
        let momentum = space.add("momentum", Domain::float(0.0, 1.0));
        space.only_when(momentum, "switch");
        let _ = space.add("idle", Domain::choice(["x", "y", "z"]));
        space.build().unwrap()
    }

    fn number(space: &Space, point: &Point, name: &str) -> f64 {
        space
            .value(point, name)
            .and_then(|value| value.as_f64())
            .unwrap_or(0.0)
    }

    fn told(strategy: &str, n: usize, f: impl Fn(&dyn Fn(&str) -> f64) -> f64) -> Importance {
        let strategy = Strategy::named(strategy).unwrap();
        let aims = Sense::Maximize.into();
        let mut study = Study::new(
            space(),
            Spec {
                aims,
                strategy,
                ..Spec::default()
            },
        )
        .unwrap();
        for _ in 0..n {
            let suggestion = study.ask().unwrap();
            let value = f(&|name| number(study.space(), suggestion.point(), name));
            study.tell(suggestion.id(), value).unwrap();
        }
        study.importance().unwrap()
    }

    fn total(importance: &Importance, name: &str) -> f64 {
        importance
            .effects
            .iter()
            .find(|effect| effect.name == name)
            .unwrap()
            .total
    }

    fn share(importance: &Importance, names: [&str; 2]) -> f64 {
        importance
            .interactions
            .iter()
            .find(|i| i.names == names)
            .unwrap()
            .share
    }

    #[test]
    fn an_additive_function_has_the_shares_of_its_terms() {
        let importance = told("random", 60, |x| x("a") + 3.0 * x("b"));

        // Variances 15/12 of a and 9/12 of b.
        assert!(
            (total(&importance, "a") - 0.625).abs() < 0.1,
            "{importance:?}"
        );
        assert!(
            (total(&importance, "b") - 0.375).abs() < 0.1,
            "{importance:?}"
        );
        assert!(total(&importance, "idle") < 0.02, "{importance:?}");
        assert!(
            importance.interactions.iter().all(|i| i.share < 0.03),
            "{importance:?}"
        );
    }

    #[test]
    fn a_product_is_an_interaction_of_its_factors() {
        let importance = told("random", 80, |x| (x("a") - 1.5) * (2.0 * x("b") - 1.0));

        assert_eq!(importance.interactions[0].names, ["a", "b"]);
        assert!(importance.interactions[0].share > 0.85, "{importance:?}");
        assert!(
            total(&importance, "a") > 0.85 && total(&importance, "b") > 0.85,
            "{importance:?}"
        );
        assert!(share(&importance, ["a", "idle"]) < 0.05, "{importance:?}");
    }

    #[test]
    fn an_inactive_parameter_interacts_with_what_switches_it_on() {
        let importance = told("random", 80, |x| 4.0 * x("momentum"));

        assert!(
            share(&importance, ["switch", "momentum"]) > 0.1,
            "{importance:?}"
        );
        assert!(total(&importance, "momentum") > 0.2, "{importance:?}");
        assert!(total(&importance, "a") < 0.05, "{importance:?}");
    }

    #[test]
    fn equal_trials_have_equal_importance_whatever_the_strategy() {
        let mut studies = ["random", "thompson", "thompson-learned"].map(|name| {
            let strategy = Strategy::named(name).unwrap();
            Study::new(
                space(),
                Spec {
                    strategy,
                    ..Spec::default()
                },
            )
            .unwrap()
        });
        let points = studies[0].feasible_points(&mut stream(1, 1, Purpose::Design));
        let found = studies.each_mut().map(|study| {
            for (k, point) in points.iter().take(12).enumerate() {
                study.add(point, k as f64).unwrap();
            }
            study.importance().unwrap()
        });

        assert_eq!(found[0], found[1]);
        assert_eq!(found[0], found[2]);
    }

    #[test]
    fn without_differences_nothing_matters() {
        let constant = told("random", 5, |_| 7.0);
        let huge = told("random", 5, |x| 1e300 * x("a"));
        let one = told("random", 1, |_| -3.0);

        assert!(
            constant
                .effects
                .iter()
                .chain(&one.effects)
                .all(|effect| effect.total == 0.0)
        );
        assert!(
            huge.effects
                .iter()
                .all(|effect| (0.0..2.0).contains(&effect.total))
        );
        let nothing = Study::new(space(), Spec::default()).unwrap().importance();
        assert_eq!(nothing, Err(Error::NothingTold));
    }
}
