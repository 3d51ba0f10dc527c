//! Choices about topics that were deleted so long ago that no mail can ask for them any more.
//!
//! A choice lies with its contact, so that those about one topic are found by walking over all of the
//! team's. The walk is cut into reads and commits of a few milliseconds. Stopped in between, it begins
//! again: the note of the deletion goes last.

use std::collections::HashSet;
use std::sync::Arc;

use crate::base::id::{ContactId, Id, TeamId, TopicId};
use crate::context::Context;
use crate::store::{NEXT, Order, Reads, STOP, StoreError, WriteTx};
use crate::tables::TOPIC_CHOICES;
use crate::topics;

/// Deleted topics of one team that a walk looks for.
const TOPICS_MAX: usize = 1_000;
/// Bytes that a removed choice takes in a commit, about.
const CHOICE_BYTES: usize = 64;

/// How many rows are looked at in one read, and removed in one commit.
#[derive(Clone, Copy, Debug)]
struct Steps {
    read_rows: usize,
    commit_rows: usize,
}

/// Some milliseconds each.
const USUAL: Steps = Steps { read_rows: 10_000, commit_rows: 1_000 };

/// Removes the choices about topics that were deleted 40 days ago or earlier. It costs nothing while
/// there are none.
///
/// # Errors
/// [`StoreError`].
pub async fn purge_deleted_topic_choices(context: &Context) -> Result<(), StoreError> {
    forget_in(context, USUAL).await
}

async fn forget_in(context: &Context, steps: Steps) -> Result<(), StoreError> {
    let now_ms = context.now_ms();
    loop {
        let forgotten = context.store.read(move |tx| topics::expired(tx, now_ms, TOPICS_MAX)).await?;
        let Some((team, forgotten)) = forgotten else { return Ok(()) };
        remove_choices(context, team, forgotten.iter().map(|topic| topic.id).collect(), steps).await?;
        let forget = move |tx: &WriteTx<'_>| topics::delete_expired(tx, team, &forgotten);
        context.store.write_bulk::<_, StoreError>(forget).await?;
    }
}

/// The key of a choice, within its team.
type Choice = (ContactId, TopicId);

async fn remove_choices(
    context: &Context,
    team: TeamId,
    topics: HashSet<TopicId>,
    steps: Steps,
) -> Result<(), StoreError> {
    let topics = Arc::new(topics);
    let mut passed = None;
    loop {
        let sought = Arc::clone(&topics);
        let Looked { found, last } = context.store.read(move |tx| look(tx, team, &sought, passed, steps)).await?;
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
        passed = last;
    }
}

struct Looked {
    found: Vec<Choice>,
    /// The last choice that was looked at; none at the end.
    last: Option<Choice>,
}

fn look(
    tx: &impl Reads,
    team: TeamId,
    topics: &HashSet<TopicId>,
    passed: Option<Choice>,
    steps: Steps,
) -> Result<Looked, StoreError> {
    let (contact, topic) = passed.unwrap_or((Id::MIN, Id::MIN));
    let mut looked = Looked { found: Vec::new(), last: None };
    let mut rows = 0;
    let mut is_more = false;
    let (from, to) = ((team, contact, topic), (team, Id::MAX, Id::MAX));
    tx.scan(&TOPIC_CHOICES, &from, &to, Order::Ascending, |(_, contact, topic), _| {
        if passed == Some((contact, topic)) {
            return NEXT;
        }
        if rows == steps.read_rows || looked.found.len() == steps.commit_rows {
            is_more = true;
            return STOP;
        }
        rows += 1;
        looked.last = Some((contact, topic));
        if topics.contains(&topic) {
            looked.found.push((contact, topic));
        }
        NEXT
    })?;
    looked.last = looked.last.filter(|_| is_more);
    Ok(looked)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::contacts::TopicChoiceRow;
    use crate::store::ReadTx;
    use crate::tables::DELETED_TOPICS;
    use crate::topics::{NewTopic, Subscription, TopicName, Topics, Visibility};

    const TEAM: TeamId = Id::MIN;
    const OTHER: TeamId = Id::MAX;

    fn choices(context: &Context, of: TopicId) -> usize {
        let count = |tx: &ReadTx| {
            let mut count = 0;
            let (from, to) = ((Id::MIN, Id::MIN, Id::MIN), (Id::MAX, Id::MAX, Id::MAX));
            tx.scan(&TOPIC_CHOICES, &from, &to, Order::Ascending, |(_, _, topic), _| {
                count += usize::from(topic == of);
                NEXT
            })?;
            Ok::<_, StoreError>(count)
        };
        context.store.read_now(count).unwrap()
    }

    fn is_noted(context: &Context, team: TeamId, topic: TopicId) -> bool {
        context.store.read_now::<_, StoreError>(|tx| tx.contains(&DELETED_TOPICS, &(team, topic))).unwrap()
    }

    #[tokio::test]
    async fn choices_go_forty_days_after_their_topic_and_no_others() {
        let (_directory, context) = Context::temporary();
        let topics = Topics::new(context.clone());
        let topic = |team| {
            let new = NewTopic {
                name: TopicName::parse("News").unwrap(),
                description: None,
                default_subscription: Subscription::OptIn,
                visibility: Visibility::Private,
            };
            let made = topics.create(team, new);
            async move { made.await.unwrap().id }
        };
        let (gone, kept, later) = (topic(TEAM).await, topic(TEAM).await, topic(TEAM).await);
        let theirs = topic(OTHER).await;
        let contacts: Vec<ContactId> = (0..20).map(|_| context.id()).collect();
        let choose = move |tx: &WriteTx<'_>| {
            let row = TopicChoiceRow { subscription: Subscription::OptOut };
            for contact in &contacts {
                for (team, topic) in [(TEAM, gone), (TEAM, kept), (TEAM, later), (OTHER, theirs)] {
                    tx.put(&TOPIC_CHOICES, &(team, *contact, topic), &row)?;
                }
            }
            Ok::<_, StoreError>(())
        };
        context.store.write(choose).await.unwrap();
        topics.delete(TEAM, gone).await.unwrap();
        topics.delete(OTHER, theirs).await.unwrap();
        context.clock.advance(Duration::from_secs(24 * 60 * 60));
        topics.delete(TEAM, later).await.unwrap();
        let left = || [gone, kept, later, theirs].map(|topic| choices(&context, topic));

        context.clock.advance(Duration::from_secs(39 * 24 * 60 * 60));
        purge_deleted_topic_choices(&context).await.unwrap();
        assert_eq!(left(), [20; 4], "not a moment before");
        context.clock.advance(Duration::from_millis(1));
        forget_in(&context, Steps { read_rows: 7, commit_rows: 3 }).await.unwrap();

        assert_eq!(left(), [0, 20, 20, 0]);
        assert!(!is_noted(&context, TEAM, gone) && !is_noted(&context, OTHER, theirs));
        assert!(is_noted(&context, TEAM, later));
        context.clock.advance(Duration::from_secs(24 * 60 * 60));
        purge_deleted_topic_choices(&context).await.unwrap();
        assert_eq!(left(), [0, 20, 0, 0]);
    }

    #[tokio::test]
    async fn a_choice_that_is_made_while_others_are_forgotten_keeps_a_note() {
        const KEPT: Duration = Duration::from_secs(40 * 24 * 60 * 60);
        let (_directory, context) = Context::temporary();
        let topic: TopicId = context.id();
        let note = async |now_ms| {
            let note = move |tx: &WriteTx<'_>| topics::record_deleted(tx, TEAM, topic, now_ms);
            context.store.write::<_, StoreError>(note).await.unwrap();
        };
        note(context.now_ms()).await;
        context.clock.advance(KEPT);
        note(context.now_ms()).await;
        let now_ms = context.now_ms();
        assert_eq!(context.store.read_now(|tx| topics::expired(tx, now_ms, 10)).unwrap(), None, "it is still kept");
        context.clock.advance(Duration::from_millis(1));
        let now_ms = context.now_ms();
        let forgotten = context.store.read_now(|tx| topics::expired(tx, now_ms, 10)).unwrap();
        let (_, forgotten) = forgotten.expect("the first note counts");

        // The sweep has passed the place of this choice.
        note(now_ms).await;
        let forget = move |tx: &WriteTx<'_>| topics::delete_expired(tx, TEAM, &forgotten);
        context.store.write::<_, StoreError>(forget).await.unwrap();

        assert!(is_noted(&context, TEAM, topic));
        purge_deleted_topic_choices(&context).await.unwrap();
        assert!(is_noted(&context, TEAM, topic));
        context.clock.advance(KEPT + Duration::from_millis(1));
        purge_deleted_topic_choices(&context).await.unwrap();
        assert!(!is_noted(&context, TEAM, topic));
    }
}
