//! A stored study that this process follows: calls enter, trials leave, and the store and the [`mivabo::Study`] agree.
//!
//! The study in memory is a fold over the stored trials up to a [`Revision`]. Every call first takes in what others
//! wrote since. An ask is one transaction of the store: whoever asks has seen every trial before it, so the same seed
//! and the same tells give the same suggestions, whichever session asks.
//!
//! If a transaction fails after the study chose a point, the study in memory knows a trial that the store does not; if it is
//! [interrupted](mivabo::interrupt), or panics, the study may be half changed. It is then thrown away and folded again, at the
//! latest by the next call that takes in what others wrote: that is rare, and cannot go wrong.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mivabo::measure::Aims;
use mivabo::space::{Point, Value};
use mivabo::study::{Recommendation, Trial};
use mivabo::{Space, Study};
use serde_json::json;

use crate::definition::Definition;
use crate::error::Error;
use crate::object::Object;
use crate::points;
use crate::record::{Lease, Proposal, Record, Revision, StudyId, Tell};
use crate::state::RecordState;
use crate::store::{Changes, Claim, Store};
use crate::told::Told;

/// A stored study that this process follows.
///
/// ```
/// use std::time::Duration;
/// use mivabo::Space;
/// use mivabo_store::{Definition, Memory, Session, Store};
///
/// let space = Space::from_toml("[parameters]\nx = { type = 'int', low = 1, high = 3 }")?;
/// let store = Store::new(Memory::default());
/// let mut session = Session::open(store, "cnn", &Definition::new(space))?;
///
/// while let Some(asked) = session.ask(Some(2), Duration::from_secs(60))? {
///     let x = asked.values[0].1.as_f64().unwrap_or(0.0);
///     session.tell(asked.id, x * x)?;
/// }
///
/// assert_eq!(session.trials().len(), 2);
/// # Ok::<(), mivabo_store::Error>(())
/// ```
pub struct Session {
    store: Store,
    id: StudyId,
    name: String,
    study: Study,
    /// Up to where the study in memory follows the store.
    revision: Revision,
    /// Whether a change of the study in memory began and did not end.
    is_torn: bool,
    worker: String,
    clock: fn() -> i64,
}

/// A trial to evaluate.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// Its number, to tell its value with.
    pub id: u64,
    /// Where to evaluate.
    pub point: Point,
    /// What an objective sees of the point: the active parameters in order, without auxiliary ones.
    pub values: Vec<(String, Value)>,
    /// Who proposed it: `design`, `thompson`, `random`, …
    pub origin: String,
    /// How many workers took it and did not give it back, this one included.
    pub attempts: u32,
}

impl Session {
    /// The study of this name, made if there is none.
    ///
    /// # Errors
    /// [`Error::DefinitionDiffers`], [`Error::BadName`], [`Error::Study`], or what the store meets.
    pub fn open(mut store: Store, name: &str, definition: &Definition) -> Result<Session, Error> {
        // What cannot be searched is not stored either.
        let study = Study::new(definition.space.clone(), definition.spec()?)?;
        let id = store.create(name, &definition.to_json())?;
        Session::follow(store, (id, name), study)
    }

    /// The study of this name, as it was made.
    ///
    /// # Errors
    /// [`Error::NoStudy`], [`Error::BadDefinition`], [`Error::Study`], or what the store meets.
    pub fn load(store: Store, name: &str) -> Result<Session, Error> {
        let studies = store.studies()?;
        let Some(found) = studies.iter().find(|study| study.name == name) else {
            let known = studies.into_iter().map(|study| study.name).collect();
            return Err(Error::NoStudy {
                name: name.to_owned(),
                known,
            });
        };
        let definition = Definition::from_json(&store.definition(found.id)?)?;
        let study = Study::new(definition.space.clone(), definition.spec()?)?;
        Session::follow(store, (found.id, name), study)
    }

    fn follow(store: Store, (id, name): (StudyId, &str), study: Study) -> Result<Session, Error> {
        let worker = std::process::id().to_string();
        let (name, revision) = (name.to_owned(), Revision::default());
        let mut session = Session {
            store,
            id,
            name,
            study,
            revision,
            is_torn: false,
            worker,
            clock: now,
        };
        session.sync()?;
        Ok(session)
    }

    /// Under this name instead of the number of the process. Workers on several machines need different ones.
    pub fn with_worker(self, worker: impl Into<String>) -> Session {
        Session {
            worker: worker.into(),
            ..self
        }
    }

    /// With another clock, in milliseconds since 1970.
    pub fn with_clock(self, clock: fn() -> i64) -> Session {
        Session { clock, ..self }
    }

    /// The name of the study.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the study was made from, as it is stored: the text of a [`Definition`].
    ///
    /// # Errors
    /// What the store meets.
    pub fn definition(&self) -> Result<String, Error> {
        self.store.definition(self.id)
    }

    /// The study as it was when this session last looked.
    pub fn study(&self) -> &Study {
        &self.study
    }

    /// What is wanted of its trials.
    pub fn aims(&self) -> &Aims {
        &self.study.spec().aims
    }

    /// The goal's number, where a stored trial has one.
    pub fn value(&self, record: &Record) -> Option<f64> {
        self.aims().value(record.outcome()?)
    }

    /// Its space.
    pub fn space(&self) -> &Space {
        self.study.space()
    }

    /// All trials, by number, as they were when this session last looked.
    pub fn trials(&self) -> &[Trial] {
        self.study.trials()
    }

    /// All trials, by number, as they are stored: with who made them, when, and what was noted.
    ///
    /// # Errors
    /// What the store meets.
    pub fn records(&self) -> Result<Vec<Record>, Error> {
        let mut trials = self.store.changes(self.id, Revision::default())?.trials;
        trials.sort_by_key(|trial| trial.id);
        Ok(trials)
    }

    /// One trial, as it is stored.
    ///
    /// # Errors
    /// [`Error::UnknownTrial`], or what the store meets.
    pub fn record(&self, id: u64) -> Result<Record, Error> {
        self.store.trial(self.id, id)
    }

    /// The trials that run, by number, for whichever worker.
    ///
    /// # Errors
    /// What the store meets.
    pub fn running(&self) -> Result<Vec<Record>, Error> {
        self.store.running(self.id)
    }

    /// A running trial that is not among the `own` ones and whose lease ends within this time: its result may come, or the trial itself
    /// come back. Not by the name of the worker: after a restart a process may have that of a dead one.
    ///
    /// # Errors
    /// What the store meets.
    pub fn awaited(&self, within: Duration, own: &BTreeSet<u64>) -> Result<Option<Record>, Error> {
        let soon = (self.clock)().saturating_add(millis(within));
        let is_awaited = |trial: &Record| {
            matches!(trial.state, RecordState::Running { lease, .. } if lease <= soon)
                && !own.contains(&trial.id)
        };
        Ok(self.running()?.into_iter().find(is_awaited))
    }

    /// Takes in what others wrote.
    ///
    /// # Errors
    /// [`Error::BadTrial`], [`Error::Study`], or what the store meets.
    pub fn sync(&mut self) -> Result<(), Error> {
        if self.is_torn {
            self.study = Study::new(self.study.space().clone(), self.study.spec().clone())?;
            self.revision = Revision::default();
        }
        let changes = self.store.changes(self.id, self.revision)?;
        self.is_torn = true;
        take_in(&mut self.study, &mut self.revision, &changes)?;
        self.is_torn = false;
        Ok(())
    }

    /// A trial to evaluate: one that waits, or a new one; none when nothing waits and there are `max_trials` trials.
    /// It is this worker's for as long as the lease lasts: [`heartbeat`](Self::heartbeat) renews it.
    ///
    /// # Errors
    /// [`Error::Study`] when there is no point to suggest, or what the store meets; nothing is changed then.
    pub fn ask(
        &mut self,
        max_trials: Option<u64>,
        lease: Duration,
    ) -> Result<Option<Asked>, Error> {
        // Outside of the transaction, so that others wait less.
        self.sync()?;
        let Session {
            store,
            id,
            study,
            revision,
            is_torn,
            worker,
            clock,
            ..
        } = self;
        let began = clock();
        let claim = Claim {
            lease: leased(worker, began, lease),
            since: *revision,
            max_trials,
        };
        let mut is_new = false;
        let claimed = store.claim(*id, &claim, |changes| {
            *is_torn = true;
            take_in(study, revision, changes)?;
            let suggestion = study.ask();
            // A study that has no point to suggest is as it was.
            *is_torn = suggestion.is_ok();
            let suggestion = suggestion?;
            is_new = true;
            proposal(
                study.space(),
                suggestion.point(),
                &suggestion.origin().to_string(),
            )
        });
        let trial = match claimed {
            Ok(Some(trial)) => trial,
            Ok(None) => return Ok(None),
            Err(error) if is_new => return Err(self.sync().err().unwrap_or(error)),
            Err(error) => return Err(error),
        };
        if is_new {
            self.revision = trial.revision;
            self.is_torn = false;
        } else {
            // The trial is ours now: what goes wrong here is met again by the next call.
            self.sync().ok();
        }
        // Choosing the point may have taken a good part of the lease.
        if millis(lease) / 4 < (self.clock)().saturating_sub(began) {
            self.heartbeat(trial.id, lease).ok();
        }
        self.asked(&trial).map(Some)
    }

    /// The goal's number of a trial. One that is not finite makes it a failed trial. Whoever tells first is heard.
    ///
    /// # Errors
    /// [`Error::AlreadyTold`], [`Error::UnknownTrial`], or what the store meets.
    pub fn tell(&mut self, id: u64, value: f64) -> Result<(), Error> {
        self.tell_all(id, &Told::value(value))
    }

    /// A trial that has no value.
    ///
    /// # Errors
    /// As [`tell`](Self::tell).
    pub fn tell_failed(&mut self, id: u64, reason: impl Into<String>) -> Result<(), Error> {
        self.tell_all(id, &Told::failed(reason))
    }

    /// All that the evaluation of a trial gave.
    ///
    /// # Errors
    /// As [`tell`](Self::tell).
    pub fn tell_all(&mut self, id: u64, told: &Told) -> Result<(), Error> {
        let tell = Tell {
            worker: Some(&self.worker),
            outcome: told.outcome(self.aims()),
            now: (self.clock)(),
            note: told.note()?,
        };
        self.store.tell(self.id, id, &tell)?;
        self.sync()
    }

    /// A result from elsewhere, feasible or not; values of inactive parameters are left out. Its number is the answer.
    ///
    /// # Errors
    /// [`Error::Study`] when these values make no point of the space, or what the store meets.
    pub fn add<'a>(
        &mut self,
        values: impl IntoIterator<Item = (&'a str, Value)>,
        told: Told,
    ) -> Result<u64, Error> {
        let point = self.space().point_where_active(values)?;
        let ids = self.add_all(&[(point, told)])?;
        Ok(ids.start)
    }

    /// The same for many points, all of them or none. Their numbers are the answer.
    ///
    /// # Errors
    /// [`Error::Study`] when a point does not fit the space, or what the store meets; nothing is then added.
    pub fn add_all(&mut self, results: &[(Point, Told)]) -> Result<std::ops::Range<u64>, Error> {
        let now = (self.clock)();
        let told = results.iter().map(|(point, told)| {
            let tell = Tell {
                now,
                note: told.note()?,
                ..Tell::new(told.outcome(self.aims()))
            };
            Ok((proposal(self.space(), point, "added")?, tell))
        });
        let told = told.collect::<Result<Vec<_>, Error>>()?;
        let added = self.store.add_all(self.id, told)?;
        self.sync()?;
        Ok(added.first().map_or(0, |trial| trial.id)..added.last().map_or(0, |trial| trial.id + 1))
    }

    /// A point to evaluate before any other. Its number is the answer.
    ///
    /// # Errors
    /// [`Error::Study`] when these values make no feasible point of the space, or what the store meets.
    pub fn enqueue<'a>(
        &mut self,
        values: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Result<u64, Error> {
        let point = self.space().point(values)?;
        self.enqueue_point(&point)
    }

    /// The point of a trial once more, for an objective with noise or one that failed by chance.
    ///
    /// # Errors
    /// [`Error::UnknownTrial`], [`Error::Study`] when its point is not feasible, or what the store meets.
    pub fn replicate(&mut self, id: u64) -> Result<u64, Error> {
        let point = points::read(self.space(), &self.store.trial(self.id, id)?)?;
        self.enqueue_point(&point)
    }

    fn enqueue_point(&mut self, point: &Point) -> Result<u64, Error> {
        let violations = self.space().check(point).violations;
        if !violations.is_empty() {
            return Err(mivabo::Error::Violated { violations }.into());
        }
        let proposal = proposal(self.space(), point, "queue")?;
        let trial = self.store.enqueue(self.id, proposal, (self.clock)())?;
        self.sync()?;
        Ok(trial.id)
    }

    /// Gives back a trial of this worker: it waits again.
    ///
    /// # Errors
    /// [`Error::NotHeld`], [`Error::UnknownTrial`], or what the store meets.
    pub fn release(&mut self, id: u64) -> Result<(), Error> {
        self.store.release(self.id, id, &self.worker)?;
        self.sync()
    }

    /// Trials of workers that stopped answering wait again, or fail if they were tried `max_attempts` times. How many.
    ///
    /// # Errors
    /// What the store meets.
    pub fn release_expired(&mut self, max_attempts: u32) -> Result<usize, Error> {
        let n = self
            .store
            .release_expired(self.id, (self.clock)(), max_attempts)?
            .len();
        self.sync()?;
        Ok(n)
    }

    /// A sign of life: the lease of a trial begins anew.
    ///
    /// # Errors
    /// [`Error::NotHeld`] when the trial is no longer this worker's, or what the store meets.
    pub fn heartbeat(&mut self, id: u64, lease: Duration) -> Result<(), Error> {
        self.store
            .heartbeat(self.id, id, &leased(&self.worker, (self.clock)(), lease))
    }

    /// A sign of life for many trials at once. One that is no longer this worker's is passed over.
    ///
    /// # Errors
    /// What the store meets.
    pub fn heartbeat_all(&mut self, ids: &[u64], lease: Duration) -> Result<(), Error> {
        self.store
            .heartbeat_all(self.id, ids, &leased(&self.worker, (self.clock)(), lease))
    }

    /// Whether the store lost its place, so that every call fails until the session is loaded anew: another SQLite library
    /// in this process closed the file.
    pub fn is_cut_off(&self) -> bool {
        self.store.is_cut_off()
    }

    /// The feasible trial with the best value, as of when this session last looked.
    pub fn best(&self) -> Option<&Trial> {
        self.study.best()
    }

    /// The feasible point of the best posterior mean.
    ///
    /// # Errors
    /// [`Error::Study`] when no feasible trial has a value, or what the store meets.
    pub fn recommend(&mut self) -> Result<Recommendation, Error> {
        self.sync()?;
        self.is_torn = true;
        let found = self.study.recommend();
        self.is_torn = false;
        Ok(found?)
    }

    fn asked(&self, trial: &Record) -> Result<Asked, Error> {
        let point = points::read(self.space(), trial)?;
        let values = self
            .space()
            .values(&point)
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        Ok(Asked {
            id: trial.id,
            values,
            point,
            origin: trial.origin(),
            attempts: trial.attempts,
        })
    }
}

impl Record {
    /// Who proposed it, as its note says; empty where that says nothing.
    pub fn origin(&self) -> String {
        /// What else is in a note is not looked at: a number there may be one that no program can hold.
        #[derive(serde::Deserialize)]
        struct Note {
            #[serde(default)]
            origin: String,
        }
        serde_json::from_str(self.note.as_str()).map_or(String::new(), |note: Note| note.origin)
    }

    /// What its evaluation gave beside or around its value ([`Object::note_of`]). What not every program can read in it is a text.
    pub fn result(&self) -> Option<Object> {
        self.note.result()
    }

    /// Where it is.
    ///
    /// # Errors
    /// [`Error::BadTrial`] when its parameters make no point of this space.
    pub fn point(&self, space: &Space) -> Result<Point, Error> {
        points::read(space, self)
    }
}

fn take_in(study: &mut Study, revision: &mut Revision, changes: &Changes) -> Result<(), Error> {
    let known: Result<Vec<Trial>, Error> = changes
        .trials
        .iter()
        .map(|trial| points::known(study.space(), trial))
        .collect();
    study.replay(&known?)?;
    *revision = changes.revision;
    Ok(())
}

fn proposal(space: &Space, point: &Point, origin: &str) -> Result<Proposal, Error> {
    if !space.fits(point) {
        return Err(mivabo::Error::ForeignPoint.into());
    }
    let note = Object::new(json!({ "origin": origin }).to_string())?;
    Ok(Proposal {
        params: points::written(space, point)?,
        note,
    })
}

fn leased(worker: &str, now: i64, lease: Duration) -> Lease<'_> {
    Lease {
        worker,
        now,
        millis: millis(lease),
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

fn now() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, millis)
}
