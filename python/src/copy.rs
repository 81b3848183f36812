//! Copies of studies in memory, as plain tuples that pickle.
//!
//! A copy is made by the store's own steps: every trial is enqueued and claimed by number, told in the order of the tells,
//! and given back if it waited. So it goes on with the same suggestions.

use std::collections::BTreeMap;

use mivabo::measure::{Measured, Outcome};
use mivabo_store::{
    Claim, Error, Lease, NewRecord, Object, Record, RecordState, Revision, Session, Store, Tell,
};

/// params, note, state, measured, reason, (place among all tells, created, started, finished), worker
pub type Kept = (
    String,
    String,
    String,
    Option<BTreeMap<String, f64>>,
    Option<String>,
    Times,
    Option<String>,
);

type Times = (Option<u64>, i64, Option<i64>, Option<i64>);

/// How long running trials stay so in a copy: a day, in milliseconds.
const LEASE: i64 = 24 * 3600 * 1000;

/// A trial as a tuple.
pub fn kept(trial: Record) -> Kept {
    let (state, reason) = match &trial.state {
        RecordState::Waiting => ("waiting", None),
        RecordState::Running { .. } => ("running", None),
        RecordState::Ended(Outcome::Complete(_)) => ("complete", None),
        RecordState::Ended(Outcome::Stopped(_)) => ("stopped", None),
        RecordState::Ended(Outcome::Failed { reason, .. }) => ("failed", Some(reason.clone())),
    };
    let measured = trial.outcome().map(|outcome| {
        let numbers = outcome.measured().iter();
        numbers
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    });
    let times = (trial.told, trial.created, trial.started, trial.finished);
    let (params, note) = (trial.params.to_string(), trial.note.to_string());
    (
        params,
        note,
        state.to_owned(),
        measured,
        reason,
        times,
        trial.worker,
    )
}

fn outcome(trial: &Kept) -> Result<Outcome, Error> {
    let (_, _, state, measured, reason, ..) = trial;
    let measured =
        Measured::try_from(measured.clone().unwrap_or_default()).map_err(mivabo::Error::from)?;
    Ok(match (state.as_str(), reason) {
        ("complete", _) => Outcome::Complete(measured),
        ("stopped", _) => Outcome::Stopped(measured),
        (_, reason) => Outcome::Failed {
            reason: reason.clone().unwrap_or_default(),
            measured,
        },
    })
}

/// A study with these trials in an empty store.
///
/// # Errors
/// When they are not what [`kept`] gave.
pub fn restored(
    mut store: Store,
    name: &str,
    definition: &str,
    trials: &[Kept],
) -> Result<Session, Error> {
    let study = store.create(name, definition)?;
    for (params, note, _, _, _, (_, created, _, _), _) in trials {
        let proposal = NewRecord {
            params: Object::new(params)?,
            note: Object::new(note)?,
        };
        store.enqueue(study, proposal, *created)?;
    }
    for (_, _, _, _, _, (_, created, started, _), worker) in trials {
        let worker = worker.as_deref().unwrap_or("copy");
        let lease = Lease {
            worker,
            now: started.unwrap_or(*created),
            millis: LEASE,
        };
        let claim = Claim {
            lease,
            since: Revision::default(),
            max_trials: Some(0),
        };
        store.claim(study, &claim, |_| {
            Err::<NewRecord, _>(Error::UnknownTrial { id: 0, n: 0 })
        })?;
    }
    let mut told: Vec<(u64, &Kept)> = (0..)
        .zip(trials)
        .filter(|(_, trial)| trial.5.0.is_some())
        .collect();
    told.sort_by_key(|(_, trial)| trial.5.0);
    for (id, trial) in told {
        let (.., (_, _, _, finished), worker) = trial;
        let outcome = outcome(trial)?;
        let now = finished.unwrap_or_default();
        store.tell(
            study,
            id,
            &Tell {
                worker: worker.as_deref(),
                now,
                ..Tell::new(outcome)
            },
        )?;
    }
    for (id, trial) in (0..).zip(trials).filter(|(_, trial)| trial.2 == "waiting") {
        store.release(study, id, trial.6.as_deref().unwrap_or("copy"))?;
    }
    Session::load(store, name)
}
