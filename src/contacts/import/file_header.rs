//! The beginning of a file: its encoding, its delimiter, and the row that names the columns.

use std::fmt;

use super::super::csv::{Delimiter, Reader, Record};
use super::Property;
use super::columns::{Column, HeaderError};
use super::mapping::Mapping;

const UTF8_MARK: &[u8] = b"\xEF\xBB\xBF";
const UTF16_MARKS: [&[u8]; 2] = [b"\xFF\xFE", b"\xFE\xFF"];
/// What the first row, and the blank lines in front of it, have at most: more than the names that a
/// team can give its properties, and little enough that a pipe which goes on slowly is imported as it
/// comes.
const FIRST_ROW_BYTES_MAX: usize = 64 << 10;
/// What is held to look for it, with the byte order mark.
pub(super) const BYTES_MAX: usize = FIRST_ROW_BYTES_MAX + UTF8_MARK.len();

/// Why a file cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileError {
    /// There is nothing in it.
    Empty,
    /// It is not UTF-8.
    Encoding,
    /// Its first row is not in order.
    FirstRow(String),
    /// Its first row does not end where it has to.
    LateFirstRow,
    /// Its first row does not tell what the columns say.
    Header(HeaderError),
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the file is empty; its first row names the columns, such as email,first_name"),
            Self::Encoding => f.write_str(
                "the file is not UTF-8 text (spreadsheets save UTF-16 and older encodings too); save it as \
                 `CSV UTF-8` and import that",
            ),
            Self::FirstRow(fault) => write!(f, "the first row, which names the columns, cannot be read: {fault}"),
            Self::LateFirstRow => write!(
                f,
                "the first row, which names the columns, does not end within the first {} KiB of the file; blank lines \
                 in front of it, or a quote that is opened and never closed, look like this",
                FIRST_ROW_BYTES_MAX >> 10
            ),
            Self::Header(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for FileError {}

/// How much of a file is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileExtent {
    /// All of it.
    Whole,
    /// Its first [`BYTES_MAX`] bytes or more.
    Part,
}

/// What the beginning tells.
pub(super) struct FileHeader<'a> {
    /// The reader, behind the first row.
    pub(super) reader: Reader,
    /// What the columns say.
    pub(super) columns: Vec<Column>,
    /// What is held of the rows.
    pub(super) rest: &'a [u8],
}

/// Reads the first row with every delimiter and takes the one that tells most: what the columns say,
/// else more columns.
///
/// # Errors
/// [`FileError`].
pub(super) fn read<'a>(
    held: &'a [u8],
    extent: FileExtent,
    mapping: &Mapping,
    properties: &[Property],
) -> Result<FileHeader<'a>, FileError> {
    let text = held.strip_prefix(UTF8_MARK).unwrap_or(held);
    if UTF16_MARKS.iter().any(|mark| held.starts_with(mark)) {
        return Err(FileError::Encoding);
    }
    let mut best: Option<(usize, Result<FileHeader<'a>, FileError>)> = None;
    for delimiter in Delimiter::ALL {
        let (record, reader, rest) = first_record(text, extent, delimiter)?;
        let width = record.width();
        let head = match_columns(&record, mapping, properties).map(|columns| FileHeader { reader, columns, rest });
        let is_better = best.as_ref().is_none_or(|(best_width, best)| match (best, &head) {
            (Ok(_), Err(_)) => false,
            (Err(_), Ok(_)) => true,
            _ => width > *best_width,
        });
        if is_better {
            best = Some((width, head));
        }
    }
    best.map_or(Err(FileError::Empty), |(_, head)| head)
}

/// Returns the first record, which has ended in what is held, or with the file: else its beginning
/// would be taken for all of it.
fn first_record(text: &[u8], extent: FileExtent, delimiter: Delimiter) -> Result<(Record, Reader, &[u8]), FileError> {
    let mut reader = Reader::new(delimiter);
    let mut rest = text;
    let record = match (reader.next(&mut rest), extent) {
        (Some(record), _) if text.len() - rest.len() <= FIRST_ROW_BYTES_MAX => record,
        (None, FileExtent::Whole) => reader.end().ok_or(FileError::Empty)?,
        (Some(_), _) | (None, FileExtent::Part) => return Err(FileError::LateFirstRow),
    };
    Ok((record, reader, rest))
}

fn match_columns(record: &Record, mapping: &Mapping, properties: &[Property]) -> Result<Vec<Column>, FileError> {
    if let Some(fault) = record.fault {
        return Err(FileError::FirstRow(fault.to_string()));
    }
    let mut names = Vec::with_capacity(record.width());
    for cell in record.cells() {
        match cell {
            // UTF-16 without its mark is NUL bytes between ASCII letters.
            Some(name) if !name.contains('\0') => names.push(name.trim().to_owned()),
            _ => return Err(FileError::Encoding),
        }
    }
    mapping.columns(&names, properties).map_err(FileError::Header)
}
