//! Snippets and near names.

use super::*;
use crate::language::spelling::nearest;

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

#[test]
fn the_nearest_name_allows_a_swap_of_letters() {
    let known = ["kernel", "stride", "lr"];
    assert_eq!(nearest("kernle", known.into_iter()), Some("kernel".into()));
    assert_eq!(nearest("momentum", known.into_iter()), None);
}
