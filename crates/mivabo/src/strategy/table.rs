//! The names of all strategies and their settings, as data: parsing, messages, help and documents read the same table.
//!
//! A strategy is one word in a study file, in Python and in a database: `thompson:search=dual:order=1`. What follows the name, each
//! after a colon, changes one setting; the others keep the values that belong to the name. The order does not matter.
//! Two spellings of one strategy are two definitions of a study.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;

use super::improvement::{Improvement, ImprovementSearch};
use super::thompson::alternating::Reals;
use super::thompson::dual::{DualSettings, Master};
use super::thompson::exact::ExactSettings;
use super::thompson::{ProductRule, THEORY, Thompson, ThompsonSearch, WaveFeatures, WeightPrior};
use super::{Error, Strategy};
use crate::acquire::annealing::AnnealingSettings;
use crate::features::{Basis, WaveKernel};
use crate::language::spelling::nearest;
use crate::surrogate::process::Kernel;
use crate::surrogate::sparse::{Horseshoe, Laplace, SparsePrior, SpikeSlab};
use crate::surrogate::{Scaling, Transform};

/// A name, what it is, and what it stands for.
struct Named {
    name: &'static str,
    what: &'static str,
    make: fn() -> Strategy,
}

const STRATEGIES: &[Named] = &[
    Named {
        name: "improvement",
        what: "the default: expected improvement by a Gaussian process over the parameters",
        make: Strategy::default,
    },
    Named {
        name: "thompson",
        what: "the paper's algorithm: the minimum of a function drawn from the posterior of its model",
        make: || Strategy::Thompson(Thompson::default()),
    },
    Named {
        name: "thompson-learned",
        what: "the same with variances, noise and bandwidths chosen by evidence before each draw",
        make: || Strategy::Thompson(learned()),
    },
    Named {
        name: "thompson-laplace",
        what: "the same with the Laplace prior for the weights",
        make: || sparse(SparsePrior::Laplace(Laplace::default())),
    },
    Named {
        name: "thompson-horseshoe",
        what: "the same with the horseshoe prior",
        make: || sparse(SparsePrior::Horseshoe(Horseshoe::default())),
    },
    Named {
        name: "thompson-spike-slab",
        what: "the same with the spike-and-slab prior",
        make: || sparse(SparsePrior::SpikeSlab(SpikeSlab::default())),
    },
    Named {
        name: "thompson-theory",
        what: "what Prop. 1 of the paper asks for: scaled variance and the exact argmin; small spaces only",
        make: || {
            Strategy::Thompson(Thompson {
                scaling: THEORY,
                search: ThompsonSearch::Exact(ExactSettings::default()),
                ..Thompson::default()
            })
        },
    },
    Named {
        name: "annealing",
        what: "the paper's MiVaBo-SA: its model, searched by simulated annealing",
        make: || {
            Strategy::Thompson(Thompson {
                search: ThompsonSearch::Annealing(AnnealingSettings::default()),
                ..Thompson::default()
            })
        },
    },
    Named {
        name: "gp-annealing",
        what: "the paper's GP-SA: expected improvement by a full-dimensional Gaussian process, searched by simulated annealing",
        make: || {
            Strategy::Improvement(Improvement {
                kernel: Some(Kernel::Product),
                search: ImprovementSearch::Annealing(AnnealingSettings::default()),
                draws: false,
                plateau: 0.0,
                ..Improvement::default()
            })
        },
    },
    Named {
        name: "random",
        what: "random feasible points, without a model",
        make: || Strategy::Random,
    },
];

fn learned() -> Thompson {
    Thompson {
        learn: true,
        outputs: Transform::Standard,
        ..Thompson::default()
    }
}

fn sparse(prior: SparsePrior) -> Strategy {
    Strategy::Thompson(Thompson {
        prior: WeightPrior::Sparse(prior),
        ..learned()
    })
}

/// One setting of the strategies whose settings are an `S`.
struct Setting<S: 'static> {
    name: &'static str,
    values: Values<S>,
    /// The value of the first strategy with it, and of those that have another one.
    default: &'static str,
    except: &'static [(&'static str, &'static [&'static str])],
    what: &'static str,
    /// What else has to be chosen for it to mean anything.
    needs: Option<Need<S>>,
}

/// The values that a setting may have, and what sets them.
enum Values<S: 'static> {
    Words(&'static [&'static str], fn(&mut S, &str)),
    Whole(RangeInclusive<usize>, fn(&mut S, usize)),
    Real(RangeInclusive<f64>, fn(&mut S, f64)),
}

struct Need<S> {
    what: &'static str,
    is_met: fn(&S) -> bool,
}

const LEARNING: &[&str] = &[
    "thompson-learned",
    "thompson-laplace",
    "thompson-horseshoe",
    "thompson-spike-slab",
];

const LOCAL: Option<Need<Improvement>> = Some(Need {
    what: "local search, which `improvement` has",
    is_met: |own| matches!(own.search, ImprovementSearch::Local(_)),
});

const IMPROVEMENT: &[Setting<Improvement>] = &[
    Setting {
        name: "kernel",
        values: Values::Words(&["evidence", "additive", "product"], |own, word| {
            own.kernel = match word {
                "additive" => Some(Kernel::Additive),
                "product" => Some(Kernel::Product),
                _ => None,
            };
        }),
        default: "evidence",
        except: &[("product", &["gp-annealing"])],
        what: "The kernel of the process: the one that explains the outcomes best, or always the same.",
        needs: None,
    },
    Setting {
        name: "outputs",
        values: Values::Words(OUTPUTS, |own, word| own.outputs = transform(word)),
        default: "robust",
        except: &[],
        what: "What becomes of values before the model sees them.",
        needs: None,
    },
    Setting {
        name: "draws",
        values: Values::Words(TRUTH, |own, word| own.draws = word == "yes"),
        default: "yes",
        except: &[("no", &["gp-annealing"])],
        what: "Whether the paper's model proposes candidates; without them an ask is 5 to 25 ms shorter.",
        needs: None,
    },
    Setting {
        name: "stall",
        values: Values::Whole(0..=1000, |own, n| own.stall = n),
        default: "5",
        except: &[],
        what: "Outcomes without a better one before length-scales are halved now and then; 0: never.",
        needs: None,
    },
    Setting {
        name: "plateau",
        values: Values::Real(0.0..=1.0, |own, by| own.plateau = by),
        default: "0.1",
        except: &[("0", &["gp-annealing"])],
        what: "By how much each outcome that equals the best, or nearly does, lowers the value to improve on, in deviations of the outputs; 0: not at all.",
        needs: None,
    },
    Setting {
        name: "turns",
        values: Values::Whole(0..=1000, |own, n| own.turns = n),
        default: "2",
        except: &[],
        what: "Of how many asks one goes to a branch that has had less than its share of the trials; 0: none.",
        needs: LOCAL,
    },
    Setting {
        name: "climbs",
        values: Values::Whole(1..=64, |own, n| {
            if let ImprovementSearch::Local(local) = &mut own.search {
                local.climbs = n;
            }
        }),
        default: "4",
        except: &[],
        what: "Hills climbed in an ask.",
        needs: LOCAL,
    },
];

/// `search` comes first: `master` and `reals` are settings of a search.
const THOMPSON: &[Setting<Thompson>] = &[
    Setting {
        name: "search",
        values: Values::Words(
            &["alternating", "dual", "exact", "annealing"],
            |own, word| {
                own.search = match word {
                    "dual" => ThompsonSearch::Decomposition(DualSettings::default()),
                    "exact" => ThompsonSearch::Exact(ExactSettings::default()),
                    "annealing" => ThompsonSearch::Annealing(AnnealingSettings::default()),
                    _ => ThompsonSearch::default(),
                };
            },
        ),
        default: "alternating",
        except: &[
            ("exact", &["thompson-theory"]),
            ("annealing", &["annealing"]),
        ],
        what: "How the minimum of a drawn function is searched for; `dual` and `exact` also prove how far it may be from the best.",
        needs: None,
    },
    Setting {
        name: "master",
        values: Values::Words(&["subgradient", "blocks"], |own, word| {
            if let ThompsonSearch::Decomposition(dual) = &mut own.search {
                dual.master = match word {
                    "blocks" => Master::BlockCoordinate,
                    _ => Master::Subgradient,
                };
            }
        }),
        default: "subgradient",
        except: &[],
        what: "How dual decomposition moves its multipliers: by subgradients, or a bit at a time.",
        needs: Some(Need {
            what: "`search=dual`",
            is_met: |own| matches!(own.search, ThompsonSearch::Decomposition(_)),
        }),
    },
    Setting {
        name: "reals",
        values: Values::Words(&["lbfgs", "direct"], |own, word| {
            let reals = match word {
                "direct" => Reals::Direct,
                _ => Reals::Lbfgs,
            };
            match &mut own.search {
                ThompsonSearch::Alternating(alternating) => alternating.reals = reals,
                ThompsonSearch::Decomposition(dual) => dual.polish.reals = reals,
                ThompsonSearch::Exact(_) | ThompsonSearch::Annealing(_) => {}
            }
        }),
        default: "lbfgs",
        except: &[],
        what: "How continuous parameters are optimised while the others are fixed: by quasi-Newton steps from where they are, or by DIRECT over their whole region.",
        needs: Some(Need {
            what: "`search=alternating` or `search=dual`",
            is_met: |own| {
                let search = &own.search;
                matches!(
                    search,
                    ThompsonSearch::Alternating(_) | ThompsonSearch::Decomposition(_)
                )
            },
        }),
    },
    Setting {
        name: "features",
        values: Values::Words(&["random", "quadrature"], |own, word| {
            own.features = match word {
                "quadrature" => WaveFeatures::Quadrature,
                _ => WaveFeatures::Random,
            };
        }),
        default: "random",
        except: &[],
        what: "The frequencies of the waves: drawn at random, or at the nodes of a quadrature (for few continuous parameters, or with `additive=yes`).",
        needs: None,
    },
    Setting {
        name: "spectrum",
        values: Values::Words(&["se", "matern32", "matern52"], |own, word| {
            own.spectrum = match word {
                "matern32" => WaveKernel::Matern32,
                "matern52" => WaveKernel::Matern52,
                _ => WaveKernel::SquaredExponential,
            };
        }),
        default: "se",
        except: &[],
        what: "The kernel that random waves approximate: squared exponential, or Matérn with ν = 3/2 or 5/2.",
        needs: None,
    },
    Setting {
        name: "waves",
        values: Values::Whole(1..=4096, |own, n| own.n_waves = n),
        default: "16",
        except: &[],
        what: "How many waves there are; quadrature takes as many nodes for each continuous parameter as that allows.",
        needs: None,
    },
    Setting {
        name: "additive",
        values: Values::Words(TRUTH, |own, word| own.additive = word == "yes"),
        default: "no",
        except: &[],
        what: "Whether each wave is over one continuous parameter alone; they share `waves` evenly.",
        needs: None,
    },
    Setting {
        name: "sigma",
        values: Values::Real(1e-3..=1e3, |own, sigma| own.sigma = sigma),
        default: "1",
        except: &[],
        what: "The bandwidth of the waves, in units of each parameter's range.",
        needs: None,
    },
    Setting {
        name: "order",
        values: Values::Whole(1..=3, |own, n| own.order = n),
        default: "2",
        except: &[],
        what: "The most bits in one monomial of the discrete features.",
        needs: None,
    },
    Setting {
        name: "basis",
        values: Values::Words(&["binary", "fourier"], |own, word| {
            own.basis = match word {
                "fourier" => Basis::Fourier,
                _ => Basis::Binary,
            };
        }),
        default: "binary",
        except: &[],
        what: "Whether a bit counts as 0 or 1, or as -1 or 1.",
        needs: None,
    },
    Setting {
        name: "products",
        values: Values::Words(&["all", "none", "linked", "grow", "prune"], |own, word| {
            own.products = match word {
                "none" => ProductRule::None,
                "linked" => ProductRule::Linked(Vec::new()),
                "grow" => ProductRule::Grow,
                "prune" => ProductRule::Prune,
                _ => ProductRule::All,
            };
        }),
        default: "all",
        except: &[],
        what: "Which discrete features are multiplied with which waves: all, none, those of linked parameters, or by evidence as outcomes arrive, beginning with none (`grow`) or with all (`prune`).",
        needs: None,
    },
    Setting {
        name: "alpha",
        values: Values::Real(1e-6..=1e6, |own, alpha| own.alpha = alpha),
        default: "1",
        except: &[],
        what: "The precision of the weights under the Gaussian prior, where it is not learned.",
        needs: None,
    },
    Setting {
        name: "beta",
        values: Values::Real(1e-6..=1e6, |own, beta| own.beta = beta),
        default: "1",
        except: &[],
        what: "The precision of the noise under the Gaussian prior, where it is not learned.",
        needs: None,
    },
    Setting {
        name: "outputs",
        values: Values::Words(OUTPUTS, |own, word| own.outputs = transform(word)),
        default: "raw",
        except: &[("standard", LEARNING)],
        what: "What becomes of values before the model sees them.",
        needs: None,
    },
    Setting {
        name: "learn",
        values: Values::Words(TRUTH, |own, word| own.learn = word == "yes"),
        default: "no",
        except: &[("yes", LEARNING)],
        what: "Whether variances, noise and bandwidths are chosen by evidence before each draw.",
        needs: None,
    },
    Setting {
        name: "scaling",
        values: Values::Words(&["none", "theory"], |own, word| {
            own.scaling = match word {
                "theory" => THEORY,
                _ => Scaling::None,
            };
        }),
        default: "none",
        except: &[("theory", &["thompson-theory"])],
        what: "The variance of draws: as it is, or enlarged as in Prop. 1 for 100 trials and δ = 0.1.",
        needs: None,
    },
];

const TRUTH: &[&str] = &["yes", "no"];
const OUTPUTS: &[&str] = &["raw", "standard", "robust"];

fn transform(word: &str) -> Transform {
    match word {
        "raw" => Transform::Identity,
        "standard" => Transform::Standard,
        _ => Transform::Robust,
    }
}

impl Strategy {
    /// The names that [`named`](Self::named) knows.
    pub const NAMES: &'static [&'static str] = &{
        let mut names = [""; STRATEGIES.len()];
        let mut k = 0;
        while k < names.len() {
            names[k] = STRATEGIES[k].name;
            k += 1;
        }
        names
    };

    /// The strategy of a name, with its default settings, or with others that follow it: `improvement:kernel=additive:draws=no`.
    ///
    /// `products=linked` needs [`with_links`](Self::with_links).
    ///
    #[doc = include_str!("table.md")]
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::BadSetting`], [`Error::Conflict`].
    pub fn named(text: &str) -> Result<Strategy, Error> {
        let Some((name, settings)) = text.split_once(':') else {
            return of_name(text);
        };
        let mut strategy = of_name(name)?;
        strategy.set_all(settings)?;
        Ok(strategy)
    }

    fn set_all(&mut self, settings: &str) -> Result<(), Error> {
        match self {
            Strategy::Improvement(own) => set_all(own, IMPROVEMENT, settings),
            Strategy::Thompson(own) => {
                set_all(own, THOMPSON, settings)?;
                own.check()
            }
            Strategy::Random => {
                let expected = "nothing: random points have no settings".to_owned();
                Err(bad(settings, expected, None))
            }
        }
    }
}

fn of_name(name: &str) -> Result<Strategy, Error> {
    let known = STRATEGIES.iter().find(|known| known.name == name);
    let made = known.map(|known| (known.make)());
    made.ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> Error {
    Error::Unknown {
        name: name.to_owned(),
        nearest: nearest(name, Strategy::NAMES.iter().copied()),
        known: Strategy::NAMES,
    }
}

/// Changes settings as the text says: `key=value`, with a colon between two of them.
fn set_all<S>(own: &mut S, table: &[Setting<S>], text: &str) -> Result<(), Error> {
    let mut given: BTreeMap<&str, &str> = BTreeMap::new();
    for setting in text.split(':') {
        let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
        if !table.iter().any(|known| known.name == key) {
            let nearest = nearest(key, table.iter().map(|known| known.name));
            return Err(bad(setting, keys(own, table), nearest));
        }
        if given.insert(key, value).is_some() {
            return Err(bad(setting, "each setting once".to_owned(), None));
        }
    }
    // In the order of the table, so that what a setting needs has been chosen before it.
    for setting in table {
        if let Some(value) = given.get(setting.name) {
            setting.set(own, value)?;
        }
    }
    Ok(())
}

/// The settings that mean something beside those that were chosen.
fn keys<S>(own: &S, table: &[Setting<S>]) -> String {
    let known = table.iter().filter(|setting| setting.is_met(own));
    let keys: Vec<String> = known.map(|setting| format!("{}=…", setting.name)).collect();
    format!("one of {}", keys.join(", "))
}

fn bad(setting: &str, expected: String, nearest: Option<String>) -> Error {
    Error::BadSetting {
        setting: setting.to_owned(),
        expected,
        nearest,
    }
}

impl<S> Setting<S> {
    fn is_met(&self, own: &S) -> bool {
        self.needs.as_ref().is_none_or(|need| (need.is_met)(own))
    }

    fn set(&self, own: &mut S, value: &str) -> Result<(), Error> {
        let text = || format!("{}={value}", self.name);
        if let Some(need) = self.needs.as_ref().filter(|need| !(need.is_met)(own)) {
            return Err(Error::Conflict {
                why: format!("`{}` needs {}", text(), need.what),
            });
        }
        let is_set = match &self.values {
            Values::Words(words, set) => {
                let known = words.contains(&value);
                known.then(|| set(own, value))
            }
            Values::Whole(range, set) => {
                let number = value.parse::<usize>().ok().filter(|n| range.contains(n));
                number.map(|n| set(own, n))
            }
            Values::Real(range, set) => {
                let number = value.parse::<f64>().ok().filter(|x| range.contains(x));
                number.map(|x| set(own, x))
            }
        };
        is_set.ok_or_else(|| bad(&text(), self.values.expected(), self.values.nearest(value)))
    }

    fn row(&self) -> SettingRow {
        SettingRow {
            setting: self.name,
            values: self.values.listed(),
            default: self.default,
            except: self.except,
            what: self.what,
            needs: self.needs.as_ref().map(|need| need.what),
        }
    }
}

impl<S> Values<S> {
    fn expected(&self) -> String {
        match self {
            Values::Words(words, _) => format!("one of {}", words.join(", ")),
            Values::Whole(range, _) => format!("a whole number from {}", span(range)),
            Values::Real(range, _) => format!("a number from {}", span(range)),
        }
    }

    fn nearest(&self, value: &str) -> Option<String> {
        let Values::Words(words, _) = self else {
            return None;
        };
        nearest(value, words.iter().copied())
    }

    fn listed(&self) -> Listed {
        match self {
            Values::Words(words, _) => Listed::Words(words),
            Values::Whole(range, _) => Listed::Range(span(range)),
            Values::Real(range, _) => Listed::Range(span(range)),
        }
    }
}

fn span<T: Display>(range: &RangeInclusive<T>) -> String {
    format!("{} to {}", range.start(), range.end())
}

/// A setting as documents and help show it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SettingRow {
    /// Its name.
    pub setting: &'static str,
    /// The values it may have.
    pub values: Listed,
    /// The one it has where nothing is said.
    pub default: &'static str,
    /// Other defaults, and the strategies that have them.
    pub except: &'static [(&'static str, &'static [&'static str])],
    /// What it does.
    pub what: &'static str,
    /// What else has to be chosen for it to mean anything.
    pub needs: Option<&'static str>,
}

/// The values that a setting may have.
#[derive(Debug, Clone, PartialEq)]
pub enum Listed {
    /// One of these words.
    Words(&'static [&'static str]),
    /// A number, from one to another.
    Range(String),
}

/// Strategies with the same settings.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Family {
    /// Names, and what each of them is.
    pub strategies: Vec<(&'static str, &'static str)>,
    /// Their settings.
    pub settings: Vec<SettingRow>,
}

/// All strategies and their settings, in the order in which they are listed.
pub fn families() -> Vec<Family> {
    let family = |has: fn(&Strategy) -> bool, settings| Family {
        strategies: STRATEGIES
            .iter()
            .filter(|known| has(&(known.make)()))
            .map(|known| (known.name, known.what))
            .collect(),
        settings,
    };
    vec![
        family(
            |strategy| matches!(strategy, Strategy::Improvement(_)),
            IMPROVEMENT.iter().map(Setting::row).collect(),
        ),
        family(
            |strategy| matches!(strategy, Strategy::Thompson(_)),
            THOMPSON.iter().map(Setting::row).collect(),
        ),
        family(|strategy| matches!(strategy, Strategy::Random), vec![]),
    ]
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    /// The names and what each is, as a table in Markdown.
    fn names_in_markdown() -> String {
        let mut text = "| strategy | what it is |\n|---|---|\n".to_owned();
        for known in STRATEGIES {
            let _ = writeln!(text, "| `{}` | {} |", known.name, known.what);
        }
        text
    }

    /// The names, and the settings of each family, as tables in Markdown.
    fn in_markdown() -> String {
        let mut text = names_in_markdown();
        for Family {
            strategies,
            settings,
        } in families()
            .iter()
            .filter(|family| !family.settings.is_empty())
        {
            let names: Vec<String> = strategies.iter().map(|(name, _)| quoted(name)).collect();
            let _ = writeln!(text, "\nSettings of {}:\n", names.join(", "));
            text.push_str("| setting | values | default | what it does |\n|---|---|---|---|\n");
            for row in settings {
                let _ = writeln!(text, "{}", row.in_markdown());
            }
        }
        text
    }

    impl SettingRow {
        fn in_markdown(&self) -> String {
            let values = match &self.values {
                Listed::Words(words) => listed(words),
                Listed::Range(range) => range.clone(),
            };
            let mut default = quoted(self.default);
            for (value, names) in self.except {
                let _ = write!(default, "; `{value}` for {}", listed(names));
            }
            let needs = self.needs.map(|what| format!(" Needs {what}."));
            let what = format!("{}{}", self.what, needs.unwrap_or_default());
            format!("| `{}` | {values} | {default} | {what} |", self.setting)
        }
    }

    fn listed(words: &[&str]) -> String {
        let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        quoted.join(", ")
    }

    fn quoted(word: &str) -> String {
        format!("`{word}`")
    }

    /// Every value of a setting that it has words for, or the ends of its range.
    fn values(row: &SettingRow) -> Vec<String> {
        match &row.values {
            Listed::Words(words) => words.iter().map(|&word| word.to_owned()).collect(),
            Listed::Range(range) => range.split(" to ").map(str::to_owned).collect(),
        }
    }

    /// Spelled so that what the setting needs is chosen.
    fn spelled(name: &str, row: &SettingRow, value: &str) -> String {
        let needs = match (row.setting, name) {
            ("master", _) => ":search=dual",
            ("reals", "thompson-theory" | "annealing") => ":search=alternating",
            _ => "",
        };
        format!("{name}{needs}:{}={value}", row.setting)
    }

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
    fn the_order_of_settings_does_not_matter() {
        let one = Strategy::named("thompson:master=blocks:reals=direct:search=dual").unwrap();
        let other = Strategy::named("thompson:search=dual:reals=direct:master=blocks").unwrap();

        assert_eq!(one, other);
        assert_ne!(one, Strategy::named("thompson:search=dual").unwrap());
    }

    #[test]
    fn defaults_are_what_the_table_says() {
        for family in families() {
            for (name, _) in &family.strategies {
                for row in &family.settings {
                    let except = row.except.iter().find(|(_, names)| names.contains(name));
                    let default = except.map_or(row.default, |(value, _)| *value);
                    let plain = Strategy::named(name).unwrap();
                    let text = format!("{name}:{}={default}", row.setting);

                    match Strategy::named(&text) {
                        Ok(said) => assert_eq!(said, plain, "{text}"),
                        Err(error) => assert!(row.needs.is_some(), "{text}: {error}"),
                    }
                }
            }
        }
    }

    #[test]
    fn every_value_of_every_setting_means_something_else() {
        for family in families() {
            for row in &family.settings {
                let name = family.strategies[0].0;
                let meant: Vec<Strategy> = values(row)
                    .iter()
                    .map(|value| Strategy::named(&spelled(name, row, value)).unwrap())
                    .collect();

                for (k, one) in meant.iter().enumerate() {
                    assert!(!meant[..k].contains(one), "{}: {one:?}", row.setting);
                }
            }
        }
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
            "`kernl=product` is not a setting of the strategy; expected one of kernel=…, outputs=…, draws=…, stall=…, plateau=…, turns=…, climbs=…; did you mean `kernel`?"
        );
        assert_eq!(
            refused("thompson:search=duel"),
            "`search=duel` is not a setting of the strategy; expected one of alternating, dual, exact, annealing; did you mean `dual`?"
        );
        for text in [
            "improvement:stall",
            "improvement:stall=-1",
            "improvement:plateau=2",
            "improvement:plateau=nan",
            "thompson:sigma=nan",
            "thompson:waves=0",
            "thompson:order=4",
            "improvement:",
        ] {
            assert!(refused(text).contains("expected"), "{text}");
        }
        assert!(refused("gp-annealing:climb=3").contains(
            "one of kernel=…, outputs=…, draws=…, stall=…, plateau=…; did you mean `climbs`"
        ));
        assert_eq!(
            refused("gp-annealing:climbs=3"),
            "`climbs=3` needs local search, which `improvement` has"
        );
        assert!(
            refused("improvement:stall=2.5").ends_with("expected a whole number from 0 to 1000")
        );
        assert!(refused("improvement:draws=no:draws=yes").ends_with("expected each setting once"));
        assert!(refused("random:draws=no").contains("random points have no settings"));
        assert!(refused("improvment:draws=no").contains("did you mean `improvement`"));
    }

    #[test]
    fn settings_that_cannot_be_combined_say_why() {
        let refused = |text: &str| Strategy::named(text).unwrap_err().to_string();

        assert_eq!(
            refused("thompson:master=blocks"),
            "`master=blocks` needs `search=dual`"
        );
        assert_eq!(
            refused("annealing:reals=direct"),
            "`reals=direct` needs `search=alternating` or `search=dual`"
        );
        assert_eq!(
            refused("thompson:features=quadrature:spectrum=matern32"),
            "quadrature is for the squared exponential kernel: `spectrum=se`, or `features=random`"
        );
        for prior in ["laplace", "horseshoe", "spike-slab"] {
            assert_eq!(
                refused(&format!("thompson-{prior}:products=grow")),
                "`products=grow` and `products=prune` need the Gaussian prior: a sparse one finds out by itself which products matter"
            );
        }
    }

    #[test]
    fn the_documentation_holds_what_the_table_says() {
        let said = in_markdown();
        let [rustdoc, method] = [
            include_str!("table.md"),
            include_str!("../../../../docs/method.md"),
        ];

        assert!(rustdoc == said, "table.md is to be:\n{said}");
        assert!(
            method.contains(&said),
            "docs/method.md is to contain:\n{said}"
        );
        for text in [
            include_str!("../../../../docs/python.md"),
            include_str!("../../../../docs/cli.md"),
        ] {
            let names = names_in_markdown();
            assert!(text.contains(&names), "a document is to contain:\n{names}");
        }
    }
}
