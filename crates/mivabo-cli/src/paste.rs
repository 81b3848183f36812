//! Words for a shell, and the calls of this program that messages suggest: they can be pasted.

use std::path::Path;

/// `mivabo run 'my study.toml'`: a command with its file, and what else it takes.
pub fn call(command: &str, file: &Path, rest: &[&str]) -> String {
    let file = file.display().to_string();
    // Not an option, and not standard input either.
    let file = match file.strip_prefix('-') {
        Some(name) if !name.is_empty() => format!("./{file}"),
        _ => file,
    };
    let words = ["mivabo", command, &file].into_iter();
    let words = words.chain(rest.iter().copied());
    // Only a word with a NUL cannot be quoted, and no path or argument has one.
    let words: Vec<String> = words
        .map(|word| quoted(word).unwrap_or_else(|| word.to_owned()))
        .collect();
    words.join(" ")
}

/// The call that tells what could not be stored.
pub fn tell(file: &Path, trial: u64, value: f64, result: Option<&str>) -> String {
    let (trial, value) = (trial.to_string(), format!("{value:?}"));
    match result {
        Some(result) => call("tell", file, &[&trial, &value, "--result", result]),
        None => call("tell", file, &[&trial, &value]),
    }
}

/// A word for a shell; none for one that it cannot hold.
pub fn quoted(word: &str) -> Option<String> {
    shlex::try_quote(word).ok().map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_spaces_and_quotes_are_quoted() {
        let shown = call("run", Path::new("it's my study.toml"), &[]);
        assert_eq!(
            shlex::split(&shown).unwrap(),
            ["mivabo", "run", "it's my study.toml"]
        );
        assert_eq!(
            call("run", Path::new("a/b.toml"), &[]),
            "mivabo run a/b.toml"
        );
        assert_eq!(
            call("run", Path::new("-a.toml"), &[]),
            "mivabo run ./-a.toml"
        );
        assert_eq!(
            tell(Path::new("s.toml"), 3, -1e-7, Some("{\"a\": 1}")),
            "mivabo tell s.toml 3 -1e-7 --result '{\"a\": 1}'"
        );
    }
}
