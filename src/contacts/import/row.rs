//! A row to a contact. Pure.

use std::collections::BTreeMap;
use std::mem::size_of;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::csv::{Record, restored};
use super::columns::Column;
use super::mapping::{ColumnTarget, shown};
use super::progress::RowError;
use crate::base::address::EmailAddress;
use crate::base::id::{Id, SegmentId, TopicId};
use crate::contact_properties::{Definitions, PropertyError};
use crate::contacts::model::{NAME_CHARS_MAX, PROPERTIES_BYTES_MAX, is_name};
use crate::contacts::size::text_bytes;
use crate::segments::SEGMENTS_MAX;
use crate::topics::TOPICS_MAX;

/// What a row says of a contact. What it does not say stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportItem {
    /// The address.
    pub email: EmailAddress,
    /// The first name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    /// The last name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    /// Whether the contact opted out of all marketing email; `false` subscribes nobody again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsubscribed: Option<bool>,
    /// Properties by their key, as they are stored.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, String>,
    /// Segments it is added to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<SegmentId>,
    /// Topics it is opted in to, unless it has opted out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opt_ins: Vec<TopicId>,
    /// Topics it is opted out of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opt_outs: Vec<TopicId>,
}

impl ImportItem {
    /// Returns about how many bytes the item has as JSON, and never fewer.
    pub(super) fn weight(&self) -> usize {
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

/// Reads a row; nothing of one whose cells are all empty.
///
/// # Errors
/// The first thing that is wrong with it.
pub(super) fn read(
    record: &Record,
    columns: &[Column],
    definitions: &Definitions,
) -> Result<Option<ImportItem>, RowError> {
    if record.fault.is_none() && record.cells().all(|cell| cell.is_some_and(str::is_empty)) {
        return Ok(None);
    }
    let address_at = columns.iter().position(|column| column.target == Some(ColumnTarget::Email)).unwrap_or_default();
    let error = |column: Option<&Column>, message: String| RowError {
        line: record.line,
        column: column.map(|column| shown(&column.name)),
        email: shown(restored(record.shown(address_at).trim())),
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
        let cell = restored(cell.ok_or_else(not_text)?);
        // An empty cell says nothing.
        if !cell.is_empty() {
            draft.take(target, cell, definitions).map_err(|message| error(Some(column), message))?;
        }
    }
    let Draft { email, first_name, last_name, unsubscribed, properties, segments, opt_ins, opt_outs } = draft;
    let Some(email) = email else { return Err(error(columns.get(address_at), "there is no address".to_owned())) };
    if properties.iter().map(|(key, text)| key.len() + text.len()).sum::<usize>() > PROPERTIES_BYTES_MAX {
        let message = format!("its properties have more than {} KiB together", PROPERTIES_BYTES_MAX >> 10);
        return Err(error(None, message));
    }
    Ok(Some(ImportItem { email, first_name, last_name, unsubscribed, properties, segments, opt_ins, opt_outs }))
}

/// What was read of a row.
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
    /// Takes what a cell says; the inner error is the fragment that says what is wrong with it.
    fn take(&mut self, target: &ColumnTarget, cell: &str, definitions: &Definitions) -> Result<(), String> {
        match target {
            ColumnTarget::Email => {
                self.email = Some(EmailAddress::parse(cell.trim()).map_err(|error| error.to_string())?);
            }
            ColumnTarget::FirstName => self.first_name = Some(name(cell)?),
            ColumnTarget::LastName => self.last_name = Some(name(cell)?),
            ColumnTarget::Unsubscribed => self.unsubscribed = Some(truth(cell.trim())?),
            ColumnTarget::Segment => self.segments = ids(cell, "segment", SEGMENTS_MAX)?,
            ColumnTarget::TopicOptIn => self.opt_ins = ids(cell, "topic", TOPICS_MAX)?,
            ColumnTarget::TopicOptOut => self.opt_outs = ids(cell, "topic", TOPICS_MAX)?,
            ColumnTarget::Property(key) => {
                self.properties.insert(key.clone(), value(definitions, key, cell)?);
            }
        }
        Ok(())
    }
}

fn truth(cell: &str) -> Result<bool, String> {
    let is = |words: [&str; 3]| words.iter().any(|word| cell.eq_ignore_ascii_case(word));
    if is(["yes", "true", "1"]) {
        Ok(true)
    } else if is(["no", "false", "0"]) {
        Ok(false)
    } else {
        Err(format!("`{}` is none of yes, true, 1, no, false and 0", shown(cell)))
    }
}

/// Reads ids with spaces between; `thing` is what they name.
fn ids<R>(cell: &str, thing: &str, ids_max: usize) -> Result<Vec<Id<R>>, String> {
    let mut ids = Vec::new();
    for word in cell.split_whitespace() {
        ids.push(Id::parse(word).ok_or_else(|| format!("`{}` is not the id of a {thing}", shown(word)))?);
        if ids.len() > ids_max {
            return Err(format!("there are more than {ids_max} {thing}s"));
        }
    }
    Ok(ids)
}

fn name(cell: &str) -> Result<String, String> {
    if is_name(cell) {
        return Ok(cell.to_owned());
    }
    Err(format!("it may have {NAME_CHARS_MAX} characters, on one line and without control characters"))
}

/// Returns the text to store for a cell.
fn value(definitions: &Definitions, key: &str, cell: &str) -> Result<String, String> {
    match definitions.accept(key, &Value::String(cell.to_owned())) {
        Ok(text) => Ok(text.unwrap_or_default()),
        Err(PropertyError::NotNumeric) => Err(format!("`{}` is not a number, which this property is", shown(cell))),
        Err(error) => Err(error.to_string()),
    }
}
