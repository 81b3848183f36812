//! One line of an expression with carets under the place in question.

use std::fmt;

/// Characters shown before the carets, and after their place.
const BEFORE: usize = 50;
const AFTER: usize = 40;

/// One line of an expression with carets under the place in question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    line: String,
    indent: usize,
    width: usize,
}

impl Snippet {
    /// The line around the byte range `start..end` of `text`, cut to a readable width.
    pub(crate) fn new(text: &str, start: usize, end: usize) -> Snippet {
        let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
        let line = &text[line_start..line_end];
        let n_before = text[line_start..start].chars().count();
        let n_marked = text[start..end.clamp(start, line_end)].chars().count();

        let n_cut = n_before.saturating_sub(BEFORE);
        let indent = n_before - n_cut;
        let width = n_marked.clamp(1, AFTER);
        let n_shown = indent + width + AFTER;
        let shown: String = line.chars().skip(n_cut).take(n_shown).collect();
        let is_cut_after = line.chars().count() > n_cut + n_shown;
        let dots = |is_cut: bool| if is_cut { "…" } else { "" };
        Snippet {
            line: format!("{}{shown}{}", dots(n_cut > 0), dots(is_cut_after)),
            indent: indent + usize::from(n_cut > 0),
            width,
        }
    }
}

impl fmt::Display for Snippet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (indent, carets) = (" ".repeat(self.indent), "^".repeat(self.width));
        write!(f, "  {}\n  {indent}{carets}", self.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_points_into_a_long_line() {
        let text = format!("first\n{} + oops + {}", "x".repeat(200), "y".repeat(200));
        let at = text.find("oops").unwrap();

        let shown = Snippet::new(&text, at, at + 4).to_string();

        let lines: Vec<&str> = shown.lines().collect();
        let under: String = lines[0]
            .chars()
            .zip(lines[1].chars())
            .filter(|(_, c)| *c == '^')
            .map(|(t, _)| t)
            .collect();
        assert_eq!(under, "oops");
        assert!(lines[0].chars().count() < 120);
    }
}
