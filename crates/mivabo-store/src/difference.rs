//! One thing that a definition has otherwise than an earlier one, in words.

use std::fmt;

use mivabo::space;

/// One thing that a definition has otherwise than an earlier one.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum DefinitionDifference {
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

impl DefinitionDifference {
    /// The setting that differs, if it is one.
    pub fn setting(&self) -> Option<Setting> {
        match self {
            DefinitionDifference::Setting { setting, .. } => Some(*setting),
            DefinitionDifference::Space(_) => None,
        }
    }
}

impl Setting {
    pub(crate) const ALL: [Setting; 6] = [
        Setting::Goal,
        Setting::Limits,
        Setting::Strategy,
        Setting::Seed,
        Setting::Initial,
        Setting::Linked,
    ];
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

impl fmt::Display for DefinitionDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DefinitionDifference::Space(difference) => difference.fmt(f),
            DefinitionDifference::Setting { setting, was, is } => match setting {
                Setting::Limits | Setting::Linked => {
                    write!(f, "{setting} changed: were {was}, are {is}")
                }
                _ => write!(f, "{setting} was {was}, is {is}"),
            },
        }
    }
}
