//! How many of the told trials a study learns from, and why not from the others.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use mivabo::{Study, counted};

/// How many of the told trials a study learns from, once its space was revised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Teaching {
    /// How many trials are told.
    pub told: usize,
    /// How many of them are not learned from, with each reason.
    pub silent: Vec<(String, usize)>,
    /// How many are learned from and break a constraint of the space as it is: they are never the best.
    pub infeasible: usize,
}

impl Teaching {
    pub(super) fn of(study: &Study) -> Teaching {
        let here = study.trials().iter().filter(|trial| trial.is_told());
        let infeasible = here.clone().filter(|trial| trial.at.feasible().is_none());
        let silent = silent(study);
        let n_silent: usize = silent.iter().map(|(_, n)| n).sum();
        Teaching {
            told: here.clone().count() + n_silent,
            infeasible: infeasible.count(),
            silent,
        }
    }

    /// How many are not learned from.
    pub fn n_silent(&self) -> usize {
        self.silent.iter().map(|(_, n)| n).sum()
    }
}

/// Reasons, and how many trials have each, in the order of the first of them. Where all have the same value, it is named.
fn silent(study: &Study) -> Vec<(String, usize)> {
    let absent = study.absent().iter().filter(|trial| trial.told.is_some());
    let mut kinds: Vec<String> = Vec::new();
    let mut reasons: BTreeMap<String, (usize, BTreeSet<String>)> = BTreeMap::new();
    for trial in absent {
        let kind = trial.why.kind();
        if !kinds.contains(&kind) {
            kinds.push(kind.clone());
        }
        let (n, whole) = reasons.entry(kind).or_default();
        *n += 1;
        whole.insert(trial.why.to_string());
    }
    let reason = |kind: String| {
        let (n, mut whole) = reasons.remove(&kind).unwrap_or_default();
        let only = whole.pop_first().filter(|_| whole.is_empty());
        (only.unwrap_or(kind), n)
    };
    kinds.into_iter().map(reason).collect()
}

impl fmt::Display for Teaching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (told, n) = (self.told, self.n_silent());
        let all = counted(told, "trial");
        write!(f, "{} of {all} teach in the revised space", told - n)?;
        if n > 0 {
            let reasons = self.silent.iter();
            let reasons: Vec<String> = reasons.map(|(why, n)| format!("{why} ({n})")).collect();
            let verb = if n == 1 { "does" } else { "do" };
            write!(f, "; {n} {verb} not: {}", reasons.join(", "))?;
        }
        match self.infeasible {
            0 => Ok(()),
            1 => f.write_str("; 1 breaks a constraint now, and is never the best"),
            n => write!(f, "; {n} break a constraint now, and are never the best"),
        }
    }
}
