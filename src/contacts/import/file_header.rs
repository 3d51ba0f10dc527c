//! Reads the start of a file: checks the encoding, detects the delimiter, and matches the columns of the
//! first row.

use super::super::csv::{CsvDelimiter, CsvReader, CsvRecord};
use super::ImportProperty;
use super::columns::{HeaderError, ImportColumn};
use super::mapping::ColumnMapping;

// Byte order marks.
const UTF8_MARK: &[u8] = b"\xEF\xBB\xBF";
const UTF16_MARKS: [&[u8]; 2] = [b"\xFF\xFE", b"\xFE\xFF"];
/// Maximum size of the first row and the blank lines before it, in bytes. The names of all properties
/// that a team can have fit. It is small, because the import of a slow pipe starts after this many
/// bytes.
const FIRST_ROW_BYTES_MAX: usize = 64 << 10;
/// Bytes that are buffered before the first row is read: the first row and the byte order mark.
pub(super) const BYTES_MAX: usize = FIRST_ROW_BYTES_MAX + UTF8_MARK.len();

/// Reason why a file cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    #[error("the file is empty; its first row names the columns, such as email,first_name")]
    Empty,
    #[error(
        "the file is not UTF-8 text (spreadsheets save UTF-16 and older encodings too); save it as \
         `CSV UTF-8` and import that"
    )]
    Encoding,
    #[error("the first row, which names the columns, cannot be read: {0}")]
    FirstRow(String),
    #[error(
        "the first row, which names the columns, does not end within the first {} KiB of the file; the usual \
         cause is blank lines before it or a quote that is opened and never closed",
        FIRST_ROW_BYTES_MAX >> 10
    )]
    LateFirstRow,
    /// The columns cannot be matched to fields.
    #[error("{0}")]
    Header(HeaderError),
}

/// Part of a file that is buffered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileExtent {
    /// The whole file.
    Whole,
    /// The first [`BYTES_MAX`] bytes or more.
    Start,
}

/// The first row of a file, and the reader for the other rows.
pub(super) struct FileHeader<'a> {
    /// Reader, positioned after the first row.
    pub(super) reader: CsvReader,
    pub(super) columns: Vec<ImportColumn>,
    /// Buffered bytes after the first row.
    pub(super) rest: &'a [u8],
}

/// Reads the first row with every delimiter and selects the best delimiter. A delimiter whose columns
/// match comes first, then the delimiter with more columns.
pub(super) fn read<'a>(
    buffered: &'a [u8],
    extent: FileExtent,
    mapping: &ColumnMapping,
    properties: &[ImportProperty],
) -> Result<FileHeader<'a>, FileError> {
    let text = buffered.strip_prefix(UTF8_MARK).unwrap_or(buffered);
    if UTF16_MARKS.iter().any(|mark| buffered.starts_with(mark)) {
        return Err(FileError::Encoding);
    }
    let mut best: Option<(usize, Result<FileHeader<'a>, FileError>)> = None;
    for delimiter in CsvDelimiter::ALL {
        let (record, reader, rest) = first_record(text, extent, delimiter)?;
        let width = record.width();
        let header = match_columns(&record, mapping, properties).map(|columns| FileHeader { reader, columns, rest });
        let is_better = best.as_ref().is_none_or(|(best_width, best)| match (best, &header) {
            (Ok(_), Err(_)) => false,
            (Err(_), Ok(_)) => true,
            _ => width > *best_width,
        });
        if is_better {
            best = Some((width, header));
        }
    }
    best.map_or(Err(FileError::Empty), |(_, header)| header)
}

/// Returns the first record. The record must end within the first [`FIRST_ROW_BYTES_MAX`] bytes or with
/// the file. Otherwise the start of a record would be read as the whole record.
fn first_record(
    text: &[u8],
    extent: FileExtent,
    delimiter: CsvDelimiter,
) -> Result<(CsvRecord, CsvReader, &[u8]), FileError> {
    let mut reader = CsvReader::new(delimiter);
    let mut rest = text;
    let record = match (reader.next(&mut rest), extent) {
        (Some(record), _) if text.len() - rest.len() <= FIRST_ROW_BYTES_MAX => record,
        (None, FileExtent::Whole) => reader.end().ok_or(FileError::Empty)?,
        (Some(_), _) | (None, FileExtent::Start) => return Err(FileError::LateFirstRow),
    };
    Ok((record, reader, rest))
}

fn match_columns(
    record: &CsvRecord,
    mapping: &ColumnMapping,
    properties: &[ImportProperty],
) -> Result<Vec<ImportColumn>, FileError> {
    if let Some(fault) = record.fault {
        return Err(FileError::FirstRow(fault.to_string()));
    }
    let mut names = Vec::with_capacity(record.width());
    for cell in record.cells() {
        match cell {
            // UTF-16 without a byte order mark has NUL bytes between ASCII letters.
            Some(name) if !name.contains('\0') => names.push(name.trim().to_owned()),
            _ => return Err(FileError::Encoding),
        }
    }
    mapping.columns(&names, properties).map_err(FileError::Header)
}
