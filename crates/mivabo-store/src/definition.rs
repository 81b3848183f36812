//! What a study was made from, as canonical JSON.
//!
//! ```text
//! { "direction": "minimize", "strategy": "thompson", "seed": 7, "n_initial": null, "space": { "parameters": … } }
//! ```
//!
//! Links between parameters are under `"model"`, where there are any. Equal definitions have equal texts, so that a study opens
//! from wherever it is defined in the same way. Each parameter, constraint and link has a line of its own: where two definitions
//! differ, that line is shown.

use std::collections::BTreeMap;

use mivabo::Space;
use mivabo::measure::{Aims, Goal, Limit, Sense};
use mivabo::strategy::{Link, Strategy};
use mivabo::study::Spec;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::error::Error;

/// Brackets around this many others are broken into lines: the study, its space, and the tables of that.
const LINE_DEPTH: usize = 3;

/// What a study is about and how it is searched.
#[derive(Debug, Clone)]
pub struct Definition {
    /// Parameters and constraints.
    pub space: Space,
    /// What is wanted of its trials.
    pub aims: Aims,
    /// A name that [`Strategy::named`] knows.
    pub strategy: String,
    /// Where all randomness comes from.
    pub seed: u64,
    /// The number of trials in the initial design; none for the default.
    pub n_initial: Option<usize>,
    /// Pairs of parameters that are known to interact, for strategies with `products=linked`.
    pub linked: Vec<Link>,
}

impl Definition {
    /// The space, to be minimised over by the default strategy.
    pub fn new(space: Space) -> Definition {
        let strategy = default_strategy().to_owned();
        Definition {
            space,
            aims: Aims::default(),
            strategy,
            seed: 0,
            n_initial: None,
            linked: Vec::new(),
        }
    }

    /// The canonical text.
    pub fn to_json(&self) -> String {
        let aims = written(&self.aims);
        let n_initial = self.n_initial.map_or("null".to_owned(), |n| n.to_string());
        // Only where there are any: definitions from before there were links stay what they are.
        let model = match self.linked.as_slice() {
            [] => String::new(),
            linked => format!(r#""model":{},"#, json!({ "linked": linked })),
        };
        broken(&format!(
            r#"{{{aims},"strategy":{:?},"seed":{},"n_initial":{n_initial},{model}"space":{}}}"#,
            self.strategy,
            self.seed,
            self.space.to_json()
        ))
    }

    /// Reads what [`to_json`](Self::to_json) writes.
    ///
    /// # Errors
    /// [`Error::BadDefinition`]; [`Error::Study`] when the space is not valid or the strategy unknown.
    pub fn from_json(text: &str) -> Result<Definition, Error> {
        let bad = |why: String| Error::BadDefinition { why };
        let text: Text = serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
        let aims = text.aims().map_err(|error| bad(error.to_string()))?;
        let space = Space::from_json(text.space.get())?;
        let definition = Definition {
            space,
            aims,
            strategy: text.strategy,
            seed: text.seed,
            n_initial: text.n_initial,
            linked: text.model.linked,
        };
        definition.strategy()?;
        Ok(definition)
    }

    /// The strategy that its name stands for, with the links.
    ///
    /// # Errors
    /// [`Error::Study`] when it is unknown, or does not go with the links or the space.
    pub fn strategy(&self) -> Result<Strategy, Error> {
        let strategy = Strategy::named(&self.strategy)?.with_links(&self.linked)?;
        strategy.check(&self.space)?;
        Ok(strategy)
    }

    /// What a [`mivabo::Study`] is asked to do.
    ///
    /// # Errors
    /// As [`strategy`](Self::strategy).
    pub fn spec(&self) -> Result<Spec, Error> {
        Ok(Spec {
            aims: self.aims.clone(),
            strategy: self.strategy()?,
            seed: self.seed,
            n_initial: self.n_initial,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    direction: Option<String>,
    goals: Option<BTreeMap<String, String>>,
    limits: Option<BTreeMap<String, String>>,
    strategy: String,
    seed: u64,
    n_initial: Option<usize>,
    #[serde(default)]
    model: Model,
    space: Box<RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Model {
    linked: Vec<Link>,
}

/// The name of the strategy that is used when none is asked for.
pub fn default_strategy() -> &'static str {
    let default = Strategy::default();
    let is_default = |name: &&&str| Strategy::named(name).is_ok_and(|strategy| strategy == default);
    Strategy::NAMES
        .iter()
        .find(is_default)
        .copied()
        .unwrap_or("random")
}

impl Text {
    fn aims(&self) -> Result<Aims, AimsError> {
        let said = Said {
            direction: self.direction.as_deref(),
            goals: self.goals.as_ref(),
            limits: self.limits.as_ref(),
        };
        said.aims()
    }
}

/// What a file, a text or a caller says about the aims of a study.
#[derive(Debug, Clone, Copy, Default)]
pub struct Said<'a> {
    /// `minimize` or `maximize`, for the measure `value`.
    pub direction: Option<&'a str>,
    /// Measures, and `minimize` or `maximize`.
    pub goals: Option<&'a BTreeMap<String, String>>,
    /// Measures, and bounds such as `<= 20`.
    pub limits: Option<&'a BTreeMap<String, String>>,
}

impl Said<'_> {
    /// What it means; a small `value` where nothing is said.
    ///
    /// # Errors
    /// What is wrong with it, and under which key.
    pub fn aims(&self) -> Result<Aims, AimsError> {
        let goals = match (self.direction, self.goals) {
            (Some(_), Some(_)) => return Err(AimsError::DirectionAndGoals),
            (direction, None) => {
                let sense = sense("direction", direction.unwrap_or(Sense::Minimize.name()))?;
                vec![Aims::from(sense).goal().clone()]
            }
            (None, Some(goals)) => goals
                .iter()
                .map(|(measure, text)| {
                    Ok(Goal {
                        measure: measure.clone(),
                        sense: sense(&format!("goals.{measure}"), text)?,
                    })
                })
                .collect::<Result<_, AimsError>>()?,
        };
        let limits = self.limits.into_iter().flatten();
        let limits: Result<Vec<Limit>, _> = limits
            .map(|(measure, text)| Limit::parse(measure, text))
            .collect();
        Ok(Aims::new(goals, limits?)?)
    }
}

/// What is wrong with what is said about the aims of a study.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AimsError {
    /// One is short for the other.
    #[error("`direction` and `goals` are given; only one of them can be")]
    DirectionAndGoals,
    /// A goal that is neither of the two.
    #[error("{key}: expected \"minimize\" or \"maximize\", not \"{text}\"")]
    Sense {
        /// Where it was said: `direction`, or `goals.` and a measure.
        key: String,
        /// What was said.
        text: String,
    },
    /// A measure, a limit, or how many goals there are.
    #[error(transparent)]
    Measure(#[from] mivabo::measure::Error),
}

fn sense(key: &str, text: &str) -> Result<Sense, AimsError> {
    Sense::named(text).ok_or_else(|| AimsError::Sense {
        key: key.to_owned(),
        text: text.to_owned(),
    })
}

/// The aims as keys of an object. What `direction` can say is said so, as it always was.
fn written(aims: &Aims) -> String {
    let Goal { measure, sense } = aims.goal();
    if *aims == Aims::from(*sense) {
        return format!(r#""direction":"{}""#, sense.name());
    }
    let goals = BTreeMap::from([(measure, sense.name())]);
    let limits: BTreeMap<&str, String> = aims
        .limits()
        .iter()
        .map(|limit| (limit.measure.as_str(), limit.condition()))
        .collect();
    format!(r#""goals":{},"limits":{}"#, json!(goals), json!(limits))
}

/// JSON without line breaks, broken into lines down to [`LINE_DEPTH`].
fn broken(json: &str) -> String {
    let mut out = String::new();
    let (mut depth, mut in_text, mut is_escaped) = (0_usize, false, false);
    for c in json.chars() {
        // Brackets and commas within a text are none.
        let is_structure = !in_text;
        in_text ^= c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        let closes = is_structure && matches!(c, '}' | ']');
        if closes {
            if depth <= LINE_DEPTH {
                out.push('\n');
            }
            depth = depth.saturating_sub(1);
        }
        out.push(c);
        depth += usize::from(is_structure && matches!(c, '{' | '['));
        if is_structure && matches!(c, '{' | '[' | ',') && depth <= LINE_DEPTH {
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition() -> Definition {
        let space = r#"{"parameters": {"x, y\"{": {"type": "choice", "values": ["{", "\\", "a,b"]},
            "n": {"type": "int", "low": 1, "high": 3}}}"#;
        let space = space.replace(r#"x, y\"{"#, "x");
        Definition {
            seed: u64::MAX,
            n_initial: Some(3),
            strategy: "improvement:draws=no".to_owned(),
            ..Definition::new(Space::from_json(&space).unwrap())
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        let one = definition();

        let other = Definition::from_json(&one.to_json()).unwrap();

        assert_eq!(other.to_json(), one.to_json());
        assert_eq!(other.space.fingerprint(), one.space.fingerprint());
        assert_eq!((other.seed, other.n_initial), (u64::MAX, Some(3)));
        assert_eq!(other.strategy, "improvement:draws=no");
    }

    #[test]
    fn links_are_stored_and_those_of_others_are_refused() {
        let space = r#"{"parameters": {"n": {"type": "int", "low": 1, "high": 3}, "x": {"type": "float", "low": 0, "high": 1}}}"#;
        let link = |one: &str| vec![(one.to_owned(), "x".to_owned())];
        let one = Definition {
            strategy: "thompson:products=linked".to_owned(),
            linked: link("n"),
            ..Definition::new(Space::from_json(space).unwrap())
        };

        let other = Definition::from_json(&one.to_json()).unwrap();

        let line = r#"["n","x"]"#;
        assert!(
            one.to_json().lines().any(|l| l == line),
            "{}",
            one.to_json()
        );
        assert_eq!(
            (other.to_json(), &other.linked),
            (one.to_json(), &one.linked)
        );
        let refused = |definition: Definition| definition.spec().unwrap_err().to_string();
        let strange = Definition {
            linked: link("m"),
            ..one.clone()
        };
        assert_eq!(
            refused(strange),
            "`m` and `x` cannot be linked: there is no parameter `m`"
        );
        let none = Definition {
            linked: vec![],
            ..one.clone()
        };
        assert!(refused(none).contains("`products=linked` needs the pairs"));
        let unused = Definition {
            strategy: "thompson".to_owned(),
            ..one
        };
        assert!(refused(unused).starts_with("`linked` is for strategies with `products=linked`"));
    }

    #[test]
    fn each_parameter_has_a_line() {
        let text = definition().to_json();

        let line = r#""n":{"type":"int","low":1,"high":3}"#;
        assert!(text.lines().any(|l| l == line), "{text}");
        assert!(
            text.lines().any(|l| l == r#""seed":18446744073709551615,"#),
            "{text}"
        );
    }

    #[test]
    fn the_default_strategy_has_a_name() {
        assert_eq!(
            Strategy::named(default_strategy()).unwrap(),
            Strategy::default()
        );
    }

    #[test]
    fn wrong_definitions_are_refused() {
        let text = definition().to_json();
        for (from, to) in [
            ("minimize", "up"),
            ("n_initial", "initial"),
            ("improvement", "improvment"),
            ("draws", "drawn"),
            ("int", "itn"),
        ] {
            assert!(
                Definition::from_json(&text.replace(from, to)).is_err(),
                "{to}"
            );
        }
        assert!(Definition::from_json("").is_err());
    }
}
