//! What a definition has otherwise than another one, in words.

use std::fmt;

use mivabo::measure::{Aims, Goal, Limit};
use mivabo::space::{self, contrasted};
use mivabo::strategy::Link;

use crate::definition::Definition;

/// One thing that a definition has otherwise than an earlier one.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Difference {
    /// A parameter, a definition or a constraint.
    Space(space::Difference),
    /// Anything else, each of which has one value.
    Setting {
        /// Which.
        setting: Setting,
        /// What it was.
        was: String,
        /// What it is.
        is: String,
    },
}

/// What a study is asked to do in its space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// What is wanted of the trials.
    Goal,
    /// Bounds that measures should keep.
    Limits,
    /// How points are chosen.
    Strategy,
    /// Where all randomness comes from.
    Seed,
    /// The number of trials in the initial design.
    Initial,
    /// Pairs of parameters that are known to interact.
    Linked,
}

impl Difference {
    /// The setting that differs, if it is one.
    pub fn setting(&self) -> Option<Setting> {
        match self {
            Difference::Setting { setting, .. } => Some(*setting),
            Difference::Space(_) => None,
        }
    }
}

impl Definition {
    /// What this definition has otherwise than an earlier one. Nothing where both are written in the same way.
    pub fn differences(&self, earlier: &Definition) -> Vec<Difference> {
        let space = self.space.differences(&earlier.space);
        let mut found: Vec<Difference> = space.into_iter().map(Difference::Space).collect();
        for setting in Setting::ALL {
            let (was, is) = (setting.of(earlier), setting.of(self));
            if was != is {
                let (was, is) = contrasted(&was, &is);
                found.push(Difference::Setting { setting, was, is });
            }
        }
        found
    }
}

impl Setting {
    const ALL: [Setting; 6] = [
        Setting::Goal,
        Setting::Limits,
        Setting::Strategy,
        Setting::Seed,
        Setting::Initial,
        Setting::Linked,
    ];

    /// What a definition says of it.
    fn of(self, definition: &Definition) -> String {
        match self {
            Setting::Goal => goal(&definition.aims),
            Setting::Limits => limits(&definition.aims),
            Setting::Strategy => format!("`{}`", definition.strategy),
            Setting::Seed => definition.seed.to_string(),
            Setting::Initial => match definition.n_initial {
                Some(n) => n.to_string(),
                None => "the default".to_owned(),
            },
            Setting::Linked => linked(&definition.linked),
        }
    }
}

fn goal(aims: &Aims) -> String {
    let Goal { measure, sense } = aims.goal();
    format!("{} `{measure}`", sense.name())
}

fn limits(aims: &Aims) -> String {
    let each = aims.limits().iter().map(Limit::to_string);
    none_or(&each.collect::<Vec<_>>())
}

fn linked(links: &[Link]) -> String {
    let each = links
        .iter()
        .map(|(one, other)| format!("`{one}` and `{other}`"));
    none_or(&each.collect::<Vec<_>>())
}

fn none_or(parts: &[String]) -> String {
    if parts.is_empty() {
        return "none".to_owned();
    }
    parts.join(", ")
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Setting::Goal => "the goal",
            Setting::Limits => "limits",
            Setting::Strategy => "strategy",
            Setting::Seed => "seed",
            Setting::Initial => "n_initial",
            Setting::Linked => "linked",
        })
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Space(difference) => difference.fmt(f),
            Difference::Setting { setting, was, is } => match setting {
                Setting::Limits | Setting::Linked => {
                    write!(f, "{setting} changed: were {was}, are {is}")
                }
                _ => write!(f, "{setting} was {was}, is {is}"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mivabo::Space;
    use mivabo::measure::Sense;

    #[test]
    fn each_setting_that_differs_is_named_with_both_values() {
        let space = Space::from_toml("parameters.x = { type = 'bool' }").unwrap();
        let was = Definition::new(space);
        let limits = vec![Limit::parse("latency", "<= 20").unwrap()];
        let goals = vec![Goal {
            measure: "loss".to_owned(),
            sense: Sense::Maximize,
        }];
        let is = Definition {
            aims: Aims::new(goals, limits).unwrap(),
            strategy: "random".to_owned(),
            seed: 1,
            n_initial: Some(10),
            linked: vec![("a".to_owned(), "b".to_owned())],
            ..was.clone()
        };

        let said: Vec<String> = is
            .differences(&was)
            .iter()
            .map(Difference::to_string)
            .collect();

        assert_eq!(
            said,
            [
                "the goal was minimize `value`, is maximize `loss`",
                "limits changed: were none, are latency <= 20",
                "strategy was `improvement`, is `random`",
                "seed was 0, is 1",
                "n_initial was the default, is 10",
                "linked changed: were none, are `a` and `b`",
            ]
        );
        assert!(is.differences(&is.clone()).is_empty());
    }
}
