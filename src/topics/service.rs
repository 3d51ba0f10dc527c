//! The use cases: create, show, change and delete topics.

use super::model::{NewTopic, TOPICS_MAX, Topic, TopicChanges, TopicName};
use super::store::{self, TopicRow};
use crate::base::id::{TeamId, TopicId};
use crate::base::patch::Patch;
use crate::context::Context;
use crate::store::page::{Page, PageError, PageQuery, is_full, page};
use crate::store::{Reads as _, StoreError, WriteTx, from_store_error};
use crate::tables::TOPICS;

/// Error of creating a topic.
#[derive(Debug)]
pub enum CreateTopicError {
    /// The team has [`TOPICS_MAX`] topics.
    TooMany,
    /// The store failed.
    Store(StoreError),
}

/// Error of changing a topic.
#[derive(Debug)]
pub enum UpdateTopicError {
    /// The team has no topic of that id.
    NotFound,
    /// The store failed.
    Store(StoreError),
}

/// Error of deleting a topic.
#[derive(Debug)]
pub enum DeleteTopicError {
    /// The team has no topic of that id.
    NotFound,
    /// A broadcast is sent under the topic. Without the topic, it would reach contacts who opted out.
    InUse,
    /// The store failed.
    Store(StoreError),
}

/// Returns whether a broadcast that is not sent yet uses a topic.
pub type TopicInUse = fn(&WriteTx<'_>, TeamId, TopicId) -> Result<bool, StoreError>;

from_store_error!(CreateTopicError, UpdateTopicError, DeleteTopicError);

/// The topics of all teams.
pub struct Topics {
    context: Context,
    in_use: TopicInUse,
}

impl Topics {
    /// Returns the topics in the store of `context`. `in_use` returns whether a broadcast uses a topic: `broadcasts` reads
    /// topics, so that this module cannot call it.
    pub fn new(context: Context, in_use: TopicInUse) -> Self {
        Self { context, in_use }
    }

    /// Creates a topic.
    pub async fn create(&self, team: TeamId, new: NewTopic) -> Result<Topic, CreateTopicError> {
        let NewTopic { name, description, default_subscription, visibility } = new;
        let (name, description) = (name.into_string(), description.map(|description| description.into_string()));
        let ids = self.context.ids.clone();
        self.context
            .store
            .write(move |tx| {
                if is_full(tx, &TOPICS, team, TOPICS_MAX)? {
                    return Err(CreateTopicError::TooMany);
                }
                let id: TopicId = ids.draw();
                let (name, description, created_ms) = (name.clone(), description.clone(), id.created_ms());
                let row = TopicRow { name, description, default_subscription, visibility, created_ms };
                tx.put(&TOPICS, &(team, id), &row)?;
                Ok(row.topic(id))
            })
            .await
    }

    /// Returns a page of the team's topics, newest first.
    pub async fn list(&self, team: TeamId, query: PageQuery<TopicId>) -> Result<Page<Topic>, PageError> {
        self.context.store.read(move |tx| page(tx, &TOPICS, team, query, |id, row| Ok(Some(row.topic(id))))).await
    }

    /// Returns the team's topic of that id.
    pub async fn find(&self, team: TeamId, id: TopicId) -> Result<Option<Topic>, StoreError> {
        self.context.store.read(move |tx| store::find(tx, team, id)).await
    }

    /// Changes a topic and returns the changed topic.
    pub async fn update(&self, team: TeamId, id: TopicId, changes: TopicChanges) -> Result<Topic, UpdateTopicError> {
        self.context
            .store
            .write(move |tx| {
                let before = tx.get(&TOPICS, &(team, id))?.ok_or(UpdateTopicError::NotFound)?;
                let row = changed(before.clone(), &changes);
                if row != before {
                    tx.put(&TOPICS, &(team, id), &row)?;
                }
                Ok(row.topic(id))
            })
            .await
    }

    /// Deletes a topic. The choices of contacts remain for emails accepted under the topic, and the
    /// unsubscribe links of those emails still work. No later topic gets the same id.
    pub async fn delete(&self, team: TeamId, id: TopicId) -> Result<(), DeleteTopicError> {
        let (now_ms, in_use) = (self.context.now_ms(), self.in_use);
        self.context
            .store
            .write(move |tx| {
                if !tx.contains(&TOPICS, &(team, id))? {
                    return Err(DeleteTopicError::NotFound);
                }
                if in_use(tx, team, id)? {
                    return Err(DeleteTopicError::InUse);
                }
                tx.delete_listed(&TOPICS, &(team, id), now_ms)?;
                Ok(store::record_deleted(tx, team, id, now_ms)?)
            })
            .await
    }
}

/// Applies an update to a row.
fn changed(row: TopicRow, changes: &TopicChanges) -> TopicRow {
    let TopicChanges { name, description, visibility } = changes;
    TopicRow {
        name: name.clone().map_or(row.name, TopicName::into_string),
        description: match description {
            Patch::Keep => row.description,
            Patch::Clear => None,
            Patch::Set(description) => Some(description.as_str().to_owned()),
        },
        default_subscription: row.default_subscription,
        visibility: visibility.unwrap_or(row.visibility),
        created_ms: row.created_ms,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Id;
    use crate::store::page::Cursor;
    use crate::topics::{Subscription, TopicDescription, TopicVisibility, all, find_for_send};

    const TEAM: TeamId = Id::MIN;
    const OTHER: TeamId = Id::MAX;

    fn new_topic(name: &str) -> NewTopic {
        NewTopic {
            name: TopicName::parse(name).unwrap(),
            description: None,
            default_subscription: Subscription::OptOut,
            visibility: TopicVisibility::Private,
        }
    }

    #[test]
    fn an_update_changes_only_the_given_fields() {
        let row = TopicRow {
            name: "News".into(),
            description: Some("Monthly.".into()),
            default_subscription: Subscription::OptIn,
            visibility: TopicVisibility::Private,
            created_ms: 1,
        };
        let keep = TopicChanges::default();
        for (changes, expected) in [
            (keep.clone(), row.clone()),
            (
                TopicChanges { name: TopicName::parse("Offers"), ..keep.clone() },
                TopicRow { name: "Offers".into(), ..row.clone() },
            ),
            (TopicChanges { description: Patch::Clear, ..keep.clone() }, TopicRow { description: None, ..row.clone() }),
            (
                TopicChanges { description: Patch::Set(TopicDescription::parse("Weekly.").unwrap()), ..keep.clone() },
                TopicRow { description: Some("Weekly.".into()), ..row.clone() },
            ),
            (
                TopicChanges { visibility: Some(TopicVisibility::Public), ..keep },
                TopicRow { visibility: TopicVisibility::Public, ..row.clone() },
            ),
        ] {
            assert_eq!(changed(row.clone(), &changes), expected, "{changes:?}");
        }
    }

    #[tokio::test]
    async fn topics_are_read_back_as_stored() {
        let (_directory, context) = Context::temporary();
        let topics = Topics::new(context.clone(), |_, _, _| Ok(false));
        let first = topics.create(TEAM, new_topic("First")).await.unwrap();
        let second = topics.create(TEAM, new_topic("Second")).await.unwrap();
        let foreign = topics.create(OTHER, new_topic("Other")).await.unwrap();

        context.read(|tx| {
            assert_eq!(all(tx, TEAM)?, [second.clone(), first.clone()]);
            assert_eq!(find_for_send(tx, TEAM, first.id)?, Some(first.for_send()));
            assert_eq!(find_for_send(tx, TEAM, foreign.id)?, None);
            Ok(())
        });
    }

    #[tokio::test]
    async fn a_team_has_at_most_500_topics_whatever_other_teams_have() {
        let (_directory, context) = Context::temporary();
        let topics = Topics::new(context.clone(), |_, _, _| Ok(false));
        let last = topics.create(TEAM, new_topic("Last")).await.unwrap();
        let row = TopicRow {
            name: "Filler".into(),
            description: None,
            default_subscription: Subscription::OptIn,
            visibility: TopicVisibility::Public,
            created_ms: 1,
        };
        let ids: Vec<TopicId> = (1..TOPICS_MAX).map(|_| context.id()).collect();
        context.commit(move |tx| ids.iter().try_for_each(|id| tx.put(&TOPICS, &(TEAM, *id), &row))).await;

        let refused = topics.create(TEAM, new_topic("One more")).await;
        assert!(matches!(refused, Err(CreateTopicError::TooMany)), "{refused:?}");
        topics.create(OTHER, new_topic("Theirs")).await.unwrap();
        topics.delete(TEAM, last.id).await.unwrap();
        topics.create(TEAM, new_topic("One more")).await.unwrap();
    }

    #[tokio::test]
    async fn a_corrupt_topic_is_skipped_and_the_others_are_listed() {
        let (_directory, context) = Context::temporary();
        let topics = Topics::new(context.clone(), |_, _, _| Ok(false));
        let [first, corrupt, last] = ["News", "Offers", "Product"].map(new_topic).map(|new| topics.create(TEAM, new));
        let (first, corrupt, last) = (first.await.unwrap(), corrupt.await.unwrap(), last.await.unwrap());
        context.corrupt(&TOPICS, (TEAM, corrupt.id)).await;

        let page = topics.list(TEAM, PageQuery { limit: 10, cursor: Cursor::Newest }).await.unwrap();

        assert_eq!(page.rows, [last, first]);
    }
}
