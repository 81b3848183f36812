//! Comma-separated values (RFC 4180): rows of cells enter, text leaves, and back.

use crate::Failure;

/// A row of cells as a line; cells with commas, quotes or line breaks are quoted.
pub fn line<S: AsRef<str>>(cells: &[S]) -> String {
    let quoted = |cell: &S| {
        let cell = cell.as_ref();
        let is_plain = !cell.contains([',', '"', '\n', '\r']);
        if is_plain {
            cell.to_owned()
        } else {
            format!("\"{}\"", cell.replace('"', "\"\""))
        }
    };
    cells.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n"
}

/// All rows, with the numbers of the lines on which they begin. Blank lines are skipped.
pub fn read(text: &str) -> Result<Vec<(usize, Vec<String>)>, Failure> {
    let mut rows = Vec::new();
    let (mut row, mut cell, mut begun) = (Vec::new(), String::new(), 1);
    let (mut line, mut in_quotes, mut was_quoted) = (1, false, false);
    let mut characters = text.trim_start_matches('\u{feff}').chars().peekable();
    while let Some(c) = characters.next() {
        line += usize::from(c == '\n');
        match c {
            '"' if in_quotes && characters.peek() == Some(&'"') => {
                characters.next();
                cell.push('"');
            }
            '"' if in_quotes => in_quotes = false,
            '"' if cell.is_empty() && !was_quoted => (in_quotes, was_quoted) = (true, true),
            _ if in_quotes => cell.push(c),
            ',' => {
                row.push(std::mem::take(&mut cell));
                was_quoted = false;
            }
            '\r' if characters.peek() == Some(&'\n') => {}
            '\n' => {
                let is_blank = row.is_empty() && cell.is_empty() && !was_quoted;
                row.push(std::mem::take(&mut cell));
                let row = std::mem::take(&mut row);
                if !is_blank {
                    rows.push((begun, row));
                }
                (begun, was_quoted) = (line, false);
            }
            _ => cell.push(c),
        }
    }
    if in_quotes {
        return Err(format!("line {begun}: a quote is opened and not closed"));
    }
    if !row.is_empty() || !cell.is_empty() || was_quoted {
        row.push(cell);
        rows.push((begun, row));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let rows = [
            vec!["a", "b,c", "d\"e"],
            vec!["", "two\nlines", ""],
            vec!["é", " x ", "\r\n"],
        ];
        let text: String = rows.iter().map(|row| line(row)).collect();

        let read: Vec<Vec<String>> = read(&text)
            .unwrap()
            .into_iter()
            .map(|(_, row)| row)
            .collect();

        assert_eq!(read, rows);
    }

    #[test]
    fn files_of_other_programs_are_read() {
        let rows = read("\u{feff}a,b\r\n1,2\r\n\r\n\"3\",").unwrap();

        let cells = |cells: [&str; 2]| cells.map(ToOwned::to_owned).to_vec();
        assert_eq!(
            rows,
            [
                (1, cells(["a", "b"])),
                (2, cells(["1", "2"])),
                (4, cells(["3", ""]))
            ]
        );
        assert_eq!(
            read("a\n\"b\n\n").unwrap_err(),
            "line 2: a quote is opened and not closed"
        );
    }
}
