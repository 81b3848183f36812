//! Comma-separated values (RFC 4180), written and read.

/// A quote that is opened in the row of this line and not closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: a quote is opened and never closed")]
pub struct UnclosedQuote {
    /// The line on which the row begins, counted from 1.
    pub line: usize,
}

/// A row of cells as a line; cells with commas, quotes or line breaks are quoted.
pub fn line<S: AsRef<str>>(cells: &[S]) -> String {
    let quoted: Vec<String> = cells.iter().map(|cell| quoted(cell.as_ref())).collect();
    quoted.join(",") + "\n"
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

/// All rows, with the numbers of the lines on which they begin. Blank lines are skipped.
pub fn read(text: &str) -> Result<Vec<(usize, Vec<String>)>, UnclosedQuote> {
    let mut reader = Reader::new();
    let mut characters = text.trim_start_matches('\u{feff}').chars().peekable();
    while let Some(c) = characters.next() {
        let next = characters.peek().copied();
        if reader.takes_next(c, next) {
            characters.next();
        }
    }
    reader.finished()
}

/// The rows so far, and the one that is being read.
struct Reader {
    rows: Vec<(usize, Vec<String>)>,
    row: Vec<String>,
    cell: String,
    line: usize,
    /// The line on which the row begins.
    begun: usize,
    is_quoted: bool,
    /// Whether the cell had quotes: an empty one is a cell then, even alone on its line.
    was_quoted: bool,
}

impl Reader {
    fn new() -> Reader {
        Reader {
            rows: Vec::new(),
            row: Vec::new(),
            cell: String::new(),
            line: 1,
            begun: 1,
            is_quoted: false,
            was_quoted: false,
        }
    }

    /// Takes a character; whether the next one is taken with it.
    fn takes_next(&mut self, c: char, next: Option<char>) -> bool {
        self.line += usize::from(c == '\n');
        match c {
            '"' if self.is_quoted && next == Some('"') => {
                self.cell.push('"');
                return true;
            }
            '"' if self.is_quoted => self.is_quoted = false,
            '"' if self.cell.is_empty() && !self.was_quoted => {
                self.is_quoted = true;
                self.was_quoted = true;
            }
            _ if self.is_quoted => self.cell.push(c),
            ',' => self.end_cell(),
            '\r' if next == Some('\n') => {}
            '\n' => self.end_row(),
            _ => self.cell.push(c),
        }
        false
    }

    fn is_blank(&self) -> bool {
        self.row.is_empty() && self.cell.is_empty() && !self.was_quoted
    }

    fn end_cell(&mut self) {
        self.row.push(std::mem::take(&mut self.cell));
        self.was_quoted = false;
    }

    fn end_row(&mut self) {
        if !self.is_blank() {
            self.end_cell();
            self.rows.push((self.begun, std::mem::take(&mut self.row)));
        }
        self.begun = self.line;
    }

    fn finished(mut self) -> Result<Vec<(usize, Vec<String>)>, UnclosedQuote> {
        if self.is_quoted {
            return Err(UnclosedQuote { line: self.begun });
        }
        self.end_row();
        Ok(self.rows)
    }
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
            read("a\n\"b\n\n").unwrap_err().to_string(),
            "line 2: a quote is opened and never closed"
        );
    }
}
