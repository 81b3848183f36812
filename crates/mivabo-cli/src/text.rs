//! Numbers, tables and names of inputs, for people.

use std::path::Path;

use crate::plain::plain;

/// A number with six significant digits.
pub fn brief(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return x.to_string();
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a logarithm of a finite number is small"
    )]
    let exponent = x.abs().log10().floor() as i32;
    if (-5..15).contains(&exponent) {
        let places = usize::try_from(5 - exponent).unwrap_or(0);
        return without_zeros(&format!("{x:.places$}")).to_owned();
    }
    let text = format!("{x:.5e}");
    match text.split_once('e') {
        Some((digits, exponent)) => format!("{}e{exponent}", without_zeros(digits)),
        None => text,
    }
}

/// A decimal without the zeros at its end that say nothing.
fn without_zeros(digits: &str) -> &str {
    if !digits.contains('.') {
        return digits;
    }
    digits.trim_end_matches('0').trim_end_matches('.')
}

/// Trials by their numbers: `trial 3`, `trials 3, 5`.
pub fn trials(ids: &[u64]) -> String {
    let noun = if ids.len() == 1 { "trial" } else { "trials" };
    let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
    format!("{noun} {}", ids.join(", "))
}

/// What a reader of JSON says, without the place: the texts that it reads here are single lines of something larger.
pub fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}

/// The widest that a column gets: a name of a megabyte does not widen each line.
const WIDEST: usize = 100;

/// How wide the column of these cells is.
pub fn width<'a>(cells: impl Iterator<Item = &'a str>) -> usize {
    let widths = cells.map(|cell| cell.chars().count());
    widths.max().unwrap_or(0).min(WIDEST)
}

/// A cell with the space that fills its column.
pub fn padded(cell: &str, width: usize) -> String {
    // Not by a width in the format: one above 65,535 is a panic.
    let padding = " ".repeat(width.saturating_sub(cell.chars().count()));
    format!("{cell}{padding}")
}

/// Rows of cells in columns, two spaces apart.
pub fn table(rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> = rows.iter().map(|row| shown(row)).collect();
    let widths = widths(&rows);
    let lines = rows.iter().map(|row| aligned(row, &widths) + "\n");
    lines.collect()
}

/// Cells that keep their row, as they are shown: what is escaped later would be wider than its column.
fn shown(row: &[String]) -> Vec<String> {
    let cells = row.iter();
    cells
        .map(|cell| plain(&cell.replace(['\n', '\r', '\t'], " ")).into_owned())
        .collect()
}

/// The width of each column. Rows need not be equally long.
fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let n = rows.iter().map(Vec::len).max().unwrap_or(0);
    let column = |k: usize| rows.iter().filter_map(move |row| row.get(k));
    (0..n)
        .map(|k| width(column(k).map(String::as_str)))
        .collect()
}

fn aligned(row: &[String], widths: &[usize]) -> String {
    let cells = row.iter().zip(widths);
    let cells: Vec<String> = cells.map(|(cell, width)| padded(cell, *width)).collect();
    cells.join("  ").trim_end().to_owned()
}

/// What is typed for standard input.
const STANDARD_INPUT: &str = "-";

/// An input in a message.
pub fn named(path: &Path) -> String {
    if is_standard_input(path) {
        return "standard input".to_owned();
    }
    path.display().to_string()
}

/// Whether this argument means standard input.
pub fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == STANDARD_INPUT
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn a_cell_stays_in_its_row() {
        let rows = [
            vec!["failed".to_owned(), "two\nlines\u{1b}[2J".to_owned()],
            vec!["a".to_owned()],
        ];
        assert_eq!(table(&rows), "failed  two lines\\u001b[2J\na\n");
    }

    #[test]
    fn six_digits_are_enough() {
        let shown = [
            0.1 + 0.2,
            6_059.714_335,
            -1e-7,
            1_234_567.8,
            100.0,
            0.0,
            1e20,
            2.700_857e-12,
        ]
        .map(brief);
        assert_eq!(
            shown,
            [
                "0.3",
                "6059.71",
                "-1e-7",
                "1234568",
                "100",
                "0",
                "1e20",
                "2.70086e-12"
            ]
        );
    }
}
