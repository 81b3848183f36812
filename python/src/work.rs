//! The loop of a study for Python: [`Work`] with a session for each call.
//!
//! Evaluations, callbacks and users' exceptions are Python's own; what is evaluated next, what became of it and whether anything is
//! left to do is said here. As for a study, Python's lock is released around every call and Ctrl-C interrupts it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mivabo_store::Location;
use mivabo_work::{AwaitedTrial, Ended, Ending, Next, Terms, Work};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::fork::pass;
use crate::interrupt::interruptible;
use crate::place::duration;
use crate::study::{Attempt, Study};
use crate::trial::{Answer, Handed, told};
use crate::waiting;

/// The work on a study, as one call of `optimize` does it.
#[pyclass(frozen, module = "mivabo._native")]
pub struct Loop {
    study: Py<Study>,
    work: Arc<Mutex<Work>>,
}

/// What Python does next.
#[derive(IntoPyObject)]
enum Step<'py> {
    /// Evaluate this trial.
    Evaluate(Handed<'py>),
    /// Wait for so many seconds, or for an evaluation to end.
    Wait(f64),
}

#[pymethods]
impl Loop {
    #[new]
    #[expect(
        clippy::too_many_arguments,
        reason = "one for each bound of `optimize`"
    )]
    fn new(
        study: Py<Study>,
        lease: f64,
        trials: Option<u64>,
        time: Option<f64>,
        target: Option<f64>,
        patience: Option<u64>,
    ) -> PyResult<Loop> {
        let is_shared = study.get().location() != &Location::Memory;
        let mut terms = Terms {
            trials,
            // Beyond what a clock can count nobody waits.
            time: time.and_then(|time| Duration::try_from_secs_f64(time.max(0.0)).ok()),
            target,
            patience,
            ..Terms::with_lease(duration("lease", lease)?)
        };
        // A study in memory is this process's alone.
        if !is_shared {
            terms.longest_wait = Duration::ZERO;
        }
        Ok(Loop {
            study,
            work: Arc::new(Mutex::new(Work::new(terms))),
        })
    }

    /// A trial to evaluate, or for how many seconds to wait; none when nothing new begins.
    fn next<'py>(&self, py: Python<'py>, stops: bool) -> PyResult<Option<Step<'py>>> {
        let work = self.work.clone();
        let next = self.study.get().with_turns(py, move |session, turn| {
            let mut work = lock(&work);
            if stops {
                work.stop();
            }
            Ok(match work.next_in_turn(session, turn)? {
                Next::Turn(turn) => Attempt::Wait(turn),
                next => Attempt::Done(next),
            })
        })?;
        Ok(match next {
            Next::Evaluate(asked) => Some(Step::Evaluate(Handed::of(py, asked)?)),
            Next::Wait { until, news } => {
                self.say(py, news.as_ref());
                let left = until.saturating_duration_since(Instant::now());
                Some(Step::Wait(left.as_secs_f64()))
            }
            // No turn is left to be waited for.
            Next::Done(_) | Next::Turn(_) => None,
        })
    }

    /// Stores the value of a trial, or why there is none. Whether this came first.
    fn tell(
        &self,
        py: Python<'_>,
        id: u64,
        outcome: Answer<'_>,
        result: Option<&str>,
    ) -> PyResult<bool> {
        let told = told(&format!("the value of trial {id}"), outcome, result)?;
        let (work, is_known) = (self.work.clone(), Arc::new(AtomicBool::new(false)));
        let (ending, knows) = (Ending::Told(told.clone()), is_known.clone());
        let ended = self.study.get().with(py, move |session| {
            // From here on the work itself remembers the outcome.
            knows.store(true, Ordering::SeqCst);
            lock(&work).ended(session, id, ending)
        });
        if ended.is_err() && !is_known.load(Ordering::SeqCst) {
            // There was no session to store it in: what it cost is named all the same.
            py.detach(|| lock(&self.work).remember(id, &told));
        }
        Ok(ended? == Ended::Told)
    }

    /// Gives back a trial: it waits for the next worker.
    fn give_back(&self, py: Python<'_>, id: u64) -> PyResult<()> {
        let work = self.work.clone();
        let ended = self.study.get().with(py, move |session| {
            lock(&work).ended(session, id, Ending::GivenBack)
        });
        ended.map(drop)
    }

    /// Gives back all trials that are held here.
    fn release(&self, py: Python<'_>) -> PyResult<()> {
        let work = self.work.clone();
        self.study.get().with(py, move |session| {
            lock(&work).release(session);
            Ok(())
        })
    }

    /// Seconds between two signs of life.
    #[getter]
    fn pulse(&self, py: Python<'_>) -> f64 {
        py.detach(|| lock(&self.work).pulse().as_secs_f64())
    }

    /// A sign of life for all trials that are held here.
    fn beat(&self, py: Python<'_>) -> PyResult<()> {
        let work = self.work.clone();
        self.study.get().with(py, move |session| {
            lock(&work).beat(session);
            Ok(())
        })
    }

    /// What was evaluated and is not stored.
    fn unstored(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let work = self.work.clone();
        let unstored = self
            .study
            .get()
            .with(py, move |session| Ok(lock(&work).unstored(Some(session))));
        match unstored {
            Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => Err(error),
            // Without a session nothing can be said to be there.
            Err(_) => Ok(py.detach(|| lock(&self.work).unstored(None))),
            found => found,
        }
    }

    /// What was stored and is missing now.
    fn missing(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let (work, study) = (self.work.clone(), self.study.get());
        let (location, name) = (study.location().clone(), study.name().to_owned());
        interruptible(py, move || {
            waiting::at(None);
            let _pass = pass();
            lock(&work).missing_in(&location, &name)
        })
    }
}

impl Loop {
    fn say(&self, py: Python<'_>, news: Option<&AwaitedTrial>) {
        let Some(AwaitedTrial { trial, worker }) = news else {
            return;
        };
        let place = self.study.get().location();
        let text = format!("waiting for trial {trial} of `{place}`, which runs for {worker}");
        // A handler of the user's that fails does not end the loop.
        waiting::warn(py, &text).ok();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
