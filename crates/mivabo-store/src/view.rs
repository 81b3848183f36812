//! A stored study as it is shown: the [`StudyView`] of its trials, with the times, workers and notes that the store keeps.

use mivabo::measure::Outcome;
use mivabo::view::{Given, PastView, Status, StudyView, Time, TrialView};
use serde::Deserialize;

use crate::error::Error;
use crate::event::Correction;
use crate::object::Object;
use crate::record::Record;
use crate::session::{Fold, Folded, Session};

impl Session {
    /// The study as this session last saw it. What workers wrote since then about trials that were known to run is not in
    /// it: no trial has an end here that the ranking does not know.
    ///
    /// # Errors
    /// What the store meets.
    pub fn view(&self) -> Result<StudyView, Error> {
        let mut view = StudyView::of(self.name(), self.study());
        view.strategy = strategy(self.definition());
        for (trial, record) in view.trials.iter_mut().zip(self.records()?) {
            add_stored(trial, record, self)?;
        }
        Ok(view)
    }

    /// One trial as it is stored now.
    ///
    /// # Errors
    /// [`Error::UnknownTrial`], [`Error::BadTrial`], or what the store meets.
    pub fn trial_view(&self, id: u64) -> Result<TrialView, Error> {
        let record = self.record(id)?;
        let mut view = match self.fold().folded(&record)? {
            Folded::Here(trial) => TrialView::of(self.study(), &trial),
            Folded::Absent(trial) => TrialView::of_absent(self.study(), &trial),
        };
        add_stored(&mut view, record, self)?;
        Ok(view)
    }
}

/// Adds what only the store knows. A record may be younger than the view: what came with an end that the view lacks waits
/// for the next one.
fn add_stored(trial: &mut TrialView, record: Record, session: &Session) -> Result<(), Error> {
    let fold = session.fold();
    trial.history = history(&record, session);
    if trial.left_out.is_none() {
        trial.evaluated = fold.evaluated(&record, &trial.params)?;
    }
    let is_told = trial.state.is_told();
    let time = |millis: Option<i64>| millis.map(Time::of_millis);
    let finished = record.finished.filter(|_| is_told);
    let result = result(&record, fold).filter(|_| is_told);
    trial.origin = Some(record.origin()).filter(|origin| !origin.is_empty());
    trial.result = result.and_then(|result| Given::new(result.as_str()));
    trial.created = time(Some(record.created));
    trial.set_times(time(record.started), time(finished));
    trial.attempts = record.attempts;
    trial.based_on = record.based_on.map(|revision| revision.0);
    trial.worker = record.worker;
    Ok(())
}

/// The JSON object that the evaluation gave; of a corrected trial, what was given last.
fn result(record: &Record, fold: &Fold) -> Option<Object> {
    let events = fold.corrections(record.id).rev();
    let mut notes = events.filter_map(|event| event.correction()?.note.result());
    notes.next().or_else(|| record.result())
}

/// What the trial was before each of its corrections.
fn history(record: &Record, session: &Session) -> Vec<PastView> {
    let corrections = session.fold().corrections(record.id);
    let mut before = record.outcome();
    let mut past = Vec::new();
    for event in corrections {
        let correction = event.correction();
        if let Some(outcome) = before {
            past.push(PastView {
                state: Status::from(outcome),
                value: session.aims().value(outcome),
                measured: outcome.measured().clone(),
                reason: match outcome {
                    Outcome::Failed { reason, .. } => Some(reason.clone()),
                    _ => None,
                },
                corrected: Some(Time::of_millis(event.time)),
                worker: event.worker.clone(),
                why: correction.and_then(|correction| correction.why.clone()),
            });
        }
        before = correction.map(|correction: &Correction| &correction.outcome);
    }
    past
}

/// The strategy's name in a definition, whose space is not read.
fn strategy(definition: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Text {
        strategy: String,
    }
    let text: Option<Text> = serde_json::from_str(definition).ok();
    text.map(|text| text.strategy)
}
