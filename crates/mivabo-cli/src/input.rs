//! What commands read: a file, or standard input.

use std::io::Read as _;
use std::path::Path;

use crate::Failure;

/// The text of a file; of standard input for `-`.
pub fn read(file: &Path) -> Result<String, Failure> {
    if file.as_os_str() != "-" {
        return std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()));
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|e| format!("standard input: {e}"))?;
    Ok(text)
}
