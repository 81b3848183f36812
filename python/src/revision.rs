//! Revising and correcting a study from Python.

use mivabo::space::NoDefaultPoint;
use mivabo_store::{Definition, DefinitionDifference, Error, Revised, Session};
use pyo3::prelude::*;

/// What a revision changes, as the arguments of Python's `Revision`.
#[derive(IntoPyObject)]
pub struct RevisionShown {
    changes: Vec<String>,
    told: usize,
    taught: usize,
    left_out: Vec<(String, usize)>,
    infeasible: usize,
    failing: Vec<u64>,
    running: usize,
    summary: String,
}

impl From<Revised> for RevisionShown {
    fn from(revised: Revised) -> RevisionShown {
        let teaching = revised.teaching;
        RevisionShown {
            changes: revised
                .differences
                .iter()
                .map(DefinitionDifference::to_string)
                .collect(),
            summary: teaching.to_string(),
            told: teaching.told,
            taught: teaching.told - teaching.n_silent(),
            infeasible: teaching.infeasible,
            left_out: teaching.silent,
            failing: revised.failing,
            running: revised.running,
        }
    }
}

/// What a study is to be from now on; what is not said stays as it is.
pub struct Wanted {
    pub space: mivabo::Space,
    pub strategy: Option<String>,
    pub seed: Option<u64>,
    /// Whether nothing is to be written.
    pub is_dry: bool,
}

impl Wanted {
    /// Revises a study, or says what that would do.
    pub fn revise(self, session: &mut Session) -> Result<RevisionShown, Error> {
        session.sync()?;
        let mut definition = Definition::from_json(session.definition())?;
        definition.space = self.space;
        definition.strategy = self.strategy.unwrap_or(definition.strategy);
        definition.seed = self.seed.unwrap_or(definition.seed);
        let revised = if self.is_dry {
            session.revision(&definition)
        } else {
            session.revise(&definition)
        };
        revised.map(RevisionShown::from)
    }
}

/// What somebody who opens a study should know: that it took another definition, and why its defaults are not tried first.
pub fn news(session: &Session) -> Vec<String> {
    let mut news = Vec::new();
    let taken = session.taken();
    if !taken.is_empty() {
        let taken: Vec<String> = taken.iter().map(DefinitionDifference::to_string).collect();
        let name = session.name();
        news.push(format!(
            "study `{name}` had no results yet, and takes its new definition: {}",
            taken.join("; ")
        ));
    }
    if session.study().n_trials() == 0 {
        match session.space().default_point() {
            // Defaults of some parameters alone are nothing to warn of: one that is new in a revision has to have one.
            None | Some(Ok(_) | Err(NoDefaultPoint::Missing { .. })) => {}
            Some(Err(why)) => news.push(why.to_string()),
        }
    }
    news
}
