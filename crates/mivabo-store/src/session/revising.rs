//! Revising a study, and correcting what was told.
//!
//! | may be revised | may not |
//! |---|---|
//! | parameters, definitions, constraints; a new parameter needs a default where trials were told | the goal: what was told may not say what another one needs |
//! | limits, strategy, seed, n_initial, links | |
//!
//! A study of which nothing was told has nothing to keep, so it takes any definition.

use mivabo::measure::{Aims, Outcome};

use super::Session;
use super::fold::Folded;
use super::replica::{Made, Replica};
use super::teaching::Teaching;
use crate::definition::Definition;
use crate::difference::{DefinitionDifference, Setting};
use crate::error::Error;
use crate::event::{By, Correction, Event, What};
use crate::record::{Record, Revision};
use crate::state::RecordState;
use crate::store::Revising;
use crate::told::Told;

/// What a revision changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Revised {
    /// What the study has otherwise. Nothing where it was so already: then nothing is written.
    pub differences: Vec<DefinitionDifference>,
    /// What its trials say in the revised space.
    pub teaching: Teaching,
    /// The numbers of waiting trials that the revised space forbids: they fail.
    pub failing: Vec<u64>,
    /// How many trials run: they finish, and are then looked at like every other one.
    pub running: usize,
}

impl Session {
    /// What [`revise`](Self::revise) would do. Nothing is written.
    ///
    /// # Errors
    /// As [`revise`](Self::revise).
    pub fn revision(&mut self, definition: &Definition) -> Result<Revised, Error> {
        self.sync()?;
        let (revised, _) = self.planned(definition)?;
        Ok(revised)
    }

    /// Gives the study another definition, and says what that changes. Told trials stay for ever, and teach wherever they can be said
    /// in the new space ([`Space::say`](mivabo::Space::say)).
    ///
    /// ```
    /// use mivabo::Space;
    /// use mivabo_store::{Definition, Memory, Session, Store, Told};
    ///
    /// let space = |high: f64| Space::from_toml(&format!("parameters.lr = {{ type = 'float', low = 0.0, high = {high:?} }}"));
    /// let mut session = Session::open(Store::new(Memory::default()), "cnn", &Definition::new(space(1.0)?))?;
    /// session.add([("lr", 0.5.into())], Told::value(3.0))?;
    /// session.add([("lr", 0.05.into())], Told::value(2.0))?;
    ///
    /// let revised = session.revise(&Definition::new(space(0.1)?))?;
    ///
    /// assert_eq!(revised.differences[0].to_string(), "parameter `lr` changed: was a number from 0.0 to 1.0, is a number from 0.0 to 0.1");
    /// assert_eq!(
    ///     revised.teaching.to_string(),
    ///     "1 of 2 trials teach in the revised space; 1 does not: `lr` = 0.5 is above its bound 0.1 (1)"
    /// );
    /// # Ok::<(), mivabo_store::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::GoalRevised`], [`Error::NoDefault`]; [`Error::Study`] when the definition makes no study; or what the store meets.
    pub fn revise(&mut self, definition: &Definition) -> Result<Revised, Error> {
        loop {
            self.sync()?;
            let (revised, replica) = self.planned(definition)?;
            if revised.differences.is_empty() {
                return Ok(revised);
            }
            if let Some(failing) = self.write_revision(&replica, false)? {
                return Ok(Revised { failing, ..revised });
            }
            // Somebody else revised it meanwhile: what this one changes has to be found anew.
        }
    }

    /// What the study had otherwise than the definition that it was opened with, which it took as nothing was told of it.
    pub fn taken(&self) -> &[DefinitionDifference] {
        &self.taken
    }

    /// Takes another definition where nothing was told, and refuses it otherwise.
    pub(super) fn defined(mut self, made: Made) -> Result<Session, Error> {
        let Made { definition, .. } = made;
        loop {
            let differences = definition.differences(&self.replica.fold().definition);
            if differences.is_empty() {
                return Ok(self);
            }
            if self.replica.study().n_tells() > 0 {
                return Err(Error::Differs {
                    name: self.name,
                    differences,
                });
            }
            let replica = self.revised_replica(&definition)?;
            if self.write_revision(&replica, true)?.is_some() {
                self.taken = differences;
                return Ok(self);
            }
            self.sync()?;
        }
    }

    fn planned(&self, definition: &Definition) -> Result<(Revised, Replica), Error> {
        let differences = definition.differences(&self.replica.fold().definition);
        if self.replica.study().n_tells() > 0 {
            self.check_revisable(&differences, definition)?;
        }
        let replica = self.revised_replica(definition)?;
        let study = replica.study();
        let waits = |record: &&Record| record.state == RecordState::Waiting;
        let is_forbidden = |record: &&Record| forbidden(&replica, record).is_some();
        let records = self.records()?;
        let failing = records.iter().filter(waits).filter(is_forbidden);
        let runs = |record: &&Record| matches!(record.state, RecordState::Running { .. });
        let revised = Revised {
            differences,
            teaching: Teaching::of(study),
            failing: failing.map(|record| record.id).collect(),
            running: records.iter().filter(runs).count(),
        };
        Ok((revised, replica))
    }

    fn check_revisable(
        &self,
        differences: &[DefinitionDifference],
        definition: &Definition,
    ) -> Result<(), Error> {
        let is_goal = |one: &&DefinitionDifference| one.setting() == Some(Setting::Goal);
        if let Some(goal) = differences.iter().find(is_goal) {
            return Err(Error::GoalRevised { goal: goal.clone() });
        }
        let known = self.space().parameters();
        let is_known = |name: &str| known.iter().any(|one| one.name() == name);
        for parameter in definition.space.parameters() {
            let has_default = parameter.domain().default_value().is_some();
            // Auxiliary integers are found from the others.
            if !has_default && !parameter.is_auxiliary() && !is_known(parameter.name()) {
                let name = parameter.name().to_owned();
                return Err(Error::NoDefault { name });
            }
        }
        Ok(())
    }

    /// The study as it will be.
    fn revised_replica(&self, definition: &Definition) -> Result<Replica, Error> {
        let made = Made::of(definition)?;
        let first = self.store.first_definition(self.id)?;
        let mut all = self.store.changes(self.id, Revision::default())?;
        let definition = definition.to_json();
        all.events
            .push(Event::new(What::Revised { definition }, By::default()));
        Replica::of(&first, &all, Some(made))
    }

    /// The numbers of the trials that fail by it; none where the study is not what it was.
    fn write_revision(
        &mut self,
        replica: &Replica,
        is_untold: bool,
    ) -> Result<Option<Vec<u64>>, Error> {
        let from = self.replica.fold().text.clone();
        let revising = Revising {
            from: &from,
            to: &replica.fold().text,
            is_untold,
            by: By {
                worker: Some(&self.worker),
                now: (self.clock)(),
            },
        };
        let forbidden = |record: &Record| forbidden(replica, record);
        let failing = self.store.revise(self.id, &revising, forbidden)?;
        if failing.is_some() {
            self.sync()?;
        }
        Ok(failing)
    }

    /// Lets another outcome count for a told trial. What was told stays, and is shown as its history. Where a value or a reason is
    /// given alone, everything else that was measured goes on to count.
    ///
    /// # Errors
    /// [`Error::NotTold`], [`Error::UnknownTrial`], or what the store meets.
    pub fn correct(&mut self, id: u64, told: &Told, why: Option<&str>) -> Result<(), Error> {
        self.sync()?;
        let record = self.record(id)?;
        let before = self.replica.fold().outcome(&record);
        let outcome = match before.filter(|_| told.result.is_none()) {
            Some(before) => amended(told, before, self.aims()),
            None => told.outcome(self.aims()),
        };
        let correction = Correction {
            trial: id,
            outcome,
            note: told.note()?,
            why: why.map(ToOwned::to_owned),
        };
        let by = By {
            worker: Some(&self.worker),
            now: (self.clock)(),
        };
        self.store.correct(self.id, correction, by)?;
        self.sync()
    }

    /// What a trial counts with: what was told, or its last correction.
    ///
    /// # Errors
    /// [`Error::UnknownTrial`], or what the store meets.
    pub fn outcome(&self, id: u64) -> Result<Option<Outcome>, Error> {
        let record = self.record(id)?;
        Ok(self.replica.fold().outcome(&record).cloned())
    }

    /// What its told trials say in the space as it is.
    pub fn teaching(&self) -> Teaching {
        Teaching::of(self.study())
    }
}

/// Why a waiting trial has no place in a revised space.
fn forbidden(replica: &Replica, record: &Record) -> Option<String> {
    match replica.fold().folded(record) {
        Ok(Folded::Here(_)) => None,
        Ok(Folded::Absent(trial)) => Some(super::asking::forbidden_by(&trial.why)),
        Err(error) => Some(error.to_string()),
    }
}

/// What is told, with everything else that was measured before.
fn amended(told: &Told, before: &Outcome, aims: &Aims) -> Outcome {
    let mut measured = before.measured().clone();
    if let Some(reason) = &told.reason {
        return Outcome::Failed {
            reason: reason.clone(),
            measured,
        };
    }
    let value = told.value.unwrap_or(f64::NAN);
    match measured.insert(&aims.goal().measure, value) {
        Ok(()) => aims.judged(Outcome::Complete(measured)),
        Err(error) => Outcome::Failed {
            reason: error.to_string(),
            measured,
        },
    }
}
