//! Ask and tell on a study that the store keeps. See [`Session`].
//!
//! Python's lock is released around every call, Ctrl-C [interrupts](crate::interrupt) it, and
//! threads take turns at the session. Files are closed before a process forks, see [`fork`](crate::fork), and opened anew by
//! the next call; so are those whose log another SQLite library in this process removed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::Duration;

use mivabo::interrupt;
use mivabo::language::PointError;
use mivabo::space::Point;
use mivabo_report::html;
use mivabo_store::{Asking, Error, Location, NO_STUDY, Session, Store, StudyEntry, Turn, Waited};
use mivabo_work::{MAX_ATTEMPTS, StudyFile};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::copy::{Kept, KeptEvent, KeptStudy, restored};
use crate::error::{StudyError, of_mistake, of_store};
use crate::fork::{Slot, is_forking, pass, watch};
use crate::interrupt::interruptible;
use crate::revision::{self, RevisionShown, Wanted};
use crate::settings::Settings;
use crate::space::{Space, visible};
use crate::trial::{Answer, Handed, Shown, names, told};
use crate::value::{borrowed, dict, natural, number, values};
use crate::{place, waiting};

/// A study that this process follows.
#[pyclass(frozen, module = "mivabo._native")]
pub struct Study {
    home: Arc<Home>,
    /// Touched only while Python's lock is held, and never for long: so nobody holds it when a process forks.
    open: Mutex<Open>,
}

/// What came of a call that may need the turn to suggest.
pub enum Attempt<T> {
    Done(T),
    /// Others have the turn: it is waited for without the session, and then the call is made again with it.
    Wait(Box<dyn Turn>),
}

/// So long at a time a turn is waited for.
const AWHILE: Duration = Duration::from_secs(60);

/// Where a study is.
struct Home {
    location: Location,
    name: String,
    /// What the names of its workers begin with.
    worker: String,
}

struct Open {
    /// The process that opened it.
    process: u32,
    slot: Arc<Slot>,
}

impl Drop for Open {
    /// What another process opened is not ours to close. It is open only if it forked without Python's knowledge.
    fn drop(&mut self) {
        if self.process != std::process::id() {
            std::mem::forget(self.slot.clone());
        }
    }
}

impl Home {
    /// The session, under the name of this process.
    fn session(
        &self,
        open: impl FnOnce(&Home, Store) -> Result<Session, Error>,
    ) -> Result<Session, Error> {
        let session = open(self, Store::open(&self.location)?)?;
        Ok(session.with_worker(format!("{}:{}", self.worker, std::process::id())))
    }

    /// The session that is held, loaded anew and `watch`ed if it was closed.
    fn session_in<'a>(
        &self,
        held: &'a mut Option<Session>,
        watch: impl FnOnce(),
    ) -> Result<&'a mut Session, Error> {
        // Every call of a session that is cut off fails. It is closed before the file is opened anew.
        if held.as_ref().is_some_and(Session::is_cut_off) {
            *held = None;
        }
        match held {
            Some(session) => Ok(session),
            closed => {
                let session = closed.insert(self.load()?);
                watch();
                Ok(session)
            }
        }
    }

    /// The session anew. It was there, so a file without it is another one.
    fn load(&self) -> Result<Session, Error> {
        let path = self.location.path();
        if let Some(path) = path.filter(|path| !path.exists()) {
            return Err(Error::no_longer_there(path));
        }
        let session = self.session(|home, store| Session::load(store, &home.name));
        session.map_err(|error| match (error, path) {
            (Error::UnknownStudy { .. } | Error::NoStudy { .. }, Some(path)) => {
                Error::no_longer_there(path)
            }
            (error, _) => error,
        })
    }

    /// The thread that had it when the process was forked is the parent's, so nobody here ever gives it back.
    fn forked_in_use(&self) -> PyErr {
        let name = &self.name;
        StudyError::new_err(format!(
            "study `{name}` is in memory and was in use when this process was forked; open it in a file instead"
        ))
    }
}

/// Total effects by name, interactions of pairs, and how many trials they were found from.
type Importance = (Vec<(String, f64)>, Vec<((String, String), f64)>, usize);

#[pymethods]
impl Study {
    /// The study of this name, made if there is none.
    #[new]
    fn new(
        space: &Bound<'_, Space>,
        name: String,
        storage: Option<PathBuf>,
        worker: String,
        settings: Settings<'_>,
    ) -> PyResult<Study> {
        let definition = settings.definition(space.get())?;
        let home = Home {
            location: storage.map_or(Location::Memory, Location::from),
            name,
            worker,
        };
        Study::opened(space.py(), home, move |home, store| {
            Session::open(store, &home.name, &definition)
        })
    }

    /// The study of this name as it is stored; the only one of the file where no name is given.
    #[staticmethod]
    fn load(
        py: Python<'_>,
        storage: PathBuf,
        name: Option<String>,
        worker: String,
    ) -> PyResult<Study> {
        let location = Location::from(storage);
        let name = match name {
            Some(name) => name,
            None => only(py, &location)?,
        };
        let home = Home {
            location,
            name,
            worker,
        };
        Study::opened(py, home, |home, store| Session::load(store, &home.name))
    }

    /// The study of a study file, made if there is none.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "what Python gives is owned")]
    fn from_file(py: Python<'_>, path: PathBuf, text: &str, worker: String) -> PyResult<Study> {
        let file = py
            .detach(|| StudyFile::parse(&path, text))
            .map_err(|mistake| of_mistake(&mistake))?;
        let home = Home {
            location: file.location,
            name: file.name,
            worker,
        };
        let definition = file.definition;
        Study::opened(py, home, move |home, store| {
            Session::open(store, &home.name, &definition)
        })
    }

    /// A study in memory from what `kept` gave.
    #[staticmethod]
    fn restore(py: Python<'_>, name: String, kept: KeptStudy, worker: String) -> PyResult<Study> {
        let home = Home {
            location: Location::Memory,
            name,
            worker,
        };
        Study::opened(py, home, move |home, _| restored(&home.name, kept))
    }

    /// What a copy of a study in memory is made from: its first definition, its trials and its events.
    fn kept(&self, py: Python<'_>) -> PyResult<KeptStudy> {
        self.with(py, |session| {
            let trials = session.records()?.into_iter().map(Kept::from).collect();
            let events = session.events()?.into_iter().map(KeptEvent::from).collect();
            Ok((session.first_definition()?, trials, events))
        })
    }

    /// What somebody who opens the study should know.
    fn news(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |session| Ok(revision::news(session)))
    }

    /// Gives the study another space, and perhaps other settings: a strategy and a seed; only says what that would do if it is `dry`.
    fn revise(
        &self,
        py: Python<'_>,
        space: &Bound<'_, Space>,
        others: (Option<String>, Option<Bound<'_, PyAny>>),
        dry: bool,
    ) -> PyResult<RevisionShown> {
        let (strategy, seed) = others;
        let wanted = Wanted {
            space: space.get().inner.clone(),
            strategy,
            seed: seed.map(|seed| natural("seed", &seed)).transpose()?,
            is_dry: dry,
        };
        self.with(py, move |session| wanted.revise(session))
    }

    /// Another outcome for a told trial, with what else came of it as JSON, and why it is corrected.
    fn correct(
        &self,
        py: Python<'_>,
        id: &Bound<'_, PyAny>,
        outcome: Answer<'_>,
        beside: (Option<String>, Option<String>),
    ) -> PyResult<()> {
        let (result, why) = beside;
        let id = natural("trial", id)?;
        let told = told(
            &format!("the value of trial {id}"),
            outcome,
            result.as_deref(),
        )?;
        self.with(py, move |session| {
            session.correct(id, &told, why.as_deref())
        })
    }

    #[getter]
    pub fn name(&self) -> &str {
        &self.home.name
    }

    #[getter]
    fn storage(&self) -> Option<&Path> {
        self.home.location.path()
    }

    /// The definition as JSON: direction, strategy, seed, initial trials, space.
    fn definition(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |session| Ok(session.definition().to_owned()))
    }

    /// The space.
    fn space(&self, py: Python<'_>) -> PyResult<Space> {
        self.with(py, |session| {
            Ok(Space {
                inner: session.space().clone(),
            })
        })
    }

    /// A trial to evaluate, held for `lease` seconds; none when there are `max_trials`. Its number is put into `claimed` whatever
    /// happens next: an interrupt may come when the trial is claimed already.
    fn ask<'py>(
        &self,
        py: Python<'py>,
        lease: &Bound<'_, PyAny>,
        max_trials: Option<u64>,
        claimed: &Bound<'_, PyList>,
    ) -> PyResult<Option<Handed<'py>>> {
        let lease = self::lease(lease)?;
        let number = Arc::new(OnceLock::new());
        let found = number.clone();
        let asked = self.with_turns(py, move |session, turn| {
            session.release_expired(MAX_ATTEMPTS)?;
            // What was released stays so, whatever becomes of the ask.
            interrupt::unsettle();
            Ok(match session.ask_in_turn(max_trials, lease, turn)? {
                Asking::Trial(asked) => {
                    found.set(asked.id).ok();
                    Attempt::Done(Some(asked))
                }
                Asking::Nothing => Attempt::Done(None),
                Asking::Wait(turn) => Attempt::Wait(turn),
            })
        });
        // Before the error is looked at: a trial that was claimed must be known even if the call fails.
        number
            .get()
            .map(|number| claimed.append(number))
            .transpose()?;
        asked?.map(|asked| Handed::of(py, asked)).transpose()
    }

    /// The goal's number for a trial, or why there is none, with what else came of it as JSON.
    fn tell(
        &self,
        py: Python<'_>,
        id: &Bound<'_, PyAny>,
        outcome: Answer<'_>,
        result: Option<&str>,
    ) -> PyResult<()> {
        let id = natural("trial", id)?;
        let told = told(&format!("the value of trial {id}"), outcome, result)?;
        self.with(py, move |session| session.tell_all(id, &told))
    }

    /// A result from elsewhere: the goal's number, or why there is none, with what else came of it as JSON.
    fn add(
        &self,
        py: Python<'_>,
        params: &Bound<'_, PyDict>,
        outcome: Answer<'_>,
        result: Option<&str>,
    ) -> PyResult<u64> {
        let given = values(params)?;
        let told = told("value", outcome, result)?;
        self.with(py, move |session| session.add(borrowed(&given), told))
    }

    /// A point to evaluate before any other.
    fn enqueue(&self, py: Python<'_>, params: &Bound<'_, PyDict>) -> PyResult<u64> {
        let given = values(params)?;
        self.with(py, move |session| session.enqueue(borrowed(&given)))
    }

    /// The point of a trial once more.
    fn replicate(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<u64> {
        let id = natural("trial", id)?;
        self.with(py, move |session| session.replicate(id))
    }

    /// Gives back a trial of this process: it waits again.
    fn release(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<()> {
        let id = natural("trial", id)?;
        self.with(py, move |session| session.release(id))
    }

    /// A sign of life: the lease begins anew.
    fn heartbeat(
        &self,
        py: Python<'_>,
        id: &Bound<'_, PyAny>,
        lease: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let id = natural("trial", id)?;
        let lease = self::lease(lease)?;
        self.with(py, move |session| session.heartbeat(id, lease))
    }

    /// All trials, by number.
    fn trials<'py>(&self, py: Python<'py>) -> PyResult<Vec<Shown<'py>>> {
        let (names, trials) = self.with(py, |session| {
            session.sync()?;
            Ok((names(session), session.view()?.trials))
        })?;
        let trials = trials.into_iter();
        trials.map(|trial| Shown::of(py, &names, trial)).collect()
    }

    /// One trial.
    fn trial<'py>(&self, py: Python<'py>, id: u64) -> PyResult<Shown<'py>> {
        let (names, trial) = self.with(py, move |session| {
            Ok((names(session), session.trial_view(id)?))
        })?;
        Shown::of(py, &names, trial)
    }

    /// The study as JSON.
    fn view(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |session| {
            session.sync()?;
            Ok(session.view()?.to_json())
        })
    }

    /// How many trials there are.
    fn len(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |session| {
            session.sync()?;
            Ok(session.study().n_trials())
        })
    }

    /// The number and the value of the best feasible trial.
    fn best_value(&self, py: Python<'_>) -> PyResult<Option<(u64, f64)>> {
        self.with(py, |session| {
            session.sync()?;
            let best = session.best();
            Ok(best.and_then(|trial| Some((trial.id, session.study().value(trial)?))))
        })
    }

    /// The best feasible trial: among those that keep the limits, if there are any, the one with the best value.
    fn best<'py>(&self, py: Python<'py>) -> PyResult<Shown<'py>> {
        let (names, trial) = self.with(py, |session| {
            session.sync()?;
            let best = session.best().map(|trial| trial.id);
            let id = best.ok_or(mivabo::Error::NothingFeasible)?;
            Ok((names(session), session.trial_view(id)?))
        })?;
        Shown::of(py, &names, trial)
    }

    /// The feasible point of the best posterior mean, and that mean.
    fn recommend<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyDict>, f64)> {
        let (params, mean) = self.with(py, |session| {
            let found = session.recommend()?;
            Ok((visible(session.space(), found.point()), found.mean()))
        })?;
        Ok((dict(py, &params)?, mean))
    }

    /// Mean and deviation of the values at these points, by the model.
    fn predict(&self, py: Python<'_>, points: Vec<Bound<'_, PyDict>>) -> PyResult<Vec<(f64, f64)>> {
        let given: PyResult<Vec<_>> = points
            .into_iter()
            .map(|one| {
                // This is the main thread itself, where Ctrl-C is heard.
                py.check_signals()?;
                values(&one)
            })
            .collect();
        let given = given?;
        self.with(py, move |session| {
            let space = session.space();
            let points: Result<Vec<Point>, PointError> = given
                .iter()
                .map(|values| space.point_where_active(borrowed(values)))
                .collect();
            let estimates = session.predict(&points.map_err(mivabo::Error::from)?)?;
            let pairs = estimates.into_iter();
            Ok(pairs.map(|found| (found.mean, found.deviation)).collect())
        })
    }

    /// Which parameters matter.
    fn importance(&self, py: Python<'_>) -> PyResult<Importance> {
        let found = self.with(py, |session| {
            session.sync()?;
            Ok(session.study().importance()?)
        })?;
        let effects = found.effects.into_iter();
        let pairs = found.interactions.into_iter();
        Ok((
            effects.map(|effect| (effect.name, effect.total)).collect(),
            pairs.map(|pair| (pair.names.into(), pair.share)).collect(),
            found.n_trials,
        ))
    }

    /// A copy of the whole database, as it is now.
    fn backup(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<()> {
        refuse_while_forking()?;
        let home = self.home.clone();
        let done = interruptible(py, move || {
            waiting::at(Some(&home.location));
            let _pass = pass();
            Store::back_up(&home.location, &path, force)
        })?;
        done.map_err(|error| of_store(&error))
    }

    /// The report as one HTML page.
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |session| {
            session.sync()?;
            page(session)
        })
    }
}

impl Study {
    /// Where it is.
    pub fn location(&self) -> &Location {
        &self.home.location
    }

    fn opened(
        py: Python<'_>,
        home: Home,
        open: impl FnOnce(&Home, Store) -> Result<Session, Error> + Send + 'static,
    ) -> PyResult<Study> {
        refuse_while_forking()?;
        let home = Arc::new(home);
        let place = home.clone();
        let slot = interruptible(py, move || {
            waiting::at(Some(&place.location));
            let pass = pass();
            let slot = Arc::new(Mutex::new(Some(place.session(open)?)));
            // What is in memory is copied by a fork, and stays open.
            if place.location.path().is_some() {
                watch(&slot, &pass);
            }
            Ok(slot)
        });
        let slot = slot?.map_err(|error: Error| of_store(&error))?;
        Ok(Study {
            home,
            open: Mutex::new(Open {
                process: std::process::id(),
                slot,
            }),
        })
    }

    /// Acts on the session, when it is this thread's turn.
    pub fn with<T: Send + 'static>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut Session) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        refuse_while_forking()?;
        let (slot, home) = (self.slot()?, self.home.clone());
        let answer = interruptible(py, move || {
            waiting::at(Some(&home.location));
            let pass = pass();
            let mut held = lock(&slot);
            // Other threads may have had it for long.
            interrupt::check();
            let session = home.session_in(&mut held, || watch(&slot, &pass))?;
            act(session)
        })?;
        answer.map_err(|error| of_store(&error))
    }

    /// Acts on the session as often as it asks for a turn to be waited for. Others act on it meanwhile.
    pub fn with_turns<T: Send + 'static>(
        &self,
        py: Python<'_>,
        mut act: impl FnMut(&mut Session, Option<Box<dyn Turn>>) -> Result<Attempt<T>, Error>
        + Send
        + 'static,
    ) -> PyResult<T> {
        refuse_while_forking()?;
        let (slot, home) = (self.slot()?, self.home.clone());
        let answer = interruptible(py, move || {
            waiting::at(Some(&home.location));
            // Held until the end: a child must not inherit the turn.
            let pass = pass();
            let mut turn = None;
            loop {
                let mut held = lock(&slot);
                // Other threads may have had it for long.
                interrupt::check();
                let session = home.session_in(&mut held, || watch(&slot, &pass))?;
                match act(session, turn.take())? {
                    Attempt::Done(answer) => return Ok(answer),
                    Attempt::Wait(mut wanted) => {
                        drop(held);
                        while wanted.wait(AWHILE)? == Waited::NotYet {}
                        turn = Some(wanted);
                    }
                }
            }
        })?;
        answer.map_err(|error: Error| of_store(&error))
    }

    /// The session of this process.
    fn slot(&self) -> PyResult<Arc<Slot>> {
        let mut open = lock(&self.open);
        let process = std::process::id();
        if open.process == process {
            return Ok(open.slot.clone());
        }
        // This process was forked since. A file is opened anew; what is in memory is a copy already.
        if self.home.location.path().is_some() {
            let slot = Arc::new(Mutex::new(None));
            *open = Open { process, slot };
        } else if matches!(open.slot.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(self.home.forked_in_use());
        } else {
            open.process = process;
        }
        Ok(open.slot.clone())
    }
}

fn refuse_while_forking() -> PyResult<()> {
    if is_forking() {
        let text = "a study cannot be used while this very thread forks, as in a hook of `os.register_at_fork`";
        return Err(StudyError::new_err(text));
    }
    Ok(())
}

/// A lease in seconds.
fn lease(seconds: &Bound<'_, PyAny>) -> PyResult<Duration> {
    let seconds = number("lease", seconds)?;
    place::duration("lease", seconds)
}

/// The name of the only study of a file, which must exist.
fn only(py: Python<'_>, location: &Location) -> PyResult<String> {
    refuse_while_forking()?;
    let place = location.clone();
    let studies = interruptible(py, move || {
        waiting::at(Some(&place));
        let _pass = pass();
        Store::look(&place).and_then(|store| store.studies())
    })?;
    match studies.map_err(|error| of_store(&error))?.as_slice() {
        [only] => Ok(only.name.clone()),
        [] => Err(StudyError::new_err(format!(
            "`{location}` holds no study\n{NO_STUDY}"
        ))),
        several => Err(unnamed(location, several)),
    }
}

fn unnamed(location: &Location, studies: &[StudyEntry]) -> PyErr {
    let names: Vec<&str> = studies.iter().map(|study| study.name.as_str()).collect();
    let names = names.join("`, `");
    StudyError::new_err(format!(
        "`{location}` holds several studies; choose one by its name: `{names}`"
    ))
}

fn page(session: &Session) -> Result<String, Error> {
    let study = session.study();
    let view = session.view()?.with_margins(study);
    Ok(html(&view.with_importance(study)))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
