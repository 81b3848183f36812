//! How stored trials become those of a study: by its definition as it was last revised, and with what was corrected since they
//! were told.
//!
//! A study is a fold over its events and its trials as they are now. In a study that was never revised each trial must be a point of
//! the space, and one that is not is reported. In one that was, each trial is said in the space as far as it can be
//! ([`Space::say`]), with one addition: a parameter that a revision introduced has, in trials without it, the default that it was
//! introduced with, whatever its default is now.

use std::collections::BTreeMap;

use mivabo::acquire::Placed;
use mivabo::measure::Outcome;
use mivabo::space::{Space, Unsaid, Value};
use mivabo::study::{Absent, State, Trial};

use crate::definition::Definition;
use crate::error::Error;
use crate::event::{Correction, Event};
use crate::points;
use crate::record::Record;
use crate::state::RecordState;

/// How stored trials become those of a study.
pub(crate) struct Fold {
    /// The definition that counts.
    pub definition: Definition,
    /// As it is stored.
    pub text: String,
    is_revised: bool,
    /// What parameters that came later were introduced with.
    introduced: BTreeMap<String, Value>,
    /// By trial, in order.
    corrections: BTreeMap<u64, Vec<Event>>,
}

/// A stored trial in the space of the study.
pub(crate) enum Folded {
    Here(Trial),
    Absent(Absent),
}

impl Fold {
    /// By the first definition of a study and all its events. What is `known` need not be read again.
    pub(crate) fn of(
        first: &str,
        events: &[Event],
        known: Option<&Definition>,
    ) -> Result<Fold, Error> {
        let read = |text: &str| match known {
            Some(known) if known.to_json() == text => Ok(known.clone()),
            _ => Definition::from_json(text),
        };
        let mut fold = Fold {
            definition: read(first)?,
            text: first.to_owned(),
            is_revised: false,
            introduced: BTreeMap::new(),
            corrections: BTreeMap::new(),
        };
        for event in events {
            if let Some(text) = event.definition() {
                fold.revise(text, read(text)?);
            }
            if let Some(correction) = event.correction() {
                let of_trial = fold.corrections.entry(correction.trial).or_default();
                of_trial.push(event.clone());
            }
        }
        Ok(fold)
    }

    fn revise(&mut self, text: &str, definition: Definition) {
        for parameter in definition.space.parameters() {
            let name = parameter.name();
            let before = &self.definition.space;
            let is_new = before.parameters().iter().all(|one| one.name() != name);
            if let (true, Some(default)) = (is_new, parameter.domain().default_value()) {
                let default = default.clone();
                self.introduced.entry(name.to_owned()).or_insert(default);
            }
        }
        self.definition = definition;
        text.clone_into(&mut self.text);
        self.is_revised = true;
    }

    /// A trial with what counts of it.
    pub(crate) fn folded(&self, record: &Record) -> Result<Folded, Error> {
        let space = &self.definition.space;
        let (id, told, state) = (record.id, record.told, self.state(record));
        if !self.is_revised {
            let at = points::placed(space, record)?;
            return Ok(Folded::Here(Trial {
                id,
                at,
                state,
                told,
            }));
        }
        let mut values = points::values(record)?;
        let stored = values.clone().into_iter().collect();
        for (name, value) in &self.introduced {
            values.entry(name.clone()).or_insert_with(|| value.clone());
        }
        Ok(match said(space, &values, state.outcome().is_some()) {
            Ok(at) => Folded::Here(Trial {
                id,
                at,
                state,
                told,
            }),
            Err(why) => Folded::Absent(Absent {
                id,
                values: stored,
                why,
                state,
                told,
            }),
        })
    }

    /// What was evaluated, where that is not what the trial has in the space as it is now.
    pub(crate) fn evaluated(
        &self,
        record: &Record,
        params: &BTreeMap<String, Value>,
    ) -> Result<Option<BTreeMap<String, Value>>, Error> {
        if !self.is_revised {
            return Ok(None);
        }
        let mut values = points::values(record)?;
        let parameters = self.definition.space.parameters().iter();
        for auxiliary in parameters.filter(|one| one.is_auxiliary()) {
            values.remove(auxiliary.name());
        }
        Ok(Some(values).filter(|values| values != params))
    }

    /// The corrections of a trial, in order.
    pub(crate) fn corrections(&self, id: u64) -> impl DoubleEndedIterator<Item = &Event> {
        self.corrections.get(&id).into_iter().flatten()
    }

    /// What a trial counts with.
    pub(crate) fn outcome<'a>(&'a self, record: &'a Record) -> Option<&'a Outcome> {
        let last = self.corrections(record.id).next_back();
        let corrected = last.and_then(Event::correction);
        corrected
            .map(|correction: &Correction| &correction.outcome)
            .or(record.outcome())
    }

    fn state(&self, record: &Record) -> State {
        match &record.state {
            RecordState::Waiting => State::Waiting,
            RecordState::Running { .. } => State::Running,
            RecordState::Ended(told) => {
                let counts = self.outcome(record).unwrap_or(told).clone();
                // A study of which nothing was told may have got another goal while a trial ran.
                State::Ended(if self.is_revised {
                    self.definition.aims.judged(counts)
                } else {
                    counts
                })
            }
        }
    }
}

/// Where a trial is in a space that was revised since. What is still to be evaluated must be feasible there.
fn said(space: &Space, values: &BTreeMap<String, Value>, is_told: bool) -> Result<Placed, Unsaid> {
    let values = values.iter();
    let point = space.say(values.map(|(name, value)| (name.as_str(), value.clone())))?;
    if !is_told && let Some(violation) = space.check(&point).violations.into_iter().next() {
        let constraint = violation.constraint;
        return Err(Unsaid::Violated { constraint });
    }
    // What `say` makes is a point of the space; that it has a place there is known.
    Placed::of(space, &point).ok_or(Unsaid::NoPlace)
}
