//! Use cases of endpoints: create, list, read, update, rotate the secret, delete.

use std::sync::Arc;

use super::dispatch::DispatchNotifier;
use super::error::{CreateWebhookError, RotateSecretError, UpdateWebhookError};
use super::model::{
    FailingEndpoint, NewWebhook, RotationResult, SecretRotation, SubscribedEvents, Webhook, WebhookChanges,
    WebhookStatus,
};
use super::removal;
use super::store::{self, HealthRow, PreviousSecretRow, WebhookRow};
use crate::audit::{self, Actor, AuditAction, AuditEntry, AuditTargetKind, TeamActor, audit_host};
use crate::base::id::{TeamId, WebhookId};
use crate::base::signature::WebhookSecret;
use crate::base::wakeup::Wakeup;
use crate::context::Context;
use crate::events;
use crate::http_client::UrlPolicy;
use crate::store::page::{Page, PageError, PageQuery, page};
use crate::store::{KeyOf, Order, Reads as _, StoreError, WriteTx};
use crate::tables::{WEBHOOK_HEALTH, WEBHOOKS};

const HOUR_MS: i64 = 60 * 60 * 1_000;

/// Use cases of webhook endpoints and their deliveries.
pub struct Webhooks {
    pub(super) context: Context,
    pub(super) notifier: DispatchNotifier,
    policy: UrlPolicy,
    /// Notified when a deleted endpoint has deliveries left.
    pub(super) deleted: Arc<Wakeup>,
}

impl Webhooks {
    /// Returns the use cases. They notify `notifier` of changes, and accept the URLs that `policy` allows.
    pub fn new(context: Context, notifier: DispatchNotifier, policy: UrlPolicy) -> Self {
        Self { context, notifier, policy, deleted: Arc::default() }
    }

    /// Returns the notifier of the dispatcher.
    pub fn notifier(&self) -> DispatchNotifier {
        self.notifier.clone()
    }

    /// Returns the policy for the URLs of endpoints.
    pub fn policy(&self) -> &UrlPolicy {
        &self.policy
    }

    /// Creates an enabled endpoint. Returns its id and its signing secret.
    pub async fn create(
        &self,
        by: impl Into<TeamActor>,
        new: NewWebhook,
    ) -> Result<(WebhookId, WebhookSecret), CreateWebhookError> {
        let by = by.into();
        let team = by.team;
        let NewWebhook { endpoint, subscription, status, secret } = new;
        let secret = secret.unwrap_or_else(WebhookSecret::generate);
        let (context, notifier, plain_secret) = (self.context.clone(), self.notifier.clone(), secret.clone());
        let id = self
            .context
            .store
            .write(move |tx| {
                if store::is_full(tx, team)? {
                    return Err(CreateWebhookError::TooMany);
                }
                // The secret is sealed under the id, which the transaction draws.
                let id: WebhookId = context.id();
                let row = WebhookRow {
                    endpoint: endpoint.to_string(),
                    subscription,
                    status,
                    activation: 0,
                    secret: store::seal_secret(&context.keyring, id, plain_secret.reveal()),
                    previous: None,
                };
                tx.put(&WEBHOOKS, &(team, id), &row)?;
                if row.status == WebhookStatus::Enabled {
                    events::subscribe(tx, team, (id, row.activation), row.subscription.types())?;
                }
                audit::record(tx, &context, by, fields(entry(AuditAction::WebhookCreated, id, &row), None, &row))?;
                notify_after_commit(tx, &notifier, id);
                Ok(id)
            })
            .await?;
        Ok((id, secret))
    }

    /// Returns a page of the team's endpoints, newest first.
    pub async fn list(&self, team: TeamId, query: PageQuery<WebhookId>) -> Result<Page<Webhook>, PageError> {
        let now_ms = self.context.now_ms();
        self.context
            .store
            .read(move |tx| page(tx, &WEBHOOKS, team, query, |id, row| Ok(Some(row.webhook(id, now_ms)))))
            .await
    }

    /// Returns the failing endpoints of a team, oldest first; at most one for each endpoint, whether or not it is enabled.
    pub async fn failing(&self, team: TeamId) -> Result<Vec<FailingEndpoint>, StoreError> {
        let now_ms = self.context.now_ms();
        self.context
            .store
            .read(move |tx| {
                tx.collect(&WEBHOOK_HEALTH, KeyOf::bounds(team), Order::Ascending, |(_, id), row| {
                    Ok(row.valid().and_then(|health| health.failing_endpoint(id, now_ms)))
                })
            })
            .await
    }

    /// Returns an endpoint with its signing secret; `None` if the team has no such endpoint.
    pub async fn find(&self, team: TeamId, id: WebhookId) -> Result<Option<(Webhook, WebhookSecret)>, StoreError> {
        let (keyring, now_ms) = (self.context.keyring.clone(), self.context.now_ms());
        self.context
            .store
            .read(move |tx| {
                let Some(row) = store::find(tx, team, id)? else { return Ok(None) };
                let secret = store::open_secret(&keyring, id, &row.secret)?;
                let secret = WebhookSecret::parse(&secret)
                    .ok_or_else(|| StoreError::Corrupt(format!("the secret of webhook {id} is invalid")))?;
                Ok(Some((row.webhook(id, now_ms), secret)))
            })
            .await
    }

    /// Changes an endpoint. The queued deliveries of an endpoint that is disabled are never sent. An endpoint
    /// that is enabled again starts with a new activation and without failures.
    pub async fn update(
        &self,
        by: impl Into<TeamActor>,
        id: WebhookId,
        changes: WebhookChanges,
    ) -> Result<(), UpdateWebhookError> {
        let (by, context, notifier) = (by.into(), self.context.clone(), self.notifier.clone());
        let team = by.team;
        self.context
            .store
            .write(move |tx| {
                let before = store::find(tx, team, id)?.ok_or(UpdateWebhookError::NotFound)?;
                let row = changed(before.clone(), &changes);
                if row == before {
                    return Ok(());
                }
                let entry = fields(entry(AuditAction::WebhookUpdated, id, &row), Some(&before), &row);
                audit::record(tx, &context, by, entry)?;
                tx.put(&WEBHOOKS, &(team, id), &row)?;
                let is_enabled = row.status == WebhookStatus::Enabled;
                if is_enabled && before.status != WebhookStatus::Enabled {
                    reset_health(tx, team, id)?;
                } else if row.endpoint != before.endpoint {
                    forget_failed_attempts(tx, team, id)?;
                }
                if is_enabled {
                    events::subscribe(tx, team, (id, row.activation), row.subscription.types())?;
                } else {
                    events::unsubscribe(tx, team, id)?;
                }
                notify_after_commit(tx, &notifier, id);
                Ok(())
            })
            .await
    }

    /// Replaces the secret of an endpoint. The current secret becomes the previous one and signs during the
    /// overlap. The secret of an earlier overlap stops signing, so that at most two secrets sign.
    pub async fn rotate(
        &self,
        by: impl Into<TeamActor>,
        id: WebhookId,
        rotation: SecretRotation,
    ) -> Result<RotationResult, RotateSecretError> {
        let (by, context) = (by.into(), self.context.clone());
        let team = by.team;
        let SecretRotation { overlap_hours, secret } = rotation;
        let secret = secret.unwrap_or_else(WebhookSecret::generate);
        let sealed = store::seal_secret(&self.context.keyring, id, secret.reveal());
        let (notifier, now_ms) = (self.notifier.clone(), self.context.now_ms());
        let previous_expires_ms = (overlap_hours > 0).then(|| now_ms + i64::from(overlap_hours) * HOUR_MS);
        self.context
            .store
            .write(move |tx| {
                let mut row = store::find(tx, team, id)?.ok_or(RotateSecretError::NotFound)?;
                let before = std::mem::replace(&mut row.secret, sealed.clone());
                row.previous = previous_expires_ms.map(|expires_ms| PreviousSecretRow { secret: before, expires_ms });
                tx.put(&WEBHOOKS, &(team, id), &row)?;
                let entry = entry(AuditAction::WebhookSecretRotated, id, &row).with("overlap_hours", overlap_hours);
                audit::record(tx, &context, by, entry)?;
                notify_after_commit(tx, &notifier, id);
                Ok::<_, RotateSecretError>(())
            })
            .await?;
        Ok(RotationResult { secret, previous_expires_ms })
    }

    /// Deletes an endpoint. Returns `false` if the team has no such endpoint. No reader finds its deliveries
    /// afterwards. One commit deletes a bounded number of them, and [`Webhooks::run`] deletes the rest.
    pub async fn delete(&self, by: impl Into<TeamActor>, id: WebhookId) -> Result<bool, StoreError> {
        let (by, context) = (by.into(), self.context.clone());
        let team = by.team;
        let (notifier, deleted) = (self.notifier.clone(), Arc::clone(&self.deleted));
        let now_ms = self.context.now_ms();
        self.context
            .store
            .write(move |tx| {
                let row = tx.get_valid(&WEBHOOKS, &(team, id))?;
                if !tx.delete_listed(&WEBHOOKS, &(team, id), now_ms)? {
                    return Ok(false);
                }
                let entry = AuditEntry::new(AuditAction::WebhookDeleted).of(AuditTargetKind::Webhook, id);
                let entry = match row {
                    Some(row) => entry.named(&audit_host(&row.endpoint)),
                    None => entry,
                };
                audit::record(tx, &context, by, entry)?;
                tx.delete(&WEBHOOK_HEALTH, &(team, id))?;
                events::unsubscribe(tx, team, id)?;
                if removal::delete_rows(tx, team, id)? {
                    let deleted = Arc::clone(&deleted);
                    tx.after_commit(move || deleted.notify());
                }
                notify_after_commit(tx, &notifier, id);
                Ok(true)
            })
            .await
    }

    /// Deletes the endpoints of a team in the transaction that removes the team: at most [`WEBHOOKS_MAX`] rows and
    /// their health. [`Webhooks::run`] deletes the deliveries.
    ///
    /// [`WEBHOOKS_MAX`]: super::model::WEBHOOKS_MAX
    pub(crate) fn delete_endpoints(&self, tx: &WriteTx<'_>, team: TeamId) -> Result<(), StoreError> {
        for id in store::ids(tx, team)? {
            tx.delete(&WEBHOOKS, &(team, id))?;
            tx.delete(&WEBHOOK_HEALTH, &(team, id))?;
            events::unsubscribe(tx, team, id)?;
            notify_after_commit(tx, &self.notifier, id);
        }
        let deleted = Arc::clone(&self.deleted);
        tx.after_commit(move || deleted.notify());
        Ok(())
    }

    /// Deletes the endpoints that a request in progress has created for a removed team, and all deliveries without
    /// an endpoint. Returns the number of endpoints.
    pub(crate) async fn delete_of_team(&self, team: TeamId) -> Result<usize, StoreError> {
        let ids = self.context.store.read(move |tx| store::ids(tx, team)).await?;
        for id in &ids {
            self.delete(Actor::Server.in_team(team), *id).await?;
        }
        self.delete_all_orphans().await?;
        Ok(ids.len())
    }
}

/// Notifies the dispatcher after the commit and before the command returns, even if the caller has gone.
pub(super) fn notify_after_commit(tx: &WriteTx<'_>, notifier: &DispatchNotifier, webhook: WebhookId) {
    let notifier = notifier.clone();
    tx.after_commit(move || notifier.endpoint_changed(webhook));
}

/// Resets the health of an endpoint. Keeps the times of the last notices, which are sent at most once a day.
fn reset_health(tx: &WriteTx<'_>, team: TeamId, id: WebhookId) -> Result<(), StoreError> {
    let health = tx.get_valid(&WEBHOOK_HEALTH, &(team, id))?.unwrap_or_default();
    let HealthRow { failing_notified_ms, backlog_notified_ms, .. } = health;
    if failing_notified_ms.or(backlog_notified_ms).is_none() {
        return tx.delete(&WEBHOOK_HEALTH, &(team, id)).map(drop);
    }
    let health = HealthRow { failing_notified_ms, backlog_notified_ms, ..HealthRow::default() };
    tx.put(&WEBHOOK_HEALTH, &(team, id), &health)
}

/// Removes the failed attempts, which were made to a former URL.
fn forget_failed_attempts(tx: &WriteTx<'_>, team: TeamId, id: WebhookId) -> Result<(), StoreError> {
    let Some(health) = tx.get_valid(&WEBHOOK_HEALTH, &(team, id))? else { return Ok(()) };
    tx.put(&WEBHOOK_HEALTH, &(team, id), &HealthRow { failed_attempts: None, ..health })
}

/// Returns an entry about an endpoint. Only the host of its URL is stored, because the path can have a secret.
pub(super) fn entry(action: AuditAction, id: WebhookId, row: &WebhookRow) -> AuditEntry {
    AuditEntry::new(action).of(AuditTargetKind::Webhook, id).named(&audit_host(&row.endpoint))
}

/// Adds the fields that differ from those of `before`; all of them for a new endpoint.
fn fields(mut entry: AuditEntry, before: Option<&WebhookRow>, row: &WebhookRow) -> AuditEntry {
    if before.is_some_and(|before| before.endpoint != row.endpoint) {
        entry = entry.with("endpoint", audit_host(&row.endpoint));
    }
    if before.is_none_or(|before| before.subscription != row.subscription) {
        let types = match row.subscription {
            SubscribedEvents::All => vec!["*".to_owned()],
            SubscribedEvents::Named(types) => types.names().map(ToOwned::to_owned).collect(),
        };
        entry = entry.with("events", types);
    }
    if before.is_none_or(|before| before.status != row.status) {
        entry = entry.with("status", row.status.as_str());
    }
    entry
}

/// Returns the row after an update.
fn changed(row: WebhookRow, changes: &WebhookChanges) -> WebhookRow {
    let WebhookChanges { endpoint, subscription, status: change } = changes;
    let status = change.map_or(row.status, |change| change.applied_to(row.status));
    let is_enabled_again = status == WebhookStatus::Enabled && row.status != WebhookStatus::Enabled;
    WebhookRow {
        endpoint: endpoint.as_ref().map_or(row.endpoint, ToString::to_string),
        subscription: subscription.unwrap_or(row.subscription),
        status,
        activation: row.activation.wrapping_add(u32::from(is_enabled_again)),
        secret: row.secret,
        previous: row.previous,
    }
}
