//! A stored study as it is shown: the [`StudyView`] of its trials, with the times, workers and notes that the store keeps.

use mivabo::view::{Given, StudyView, Time, TrialView};
use serde::Deserialize;

use crate::error::Error;
use crate::points;
use crate::record::Record;
use crate::session::Session;

impl Session {
    /// The study as this session last saw it. What workers wrote since then about trials that were known to run is not in
    /// it: no trial has an end here that the ranking does not know.
    ///
    /// # Errors
    /// What the store meets.
    pub fn view(&self) -> Result<StudyView, Error> {
        let mut view = StudyView::of(self.name(), self.study());
        view.strategy = strategy(&self.definition()?);
        for (trial, record) in view.trials.iter_mut().zip(self.records()?) {
            add_stored(trial, record);
        }
        Ok(view)
    }

    /// One trial as it is stored now.
    ///
    /// # Errors
    /// [`Error::UnknownTrial`], [`Error::BadTrial`], or what the store meets.
    pub fn trial_view(&self, id: u64) -> Result<TrialView, Error> {
        let record = self.record(id)?;
        let trial = points::known(self.space(), &record)?;
        let mut view = TrialView::of(self.study(), &trial);
        add_stored(&mut view, record);
        Ok(view)
    }
}

/// Adds what only the store knows. A record may be younger than the view: what came with an end that the view lacks waits
/// for the next one.
fn add_stored(trial: &mut TrialView, record: Record) {
    let is_told = trial.state.is_told();
    let time = |millis: Option<i64>| millis.map(Time::of_millis);
    let finished = record.finished.filter(|_| is_told);
    let result = record.result().filter(|_| is_told);
    trial.origin = Some(record.origin()).filter(|origin| !origin.is_empty());
    trial.result = result.and_then(|result| Given::new(result.as_str()));
    trial.created = time(Some(record.created));
    trial.set_times(time(record.started), time(finished));
    trial.attempts = record.attempts;
    trial.based_on = record.based_on.map(|revision| revision.0);
    trial.worker = record.worker;
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
