//! Asking: trials to evaluate, points to evaluate before others, and the leases under which workers have them.

use std::time::Duration;

use mivabo::Study;
use mivabo::space::{Point, Value};
use mivabo::study::Proposal;

use super::replica::Replica;
use super::{Session, millis, new_record};
use crate::backend::Turn;
use crate::claim::{Claim, Claimed, Suggest, wait};
use crate::error::Error;
use crate::points;
use crate::record::{Lease, NewRecord, Record};
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

impl Suggest for Asker<'_> {
    type Error = Error;

    fn take_in(&mut self, changes: &Changes) -> Result<bool, Error> {
        self.replica.take_in(changes)?;
        Ok(true)
    }

    fn is_recorded(&mut self, changes: &Changes) {
        // The trial is ours now. What goes wrong here is met again by the next call.
        self.replica.take_in(changes).ok();
    }

    fn suggest(&mut self, changes: &Changes) -> Result<NewRecord, Error> {
        self.replica.take_in(changes)?;
        // The study does not learn of the new trial here but from the store, once it is there: so nothing has to be undone
        // where it cannot be recorded.
        let Proposal { feasible, origin } = self.replica.compute(Study::propose)?;
        let point = self.suggested.insert(feasible.point().clone());
        new_record(self.replica.study().space(), point, &origin.to_string())
    }

    /// Auxiliary parameters make no difference: an objective does not see them.
    fn is_repeated_by(&self, made: &Record) -> bool {
        let space = self.replica.study().space();
        // A trial that cannot be read is reported when the study takes it in.
        let made = points::read(space, made).ok();
        let (Some(made), Some(suggested)) = (&made, &self.suggested) else {
            return false;
        };
        space.values(made).eq(space.values(suggested))
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
        turn: Option<Box<dyn Turn>>,
    ) -> Result<Asking, Error> {
        self.replica.mend()?;
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
        let claimed = self.store.claim_by(self.id, &claim, &mut asker, turn)?;
        let trial = match claimed {
            Claimed::Trial(trial) => trial,
            Claimed::Wait(turn) => return Ok(Asking::Wait(turn)),
            Claimed::Nothing => {
                self.sync()?;
                return Ok(Asking::Nothing);
            }
        };
        // One that waited is known only when it is looked up. It is ours now: what goes wrong here is met again by the next call.
        if self.replica.is_torn() || self.replica.revision() < trial.revision {
            self.sync().ok();
        }
        self.asked(&trial).map(Asking::Trial)
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
        // An ask hands out what waits as it is, so only a feasible point may wait.
        let violations = self.space().check(point).violations;
        if !violations.is_empty() {
            return Err(mivabo::Error::Violated { violations }.into());
        }
        let new = new_record(self.space(), point, "queue")?;
        let trial = self.store.enqueue(self.id, new, (self.clock)())?;
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
}

fn leased(worker: &str, now: i64, lease: Duration) -> Lease<'_> {
    Lease {
        worker,
        now,
        millis: millis(lease),
    }
}
