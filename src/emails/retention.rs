//! How long emails are kept: their content first, their rows later.
//!
//! Both sweeps walk from the old end of a table that they shorten, so that a sweep costs what it
//! removes, whatever else is stored.

use super::store::{EmailRow, delete_content};
use crate::clock::{DAY_MS, TimestampMs};
use crate::context::Context;
use crate::delivery::capture;
use crate::emails::store::DeliveryState;
use crate::id::{EmailId, Id, TeamId};
use crate::store::tables::{ATTEMPTS, EMAIL_BODIES, EMAILS, EVENTS};
use crate::store::{NEXT, Order, Reads, STOP, StoreError, WriteTx};
use crate::teams;

/// Emails looked at in one transaction.
const PAGE_ROWS: usize = 200;

/// How long emails are kept.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// Days the content and the attachments are kept.
    pub content_days: u32,
    /// Days the rows, timelines and conversations are kept; never fewer than the content.
    pub email_days: u32,
}

impl Retention {
    /// Removes what has outlived its time. What still waits for delivery keeps its content.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn apply(self, context: &Context) -> Result<(), StoreError> {
        let now = context.now_ms();
        let before = |days: u32| now - i64::from(days) * DAY_MS;
        let teams = context.store.read::<_, StoreError>(teams::list).await?;
        let teams: Vec<TeamId> = teams.into_iter().map(|team| team.id).collect();
        purge_content(context, &teams, before(self.content_days)).await?;
        for team in teams {
            purge_rows(context, team, before(self.email_days)).await?;
        }
        capture::purge(context, before(self.content_days)).await
    }
}

async fn purge_content(context: &Context, teams: &[TeamId], before: TimestampMs) -> Result<(), StoreError> {
    let until = EmailId::first_at(before);
    let mut after = EmailId::MIN;
    loop {
        let teams = teams.to_vec();
        let last = context
            .store
            .write_bulk::<_, StoreError>(move |tx| {
                let page = content_page(tx, after, until)?;
                for id in &page {
                    if !is_under_way(tx, &teams, *id)? {
                        delete_content(tx, *id)?;
                    }
                }
                Ok(page.last().copied())
            })
            .await?;
        match last {
            Some(last) => after = last,
            None => return Ok(()),
        }
    }
}

/// Returns the emails after `after` and before `until` that have content.
fn content_page(tx: &impl Reads, after: EmailId, until: EmailId) -> Result<Vec<EmailId>, StoreError> {
    let mut page: Vec<EmailId> = Vec::with_capacity(PAGE_ROWS);
    tx.scan(&EMAIL_BODIES, &(after, u32::MAX), &(until, 0), Order::Ascending, |(id, _), _| {
        if page.last() != Some(&id) {
            if page.len() == PAGE_ROWS {
                return STOP;
            }
            page.push(id);
        }
        NEXT
    })?;
    Ok(page)
}

fn is_under_way(tx: &impl Reads, teams: &[TeamId], id: EmailId) -> Result<bool, StoreError> {
    for team in teams {
        if let Some(row) = tx.get(&EMAILS, &(*team, id))? {
            return Ok(!is_settled(&row));
        }
    }
    Ok(false)
}

fn is_settled(row: &EmailRow) -> bool {
    row.recipients.iter().all(|recipient| recipient.state == DeliveryState::Settled)
}

async fn purge_rows(context: &Context, team: TeamId, before: TimestampMs) -> Result<(), StoreError> {
    let until = EmailId::first_at(before);
    let mut after = EmailId::MIN;
    loop {
        let last = context
            .store
            .write_bulk::<_, StoreError>(move |tx| {
                let mut page = Vec::with_capacity(PAGE_ROWS);
                tx.scan(&EMAILS, &(team, after), &(team, until), Order::Ascending, |(_, id), row| {
                    if id > after {
                        page.push((id, row.decode()?));
                    }
                    if page.len() == PAGE_ROWS { STOP } else { NEXT }
                })?;
                for (id, row) in &page {
                    if is_settled(row) {
                        delete_email(tx, team, *id)?;
                    }
                }
                Ok(page.last().map(|(id, _)| *id))
            })
            .await?;
        match last {
            Some(last) => after = last,
            None => return Ok(()),
        }
    }
}

fn delete_email(tx: &WriteTx<'_>, team: TeamId, id: EmailId) -> Result<(), StoreError> {
    delete_content(tx, id)?;
    tx.delete_range(&EVENTS, &(id, Id::MIN), &(id, Id::MAX), usize::MAX)?;
    tx.delete_range(&ATTEMPTS, &(id, Id::MIN), &(id, Id::MAX), usize::MAX)?;
    tx.delete(&EMAILS, &(team, id))?;
    Ok(())
}
