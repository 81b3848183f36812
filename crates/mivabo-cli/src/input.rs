//! What commands read: a file, or standard input.

use std::io::Read as _;
use std::path::Path;

use crate::error::Error;

/// The text of a file; of standard input for `-`.
pub fn read(file: &Path) -> Result<String, Error> {
    if file.as_os_str() == "-" {
        let mut text = String::new();
        let read = std::io::stdin().read_to_string(&mut text);
        return read.map(|_| text).map_err(Error::StandardInput);
    }
    let path = file.to_owned();
    let bytes = match std::fs::read(file) {
        Ok(bytes) => bytes,
        Err(why) => return Err(Error::Unreadable { path, why }),
    };
    let is_database = bytes.starts_with(b"SQLite format 3");
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(_) if is_database => Err(Error::DatabaseNotText { path }),
        Err(_) => Err(Error::NotText { path }),
    }
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
            said(b"SQLite format 3\0\x10\xff").ends_with("p.db is a database; a text is expected")
        );
        assert!(said(b"\xff").ends_with("p.db is not a text in UTF-8"));
    }
}
