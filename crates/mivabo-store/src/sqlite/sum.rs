//! Checksums of rows, so that a row which was changed on disk is never taken for what was written.
//!
//! SQLite finds pages that make no sense, not a changed letter in a text. So each row has the CRC-32 of its other columns, written with
//! them and compared whenever the row is read.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Row, ToSql};

/// The sum of these values. Files depend on it: it must never change.
pub(super) fn of(values: &[&dyn ToSql]) -> rusqlite::Result<u32> {
    let mut bytes = Vec::new();
    for value in values {
        match value.to_sql()? {
            ToSqlOutput::Borrowed(value) => append(&mut bytes, value),
            ToSqlOutput::Owned(value) => append(&mut bytes, ValueRef::from(&value)),
            // Only for values that are no columns of ours.
            _ => return Err(rusqlite::Error::InvalidQuery),
        }
    }
    Ok(crc32fast::hash(&bytes))
}

/// Whether the sum of a row, which stands behind its other columns, is that of the others.
pub(super) fn is_right(row: &Row<'_>) -> rusqlite::Result<bool> {
    let n = row.as_ref().column_count() - 1;
    Ok(row.get_ref(n)? == ValueRef::Integer(of_first(row, n)?.into()))
}

/// The sum of the first columns of a row.
pub(super) fn of_first(row: &Row<'_>, n: usize) -> rusqlite::Result<u32> {
    let mut bytes = Vec::new();
    for column in 0..n {
        append(&mut bytes, row.get_ref(column)?);
    }
    Ok(crc32fast::hash(&bytes))
}

/// With its kind, and its length where that differs: so no two lists of values are written in the same way.
fn append(bytes: &mut Vec<u8>, value: ValueRef<'_>) {
    let mut text = |kind, text: &[u8]| {
        bytes.push(kind);
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.extend(text);
    };
    match value {
        ValueRef::Null => bytes.push(b'n'),
        ValueRef::Integer(number) => text(b'i', &number.to_le_bytes()),
        ValueRef::Real(number) => text(b'r', &number.to_le_bytes()),
        ValueRef::Text(value) => text(b't', value),
        ValueRef::Blob(value) => text(b'b', value),
    }
}
