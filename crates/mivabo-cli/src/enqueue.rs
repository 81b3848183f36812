//! `mivabo enqueue`: points to evaluate before any other.

use mivabo::Space;
use mivabo::space::Value;
use mivabo_store::Session;
use serde_json::{Map, Value as Json};

use crate::args::EnqueueArgs;
use crate::error::{EnqueueError, Error};
use crate::import::cell::typed;
use crate::input::read_standard_input;
use crate::source::Source;
use crate::text::trials;

/// What is typed for JSON lines on standard input.
const LINES: &str = "-";

/// The values of a point.
type Values = Vec<(String, Value)>;

/// Adds trials that wait.
pub fn run(args: &EnqueueArgs) -> Result<String, Error> {
    // Read whole before the database is opened: who writes the lines may need it meanwhile.
    let lines = match args.json.as_deref() {
        Some(LINES) => Some(read_standard_input()?),
        _ => None,
    };
    let source = Source {
        file: args.file.clone(),
        study: args.study.clone(),
    };
    let mut session = source.write()?;
    let points = match (&lines, &args.json) {
        (Some(text), _) => of_lines(text, &session)?,
        (None, Some(json)) => of_json(json, &session)?,
        (None, None) => vec![of_assignments(&args.values, session.space())?],
    };
    let ids: Vec<u64> = session.enqueue_all(&points)?.collect();
    Ok(match ids.as_slice() {
        [] => "nothing to enqueue\n".to_owned(),
        [_] => format!("{} waits to be evaluated\n", trials(&ids)),
        _ => format!("{} wait to be evaluated\n", trials(&ids)),
    })
}

fn of_assignments(assignments: &[String], space: &Space) -> Result<Values, EnqueueError> {
    let value = |text: &String| assigned(text, space);
    assignments.iter().map(value).collect()
}

fn assigned(text: &str, space: &Space) -> Result<(String, Value), EnqueueError> {
    let (name, cell) = text
        .split_once('=')
        .ok_or_else(|| EnqueueError::NotAnAssignment {
            text: text.to_owned(),
        })?;
    let (name, cell) = (name.trim(), cell.trim());
    let mut parameters = space.parameters().iter();
    let Some(parameter) = parameters.find(|one| one.name() == name) else {
        // The space knows which name was meant.
        return Ok((name.to_owned(), cell.into()));
    };
    match typed(parameter.domain(), cell) {
        Ok(value) => Ok((name.to_owned(), value)),
        Err(_) => Err(EnqueueError::Ambiguous {
            name: name.to_owned(),
            cell: cell.to_owned(),
        }),
    }
}

/// One object, or a list of objects.
fn of_json(text: &str, session: &Session) -> Result<Vec<Values>, EnqueueError> {
    let json: Json = serde_json::from_str(text).map_err(EnqueueError::Syntax)?;
    match json {
        Json::Array(all) => {
            let points = (1..).zip(all).map(|(number, one)| {
                let point = of_object(one, session);
                point.map_err(|why| why.of_object(number))
            });
            points.collect()
        }
        one => Ok(vec![of_object(one, session)?]),
    }
}

/// One object per line.
fn of_lines(text: &str, session: &Session) -> Result<Vec<Values>, EnqueueError> {
    let lines = (1..).zip(text.lines());
    let filled = lines.filter(|(_, line)| !line.trim().is_empty());
    let points = filled.map(|(number, line)| {
        let json = serde_json::from_str(line).map_err(EnqueueError::Syntax);
        let point = json.and_then(|json| of_object(json, session));
        point.map_err(|why| why.of_line(number))
    });
    points.collect()
}

/// The values of an object, which are looked at here so that a message can say which of many it is.
fn of_object(json: Json, session: &Session) -> Result<Values, EnqueueError> {
    let object: Map<String, Json> =
        serde_json::from_value(json).map_err(EnqueueError::NotAnObject)?;
    let values = object.into_iter().map(|(name, value)| {
        let value = serde_json::from_value(value);
        match value {
            Ok(value) => Ok((name, value)),
            Err(why) => Err(EnqueueError::NotAValue { name, why }),
        }
    });
    let values = values.collect::<Result<Values, EnqueueError>>()?;
    let given = values.iter();
    let point = session.feasible(given.map(|(name, value)| (name.as_str(), value.clone())));
    point.map_err(|why| EnqueueError::Point(Box::new(why)))?;
    Ok(values)
}
