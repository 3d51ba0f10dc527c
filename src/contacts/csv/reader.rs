//! Converts chunks of bytes to records.
//!
//! The caller passes the bytes to the reader, so that it works for a file, a pipe and an upload. The
//! reader buffers one record at a time, and stops buffering a record that is too long.

use std::borrow::Cow;

/// Maximum length of a record in bytes of the file. The exported record of the largest contact fits,
/// with its properties, the ids of its segments and topics, and every quote doubled.
pub(in crate::contacts) const RECORD_BYTES_MAX: usize = 256 << 10;
/// Maximum number of cells in a record. An export of a team with the maximum number of properties fits.
pub(in crate::contacts) const COLUMNS_MAX: usize = 512;

/// Character that separates cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::contacts) enum CsvDelimiter {
    Comma,
    Semicolon,
    Tab,
}

impl CsvDelimiter {
    /// Every delimiter, the most common first.
    pub(in crate::contacts) const ALL: [Self; 3] = [Self::Comma, Self::Semicolon, Self::Tab];

    const fn byte(self) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Semicolon => b';',
            Self::Tab => b'\t',
        }
    }
}

/// Syntax error of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::contacts) enum CsvFault {
    #[error(
        "the row is longer than {} KiB; the usual cause is a quote that is opened and never closed",
        RECORD_BYTES_MAX >> 10
    )]
    TooLong,
    #[error("the row has more than {COLUMNS_MAX} cells")]
    TooManyCells,
    #[error("text follows a closing quote; a quote inside a quoted cell is written twice")]
    TextAfterQuote,
    #[error("a quote is opened and never closed")]
    OpenQuote,
}

/// A row of a CSV file. A quoted cell can contain line ends, so a record can span several lines.
#[derive(Debug)]
pub(in crate::contacts) struct CsvRecord {
    /// First line of the record in the file, from 1.
    pub(in crate::contacts) line: u64,
    /// First syntax error. If there is one, the cells are incomplete.
    pub(in crate::contacts) fault: Option<CsvFault>,
    /// The unquoted bytes of all cells, without delimiters.
    text: Vec<u8>,
    cells: Vec<Cell>,
}

#[derive(Debug)]
struct Cell {
    /// Offset in the record's text where the cell ends and the next one begins.
    end: usize,
    quoted: bool,
}

impl CsvRecord {
    const fn at(line: u64) -> Self {
        Self { line, fault: None, text: Vec::new(), cells: Vec::new() }
    }

    /// Returns the number of cells.
    pub(in crate::contacts) fn width(&self) -> usize {
        self.cells.len()
    }

    /// Returns the cells; `None` for a cell that is not UTF-8. Spaces around an unquoted cell are
    /// removed.
    pub(in crate::contacts) fn cells(&self) -> impl Iterator<Item = Option<&str>> {
        let mut start = 0;
        self.cells.iter().map(move |cell| {
            let bytes = &self.text[start..cell.end];
            start = cell.end;
            let text = std::str::from_utf8(bytes).ok()?;
            Some(if cell.quoted { text } else { text.trim() })
        })
    }

    /// Returns a cell for an error message; empty if there is no such cell. Replaces bytes that are not
    /// UTF-8.
    pub(in crate::contacts) fn lossy_cell(&self, column: usize) -> Cow<'_, str> {
        let start = column.checked_sub(1).and_then(|before| self.cells.get(before)).map_or(0, |cell| cell.end);
        let end = self.cells.get(column).map_or(start, |cell| cell.end);
        String::from_utf8_lossy(&self.text[start..end])
    }
}

/// State of the parser after the last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before a record.
    Between,
    /// Before a cell of the record.
    Start,
    /// In an unquoted cell.
    Plain,
    /// In a quoted cell.
    Quoted,
    /// After a quote in a quoted cell: the end of the cell, or the first of two quotes.
    Quote,
}

/// An incremental CSV parser.
#[derive(Debug)]
pub(in crate::contacts) struct CsvReader {
    delimiter: u8,
    state: State,
    record: CsvRecord,
    record_bytes: usize,
    /// Whether the current cell began with a quote.
    quoted: bool,
    line: u64,
    after_cr: bool,
}

impl CsvReader {
    pub(in crate::contacts) const fn new(delimiter: CsvDelimiter) -> Self {
        Self {
            delimiter: delimiter.byte(),
            state: State::Between,
            record: CsvRecord::at(1),
            record_bytes: 0,
            quoted: false,
            line: 1,
            after_cr: false,
        }
    }

    /// Consumes bytes from the front of `input` up to the end of a record and returns the record.
    /// Returns `None` if `input` is consumed before a record ends.
    pub(in crate::contacts) fn next(&mut self, input: &mut &[u8]) -> Option<CsvRecord> {
        loop {
            self.consume_text(input);
            let (&byte, rest) = input.split_first()?;
            *input = rest;
            if self.consume_byte(byte) {
                return Some(self.take_record());
            }
        }
    }

    /// Ends the file. Returns the last record if the file does not end with a line end.
    pub(in crate::contacts) fn end(&mut self) -> Option<CsvRecord> {
        match self.state {
            State::Between => return None,
            State::Quoted => self.record.fault = Some(CsvFault::OpenQuote),
            State::Start | State::Plain | State::Quote => {}
        }
        self.end_cell();
        Some(self.take_record())
    }

    /// Consumes the bytes that are plain text of the current cell, in one step for speed.
    fn consume_text(&mut self, input: &mut &[u8]) {
        let length = match self.state {
            State::Plain => input.iter().position(|&byte| byte == self.delimiter || is_line_end(byte)),
            State::Quoted => input.iter().position(|&byte| byte == b'"' || is_line_end(byte)),
            State::Between | State::Start | State::Quote => return,
        };
        let (text, rest) = input.split_at(length.unwrap_or(input.len()));
        if !text.is_empty() {
            self.after_cr = false;
            self.store(text);
            *input = rest;
        }
    }

    /// Consumes one byte. Returns whether the byte ends the record.
    fn consume_byte(&mut self, byte: u8) -> bool {
        let ends_crlf = byte == b'\n' && self.after_cr;
        self.after_cr = byte == b'\r';
        if self.state == State::Between {
            if is_line_end(byte) {
                self.line += u64::from(!ends_crlf);
                return false;
            }
            self.record = CsvRecord::at(self.line);
            self.record_bytes = 0;
            self.state = State::Start;
        }
        if is_line_end(byte) && !ends_crlf {
            self.line += 1;
        }
        match (self.state, byte) {
            (State::Start, b'"') => {
                self.count(1);
                self.quoted = true;
                self.state = State::Quoted;
            }
            (State::Quoted, b'"') => {
                self.count(1);
                self.state = State::Quote;
            }
            (State::Quote, b'"') => {
                self.store(b"\"");
                self.state = State::Quoted;
            }
            (State::Quoted, byte) => self.store(&[byte]),
            (State::Start | State::Plain | State::Quote, byte) if byte == self.delimiter => {
                self.count(1);
                self.end_cell();
                self.state = State::Start;
            }
            (State::Start | State::Plain | State::Quote, b'\r' | b'\n') => {
                self.end_cell();
                return true;
            }
            (State::Quote, byte) => {
                self.fail(CsvFault::TextAfterQuote);
                self.store(&[byte]);
                self.state = State::Plain;
            }
            (State::Start | State::Plain, byte) => {
                self.store(&[byte]);
                self.state = State::Plain;
            }
            (State::Between, _) => unreachable!("a record has begun"),
        }
        false
    }

    /// Appends text to the current cell.
    fn store(&mut self, text: &[u8]) {
        self.count(text.len());
        if self.record.fault.is_none() {
            self.record.text.extend_from_slice(text);
        }
    }

    fn count(&mut self, bytes: usize) {
        self.record_bytes = self.record_bytes.saturating_add(bytes);
        if self.record_bytes > RECORD_BYTES_MAX {
            self.fail(CsvFault::TooLong);
        }
    }

    fn end_cell(&mut self) {
        let quoted = std::mem::take(&mut self.quoted);
        if self.record.fault.is_some() {
            return;
        }
        if self.record.cells.len() == COLUMNS_MAX {
            return self.fail(CsvFault::TooManyCells);
        }
        self.record.cells.push(Cell { end: self.record.text.len(), quoted });
    }

    /// Records a syntax error, unless there is an earlier one. The text before the error stays, for error
    /// messages.
    fn fail(&mut self, fault: CsvFault) {
        self.record.fault.get_or_insert(fault);
    }

    fn take_record(&mut self) -> CsvRecord {
        self.state = State::Between;
        let next = CsvRecord::at(self.line);
        std::mem::replace(&mut self.record, next)
    }
}

const fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}
