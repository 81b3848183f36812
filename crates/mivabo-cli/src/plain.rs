//! What others wrote, made safe to show.
//!
//! Names, paths, values and reasons may hold characters that a terminal obeys instead of showing them. All that is printed for
//! people passes through here: `say!`, the bar, the output of commands, the lines that begin and end an attempt in a log.

use std::borrow::Cow;

/// The text with `\u001b` in place of each character that a terminal would obey, or that turns the direction of writing around.
/// Line breaks and tabs stay. JSON stays the same JSON, for these are its own escapes.
pub fn plain(text: &str) -> Cow<'_, str> {
    if text.contains(is_obeyed) {
        // Lines of a file that was written elsewhere may end so, and a terminal takes it for the end of a line too.
        let lines = text.replace("\r\n", "\n");
        Cow::Owned(lines.chars().map(shown).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// The same within a line: line breaks and tabs are shown, too.
pub fn in_line(text: &str) -> String {
    let text = text.replace('\n', "\\n").replace('\t', "\\t");
    plain(&text).into_owned()
}

fn shown(c: char) -> String {
    if is_obeyed(c) {
        format!("\\u{:04x}", u32::from(c))
    } else {
        c.to_string()
    }
}

fn is_obeyed(c: char) -> bool {
    let is_layout = matches!(c, '\n' | '\t');
    let turns_direction = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    turns_direction || c.is_control() && !is_layout
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        let text = "a\u{1b}[2J\u{7f}\u{9b}31m\r\u{202e}b\u{2066}\n\té 学习率 🎯";

        let shown = plain(text);

        assert_eq!(
            shown,
            "a\\u001b[2J\\u007f\\u009b31m\\u000d\\u202eb\\u2066\n\té 学习率 🎯"
        );
        assert_eq!(plain("a\r\nb"), "a\nb");
        assert_eq!(in_line("a\nb\u{7}"), "a\\nb\\u0007");
    }

    #[test]
    fn json_stays_the_same() {
        let value = serde_json::json!({ "a\u{9b}": "\u{1b}\u{202e}\\u001b\u{7f}" });

        let text = value.to_string();
        let read: serde_json::Value = serde_json::from_str(&plain(&text)).unwrap();

        assert_eq!(read, value);
        assert!(!plain(&text).contains(is_obeyed));
    }
}
