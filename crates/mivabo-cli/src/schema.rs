//! `mivabo schema`: a JSON schema of study files, for editors.

/// The schema, as a file.
pub fn run() -> String {
    format!("{:#}\n", mivabo_work::schema())
}
