//! A stored study that this process follows, so that the store and a [`mivabo::Study`] agree.
//!
//! The study in memory is a fold over the stored events and trials up to a [`Revision`], and every call first takes in what others
//! wrote since. So the same seed and the same tells give the same suggestions, whichever session asks.

mod asking;
mod fold;
mod replica;
mod revising;
mod teaching;
mod telling;

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mivabo::measure::Aims;
use mivabo::space::Point;
use mivabo::study::{Estimate, Recommendation, Trial};
use mivabo::{Space, Study};
use serde_json::json;

pub use self::asking::{Asked, Asking};
pub(crate) use self::fold::{Fold, Folded};
use self::replica::{Made, Replica};
pub use self::revising::Revised;
pub use self::teaching::Teaching;
use crate::definition::Definition;
use crate::difference::DefinitionDifference;
use crate::error::Error;
use crate::event::Event;
use crate::object::Object;
use crate::points;
use crate::record::{NewRecord, Record, Revision, StudyId};
use crate::state::RecordState;
use crate::store::Store;

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
    replica: Replica,
    worker: String,
    clock: fn() -> i64,
    /// What it took otherwise when it was opened.
    taken: Vec<DefinitionDifference>,
}

impl Session {
    /// The study of this name, made if there is none. One of which nothing was told [takes](Self::taken) another definition.
    ///
    /// # Errors
    /// [`Error::Differs`], [`Error::BadName`], [`Error::Study`], or what the store meets.
    pub fn open(mut store: Store, name: &str, definition: &Definition) -> Result<Session, Error> {
        // What cannot be searched is not stored either.
        let made = Made::of(definition)?;
        match store.create(name, &definition.to_json()) {
            Ok(id) => Session::follow(store, id, name, Some(made)),
            Err(Error::DefinitionDiffers { .. }) => Session::load(store, name)?.defined(made),
            Err(error) => Err(error),
        }
    }

    /// The study of this name, as it was last revised.
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
        Session::follow(store, found.id, name, None)
    }

    fn follow(store: Store, id: StudyId, name: &str, made: Option<Made>) -> Result<Session, Error> {
        Ok(Session {
            replica: folded(&store, id, made)?,
            store,
            id,
            name: name.to_owned(),
            worker: std::process::id().to_string(),
            clock: now,
            taken: Vec::new(),
        })
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

    /// What the study is, as this session last saw it: the text of a [`Definition`].
    pub fn definition(&self) -> &str {
        &self.replica.fold().text
    }

    /// What the study was made from, before it was revised: the text of a [`Definition`].
    ///
    /// # Errors
    /// What the store meets.
    pub fn first_definition(&self) -> Result<String, Error> {
        self.store.first_definition(self.id)
    }

    /// What happened to it beside its trials, in order.
    ///
    /// # Errors
    /// What the store meets.
    pub fn events(&self) -> Result<Vec<Event>, Error> {
        Ok(self.store.changes(self.id, Revision::default())?.events)
    }

    /// How stored trials become those of the study.
    pub(crate) fn fold(&self) -> &Fold {
        self.replica.fold()
    }

    /// The study as it was when this session last looked.
    pub fn study(&self) -> &Study {
        self.replica.study()
    }

    /// What is wanted of its trials.
    pub fn aims(&self) -> &Aims {
        &self.study().spec().aims
    }

    /// The goal's number, where a stored trial has one.
    pub fn value(&self, record: &Record) -> Option<f64> {
        self.aims().value(record.outcome()?)
    }

    /// Its space.
    pub fn space(&self) -> &Space {
        self.study().space()
    }

    /// All trials, by number, as they were when this session last looked; where the space was revised, only those whose points can be
    /// said in it ([`Study::absent`] has the others).
    pub fn trials(&self) -> &[Trial] {
        self.study().trials()
    }

    /// All trials, by number, as they are stored: with who made them, when, and what was noted. What was corrected since is not in
    /// them.
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
        let changes = self.store.changes(self.id, self.replica.revision())?;
        if !self.replica.follow(&changes)? {
            self.replica = folded(&self.store, self.id, None)?;
        }
        Ok(())
    }

    /// Whether the store lost its place, so that every call fails until the session is loaded anew: another SQLite library
    /// in this process closed the file.
    pub fn is_cut_off(&self) -> bool {
        self.store.is_cut_off()
    }

    /// The feasible trial with the best value, as of when this session last looked.
    pub fn best(&self) -> Option<&Trial> {
        self.study().best()
    }

    /// The feasible point of the best posterior mean.
    ///
    /// # Errors
    /// [`Error::Study`] when no feasible trial has a value, or what the store meets.
    pub fn recommend(&mut self) -> Result<Recommendation, Error> {
        self.sync()?;
        Ok(self.replica.compute(Study::recommend)?)
    }

    /// What the strategy's model believes of the values at these points: see [`Study::predict`].
    ///
    /// # Errors
    /// [`Error::Study`] when no trial has a value or the strategy has no model, or what the store meets.
    pub fn predict(&mut self, points: &[Point]) -> Result<Vec<Estimate>, Error> {
        self.sync()?;
        Ok(self.replica.compute(|study| study.predict(points))?)
    }
}

/// The study from all that happened to it.
fn folded(store: &Store, id: StudyId, made: Option<Made>) -> Result<Replica, Error> {
    let first = store.first_definition(id)?;
    let all = store.changes(id, Revision::default())?;
    Replica::of(&first, &all, made)
}

fn new_record(space: &Space, point: &Point, origin: &str) -> Result<NewRecord, Error> {
    if !space.fits(point) {
        return Err(mivabo::Error::ForeignPoint.into());
    }
    let note = Object::new(json!({ "origin": origin }).to_string())?;
    Ok(NewRecord {
        params: points::written(space, point)?,
        note,
    })
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

fn now() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, millis)
}
