//! What commands read: a file, or standard input.

use std::io::Read as _;
use std::path::Path;

use crate::Failure;

/// The text of a file; of standard input for `-`.
pub fn read(file: &Path) -> Result<String, Failure> {
    if file.as_os_str() != "-" {
        let bytes = std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
        let is_database = bytes.starts_with(b"SQLite format 3");
        let why = if is_database {
            "a database, where a text is expected"
        } else {
            "no text in UTF-8"
        };
        return String::from_utf8(bytes).map_err(|_| format!("{} is {why}", file.display()));
    }
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|e| format!("standard input: {e}"))?;
    Ok(text)
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
            read(&path).unwrap_err()
        };

        assert!(
            said(b"SQLite format 3\0\x10\xff")
                .ends_with("p.db is a database, where a text is expected")
        );
        assert!(said(b"\xff").ends_with("p.db is no text in UTF-8"));
    }
}
