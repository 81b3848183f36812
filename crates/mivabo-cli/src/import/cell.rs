//! Cells of a CSV file as values.

use mivabo::space::{Domain, Value};

use crate::objective::shown;

/// A cell that two values of a domain are written as: the text `1` and the number 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ambiguous;

/// A cell as a value of a domain, or as a text that it will refuse. A cell that two values look like is refused here.
pub fn typed(domain: &Domain, cell: &str) -> Result<Value, Ambiguous> {
    if domain.range().is_some() {
        return Ok(number(cell.trim()));
    }
    // What is written just like the cell goes before what only means the same: ` a` may be a value beside `a`.
    let mut same = domain.values().filter(|value| shown(value) == cell);
    match (same.next(), same.next()) {
        (Some(_), Some(_)) => Err(Ambiguous),
        (Some(value), None) => Ok(value),
        (None, _) => {
            let alike = domain.values().find(|value| is_like(value, cell.trim()));
            Ok(alike.unwrap_or_else(|| cell.into()))
        }
    }
}

fn number(cell: &str) -> Value {
    let whole = cell.parse().map(Value::Int);
    let number = whole.or_else(|_| cell.parse().map(Value::Float));
    number.unwrap_or_else(|_| cell.into())
}

/// Whether other programs may write the value so: `True`, or `64.0` for 64.
fn is_like(value: &Value, cell: &str) -> bool {
    match value {
        Value::Bool(_) => shown(value) == cell.to_lowercase(),
        Value::Text(text) => text == cell,
        number => number.as_f64().is_some_and(|x| cell.parse() == Ok(x)),
    }
}

/// A cell as JSON where it is that, else as a text.
pub fn loose(cell: &str) -> serde_json::Value {
    serde_json::from_str(cell).unwrap_or_else(|_| cell.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_read_as_their_domain_says() {
        assert_eq!(typed(&Domain::int(1, 3), "2").unwrap(), Value::Int(2));
        assert_eq!(
            typed(&Domain::float(1.0, 3.0), "2.5e0").unwrap(),
            Value::Float(2.5)
        );
        assert_eq!(typed(&Domain::bool(), "True").unwrap(), Value::Bool(true));
        assert_eq!(
            typed(&Domain::choice(["a", " a"]), " a").unwrap(),
            Value::from(" a")
        );
        assert_eq!(
            typed(&Domain::choice(["a", "b"]), " a").unwrap(),
            Value::from("a")
        );
        assert_eq!(
            typed(&Domain::choice(["64", "x"]), "64").unwrap(),
            Value::from("64")
        );
        assert_eq!(
            typed(&Domain::ordinal([64, 128]), "64.0").unwrap(),
            Value::Int(64)
        );
        assert_eq!(
            typed(&Domain::ordinal([64, 128]), "65").unwrap(),
            Value::from("65")
        );
        assert!(typed(&Domain::choice([Value::from("1"), Value::Int(1)]), "1").is_err());
    }
}
