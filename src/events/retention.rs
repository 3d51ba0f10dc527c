//! Deletion of old audience events and event messages. The events of an email are deleted with its row.

use crate::base::clock::TimestampMs;
use crate::base::id::{EventId, Id, TeamId};
use crate::context::Context;
use crate::store::{StoreError, WriteTx};
use crate::tables::{AUDIENCE_EVENTS, EVENT_MESSAGES};
use crate::teams;

/// Rows deleted in one transaction.
const PAGE_ROWS: usize = 1_000;

/// Deletes the audience events recorded before `before_ms`. The cost grows with the number of deleted rows.
pub async fn purge_audience(context: &Context, before_ms: TimestampMs) -> Result<(), StoreError> {
    for team in context.store.read::<_, StoreError>(teams::list).await? {
        purge(context, team.id, EventId::first_at(before_ms)).await?;
    }
    Ok(())
}

/// Deletes the event messages of the team before `until`, excluding `until`. The cost grows with the number of
/// deleted rows.
pub async fn purge_messages(context: &Context, team: TeamId, until: EventId) -> Result<(), StoreError> {
    let Some(last) = u128::from_be_bytes(*until.as_bytes()).checked_sub(1) else { return Ok(()) };
    let last = EventId::from_bytes(last.to_be_bytes());
    let remove = move |tx: &WriteTx<'_>| tx.delete_range(&EVENT_MESSAGES, &(team, Id::MIN), &(team, last), PAGE_ROWS);
    while context.store.write_bulk::<_, StoreError>(remove).await? == PAGE_ROWS {}
    Ok(())
}

/// Deletes the audience events of a team up to `until`, which is the lowest id of a millisecond and never generated.
async fn purge(context: &Context, team: TeamId, until: EventId) -> Result<(), StoreError> {
    let remove = move |tx: &WriteTx<'_>| tx.delete_range(&AUDIENCE_EVENTS, &(team, Id::MIN), &(team, until), PAGE_ROWS);
    while context.store.write_bulk::<_, StoreError>(remove).await? == PAGE_ROWS {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::events::{AudienceEvent, AudienceKind, AudienceSubject, SuppressionSnapshot, record_audience};

    const TEAM: TeamId = Id::MIN;

    #[tokio::test]
    async fn only_older_events_are_deleted() {
        let (_directory, context) = Context::temporary();
        let entry = SuppressionSnapshot {
            id: Id::MIN,
            email: "ada@example.com".into(),
            origin: "manual".into(),
            source: None,
            created_ms: 0,
        };
        let event = AudienceEvent {
            kind: AudienceKind::SuppressionAdded,
            at_ms: context.now_ms(),
            subject: AudienceSubject::Suppression(entry),
        };
        let record = |count: usize| {
            let (context, event) = (context.clone(), event.clone());
            move |tx: &crate::store::WriteTx<'_>| {
                (0..count).try_for_each(|_| record_audience(tx, &context, TEAM, &event))
            }
        };
        context.commit(record(PAGE_ROWS + 5)).await;
        context.clock.advance(Duration::from_secs(60));
        let cutoff_ms = context.now_ms();
        context.commit(record(3)).await;

        purge(&context, TEAM, EventId::first_at(cutoff_ms)).await.unwrap();

        assert_eq!(context.keys(&AUDIENCE_EVENTS).len(), 3);
    }
}
