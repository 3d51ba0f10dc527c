//! Names of the segment and the topic of a broadcast.

use std::collections::HashMap;

use crate::base::id::{SegmentId, TeamId, TopicId};
use crate::broadcast_rows::BroadcastRow;
use crate::http::ApiResult;
use crate::segments::Segments;
use crate::topics::Topics;

/// Reads each name once.
pub(super) struct TargetNames<'s> {
    team: TeamId,
    segments: &'s Segments,
    topics: &'s Topics,
    known_segments: HashMap<SegmentId, Option<String>>,
    known_topics: HashMap<TopicId, Option<String>>,
}

impl<'s> TargetNames<'s> {
    pub(super) fn new(team: TeamId, segments: &'s Segments, topics: &'s Topics) -> Self {
        Self { team, segments, topics, known_segments: HashMap::new(), known_topics: HashMap::new() }
    }

    /// Returns the names of the segment and the topic; `None` without one, and if it was deleted.
    pub(super) async fn of(&mut self, row: &BroadcastRow) -> ApiResult<(Option<String>, Option<String>)> {
        let segment = match row.segment {
            Some(id) => self.segment(id).await?,
            None => None,
        };
        let topic = match row.topic {
            Some(id) => self.topic(id).await?,
            None => None,
        };
        Ok((segment, topic))
    }

    async fn segment(&mut self, id: SegmentId) -> ApiResult<Option<String>> {
        if let Some(name) = self.known_segments.get(&id) {
            return Ok(name.clone());
        }
        let name = self.segments.find(self.team, id).await?.map(|segment| segment.name);
        self.known_segments.insert(id, name.clone());
        Ok(name)
    }

    async fn topic(&mut self, id: TopicId) -> ApiResult<Option<String>> {
        if let Some(name) = self.known_topics.get(&id) {
            return Ok(name.clone());
        }
        let name = self.topics.find(self.team, id).await?.map(|topic| topic.name);
        self.known_topics.insert(id, name.clone());
        Ok(name)
    }
}
