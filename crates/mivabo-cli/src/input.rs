//! What commands read: a file, or standard input.

use std::io::Read as _;
use std::path::Path;

use crate::error::Error;
use crate::text::is_standard_input;

/// The text of standard input.
pub fn read_standard_input() -> Result<String, Error> {
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    read.map(|_| text).map_err(Error::StandardInput)
}

/// The text of a file; of standard input for `-`.
pub fn read(file: &Path) -> Result<String, Error> {
    if is_standard_input(file) {
        return read_standard_input();
    }
    let path = || file.to_owned();
    let bytes = std::fs::read(file).map_err(|why| Error::Unreadable { path: path(), why })?;
    let is_database = bytes.starts_with(b"SQLite format 3");
    String::from_utf8(bytes).map_err(|_| {
        if is_database {
            Error::DatabaseNotText { path: path() }
        } else {
            Error::NotText { path: path() }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_in_place_of_a_text_is_called_one() {
        let folder = tempfile::tempdir().unwrap();
        let said = |bytes: &[u8]| {
            let path = folder.path().join("p.db");
            std::fs::write(&path, bytes).unwrap();
            read(&path).unwrap_err().to_string()
        };

        assert!(
            said(b"SQLite format 3\0\x10\xff")
                .ends_with("p.db is a database; expected a text file")
        );
        assert!(said(b"\xff").ends_with("p.db is not UTF-8 text"));
    }
}
