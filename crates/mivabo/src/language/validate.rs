//! Checks a domain once it is written down completely.

use super::domain::{Coding, Domain, Kind, MAX_VALUES, Set};
use super::error::Error;
use super::value::Value;

/// Sums of integers must stay exact in floating point, which ends at 2^53.
const MAX_INTEGER: i64 = 1 << 40;

/// Finds anything that is wrong with the domain of parameter `name`.
pub(crate) fn validate(name: &str, domain: &Domain) -> Result<(), Error> {
    match &domain.set {
        Set::Float { low, high } => float(name, *low, *high)?,
        Set::Int { low, high, step } => int(name, *low, *high, *step)?,
        Set::Ordinal(values) => {
            list(name, values)?;
            ordinal(name, domain, values)?;
        }
        Set::Choice(values) => list(name, values)?,
        Set::Bool => {}
    }
    if domain.log {
        log_scale(name, &domain.set)?;
    }
    check_default(name, domain)?;
    let n = domain.size().unwrap_or(0);
    if domain.coding == Coding::Binary {
        return Ok(());
    }
    check_length(name, n)
}

fn float(name: &str, low: f64, high: f64) -> Result<(), Error> {
    for (bound, value) in [("low", low), ("high", high), ("high - low", high - low)] {
        check_finite(name, bound, value)?;
    }
    check_order(name, low, high)
}

fn int(name: &str, low: i64, high: i64, step: i64) -> Result<(), Error> {
    check_order(name, low as f64, high as f64)?;
    // Before the step: the difference of larger bounds could overflow.
    for value in [low, high] {
        if !(-MAX_INTEGER..=MAX_INTEGER).contains(&value) {
            let name = name.to_owned();
            return Err(Error::IntegerTooLarge { name, value });
        }
    }
    if step < 1 || (high - low) % step != 0 {
        return Err(Error::Step {
            name: name.to_owned(),
            low,
            high,
            step,
        });
    }
    Ok(())
}

fn list(name: &str, values: &[Value]) -> Result<(), Error> {
    if values.is_empty() {
        let name = name.to_owned();
        return Err(Error::NoValues { name });
    }
    check_length(name, values.len() as u64)?;
    for (i, value) in values.iter().enumerate() {
        if let Value::Float(x) = value {
            check_finite(name, "a value", *x)?;
        }
        if values[..i].iter().any(|earlier| earlier.same(value)) {
            return Err(Error::DuplicateValue {
                name: name.to_owned(),
                value: value.clone(),
            });
        }
    }
    Ok(())
}

/// The order of a list is meant for numbers or for texts: between the two kinds, or of truth values, it means nothing.
fn ordinal(name: &str, domain: &Domain, values: &[Value]) -> Result<(), Error> {
    let is_text = |value: &&Value| matches!(value, Value::Text(_));
    let n_texts = values.iter().filter(is_text).count();
    let is_mixed = n_texts > 0 && n_texts < values.len();
    if is_mixed || domain.kind() == Kind::Bool {
        let name = name.to_owned();
        return Err(Error::MixedOrdinal { name });
    }
    Ok(())
}

fn log_scale(name: &str, set: &Set) -> Result<(), Error> {
    let name = name.to_owned();
    let low = match set {
        Set::Float { low, .. } => *low,
        Set::Int { low, .. } => *low as f64,
        _ => return Err(Error::LogOnList { name }),
    };
    if low > 0.0 {
        Ok(())
    } else {
        Err(Error::LogNeedsPositive { name, low })
    }
}

fn check_default(name: &str, domain: &Domain) -> Result<(), Error> {
    match &domain.default {
        Some(default) if domain.own(default).is_none() => Err(Error::Default {
            name: name.to_owned(),
            default: default.clone(),
            domain: Box::new(domain.clone()),
        }),
        _ => Ok(()),
    }
}

fn check_finite(name: &str, bound: &'static str, value: f64) -> Result<(), Error> {
    if value.is_finite() {
        return Ok(());
    }
    Err(Error::NonFinite {
        name: name.to_owned(),
        bound,
        value,
    })
}

fn check_order(name: &str, low: f64, high: f64) -> Result<(), Error> {
    if low <= high {
        return Ok(());
    }
    Err(Error::EmptyDomain {
        name: name.to_owned(),
        low,
        high,
    })
}

fn check_length(name: &str, n: u64) -> Result<(), Error> {
    if n <= MAX_VALUES {
        return Ok(());
    }
    Err(Error::TooManyValues {
        name: name.to_owned(),
        n,
        limit: MAX_VALUES,
    })
}
