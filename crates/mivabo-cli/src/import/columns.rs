//! Which columns of a file mean what.

use mivabo::Space;

use crate::error::ImportError;
use crate::export::{COLUMNS, EVALUATED, LEFT_OUT, MEASURED, RESULT, column};

/// The column of a parameter: its name, unless that means something else here. In an export it is then `params.NAME`.
pub fn column_of(name: &str, value_column: &str, header: &[String]) -> String {
    let exists = |name: &str| header.iter().any(|column| column == name);
    let is_export = COLUMNS.iter().all(|column| exists(column));
    let is_other = name == value_column || is_export && column(name) != name;
    if is_other || !exists(name) {
        format!("params.{name}")
    } else {
        name.to_owned()
    }
}

/// No column is there twice, and the value has one. Those that mean nothing are ignored, and that is said.
pub fn check<'a>(
    columns: impl Iterator<Item = &'a str>,
    value_column: &str,
    space: &Space,
) -> Result<(), ImportError> {
    let columns: Vec<&str> = columns.collect();
    if let Some(column) = twice(&columns) {
        return Err(ImportError::TwoColumns {
            column: column.to_owned(),
        });
    }
    if !columns.contains(&value_column) {
        return Err(ImportError::NoValueColumn {
            expected: value_column.to_owned(),
            found: columns.into_iter().map(ToOwned::to_owned).collect(),
        });
    }
    say_ignored(&columns, value_column, space);
    Ok(())
}

fn twice<'a>(columns: &[&'a str]) -> Option<&'a str> {
    let mut numbered = columns.iter().enumerate();
    let found = numbered.find(|(k, name)| columns[..*k].contains(name));
    found.map(|(_, name)| *name)
}

fn say_ignored(columns: &[&str], value_column: &str, space: &Space) {
    let is_known = |name: &str| name == value_column || is_fact(name) || is_parameter(name, space);
    let ignored: Vec<&str> = columns
        .iter()
        .copied()
        .filter(|name| !is_known(name))
        .collect();
    if !ignored.is_empty() {
        let ignored = ignored.join(", ");
        say!("ignored, because no parameter has that name: {ignored}");
    }
}

/// Whether exports have such a column beside those of the parameters.
fn is_fact(name: &str) -> bool {
    let prefixes = [RESULT, MEASURED, EVALUATED];
    COLUMNS.contains(&name)
        || name == LEFT_OUT
        || prefixes.iter().any(|prefix| name.starts_with(prefix))
}

fn is_parameter(name: &str, space: &Space) -> bool {
    let bare = name.strip_prefix("params.").unwrap_or(name);
    space.parameters().iter().any(|p| p.name() == bare)
}
