//! The use cases: create, show, change, publish, copy and delete templates; read the content for a send.

use super::error::{CreateTemplateError, UpdateTemplateError, UseTemplateError};
use super::model::{
    NewTemplate, TEMPLATES_MAX, Template, TemplateAlias, TemplateChanges, TemplateContent, TemplateName, TemplateRef,
};
use super::store::{self, PublishedVersionRow, SealedVersion, TemplateRow};
use crate::audit::{self, AuditAction, AuditEntry, AuditTargetKind, TeamActor};
use crate::base::blocking;
use crate::base::clock::TimestampMs;
use crate::base::id::{TeamId, TemplateId, TemplateVersionId};
use crate::base::patch::Patch;
use crate::context::Context;
use crate::store::page::{Page, PageError, PageQuery, is_full, page};
use crate::store::{ReadTx, Reads as _, StoreError, WriteTx};
use crate::tables::TEMPLATES;

/// Size of the rows of a template without its content, in bytes.
const ROW_BYTES: usize = 1_024;

/// The templates of all teams.
pub struct Templates {
    context: Context,
}

impl Templates {
    /// Returns the templates in the store of `context`.
    pub fn new(context: Context) -> Self {
        Self { context }
    }

    /// Creates a template that is not published.
    pub async fn create(&self, team: TeamId, new: NewTemplate) -> Result<Template, CreateTemplateError> {
        let NewTemplate { name, alias, content } = new;
        if !content.is_within_limit() {
            return Err(CreateTemplateError::TooLarge);
        }
        let (name, alias) = (name.into_string(), alias.map(|alias| alias.as_str().to_owned()));
        let content = self.seal(content).await;
        let ids = self.context.ids.clone();
        self.context
            .store
            .write_sized(ROW_BYTES + content.len(), move |tx| {
                if let Some(alias) = &alias
                    && store::find_alias(tx, team, alias)?.is_some()
                {
                    return Err(CreateTemplateError::AliasTaken(alias.clone()));
                }
                if is_full(tx, &TEMPLATES, team, TEMPLATES_MAX)? {
                    return Err(CreateTemplateError::TooMany);
                }
                let id: TemplateId = ids.draw();
                let row = TemplateRow {
                    name: name.clone(),
                    alias: alias.clone(),
                    revision: 0,
                    version: content.version,
                    published: None,
                    created_ms: id.created_ms(),
                    updated_ms: id.created_ms(),
                };
                content.put(tx, team)?;
                store::put(tx, team, id, None, &row)?;
                Ok(row.template(id))
            })
            .await
    }

    /// Returns a page of the team's templates, newest first.
    pub async fn list(&self, team: TeamId, query: PageQuery<TemplateId>) -> Result<Page<Template>, PageError> {
        self.context.store.read(move |tx| page(tx, &TEMPLATES, team, query, |id, row| Ok(Some(row.template(id))))).await
    }

    /// Returns the team's template with its newest content.
    pub async fn find(
        &self,
        team: TeamId,
        reference: TemplateRef,
    ) -> Result<Option<(Template, TemplateContent)>, StoreError> {
        let keyring = self.context.keyring.clone();
        let read = move |tx: &ReadTx| {
            let Some((id, row)) = store::find(tx, team, &reference)? else { return Ok(None) };
            let content = store::read_content(tx, &keyring, team, row.version)?;
            Ok(Some((row.template(id), content)))
        };
        self.context.store.read(read).await
    }

    /// Returns the id of a template, and the content that a send with it uses: that of its published version.
    pub async fn published(
        &self,
        team: TeamId,
        reference: TemplateRef,
    ) -> Result<(TemplateId, TemplateContent), UseTemplateError> {
        let keyring = self.context.keyring.clone();
        let read = move |tx: &ReadTx| {
            let (id, row) = store::find(tx, team, &reference)?.ok_or(UseTemplateError::NotFound)?;
            let published = row.published.ok_or(UseTemplateError::NotPublished)?;
            Ok((id, store::read_content(tx, &keyring, team, published.version)?))
        };
        self.context.store.read(read).await
    }

    /// Changes a template. A change of the content makes a new version, and the published version stays.
    pub async fn update(
        &self,
        team: TeamId,
        reference: TemplateRef,
        changes: TemplateChanges,
    ) -> Result<Template, UpdateTemplateError> {
        loop {
            let (template, content) = self.before(team, &reference, &changes).await?;
            let replaced = template.version;
            let content = match content {
                Some(content) => self.changed_version(&content, &changes).await?,
                None => None,
            };
            let bytes = ROW_BYTES + content.as_ref().map_or(0, SealedVersion::len);
            let (changes, now_ms) = (changes.clone(), self.context.now_ms());
            let write = move |tx: &WriteTx<'_>| {
                apply(tx, team, template.id, &changes, content.as_ref().map(|content| (replaced, content)), now_ms)
            };
            // If another change made a new version meanwhile, the change is applied to that version.
            if let Some(changed) = self.context.store.write_sized(bytes, write).await? {
                return Ok(changed);
            }
        }
    }

    /// Makes the newest version the one that sends use. Changes nothing if it is.
    pub async fn publish(&self, team: TeamId, reference: TemplateRef) -> Result<Template, UpdateTemplateError> {
        let now_ms = self.context.now_ms();
        let write = move |tx: &WriteTx<'_>| {
            let (id, before) = store::find(tx, team, &reference)?.ok_or(UpdateTemplateError::NotFound)?;
            if before.is_published(before.version) {
                return Ok(before.template(id));
            }
            if let Some(published) = before.published {
                store::delete_content(tx, team, published.version)?;
            }
            let published = Some(PublishedVersionRow { version: before.version, at_ms: now_ms });
            let row = TemplateRow { published, updated_ms: now_ms, ..before.clone() };
            store::put(tx, team, id, Some(&before), &row)?;
            Ok(row.template(id))
        };
        self.context.store.write(write).await
    }

    /// Creates a template with the newest content of another one, without its alias and not published.
    pub async fn duplicate(&self, team: TeamId, reference: TemplateRef) -> Result<Template, CreateTemplateError> {
        let (template, content) = self.find(team, reference).await?.ok_or(CreateTemplateError::NotFound)?;
        let name = TemplateName::of_copy(&template.name);
        self.create(team, NewTemplate { name, alias: None, content }).await
    }

    /// Deletes a template and returns its id; `None` if the team has no such template. Accepted emails keep their
    /// content.
    pub async fn delete(
        &self,
        by: impl Into<TeamActor>,
        reference: TemplateRef,
    ) -> Result<Option<TemplateId>, StoreError> {
        let (by, context) = (by.into(), self.context.clone());
        let (team, now_ms) = (by.team, context.now_ms());
        let write = move |tx: &WriteTx<'_>| {
            let Some((id, row)) = store::find(tx, team, &reference)? else { return Ok(None) };
            store::remove(tx, team, id, &row, now_ms)?;
            let entry =
                AuditEntry::new(AuditAction::TemplateDeleted).of(AuditTargetKind::Template, id).named(&row.name);
            audit::record(tx, &context, by, entry)?;
            Ok(Some(id))
        };
        self.context.store.write(write).await
    }

    /// Returns the template before an update, with its newest content if the update concerns it.
    async fn before(
        &self,
        team: TeamId,
        reference: &TemplateRef,
        changes: &TemplateChanges,
    ) -> Result<(Template, Option<TemplateContent>), UpdateTemplateError> {
        let (keyring, reference, has_content) =
            (self.context.keyring.clone(), reference.clone(), changes.has_content());
        let read = move |tx: &ReadTx| {
            let (id, row) = store::find(tx, team, &reference)?.ok_or(UpdateTemplateError::NotFound)?;
            let content = if has_content { Some(store::read_content(tx, &keyring, team, row.version)?) } else { None };
            Ok((row.template(id), content))
        };
        self.context.store.read(read).await
    }

    /// Returns a new version with the changes; `None` if the content stays the same.
    async fn changed_version(
        &self,
        content: &TemplateContent,
        changes: &TemplateChanges,
    ) -> Result<Option<SealedVersion>, UpdateTemplateError> {
        let changed = content.changed(changes);
        if !changed.is_within_limit() {
            return Err(UpdateTemplateError::TooLarge);
        }
        if changed == *content { Ok(None) } else { Ok(Some(self.seal(changed).await)) }
    }

    async fn seal(&self, content: TemplateContent) -> SealedVersion {
        let (keyring, version) = (self.context.keyring.clone(), self.context.id());
        blocking::run_sized(content.bytes(), move || SealedVersion::seal(&keyring, version, &content)).await
    }
}

/// Applies an update. `content` is the new version with the version that it replaces. Returns `None`, and writes
/// nothing, if that version is not the newest any more.
fn apply(
    tx: &WriteTx<'_>,
    team: TeamId,
    id: TemplateId,
    changes: &TemplateChanges,
    content: Option<(TemplateVersionId, &SealedVersion)>,
    now_ms: TimestampMs,
) -> Result<Option<Template>, UpdateTemplateError> {
    let before = tx.get(&TEMPLATES, &(team, id))?.ok_or(UpdateTemplateError::NotFound)?;
    if changes.revision.is_some_and(|revision| revision != before.revision) {
        return Err(UpdateTemplateError::StaleRevision);
    }
    if content.is_some_and(|(replaced, _)| replaced != before.version) {
        return Ok(None);
    }
    let mut row = before.clone();
    if let Some(name) = &changes.name {
        name.as_str().clone_into(&mut row.name);
    }
    match &changes.alias {
        Patch::Keep => {}
        Patch::Clear => row.alias = None,
        Patch::Set(alias) => row.alias = Some(free_alias(tx, team, id, alias)?),
    }
    if let Some((_, content)) = content {
        row.version = content.version;
    }
    if row == before {
        return Ok(Some(row.template(id)));
    }
    row.updated_ms = now_ms;
    row.revision = before.revision.wrapping_add(1);
    if let Some((replaced, content)) = content {
        if !before.is_published(replaced) {
            store::delete_content(tx, team, replaced)?;
        }
        content.put(tx, team)?;
    }
    store::put(tx, team, id, Some(&before), &row)?;
    Ok(Some(row.template(id)))
}

/// Returns an alias for a row.
///
/// # Errors
/// [`UpdateTemplateError::AliasTaken`] if another template has it.
fn free_alias(
    tx: &WriteTx<'_>,
    team: TeamId,
    id: TemplateId,
    alias: &TemplateAlias,
) -> Result<String, UpdateTemplateError> {
    let alias = alias.as_str();
    match store::find_alias(tx, team, alias)? {
        Some(other) if other != id => Err(UpdateTemplateError::AliasTaken(alias.to_owned())),
        _ => Ok(alias.to_owned()),
    }
}
