//! Asking: trials to evaluate, points to evaluate before others, and the leases under which workers have them.

use std::ops::Range;
use std::time::Duration;

use mivabo::Study;
use mivabo::measure::Outcome;
use mivabo::space::{Point, Unsaid, Value};
use mivabo::study::{Absent, Proposal};

use super::fold::Folded;
use super::replica::Replica;
use super::{Session, millis, new_record};
use crate::backend::Turn;
use crate::claim::{Claim, Claimed, Suggest, wait};
use crate::error::Error;
use crate::record::{Lease, NewRecord, Record, Tell};
use crate::store::Changes;

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

/// What came of an ask.
#[derive(Debug)]
pub enum Asking {
    /// A trial to evaluate.
    Trial(Asked),
    /// Nothing waits, and there are as many trials as there may be.
    Nothing,
    /// Others have the turn to suggest: it is to be waited for.
    Wait(Box<dyn Turn>),
}

/// Computes a suggestion from the study in memory, which takes in what changed before.
struct Asker<'a> {
    replica: &'a mut Replica,
    clock: fn() -> i64,
    suggested: Option<Point>,
}

/// Why a point was not suggested.
enum Unasked {
    /// Something happened after which the study has to be folded anew, for which there is no time in the turn to suggest.
    Stale,
    Failed(Error),
}

impl From<Error> for Unasked {
    fn from(error: Error) -> Unasked {
        Unasked::Failed(error)
    }
}

impl Asker<'_> {
    fn follow(&mut self, changes: &Changes) -> Result<(), Unasked> {
        if self.replica.follow(changes)? {
            return Ok(());
        }
        Err(Unasked::Stale)
    }
}

impl Suggest for Asker<'_> {
    type Error = Unasked;

    fn take_in(&mut self, changes: &Changes) -> Result<bool, Unasked> {
        self.follow(changes)?;
        Ok(true)
    }

    fn is_recorded(&mut self, changes: &Changes) {
        // The trial is ours now. What goes wrong here is met again by the next call.
        self.replica.follow(changes).ok();
    }

    fn suggest(&mut self, changes: &Changes) -> Result<NewRecord, Unasked> {
        self.follow(changes)?;
        // The study does not learn of the new trial here but from the store, once it is there: so nothing has to be undone
        // where it cannot be recorded.
        let proposal = self.replica.compute(Study::propose);
        let Proposal { feasible, origin } = proposal.map_err(Error::from)?;
        let point = self.suggested.insert(feasible.point().clone());
        let space = self.replica.study().space();
        Ok(new_record(space, point, &origin.to_string())?)
    }

    /// Auxiliary parameters make no difference: an objective does not see them.
    fn is_repeated_by(&self, made: &Record) -> bool {
        let space = self.replica.study().space();
        // A trial that cannot be read is reported when the study takes it in.
        let made = self.replica.fold().folded(made);
        let (Ok(Folded::Here(made)), Some(suggested)) = (made, &self.suggested) else {
            return false;
        };
        space.values(made.point()).eq(space.values(suggested))
    }

    fn now(&self) -> i64 {
        (self.clock)()
    }
}

impl Session {
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
        let mut turn = None;
        loop {
            match self.ask_in_turn(max_trials, lease, turn.take())? {
                Asking::Trial(asked) => return Ok(Some(asked)),
                Asking::Nothing => return Ok(None),
                Asking::Wait(mut wanted) => {
                    wait(&mut *wanted)?;
                    turn = Some(wanted);
                }
            }
        }
    }

    /// As [`ask`](Self::ask), for those who use the session for something else while others have the turn to suggest: it is called again
    /// with the turn that it asked to be [waited](Turn::wait) for.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn ask_in_turn(
        &mut self,
        max_trials: Option<u64>,
        lease: Duration,
        mut turn: Option<Box<dyn Turn>>,
    ) -> Result<Asking, Error> {
        loop {
            if self.replica.is_torn() {
                self.sync()?;
            }
            let trial = match self.claim(max_trials, lease, turn.take()) {
                Ok(Claimed::Trial(trial)) => trial,
                Ok(Claimed::Wait(turn)) => return Ok(Asking::Wait(turn)),
                Ok(Claimed::Nothing) => {
                    self.sync()?;
                    return Ok(Asking::Nothing);
                }
                Err(Unasked::Stale) => {
                    self.sync()?;
                    continue;
                }
                Err(Unasked::Failed(error)) => return Err(error),
            };
            // One that waited is known only when it is looked up. It is ours now: what goes wrong here is met again by the next call.
            if self.replica.is_torn() || self.replica.revision() < trial.revision {
                self.sync().ok();
            }
            match self.replica.fold().folded(&trial)? {
                Folded::Here(at) => return Ok(Asking::Trial(self.asked(&trial, at.point()))),
                // It waited while the study was revised, or came back after that: nobody is to evaluate it any more.
                Folded::Absent(absent) => self.forbid(&trial, &absent.why)?,
            }
        }
    }

    fn claim(
        &mut self,
        max_trials: Option<u64>,
        lease: Duration,
        turn: Option<Box<dyn Turn>>,
    ) -> Result<Claimed, Unasked> {
        let claim = Claim {
            lease: leased(&self.worker, (self.clock)(), lease),
            since: self.replica.revision(),
            max_trials,
        };
        let mut asker = Asker {
            replica: &mut self.replica,
            clock: self.clock,
            suggested: None,
        };
        self.store.claim_by(self.id, &claim, &mut asker, turn)
    }

    fn asked(&self, trial: &Record, point: &Point) -> Asked {
        let values = self.space().values(point);
        Asked {
            id: trial.id,
            values: values
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            point: point.clone(),
            origin: trial.origin(),
            attempts: trial.attempts,
        }
    }

    fn forbid(&mut self, trial: &Record, why: &Unsaid) -> Result<(), Error> {
        let tell = Tell {
            worker: Some(&self.worker),
            now: (self.clock)(),
            ..Tell::new(Outcome::failed(forbidden_by(why)))
        };
        match self.store.tell(self.id, trial.id, &tell) {
            // Whoever had it before it came back was faster.
            Ok(_) | Err(Error::AlreadyTold { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// A point to evaluate before any other; what is left out has its default. Its number is the answer.
    ///
    /// # Errors
    /// [`Error::Study`] when these values make no feasible point of the space, or what the store meets.
    pub fn enqueue<'a>(
        &mut self,
        values: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Result<u64, Error> {
        let values = values.into_iter();
        let values: Vec<_> = values
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        let ids = self.enqueue_all(&[values])?;
        Ok(ids.start)
    }

    /// The same for many points, all of them or none. Their numbers are the answer.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue); nothing is then added.
    pub fn enqueue_all(&mut self, all: &[Vec<(String, Value)>]) -> Result<Range<u64>, Error> {
        loop {
            self.sync()?;
            let points = all.iter().map(|values| {
                let values = values.iter();
                self.feasible(values.map(|(name, value)| (name.as_str(), value.clone())))
            });
            let points = points.collect::<Result<Vec<_>, Error>>()?;
            if let Some(ids) = self.enqueue_points(&points)? {
                return Ok(ids);
            }
            // Somebody revised the study: the same values may be another point, or none.
        }
    }

    /// The feasible point with these values, and with defaults for what is left out.
    ///
    /// # Errors
    /// [`Error::Study`] when there is no such point.
    pub fn feasible<'a>(
        &self,
        values: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Result<Point, Error> {
        let point = self.space().point_with_defaults(values)?;
        // An ask hands out what waits as it is, so only a feasible point may wait.
        let violations = self.space().check(&point).violations;
        if violations.is_empty() {
            return Ok(point);
        }
        Err(mivabo::Error::Violated { violations }.into())
    }

    /// The point of a trial once more, for an objective with noise or one that failed by chance.
    ///
    /// # Errors
    /// [`Error::UnknownTrial`], [`Error::NoPlace`], [`Error::Study`] when its point is not feasible, or what the store meets.
    pub fn replicate(&mut self, id: u64) -> Result<u64, Error> {
        loop {
            self.sync()?;
            let record = self.store.trial(self.id, id)?;
            let point = match self.replica.fold().folded(&record)? {
                Folded::Here(trial) => trial.point().clone(),
                Folded::Absent(Absent { why, .. }) => return Err(Error::NoPlace { id, why }),
            };
            let violations = self.space().check(&point).violations;
            if !violations.is_empty() {
                return Err(mivabo::Error::Violated { violations }.into());
            }
            if let Some(ids) = self.enqueue_points(&[point])? {
                return Ok(ids.start);
            }
        }
    }

    /// None where the study was revised since this session last looked.
    fn enqueue_points(&mut self, points: &[Point]) -> Result<Option<Range<u64>>, Error> {
        let new = points
            .iter()
            .map(|point| new_record(self.space(), point, "queue"));
        let new = new.collect::<Result<Vec<_>, Error>>()?;
        let (now, known) = ((self.clock)(), self.replica.revision());
        let made = self.store.enqueue_all(self.id, new, now, known)?;
        if made.is_some() {
            self.sync()?;
        }
        Ok(made.map(|made| {
            let first = made.first().map_or(0, |trial| trial.id);
            first..first + made.len() as u64
        }))
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
}

/// Why a waiting trial fails whose point has no place in a space that was revised.
pub(super) fn forbidden_by(why: &Unsaid) -> String {
    format!("the revised space forbids it: {why}")
}

fn leased(worker: &str, now: i64, lease: Duration) -> Lease<'_> {
    Lease {
        worker,
        now,
        millis: millis(lease),
    }
}
