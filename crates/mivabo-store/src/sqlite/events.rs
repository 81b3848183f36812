//! Rows of SQLite's table of events as events, and back.
//!
//! A revision is kept as the text that it is. What a correction says is one JSON object, whose numbers read back to the bit.

use mivabo::measure::{Measured, Outcome};
use rusqlite::Row;
use rusqlite::types::Type;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::event::{Correction, Event, What};
use crate::object::Object;
use crate::record::Revision;

/// The columns of an event, in the order in which [`to_event`] reads them, and their checksum.
pub(super) const COLUMNS: &str = "revision, kind, trial, content, time, worker, study, checksum";

/// What a correction says.
#[derive(Serialize, Deserialize)]
struct Content {
    state: Ended,
    measured: Measured,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    note: Box<RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Ended {
    Complete,
    Stopped,
    Failed,
}

/// The columns that say what happened.
pub(super) struct WhatRow<'a> {
    pub(super) kind: &'static str,
    pub(super) trial: Option<u64>,
    pub(super) content: std::borrow::Cow<'a, str>,
}

impl<'a> WhatRow<'a> {
    pub(super) fn of(what: &'a What) -> rusqlite::Result<WhatRow<'a>> {
        Ok(match what {
            What::Revised { definition } => WhatRow {
                kind: "revised",
                trial: None,
                content: definition.into(),
            },
            What::Corrected(correction) => WhatRow {
                kind: "corrected",
                trial: Some(correction.trial),
                content: written(correction)
                    .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?
                    .into(),
            },
        })
    }
}

fn written(correction: &Correction) -> serde_json::Result<String> {
    let outcome = &correction.outcome;
    let (state, reason) = match outcome {
        Outcome::Complete(_) => (Ended::Complete, None),
        Outcome::Stopped(_) => (Ended::Stopped, None),
        Outcome::Failed { reason, .. } => (Ended::Failed, Some(reason.clone())),
    };
    serde_json::to_string(&Content {
        state,
        reason,
        measured: outcome.measured().clone(),
        note: RawValue::from_string(correction.note.to_string())?,
        why: correction.why.clone(),
    })
}

/// A row of [`COLUMNS`] as an event.
pub(super) fn to_event(row: &Row<'_>) -> rusqlite::Result<Event> {
    let content: String = row.get(3)?;
    let what = match row.get_ref(1)?.as_str()? {
        "revised" => What::Revised {
            definition: content,
        },
        // The schema lets no other kind in.
        _ => What::Corrected(
            correction(natural(row, 2)?, &content)
                .map_err(|error| rusqlite::Error::FromSqlConversionFailure(3, Type::Text, error))?,
        ),
    };
    Ok(Event {
        revision: Revision(natural(row, 0)?),
        what,
        time: row.get(4)?,
        worker: row.get(5)?,
    })
}

fn correction(
    trial: u64,
    content: &str,
) -> Result<Correction, Box<dyn std::error::Error + Send + Sync>> {
    let content: Content = serde_json::from_str(content)?;
    let measured = content.measured;
    let outcome = match content.state {
        Ended::Complete => Outcome::Complete(measured),
        Ended::Stopped => Outcome::Stopped(measured),
        Ended::Failed => Outcome::Failed {
            reason: content.reason.unwrap_or_default(),
            measured,
        },
    };
    Ok(Correction {
        trial,
        outcome,
        note: Object::new(content.note.get())?,
        why: content.why,
    })
}

fn natural(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}
