//! Event messages and responses of webhook endpoints.

use serde_json::{Value as Json, json};

use super::*;
use crate::base::id::{EventId, SuppressionId, WebhookDeliveryId, WebhookId};
use crate::erasure::pages::{self, StagePage};
use crate::erasure::stages::ErasureStage;
use crate::events::{self, EventType, MessageRow};
use crate::suppressions::{self, SuppressionCause};
use crate::tables::{EVENT_MESSAGES, SUPPRESSIONS, WEBHOOK_DELIVERIES};
use crate::webhooks::{self, DeliveryRow, WebhookAttemptRow};

async fn put_message(context: &Context, team: TeamId, body: &Json) -> EventId {
    let event: EventId = context.id();
    let row = MessageRow::new(EventType::EmailSent, 0, body.to_string());
    context.commit(move |tx| events::put_message(tx, team, event, &row)).await;
    event
}

fn message(context: &Context, team: TeamId, event: EventId) -> Json {
    let row = context.read(|tx| tx.get(&EVENT_MESSAGES, &(team, event))).unwrap();
    serde_json::from_str(&row.body).unwrap()
}

/// Stores a queued delivery with one attempt for each response.
async fn put_delivery(context: &Context, team: TeamId, responses: &[&str]) -> (WebhookId, WebhookDeliveryId) {
    let place: (WebhookId, WebhookDeliveryId) = (context.id(), context.id());
    let attempt = |response: &&str| WebhookAttemptRow {
        id: context.id(),
        sent_ms: 0,
        took_ms: 0,
        status: Some(500),
        response: (*response).to_owned(),
    };
    let row = DeliveryRow {
        event: context.id(),
        event_type: EventType::EmailSent,
        at_ms: 0,
        activation: 0,
        queued_ms: 0,
        state: webhooks::WebhookDeliveryState::Queued { due_ms: 7 },
        counted: 1,
        attempts: responses.iter().map(attempt).collect(),
    };
    context.commit(move |tx| tx.put(&WEBHOOK_DELIVERIES, &(team, place.0, place.1), &row)).await;
    place
}

fn responses(context: &Context, team: TeamId, (webhook, id): (WebhookId, WebhookDeliveryId)) -> Vec<String> {
    let row = context.read(|tx| tx.get(&WEBHOOK_DELIVERIES, &(team, webhook, id))).unwrap();
    assert_eq!((row.state, row.counted), (webhooks::WebhookDeliveryState::Queued { due_ms: 7 }, 1), "the rest stays");
    row.attempts.into_iter().map(|attempt| attempt.response).collect()
}

#[tokio::test]
async fn the_address_is_erased_from_messages_and_responses_of_the_team() {
    let (_directory, context) = Context::temporary();
    let other: TeamId = Id::from_bytes([2; 16]);
    let email = |to: &str| json!({ "type": "email.sent", "data": { "to": [to], "subject": "Hello" } });
    let contact = json!({ "type": "contact.created", "data": { "email": "ADA@example.com", "first_name": "Ada" } });
    let (meant, foreign) = (email("ada@example.com"), email("eve@example.com"));
    // More than one page of each.
    let mut events = Vec::new();
    for _ in 0..600 {
        events.push(put_message(&context, TEAM, &meant).await);
    }
    let (of_eve, of_contact) =
        (put_message(&context, TEAM, &foreign).await, put_message(&context, TEAM, &contact).await);
    let of_others = put_message(&context, other, &meant).await;
    let mut places = Vec::new();
    for _ in 0..600 {
        places.push(put_delivery(&context, TEAM, &["ok", "no such user: Ada@Example.com"]).await);
    }
    let at_others = put_delivery(&context, other, &["ada@example.com"]).await;

    erase(&context, &["ada@example.com"]).await;

    for event in [events[0], events[300], events[599]] {
        assert_eq!(message(&context, TEAM, event)["data"], json!({ "to": ["[erased]"], "subject": "Hello" }));
    }
    assert_eq!(message(&context, TEAM, of_eve), foreign);
    let data = json!({ "email": "[erased]", "first_name": null, "last_name": null });
    assert_eq!(message(&context, TEAM, of_contact)["data"], data);
    assert_eq!(message(&context, other, of_others), meant);
    for place in [places[0], places[300], places[599]] {
        assert_eq!(responses(&context, TEAM, place), ["ok", "[erased]"]);
    }
    assert_eq!(responses(&context, other, at_others), ["ada@example.com"]);
}

#[tokio::test]
async fn messages_from_after_the_request_stay_unless_a_pending_email_caused_them() {
    let (_directory, context) = Context::temporary();
    let waiting = put_email(&context, email(&["ada@example.com"], RecipientState::InFlight)).await;
    let key = request(&context, &["ada@example.com"]).await;
    let erasures = Erasures::new(context.clone(), PendingEntries::default());
    erasures.run_round().await.unwrap();
    assert!(erasure(&context, key).is_some(), "the email is pending");

    let later = put_email(&context, email(&["ada@example.com"], RecipientState::Settled)).await;
    let sent = |id: EmailId| json!({ "type": "email.sent", "data": { "email_id": id, "to": ["ada@example.com"] } });
    let (of_waiting, of_later) =
        (put_message(&context, TEAM, &sent(waiting)).await, put_message(&context, TEAM, &sent(later)).await);
    let again = json!({ "type": "contact.created", "data": { "email": "ada@example.com", "first_name": "Ada" } });
    let of_contact = put_message(&context, TEAM, &again).await;
    let (listing, ada) = (context.clone(), address("ada@example.com"));
    context.commit(move |tx| suppressions::add(tx, &listing, TEAM, &ada, SuppressionCause::bounce(waiting))).await;
    let entry = listed(&context);
    let added = json!({ "type": "suppression.added", "data": { "id": entry, "email": "ada@example.com" } });
    let of_entry = put_message(&context, TEAM, &added).await;
    let place = put_delivery(&context, TEAM, &["thanks for ada@example.com"]).await;
    let settled = email(&["ada@example.com"], RecipientState::Settled);
    context.commit(move |tx| tx.put(&EMAILS, &(TEAM, waiting), &settled)).await;

    Erasures::new(context.clone(), PendingEntries::default()).run_round().await.unwrap();

    assert!(erasure(&context, key).is_none());
    assert_eq!(message(&context, TEAM, of_waiting)["data"]["to"], json!(["[erased]"]));
    assert_eq!(message(&context, TEAM, of_later), sent(later));
    assert_eq!(message(&context, TEAM, of_contact), again);
    assert_eq!(message(&context, TEAM, of_entry)["data"]["email"], "[erased]");
    assert_eq!(responses(&context, TEAM, place), ["[erased]"]);
}

#[tokio::test]
async fn the_erasure_generation_is_incremented_directly_after_the_commit() {
    let (_directory, context) = Context::temporary();
    let event =
        put_message(&context, TEAM, &json!({ "type": "email.sent", "data": { "to": ["ada@example.com"] } })).await;
    let key = request(&context, &["ada@example.com"]).await;
    while !matches!(erasure(&context, key).unwrap().stage, ErasureStage::Messages { .. }) {
        step(&context, key).await;
    }
    let row = erasure(&context, key).unwrap();
    let target = store::target(&context.keyring, key, &row).unwrap();
    let scanned = context.read(|tx| pages::scan_page(tx, &context.keyring, &row, &target));
    let StagePage::Matches(page) = scanned else { panic!("the page has a match") };
    let erasing = context.clone();
    let (sender, receiver) = std::sync::mpsc::channel();

    let erase = move |tx: &WriteTx<'_>| {
        pages::erase_page(tx, &erasing, key, row.clone(), &target, &page)?;
        // Runs after the commit, before the next command.
        let (event_bus, sender) = (erasing.event_bus.clone(), sender.clone());
        tx.after_commit(move || sender.send(event_bus.erasure_generation()).unwrap());
        Ok(())
    };
    context.commit(erase).await;

    assert_eq!(receiver.recv().unwrap(), 1);
    assert_eq!(message(&context, TEAM, event)["data"]["to"], json!(["[erased]"]));
}

/// Returns the only entry of the suppression list.
fn listed(context: &Context) -> SuppressionId {
    context.keys(&SUPPRESSIONS).pop().unwrap().1
}
