//! What an evaluation gives and what is wanted of it: finite numbers by name, goals, limits, and which trial is better.
//!
//! This room knows nothing of spaces and points: it says how good an outcome is, not where it came from.

use std::cmp::Ordering;
use std::collections::{BTreeMap, btree_map};
use std::fmt;

use serde::{Deserialize, Serialize};

/// The name of the measure that a bare number stands for.
pub const VALUE: &str = "value";

/// Finite numbers by name, in the order of their names.
///
/// ```
/// use mivabo::measure::Measured;
///
/// let mut measured = Measured::default();
/// measured.insert("loss", 0.25)?;
/// measured.insert("size", 12.0)?;
///
/// assert_eq!(measured.get("loss"), Some(0.25));
/// assert!(measured.insert("time", f64::NAN).is_err());
/// # Ok::<(), mivabo::measure::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, f64>")]
pub struct Measured(BTreeMap<String, f64>);

impl TryFrom<BTreeMap<String, f64>> for Measured {
    type Error = Error;

    fn try_from(numbers: BTreeMap<String, f64>) -> Result<Measured, Error> {
        let mut measured = Measured::default();
        for (measure, value) in numbers {
            measured.insert(measure, value)?;
        }
        Ok(measured)
    }
}

impl Measured {
    /// One number.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn of(measure: impl Into<String>, value: f64) -> Result<Measured, Error> {
        let mut measured = Measured::default();
        measured.insert(measure, value)?;
        Ok(measured)
    }

    /// Adds a number, or replaces the one of this name.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::BadName`].
    pub fn insert(&mut self, measure: impl Into<String>, value: f64) -> Result<(), Error> {
        let measure = measure.into();
        check_name(&measure)?;
        if !value.is_finite() {
            return Err(Error::NotFinite { measure, value });
        }
        self.0.insert(measure, value);
        Ok(())
    }

    /// The number of this name.
    pub fn get(&self, measure: &str) -> Option<f64> {
        self.0.get(measure).copied()
    }

    /// Names and numbers, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.into_iter()
    }

    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> IntoIterator for &'a Measured {
    type Item = (&'a str, f64);
    type IntoIter = std::iter::Map<
        btree_map::Iter<'a, String, f64>,
        fn((&'a String, &'a f64)) -> (&'a str, f64),
    >;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }
}

/// How an evaluation ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It came to its end, and this was measured.
    Complete(Measured),
    /// It was stopped because it did not look promising; this was measured until then.
    Stopped(Measured),
    /// It failed.
    Failed {
        /// Why.
        reason: String,
        /// What was measured all the same.
        measured: Measured,
    },
}

impl Outcome {
    /// A single number. One that is not finite makes it a failed evaluation.
    pub fn of(measure: &str, value: f64) -> Outcome {
        match Measured::of(measure, value) {
            Ok(measured) => Outcome::Complete(measured),
            Err(error) => Outcome::failed(error.to_string()),
        }
    }

    /// An evaluation that failed and measured nothing.
    pub fn failed(reason: impl Into<String>) -> Outcome {
        Outcome::Failed {
            reason: reason.into(),
            measured: Measured::default(),
        }
    }

    /// What was measured, however it ended.
    pub fn measured(&self) -> &Measured {
        match self {
            Outcome::Complete(measured)
            | Outcome::Stopped(measured)
            | Outcome::Failed { measured, .. } => measured,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Complete(measured) => write!(f, "has {measured}"),
            Outcome::Stopped(measured) if measured.is_empty() => f.write_str("was stopped"),
            Outcome::Stopped(measured) => write!(f, "was stopped with {measured}"),
            Outcome::Failed { reason, .. } => write!(f, "failed: {reason}"),
        }
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (measure, value)) in self.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            match measure {
                VALUE => write!(f, "{comma}the value {value}")?,
                _ => write!(f, "{comma}`{measure}` {value}")?,
            }
        }
        Ok(())
    }
}

/// Whether low numbers are good or high ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sense {
    /// Low numbers are good.
    #[default]
    Minimize,
    /// High numbers are good.
    Maximize,
}

impl Sense {
    /// Both, by the name that files and commands use.
    pub const NAMES: [(&str, Sense); 2] =
        [("minimize", Sense::Minimize), ("maximize", Sense::Maximize)];

    /// The sense of this name.
    pub fn named(name: &str) -> Option<Sense> {
        let found = Sense::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, sense)| *sense)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Sense::Minimize => "minimize",
            Sense::Maximize => "maximize",
        }
    }

    /// A number for a model that always minimizes, and back.
    pub fn turned(self, value: f64) -> f64 {
        match self {
            Sense::Minimize => value,
            Sense::Maximize => -value,
        }
    }
}

/// A measure that is to be made small or large.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goal {
    /// The measure.
    pub measure: String,
    /// Whether it should be small or large.
    pub sense: Sense,
}

/// On which side of its bound a limited measure must lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Relation {
    /// At or below it.
    #[serde(rename = "<=")]
    AtMost,
    /// At or above it.
    #[serde(rename = ">=")]
    AtLeast,
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Relation::AtMost => "<=",
            Relation::AtLeast => ">=",
        })
    }
}

/// A bound that a measure must keep, which is not known before the evaluation: `latency <= 20`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// The measure.
    pub measure: String,
    /// The side.
    pub relation: Relation,
    /// The bound, which is finite.
    pub bound: f64,
}

impl Limit {
    /// Reads the text of a limit: `<= 20` or `>= 0.9`.
    ///
    /// # Errors
    /// [`Error::BadLimit`].
    pub fn parse(measure: &str, text: &str) -> Result<Limit, Error> {
        let text = text.trim();
        let at_most = text.strip_prefix("<=").map(|n| (Relation::AtMost, n));
        let at_least = text.strip_prefix(">=").map(|n| (Relation::AtLeast, n));
        let limit = at_most.or(at_least).and_then(|(relation, number)| {
            let bound: f64 = number.trim().parse().ok()?;
            bound.is_finite().then(|| Limit {
                measure: measure.to_owned(),
                relation,
                bound,
            })
        });
        limit.ok_or_else(|| Error::BadLimit {
            measure: measure.to_owned(),
            text: text.to_owned(),
        })
    }

    /// What stands to the right of the measure: `<= 20`.
    pub fn condition(&self) -> String {
        format!("{} {}", self.relation, self.bound)
    }

    /// Whether the numbers keep it. A measure that is missing does not.
    pub fn is_kept(&self, measured: &Measured) -> bool {
        let keeps = |value: f64| match self.relation {
            Relation::AtMost => value <= self.bound,
            Relation::AtLeast => value >= self.bound,
        };
        measured.get(&self.measure).is_some_and(keeps)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.measure, self.condition())
    }
}

/// What is wanted: a goal, and the limits that its trials should keep.
#[derive(Debug, Clone, PartialEq)]
pub struct Aims {
    goal: Goal,
    limits: Vec<Limit>,
}

impl Default for Aims {
    /// A small [`VALUE`].
    fn default() -> Aims {
        Sense::Minimize.into()
    }
}

impl From<Sense> for Aims {
    /// A small or a large [`VALUE`].
    fn from(sense: Sense) -> Aims {
        Aims {
            goal: Goal {
                measure: VALUE.to_owned(),
                sense,
            },
            limits: Vec::new(),
        }
    }
}

impl Aims {
    /// These goals, of which there must be one, under these limits.
    ///
    /// # Errors
    /// [`Error::Goals`] when there is not exactly one goal, [`Error::BadName`], and [`Error::BadLimit`] for a bound that is
    /// not finite.
    pub fn new(goals: Vec<Goal>, limits: Vec<Limit>) -> Result<Aims, Error> {
        let n = goals.len();
        let mut goals = goals.into_iter();
        let (Some(goal), None) = (goals.next(), goals.next()) else {
            return Err(Error::Goals { n });
        };
        check_name(&goal.measure)?;
        for limit in &limits {
            check_name(&limit.measure)?;
            if !limit.bound.is_finite() {
                return Err(Error::BadLimit {
                    measure: limit.measure.clone(),
                    text: limit.condition(),
                });
            }
        }
        Ok(Aims { goal, limits })
    }

    /// The goal.
    pub fn goal(&self) -> &Goal {
        &self.goal
    }

    /// The limits.
    pub fn limits(&self) -> &[Limit] {
        &self.limits
    }

    /// The goal's number where an evaluation came to its end.
    pub fn value(&self, outcome: &Outcome) -> Option<f64> {
        match outcome {
            Outcome::Complete(measured) => measured.get(&self.goal.measure),
            Outcome::Stopped(_) | Outcome::Failed { .. } => None,
        }
    }

    /// Whether every limit is kept.
    pub fn keeps_limits(&self, measured: &Measured) -> bool {
        self.limits.iter().all(|limit| limit.is_kept(measured))
    }

    /// Where an evaluation stands among others, if it can be compared: see [`Rank`].
    pub fn rank(&self, outcome: &Outcome) -> Option<Rank> {
        let value = self.value(outcome)?;
        Some(Rank {
            breaks_limits: !self.keeps_limits(outcome.measured()),
            cost: self.goal.sense.turned(value),
        })
    }

    /// Those that came to their end, the best first; of equal ones the first comes first.
    pub fn ranking<'a, T>(&self, all: impl IntoIterator<Item = (T, &'a Outcome)>) -> Vec<T> {
        let with_rank = all
            .into_iter()
            .filter_map(|(what, outcome)| Some((self.rank(outcome)?, what)));
        let mut ranked: Vec<(Rank, T)> = with_rank.collect();
        // A stable sort: of equal ones, the first was there first.
        ranked.sort_by(|(a, _), (b, _)| a.compare(b));
        ranked.into_iter().map(|(_, what)| what).collect()
    }

    /// What an evaluation counts as: one that lacks the goal's number has failed.
    #[must_use]
    pub fn judged(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Complete(measured) if measured.get(&self.goal.measure).is_none() => {
                Outcome::Failed {
                    reason: format!("`{}` was not measured", self.goal.measure),
                    measured,
                }
            }
            other => other,
        }
    }
}

/// Where an evaluation stands: those that keep the limits come first, and then the better ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rank {
    /// Whether it breaks a limit.
    pub breaks_limits: bool,
    /// The goal's number, turned so that low is good.
    pub cost: f64,
}

impl Rank {
    /// The order of ranks, the best first. Costs are finite, and -0 equals 0.
    pub fn compare(&self, other: &Rank) -> Ordering {
        let by_limits = self.breaks_limits.cmp(&other.breaks_limits);
        let by_cost = || {
            self.cost
                .partial_cmp(&other.cost)
                .unwrap_or(Ordering::Equal)
        };
        by_limits.then_with(by_cost)
    }
}

fn check_name(measure: &str) -> Result<(), Error> {
    let is_bad = |c: char| c == '`' || c.is_control();
    if measure.trim().is_empty() || measure.contains(is_bad) {
        return Err(Error::BadName {
            measure: measure.to_owned(),
        });
    }
    Ok(())
}

/// What is wrong with a measure, a goal or a limit.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// NaN or infinite.
    #[error("{}", not_finite(measure, *value))]
    NotFinite {
        /// The measure.
        measure: String,
        /// The number.
        value: f64,
    },
    /// An empty name, or one with a backtick or a control character.
    #[error(
        "the name {measure:?} of a measure is empty or contains a backtick or a control character"
    )]
    BadName {
        /// The name.
        measure: String,
    },
    /// No goal, or several.
    #[error("{n} goals: exactly one is needed; studies with several goals are not supported yet")]
    Goals {
        /// How many there are.
        n: usize,
    },
    /// A text that is not a limit.
    #[error("limit of `{measure}`: expected \"<= NUMBER\" or \">= NUMBER\", not \"{text}\"")]
    BadLimit {
        /// The measure.
        measure: String,
        /// The text.
        text: String,
    },
}

fn not_finite(measure: &str, value: f64) -> String {
    match measure {
        VALUE => format!("the value is {value}"),
        _ => format!("`{measure}` is {value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(pairs: &[(&str, f64)]) -> Measured {
        let mut measured = Measured::default();
        for (name, value) in pairs {
            measured.insert(*name, *value).unwrap();
        }
        measured
    }

    fn aims() -> Aims {
        let goal = Goal {
            measure: "accuracy".to_owned(),
            sense: Sense::Maximize,
        };
        let limits = [("latency", "<= 20"), ("accuracy", ">= 0.5")]
            .map(|(measure, text)| Limit::parse(measure, text).unwrap());
        Aims::new(vec![goal], limits.to_vec()).unwrap()
    }

    #[test]
    fn those_that_keep_the_limits_come_first_and_then_the_better_ones() {
        let outcomes = [
            Outcome::Complete(measured(&[("accuracy", 0.99), ("latency", 21.0)])),
            Outcome::Complete(measured(&[("accuracy", 0.7), ("latency", 20.0)])),
            Outcome::Failed {
                reason: "memory".to_owned(),
                measured: measured(&[("accuracy", 1.0), ("latency", 1.0)]),
            },
            Outcome::Complete(measured(&[("accuracy", 0.8), ("latency", 3.0)])),
            Outcome::Stopped(measured(&[("accuracy", 0.9), ("latency", 3.0)])),
            Outcome::Complete(measured(&[("accuracy", 0.995)])),
            Outcome::Complete(measured(&[("accuracy", 0.7), ("latency", 1.0)])),
        ];

        assert_eq!(aims().ranking(outcomes.iter().enumerate()), [3, 1, 6, 5, 0]);
    }

    #[test]
    fn an_evaluation_without_the_number_of_the_goal_has_failed_and_keeps_the_others() {
        let judged = aims().judged(Outcome::Complete(measured(&[("latency", 3.0)])));

        assert_eq!(judged.to_string(), "failed: `accuracy` was not measured");
        assert_eq!(judged.measured().get("latency"), Some(3.0));
    }

    #[test]
    fn a_limit_reads_what_it_writes_and_refuses_the_rest() {
        let limit = Limit::parse("latency", " >=-1.5e3 ").unwrap();

        assert_eq!(limit.to_string(), "latency >= -1500");
        assert_eq!(Limit::parse("latency", &limit.condition()), Ok(limit));
        for text in ["", "20", "< 20", "<= soon", "<= inf", ">= nan", "== 2"] {
            let refused = Limit::parse("latency", text).unwrap_err().to_string();
            assert!(
                refused.contains("limit of `latency`: expected"),
                "{refused}"
            );
        }
    }

    #[test]
    fn aims_need_one_goal() {
        let goal = aims().goal().clone();

        assert_eq!(Aims::new(vec![], vec![]), Err(Error::Goals { n: 0 }));
        let two = Aims::new(vec![goal.clone(), goal], vec![]).unwrap_err();
        assert!(
            two.to_string()
                .starts_with("2 goals: exactly one is needed"),
            "{two}"
        );
    }

    #[test]
    fn what_is_not_finite_is_a_failure_that_says_so() {
        let outcome = Outcome::of(VALUE, f64::NAN);

        assert_eq!(outcome, Outcome::failed("the value is NaN"));
        assert_eq!(
            Outcome::of("loss", f64::INFINITY).to_string(),
            "failed: `loss` is inf"
        );
    }
}
