//! How a trial is claimed: a waiting one, or a new one whose point is computed while everybody else goes on.

use std::time::Duration;

use crate::backend::{Rows, Transaction, Turn, Waited};
use crate::error::Error;
use crate::record::{Lease, NewRecord, Record, Revision, StudyId};
use crate::store::{Changes, Store, changes, definition, put};

/// How often a point is computed again because somebody made a trial there meanwhile. For each time somebody has to enqueue
/// or add the very point that is being computed. After that it is computed in the turn to write, where nobody can, so that a claim ends
/// whatever the others do.
const ATTEMPTS: usize = 3;

/// Who has nothing else to do waits for a turn so long at a time.
const AWHILE: Duration = Duration::from_secs(60);

/// How a trial is claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim<'a> {
    /// Who claims it.
    pub lease: Lease<'a>,
    /// Up to which revision the claimer knows the study.
    pub since: Revision,
    /// No new trial is made when there are this many, whatever became of them.
    pub max_trials: Option<u64>,
}

/// Computes the points of new trials.
pub(crate) trait Suggest {
    type Error: From<Error>;

    /// What happened since the revision that the claimer knows, before it waits for the turn to suggest. Whether it knows that now.
    fn take_in(&mut self, _changes: &Changes) -> Result<bool, Self::Error> {
        Ok(false)
    }

    /// What happened since the suggestion was computed, up to the trial that was made of it.
    fn is_recorded(&mut self, _changes: &Changes) {}

    /// A point for a new trial. `changes` is what happened since the revision that the claimer knows, or since the call
    /// before: there is a second one where somebody made a trial at the first answer.
    fn suggest(&mut self, changes: &Changes) -> Result<NewRecord, Self::Error>;

    /// Whether `made` is a trial at the point that was suggested last.
    fn is_repeated_by(&self, made: &Record) -> bool;

    /// In milliseconds since 1970. After a long computation it is later than when the claim was made.
    fn now(&self) -> i64;
}

impl Store {
    /// A trial to work on: the oldest one that waits, or a new one where `suggest` says; none when nothing waits and
    /// there are `max_trials`.
    ///
    /// `suggest` hears of everything that changed since the revision that the claimer knows. While it computes, nobody else
    /// computes a suggestion for this study; everything else goes on. It is called again, with what changed since the call
    /// before, if somebody made a trial with the same parameters meanwhile.
    ///
    /// # Errors
    /// Those of `suggest`, [`Error::UnknownStudy`], or what the backend meets; nothing is changed then.
    pub fn claim<E: From<Error>>(
        &mut self,
        study: StudyId,
        claim: &Claim<'_>,
        suggest: impl FnMut(&Changes) -> Result<NewRecord, E>,
    ) -> Result<Option<Record>, E> {
        let mut suggest = ByParams {
            suggest,
            last: None,
            now: claim.lease.now,
        };
        let mut turn = None;
        loop {
            match self.claim_by(study, claim, &mut suggest, turn.take())? {
                Claimed::Trial(trial) => return Ok(Some(trial)),
                Claimed::Nothing => return Ok(None),
                Claimed::Wait(mut wanted) => {
                    wait(&mut *wanted)?;
                    turn = Some(wanted);
                }
            }
        }
    }

    /// As [`claim`](Store::claim), for those who know when two points are the same, and who do something else while others have the
    /// turn: with the turn that this asks to be waited for, it goes on.
    pub(crate) fn claim_by<S: Suggest>(
        &mut self,
        study: StudyId,
        claim: &Claim<'_>,
        suggest: &mut S,
        turn: Option<Box<dyn Turn>>,
    ) -> Result<Claimed, S::Error> {
        let mut claimer = Claimer {
            store: self,
            study,
            claim,
            suggest,
        };
        claimer.claim(turn)
    }
}

/// What came of a claim.
pub(crate) enum Claimed {
    Trial(Record),
    /// Nothing waits, and there are as many trials as there may be.
    Nothing,
    /// Others have the turn to suggest.
    Wait(Box<dyn Turn>),
}

impl From<Option<Record>> for Claimed {
    fn from(found: Option<Record>) -> Claimed {
        found.map_or(Claimed::Nothing, Claimed::Trial)
    }
}

/// Waits until a turn is ours.
pub(crate) fn wait(turn: &mut dyn Turn) -> Result<(), Error> {
    while turn.wait(AWHILE)? == Waited::NotYet {}
    Ok(())
}

/// A closure that computes points. They are the same where their parameters are written in the same way.
struct ByParams<F> {
    suggest: F,
    last: Option<NewRecord>,
    now: i64,
}

impl<E, F> Suggest for ByParams<F>
where
    E: From<Error>,
    F: FnMut(&Changes) -> Result<NewRecord, E>,
{
    type Error = E;

    fn suggest(&mut self, changes: &Changes) -> Result<NewRecord, E> {
        let new = (self.suggest)(changes)?;
        self.last = Some(new.clone());
        Ok(new)
    }

    fn is_repeated_by(&self, made: &Record) -> bool {
        let last = self.last.as_ref();
        last.is_some_and(|last| last.params == made.params)
    }

    fn now(&self) -> i64 {
        self.now
    }
}

/// One claim while it is made.
struct Claimer<'a, S> {
    store: &'a Store,
    study: StudyId,
    claim: &'a Claim<'a>,
    suggest: &'a mut S,
}

/// What somebody finds who wants a trial.
enum Found {
    Waiting(Record),
    LimitReached,
    /// Neither: a new trial may be made.
    Nothing(Seen),
}

/// What a suggestion is computed from.
struct Seen {
    changes: Changes,
    n_trials: u64,
}

impl<S: Suggest> Claimer<'_, S> {
    fn claim(&mut self, turn: Option<Box<dyn Turn>>) -> Result<Claimed, S::Error> {
        let mut since = self.claim.since;
        let turn = match turn {
            Some(turn) => Some(turn),
            None => match self.claim_before_turn(&mut since)? {
                Some(done) => return Ok(done),
                None => self.store.backend.turn_to_suggest(self.study)?,
            },
        };
        let Some(mut turn) = turn else {
            return Ok(self.claim_while_writing(since)?.into());
        };
        Ok(match turn.wait(Duration::ZERO)? {
            Waited::Taken => self.claim_in_turn(since)?.into(),
            Waited::NotYet => Claimed::Wait(turn),
            Waited::Impossible => self.claim_while_writing(since)?.into(),
        })
    }

    /// What needs no suggestion: what waits is handed out without the turn, as whoever has that may be computing for minutes.
    fn claim_before_turn(&mut self, since: &mut Revision) -> Result<Option<Claimed>, S::Error> {
        match self.look(*since)? {
            // None where somebody was faster.
            Found::Waiting(_) => Ok(self.hand_out()?.map(Claimed::Trial)),
            Found::LimitReached => Ok(Some(Claimed::Nothing)),
            Found::Nothing(seen) => {
                // There may be much of it, and nobody should wait for that: the turn comes after it.
                if self.suggest.take_in(&seen.changes)? {
                    *since = seen.changes.revision;
                }
                Ok(None)
            }
        }
    }

    /// Nobody else computes a suggestion meanwhile.
    fn claim_in_turn(&mut self, mut since: Revision) -> Result<Option<Record>, S::Error> {
        let mut n_repeated = 0;
        while n_repeated < ATTEMPTS {
            // Only now is it known what the others did who had the turn before: their trials are running, so the suggestion
            // takes them into account; or there may be enough of them.
            let seen = match self.look(since)? {
                Found::Waiting(_) => match self.hand_out()? {
                    Some(trial) => return Ok(Some(trial)),
                    // Somebody was faster.
                    None => continue,
                },
                Found::LimitReached => return Ok(None),
                Found::Nothing(seen) => seen,
            };
            let new = self.suggest.suggest(&seen.changes)?;
            if let Some(trial) = self.record(new, &seen)? {
                return Ok(Some(trial));
            }
            // The next look says whether the limit was reached.
            n_repeated += 1;
            since = seen.changes.revision;
        }
        self.claim_while_writing(since)
    }

    /// One consistent look at what there is and, if a new trial is needed, at all that its point is computed from.
    fn look(&self, since: Revision) -> Result<Found, Error> {
        let rows = self.store.backend.read()?;
        self.found(&*rows, since)
    }

    fn found(&self, rows: &(impl Rows + ?Sized), since: Revision) -> Result<Found, Error> {
        definition(rows, self.study)?;
        if let Some(trial) = rows.oldest_waiting(self.study)? {
            return Ok(Found::Waiting(trial));
        }
        let n_trials = rows.last(self.study)?.trials;
        if self.is_limit_reached(n_trials) {
            return Ok(Found::LimitReached);
        }
        let changes = changes(rows, self.study, since)?;
        Ok(Found::Nothing(Seen { changes, n_trials }))
    }

    fn is_limit_reached(&self, n_trials: u64) -> bool {
        let limit = self.claim.max_trials;
        limit.is_some_and(|limit| n_trials >= limit)
    }

    /// The oldest trial that waits, if one still does.
    fn hand_out(&self) -> Result<Option<Record>, Error> {
        self.store.write_if(|rows| {
            let waiting = rows.oldest_waiting(self.study)?;
            waiting.map(|trial| self.start(rows, trial)).transpose()
        })
    }

    /// Makes a trial at a point that was computed from `seen`; none where somebody made one there meanwhile, or the last one, or
    /// revised the study.
    fn record(&mut self, new: NewRecord, seen: &Seen) -> Result<Option<Record>, Error> {
        let recorded = self.store.write_if(|rows| {
            // Somebody may have removed it.
            definition(rows, self.study)?;
            let events = rows.events(self.study, seen.changes.revision)?;
            // In a revised space the point may have no place, and somebody who knows the revision would suggest another one.
            if events.iter().any(|event| event.definition().is_some()) {
                return Ok(None);
            }
            let n_trials = rows.last(self.study)?.trials;
            let mut meanwhile = rows.changes(self.study, seen.changes.revision)?;
            // The trials that were there before are known to whoever computed the point.
            let mut made = meanwhile.iter().filter(|trial| trial.id >= seen.n_trials);
            if self.is_limit_reached(n_trials) || made.any(|t| self.suggest.is_repeated_by(t)) {
                return Ok(None);
            }
            let trial = self.make(rows, n_trials, new, seen)?;
            meanwhile.push(trial.clone());
            let changes = Changes {
                trials: meanwhile,
                events,
                revision: trial.revision,
            };
            Ok::<_, Error>(Some((trial, changes)))
        })?;
        Ok(recorded.map(|(trial, changes)| {
            self.suggest.is_recorded(&changes);
            trial
        }))
    }

    /// As slow as it is certain: nobody writes before the point is recorded.
    fn claim_while_writing(&mut self, since: Revision) -> Result<Option<Record>, S::Error> {
        let store = self.store;
        store.write_if(|rows| {
            let seen = match self.found(rows, since)? {
                Found::Waiting(trial) => return Ok(Some(self.start(rows, trial)?)),
                Found::LimitReached => return Ok(None),
                Found::Nothing(seen) => seen,
            };
            let new = self.suggest.suggest(&seen.changes)?;
            Ok(Some(self.make(rows, seen.n_trials, new, &seen)?))
        })
    }

    /// A new trial of this number, which the claimer takes.
    fn make(
        &self,
        rows: &mut dyn Transaction,
        number: u64,
        new: NewRecord,
        seen: &Seen,
    ) -> Result<Record, Error> {
        let new = Record {
            based_on: Some(seen.changes.revision),
            ..Record::new(number, new, self.suggest.now())
        };
        self.start(rows, new)
    }

    /// The claimer takes a trial.
    fn start(&self, rows: &mut dyn Transaction, mut trial: Record) -> Result<Record, Error> {
        let now = self.suggest.now();
        trial.start(&Lease {
            now,
            ..self.claim.lease
        });
        put(rows, self.study, trial)
    }
}
