//! What every chart needs of a study: its trials in the order of their ranking, the colours of those who proposed them, and
//! the scale of their values.

use std::collections::BTreeMap;

use mivabo::measure::Sense;
use mivabo::view::{Status, StudyView, TrialView};

use crate::drawing::{Element, Plot, Position, Scale};
use crate::text::text_if;

/// Colours there are for origins; further ones share the last.
pub(crate) const N_ORIGINS: usize = 6;

/// Colours there are for ranks.
pub(crate) const N_RANKS: usize = 7;

/// Dots are smaller where there are more trials than this.
const SMALL_FROM: usize = 500;

/// Values are drawn on a logarithmic scale when they are positive and differ by this factor.
const LOG_FROM: f64 = 100.0;

/// Values lie beyond the scale where they are more than four times as far from the best one as three quarters of the
/// trials, if the worst one is more than six times as far.
const FENCE: f64 = 4.0;
const FAR: f64 = 6.0;

/// Places of a scale, with what rounding may add.
const ON_SCALE: std::ops::RangeInclusive<f64> = -0.001..=1.001;

/// The trials of a study as charts look at them.
#[derive(Debug)]
pub(crate) struct Trials<'a> {
    pub view: &'a StudyView,
    /// Complete trials, the worst first.
    pub ranked: Vec<&'a TrialView>,
    /// The feasible trial with the best value.
    pub best: Option<&'a TrialView>,
    /// Who proposed them, in the order of their first trials.
    pub origins: Vec<&'a str>,
    /// The scale of the goal's values.
    pub scale: Scale,
}

impl<'a> Trials<'a> {
    pub fn of(view: &'a StudyView) -> Trials<'a> {
        let ranked: Vec<&TrialView> = view.ranked().rev().collect();
        let values: Vec<f64> = ranked.iter().filter_map(|trial| trial.value).collect();
        Trials {
            view,
            ranked,
            best: view.best_trial(),
            origins: origins(view),
            scale: value_scale(&values),
        }
    }

    /// All of them, by number.
    pub fn all(&self) -> &'a [TrialView] {
        &self.view.trials
    }

    /// The scale of trial numbers.
    pub fn numbers(&self) -> Scale {
        Scale::Whole(self.all().last().map_or(0, |trial| trial.id))
    }

    /// What the axis of values shows.
    pub fn value_title(&self) -> String {
        let log = text_if(matches!(self.scale, Scale::Log(..)), " (log)");
        format!("{}{log}", self.view.goal_name())
    }

    pub fn is_best(&self, trial: &TrialView) -> bool {
        self.view.best == Some(trial.id)
    }

    pub fn failed(&self) -> Vec<&'a TrialView> {
        let failed = |trial: &&TrialView| trial.state == Status::Failed;
        self.all().iter().filter(failed).collect()
    }

    /// At most about `limit` trials with a value, by number, evenly spread, and up to a tenth each of the best ones and of
    /// the last ones that improved on all before.
    pub fn thinned(&self, limit: usize) -> Vec<&'a TrialView> {
        let all = self.with_values();
        if all.len() <= limit {
            return all;
        }
        let few = limit / 10;
        let every = all.len().div_ceil(limit);
        let best = self.ranked.iter().rev().take(few).copied();
        let improved = self.improvements().into_iter().rev().take(few);
        let spread = all.into_iter().step_by(every);
        by_number(spread.chain(best).chain(improved).collect())
    }

    fn with_values(&self) -> Vec<&'a TrialView> {
        let all = self.all().iter();
        all.filter(|trial| trial.value.is_some()).collect()
    }

    /// The feasible trials that improved on all before.
    pub fn improvements(&self) -> Vec<&'a TrialView> {
        // Of equal trials the first has the better place, so a later one never improves on it.
        let places: BTreeMap<u64, usize> = self.view.ranking.iter().copied().zip(0..).collect();
        let mut found = Vec::new();
        let mut best = usize::MAX;
        for trial in self.all().iter().filter(|trial| trial.feasible) {
            if let Some(place) = places.get(&trial.id).filter(|place| **place < best) {
                best = *place;
                found.push(trial);
            }
        }
        found
    }

    /// The class of the colour of a trial's origin.
    pub fn colour(&self, trial: &TrialView) -> String {
        let own = proposer(trial);
        let place = self.origins.iter().position(|origin| own == Some(*origin));
        format!("o{}", place.unwrap_or(0).min(N_ORIGINS - 1))
    }

    /// The dot of a trial at a place of the x-axis; a triangle at the edge where its value lies beyond the scale.
    pub fn dot(&self, plot: &Plot, trial: &TrialView, across: f64, class: &str) -> Option<Element> {
        let place = plot.y.place(trial.value?);
        let hollow = if trial.feasible { "" } else { " hollow" };
        let shape = if ON_SCALE.contains(&place) {
            Element::circle(plot.at(across, place), self.radius())
        } else {
            triangle(plot.at(across, place.clamp(0.0, 1.0)), place > 0.5)
        };
        Some(shape.class(format!("{class}{hollow}")).trial(trial.id))
    }

    fn radius(&self) -> f64 {
        let is_small = self.ranked.len() > SMALL_FROM;
        if is_small { 2.0 } else { 3.0 }
    }

    /// The ring around the best trial, at a place of the x-axis.
    pub fn ring(plot: &Plot, trial: &TrialView, across: f64) -> Option<Element> {
        let up = plot.y.place_or_edge(trial.value?);
        Some(Element::circle(plot.at(across, up), 6.5).class("ring"))
    }

    /// How many values lie beyond the scale.
    pub fn n_beyond(&self) -> usize {
        let values = self.ranked.iter().filter_map(|trial| trial.value);
        let places = values.map(|value| self.scale.place(value));
        places.filter(|place| !ON_SCALE.contains(place)).count()
    }

    /// "lower" or "higher".
    pub fn better(&self) -> &'static str {
        match self.view.goal().map(|goal| goal.sense) {
            Some(Sense::Maximize) => "higher",
            Some(Sense::Minimize) | None => "lower",
        }
    }
}

/// The origin of a trial without the certified gap, which is another one for each trial.
fn proposer(trial: &TrialView) -> Option<&str> {
    let origin = trial.origin.as_deref()?;
    let without = origin.split_once(", gap ").map(|(who, _)| who);
    Some(without.unwrap_or(origin))
}

/// In the order of their first trials.
fn origins(view: &StudyView) -> Vec<&str> {
    let mut found = Vec::new();
    for origin in view.trials.iter().filter_map(proposer) {
        // There are few of them, so a list is searched as fast as a set and keeps the order.
        if !found.contains(&origin) {
            found.push(origin);
        }
    }
    found
}

fn triangle(base: Position, is_up: bool) -> Element {
    let rise = if is_up { -6.0 } else { 6.0 };
    let left = base.x - 3.5;
    Element::path(&format!("M{left:.1} {:.1}h7l-3.5 {rise}z", base.y))
}

/// Each once.
fn by_number(mut trials: Vec<&TrialView>) -> Vec<&TrialView> {
    trials.sort_unstable_by_key(|trial| trial.id);
    trials.dedup_by_key(|trial| trial.id);
    trials
}

/// The class of a rank among `n`: r0 for the first ones, r6 for the last.
pub(crate) fn rank_class(rank: usize, n: usize) -> String {
    let seventh = (N_RANKS * (rank + 1)).div_ceil(n.max(1));
    format!("r{}", seventh.clamp(1, N_RANKS) - 1)
}

/// A scale for values of which the worst come first.
pub(crate) fn value_scale(values: &[f64]) -> Scale {
    let (Some(&first), Some(&last)) = (values.first(), values.last()) else {
        return Scale::linear(0.0, 1.0);
    };
    let lowest = values.iter().copied().fold(first, f64::min);
    let highest = values.iter().copied().fold(first, f64::max);
    if lowest > 0.0 && highest / lowest >= LOG_FROM {
        return padded_log(lowest, highest);
    }
    // Where limits are broken, the best trial need not have the best value.
    let (worst, best) = if first < last {
        (lowest, highest)
    } else {
        (highest, lowest)
    };
    let end = fenced(values[values.len() / 4], worst, best);
    padded(best.min(end), best.max(end))
}

/// Where the scale ends on the worse side: at the worst value, unless that is far beyond three quarters of all.
fn fenced(third_quartile: f64, worst: f64, best: f64) -> f64 {
    // In quarters: differences stay finite.
    let quarter = 0.25 * third_quartile - 0.25 * best;
    let whole = 0.25 * worst - 0.25 * best;
    let is_far = quarter != 0.0 && whole / quarter > FAR;
    let end = if is_far {
        best + 4.0 * (FENCE * quarter)
    } else {
        worst
    };
    end.clamp(-f64::MAX, f64::MAX)
}

/// A linear scale with a little room at both ends.
fn padded(low: f64, high: f64) -> Scale {
    let room = 0.08 * (0.5 * high - 0.5 * low);
    Scale::linear((low - room).max(-f64::MAX), (high + room).min(f64::MAX))
}

/// A logarithmic scale with a little room at both ends, whose lower one stays above 0.
fn padded_log(low: f64, high: f64) -> Scale {
    const LEAST: f64 = 5e-324;
    let room = 0.03 * (high.ln() - low.ln());
    Scale::log(
        (low * (-room).exp()).max(LEAST),
        (high * room.exp()).min(f64::MAX),
    )
}
