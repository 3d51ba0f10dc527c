//! The places of webhooks: what they deliver of events, and what endpoints answered. Bodies come before
//! answers, so that nobody answers what a body said.

use super::stages::{MatchPage, ROWS_MAX, StepResult};
use super::store::{ErasureRow, ErasureTarget, LogSpan, Stage};
use crate::base::address::AddressSet;
use crate::base::id::{EventId, Id};
use crate::event_bus::EventBus;
use crate::events::{self, MessageSubject};
use crate::store::{Reads, StoreError, WriteTx};
use crate::webhooks::{self, DeliveryPlace};

/// Reads a page of what webhooks deliver.
pub(super) fn messages(
    tx: &impl Reads,
    row: &ErasureRow,
    target: &ErasureTarget,
    after: EventId,
) -> Result<MatchPage<EventId>, StoreError> {
    let reach = |event, subject| reach(row, target, event, subject);
    let (hits, next) = events::message_page(tx, target.team, after, &target.all(), reach, ROWS_MAX)?;
    Ok(MatchPage { hits, next })
}

/// Takes the addresses out of it.
pub(super) fn erase_messages(
    tx: &WriteTx<'_>,
    announcer: &EventBus,
    row: &mut ErasureRow,
    target: &ErasureTarget,
    page: &MatchPage<EventId>,
) -> Result<StepResult, StoreError> {
    for id in &page.hits {
        let reach = |subject| reach(row, target, *id, subject);
        events::erase_message(tx, target.team, *id, &target.all(), reach)?;
    }
    let (announcer, team, has_changed) = (announcer.clone(), target.team, !page.hits.is_empty());
    tx.after_commit(move || {
        if has_changed {
            announcer.bump_erasure_generation();
        }
        // Those who watch keep bodies that webhooks may never have had.
        announcer.publish_erasure(team);
    });
    row.stage = match (page.next, is_late(row)) {
        (Some(after), false) => Stage::Messages { after },
        (Some(after), true) => Stage::RecheckMessages { after },
        (None, false) => Stage::Deliveries { after: (Id::MIN, Id::MIN) },
        (None, true) => Stage::RecheckDeliveries { after: (Id::MIN, Id::MIN) },
    };
    Ok(StepResult::More)
}

/// Reads a page of deliveries.
pub(super) fn deliveries(
    tx: &impl Reads,
    target: &ErasureTarget,
    after: DeliveryPlace,
) -> Result<MatchPage<DeliveryPlace>, StoreError> {
    let (hits, next) = webhooks::delivery_page(tx, target.team, after, &target.all(), ROWS_MAX)?;
    Ok(MatchPage { hits, next })
}

/// Takes the addresses out of the answers to them.
pub(super) fn erase_deliveries(
    tx: &WriteTx<'_>,
    row: &mut ErasureRow,
    target: &ErasureTarget,
    page: &MatchPage<DeliveryPlace>,
) -> Result<StepResult, StoreError> {
    let addresses = target.all();
    for place in &page.hits {
        webhooks::erase_delivery(tx, target.team, *place, &addresses)?;
    }
    row.stage = match (page.next, is_late(row)) {
        (Some(after), false) => Stage::Deliveries { after },
        (Some(after), true) => Stage::RecheckDeliveries { after },
        (None, false) => Stage::RequestLog(LogSpan::START),
        (None, true) => Stage::RecheckRequestLog(LogSpan::START),
    };
    Ok(StepResult::More)
}

fn is_late(row: &ErasureRow) -> bool {
    matches!(row.stage, Stage::RecheckMessages { .. } | Stage::RecheckDeliveries { .. })
}

/// Returns what is taken out of the body of an event.
fn reach(row: &ErasureRow, target: &ErasureTarget, event: EventId, subject: MessageSubject) -> AddressSet {
    match subject {
        // What is told of an email repeats what it says, whenever that is.
        MessageSubject::Email(email) => target.at(email),
        MessageSubject::Entry(entry) if row.late_entries.contains(&entry) => target.all(),
        MessageSubject::Entry(_) | MessageSubject::Other => target.at(event),
    }
}
