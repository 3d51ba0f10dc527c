//! Converts a row to a contact. Pure.

use std::collections::BTreeMap;
use std::mem::size_of;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::csv::{CsvRecord, unescape_formula};
use super::columns::ImportColumn;
use super::mapping::{ColumnTarget, excerpt};
use super::progress::RowError;
use crate::base::address::EmailAddress;
use crate::base::id::{Id, SegmentId, TopicId};
use crate::contact_properties::{PropertyDefinitions, PropertyError};
use crate::contacts::model::{NAME_CHARS_MAX, PROPERTIES_BYTES_MAX, is_name};
use crate::contacts::size::text_bytes;
use crate::segments::SEGMENTS_MAX;
use crate::topics::TOPICS_MAX;

/// A contact of a row. Absent fields leave an existing contact unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportItem {
    pub email: EmailAddress,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    /// Whether the contact opted out of all marketing email. `false` does not clear an opt-out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsubscribed: Option<bool>,
    /// Property values as stored text, by key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, String>,
    /// Segments that the contact becomes a member of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<SegmentId>,
    /// Topics that the contact is opted in to, unless it has opted out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opt_ins: Vec<TopicId>,
    /// Topics that the contact is opted out of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opt_outs: Vec<TopicId>,
}

impl ImportItem {
    /// Returns an upper bound of the item's JSON size in bytes.
    pub(super) fn json_bytes(&self) -> usize {
        let Self { email, first_name, last_name, unsubscribed: _, properties, segments, opt_ins, opt_outs } = self;
        let names = [first_name, last_name].into_iter().flatten().map(|name| text_bytes(name)).sum::<usize>();
        let properties = properties.iter().map(|(key, value)| text_bytes(key) + text_bytes(value)).sum::<usize>();
        size_of::<Self>()
            + text_bytes(email.local())
            + text_bytes(email.domain().as_str())
            + names
            + properties
            + 40 * (segments.len() + opt_ins.len() + opt_outs.len())
    }
}

/// Converts a row to an item; `None` if all its cells are empty.
///
/// # Errors
/// The first error of the row.
pub(super) fn read(
    record: &CsvRecord,
    columns: &[ImportColumn],
    definitions: &PropertyDefinitions,
) -> Result<Option<ImportItem>, RowError> {
    if record.fault.is_none() && record.cells().all(|cell| cell.is_some_and(str::is_empty)) {
        return Ok(None);
    }
    let address_index =
        columns.iter().position(|column| column.target == Some(ColumnTarget::Email)).unwrap_or_default();
    let error = |column: Option<&ImportColumn>, message: String| RowError {
        line: record.line,
        column: column.map(|column| excerpt(&column.name)),
        email: excerpt(unescape_formula(record.lossy_cell(address_index).trim())),
        message,
    };
    if let Some(fault) = record.fault {
        return Err(error(None, fault.to_string()));
    }
    if record.width() != columns.len() {
        let message = format!("the row has {} cells and the first row {}", record.width(), columns.len());
        return Err(error(None, message));
    }
    let mut draft = Draft::default();
    for (column, cell) in columns.iter().zip(record.cells()) {
        let Some(target) = &column.target else { continue };
        let not_text = || error(Some(column), "it is not UTF-8; save the file as `CSV UTF-8`".to_owned());
        let cell = unescape_formula(cell.ok_or_else(not_text)?);
        // An empty cell leaves the field unchanged.
        if !cell.is_empty() {
            draft.set(target, cell, definitions).map_err(|message| error(Some(column), message))?;
        }
    }
    let Draft { email, first_name, last_name, unsubscribed, properties, segments, opt_ins, opt_outs } = draft;
    let Some(email) = email else { return Err(error(columns.get(address_index), "there is no address".to_owned())) };
    if properties.iter().map(|(key, text)| key.len() + text.len()).sum::<usize>() > PROPERTIES_BYTES_MAX {
        let message = format!("its properties have more than {} KiB together", PROPERTIES_BYTES_MAX >> 10);
        return Err(error(None, message));
    }
    Ok(Some(ImportItem { email, first_name, last_name, unsubscribed, properties, segments, opt_ins, opt_outs }))
}

/// Fields of the cells read so far.
#[derive(Default)]
struct Draft {
    email: Option<EmailAddress>,
    first_name: Option<String>,
    last_name: Option<String>,
    unsubscribed: Option<bool>,
    properties: BTreeMap<String, String>,
    segments: Vec<SegmentId>,
    opt_ins: Vec<TopicId>,
    opt_outs: Vec<TopicId>,
}

impl Draft {
    /// Sets the field of a cell. The error is a message for [`RowError::message`].
    fn set(&mut self, target: &ColumnTarget, cell: &str, definitions: &PropertyDefinitions) -> Result<(), String> {
        match target {
            ColumnTarget::Email => {
                self.email = Some(EmailAddress::parse(cell.trim()).map_err(|error| error.to_string())?);
            }
            ColumnTarget::FirstName => self.first_name = Some(parse_name(cell)?),
            ColumnTarget::LastName => self.last_name = Some(parse_name(cell)?),
            ColumnTarget::Unsubscribed => self.unsubscribed = Some(parse_bool(cell.trim())?),
            ColumnTarget::Segment => self.segments = parse_ids(cell, "segment", SEGMENTS_MAX)?,
            ColumnTarget::TopicOptIn => self.opt_ins = parse_ids(cell, "topic", TOPICS_MAX)?,
            ColumnTarget::TopicOptOut => self.opt_outs = parse_ids(cell, "topic", TOPICS_MAX)?,
            ColumnTarget::Property(key) => {
                self.properties.insert(key.clone(), parse_value(definitions, key, cell)?);
            }
        }
        Ok(())
    }
}

fn parse_bool(cell: &str) -> Result<bool, String> {
    let is = |words: [&str; 3]| words.iter().any(|word| cell.eq_ignore_ascii_case(word));
    if is(["yes", "true", "1"]) {
        Ok(true)
    } else if is(["no", "false", "0"]) {
        Ok(false)
    } else {
        Err(format!("`{}` is not yes, true, 1, no, false or 0", excerpt(cell)))
    }
}

/// Parses ids that are separated by spaces. `thing` is the kind of resource, for error messages.
fn parse_ids<R>(cell: &str, thing: &str, ids_max: usize) -> Result<Vec<Id<R>>, String> {
    let mut ids = Vec::new();
    for word in cell.split_whitespace() {
        ids.push(Id::parse(word).ok_or_else(|| format!("`{}` is not the id of a {thing}", excerpt(word)))?);
        if ids.len() > ids_max {
            return Err(format!("there are more than {ids_max} {thing}s"));
        }
    }
    Ok(ids)
}

fn parse_name(cell: &str) -> Result<String, String> {
    if is_name(cell) {
        return Ok(cell.to_owned());
    }
    Err(format!("it may have {NAME_CHARS_MAX} characters, on one line and without control characters"))
}

/// Returns the text to store for a cell of the property `key`.
fn parse_value(definitions: &PropertyDefinitions, key: &str, cell: &str) -> Result<String, String> {
    match definitions.accept(key, &Value::String(cell.to_owned())) {
        Ok(text) => Ok(text.unwrap_or_default()),
        Err(PropertyError::NotNumeric) => {
            Err(format!("`{}` is not a number, and this property requires one", excerpt(cell)))
        }
        Err(error) => Err(error.to_string()),
    }
}
