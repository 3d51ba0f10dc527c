//! Reversal of a topic opt-out by the recipient who has just made it.

use super::store::{self, TopicChoiceRow};
use super::write::{ContactWriter, WriteResult};
use crate::base::id::{ContactId, TeamId, TopicId};
use crate::context::Context;
use crate::events::{AudienceKind, ChangeSource, TopicSnapshot};
use crate::store::{Reads as _, StoreError, WriteTx};
use crate::tables::TOPIC_CHOICES;
use crate::topics::{self, Subscription, Topic};

/// Restores the choice that a contact had for a topic before it opted out. If `before` is `None`, the
/// choice is deleted and the topic's default applies again. Changes nothing if the stored choice is no
/// longer an opt-out.
pub fn undo_topic_opt_out(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    contact: ContactId,
    topic: TopicId,
    before: Option<Subscription>,
    source: ChangeSource,
) -> Result<WriteResult, StoreError> {
    let key = (team, contact, topic);
    let opted_out = tx.get(&TOPIC_CHOICES, &key)?.is_some_and(|choice| choice.subscription == Subscription::OptOut);
    let (true, Some(row)) = (opted_out, store::find(tx, team, contact)?) else { return Ok(WriteResult::Unchanged) };
    match before {
        Some(subscription) => tx.put(&TOPIC_CHOICES, &key, &TopicChoiceRow { subscription })?,
        None => {
            tx.delete(&TOPIC_CHOICES, &key)?;
        }
    }
    // A choice for a deleted topic emits no event.
    if let Some(Topic { name, default_subscription, .. }) = topics::find(tx, team, topic)?
        && Subscription::effective(before, default_subscription) == Subscription::OptIn
    {
        let (writer, snapshot) = (ContactWriter::new(tx, context, team, source), TopicSnapshot { id: topic, name });
        writer.record(AudienceKind::TopicOptIn, contact, &row, &mut None, Some(snapshot))?;
    }
    Ok(WriteResult::Changed)
}
