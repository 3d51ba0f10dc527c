//! Retention of topic choices: deletes choices for topics that were deleted 40 days ago or earlier. No
//! email that was accepted under such a topic is still queued.
//!
//! The key of a choice starts with its contact. The choices for a topic are therefore found by a scan of all choices of
//! the team. The scan is split into reads and commits of a few milliseconds. The row of the deleted topic is removed
//! last, so an interrupted scan starts again.

use std::collections::HashSet;
use std::sync::Arc;

use crate::base::id::{ContactId, Id, TeamId, TopicId};
use crate::context::Context;
use crate::store::{NEXT, Order, Reads, STOP, StoreError, WriteTx};
use crate::tables::TOPIC_CHOICES;
use crate::topics;

/// Maximum number of deleted topics of one team in one scan.
const TOPICS_MAX: usize = 1_000;
/// Estimated bytes of a deleted choice in a commit.
const CHOICE_BYTES: usize = 64;

/// Maximum number of rows that one read scans, and that one commit deletes.
#[derive(Clone, Copy, Debug)]
struct Steps {
    read_rows: usize,
    commit_rows: usize,
}

/// Steps of some milliseconds each.
const DEFAULT_STEPS: Steps = Steps { read_rows: 10_000, commit_rows: 1_000 };

/// Deletes the choices for topics that were deleted 40 days ago or earlier. Costs one read if there are
/// no such topics.
pub async fn purge_deleted_topic_choices(context: &Context) -> Result<(), StoreError> {
    purge_in(context, DEFAULT_STEPS).await
}

async fn purge_in(context: &Context, steps: Steps) -> Result<(), StoreError> {
    let now_ms = context.now_ms();
    loop {
        let expired = context.store.read(move |tx| topics::expired(tx, now_ms, TOPICS_MAX)).await?;
        let Some((team, expired)) = expired else { return Ok(()) };
        remove_choices(context, team, expired.iter().map(|topic| topic.id).collect(), steps).await?;
        let delete = move |tx: &WriteTx<'_>| topics::delete_expired(tx, team, &expired);
        context.store.write_bulk::<_, StoreError>(delete).await?;
    }
}

/// Key of a choice within its team.
type ChoiceKey = (ContactId, TopicId);

async fn remove_choices(
    context: &Context,
    team: TeamId,
    topics: HashSet<TopicId>,
    steps: Steps,
) -> Result<(), StoreError> {
    let topics = Arc::new(topics);
    let mut after = None;
    loop {
        let topics = Arc::clone(&topics);
        let ScannedChoices { found, last } =
            context.store.read(move |tx| scan_choices(tx, team, &topics, after, steps)).await?;
        if !found.is_empty() {
            let remove = move |tx: &WriteTx<'_>| {
                found
                    .iter()
                    .try_for_each(|(contact, topic)| tx.delete(&TOPIC_CHOICES, &(team, *contact, *topic)).map(|_| ()))
            };
            context.store.write_bulk_sized::<_, StoreError>(steps.commit_rows * CHOICE_BYTES, remove).await?;
        }
        if last.is_none() {
            return Ok(());
        }
        after = last;
    }
}

struct ScannedChoices {
    /// Choices for the deleted topics.
    found: Vec<ChoiceKey>,
    /// The last scanned choice; `None` if the scan reached the end.
    last: Option<ChoiceKey>,
}

/// Scans the choices of a team that follow `after`.
fn scan_choices(
    tx: &impl Reads,
    team: TeamId,
    topics: &HashSet<TopicId>,
    after: Option<ChoiceKey>,
    steps: Steps,
) -> Result<ScannedChoices, StoreError> {
    let (contact, topic) = after.unwrap_or((Id::MIN, Id::MIN));
    let mut scanned = ScannedChoices { found: Vec::new(), last: None };
    let mut rows = 0;
    let mut has_more = false;
    let (from, to) = ((team, contact, topic), (team, Id::MAX, Id::MAX));
    tx.scan(&TOPIC_CHOICES, &from, &to, Order::Ascending, |(_, contact, topic), _| {
        if after == Some((contact, topic)) {
            return NEXT;
        }
        if rows == steps.read_rows || scanned.found.len() == steps.commit_rows {
            has_more = true;
            return STOP;
        }
        rows += 1;
        scanned.last = Some((contact, topic));
        if topics.contains(&topic) {
            scanned.found.push((contact, topic));
        }
        NEXT
    })?;
    scanned.last = scanned.last.filter(|_| has_more);
    Ok(scanned)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::contacts::TopicChoiceRow;
    use crate::tables::DELETED_TOPICS;
    use crate::topics::{NewTopic, Subscription, TopicName, TopicVisibility, Topics};

    const TEAM: TeamId = Id::MIN;
    const OTHER: TeamId = Id::MAX;

    fn count_choices(context: &Context, counted: TopicId) -> usize {
        context.keys(&TOPIC_CHOICES).iter().filter(|(_, _, topic)| *topic == counted).count()
    }

    fn has_deletion_row(context: &Context, team: TeamId, topic: TopicId) -> bool {
        context.read(|tx| tx.contains(&DELETED_TOPICS, &(team, topic)))
    }

    #[tokio::test]
    async fn choices_are_deleted_forty_days_after_their_topic() {
        let (_directory, context) = Context::temporary();
        let topics = Topics::new(context.clone(), |_, _, _| Ok(false));
        let create_topic = |team| {
            let new = NewTopic {
                name: TopicName::parse("News").unwrap(),
                description: None,
                default_subscription: Subscription::OptIn,
                visibility: TopicVisibility::Private,
            };
            let created = topics.create(team, new);
            async move { created.await.unwrap().id }
        };
        let (deleted, live) = (create_topic(TEAM).await, create_topic(TEAM).await);
        let (deleted_later, other_team) = (create_topic(TEAM).await, create_topic(OTHER).await);
        let contacts: Vec<ContactId> = (0..20).map(|_| context.id()).collect();
        let choose = move |tx: &WriteTx<'_>| {
            let row = TopicChoiceRow { subscription: Subscription::OptOut };
            for contact in &contacts {
                for (team, topic) in [(TEAM, deleted), (TEAM, live), (TEAM, deleted_later), (OTHER, other_team)] {
                    tx.put(&TOPIC_CHOICES, &(team, *contact, topic), &row)?;
                }
            }
            Ok(())
        };
        context.commit(choose).await;
        topics.delete(TEAM, deleted).await.unwrap();
        topics.delete(OTHER, other_team).await.unwrap();
        context.clock.advance(Duration::from_secs(24 * 60 * 60));
        topics.delete(TEAM, deleted_later).await.unwrap();
        let counts = || [deleted, live, deleted_later, other_team].map(|topic| count_choices(&context, topic));

        context.clock.advance(Duration::from_secs(39 * 24 * 60 * 60));
        purge_deleted_topic_choices(&context).await.unwrap();
        assert_eq!(counts(), [20; 4], "40 days have not passed completely");
        context.clock.advance(Duration::from_millis(1));
        purge_in(&context, Steps { read_rows: 7, commit_rows: 3 }).await.unwrap();

        assert_eq!(counts(), [0, 20, 20, 0]);
        assert!(!has_deletion_row(&context, TEAM, deleted) && !has_deletion_row(&context, OTHER, other_team));
        assert!(has_deletion_row(&context, TEAM, deleted_later));
        context.clock.advance(Duration::from_secs(24 * 60 * 60));
        purge_deleted_topic_choices(&context).await.unwrap();
        assert_eq!(counts(), [0, 20, 0, 0]);
    }

    #[tokio::test]
    async fn a_choice_during_a_purge_keeps_the_row_of_the_deleted_topic() {
        const RETENTION: Duration = Duration::from_secs(40 * 24 * 60 * 60);
        let (_directory, context) = Context::temporary();
        let topic: TopicId = context.id();
        let note = async |now_ms| context.commit(move |tx| topics::record_deleted(tx, TEAM, topic, now_ms)).await;
        note(context.now_ms()).await;
        context.clock.advance(RETENTION);
        note(context.now_ms()).await;
        let now_ms = context.now_ms();
        assert_eq!(context.read(|tx| topics::expired(tx, now_ms, 10)), None, "40 days have not passed");
        context.clock.advance(Duration::from_millis(1));
        let now_ms = context.now_ms();
        let expired = context.read(|tx| topics::expired(tx, now_ms, 10));
        let (_, expired) = expired.expect("the second note does not extend the first");

        // A contact makes a choice for the topic after the scan has passed the key of the choice.
        note(now_ms).await;
        context.commit(move |tx| topics::delete_expired(tx, TEAM, &expired)).await;

        assert!(has_deletion_row(&context, TEAM, topic));
        purge_deleted_topic_choices(&context).await.unwrap();
        assert!(has_deletion_row(&context, TEAM, topic));
        context.clock.advance(RETENTION + Duration::from_millis(1));
        purge_deleted_topic_choices(&context).await.unwrap();
        assert!(!has_deletion_row(&context, TEAM, topic));
    }
}
