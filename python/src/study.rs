//! Ask and tell on a study that the store keeps. See [`Session`].
//!
//! Python's lock is released around every call, Ctrl-C [interrupts](crate::interrupt) it, and
//! threads take turns at the session. Files are closed before a process forks, see [`fork`](crate::fork), and opened anew by
//! the next call; so are those whose log another SQLite library in this process removed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::Duration;

use mivabo::interrupt;
use mivabo::view::{Status, Time, TrialView};
use mivabo_report::html;
use mivabo_store::{Asked, Definition, Error, Location, Object, Said, Session, Store, Told};
use mivabo_work::{MAX_ATTEMPTS, StudyFile};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::copy::{Kept, kept, restored};
use crate::error::{StudyError, of_mistake, of_store};
use crate::fork::{Slot, is_forking, pass, watch};
use crate::interrupt::interruptible;
use crate::space::{Space, visible};
use crate::value::{borrowed, dict, natural, number, object, text, values};
use crate::{place, waiting};

/// A study that this process follows.
#[pyclass(frozen, module = "mivabo._native")]
pub struct Study {
    home: Arc<Home>,
    /// Touched only while Python's lock is held, and never for long: so nobody holds it when a process forks.
    open: Mutex<Open>,
}

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
}

/// What a study is made of, besides its space.
#[derive(FromPyObject)]
struct Settings<'py> {
    #[pyo3(item)]
    direction: Option<Bound<'py, PyAny>>,
    #[pyo3(item)]
    goals: Option<BTreeMap<String, String>>,
    #[pyo3(item)]
    limits: Option<BTreeMap<String, String>>,
    #[pyo3(item)]
    strategy: Bound<'py, PyAny>,
    #[pyo3(item)]
    seed: Bound<'py, PyAny>,
    #[pyo3(item)]
    n_initial: Option<Bound<'py, PyAny>>,
    #[pyo3(item)]
    linked: Vec<(String, String)>,
}

impl Settings<'_> {
    fn definition(self, space: &Space) -> PyResult<Definition> {
        let direction = self.direction.as_ref();
        let direction = direction
            .map(|given| text("direction", given))
            .transpose()?;
        let said = Said {
            direction: direction.as_deref(),
            goals: self.goals.as_ref(),
            limits: self.limits.as_ref(),
        };
        let aims = said.aims().map_err(StudyError::new_err)?;
        let strategy = text("strategy", &self.strategy)?;
        let n_initial = self
            .n_initial
            .as_ref()
            .map(|n| natural("n_initial", n))
            .transpose()?;
        Ok(Definition {
            space: space.inner.clone(),
            aims,
            strategy,
            seed: natural("seed", &self.seed)?,
            n_initial: n_initial.map(|n| usize::try_from(n).unwrap_or(usize::MAX)),
            linked: self.linked,
        })
    }
}

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
    fn restore(
        py: Python<'_>,
        name: String,
        definition: String,
        trials: Vec<Kept>,
        worker: String,
    ) -> PyResult<Study> {
        let home = Home {
            location: Location::Memory,
            name,
            worker,
        };
        Study::opened(py, home, move |home, store| {
            restored(store, &home.name, &definition, &trials)
        })
    }

    /// What a copy of a study in memory is made from: its definition and its trials.
    fn kept(&self, py: Python<'_>) -> PyResult<(String, Vec<Kept>)> {
        self.with(py, |session| {
            let trials = session.records()?.into_iter().map(kept).collect();
            Ok((session.definition()?, trials))
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
        self.with(py, |session| session.definition())
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
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let lease = self::lease(lease)?;
        let number = Arc::new(OnceLock::new());
        let found = number.clone();
        let asked = self.with(py, move |session| {
            session.release_expired(MAX_ATTEMPTS)?;
            // What was released stays so, whatever becomes of the ask.
            interrupt::unsettle();
            let asked = session.ask(max_trials, lease)?;
            asked.as_ref().map(|asked| found.set(asked.id));
            Ok(asked)
        });
        number
            .get()
            .map(|number| claimed.append(number))
            .transpose()?;
        asked?.map(|asked| asked_dict(py, &asked)).transpose()
    }

    /// The value of a trial, or why there is none, with what else came of it as JSON. Without both, the goal's number
    /// is in that.
    fn tell(
        &self,
        py: Python<'_>,
        id: &Bound<'_, PyAny>,
        outcome: Given<'_>,
        result: Option<&str>,
    ) -> PyResult<()> {
        let id = natural("trial", id)?;
        let told = told(&format!("the value of trial {id}"), outcome, result)?;
        self.with(py, move |session| session.tell_all(id, &told))
    }

    /// A result from elsewhere: a value, or why there is none, with what else came of it as JSON.
    fn add(
        &self,
        py: Python<'_>,
        params: &Bound<'_, PyDict>,
        outcome: Given<'_>,
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
    fn trials<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let (names, trials) = self.with(py, |session| {
            session.sync()?;
            Ok((names(session), session.view()?.trials))
        })?;
        let trials = trials.iter();
        trials.map(|trial| shown(py, &names, trial)).collect()
    }

    /// One trial.
    fn trial<'py>(&self, py: Python<'py>, id: u64) -> PyResult<Bound<'py, PyDict>> {
        let (names, trial) = self.with(py, move |session| {
            Ok((names(session), session.trial_view(id)?))
        })?;
        shown(py, &names, &trial)
    }

    /// The study as JSON.
    fn view(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |session| {
            session.sync()?;
            Ok(session.view()?.to_json())
        })
    }

    /// How many trials there are.
    fn len(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |session| {
            session.sync()?;
            Ok(session.trials().len())
        })
    }

    /// The number and the value of the feasible trial with the best value.
    fn best_value(&self, py: Python<'_>) -> PyResult<Option<(u64, f64)>> {
        self.with(py, |session| {
            session.sync()?;
            Ok(session
                .best()
                .and_then(|trial| Some((trial.id, session.study().value(trial)?))))
        })
    }

    /// The feasible trial with the best value.
    fn best<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (names, trial) = self.with(py, |session| {
            session.sync()?;
            let best = session.best().map(|trial| trial.id);
            let id = best.ok_or(mivabo::Error::NothingFeasible)?;
            Ok((names(session), session.trial_view(id)?))
        })?;
        shown(py, &names, &trial)
    }

    /// The feasible point of the best posterior mean, and that mean.
    fn recommend<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyDict>, f64)> {
        let (params, mean) = self.with(py, |session| {
            let found = session.recommend()?;
            Ok((visible(session.space(), found.point()), found.mean()))
        })?;
        Ok((dict(py, &params)?, mean))
    }

    /// Total effects by name, interactions of pairs, and from how many trials.
    #[expect(clippy::type_complexity, reason = "three plain Python objects")]
    fn importance(
        &self,
        py: Python<'_>,
    ) -> PyResult<(Vec<(String, f64)>, Vec<(String, String, f64)>, usize)> {
        let found = self.with(py, |session| {
            session.sync()?;
            Ok(session.study().importance()?)
        })?;
        let effects = found
            .effects
            .into_iter()
            .map(|effect| (effect.name, effect.total))
            .collect();
        let pairs = found.interactions.into_iter().map(|pair| {
            let [one, other] = pair.names;
            (one, other, pair.share)
        });
        Ok((effects, pairs.collect(), found.n_trials))
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
            if held.as_ref().is_some_and(Session::is_cut_off) {
                *held = None;
            }
            let session = match &mut *held {
                Some(session) => session,
                closed => {
                    let session = closed.insert(home.load()?);
                    watch(&slot, &pass);
                    session
                }
            };
            act(session)
        })?;
        answer.map_err(|error| of_store(&error))
    }

    /// The session of this process.
    fn slot(&self) -> PyResult<Arc<Slot>> {
        let mut open = lock(&self.open);
        if open.process != std::process::id() {
            if self.home.location.path().is_some() {
                *open = Open {
                    process: std::process::id(),
                    slot: Arc::new(Mutex::new(None)),
                };
            } else if matches!(open.slot.try_lock(), Err(TryLockError::WouldBlock)) {
                let name = &self.home.name;
                return Err(StudyError::new_err(format!(
                    "study `{name}` is in memory and was in use when this process was forked; open it in a file instead"
                )));
            } else {
                open.process = std::process::id();
            }
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

/// A trial as the arguments of Python's `Trial`, parameters in the order of the space.
fn shown<'py>(
    py: Python<'py>,
    names: &[String],
    trial: &TrialView,
) -> PyResult<Bound<'py, PyDict>> {
    let params = PyDict::new(py);
    for name in names {
        if let Some(value) = trial.params.get(name) {
            params.set_item(name, object(py, value)?)?;
        }
    }
    let measured = PyDict::new(py);
    for (name, number) in &trial.measured {
        measured.set_item(name, number)?;
    }
    let result = trial.result.as_ref();
    let result = result.map(|given| py.import("json")?.call_method1("loads", (given.as_str(),)));
    let found = PyDict::new(py);
    found.set_item("id", trial.id)?;
    found.set_item("params", params)?;
    found.set_item("state", trial.state.name())?;
    found.set_item("value", trial.value)?;
    found.set_item("measured", measured)?;
    found.set_item("reason", trial.reason.as_deref())?;
    found.set_item("feasible", trial.feasible)?;
    found.set_item("keeps_limits", trial.keeps_limits)?;
    found.set_item("origin", trial.origin.as_deref().unwrap_or_default())?;
    found.set_item("result", result.transpose()?)?;
    found.set_item("attempts", trial.attempts)?;
    found.set_item("worker", trial.worker.as_deref())?;
    found.set_item("created", trial.created.map(Time::seconds))?;
    found.set_item("started", trial.started.map(Time::seconds))?;
    found.set_item("finished", trial.finished.map(Time::seconds))?;
    Ok(found)
}

/// The names of the parameters that an objective sees, in order.
fn names(session: &Session) -> Vec<String> {
    let parameters = session.space().parameters().iter();
    let visible = parameters.filter(|one| !one.is_auxiliary());
    visible.map(|one| one.name().to_owned()).collect()
}

/// A trial to evaluate, as Python sees it.
pub fn asked_dict<'py>(py: Python<'py>, asked: &Asked) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    found.set_item("id", asked.id)?;
    found.set_item("params", dict(py, &asked.values)?)?;
    found.set_item("state", Status::Running.name())?;
    found.set_item("origin", &asked.origin)?;
    found.set_item("attempts", asked.attempts)?;
    Ok(found)
}

/// A value, or why there is none.
pub type Given<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);

/// What Python tells of an evaluation.
pub fn told(what: &str, given: Given<'_>, result: Option<&str>) -> PyResult<Told> {
    let (value, reason) = given;
    let result = result.map(Object::new).transpose();
    let result = result.map_err(|error| of_store(&error))?;
    let reason = reason.map(|reason| text("reason", &reason)).transpose()?;
    let is_in_result = value.is_none() && result.is_some();
    let value = if reason.is_some() || is_in_result {
        None
    } else {
        Some(number(what, &value)?)
    };
    Ok(Told {
        value,
        reason,
        result,
    })
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
    let studies = studies.map_err(|error| of_store(&error))?;
    match studies.as_slice() {
        [only] => Ok(only.name.clone()),
        [] => Err(StudyError::new_err(format!("`{location}` holds no study"))),
        several => {
            let names: Vec<&str> = several.iter().map(|study| study.name.as_str()).collect();
            let names = names.join("`, `");
            Err(StudyError::new_err(format!(
                "`{location}` holds several studies; choose one by its name: `{names}`"
            )))
        }
    }
}

fn page(session: &Session) -> Result<String, Error> {
    let study = session.study();
    let view = session.view()?.with_margins(study);
    Ok(html(&view.with_importance(study)))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
