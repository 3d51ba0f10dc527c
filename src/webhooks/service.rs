//! The use cases of endpoints: add, show, change, replace the secret, remove.

use std::sync::Arc;

use super::dispatch::DispatchNotifier;
use super::error::{CreateWebhookError, RotateSecretError, UpdateWebhookError};
use super::model::{NewWebhook, Rotation, RotationResult, Webhook, WebhookChanges, WebhookStatus};
use super::removal;
use super::store::{self, HealthRow, PreviousSecretRow, WebhookRow};
use crate::base::id::{TeamId, WebhookId};
use crate::base::signature::WebhookSecret;
use crate::base::wakeup::Wakeup;
use crate::context::Context;
use crate::events;
use crate::http_client::UrlPolicy;
use crate::store::page::{Page, PageError, PageQuery, page};
use crate::store::{Reads as _, StoreError, WriteTx, skip_corrupt};
use crate::tables::{WEBHOOK_HEALTH, WEBHOOKS};

const HOUR_MS: i64 = 60 * 60 * 1_000;

/// The webhooks of the instance.
pub struct Webhooks {
    pub(super) context: Context,
    pub(super) notifier: DispatchNotifier,
    policy: UrlPolicy,
    /// Rung when an endpoint was deleted that has deliveries left.
    pub(super) deleted: Arc<Wakeup>,
}

impl Webhooks {
    /// Returns the webhooks of the instance that `context` belongs to. Changes ring `notifier`; `policy`
    /// says which URLs an endpoint may have.
    pub fn new(context: Context, notifier: DispatchNotifier, policy: UrlPolicy) -> Self {
        Self { context, notifier, policy, deleted: Arc::default() }
    }

    /// Returns what the dispatcher is woken by.
    pub fn notifier(&self) -> DispatchNotifier {
        self.notifier.clone()
    }

    /// Returns which URLs an endpoint may have.
    pub fn policy(&self) -> &UrlPolicy {
        &self.policy
    }

    /// Adds an endpoint, enabled; returns its id and the secret that signs.
    ///
    /// # Errors
    /// [`CreateWebhookError`].
    pub async fn create(
        &self,
        team: TeamId,
        new: NewWebhook,
    ) -> Result<(WebhookId, WebhookSecret), CreateWebhookError> {
        let NewWebhook { endpoint, subscription, secret } = new;
        let id: WebhookId = self.context.id();
        let secret = secret.unwrap_or_else(WebhookSecret::generate);
        let row = WebhookRow {
            endpoint: endpoint.to_string(),
            subscription,
            status: WebhookStatus::Enabled,
            activation: 0,
            secret: store::seal_secret(&self.context.keyring, id, secret.reveal()),
            previous: None,
        };
        let notifier = self.notifier.clone();
        self.context
            .store
            .write(move |tx| {
                if store::is_full(tx, team)? {
                    return Err(CreateWebhookError::TooMany);
                }
                tx.put(&WEBHOOKS, &(team, id), &row)?;
                events::subscribe(tx, team, (id, row.activation), row.subscription.types())?;
                notify_after_commit(tx, &notifier, id);
                Ok(())
            })
            .await?;
        Ok((id, secret))
    }

    /// Returns a page of the team's endpoints, newest first.
    ///
    /// # Errors
    /// [`PageError`].
    pub async fn list(&self, team: TeamId, query: PageQuery<WebhookId>) -> Result<Page<Webhook>, PageError> {
        let now_ms = self.context.now_ms();
        self.context
            .store
            .read(move |tx| page(tx, &WEBHOOKS, team, query, |id, row| Ok(Some(row.decode()?.webhook(id, now_ms)))))
            .await
    }

    /// Returns the team's endpoint of that id, and the secret that signs.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn find(&self, team: TeamId, id: WebhookId) -> Result<Option<(Webhook, WebhookSecret)>, StoreError> {
        let (keyring, now_ms) = (self.context.keyring.clone(), self.context.now_ms());
        self.context
            .store
            .read(move |tx| {
                let Some(row) = store::find(tx, team, id)? else { return Ok(None) };
                let secret = store::open_secret(&keyring, id, &row.secret)?;
                let secret = WebhookSecret::parse(&secret)
                    .ok_or_else(|| StoreError::Corrupt(format!("the secret of webhook {id} is none")))?;
                Ok(Some((row.webhook(id, now_ms), secret)))
            })
            .await
    }

    /// Changes an endpoint. What waits for one that is disabled is never delivered, and one that is
    /// enabled again begins anew.
    ///
    /// # Errors
    /// [`UpdateWebhookError`].
    pub async fn update(&self, team: TeamId, id: WebhookId, changes: WebhookChanges) -> Result<(), UpdateWebhookError> {
        let notifier = self.notifier.clone();
        self.context
            .store
            .write(move |tx| {
                let before = store::find(tx, team, id)?.ok_or(UpdateWebhookError::NotFound)?;
                let row = changed(before.clone(), &changes);
                if row == before {
                    return Ok(());
                }
                tx.put(&WEBHOOKS, &(team, id), &row)?;
                let is_enabled = row.status == WebhookStatus::Enabled;
                if is_enabled && before.status != WebhookStatus::Enabled {
                    reset_health(tx, team, id)?;
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

    /// Replaces the secret of an endpoint. The one before signs beside it for the overlap, and a
    /// secret that was still signing beside that one stops: rotations that race each other chain.
    ///
    /// # Errors
    /// [`RotateSecretError`].
    pub async fn rotate(
        &self,
        team: TeamId,
        id: WebhookId,
        rotation: Rotation,
    ) -> Result<RotationResult, RotateSecretError> {
        let Rotation { overlap_hours, secret } = rotation;
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
                notify_after_commit(tx, &notifier, id);
                Ok::<_, RotateSecretError>(())
            })
            .await?;
        Ok(RotationResult { secret, previous_expires_ms })
    }

    /// Removes an endpoint; returns whether there was one. Its deliveries are gone for every reader at
    /// once, and those beyond what one commit removes from the file soon after.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn delete(&self, team: TeamId, id: WebhookId) -> Result<bool, StoreError> {
        let (notifier, deleted) = (self.notifier.clone(), Arc::clone(&self.deleted));
        self.context
            .store
            .write(move |tx| {
                if !tx.delete(&WEBHOOKS, &(team, id))? {
                    return Ok(false);
                }
                tx.delete(&WEBHOOK_HEALTH, &(team, id))?;
                events::unsubscribe(tx, team, id)?;
                if removal::remove_rows(tx, team, id)? {
                    let deleted = Arc::clone(&deleted);
                    tx.after_commit(move || deleted.notify());
                }
                notify_after_commit(tx, &notifier, id);
                Ok(true)
            })
            .await
    }
}

/// Rings once the transaction is durable and before its command is answered, whether or not its
/// caller still waits.
pub(super) fn notify_after_commit(tx: &WriteTx<'_>, notifier: &DispatchNotifier, webhook: WebhookId) {
    let notifier = notifier.clone();
    tx.after_commit(move || notifier.endpoint_changed(webhook));
}

/// Forgets how an endpoint fared, but not when its owners were told of it: that stays once a day.
fn reset_health(tx: &WriteTx<'_>, team: TeamId, id: WebhookId) -> Result<(), StoreError> {
    let health = skip_corrupt(tx.get(&WEBHOOK_HEALTH, &(team, id)), format_args!("how webhook {id} fares"))?;
    let HealthRow { failing_notified_ms: told_failing_ms, backlog_notified_ms: told_backlog_ms, .. } =
        health.flatten().unwrap_or_default();
    if told_failing_ms.or(told_backlog_ms).is_none() {
        return tx.delete(&WEBHOOK_HEALTH, &(team, id)).map(drop);
    }
    tx.put(
        &WEBHOOK_HEALTH,
        &(team, id),
        &HealthRow {
            failing_notified_ms: told_failing_ms,
            backlog_notified_ms: told_backlog_ms,
            ..HealthRow::default()
        },
    )
}

/// Applies an update to a row.
fn changed(row: WebhookRow, changes: &WebhookChanges) -> WebhookRow {
    let WebhookChanges { endpoint, subscription, switch } = changes;
    let status = switch.map_or(row.status, |switch| switch.applied_to(row.status));
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
