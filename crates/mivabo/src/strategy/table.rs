//! Settings within the text of a strategy: `improvement:kernel=additive:draws=no` enters, the strategy leaves.
//!
//! What follows the name, each after a colon, changes one setting of [`Improvement`] or [`Thompson`]; the others keep the values that
//! belong to the name. So a strategy and its settings are one word in a study file, in Python and in a database, where Rust has the
//! fields of those types. Two spellings of one strategy are two definitions of a study.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use super::improvement::{Improvement, ImprovementSearch};
use super::thompson::{THEORY, Thompson, ThompsonSearch, WeightPrior, exact};
use super::{Error, Strategy};
use crate::acquire::annealing;
use crate::language::spelling::nearest;
use crate::surrogate::process::Kernel;
use crate::surrogate::sparse::{Horseshoe, Laplace, SparsePrior, SpikeSlab};
use crate::surrogate::{Scaling, Transform};

/// The settings of expected improvement, those that it has with local search alone, and those of Thompson sampling.
const IMPROVEMENT: &[&str] = &["kernel", "outputs", "draws", "stall", "plateau"];
const LOCAL: &[&str] = &["turns", "climbs"];
const THOMPSON: &[&str] = &[
    "alpha", "beta", "sigma", "waves", "outputs", "learn", "scaling",
];

impl Strategy {
    /// The names that [`named`](Self::named) knows.
    pub const NAMES: &'static [&'static str] = &[
        "improvement",
        "thompson",
        "thompson-learned",
        "thompson-laplace",
        "thompson-horseshoe",
        "thompson-spike-slab",
        "thompson-theory",
        "annealing",
        "gp-annealing",
        "random",
    ];

    /// The strategy of a name, with its default settings, or with others that follow it: `improvement:kernel=additive:draws=no`.
    ///
    /// | name | what it is |
    /// |---|---|
    /// | `improvement` | the default: expected improvement by an additive Gaussian process, local search over feasible points |
    /// | `thompson` | the paper's algorithm: α = β = σ = 1, 16 waves |
    /// | `thompson-learned` | the same with variances, noise and bandwidth chosen by evidence before each draw |
    /// | `thompson-laplace`, `thompson-horseshoe`, `thompson-spike-slab` | the same with a sparse prior |
    /// | `thompson-theory` | variance scaled as in Prop. 1, for 100 trials with δ = 0.1, and the exact argmin: small spaces only |
    /// | `annealing` | `thompson` with simulated annealing for the search (the paper's MiVaBo-SA) |
    /// | `gp-annealing` | expected improvement by a full-dimensional Gaussian process and simulated annealing (its GP-SA) |
    /// | `random` | random feasible points |
    ///
    /// | setting | values | of |
    /// |---|---|---|
    /// | `kernel` | `evidence`, `additive`, `product` | [`Improvement`] |
    /// | `draws` | `yes`, `no` | [`Improvement`] |
    /// | `stall` | 0 to 1000 | [`Improvement`] |
    /// | `plateau` | 0 to 1 | [`Improvement`] |
    /// | `turns` | 0 to 1000 | [`Improvement`] with local search |
    /// | `climbs` | 1 to 64 | [`Improvement`] with local search |
    /// | `outputs` | `raw`, `standard`, `robust` | both |
    /// | `alpha`, `beta` | 10⁻⁶ to 10⁶ | [`Thompson`] with the Gaussian prior |
    /// | `sigma` | 10⁻³ to 10³ | [`Thompson`] |
    /// | `waves` | 1 to 4096 | [`Thompson`] |
    /// | `learn` | `yes`, `no` | [`Thompson`] |
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::BadSetting`].
    pub fn named(text: &str) -> Result<Strategy, Error> {
        let (name, rest) = text
            .split_once(':')
            .map_or((text, None), |(name, rest)| (name, Some(rest)));
        rest.map_or_else(
            || Self::of_name(name),
            |rest| with_all(Self::of_name(name)?, rest),
        )
    }

    fn of_name(name: &str) -> Result<Strategy, Error> {
        let learned = Thompson {
            learn: true,
            outputs: Transform::Standard,
            ..Thompson::default()
        };
        let sparse = |prior| Thompson {
            prior: WeightPrior::Sparse(prior),
            ..learned.clone()
        };
        Ok(Strategy::Thompson(match name {
            "thompson" => Thompson::default(),
            "thompson-learned" => learned,
            "thompson-laplace" => sparse(SparsePrior::Laplace(Laplace::default())),
            "thompson-horseshoe" => sparse(SparsePrior::Horseshoe(Horseshoe::default())),
            "thompson-spike-slab" => sparse(SparsePrior::SpikeSlab(SpikeSlab::default())),
            "thompson-theory" => Thompson {
                scaling: THEORY,
                search: ThompsonSearch::Exact(exact::ExactSettings::default()),
                ..Thompson::default()
            },
            "annealing" => Thompson {
                search: ThompsonSearch::Annealing(annealing::AnnealingSettings::default()),
                ..Thompson::default()
            },
            "gp-annealing" => {
                let kernel = Some(Kernel::Product);
                let search = ImprovementSearch::Annealing(annealing::AnnealingSettings::default());
                let settings = Improvement {
                    kernel,
                    search,
                    draws: false,
                    plateau: 0.0,
                    ..Improvement::default()
                };
                return Ok(Strategy::Improvement(settings));
            }
            "improvement" => return Ok(Strategy::default()),
            "random" => return Ok(Strategy::Random),
            _ => {
                let nearest = nearest(name, Self::NAMES.iter().copied());
                return Err(Error::Unknown {
                    name: name.to_owned(),
                    nearest,
                });
            }
        }))
    }
}

/// The strategy with settings changed: `key=value`, with a colon between two of them.
///
/// # Errors
/// [`Error::BadSetting`] with what was expected.
fn with_all(mut strategy: Strategy, settings: &str) -> Result<Strategy, Error> {
    let mut seen = BTreeSet::new();
    for setting in settings.split(':') {
        let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
        if !seen.insert(key) {
            let (setting, expected) = (setting.to_owned(), "each setting once".to_owned());
            return Err(Error::BadSetting { setting, expected });
        }
        strategy = with(strategy, setting, (key, value))?;
    }
    Ok(strategy)
}

fn with(strategy: Strategy, setting: &str, (key, value): (&str, &str)) -> Result<Strategy, Error> {
    let changed = match strategy {
        Strategy::Improvement(settings) => {
            improvement(settings, key, value).map(Strategy::Improvement)
        }
        Strategy::Thompson(settings) => thompson(settings, key, value).map(Strategy::Thompson),
        Strategy::Random => Err("nothing: random points have no settings".into()),
    };
    changed.map_err(|expected| Error::BadSetting {
        setting: setting.to_owned(),
        expected,
    })
}

fn improvement(mut settings: Improvement, key: &str, value: &str) -> Result<Improvement, String> {
    match (key, &mut settings.search) {
        ("kernel", _) => {
            let kernels = [
                ("evidence", None),
                ("additive", Some(Kernel::Additive)),
                ("product", Some(Kernel::Product)),
            ];
            settings.kernel = one_of(value, &kernels)?;
        }
        ("outputs", _) => settings.outputs = outputs(value)?,
        ("draws", _) => settings.draws = truth(value)?,
        ("stall", _) => settings.stall = number("a whole number", value, 0..=1000)?,
        ("plateau", _) => settings.plateau = number("a number", value, 0.0..=1.0)?,
        ("turns", ImprovementSearch::Local(_)) => {
            settings.turns = number("a whole number", value, 0..=1000)?
        }
        ("climbs", ImprovementSearch::Local(local)) => {
            local.climbs = number("a whole number", value, 1..=64)?
        }
        (_, ImprovementSearch::Local(_)) => return Err(keys(&[IMPROVEMENT, LOCAL].concat())),
        _ => return Err(keys(IMPROVEMENT)),
    }
    Ok(settings)
}

fn thompson(mut settings: Thompson, key: &str, value: &str) -> Result<Thompson, String> {
    match key {
        "alpha" => settings.alpha = number("a number", value, 1e-6..=1e6)?,
        "beta" => settings.beta = number("a number", value, 1e-6..=1e6)?,
        "sigma" => settings.sigma = number("a number", value, 1e-3..=1e3)?,
        "waves" => settings.n_waves = number("a whole number", value, 1..=4096)?,
        "outputs" => settings.outputs = outputs(value)?,
        "learn" => settings.learn = truth(value)?,
        "scaling" => {
            settings.scaling = one_of(value, &[("none", Scaling::None), ("theory", THEORY)])?;
        }
        _ => return Err(keys(THOMPSON)),
    }
    Ok(settings)
}

fn outputs(value: &str) -> Result<Transform, String> {
    one_of(
        value,
        &[
            ("raw", Transform::Identity),
            ("standard", Transform::Standard),
            ("robust", Transform::Robust),
        ],
    )
}

fn truth(value: &str) -> Result<bool, String> {
    one_of(value, &[("yes", true), ("no", false)])
}

fn one_of<T: Copy>(value: &str, known: &[(&str, T)]) -> Result<T, String> {
    let found = known
        .iter()
        .find(|(name, _)| *name == value)
        .map(|(_, meaning)| *meaning);
    found.ok_or_else(|| any_of(known.iter().map(|(name, _)| *name)))
}

fn number<T: FromStr + PartialOrd + Display>(
    what: &str,
    value: &str,
    range: RangeInclusive<T>,
) -> Result<T, String> {
    let found = value.parse().ok().filter(|number| range.contains(number));
    found.ok_or_else(|| format!("{what} from {} to {}", range.start(), range.end()))
}

fn keys(known: &[&str]) -> String {
    any_of(known.iter().map(|key| format!("{key}=…")))
}

fn any_of<S: Borrow<str>>(known: impl Iterator<Item = S>) -> String {
    format!("one of {}", known.collect::<Vec<S>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_follow_the_name_and_change_only_themselves() {
        let found =
            Strategy::named("improvement:kernel=additive:draws=no:stall=0:plateau=0.2:climbs=2")
                .unwrap();

        let Strategy::Improvement(found) = found else {
            panic!("{found:?}")
        };
        let ImprovementSearch::Local(local) = found.search else {
            panic!("{found:?}")
        };
        assert_eq!(
            (found.kernel, found.draws, found.stall),
            (Some(Kernel::Additive), false, 0)
        );
        assert_eq!(
            (found.outputs, local.climbs, local.rounds),
            (Transform::Robust, 2, 12)
        );
        assert!((found.plateau - 0.2).abs() < 1e-12);
        let text = "thompson-learned:sigma=0.5:waves=32:scaling=theory";
        let Strategy::Thompson(found) = Strategy::named(text).unwrap() else {
            panic!("{text}")
        };
        assert_eq!((found.sigma, found.n_waves, found.learn), (0.5, 32, true));
        assert_eq!(found.scaling, THEORY);
    }

    #[test]
    fn a_wrong_setting_is_named_with_what_was_expected() {
        let refused = |text: &str| Strategy::named(text).unwrap_err().to_string();

        assert_eq!(
            refused("improvement:kernel=cubic"),
            "`kernel=cubic` is not a setting of the strategy; expected one of evidence, additive, product"
        );
        assert_eq!(
            refused("improvement:kernl=product"),
            "`kernl=product` is not a setting of the strategy; expected one of kernel=…, outputs=…, draws=…, stall=…, plateau=…, turns=…, climbs=…"
        );
        for text in [
            "improvement:stall",
            "improvement:stall=-1",
            "improvement:plateau=2",
            "improvement:plateau=nan",
            "thompson:sigma=nan",
            "thompson:waves=0",
            "improvement:",
        ] {
            assert!(refused(text).contains("expected"), "{text}");
        }
        assert!(
            refused("gp-annealing:climbs=3")
                .ends_with("one of kernel=…, outputs=…, draws=…, stall=…, plateau=…")
        );
        assert!(
            refused("improvement:stall=2.5").ends_with("expected a whole number from 0 to 1000")
        );
        assert!(refused("improvement:draws=no:draws=yes").ends_with("expected each setting once"));
        assert!(refused("random:draws=no").contains("random points have no settings"));
        assert!(refused("improvment:draws=no").contains("did you mean `improvement`"));
    }
}
