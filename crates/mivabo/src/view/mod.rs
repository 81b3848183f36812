//! A study as one document: everything that tables, pages and programs show of it, as data that can be written and read.
//!
//! [`StudyView`] is what the command line prints as JSON, what the report draws and embeds, and what Python's trials are made
//! from. It knows nothing of searching: no bits, no model. Two parts take time to compute and are left out until
//! somebody asks for them: the margins of all told trials ([`StudyView::with_margins`]) and the importance of parameters
//! ([`StudyView::with_importance`]). They are parts of the view, and not computed from a study that a reader rebuilds, so that
//! a page can be made from the document alone.
//!
//! # Rules
//!
//! * A field that has nothing to say is left out of the JSON.
//! * Every number is finite, and is read back to the bit. What is not finite (a side of a constraint) is left out.
//! * A trial is in one of five states, whose names are those of [`Status`] wherever they appear.
//! * The `ranking` is the only order of trials by how good they are; `best` is its first feasible trial.
//! * Fields are added, never renamed or removed, while `version` stays the same.
//!
//! ```
//! use mivabo::space::Space;
//! use mivabo::study::{Spec, Study};
//! use mivabo::view::StudyView;
//!
//! let space = Space::from_toml("parameters.x = { type = 'float', low = 0.0, high = 1.0 }")?;
//! let mut study = Study::new(space, Spec::default())?;
//! let suggestion = study.ask()?;
//! study.tell(suggestion.id(), 0.25)?;
//!
//! let view = StudyView::of("first steps", &study);
//!
//! assert_eq!(view.best_trial().and_then(|trial| trial.value), Some(0.25));
//! assert_eq!(StudyView::from_json(&view.to_json())?, view);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod given;
mod space;
mod time;
mod trial;
mod version;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use self::error::Error;
pub use self::given::Given;
pub use self::space::{ConstraintView, MarginView, ParameterView};
pub use self::time::Time;
pub use self::trial::{PastView, Status, TrialView};
pub use self::version::Version;
use crate::measure::{Goal, Limit, VALUE};
use crate::study::{Importance, Study, Trial};

/// A study and its trials, as they are shown. The rules are in the [module](self)'s documentation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudyView {
    /// The version of this document: 1.
    pub version: Version,
    /// The name of the study.
    pub name: String,
    /// What is optimised: measures, and whether they should be small or large. One of them, at present.
    pub goals: Vec<Goal>,
    /// Bounds that measures should keep.
    pub limits: Vec<Limit>,
    /// How points are chosen, as the study was asked: `improvement:draws=no`. Left out where it has no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// Where all randomness comes from.
    pub seed: u64,
    /// What evaluates its trials, with names of parameters in braces. Only where whoever makes the view knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The parameters that an objective sees, in order.
    pub parameters: Vec<ParameterView>,
    /// The constraints: those that were stated, in order, then those that follow from definitions.
    pub constraints: Vec<ConstraintView>,
    /// The number of the best trial: the first feasible one of the ranking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<u64>,
    /// The numbers of all complete trials, feasible or not, the best first: those that keep the limits before those that
    /// break one, then by the goal's value; of equal ones the first.
    pub ranking: Vec<u64>,
    /// All trials, by number.
    pub trials: Vec<TrialView>,
    /// Which parameters matter. Only where it was asked for, and some trial has a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub importance: Option<Importance>,
}

impl StudyView {
    /// A study as it is now. Times and workers, which a [`Study`] does not know, are left out, and so is the strategy's name.
    pub fn of(name: impl Into<String>, study: &Study) -> StudyView {
        let space = study.space();
        let aims = &study.spec().aims;
        let visible = space.parameters().iter().filter(|one| !one.is_auxiliary());
        let mut view = StudyView {
            version: Version,
            name: name.into(),
            goals: vec![aims.goal().clone()],
            limits: aims.limits().to_vec(),
            strategy: None,
            seed: study.spec().seed,
            command: None,
            parameters: visible.map(ParameterView::of).collect(),
            constraints: space.constraints().iter().map(ConstraintView::of).collect(),
            best: None,
            ranking: ranking(study),
            trials: trials(study),
            importance: None,
        };
        let best = view.ranked().find(|trial| trial.feasible);
        let best = best.and_then(|trial| Some((view.place_of(trial.id)?, study.trial(trial.id)?)));
        if let Some((at, trial)) = best {
            view.best = Some(trial.id);
            view.trials[at].margins = Some(margins(study, trial));
        }
        view
    }

    /// The same with what evaluates its trials.
    pub fn with_command(self, command: Option<String>) -> StudyView {
        StudyView { command, ..self }
    }

    /// The same with the margins of all told trials. `study` is the one that the view was made of.
    pub fn with_margins(mut self, study: &Study) -> StudyView {
        for view in self.trials.iter_mut().filter(|view| view.state.is_told()) {
            let trial = study.trial(view.id);
            view.margins = trial.map(|trial| margins(study, trial));
        }
        self
    }

    /// The same with the importance of parameters, if some trial has a value. `study` is the one that the view was made of.
    pub fn with_importance(self, study: &Study) -> StudyView {
        StudyView {
            importance: study.importance().ok().filter(is_finite),
            ..self
        }
    }

    /// The view as JSON without line breaks.
    #[expect(
        clippy::missing_panics_doc,
        reason = "maps of texts, finite numbers and lists can always be written"
    )]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("always writable")
    }

    /// Reads what [`to_json`](Self::to_json) writes.
    ///
    /// # Errors
    /// [`Error::Json`]: the text is not JSON, lacks a field, or is of another version; the message says where.
    pub fn from_json(text: &str) -> Result<StudyView, Error> {
        serde_json::from_str(text).map_err(|error| Error::Json {
            message: error.to_string(),
        })
    }

    /// The goal.
    pub fn goal(&self) -> Option<&Goal> {
        self.goals.first()
    }

    /// The measure of the goal.
    pub fn goal_name(&self) -> &str {
        self.goal().map_or(VALUE, |goal| &goal.measure)
    }

    /// What was measured beside the goal, in any trial, by name.
    pub fn measures(&self) -> BTreeSet<&str> {
        let measured = self.trials.iter().flat_map(|trial| trial.measured.iter());
        let names = measured.map(|(name, _)| name);
        names.filter(|name| *name != self.goal_name()).collect()
    }

    /// The trial of this number.
    pub fn trial(&self, id: u64) -> Option<&TrialView> {
        Some(&self.trials[self.place_of(id)?])
    }

    /// The best trial.
    pub fn best_trial(&self) -> Option<&TrialView> {
        self.trial(self.best?)
    }

    /// The trials of the ranking, the best first.
    pub fn ranked(&self) -> impl DoubleEndedIterator<Item = &TrialView> {
        self.ranking.iter().filter_map(|id| self.trial(*id))
    }

    /// The constraints that somebody stated.
    pub fn stated_constraints(&self) -> impl Iterator<Item = &ConstraintView> {
        self.constraints.iter().filter(|one| !one.implied)
    }

    /// How many trials are in a state.
    pub fn count(&self, status: Status) -> usize {
        let trials = self.trials.iter();
        trials.filter(|trial| trial.state == status).count()
    }

    /// How many trials have ended.
    pub fn n_told(&self) -> usize {
        let trials = self.trials.iter();
        trials.filter(|trial| trial.state.is_told()).count()
    }

    /// Where the trial of this number is.
    pub fn place_of(&self, id: u64) -> Option<usize> {
        self.trials.binary_search_by_key(&id, |trial| trial.id).ok()
    }
}

/// All trials, by number.
fn trials(study: &Study) -> Vec<TrialView> {
    let here = study.trials().iter();
    let here = here.map(|trial| TrialView::of(study, trial));
    let absent = study.absent().iter();
    let absent = absent.map(|trial| TrialView::of_absent(study, trial));
    let mut trials: Vec<TrialView> = here.chain(absent).collect();
    trials.sort_by_key(|trial| trial.id);
    trials
}

/// The numbers of the trials that came to their end, the best first.
fn ranking(study: &Study) -> Vec<u64> {
    let trials = study.trials().iter();
    let outcomes = trials.filter_map(|trial| Some((trial.id, trial.outcome()?)));
    study.spec().aims.ranking(outcomes)
}

fn margins(study: &Study, trial: &Trial) -> Vec<MarginView> {
    MarginView::at(study.space(), trial.point())
}

fn is_finite(importance: &Importance) -> bool {
    let totals = importance.effects.iter().map(|effect| effect.total);
    let shares = importance.interactions.iter().map(|pair| pair.share);
    totals.chain(shares).all(f64::is_finite)
}
