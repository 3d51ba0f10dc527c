//! The rows of templates, of their aliases and of the versions of their content.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::model::{CONTENT_BYTES_MAX, SUBJECT_CHARS_MAX, Template, TemplateContent, TemplateRef};
use crate::base::clock::TimestampMs;
use crate::base::id::{TeamId, TemplateId, TemplateVersionId};
use crate::store::{Chunks, Keyring, Reads, Row, StoreError, WriteTx, pack, read_chunks, unpack};
use crate::tables::{TEMPLATE_ALIASES, TEMPLATE_BODIES, TEMPLATES, TemplateIdRow};

/// Maximum size of encoded content: the parts, a subject of characters of four bytes, and the names of the fields.
const ENCODED_BYTES_MAX: usize = CONTENT_BYTES_MAX + 4 * SUBJECT_CHARS_MAX + 256;

/// A template on disk, without its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateRow {
    pub name: String,
    /// Name of the template in requests, in its letter case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// Number of changes of name, alias and content.
    #[serde(default)]
    pub revision: u32,
    /// Newest version of the content.
    pub version: TemplateVersionId,
    /// Version that sends use; `None` before the first publication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<PublishedVersionRow>,
    /// Time of creation.
    pub created_ms: TimestampMs,
    /// Time of the last change or publication.
    pub updated_ms: TimestampMs,
}
impl Row for TemplateRow {}

/// The published version of a template, in its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedVersionRow {
    pub version: TemplateVersionId,
    /// Time of the publication.
    pub at_ms: TimestampMs,
}

impl TemplateRow {
    /// Converts the row to a template.
    pub(super) fn template(self, id: TemplateId) -> Template {
        let Self { name, alias, revision, version, published, created_ms, updated_ms } = self;
        let published = published.map(|PublishedVersionRow { version, at_ms }| (version, at_ms));
        Template { id, name, alias, revision, version, published, created_ms, updated_ms }
    }

    /// Returns whether sends use a version.
    pub(super) fn is_published(&self, version: TemplateVersionId) -> bool {
        self.published.is_some_and(|published| published.version == version)
    }
}

/// Returns the hash of an alias, which is the key of the index.
fn alias_hash(alias: &str) -> [u8; 32] {
    Sha256::digest(alias.as_bytes()).into()
}

/// Returns the id of the team's template with that alias.
pub(super) fn find_alias(tx: &impl Reads, team: TeamId, alias: &str) -> Result<Option<TemplateId>, StoreError> {
    Ok(tx.get(&TEMPLATE_ALIASES, &(team, alias_hash(alias)))?.map(|row| row.id))
}

/// Returns the team's template that a reference names.
pub(super) fn find(
    tx: &impl Reads,
    team: TeamId,
    reference: &TemplateRef,
) -> Result<Option<(TemplateId, TemplateRow)>, StoreError> {
    let id = match reference {
        TemplateRef::Id(id) => Some(*id),
        TemplateRef::Alias(alias) => find_alias(tx, team, alias.as_str())?,
    };
    let Some(id) = id else { return Ok(None) };
    Ok(tx.get(&TEMPLATES, &(team, id))?.map(|row| (id, row)))
}

/// Writes a template, and its alias if it differs from the alias of `before`.
pub(super) fn put(
    tx: &WriteTx<'_>,
    team: TeamId,
    id: TemplateId,
    before: Option<&TemplateRow>,
    row: &TemplateRow,
) -> Result<(), StoreError> {
    let old_alias = before.and_then(|before| before.alias.as_ref());
    if old_alias != row.alias.as_ref() {
        if let Some(alias) = old_alias {
            tx.delete(&TEMPLATE_ALIASES, &(team, alias_hash(alias)))?;
        }
        if let Some(alias) = &row.alias {
            tx.put(&TEMPLATE_ALIASES, &(team, alias_hash(alias)), &TemplateIdRow { id })?;
        }
    }
    tx.put(&TEMPLATES, &(team, id), row)
}

/// Deletes a template, its alias and its content.
pub(super) fn remove(
    tx: &WriteTx<'_>,
    team: TeamId,
    id: TemplateId,
    row: &TemplateRow,
    now_ms: TimestampMs,
) -> Result<(), StoreError> {
    if let Some(alias) = &row.alias {
        tx.delete(&TEMPLATE_ALIASES, &(team, alias_hash(alias)))?;
    }
    for version in [Some(row.version), row.published.map(|published| published.version)].into_iter().flatten() {
        delete_content(tx, team, version)?;
    }
    tx.delete_listed(&TEMPLATES, &(team, id), now_ms)?;
    Ok(())
}

/// A version of the content, sealed and ready to be stored.
#[derive(Clone, Debug)]
pub(super) struct SealedVersion {
    pub(super) version: TemplateVersionId,
    chunks: Chunks,
}

impl SealedVersion {
    /// Compresses and seals content.
    pub(super) fn seal(keyring: &Keyring, version: TemplateVersionId, content: &TemplateContent) -> Self {
        let plain = rmp_serde::to_vec_named(content).expect("encoding into memory does not fail");
        let sealed = keyring.seal(&associated_data(version), &pack(&plain));
        Self { version, chunks: Chunks::of(sealed) }
    }

    /// Returns the size on disk, in bytes.
    pub(super) fn len(&self) -> usize {
        self.chunks.bytes()
    }

    /// Stores the content.
    pub(super) fn put(&self, tx: &WriteTx<'_>, team: TeamId) -> Result<(), StoreError> {
        self.chunks.put(tx, &TEMPLATE_BODIES, |chunk| (team, self.version, chunk))
    }
}

/// Returns the content of a version that a row names.
pub(super) fn read_content(
    tx: &impl Reads,
    keyring: &Keyring,
    team: TeamId,
    version: TemplateVersionId,
) -> Result<TemplateContent, StoreError> {
    let corrupt = |what: &str| StoreError::Corrupt(format!("version {version} of a template: {what}"));
    let sealed = read_chunks(tx, &TEMPLATE_BODIES, |chunk| (team, version, chunk))?;
    let sealed = sealed.ok_or_else(|| corrupt("no content"))?;
    let packed = keyring.open_sealed(&associated_data(version), &sealed)?;
    let plain = unpack(&packed, ENCODED_BYTES_MAX).ok_or_else(|| corrupt("its size"))?;
    rmp_serde::from_slice(&plain).map_err(|error| corrupt(&error.to_string()))
}

/// Deletes the content of a version.
pub(super) fn delete_content(tx: &WriteTx<'_>, team: TeamId, version: TemplateVersionId) -> Result<(), StoreError> {
    tx.delete_range(&TEMPLATE_BODIES, &(team, version, 0), &(team, version, u32::MAX), usize::MAX)?;
    Ok(())
}

fn associated_data(version: TemplateVersionId) -> [u8; 17] {
    let mut data = [b't'; 17];
    data[1..].copy_from_slice(version.as_bytes());
    data
}
