//! Sending and cancellation of broadcasts.

use std::sync::Arc;

use super::audience::count_recipients;
use super::error::{CancelBroadcastError, SendBroadcastError};
use super::fan_out::{FanOutRow, stop_fan_out};
use super::guards::{ContentChecks, check, is_in_scope};
use super::planner::SendPlan;
use super::service::{Broadcasts, entry};
use crate::audit::{self, AuditAction};
use crate::base::clock::TimestampMs;
use crate::base::id::BroadcastId;
use crate::broadcast_rows::{self, BroadcastContent, BroadcastRow, BroadcastStatus, read_counts, value_names};
use crate::emails::Sender;
use crate::preferences::PairOrigin;
use crate::store::{ReadTx, StoreError};
use crate::tables::BROADCAST_FAN_OUTS;
use crate::usage;

impl Broadcasts {
    /// Sends a draft, or schedules it for `scheduled_ms`. Its segment, topic and content no longer change.
    ///
    /// The number of recipients of a large audience is an estimate.
    ///
    /// # Errors
    /// [`SendBroadcastError`]; the broadcast stays a draft.
    pub async fn send(
        &self,
        by: Sender,
        id: BroadcastId,
        scheduled_ms: Option<TimestampMs>,
    ) -> Result<SendPlan, SendBroadcastError> {
        loop {
            if let Some(plan) = self.try_send(by, id, scheduled_ms).await? {
                return Ok(plan);
            }
        }
    }

    /// Does the same as [`Broadcasts::send`]; `None` if another request has changed the draft meanwhile.
    async fn try_send(
        &self,
        by: Sender,
        id: BroadcastId,
        scheduled_ms: Option<TimestampMs>,
    ) -> Result<Option<SendPlan>, SendBroadcastError> {
        let team = by.team;
        let (draft, content) = self.read_draft(team, id).await?.ok_or(SendBroadcastError::NotFound)?;
        if draft.status != BroadcastStatus::Draft {
            return Err(SendBroadcastError::NotDraft(draft.status));
        }
        let checks = self.check_content(&content);
        let fields = value_names(&content, &draft.subject, draft.preview_text.as_deref());
        let audience = count_recipients(&self.context, &self.segments, team, draft.segment, draft.topic).await?;
        let now_ms = self.now_ms();
        let scheduled_ms = scheduled_ms.filter(|due| *due > now_ms);
        let due_ms = scheduled_ms.unwrap_or(now_ms);
        // Outside of the write transaction, because a plan reads many rows. The estimate regards no send at the same time.
        let estimates = self.estimates.clone();
        let plan = move |tx: &ReadTx| estimates.plan(tx, now_ms, due_ms, audience);
        let plan = self.context.store.read::<_, StoreError>(plan).await?;
        let (guard, notifier, context) = (Arc::clone(&self.guard), self.notifier.clone(), self.context.clone());
        self.context
            .store
            .write(move |tx| {
                let row = broadcast_rows::find(tx, team, id)?.ok_or(SendBroadcastError::NotFound)?;
                if row.status != BroadcastStatus::Draft {
                    return Err(SendBroadcastError::NotDraft(row.status));
                }
                if row.revision != draft.revision {
                    return Ok(None);
                }
                let domain = check(tx, by, &row, &checks, &*guard)?;
                let plan = plan.clone().map_err(|error| SendBroadcastError::TooLarge(error.days_max))?;
                let status = if scheduled_ms.is_some() { BroadcastStatus::Scheduled } else { BroadcastStatus::Queued };
                let row = BroadcastRow {
                    fields: fields.clone(),
                    status,
                    key: by.key,
                    domain: Some(domain),
                    scheduled_ms,
                    finishes_ms: plan.finishes_ms,
                    audience,
                    ..row
                };
                broadcast_rows::put(tx, team, id, &row)?;
                let fan_out = FanOutRow { is_scheduled: scheduled_ms.is_some(), ..FanOutRow::due(team, due_ms) };
                tx.put(&BROADCAST_FAN_OUTS, &(id,), &fan_out)?;
                usage::count_broadcast(tx, team, now_ms)?;
                let entry = entry(AuditAction::BroadcastSent, id, &row).with("recipients", audience);
                audit::record(tx, &context, by.actor.in_team(team), entry)?;
                let notifier = notifier.clone();
                tx.after_commit(move || notifier.notify());
                Ok(Some(plan))
            })
            .await
    }

    /// Plans a broadcast to this number of contacts that would start now. Stores nothing. Returns `None` if it is too large
    /// to be sent.
    pub async fn plan_now(&self, recipients: u64) -> Result<Option<SendPlan>, StoreError> {
        let (estimates, now_ms) = (self.estimates.clone(), self.now_ms());
        let plan = move |tx: &ReadTx| estimates.plan(tx, now_ms, now_ms, recipients);
        Ok(self.context.store.read::<_, StoreError>(plan).await?.ok())
    }

    /// Cancels a scheduled or queued broadcast. Emails whose delivery has started are still sent. Returns the number of
    /// emails that are not sent.
    pub async fn cancel(&self, by: Sender, id: BroadcastId) -> Result<u64, CancelBroadcastError> {
        let (team, context, notifier) = (by.team, self.context.clone(), self.notifier.clone());
        self.context
            .store
            .write(move |tx| {
                let row = broadcast_rows::find(tx, team, id)?.ok_or(CancelBroadcastError::NotFound)?;
                if !row.status.is_started() {
                    return Err(CancelBroadcastError::NotStarted);
                }
                if !is_in_scope(tx, by, &row.from)? {
                    return Err(CancelBroadcastError::KeyOfAnotherDomain);
                }
                let unsent = row.unsent(&read_counts(tx, id)?);
                let entry = entry(AuditAction::BroadcastCanceled, id, &row).with("unsent", unsent);
                audit::record(tx, &context, by.actor.in_team(team), entry)?;
                broadcast_rows::put(tx, team, id, &BroadcastRow { status: BroadcastStatus::Canceled, ..row })?;
                stop_fan_out(tx, team, id)?;
                let notifier = notifier.clone();
                tx.after_commit(move || notifier.notify());
                Ok(unsent)
            })
            .await
    }

    fn check_content(&self, content: &BroadcastContent) -> ContentChecks {
        let BroadcastContent { html, text, .. } = content;
        ContentChecks {
            link: self.links.check(html.as_deref(), text.as_deref(), PairOrigin::Generated),
            is_blank: [html, text].into_iter().flatten().all(|part| part.trim().is_empty()),
        }
    }
}
