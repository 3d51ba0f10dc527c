//! `GET broadcasts`: the list of the API, with the progress of each broadcast.

use salvo::writing::Json;
use salvo::{Writer as _, handler};
use serde::Serialize;

use super::names::TargetNames;
use crate::api_keys::Caller;
use crate::base::clock::to_iso;
use crate::base::id::resource;
use crate::broadcast_rows::{BroadcastCounts, BroadcastRow};
use crate::broadcasts::{Broadcast, Broadcasts};
use crate::dashboard::api::reply::DataList;
use crate::http::{ApiResult, ListQuery, State};
use crate::segments::Segments;
use crate::topics::Topics;

#[derive(Serialize)]
pub(super) struct ListedBroadcast {
    id: String,
    name: String,
    subject: String,
    from: String,
    status: &'static str,
    segment_id: Option<String>,
    segment_name: Option<String>,
    topic_id: Option<String>,
    topic_name: Option<String>,
    created_at: String,
    scheduled_at: Option<String>,
    sent_at: Option<String>,
    finishes_at: Option<String>,
    /// Number of recipients when the broadcast was sent.
    audience: u64,
    counts: BroadcastCounts,
}

/// Lists broadcasts, newest first.
#[handler]
pub(super) async fn list_broadcasts(
    broadcasts: State<Broadcasts>,
    segments: State<Segments>,
    topics: State<Topics>,
    caller: Caller,
    query: ListQuery<resource::Broadcast>,
) -> ApiResult<Json<DataList<ListedBroadcast>>> {
    let page = broadcasts.list_with_counts(caller.team, query.0).await?;
    let mut names = TargetNames::new(caller.team, &segments, &topics);
    let mut data = Vec::with_capacity(page.rows.len());
    for broadcast in page.rows {
        let (segment_name, topic_name) = names.of(&broadcast.row).await?;
        data.push(ListedBroadcast::of(broadcast, segment_name, topic_name));
    }
    Ok(Json(DataList::new(data, page.has_more)))
}

impl ListedBroadcast {
    fn of(broadcast: Broadcast, segment_name: Option<String>, topic_name: Option<String>) -> Self {
        let Broadcast { id, row, counts, finishes_ms } = broadcast;
        let name = row.shown_name().to_owned();
        let BroadcastRow { subject, from, segment, topic, status, created_ms, scheduled_ms, sent_ms, audience, .. } =
            row;
        Self {
            id: id.to_string(),
            name,
            subject,
            from: from.to_string(),
            status: status.as_str(),
            segment_id: segment.map(|id| id.to_string()),
            segment_name,
            topic_id: topic.map(|id| id.to_string()),
            topic_name,
            created_at: to_iso(created_ms),
            scheduled_at: scheduled_ms.map(to_iso),
            sent_at: sent_ms.map(to_iso),
            finishes_at: finishes_ms.map(to_iso),
            audience,
            counts: counts.into(),
        }
    }
}
