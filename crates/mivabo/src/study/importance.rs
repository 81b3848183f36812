//! Which parameters matter: told trials enter, shares of the variance of the model's mean leave.
//!
//! ```text
//! g(x) = m(x), inactive parameters at their canonical code
//! total effect of i        Tᵢ  = E[(g(x) - g(x with xᵢ'))²] / 2 Var g                          Jansen 1999
//! interaction of i and j   Iᵢⱼ = E[(g(x) - g(xᵢ') - g(xⱼ') + g(xᵢ', xⱼ'))²] / 4 Var g          Liu and Owen 2006
//! ```
//!
//! m is the posterior mean in the model's units. The parameters of x and x' are independent: each has one of the values
//! that it takes in random feasible points where it is active. So x itself need not be feasible, but no value is one
//! that a feasible point cannot have. Tᵢ counts every interaction that i takes part in: the sum of all Tᵢ is 1 where m is
//! additive, and more elsewhere. Iᵢⱼ counts every interaction that i and j take part in, so it is at most Tᵢ and Tⱼ.

use super::linear::Linear;
use super::spec::{Strategy, Thompson};
use super::{Model, Study};
use crate::acquire::random::RandomPoints;
use crate::encoding::Encoded;
use crate::interrupt;
use crate::language::eval::Setting;
use crate::math::random::{Purpose, Stream, stream};
use crate::space::{Point, Space};
use crate::study::Error;

/// The most trials that the model learns from: those with a value, evenly spread over the tells.
const MAX_TRIALS: usize = 1000;

/// Random feasible points whose values are mixed, and mixtures that are looked at.
const N_POINTS: usize = 256;
const N_MIXTURES: usize = 512;

/// Interactions are computed among this many parameters, those of the greatest total effects.
const N_PAIRED: usize = 16;

/// Which parameters matter. The formulas are in [`Study::importance`].
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Importance {
    /// Total effects, in the order of the space, auxiliary parameters left out.
    pub effects: Vec<Effect>,
    /// Interactions between the parameters of the greatest total effects, the greatest first.
    pub interactions: Vec<Interaction>,
    /// How many trials the model learned from.
    pub n_trials: usize,
}

/// How much one parameter matters.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Effect {
    /// The name of the parameter.
    pub name: String,
    /// The share of the variance that it takes part in, alone and with others.
    pub total: f64,
}

/// How much two parameters matter beyond what each of them does alone.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
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
    /// [`Error::NothingTold`] when no trial has a value; [`Error::TooManyFeatures`] when the model cannot be made.
    pub fn importance(&self) -> Result<Importance, Error> {
        let turned = |at: &usize| {
            self.value(&self.trials[*at])
                .map(|value| self.spec.aims.goal().sense.turned(value))
        };
        let valued = self
            .told
            .iter()
            .filter_map(|at| Some((&self.known[*at].code, turned(at)?)));
        let valued: Vec<(&Encoded, f64)> = valued.collect();
        if valued.is_empty() {
            return Err(Error::NothingTold);
        }
        let observed: Vec<_> = valued
            .iter()
            .step_by(valued.len().div_ceil(MAX_TRIALS))
            .copied()
            .collect();
        let mut model = Linear::new(&self.space, self.learning()?, self.spec.seed)?;
        let weights = model.after(&observed)?.surrogate_mut().mean();
        let mut stream = stream(self.spec.seed, self.told.len() as u64, Purpose::Importance);
        let mixtures = Mixtures::new(&self.space, &self.feasible_points(&mut stream));
        let shares = mixtures.shares(|code| weights.value(&code.bits, &code.unit), &mut stream);
        Ok(self.named(&shares, observed.len()))
    }

    /// The settings of a model that learns its hyper-parameters.
    fn learning(&self) -> Result<Thompson, Error> {
        match (&self.model, Strategy::named("thompson-learned")?) {
            (Some(Model::Linear(linear)), _) if linear.settings().learn => {
                Ok(linear.settings().clone())
            }
            (_, Strategy::Thompson(learned)) => Ok(learned),
            _ => Ok(Thompson {
                learn: true,
                ..Thompson::default()
            }),
        }
    }

    /// Random feasible points, or those of the trials where none is found.
    fn feasible_points(&self, stream: &mut Stream) -> Vec<Point> {
        let points = RandomPoints::new(&self.space);
        let drawn = points.draw_many(N_POINTS, stream);
        let drawn: Vec<Point> = drawn
            .iter()
            .map(|feasible| feasible.point().clone())
            .collect();
        if drawn.is_empty() {
            self.trials
                .iter()
                .map(|trial| trial.point.clone())
                .collect()
        } else {
            drawn
        }
    }

    fn named(&self, shares: &Shares, n_trials: usize) -> Importance {
        let name = |p: usize| self.space.parameters()[p].name().to_owned();
        let effects = shares.totals.iter().map(|(p, total)| Effect {
            name: name(*p),
            total: total.min(1.0),
        });
        let interactions = shares.pairs.iter().map(|((p, q), share)| Interaction {
            names: [name(*p), name(*q)],
            share: *share,
        });
        Importance {
            effects: effects.collect(),
            interactions: interactions.collect(),
            n_trials,
        }
    }
}

/// Shares of the variance, by position of parameters.
#[derive(Debug)]
struct Shares {
    totals: Vec<(usize, f64)>,
    /// The greatest first.
    pairs: Vec<((usize, usize), f64)>,
}

/// Values of random points, mixed.
struct Mixtures<'a> {
    space: &'a Space,
    /// For each parameter the settings that it has in the points where it is active.
    settings: Vec<Vec<Setting>>,
}

impl Mixtures<'_> {
    fn new<'a>(space: &'a Space, points: &[Point]) -> Mixtures<'a> {
        let of = |p: usize| {
            points
                .iter()
                .filter_map(|point| point.settings[p])
                .collect()
        };
        Mixtures {
            space,
            settings: (0..space.parameters().len()).map(of).collect(),
        }
    }

    /// The shares of the variance of a function of codes.
    fn shares(&self, g: impl Fn(&Encoded) -> f64, stream: &mut Stream) -> Shares {
        let pairs: Vec<[Vec<Option<Setting>>; 2]> = (0..N_MIXTURES)
            .map(|_| [self.mixture(stream), self.mixture(stream)])
            .collect();
        let at = |settings: Vec<Option<Setting>>| g(&self.code(settings));
        // g(x with x' at these parameters).
        let moved = |[x, other]: &[Vec<Option<Setting>>; 2], parameters: &[usize]| {
            let mut x = x.clone();
            for &p in parameters {
                x[p] = other[p];
            }
            at(x)
        };
        let here: Vec<f64> = pairs.iter().map(|pair| moved(pair, &[])).collect();
        let variance = variance(
            here.iter()
                .copied()
                .chain(pairs.iter().map(|[_, other]| at(other.clone()))),
        );
        let share = |squares: f64, times: f64| {
            let share = squares / (times * N_MIXTURES as f64 * variance);
            if variance > 0.0 && share.is_finite() {
                share
            } else {
                0.0
            }
        };
        let visible =
            (0..self.settings.len()).filter(|p| !self.space.parameters()[*p].is_auxiliary());
        let singles: Vec<(usize, Vec<f64>)> = visible
            .map(|p| (p, pairs.iter().map(|pair| moved(pair, &[p])).collect()))
            .collect();
        let squares = |one: &[f64]| {
            here.iter()
                .zip(one)
                .map(|(a, b)| (a - b).powi(2))
                .sum::<f64>()
        };
        let totals: Vec<(usize, f64)> = singles
            .iter()
            .map(|(p, one)| (*p, share(squares(one), 2.0)))
            .collect();
        let mut found = Vec::new();
        let paired = greatest(&totals);
        for (k, &i) in paired.iter().enumerate() {
            for &j in &paired[k + 1..] {
                let ((p, one), (q, other)) = (&singles[i], &singles[j]);
                let mixed = (0..N_MIXTURES)
                    .map(|n| here[n] - one[n] - other[n] + moved(&pairs[n], &[*p, *q]))
                    .map(|difference| difference * difference);
                found.push(((*p, *q), share(mixed.sum(), 4.0)));
            }
        }
        found.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        Shares {
            totals,
            pairs: found,
        }
    }

    /// A value of each parameter, chosen independently.
    fn mixture(&self, stream: &mut Stream) -> Vec<Option<Setting>> {
        let chosen = self.settings.iter().map(|settings| {
            let at = stream.below(settings.len());
            settings.get(at).copied()
        });
        chosen.collect()
    }

    /// The code of these settings, with canonical ones where a parameter is inactive.
    fn code(&self, settings: Vec<Option<Setting>>) -> Encoded {
        interrupt::check();
        let encoding = self.space.encoding();
        let code = encoding.encode(&Point { settings });
        encoding
            .decode(&code.bits, &code.unit)
            .map_or(code, |point| encoding.encode(&point))
    }
}

/// Positions of the greatest total effects, in order of position.
fn greatest(totals: &[(usize, f64)]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..totals.len()).collect();
    order.sort_by(|a, b| totals[*b].1.total_cmp(&totals[*a].1));
    order.truncate(N_PAIRED);
    order.sort_unstable();
    order
}

/// The variance, in two passes; what is nothing but rounding counts as 0.
fn variance(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let n = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / n;
    let variance = values.map(|value| (value - mean).powi(2)).sum::<f64>() / n;
    if variance > (1e-12 * mean).powi(2) {
        variance
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Sense;
    use crate::space::Domain;
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

    #[test]
    fn shares_are_those_of_all_mixtures_one_by_one() {
        let mut space = Space::builder();
        for name in ["a", "b", "c"] {
            let _ = space.add(name, Domain::int(0, 3));
        }
        let space = space.build().unwrap();
        let points = (0..64_u64).map(|k| Point {
            settings: vec![k % 4, k / 4 % 4, k / 16]
                .into_iter()
                .map(|i| Some(Setting::Index(i)))
                .collect(),
        });
        let table =
            |x: [u64; 3]| (1.3 * x[0] as f64 + 2.1 * (x[1] * x[2]) as f64).sin() + x[1] as f64;
        let settings = |point: &Point| {
            [0, 1, 2].map(|p| match point.settings[p] {
                Some(Setting::Index(index)) => index,
                _ => 0,
            })
        };
        let g = |code: &Encoded| {
            table(settings(
                &space.encoding().decode(&code.bits, &code.unit).unwrap(),
            ))
        };

        let mixtures = Mixtures::new(&space, &points.collect::<Vec<_>>());
        let found = mixtures.shares(g, &mut stream(0, 0, Purpose::Importance));

        let all: Vec<[u64; 3]> = (0..64).map(|k| [k % 4, k / 4 % 4, k / 16]).collect();
        let spread = variance(all.iter().map(|x| table(*x)));
        for (p, total) in found.totals {
            let moves = all.iter().flat_map(|x| (0..4).map(move |v| (*x, v)));
            let squares = moves.map(|(x, v)| {
                let mut other = x;
                other[p] = v;
                (table(x) - table(other)).powi(2)
            });
            let exact = squares.sum::<f64>() / (2.0 * 256.0 * spread);
            assert!((total - exact).abs() < 0.1, "{p}: {total} {exact}");
        }
        for ((p, q), share) in found.pairs {
            let moves = all
                .iter()
                .flat_map(|x| (0..16).map(move |v| (*x, v % 4, v / 4)));
            let squares = moves.map(|(x, v, w)| {
                let (mut one, mut other, mut both) = (x, x, x);
                (one[p], other[q], both[p], both[q]) = (v, w, v, w);
                (table(x) - table(one) - table(other) + table(both)).powi(2)
            });
            let exact = squares.sum::<f64>() / (4.0 * 1024.0 * spread);
            assert!((share - exact).abs() < 0.1, "{p} {q}: {share} {exact}");
        }
    }
}
