//! An opt-out of a topic, taken back by whoever has just made it.

use super::store::{self, TopicChoiceRow};
use super::write::{ContactWriter, WriteResult};
use crate::base::id::{ContactId, TeamId, TopicId};
use crate::context::Context;
use crate::events::{AudienceKind, ChangeSource, TopicSnapshot};
use crate::store::{Reads as _, StoreError, WriteTx};
use crate::tables::TOPIC_CHOICES;
use crate::topics::{self, Subscription, Topic};

/// Puts what a contact chose about a topic back to what it was before it opted out: `before`, where
/// none stands for no choice, so that the topic's default holds again. An opt-out that does not stand
/// any more is none.
///
/// # Errors
/// [`StoreError`].
pub fn take_back_opt_out(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    contact: ContactId,
    topic: TopicId,
    before: Option<Subscription>,
    source: ChangeSource,
) -> Result<WriteResult, StoreError> {
    let key = (team, contact, topic);
    let stands = tx.get(&TOPIC_CHOICES, &key)?.is_some_and(|choice| choice.subscription == Subscription::OptOut);
    let (true, Some(row)) = (stands, store::find(tx, team, contact)?) else { return Ok(WriteResult::Unchanged) };
    match before {
        Some(subscription) => tx.put(&TOPIC_CHOICES, &key, &TopicChoiceRow { subscription })?,
        None => {
            tx.delete(&TOPIC_CHOICES, &key)?;
        }
    }
    // What is chosen about a topic that has been deleted is told to nobody.
    if let Some(Topic { name, default_subscription, .. }) = topics::find(tx, team, topic)?
        && Subscription::effective(before, default_subscription) == Subscription::OptIn
    {
        let (writer, told) = (ContactWriter::new(tx, context, team, source), TopicSnapshot { id: topic, name });
        writer.record(AudienceKind::TopicOptIn, contact, &row, &mut None, Some(told))?;
    }
    Ok(WriteResult::Changed)
}
