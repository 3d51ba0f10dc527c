//! The places of webhooks: what they deliver of events, and what endpoints answered. Bodies come before
//! answers, so that nobody answers what a body said.

use super::places::{Page, Progress, ROWS_MAX};
use super::store::{ErasureRow, LogSpan, Stage, Target};
use crate::events::{self, MessageReach};
use crate::id::{EventId, Id};
use crate::store::{Reads, StoreError, WriteTx};
use crate::webhooks::{self, DeliveryPlace};

/// Reads a page of what webhooks deliver.
pub(super) fn messages(
    tx: &impl Reads,
    row: &ErasureRow,
    target: &Target,
    after: EventId,
) -> Result<Page<EventId>, StoreError> {
    let until = if is_late(row) { Id::MAX } else { target.until() };
    let reach = |id| reach(row, target, id);
    let (hits, next) = events::message_page(tx, target.team, (after, until), reach, ROWS_MAX)?;
    Ok(Page { hits, next })
}

/// Takes the addresses out of it.
pub(super) fn erase_messages(
    tx: &WriteTx<'_>,
    row: &mut ErasureRow,
    target: &Target,
    page: &Page<EventId>,
) -> Result<Progress, StoreError> {
    for id in &page.hits {
        events::erase_message(tx, target.team, *id, &reach(row, target, *id))?;
    }
    row.stage = match (page.next, is_late(row)) {
        (Some(after), false) => Stage::Messages { after },
        (Some(after), true) => Stage::LateMessages { after },
        (None, false) => Stage::Deliveries { after: (Id::MIN, Id::MIN) },
        (None, true) => Stage::LateDeliveries { after: (Id::MIN, Id::MIN) },
    };
    Ok(Progress::More)
}

/// Reads a page of deliveries.
pub(super) fn deliveries(
    tx: &impl Reads,
    target: &Target,
    after: DeliveryPlace,
) -> Result<Page<DeliveryPlace>, StoreError> {
    let (hits, next) = webhooks::delivery_page(tx, target.team, after, &target.all(), ROWS_MAX)?;
    Ok(Page { hits, next })
}

/// Takes the addresses out of the answers to them.
pub(super) fn erase_deliveries(
    tx: &WriteTx<'_>,
    row: &mut ErasureRow,
    target: &Target,
    page: &Page<DeliveryPlace>,
) -> Result<Progress, StoreError> {
    let addresses = target.all();
    for place in &page.hits {
        webhooks::erase_delivery(tx, target.team, *place, &addresses)?;
    }
    row.stage = match (page.next, is_late(row)) {
        (Some(after), false) => Stage::Deliveries { after },
        (Some(after), true) => Stage::LateDeliveries { after },
        (None, false) => Stage::RequestLog(LogSpan::START),
        (None, true) => Stage::LateRequestLog(LogSpan::START),
    };
    Ok(Progress::More)
}

fn is_late(row: &ErasureRow) -> bool {
    matches!(row.stage, Stage::LateMessages { .. } | Stage::LateDeliveries { .. })
}

fn reach<'a>(row: &'a ErasureRow, target: &Target, id: EventId) -> MessageReach<'a> {
    if is_late(row) {
        // Between requests that go along with one another nothing is told apart here.
        MessageReach::Late { addresses: target.all(), emails_until: target.until(), entries: &row.late_entries }
    } else {
        MessageReach::Named(target.at(id))
    }
}
