//! Numbers and tables for people.

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
    let trimmed = |text: String| {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text
        }
    };
    if (-5..15).contains(&exponent) {
        let places = usize::try_from(5 - exponent).unwrap_or(0);
        return trimmed(format!("{x:.places$}"));
    }
    let text = format!("{x:.5e}");
    match text.split_once('e') {
        Some((digits, exponent)) => format!("{}e{exponent}", trimmed(digits.to_owned())),
        None => text,
    }
}

/// The widest that a column gets: a name of a megabyte does not widen each line.
const WIDEST: usize = 100;

/// How wide the column of these cells is.
pub fn width<'a>(cells: impl Iterator<Item = &'a str>) -> usize {
    cells
        .map(|cell| cell.chars().count())
        .max()
        .unwrap_or(0)
        .min(WIDEST)
}

/// A cell with the space that fills its column. The width of a format is at most 65,535, and more is a panic.
pub fn padded(cell: &str, width: usize) -> String {
    let padding = " ".repeat(width.saturating_sub(cell.chars().count()));
    format!("{cell}{padding}")
}

/// Rows of cells in columns, two spaces apart. Characters that a terminal would obey are spaces.
pub fn table(rows: &[Vec<String>]) -> String {
    let plain = |cell: &String| cell.replace(char::is_control, " ");
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(plain).collect())
        .collect();
    let n = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cells = |column: usize| {
        rows.iter()
            .filter_map(move |row| row.get(column))
            .map(String::as_str)
    };
    let widths: Vec<usize> = (0..n).map(|column| width(cells(column))).collect();
    let mut out = String::new();
    for row in &rows {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| padded(cell, *width));
        out.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        out.push('\n');
    }
    out
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
        assert_eq!(table(&rows), "failed  two lines [2J\na\n");
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
