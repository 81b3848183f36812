//! Telling: what evaluations gave, here and elsewhere.

use mivabo::space::{Point, Value};

use super::{Session, new_record};
use crate::error::{Error, Refused};
use crate::record::Tell;
use crate::told::Told;

impl Session {
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
        let since = self.replica.revision();
        let changes = self.store.tell_since(self.id, id, &tell, since)?;
        match changes {
            Some(changes) if self.replica.follow(&changes)? => Ok(()),
            _ => self.sync(),
        }
    }

    /// The same for many trials, all of them or none. One that was told the very same before stays as it is; for each, whether it
    /// was.
    ///
    /// # Errors
    /// As [`tell`](Self::tell), with the place of what is refused; nothing is then told.
    pub fn tell_many(&mut self, all: &[(u64, Told)]) -> Result<Vec<bool>, Refused> {
        let now = (self.clock)();
        let aims = self.aims().clone();
        let tells = all.iter().map(|(id, told)| {
            let tell = Tell {
                worker: Some(&self.worker),
                outcome: told.outcome(&aims),
                now,
                note: told.note()?,
            };
            Ok((*id, tell))
        });
        let tells = tells.collect::<Result<Vec<_>, Error>>()?;
        let heard = self.store.tell_many(self.id, &tells)?;
        self.sync()?;
        Ok(heard)
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
        // It may have been revised.
        self.sync()?;
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
            Ok((new_record(self.space(), point, "added")?, tell))
        });
        // A point that does not fit is found before anything is written.
        let told = told.collect::<Result<Vec<_>, Error>>()?;
        let added = self.store.add_all(self.id, told)?;
        self.sync()?;
        Ok(added.first().map_or(0, |trial| trial.id)..added.last().map_or(0, |trial| trial.id + 1))
    }
}
