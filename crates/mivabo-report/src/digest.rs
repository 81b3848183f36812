//! What every chart needs: the trials of a report enter; the best one, ranks, colours and the scale of values leave.

use std::collections::BTreeSet;

use mivabo::measure::{Outcome, Rank, Sense};

use crate::scale::Scale;
use crate::svg::{Plot, Svg};
use crate::{Report, Row};

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

/// The trials of a report, looked at once.
#[derive(Debug)]
pub(crate) struct Digest<'a> {
    pub report: &'a Report<'a>,
    /// The trials by number.
    pub rows: Vec<&'a Row>,
    /// For each row whether its point satisfies all constraints.
    pub is_feasible: Vec<bool>,
    /// Rows with a value, the worst first.
    pub ranked: Vec<usize>,
    /// The feasible row with the best value.
    pub best: Option<usize>,
    /// Origins in the order of their first trials.
    pub origins: Vec<&'a str>,
    pub scale: Scale,
}

impl<'a> Digest<'a> {
    pub fn new(report: &'a Report<'a>) -> Digest<'a> {
        let mut rows: Vec<&Row> = report.trials.iter().collect();
        rows.sort_by_key(|row| row.trial.id);
        let is_feasible: Vec<bool> = rows
            .iter()
            .map(|row| report.space.check(row.trial.point()).is_feasible())
            .collect();
        let ranked = ranked(report, &rows);
        let best = ranked.iter().rev().copied().find(|at| is_feasible[*at]);
        let mut origins = Vec::new();
        for origin in rows.iter().filter_map(|row| row.origin.as_deref()) {
            if !origins.contains(&origin) {
                origins.push(origin);
            }
        }
        let values: Vec<f64> = ranked
            .iter()
            .filter_map(|at| value(report, rows[*at]))
            .collect();
        let scale = value_scale(&values);
        Digest {
            report,
            rows,
            is_feasible,
            ranked,
            best,
            origins,
            scale,
        }
    }

    /// At most about `limit` rows with a value, in order, evenly spread, and up to a tenth each of the best ones and of
    /// the last ones that improved on all before.
    pub fn thinned(&self, limit: usize) -> Vec<usize> {
        let with_value = self
            .rows
            .iter()
            .enumerate()
            .filter(|(_, row)| self.value(row).is_some());
        let all: Vec<usize> = with_value.map(|(at, _)| at).collect();
        if all.len() <= limit {
            return all;
        }
        let mut kept: Vec<usize> = all
            .iter()
            .copied()
            .step_by(all.len().div_ceil(limit))
            .collect();
        kept.extend(self.ranked.iter().rev().take(limit / 10));
        kept.extend(
            self.improvements()
                .into_iter()
                .rev()
                .map(|(at, _)| at)
                .take(limit / 10),
        );
        kept.sort_unstable();
        kept.dedup();
        kept
    }

    /// The feasible rows that improved on all before, and their values.
    pub fn improvements(&self) -> Vec<(usize, f64)> {
        let mut found: Vec<(usize, f64)> = Vec::new();
        let mut best: Option<Rank> = None;
        let rows = self.rows.iter().enumerate();
        for (at, row) in rows.filter(|(at, _)| self.is_feasible[*at]) {
            let Some((rank, value)) = rank(self.report, row).zip(self.value(row)) else {
                continue;
            };
            if best.is_none_or(|best| rank.compare(&best).is_lt()) {
                best = Some(rank);
                found.push((at, value));
            }
        }
        found
    }

    /// The goal's number, if a row has one.
    pub fn value(&self, row: &Row) -> Option<f64> {
        value(self.report, row)
    }

    /// What was measured beside the goal, in any row.
    pub fn measures(&self) -> BTreeSet<&'a str> {
        let goal = self.report.aims.goal().measure.as_str();
        let outcomes = self.rows.iter().filter_map(|row| row.trial.outcome());
        let names = outcomes.flat_map(|outcome| outcome.measured().iter());
        names
            .map(|(name, _)| name)
            .filter(|name| *name != goal)
            .collect()
    }

    /// Told rows without a value.
    pub fn failed(&self) -> Vec<usize> {
        let failed = |row: &Row| matches!(row.trial.outcome(), Some(Outcome::Failed { .. }));
        (0..self.rows.len())
            .filter(|at| failed(self.rows[*at]))
            .collect()
    }

    /// The number of the colour of an origin.
    pub fn colour_of(&self, row: &Row) -> usize {
        let known = row
            .origin
            .as_deref()
            .and_then(|origin| self.origins.iter().position(|o| *o == origin));
        known.unwrap_or(0).min(N_ORIGINS - 1)
    }

    /// A dot for a row at a place of the x-axis; a triangle at the edge where its value lies beyond the scale.
    pub fn mark(&self, svg: &mut Svg, plot: &Plot, (at, x): (usize, f64), class: &str) {
        let row = self.rows[at];
        let Some(value) = self.value(row) else {
            return;
        };
        let place = plot.y.place(value);
        let trial = Some(row.trial.id);
        let class = if self.is_feasible[at] {
            class.to_owned()
        } else {
            format!("{class} hollow")
        };
        if (-0.001..=1.001).contains(&place) {
            let r = if self.ranked.len() > SMALL_FROM {
                2.0
            } else {
                3.0
            };
            svg.circle(&class, trial, plot.at(x, place), r);
            return;
        }
        let (x, y) = plot.at(x, place.clamp(0.0, 1.0));
        let up = if place > 0.5 { -6.0 } else { 6.0 };
        svg.path(
            &class,
            trial,
            &format!("M{:.1} {y:.1}h7l-3.5 {up}z", x - 3.5),
        );
    }

    /// The ring around the best trial.
    pub fn ring(&self, svg: &mut Svg, plot: &Plot, x: f64) {
        if let Some(value) = self.best.and_then(|at| self.value(self.rows[at])) {
            svg.circle(
                "ring",
                None,
                plot.at(x, plot.y.place(value).clamp(0.0, 1.0)),
                6.5,
            );
        }
    }

    /// How many values lie beyond the scale.
    pub fn n_beyond(&self) -> usize {
        let is_beyond = |at: &&usize| {
            let place = self
                .value(self.rows[**at])
                .map_or(0.5, |value| self.scale.place(value));
            !(-0.001..=1.001).contains(&place)
        };
        self.ranked.iter().filter(is_beyond).count()
    }

    /// "lower" or "higher".
    pub fn better(&self) -> &'static str {
        match self.report.aims.goal().sense {
            Sense::Minimize => "lower",
            Sense::Maximize => "higher",
        }
    }
}

/// The class of a rank among `n`: r0 for the first ones, r6 for the last.
pub(crate) fn rank_class(rank: usize, n: usize) -> String {
    format!(
        "r{}",
        (N_RANKS * (rank + 1)).div_ceil(n.max(1)).clamp(1, N_RANKS) - 1
    )
}

fn value(report: &Report<'_>, row: &Row) -> Option<f64> {
    report.aims.value(row.trial.outcome()?)
}

fn rank(report: &Report<'_>, row: &Row) -> Option<Rank> {
    report.aims.rank(row.trial.outcome()?)
}

/// Rows with a value, the worst first. Of equal ones the first is the best, as in a study.
fn ranked(report: &Report<'_>, rows: &[&Row]) -> Vec<usize> {
    let outcomes = rows.iter().enumerate();
    let outcomes = outcomes.filter_map(|(at, row)| Some((at, row.trial.outcome()?)));
    let mut ranked = report.aims.ranking(outcomes);
    ranked.reverse();
    ranked
}

/// A scale for values of which the worst come first.
pub(crate) fn value_scale(values: &[f64]) -> Scale {
    let (Some(&first), Some(&best)) = (values.first(), values.last()) else {
        return Scale::linear(0.0, 1.0);
    };
    let lowest = values.iter().copied().fold(first, f64::min);
    let highest = values.iter().copied().fold(first, f64::max);
    // Where limits are broken, the best trial need not have the best value.
    let (worst, best) = if first < best {
        (lowest, highest)
    } else {
        (highest, lowest)
    };
    let (low, high) = (lowest, highest);
    if low > 0.0 && high / low >= LOG_FROM {
        let room = 0.03 * (high.ln() - low.ln());
        return Scale::log(
            (low * (-room).exp()).max(5e-324),
            (high * room.exp()).min(f64::MAX),
        );
    }
    // In quarters: differences stay finite.
    let quarter = 0.25 * values[values.len() / 4] - 0.25 * best;
    let whole = 0.25 * worst - 0.25 * best;
    let end = if quarter != 0.0 && whole / quarter > FAR {
        best + 4.0 * (FENCE * quarter)
    } else {
        worst
    };
    let end = end.clamp(-f64::MAX, f64::MAX);
    padded(best.min(end), best.max(end))
}

/// A linear scale with a little room at both ends.
pub(crate) fn padded(low: f64, high: f64) -> Scale {
    let room = 0.08 * (0.5 * high - 0.5 * low);
    Scale::linear((low - room).max(-f64::MAX), (high + room).min(f64::MAX))
}
